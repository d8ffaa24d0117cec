//! Kills nodes of a cluster, its database and a process that pushes into it at random moments under load.
//!
//! Three nodes serve one collection over a primary with a synchronous standby, while writers and readers call them and a folder is pushed.
#![expect(clippy::unwrap_used, reason = "a failed helper fails the test")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use weft_proto::noteweft::v1::admin_service_client::AdminServiceClient;
use weft_proto::noteweft::v1::note_service_client::NoteServiceClient;
use weft_proto::noteweft::v1::search_service_client::SearchServiceClient;
use weft_proto::noteweft::v1::{
    DeleteNoteRequest, GetNoteRequest, MoveNoteRequest, Phase, PutNoteRequest, SearchMode,
    SearchRequest, StatusRequest, StatusResponse,
};
use weft_testkit::{Postgres, Random};

use crate::crash::{Daemon, HANG_TIMEOUT, log_lines, parameter, published_state};
use crate::operations::free_port;

/// Default number of faults.
const FAULTS: u32 = 5;

const N_NODES: usize = 3;

/// Number of clients that write and of those that read.
const N_WRITERS: usize = 3;
const N_READERS: usize = 2;

/// Number of files of each writer.
const N_FILES: usize = 12;

/// Time after the database's return within which every node must write again.
const RETURN_TIMEOUT: Duration = Duration::from_secs(10);

/// Time after which a client gives up on one call.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Pause of a client after a failed call.
const RETRY: Duration = Duration::from_millis(20);

const VAULT: &str = "hosted";
const PUSHED: &str = "pushed";

