//! `weft cluster`, `weft push` and `weft pull`: collections of notes in PostgreSQL.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use crossbeam_channel::{Receiver, bounded};
use serde::Serialize;
use tokio::runtime::Handle;
use weft_cluster::{
    CheckpointWriter, ClusterError, Collection, Database, Dsn, ExportReport, FolderConflict,
    ImportReport, NodeStatus, PullReport, PushEvent, PushOptions, PushReport, ReceivedReport,
    TransferError,
};
use weft_daemon::BackupSummary;
use weft_daemon::config::Config;
use weft_proto::noteweft::v1::StatusRequest;

use crate::backup::{self, BackupReport};
use crate::cli::{Format, Global};
use crate::client::{Client, config};
use crate::commands::{aside, render, write_as};
use crate::failure::Failure;
use crate::print;
use crate::serve::stop_signal;
use crate::service_manager::{NotifyState, notify};

/// A collection and its database.
#[derive(Clone, Debug, Args)]
pub(crate) struct CollectionArgs {
    /// Name of the collection [default: the setting cluster.collection].
    #[arg(long, value_name = "NAME")]
    pub(crate) collection: Option<String>,
    /// File with the connection string of PostgreSQL [default: the setting cluster.postgres].
    #[arg(long, value_name = "FILE")]
    pub(crate) postgres: Option<PathBuf>,
}

impl CollectionArgs {
    /// Returns the flags as settings, to be merged with the others.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String, &'static str)> {
        let collection = self.collection.clone();
        let collection = collection.map(|name| ("cluster.collection", name, "--collection"));
        let postgres = self.postgres.as_ref().map(|path| {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            ("cluster.postgres", path.to_string_lossy().into_owned(), "--postgres")
        });
        collection.into_iter().chain(postgres).collect()
    }
}

/// A command on a collection.
#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Create the tables and the collection, as far as they are missing; after an upgrade, update the tables.
    Init {
        #[command(flatten)]
        collection: CollectionArgs,
        /// Name of a vault to create; repeatable. `weft push` creates vaults as well.
        #[arg(long, value_name = "NAME")]
        name: Vec<String>,
        /// Existing role of PostgreSQL to bind to the collection: it gets the rights of a node, and sees no collection that it is not bound to; repeatable.
        #[arg(long, value_name = "ROLE")]
        role: Vec<String>,
        /// Forget the settings that nodes must share, so that the next node to start sets them. Stop all nodes first.
        #[arg(long)]
        reset_settings: bool,
        /// Give the collection another id after its database was restored, or lost commits in a failover, so that every node builds a new index. Stop all nodes first; needs the owner of the tables.
        #[arg(long)]
        restored: bool,
    },
    /// Show the state of a collection.
    Status {
        #[command(flatten)]
        collection: CollectionArgs,
    },
    /// List the nodes that serve a collection.
    Nodes {
        #[command(flatten)]
        collection: CollectionArgs,
    },
    /// Remove a node that does not run any more, and release what it holds.
    DropNode {
        #[command(flatten)]
        collection: CollectionArgs,
        /// Id of the node, as `weft cluster nodes` prints it.
        id: String,
    },
    /// Read everything in a collection and compare it with its checksums, and the nodes with each other.
    Verify {
        #[command(flatten)]
        collection: CollectionArgs,
    },
    /// Write all vaults of a collection and its vectors into a new folder.
    Export {
        #[command(flatten)]
        collection: CollectionArgs,
        /// New or empty folder.
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Read an export back, or take the vectors of an existing index, so that no text is embedded again.
    ///
    /// With DIR, the vaults of the export become equal to it. Without DIR, the vectors of the index that --store or --vault names are taken; no daemon may use it meanwhile.
    Import {
        #[command(flatten)]
        collection: CollectionArgs,
        /// Folder written by `weft cluster export`.
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
        /// Remove notes that are not in the export, however many.
        #[arg(long, requires = "folder")]
        delete_missing: bool,
    },
    /// Write the index of a running node to the folder from which new nodes start.
    ///
    /// --addr names the node. The folder keeps the two newest checkpoints.
    Checkpoint {
        #[command(flatten)]
        collection: CollectionArgs,
        /// Folder of checkpoints, which new nodes can read [default: the setting cluster.bootstrap].
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
    },
    /// Erase a collection with all its notes.
    Erase {
        #[command(flatten)]
        collection: CollectionArgs,
        /// Name of the collection again, as a confirmation.
        #[arg(long, value_name = "NAME")]
        confirm: String,
    },
}

