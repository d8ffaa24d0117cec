//! Renders the status of the index.

use std::fmt::Write as _;

use weft_proto::noteweft::v1::{
    ConfirmDeletionsResponse, ConfirmedVault, CoverageResponse, FileCoverage, FileState,
    NodeStatus, Phase, ServerStatus, Severity, StatusResponse, VaultStatus,
};

use crate::backup::BackupReport;

use super::text::{BAD, DIM, FAINT_TITLE, NOTICE, STRONG, bytes, counted, harmless, padded, paint};

/// Formats the status of the index.
pub(crate) fn status(status: &StatusResponse) -> String {
    let mut out = String::new();
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(out, "{} {value}", paint(FAINT_TITLE, &padded(name, 10)));
    };
    row("state", &state(status));
    row("notes", &counted(status.note_count, "note", "notes"));
    let links = counted(status.link_count, "link", "links");
    row("links", &format!("{links}, {} unresolved", status.unresolved_count));
    if status.chunk_count > 0 {
        let chunks = counted(status.chunk_count, "chunk", "chunks");
        let pending = match status.pending_vector_count {
            0 => String::new(),
            n => format!(", {}", counted(n, "pending vector", "pending vectors")),
        };
        let failed = match status.failed_vector_count {
            0 => String::new(),
            n => format!(", {}", counted(n, "failed vector", "failed vectors")),
        };
        row("chunks", &format!("{chunks}{pending}{failed}"));
    }
    let model = status.model.as_ref().map_or_else(
        || "none: search uses keywords and links only".to_owned(),
        |model| format!("{}, {} dimensions, run by {}", model.name, model.dimension, model.runner),
    );
    let chosen = status.model_choice.as_ref().map(|choice| {
        let share = choice.not_english * 100.0;
        format!("; `auto` chose {}: {share:.0} % of the text is not English", choice.model)
    });
    row("model", &format!("{model}{}", chosen.unwrap_or_default()));
    if let Some(reranker) = &status.reranker {
        row("reranker", &format!("{}, run by {}", reranker.name, reranker.runner));
    }
    row("store", &format!("{} ({})", status.store, bytes(status.store_bytes)));
    let stored: Vec<String> = status
        .stored_generations
        .iter()
        .filter(|stored| **stored != status.generation)
        .map(u64::to_string)
        .collect();
    let earlier = match stored.as_slice() {
        [] => String::new(),
        stored => format!("; --as-of accepts {}", stored.join(", ")),
    };
    row("generation", &format!("{}{earlier}", status.generation));
    for vault in &status.vaults {
        row("vault", &of_vault(vault));
    }
    if let Some(node) = &status.node {
        row("node", &of_node(node));
    }
    if let Some(server) = &status.server {
        row("server", &of_server(server));
    }
    out.push_str(&notices(&status.notices));
    let credentials = status.server.iter().flat_map(|server| &server.credential_errors);
    for error in credentials.chain(&status.last_error) {
        let _ = writeln!(out, "{} {}", paint(BAD, "✗"), harmless(error));
    }
    out
}

fn state(status: &StatusResponse) -> String {
    let files = format!("{} of {} files", status.processed_file_count, status.total_file_count);
    match status.phase() {
        Phase::Opening => "opening".to_owned(),
        Phase::Scanning => format!("scanning, {files}"),
        Phase::Indexing => format!("indexing, {files}"),
        Phase::Embedding => {
            let left = status
                .estimated_seconds_left
                .map(|s| format!(", {:.0} s left", s.ceil()))
                .unwrap_or_default();
            format!("embedding chunks, {:.0}/s{left}", status.vectors_per_second)
        }
        Phase::Ready if status.last_error.is_some() => {
            "behind: an update failed (see below) and will be retried".to_owned()
        }
        Phase::Ready => "up to date".to_owned(),
        Phase::Unspecified => "unknown".to_owned(),
    }
}

/// Formats the connections and open files of a daemon, each with its maximum.
pub(crate) fn of_server(server: &ServerStatus) -> String {
    let ServerStatus {
        connection_count,
        max_connection_count,
        open_file_count,
        max_open_file_count,
        credential_errors: _,
    } = server;
    let of = |n: Option<u64>| n.map_or_else(|| "unknown".to_owned(), |n| n.to_string());
    let most = max_open_file_count.map_or_else(|| "unlimited".to_owned(), |n| n.to_string());
    format!(
        "{connection_count} of {max_connection_count} connections, {} of {most} open files",
        of(*open_file_count)
    )
}

/// Formats the state of a node towards its collection.
fn of_node(node: &NodeStatus) -> String {
    let NodeStatus {
        collection,
        name,
        ready,
        not_ready_reason,
        newest_commit,
        lag_commit_count,
        lag_seconds,
    } = node;
    let state = match (ready, not_ready_reason) {
        (true, _) => "ready".to_owned(),
        (false, None) => paint(BAD, "not ready"),
        (false, Some(reason)) => format!("{}: {}", paint(BAD, "not ready"), harmless(reason)),
    };
    let behind = counted(*lag_commit_count, "commit", "commits");
    format!(
        "{} of the collection {}, {behind} and {lag_seconds:.1} s behind commit {newest_commit}, {state}",
        paint(STRONG, &harmless(name)),
        harmless(collection),
    )
}