/// Returns `weft` with the settings of the collection, without the user's environment and without a model.
fn weft(home: &Path, dsn: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weft"));
    command.env_clear().env("HOME", home).env("WEFT__EMBEDDING__MODEL", "none");
    command.env("WEFT__CLUSTER__COLLECTION", "team").env("WEFT__CLUSTER__POSTGRES", dsn);
    command.env("WEFT__CLUSTER__POLL_MS", "20").stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// A node of the cluster, running or not.
struct DrilledNode {
    id: String,
    home: PathBuf,
    dsn: PathBuf,
    port: u16,
    process: Option<Daemon>,
    logs: Vec<PathBuf>,
}

impl DrilledNode {
    fn new(home: &Path, id: String, dsn: &Path) -> Self {
        let (home, dsn) = (home.join(&id), dsn.to_owned());
        fs::create_dir(&home).unwrap();
        Self { id, home, dsn, port: free_port(), process: None, logs: Vec::new() }
    }

    fn start(&mut self) {
        let path = self.home.join(format!("log{}", self.logs.len()));
        let mut command = weft(&self.home, &self.dsn);
        command.env("WEFT__CLUSTER__NODE", &self.id);
        command.env("WEFT__LOG__FILTER", "weft_indexer=debug,weft_cluster=debug");
        command.env("WEFT__LOG__FORMAT", "json").stderr(File::create(&path).unwrap());
        command.args(["serve", "--socket", "none", "--addr", &format!("127.0.0.1:{}", self.port)]);
        self.process = Some(Daemon(command.spawn().unwrap()));
        self.logs.push(path);
    }

    fn log(&self) -> String {
        fs::read_to_string(self.logs.last().unwrap()).unwrap()
    }

    /// Connects with each call that finds no connection.
    fn channel(&self) -> Channel {
        let uri = format!("http://127.0.0.1:{}", self.port);
        Endpoint::from_shared(uri).unwrap().timeout(CALL_TIMEOUT).connect_lazy()
    }

    /// Ends the process as a power cut would.
    fn kill(&mut self) {
        self.process.take().unwrap().kill();
    }

    /// Returns once the node has applied the log, and fails if it ends.
    async fn served(&mut self) {
        let mut admin = AdminServiceClient::new(self.channel());
        let end = Instant::now() + HANG_TIMEOUT;
        let is_ready = |status: StatusResponse| status.phase() == Phase::Ready;
        while !admin.status(StatusRequest {}).await.is_ok_and(|it| is_ready(it.into_inner())) {
            assert!(Instant::now() < end, "{}: no answer\n{}", self.id, self.log());
            self.check_running();
            tokio::time::sleep(RETRY).await;
        }
    }

    fn check_running(&mut self) {
        let ended = self.process.as_mut().and_then(|process| process.0.try_wait().unwrap());
        assert!(ended.is_none(), "{} ended: {ended:?}\n{}", self.id, self.log());
    }
}

/// Returns the uri of a note.
fn uri(path: &str) -> String {
    format!("{VAULT}:{}", path.trim_end_matches(".md"))
}

/// Content that a note may have: the word in its text, or `None` if it does not exist.
type Content = Option<String>;

/// A client that writes notes in a folder of its own, one after the other.
struct DrillWriter {
    number: usize,
    channels: Vec<Channel>,
    random: Random,
    n_words: u64,
    /// Contents that each note may have at the end: the acknowledged one, and those of later writes that ended without an answer.
    contents: BTreeMap<String, Vec<Content>>,
    n_acknowledged: u64,
    n_unanswered: u64,
}

/// A write and its effect.
struct DrillWrite {
    request: WriteCall,
    effects: Vec<(String, Content)>,
}

enum WriteCall {
    Put(PutNoteRequest),
    Delete(DeleteNoteRequest),
    Move(MoveNoteRequest),
}

impl DrillWriter {
    fn new(number: usize, channels: Vec<Channel>, seed: u64) -> Self {
        Self {
            number,
            channels,
            random: Random::new(seed),
            n_words: 0,
            contents: BTreeMap::new(),
            n_acknowledged: 0,
            n_unanswered: 0,
        }
    }

    /// Writes until `stop` is set.
    async fn run(mut self, stop: Arc<AtomicBool>) -> Self {
        while !stop.load(Ordering::SeqCst) {
            let write = self.next_write();
            self.write(write, &stop).await;
        }
        self
    }

    fn path(&mut self) -> String {
        format!("w{}/{}.md", self.number, self.random.below(N_FILES))
    }

    fn next_write(&mut self) -> DrillWrite {
        let path = self.path();
        // A note whose content is certain can be deleted or moved.
        let word = match self.contents.get(&path).map(Vec::as_slice) {
            Some([Some(word)]) => Some(word.clone()),
            _ => None,
        };
        let kind = self.random.below(8);
        match word {
            Some(_) if kind == 0 => {
                let request = DeleteNoteRequest { name: uri(&path), ..Default::default() };
                DrillWrite { request: WriteCall::Delete(request), effects: vec![(path, None)] }
            }
            Some(word) if kind == 1 => {
                self.n_words += 1;
                let to = format!("w{}/moved{}.md", self.number, self.n_words);
                let (name, rewrite_links) = (uri(&path), true);
                let request =
                    MoveNoteRequest { name, to: to.clone(), rewrite_links, ..Default::default() };
                let effects = vec![(path, None), (to, Some(word))];
                DrillWrite { request: WriteCall::Move(request), effects }
            }
            _ => {
                self.n_words += 1;
                let word = format!("wq{}x{}", self.number, self.n_words);
                let text = Some(format!("# Note\n{word} [[{}]]\n", self.path()));
                let request = PutNoteRequest {
                    path: path.clone(),
                    text,
                    vault: Some(VAULT.to_owned()),
                    ..Default::default()
                };
                DrillWrite { request: WriteCall::Put(request), effects: vec![(path, Some(word))] }
            }
        }
    }

    /// Sends a write to one node after the other until it is acknowledged; sometimes gives up after the first failure.
    async fn write(&mut self, write: DrillWrite, stop: &AtomicBool) {
        let DrillWrite { request, effects } = write;
        for (path, content) in &effects {
            let contents = self.contents.entry(path.clone()).or_insert_with(|| vec![None]);
            contents.push(content.clone());
        }
        let gives_up = matches!(request, WriteCall::Put(_)) && self.random.below(4) == 0;
        let mut at = self.random.below(N_NODES);
        loop {
            match sent(&self.channels[at], &request).await {
                Ok(()) => {
                    for (path, content) in effects {
                        self.contents.insert(path, vec![content]);
                    }
                    self.n_acknowledged += 1;
                    return;
                }
                Err(status) if is_interruption(&status) => {
                    self.n_unanswered += 1;
                    if gives_up || stop.load(Ordering::SeqCst) {
                        return;
                    }
                    tokio::time::sleep(RETRY).await;
                    at = (at + 1) % N_NODES;
                }
                Err(status) => panic!("writer {}: {effects:?}: {status:?}", self.number),
            }
        }
    }
}

async fn sent(channel: &Channel, request: &WriteCall) -> Result<(), Status> {
    let mut notes = NoteServiceClient::new(channel.clone());
    let outcome = match request {
        WriteCall::Put(request) => notes.put_note(request.clone()).await.map(drop),
        WriteCall::Delete(request) => notes.delete_note(request.clone()).await.map(drop),
        WriteCall::Move(request) => notes.move_note(request.clone()).await.map(drop),
    };
    match (outcome, request) {
        // An earlier attempt without an answer had succeeded: only this client writes these notes.
        (Err(status), WriteCall::Delete(_) | WriteCall::Move(_))
            if status.code() == Code::NotFound =>
        {
            Ok(())
        }
        (outcome, _) => outcome,
    }
}

/// Writes a note of a node that no writer writes; returns the generation that contains it.
async fn put_probe(channel: &Channel, node: usize, word: u64) -> Result<u64, Status> {
    let request = PutNoteRequest {
        path: format!("probe{node}.md"),
        text: Some(format!("# Probe\n{word}\n")),
        vault: Some(VAULT.to_owned()),
        ..Default::default()
    };
    let put = NoteServiceClient::new(channel.clone()).put_note(request).await?;
    Ok(put.into_inner().generation)
}

/// Repeats a write until it succeeds; fails if the database returned too long ago.
async fn written_again(
    channel: Channel,
    node: usize,
    word: u64,
    returned: Instant,
) -> Result<(), Status> {
    while let Err(status) = put_probe(&channel, node, word).await {
        if returned.elapsed() >= RETURN_TIMEOUT {
            return Err(status);
        }
        tokio::time::sleep(RETRY).await;
    }
    Ok(())
}

/// Returns true if a call failed because a process or a connection ended.
fn is_interruption(status: &Status) -> bool {
    std::error::Error::source(status).is_some()
        || matches!(
            status.code(),
            Code::Unavailable
                | Code::Unknown
                | Code::Internal
                | Code::Cancelled
                | Code::DeadlineExceeded
        )
}

/// Searches on the nodes in turn until `stop` is set; after a failure it asks the next node once. Returns the number of answers and of failures that were repeated.
async fn read(channels: Vec<Channel>, stop: Arc<AtomicBool>, seed: u64) -> (u64, u64) {
    let (mut n_answers, mut n_retries) = (0, 0);
    let mut at = Random::new(seed).below(N_NODES);
    while !stop.load(Ordering::SeqCst) {
        at = (at + 1) % N_NODES;
        if let Err(first) = answered(&channels[at]).await {
            let next = (at + 1) % N_NODES;
            answered(&channels[next]).await.unwrap_or_else(|second| {
                panic!("two nodes did not answer: {at}: {first}; {next}: {second}")
            });
            n_retries += 1;
        }
        n_answers += 1;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    (n_answers, n_retries)
}

async fn answered(channel: &Channel) -> Result<(), Status> {
    let mode = SearchMode::Keyword.into();
    let request =
        SearchRequest { query: "anchor".to_owned(), mode, no_graph: true, ..Default::default() };
    let answer = SearchServiceClient::new(channel.clone()).search(request).await?.into_inner();
    if answer.hits.is_empty() && !answer.warnings.is_empty() {
        return Err(Status::unavailable("the node has not applied the log yet"));
    }
    assert_eq!(answer.hits.len(), 1, "the note is in every state: {answer:?}");
    Ok(())
}

/// Pushes a changing folder until `stop` is set, and lets the drill kill a push.
struct DrillPusher {
    folder: PathBuf,
    dsn: PathBuf,
    home: PathBuf,
    random: Random,
    /// Set by the drill; cleared after a push was killed while it ran.
    kill: Arc<AtomicBool>,
    n_pushes: u64,
}

impl DrillPusher {
    fn run(mut self, stop: &AtomicBool) -> u64 {
        while !stop.load(Ordering::SeqCst) {
            self.edit();
            let mut push = self.push();
            if self.kill.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(self.random.below(120) as u64));
                if push.0.try_wait().unwrap().is_none() {
                    push.kill();
                    self.kill.store(false, Ordering::SeqCst);
                    continue;
                }
            }
            self.n_pushes += u64::from(push.0.wait().unwrap().success());
            std::thread::sleep(Duration::from_millis(100));
        }
        // The vault equals the folder after a push that succeeds.
        let end = Instant::now() + HANG_TIMEOUT;
        while !self.push().0.wait().unwrap().success() {
            assert!(Instant::now() < end, "the last push does not succeed");
            std::thread::sleep(RETRY);
        }
        self.n_pushes + 1
    }

    fn edit(&mut self) {
        for _ in 0..20 {
            let (folder, name) = (self.random.below(4), self.random.below(40));
            let file = self.folder.join(format!("{folder}/{name}.md"));
            if self.random.below(6) == 0 {
                let _ = fs::remove_file(&file);
            } else {
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(&file, format!("# File\nedit{}\n", self.random.number())).unwrap();
            }
        }
    }

    fn push(&self) -> Daemon {
        let mut command = weft(&self.home, &self.dsn);
        command.arg("push").arg(&self.folder).args(["--name", PUSHED, "--delete-missing"]);
        Daemon(command.stderr(Stdio::null()).spawn().unwrap())
    }
}