/// `weft push`.
#[derive(Debug, Args)]
pub(crate) struct PushArgs {
    #[command(flatten)]
    collection: CollectionArgs,
    /// Folder of notes.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Vault of the collection, created if it is missing [default: the folder's name].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Remove notes that are not in the folder, however many; with --watch, those that are missing at the start.
    #[arg(long)]
    delete_missing: bool,
    /// Stay until Ctrl-C or SIGTERM, send changes of the folder as they happen, and write into it what nodes change in the vault.
    #[arg(long)]
    watch: bool,
}

/// `weft pull`.
#[derive(Debug, Args)]
pub(crate) struct PullArgs {
    #[command(flatten)]
    collection: CollectionArgs,
    /// New or empty folder.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Vault of the collection [default: its only vault, or the one with the folder's name].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// State of a collection.
#[derive(Serialize)]
pub(crate) struct StatusReport {
    pub(crate) collection: String,
    pub(crate) database: String,
    pub(crate) generation: u64,
    pub(crate) seconds_since_commit: Option<u64>,
    pub(crate) vaults: Vec<String>,
    pub(crate) note_count: u64,
    pub(crate) version_count: u64,
    pub(crate) vector_count: u64,
    pub(crate) pending_text_count: u64,
    pub(crate) rejected_text_count: u64,
    pub(crate) floor: u64,
    pub(crate) removed_version_count: u64,
    pub(crate) removed_vector_count: u64,
    /// `None` if vectors are compared exactly.
    pub(crate) vector_graph: Option<GraphSummary>,
}

/// The vector graph that the nodes of a collection use.
#[derive(Serialize)]
pub(crate) struct GraphSummary {
    pub(crate) generation: u64,
    pub(crate) built_from: u64,
    pub(crate) text_count: u64,
    pub(crate) bytes: u64,
}

/// A node of a collection.
#[derive(Serialize)]
pub(crate) struct NodeLine {
    pub(crate) id: String,
    pub(crate) address: String,
    pub(crate) version: String,
    pub(crate) generation: u64,
    pub(crate) lag: u64,
    pub(crate) lag_seconds: u64,
    pub(crate) seconds_since_report: u64,
    /// Reason why it does not serve.
    pub(crate) problem: Option<String>,
}

impl From<NodeStatus> for NodeLine {
    fn from(status: NodeStatus) -> Self {
        let NodeStatus { report, seconds_since, lag, lag_seconds, problem } = status;
        let weft_cluster::NodeReport { id, address, version, generation, digest: _ } = report;
        let seconds_since_report = seconds_since;
        Self { id, address, version, generation, lag, lag_seconds, seconds_since_report, problem }
    }
}

/// Result of a verification.
#[derive(Serialize)]
struct VerifyReport {
    problems: Vec<String>,
}

/// Result of a push.
#[derive(Serialize)]
pub(crate) struct PushSummary {
    pub(crate) vault: String,
    pub(crate) generation: u64,
    pub(crate) written: usize,
    pub(crate) moved: usize,
    pub(crate) removed: usize,
    pub(crate) unchanged: usize,
    pub(crate) unreadable: Vec<String>,
}

impl PushSummary {
    fn new(vault: String, report: PushReport) -> Self {
        let PushReport { generation, n_put, n_moved, n_removed, n_unchanged, unreadable } = report;
        Self {
            vault,
            generation,
            written: n_put,
            moved: n_moved,
            removed: n_removed,
            unchanged: n_unchanged,
            unreadable,
        }
    }
}

/// Changes of other writers that a folder received.
#[derive(Serialize)]
pub(crate) struct ReceivedSummary {
    pub(crate) vault: String,
    pub(crate) generation: u64,
    pub(crate) received: usize,
    pub(crate) removed_files: usize,
    pub(crate) conflicts: Vec<ConflictSummary>,
    pub(crate) refused: Vec<String>,
}

/// A note that the folder and another writer changed.
#[derive(Serialize)]
pub(crate) struct ConflictSummary {
    pub(crate) path: String,
    pub(crate) copy: String,
}

impl ReceivedSummary {
    fn new(vault: String, report: ReceivedReport) -> Self {
        let ReceivedReport { generation, n_written, n_removed, conflicts, refused } = report;
        let conflict = |FolderConflict { path, copy }| ConflictSummary { path, copy };
        Self {
            vault,
            generation,
            received: n_written,
            removed_files: n_removed,
            conflicts: conflicts.into_iter().map(conflict).collect(),
            refused,
        }
    }
}

/// Result of an export.
#[derive(Serialize)]
pub(crate) struct ExportSummary {
    pub(crate) folder: PathBuf,
    pub(crate) generation: u64,
    pub(crate) vaults: usize,
    pub(crate) notes: usize,
    pub(crate) bytes: u64,
    pub(crate) vectors: usize,
}

/// Result of an import.
#[derive(Serialize)]
pub(crate) struct ImportSummary {
    pub(crate) generation: u64,
    pub(crate) changed_notes: usize,
    pub(crate) vectors: usize,
    pub(crate) new_vectors: usize,
    pub(crate) damaged_vectors: usize,
}

impl From<ImportReport> for ImportSummary {
    fn from(report: ImportReport) -> Self {
        let ImportReport { generation, n_changed, n_vectors, n_new_vectors, n_damaged } = report;
        Self {
            generation,
            changed_notes: n_changed,
            vectors: n_vectors,
            new_vectors: n_new_vectors,
            damaged_vectors: n_damaged,
        }
    }
}

/// Result of a pull.
#[derive(Serialize)]
pub(crate) struct PullSummary {
    pub(crate) vault: String,
    pub(crate) folder: PathBuf,
    pub(crate) generation: u64,
    pub(crate) notes: usize,
    pub(crate) bytes: u64,
}

/// Runs a command on a collection and renders the result.
pub(crate) async fn run(command: ClusterCommand, global: &Global) -> Result<String, Failure> {
    let global = global.clone();
    off_runtime(move || execute(command, &global)).await
}

/// Pushes a folder and renders the result; with `--watch`, writes each result, and returns nothing when a signal arrives.
pub(crate) async fn push(args: PushArgs, global: &Global) -> Result<String, Failure> {
    let global = global.clone();
    if !args.watch {
        return off_runtime(move || push_folder(args, &global)).await;
    }
    let (running, stopped) = bounded(0);
    let watching = off_runtime(move || watch_folder(args, &global, &stopped));
    tokio::pin!(watching);
    tokio::select! {
        ended = &mut watching => return ended,
        () = stop_signal() => {}
    }
    notify(&[NotifyState::Stopping]);
    drop(running);
    watching.await
}

/// Pulls a vault into a folder and renders the result.
pub(crate) async fn pull(args: PullArgs, global: &Global) -> Result<String, Failure> {
    let global = global.clone();
    off_runtime(move || pull_folder(args, &global)).await
}

/// Runs work that waits for the database on a thread that may block.
async fn off_runtime<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Failure::other("the command ended unexpectedly")))
}