fn of_vault(vault: &VaultStatus) -> String {
    let VaultStatus {
        name,
        root,
        note_count,
        link_count,
        resolved_count,
        ambiguous_count,
        skipped_count,
        failed_count,
        watch_state: _,
        missing_count,
    } = vault;
    let mut text =
        format!("{} {} {}", paint(STRONG, name), root, counted(*note_count, "note", "notes"));
    if *link_count > 0 {
        let share = *resolved_count as f64 / *link_count as f64 * 100.0;
        let _ =
            write!(text, ", {share:.1} % of {} resolved", counted(*link_count, "link", "links"));
    }
    for (n, what) in [
        (ambiguous_count, "ambiguous"),
        (skipped_count, "skipped"),
        (failed_count, "failed"),
        (missing_count, "without a file"),
    ] {
        if *n > 0 {
            let _ = write!(text, ", {n} {what}");
        }
    }
    text
}

/// Formats the result of a backup, with the command that restores it.
pub(crate) fn backup(copy: &BackupReport) -> String {
    format!("{}; `weft restore FOLDER --vault DIR` creates an index from it\n", copied(copy))
}

/// Formats the result of a checkpoint.
pub(crate) fn checkpoint(copy: &BackupReport) -> String {
    format!("{}; nodes with cluster.bootstrap start from it\n", copied(copy))
}

/// Formats the result of a restore.
pub(crate) fn restored(copy: &BackupReport) -> String {
    format!(
        "{}; files that changed since the backup are read when the index is opened\n",
        copied(copy)
    )
}

fn copied(BackupReport { folder, generation, n_files, n_bytes }: &BackupReport) -> String {
    let files = counted(*n_files as u64, "file", "files");
    let folder = harmless(&folder.to_string_lossy());
    format!("generation {generation} is in {folder}: {files}, {}", bytes(*n_bytes))
}

/// Formats the notes deleted by `confirm-deletions`.
pub(crate) fn confirmed(answer: &ConfirmDeletionsResponse) -> String {
    let ConfirmDeletionsResponse { vaults, generation } = answer;
    let generation = paint(DIM, &format!("generation {generation}"));
    if vaults.is_empty() {
        return format!("no vault has deletions to confirm  {generation}\n");
    }
    let mut out = String::new();
    for ConfirmedVault { name, removed_count } in vaults {
        let notes = counted(*removed_count, "note", "notes");
        let name = paint(STRONG, &harmless(name));
        let _ = writeln!(out, "deleted {notes} of {name} from the index  {generation}");
    }
    out
}

/// Formats the activity of a daemon that is not ready yet, in a few words without style.
pub(crate) fn activity(status: &StatusResponse) -> String {
    state(status)
}

/// Formats what a daemon serves, its address and its last error, in one line without style.
pub(crate) fn status_line(status: &StatusResponse, address: &str) -> String {
    let notes = counted(status.note_count, "note", "notes");
    let error = status.last_error.iter().map(|error| format!("; {}", harmless(error)));
    let error: String = error.collect();
    format!("weft {} serves {notes} at {address}{error}", status.version)
}

/// Formats the lines that `serve` prints once it is ready.
pub(crate) fn serving(status: &StatusResponse, address: &str, socket: Option<&str>) -> String {
    let vaults: Vec<&str> = status.vaults.iter().map(|vault| vault.root.as_str()).collect();
    let mut out = format!(
        "{} serves {} at {}{}\n",
        paint(STRONG, &format!("weft {}", status.version)),
        vaults.join(", "),
        paint(FAINT_TITLE, address),
        socket.map(|path| format!(" and {path}")).unwrap_or_default(),
    );
    let model = match &status.model {
        Some(model) => format!("model {} run by {}", model.name, model.runner),
        None => "no model: keywords and links only".to_owned(),
    };
    let about = format!(
        "{}, {} ({} unresolved), {model}",
        counted(status.note_count, "note", "notes"),
        counted(status.link_count, "link", "links"),
        status.unresolved_count,
    );
    let _ = writeln!(out, "{}\n", paint(DIM, &about));
    if has_no_notes(status) {
        out.push_str(&no_notes());
    }
    out + &notices(&status.notices)
}

/// Returns whether the index is complete and contains no notes.
pub(crate) fn has_no_notes(status: &StatusResponse) -> bool {
    status.phase() == Phase::Ready && status.note_count == 0
}

/// Formats the warning about vaults without notes.
pub(crate) fn no_notes() -> String {
    super::warning("there are no .md or .markdown files; `weft coverage` lists the skipped files")
}

/// Formats the notices for the operator, one line each.
pub(crate) fn notices(notices: &[String]) -> String {
    let line = |notice: &String| format!("{} {}\n", paint(NOTICE, "!"), harmless(notice));
    notices.iter().map(line).collect()
}