/// The cluster, and what it went through.
struct Drill {
    home: TempDir,
    dsn: PathBuf,
    primary: Postgres,
    standby: Postgres,
    nodes: Vec<DrilledNode>,
    kill_push: Arc<AtomicBool>,
    random: Random,
    n_words: u64,
    counts: BTreeMap<&'static str, u32>,
    started_ms: Vec<u128>,
    returned_ms: Vec<u128>,
}

impl Drill {
    fn start(primary: Postgres, seed: u64) -> Self {
        let standby = primary.start_standby();
        let home = tempfile::tempdir().unwrap();
        let dsn = home.path().join("postgres.dsn");
        let hosts = [&primary, &standby].map(|server| server.host().display().to_string());
        let hosts = hosts.join(",");
        let line =
            format!("host={hosts} user=postgres dbname=postgres target_session_attrs=read-write\n");
        fs::write(&dsn, line).unwrap();
        let init = weft(home.path(), &dsn)
            .args(["cluster", "init", "--name", VAULT, "--name", PUSHED])
            .status();
        assert!(init.unwrap().success());
        let nodes = ["a", "b", "c"].map(|id| DrilledNode::new(home.path(), id.to_owned(), &dsn));
        let mut drill = Self {
            home,
            dsn,
            primary,
            standby,
            nodes: nodes.into(),
            kill_push: Arc::default(),
            random: Random::new(seed),
            n_words: 0,
            counts: BTreeMap::new(),
            started_ms: Vec::new(),
            returned_ms: Vec::new(),
        };
        drill.synchronize();
        drill.nodes.iter_mut().for_each(DrilledNode::start);
        drill
    }