fn execute(command: ClusterCommand, global: &Global) -> Result<String, Failure> {
    let format = global.format;
    match command {
        ClusterCommand::Init { collection, name, role, reset_settings, restored } => {
            let (config, database) = connect(&collection, global)?;
            database.migrate()?;
            let names: Vec<&str> = name.iter().map(String::as_str).collect();
            let collection = Collection::create(&database, &named(&config)?, &names)?;
            role.iter().try_for_each(|role| collection.bind_role(role))?;
            if reset_settings {
                collection.clear_settings()?;
            }
            if restored {
                collection.renew_uid()?;
            }
            render(format, &status(&collection, &database)?, print::collection)
        }
        ClusterCommand::Status { collection } => {
            let (collection, database) = open(&collection, global)?;
            render(format, &status(&collection, &database)?, print::collection)
        }
        ClusterCommand::Nodes { collection } => {
            let (collection, _) = open(&collection, global)?;
            let nodes: Vec<NodeLine> =
                collection.nodes()?.into_iter().map(NodeLine::from).collect();
            render(format, &nodes, |nodes| print::nodes(nodes))
        }
        ClusterCommand::DropNode { collection, id } => {
            let (collection, _) = open(&collection, global)?;
            collection.drop_node(&id)?;
            Ok(said(format, format!("dropped the node {id}\n")))
        }
        ClusterCommand::Verify { collection } => {
            let (collection, _) = open(&collection, global)?;
            let report = VerifyReport { problems: collection.verify()? };
            if report.problems.is_empty() {
                return render(format, &report, |_| "no problem found\n".to_owned());
            }
            let lines = report.problems.join("\n");
            Err(Failure::other(format!("{} problems:\n{lines}", report.problems.len())))
        }
        ClusterCommand::Export { collection, folder } => {
            let (collection, _) = open(&collection, global)?;
            let ExportReport { generation, n_vaults, n_notes, n_bytes, n_vectors } =
                collection.export(&folder)?;
            let summary = ExportSummary {
                folder,
                generation,
                vaults: n_vaults,
                notes: n_notes,
                bytes: n_bytes,
                vectors: n_vectors,
            };
            render(format, &summary, print::exported)
        }
        ClusterCommand::Import { collection, folder, delete_missing } => {
            let (config, database) = connect(&collection, global)?;
            let collection = Collection::open(&database, &named(&config)?)?;
            let report = match folder {
                Some(folder) => collection
                    .import(&folder, &push_options(&config, delete_missing, "cluster import"))?,
                None => {
                    let hint =
                        "name the index: weft cluster import --store DIR, or --vault ~/notes";
                    collection.import_store(&backup::store(global, hint)?)?
                }
            };
            render(format, &ImportSummary::from(report), print::imported)
        }
        ClusterCommand::Checkpoint { collection, folder } => {
            checkpoint(&collection, folder, global)
        }
        ClusterCommand::Erase { collection, confirm } => {
            let (collection, _) = open(&collection, global)?;
            if confirm != collection.name() {
                return Err(Failure::usage(format!(
                    "--confirm names `{confirm}`, but the collection is `{}`",
                    collection.name()
                )));
            }
            collection.erase()?;
            Ok(said(format, format!("erased the collection {confirm}\n")))
        }
    }
}