/// Formats the files with problems, or all files, and a summary.
pub(crate) fn coverage(answer: &CoverageResponse, all: bool) -> String {
    let CoverageResponse { files, generation: _ } = answer;
    let mut out = String::new();
    let vault = files.first().map(|file| &file.vault);
    let has_several = files.iter().any(|file| Some(&file.vault) != vault);
    for file in files.iter().filter(|file| all || !has_no_problems(file)) {
        if has_several {
            let _ = write!(out, "{}:", harmless(&file.vault));
        }
        out.push_str(&one_file(file));
    }
    let n = |state: FileState| files.iter().filter(|file| file.state() == state).count();
    let summary = format!(
        "{}: {} indexed, {} pending, {} skipped, {} failed; {}",
        counted(files.len() as u64, "file", "files"),
        n(FileState::Indexed),
        n(FileState::Pending),
        n(FileState::Skipped),
        n(FileState::Failed),
        counted(
            files.iter().map(|file| file.unresolved.len() as u64).sum(),
            "unresolved link",
            "unresolved links"
        ),
    );
    let _ = writeln!(out, "{}", paint(DIM, &summary));
    out
}

fn has_no_problems(file: &FileCoverage) -> bool {
    file.state() == FileState::Indexed && file.unresolved.is_empty() && file.diagnostics.is_empty()
}

fn one_file(file: &FileCoverage) -> String {
    let state = match file.state() {
        FileState::Indexed => "indexed".to_owned(),
        FileState::Pending => paint(NOTICE, "pending"),
        FileState::Skipped => paint(DIM, "skipped"),
        FileState::Failed => paint(BAD, "failed"),
        FileState::Unspecified => "unknown".to_owned(),
    };
    let reason =
        file.reason.as_ref().map(|reason| format!(": {}", harmless(reason))).unwrap_or_default();
    let mut out = format!("{}  {state}{reason}\n", harmless(&file.path));
    for target in &file.unresolved {
        let _ = writeln!(out, "    {} {}", paint(NOTICE, "unresolved"), harmless(target));
    }
    for diagnostic in &file.diagnostics {
        let style = match diagnostic.severity() {
            Severity::Warning => NOTICE,
            Severity::Notice | Severity::Unspecified => DIM,
        };
        let line = diagnostic.line.map(|line| format!(" (line {line})")).unwrap_or_default();
        let _ = writeln!(
            out,
            "    {} {}{line}",
            paint(style, &diagnostic.code),
            harmless(&diagnostic.message)
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vault_without_notes_is_reported_once_the_index_is_ready() {
        let said = |phase: Phase, note_count| {
            let status =
                StatusResponse { phase: phase.into(), note_count, ..StatusResponse::default() };
            serving(&status, "127.0.0.1:9338", None).contains("there are no .md")
        };
        assert_eq!(
            [said(Phase::Ready, 0), said(Phase::Ready, 1), said(Phase::Scanning, 0)],
            [true, false, false]
        );
    }

    #[test]
    fn byte_sizes_use_decimal_units() {
        for (n, expected) in [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (25_000_000, "25 MB")] {
            assert_eq!(bytes(n), expected);
        }
    }

    #[test]
    fn status_of_a_node_shows_its_lag_and_why_it_is_not_ready() {
        let node = NodeStatus {
            collection: "team".into(),
            name: "node1".into(),
            ready: true,
            not_ready_reason: None,
            newest_commit: 12,
            lag_commit_count: 0,
            lag_seconds: 0.04,
        };
        let line = |node: NodeStatus| {
            let status = StatusResponse { node: Some(node), ..StatusResponse::default() };
            let text = anstream::adapter::strip_str(&self::status(&status)).to_string();
            text.lines().find(|line| line.starts_with("node ")).unwrap().to_owned()
        };
        assert_eq!(
            line(node.clone()),
            "node       node1 of the collection team, 0 commits and 0.0 s behind commit 12, ready"
        );
        let not_ready_reason = Some("it has not read the whole collection yet".into());
        let behind = NodeStatus {
            ready: false,
            not_ready_reason,
            lag_commit_count: 1,
            lag_seconds: 3.25,
            ..node
        };
        assert_eq!(
            line(behind),
            "node       node1 of the collection team, 1 commit and 3.2 s behind commit 12, not ready: it has not read the whole collection yet"
        );
        let folders = StatusResponse::default();
        assert!(!status(&folders).contains("node "), "only a node has one");
    }

    #[test]
    fn coverage_lists_files_with_problems() {
        let good = FileCoverage {
            path: "a.md".into(),
            state: FileState::Indexed.into(),
            ..FileCoverage::default()
        };
        let bad = FileCoverage {
            path: "b.md".into(),
            state: FileState::Failed.into(),
            reason: Some("no permission".into()),
            ..FileCoverage::default()
        };
        let answer = CoverageResponse { files: vec![good, bad], generation: 1 };
        let text = anstream::adapter::strip_str(&coverage(&answer, false)).to_string();
        assert_eq!(
            text,
            "b.md  failed: no permission\n2 files: 1 indexed, 0 pending, 0 skipped, 1 failed; 0 unresolved links\n"
        );
    }
}