    fn channels(&self) -> Vec<Channel> {
        self.nodes.iter().map(DrilledNode::channel).collect()
    }

    /// Lets the primary acknowledge only commits that the standby has, once the standby follows.
    fn synchronize(&self) {
        self.primary.set("synchronous_standby_names", "*");
        let state = "select count(*) from pg_stat_replication where state = 'streaming' and sync_state = 'sync'";
        let end = Instant::now() + HANG_TIMEOUT;
        while self.primary.query(state) != "1" {
            assert!(Instant::now() < end, "the standby does not follow");
            std::thread::sleep(RETRY);
        }
    }

    /// Lets one fault happen and returns once the cluster is whole again.
    async fn fault(&mut self) {
        let pause = Duration::from_millis(50 + self.random.below(500) as u64);
        tokio::time::sleep(pause).await;
        let at = self.random.below(N_NODES);
        let loses_node = self.random.below(3) == 0;
        match self.random.below(10) {
            0..5 => {
                self.count("nodes killed");
                self.nodes[at].kill();
                self.pause(400).await;
                self.restart(at).await;
            }
            5 | 6 => {
                self.count("pushes killed");
                self.kill_push.store(true, Ordering::SeqCst);
                let end = Instant::now() + HANG_TIMEOUT;
                while self.kill_push.load(Ordering::SeqCst) {
                    assert!(Instant::now() < end, "no push was killed");
                    tokio::time::sleep(RETRY).await;
                }
                // The lease of a dead holder runs out by itself after two minutes.
                let _ = self.primary.query("update noteweft.lease set until = now()");
            }
            kind => {
                if loses_node {
                    self.count("nodes killed with the database");
                    self.nodes[at].kill();
                }
                self.primary.kill();
                self.pause(1_500).await;
                if kind == 9 {
                    self.count("failovers");
                    self.standby.promote();
                    // The new primary is alone for now.
                    self.standby.set("synchronous_standby_names", "");
                    std::mem::swap(&mut self.primary, &mut self.standby);
                } else {
                    self.count("database restarts");
                    self.primary.resume();
                }
                self.check_return(at, loses_node).await;
                if loses_node {
                    self.restart(at).await;
                }
                if kind == 9 {
                    self.standby.follow(&self.primary);
                }
                self.synchronize();
            }
        }
        self.nodes.iter_mut().for_each(DrilledNode::check_running);
    }