/// Returns a line for people; programs need only the exit code.
fn said(format: Format, line: String) -> String {
    if format == Format::Human { line } else { "{}\n".to_owned() }
}

fn push_folder(args: PushArgs, global: &Global) -> Result<String, Failure> {
    let PushArgs { collection, folder, name, delete_missing, watch: _ } = args;
    let (config, database) = connect(&collection, global)?;
    let collection = Collection::open(&database, &named(&config)?)?;
    let vault = vault_name(name, &folder)?;
    let options = push_options(&config, delete_missing, "push");
    let report = collection.push(&folder, &vault, &options)?;
    for line in &report.unreadable {
        aside(&print::warning(line));
    }
    render(global.format, &PushSummary::new(vault, report), print::pushed)
}

fn watch_folder(
    args: PushArgs,
    global: &Global,
    stopped: &Receiver<()>,
) -> Result<String, Failure> {
    let PushArgs { collection, folder, name, delete_missing, watch: _ } = args;
    let (config, database) = connect(&collection, global)?;
    let collection = Collection::open(&database, &named(&config)?)?;
    let vault = vault_name(name, &folder)?;
    let options = push_options(&config, delete_missing, "push --watch");
    let mut watch = config.settings.watch.clone();
    watch.enabled = true;
    notify(&[NotifyState::Ready]);
    let report = |event: PushEvent| match event {
        PushEvent::Pushed(report) => {
            for line in &report.unreadable {
                aside(&print::warning(line));
            }
            print_event(global, &PushSummary::new(vault.clone(), report), print::pushed);
        }
        PushEvent::Received(report) => {
            let summary = ReceivedSummary::new(vault.clone(), report);
            for conflict in &summary.conflicts {
                aside(&print::warning(&format!(
                    "`{}` was changed in the folder and by another writer; the folder keeps its text, and the other one is in `{}`",
                    conflict.path, conflict.copy
                )));
            }
            for reason in &summary.refused {
                aside(&print::warning(&format!(
                    "a change of another writer was not written into the folder and stays in the vault: {reason}"
                )));
            }
            print_event(global, &summary, print::received);
        }
        PushEvent::Waiting { holder } => {
            aside(&print::warning(&format!(
                "`{holder}` pushes the vault `{vault}`; waiting until it ends"
            )));
        }
        PushEvent::Kept { n_missing: 0, n_notes: _ } => {
            aside(&print::warning(&format!(
                "no files of the vault `{vault}` are missing any more"
            )));
        }
        PushEvent::Kept { n_missing, n_notes } => {
            aside(&print::warning(&format!(
                "the mass-deletion guard keeps the notes of missing files until the deletion is confirmed: {n_missing} of {n_notes} notes of the vault `{vault}`; to confirm it, stop this command and start it again with --delete-missing"
            )));
        }
        PushEvent::Failed(error) => {
            aside(&print::warning(&format!("{error}; trying again")));
        }
    };
    collection.push_watched(&folder, &vault, (&options, &watch), stopped, report)?;
    Ok(String::new())
}

/// Writes an event of a push that watches its folder. A closed standard output does not end the push.
fn print_event<S: Serialize>(global: &Global, summary: &S, human: impl FnOnce(&S) -> String) {
    let text = render(global.format, summary, human);
    drop(text.and_then(|text| write_as(global.format, &text)));
}

fn push_options(config: &Config, removes_any: bool, command: &str) -> PushOptions {
    PushOptions {
        scan: config.settings.scan.clone(),
        deletion_guard: config.settings.deletion_guard,
        removes_any,
        holder: holder(command),
        machine: machine(),
    }
}

/// Returns a name of this machine that stays the same and that no other one has, as far as the system has one.
fn machine() -> String {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    ["/etc/machine-id", "/proc/sys/kernel/hostname"].map(read).concat()
}

/// Returns the name of this process for those who wait for its lease.
fn holder(command: &str) -> String {
    // Other systems than Linux do not have the file.
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = if host.is_empty() { String::new() } else { format!(" on {}", host.trim()) };
    format!("weft {command}{host}, process {}", std::process::id())
}

/// Writes a checkpoint of the node that `global` names, and renders the result.
fn checkpoint(
    args: &CollectionArgs,
    folder: Option<PathBuf>,
    global: &Global,
) -> Result<String, Failure> {
    let (config, database) = connect(args, global)?;
    let collection = Collection::open(&database, &named(&config)?)?;
    let place = folder.or_else(|| config.settings.cluster.bootstrap.clone());
    let place = place.ok_or_else(|| {
        Failure::usage("no folder of checkpoints is named: pass it, or set `cluster.bootstrap`")
    })?;
    let runtime = Handle::current();
    let client = runtime.block_on(Client::open(global))?;
    let written = write_checkpoint(&runtime, &client, &collection, &place);
    runtime.block_on(client.close());
    let (folder, summary) = written?;
    render(global.format, &BackupReport::new(folder, summary), print::checkpoint)
}

fn write_checkpoint(
    runtime: &Handle,
    client: &Client,
    collection: &Collection,
    place: &Path,
) -> Result<(PathBuf, BackupSummary), Failure> {
    let status = runtime.block_on(client.admin().status(StatusRequest {}))?.into_inner();
    if Path::new(&status.store).file_name() != Some(collection.uid().as_ref()) {
        return Err(Failure::usage(format!(
            "the daemon does not serve the collection `{}`; name a node of it with --addr",
            collection.name()
        )));
    }
    let writer = CheckpointWriter::begin(collection, place, &holder("cluster checkpoint"))?;
    let summary = runtime.block_on(backup::receive(client, writer.folder()))?;
    Ok((writer.end(summary.generation)?, summary))
}

fn pull_folder(args: PullArgs, global: &Global) -> Result<String, Failure> {
    let PullArgs { collection, folder, name } = args;
    let (collection, _) = open(&collection, global)?;
    let mut vaults = collection.vaults(collection.head()?)?;
    let vault = match name {
        None if vaults.len() == 1 => vaults.remove(0),
        name => vault_name(name, &folder)?,
    };
    let PullReport { generation, n_notes, n_bytes } =
        collection.pull(&vault, &folder, &machine())?;
    let summary = PullSummary { vault, folder, generation, notes: n_notes, bytes: n_bytes };
    render(global.format, &summary, print::pulled)
}