    fn count(&mut self, fault: &'static str) {
        *self.counts.entry(fault).or_default() += 1;
    }

    async fn pause(&mut self, max_ms: usize) {
        tokio::time::sleep(Duration::from_millis(self.random.below(max_ms) as u64)).await;
    }

    /// Starts a node that was killed; sometimes kills it once more while it opens its index.
    async fn restart(&mut self, at: usize) {
        if self.random.below(6) == 0 {
            self.count("nodes killed while starting");
            self.nodes[at].start();
            self.pause(300).await;
            self.nodes[at].kill();
        }
        let started = Instant::now();
        self.nodes[at].start();
        self.nodes[at].served().await;
        answered(&self.nodes[at].channel()).await.expect("a node that is ready answers");
        self.started_ms.push(started.elapsed().as_millis());
    }

    /// Asserts that every running node writes again soon after the database has returned.
    async fn check_return(&mut self, lost: usize, loses_node: bool) {
        let returned = Instant::now();
        let mut writes = Vec::new();
        for at in (0..N_NODES).filter(|at| !(loses_node && *at == lost)) {
            self.n_words += 1;
            let (channel, word) = (self.nodes[at].channel(), self.n_words);
            writes.push((at, tokio::spawn(written_again(channel, at, word, returned))));
        }
        for (at, write) in writes {
            write.await.unwrap().unwrap_or_else(|status| {
                panic!(
                    "{} does not write after {:?}: {status}\n{}\n{}",
                    self.nodes[at].id,
                    returned.elapsed(),
                    self.database_activity(),
                    self.nodes[at].log()
                )
            });
        }
        self.returned_ms.push(returned.elapsed().as_millis());
    }

    /// Returns what the database waits for.
    fn database_activity(&self) -> String {
        let activity = "select backend_type, state, wait_event, now() - xact_start, query from pg_stat_activity";
        let standbys = "select state, sync_state, sent_lsn, flush_lsn from pg_stat_replication";
        let locks =
            "select pid, locktype, relation::regclass, mode from pg_locks where not granted";
        [activity, standbys, locks].map(|select| self.primary.query(select)).join("\n\n")
    }

    /// Asserts that nothing acknowledged is lost, and that the nodes, the log and the pulled folders agree.
    async fn check_end(&mut self, writers: &[DrillWriter]) {
        let channels = self.channels();
        let generation = put_probe(&channels[0], 0, self.n_words + 1).await.unwrap();
        let contents: Vec<_> = writers.iter().flat_map(|writer| &writer.contents).collect();
        let mut digests = Vec::new();
        for (node, channel) in self.nodes.iter().zip(&channels) {
            let mut notes = NoteServiceClient::new(channel.clone());
            for (path, possible) in &contents {
                let request = GetNoteRequest {
                    name: uri(path),
                    min_generation: Some(generation),
                    ..Default::default()
                };
                let found = match notes.get_note(request).await {
                    Ok(note) => word_of(&note.into_inner().body),
                    Err(status) if status.code() == Code::NotFound => None,
                    Err(status) => panic!("{}: {path}: {status}", node.id),
                };
                assert!(
                    possible.contains(&found),
                    "{}: {path} has {found:?} instead of {possible:?}",
                    node.id
                );
            }
            let status = AdminServiceClient::new(channel.clone()).status(StatusRequest {}).await;
            let status = status.unwrap().into_inner();
            assert_eq!(status.last_error, None, "{}", node.id);
            digests.push((status.generation, status.digest));
        }
        assert!(digests.iter().all(|digest| *digest == digests[0]), "{digests:?}");
        let run = |args: &[&str]| {
            let output = weft(self.home.path(), &self.dsn).args(args).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        };
        run(&["cluster", "verify"]);
        for vault in [VAULT, PUSHED] {
            let folder = self.home.path().join("pulled").join(vault);
            run(&["pull", folder.to_str().unwrap(), "--name", vault]);
        }
        let pulled = self.home.path().join("pulled");
        for (path, possible) in contents {
            let text = fs::read_to_string(pulled.join(VAULT).join(path)).ok();
            let found = text.as_deref().and_then(word_of);
            assert!(possible.contains(&found), "pulled {path}: {found:?}, {possible:?}");
        }
        assert_eq!(files(&pulled.join(PUSHED)), files(&self.home.path().join("source")));
    }

    /// Asserts that every generation stands for one state on all nodes; returns the number of generations.
    fn check_logs(&self) -> usize {
        let mut states: BTreeMap<u64, String> = BTreeMap::new();
        for path in self.nodes.iter().flat_map(|node| &node.logs) {
            let log = fs::read_to_string(path).unwrap();
            assert!(!log.contains("panicked"), "{}: {log}", path.display());
            for line in log_lines(&log) {
                let is_alarm = line["message"] == "other nodes have different notes";
                assert!(!is_alarm, "{}: {line}", path.display());
                let Some((generation, digest)) = published_state(&line) else { continue };
                let known = states.entry(generation).or_insert_with(|| digest.to_owned());
                assert_eq!(known, digest, "{}: two states: {line}", path.display());
            }
        }
        states.len()
    }
}

/// Returns the word of a note's text.
fn word_of(text: &str) -> Content {
    text.split_whitespace().find(|word| word.starts_with("wq")).map(str::to_owned)
}

/// Returns the files of a folder of folders, with their texts.
fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        for file in fs::read_dir(entry.path()).unwrap().flatten() {
            let path = file.path();
            let text = fs::read_to_string(&path).unwrap();
            found.insert(path.strip_prefix(folder).unwrap().to_owned(), text);
        }
    }
    found
}