/// Returns the name of the vault, by default that of the folder.
fn vault_name(name: Option<String>, folder: &Path) -> Result<String, Failure> {
    let of_folder = || {
        let folder = std::path::absolute(folder).ok()?;
        Some(folder.file_name()?.to_str()?.to_owned())
    };
    name.or_else(of_folder)
        .ok_or_else(|| Failure::usage(format!("{} has no name; pass --name", folder.display())))
}

/// Opens the collection that flags or settings name.
fn open(args: &CollectionArgs, global: &Global) -> Result<(Collection, Arc<Database>), Failure> {
    let (config, database) = connect(args, global)?;
    let collection = Collection::open(&database, &named(&config)?)?;
    Ok((collection, database))
}

/// Connects to the database that flags or settings name.
fn connect(args: &CollectionArgs, global: &Global) -> Result<(Config, Arc<Database>), Failure> {
    let (config, _) = config(global, &[], &args.settings())?;
    let path = config.settings.cluster.postgres.clone().ok_or_else(|| {
        Failure::usage("no database is named: pass --postgres FILE, or set `cluster.postgres`")
    })?;
    let database = Database::connect(&Dsn::read(&path)?)?;
    Ok((config, database))
}

/// Returns the name of the collection; fails if none is given.
fn named(config: &Config) -> Result<String, Failure> {
    config.settings.cluster.collection.clone().ok_or_else(|| {
        Failure::usage(
            "no collection is named: pass --collection NAME, or set `cluster.collection`",
        )
    })
}

fn status(collection: &Collection, database: &Database) -> Result<StatusReport, Failure> {
    let status = collection.status()?;
    Ok(StatusReport {
        collection: collection.name().to_owned(),
        database: database.place().to_owned(),
        generation: status.head,
        seconds_since_commit: status.seconds_since_commit,
        vaults: collection.vaults(status.head)?,
        note_count: status.n_notes,
        version_count: status.n_versions,
        vector_count: status.n_vectors,
        pending_text_count: status.n_jobs,
        rejected_text_count: status.n_rejected,
        floor: status.floor,
        removed_version_count: status.n_removed_versions,
        removed_vector_count: status.n_removed_vectors,
        vector_graph: collection.newest_graph()?.map(|graph| GraphSummary {
            generation: graph.generation,
            built_from: graph.built_from,
            text_count: graph.n_rows,
            bytes: graph.n_bytes,
        }),
    })
}

impl From<ClusterError> for Failure {
    fn from(error: ClusterError) -> Self {
        let message = error.to_string();
        match error {
            ClusterError::Read { .. }
            | ClusterError::Dsn { .. }
            | ClusterError::DsnAsPath
            | ClusterError::Certificate { .. }
            | ClusterError::OldSchema { .. }
            | ClusterError::NewSchema { .. }
            | ClusterError::UnknownCollection { .. }
            | ClusterError::Name { .. }
            | ClusterError::Settings { .. }
            | ClusterError::Role { .. }
            | ClusterError::UnknownNode { .. } => Self::usage(message),
            ClusterError::Unavailable { .. }
            | ClusterError::Refused { .. }
            | ClusterError::Damaged { .. } => Self::other(message),
        }
    }
}

impl From<TransferError> for Failure {
    fn from(error: TransferError) -> Self {
        let message = error.to_string();
        match error {
            TransferError::Cluster(error) => error.into(),
            TransferError::Store(error) => error.into(),
            TransferError::Scan(_)
            | TransferError::NotAnExport { .. }
            | TransferError::NotAStore { .. }
            | TransferError::ManyMissing { .. }
            | TransferError::EmptyFolder { .. }
            | TransferError::UnknownVault { .. }
            | TransferError::NotEmpty { .. } => Self::usage(message),
            TransferError::Busy { .. }
            | TransferError::CheckpointBusy { .. }
            | TransferError::Path { .. }
            | TransferError::Write { .. }
            | TransferError::Commit(_) => Self::other(message),
        }
    }
}