/// Returns the median and the maximum of some times.
fn summary(times: &mut [u128]) -> String {
    times.sort_unstable();
    let at = |at: usize| times.get(at).copied().unwrap_or_default();
    format!(
        "{} ms (median), {} ms (maximum)",
        at(times.len() / 2),
        at(times.len().saturating_sub(1))
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drill_of_a_cluster_loses_nothing() {
    let n_faults = parameter("WEFT_DRILL", FAULTS);
    let seed = parameter("WEFT_SEED", 1_u64);
    let Some(primary) = Postgres::start() else {
        assert_eq!(n_faults, FAULTS, "the requested drill needs PostgreSQL");
        return;
    };
    let started = Instant::now();
    let mut drill = Drill::start(primary, seed);
    for node in &mut drill.nodes {
        node.served().await;
    }
    let channels = drill.channels();
    let anchor = PutNoteRequest {
        path: "anchor.md".to_owned(),
        text: Some("# Anchor\n".to_owned()),
        vault: Some(VAULT.to_owned()),
        ..Default::default()
    };
    let anchor = NoteServiceClient::new(channels[0].clone()).put_note(anchor).await.unwrap();
    for channel in &channels {
        let name = uri("anchor.md");
        let min_generation = Some(anchor.get_ref().generation);
        let request = GetNoteRequest { name, min_generation, ..Default::default() };
        NoteServiceClient::new(channel.clone()).get_note(request).await.unwrap();
    }

    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..N_WRITERS)
        .map(|number| {
            let writer = DrillWriter::new(number, channels.clone(), drill.random.number());
            tokio::spawn(writer.run(Arc::clone(&stop)))
        })
        .collect();
    let readers: Vec<_> = (0..N_READERS)
        .map(|_| tokio::spawn(read(channels.clone(), Arc::clone(&stop), drill.random.number())))
        .collect();
    let pusher = DrillPusher {
        folder: drill.home.path().join("source"),
        dsn: drill.dsn.clone(),
        home: drill.home.path().to_owned(),
        random: Random::new(drill.random.number()),
        kill: Arc::clone(&drill.kill_push),
        n_pushes: 0,
    };
    let pushes = std::thread::spawn({
        let stop = Arc::clone(&stop);
        move || pusher.run(&stop)
    });
    for fault in 0..n_faults {
        drill.fault().await;
        let ended = writers.iter().any(|task| task.is_finished())
            || readers.iter().any(|task| task.is_finished());
        assert!(!ended, "a client found a violation by fault {fault}");
    }
    stop.store(true, Ordering::SeqCst);
    let n_pushes = pushes.join().unwrap();
    let mut ended = Vec::new();
    for writer in writers {
        ended.push(writer.await.unwrap());
    }
    let (mut n_answers, mut n_retries) = (0, 0);
    for reader in readers {
        let (answers, retries) = reader.await.unwrap();
        (n_answers, n_retries) = (n_answers + answers, n_retries + retries);
    }
    drill.check_end(&ended).await;
    let n_generations = drill.check_logs();
    let n_acknowledged: u64 = ended.iter().map(|writer| writer.n_acknowledged).sum();
    let n_unanswered: u64 = ended.iter().map(|writer| writer.n_unanswered).sum();
    let n_writers_idle = ended.iter().filter(|writer| writer.n_acknowledged == 0).count();
    assert_eq!(n_writers_idle, 0, "a writer wrote nothing");
    eprintln!(
        "{n_faults} faults in {} s: {:?}; {n_acknowledged} writes acknowledged, {n_unanswered} without an answer; {n_pushes} pushes; {n_answers} answers, {n_retries} of them by the second node; {n_generations} generations; nodes started in {}; writes on all nodes after the database's return in {}",
        started.elapsed().as_secs(),
        drill.counts,
        summary(&mut drill.started_ms),
        summary(&mut drill.returned_ms),
    );
}
