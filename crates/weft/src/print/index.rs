//! The state of the index.

use std::fmt::Write as _;

use weft_proto::noteweft::v1::{
    ConfirmResponse, ConfirmedVault, CoverageResponse, FileCoverage, FileState, Phase, Severity,
    StatusResponse, VaultStatus,
};

use crate::backup::Copy;

use super::text::{
    BAD, DIM, FAINT_TITLE, NOTICE, STRONG, counted, harmless, one_line, padded, paint,
};

/// How the index is.
pub(crate) fn status(status: &StatusResponse) -> String {
    let mut out = String::new();
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(out, "{} {value}", paint(FAINT_TITLE, &padded(name, 10)));
    };
    row("state", &state(status));
    row("notes", &counted(status.n_notes, "note", "notes"));
    let links = counted(status.n_links, "link", "links");
    row("links", &format!("{links}, {} to notes that do not exist", status.n_unresolved));
    if status.n_chunks > 0 {
        let passages = counted(status.n_chunks, "passage", "passages");
        let pending = match status.n_vectors_pending {
            0 => String::new(),
            n => format!(", {n} still without a vector"),
        };
        row("passages", &format!("{passages}{pending}"));
    }
    let model = status.model.as_ref().map_or_else(
        || "none: notes are found by words and links".to_owned(),
        |model| {
            format!(
                "{}, {} numbers a passage, run by {}",
                model.name, model.dimension, model.runner
            )
        },
    );
    row("model", &model);
    row("store", &format!("{} ({})", status.store, bytes(status.store_bytes)));
    let stored: Vec<String> = status
        .stored_generations
        .iter()
        .filter(|stored| **stored != status.generation)
        .map(u64::to_string)
        .collect();
    let earlier = match stored.as_slice() {
        [] => String::new(),
        stored => format!("; --as-of asks {}", stored.join(", ")),
    };
    row("generation", &format!("{}{earlier}", status.generation));
    for vault in &status.vaults {
        row("vault", &of_vault(vault));
    }
    for notice in &status.notices {
        let _ = writeln!(out, "{} {notice}", paint(NOTICE, "!"));
    }
    if let Some(error) = &status.last_error {
        let _ = writeln!(out, "{} {error}", paint(BAD, "✗"));
    }
    out
}

fn state(status: &StatusResponse) -> String {
    let files = format!("{} of {} files", status.n_files_done, status.n_files_total);
    match status.phase() {
        Phase::Opening => "opening".to_owned(),
        Phase::Scanning => format!("looking at files, {files}"),
        Phase::Indexing => format!("reading notes, {files}"),
        Phase::Embedding => {
            let left = status
                .seconds_left
                .map(|s| format!(", {:.0} s left", s.ceil()))
                .unwrap_or_default();
            format!("understanding passages, {:.0}/s{left}", status.vectors_per_second)
        }
        Phase::Ready if status.last_error.is_some() => {
            "behind: what failed is told below, and tried again".to_owned()
        }
        Phase::Ready => "up to date".to_owned(),
        Phase::Unspecified => "unknown".to_owned(),
    }
}

fn of_vault(vault: &VaultStatus) -> String {
    let VaultStatus {
        name,
        root,
        n_notes,
        n_links,
        n_resolved,
        n_ambiguous,
        n_skipped,
        n_failed,
        watching: _,
        n_missing,
    } = vault;
    let mut text =
        format!("{} {} {}", paint(STRONG, name), root, counted(*n_notes, "note", "notes"));
    if *n_links > 0 {
        let share = *n_resolved as f64 / *n_links as f64 * 100.0;
        let _ = write!(text, ", {share:.1} % of {} resolved", counted(*n_links, "link", "links"));
    }
    for (n, what) in [
        (n_ambiguous, "ambiguous"),
        (n_skipped, "skipped"),
        (n_failed, "failed"),
        (n_missing, "without a file"),
    ] {
        if *n > 0 {
            let _ = write!(text, ", {n} {what}");
        }
    }
    text
}

/// What a backup holds, and how to use it.
pub(crate) fn backup(copy: &Copy) -> String {
    format!("{}; `weft restore FOLDER --vault DIR` makes an index of it\n", copied(copy))
}

/// What came back, and where to.
pub(crate) fn restored(copy: &Copy) -> String {
    format!("{}; files that changed since are read when it is opened\n", copied(copy))
}

fn copied(Copy { folder, generation, n_files, n_bytes }: &Copy) -> String {
    let files = counted(*n_files as u64, "file", "files");
    let folder = harmless(&folder.to_string_lossy());
    format!("generation {generation} is in {folder}: {files}, {}", bytes(*n_bytes))
}

/// What left the index on confirmation.
pub(crate) fn confirmed(answer: &ConfirmResponse) -> String {
    let ConfirmResponse { vaults, generation } = answer;
    let generation = paint(DIM, &format!("generation {generation}"));
    if vaults.is_empty() {
        return format!("no vault waits for a confirmation  {generation}\n");
    }
    let mut out = String::new();
    for ConfirmedVault { name, n_removed } in vaults {
        let notes = counted(*n_removed, "note", "notes");
        let name = paint(STRONG, &harmless(name));
        let _ = writeln!(out, "{notes} of {name} left the index  {generation}");
    }
    out
}

/// `n` bytes in the largest unit that leaves a whole part.
fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = usize::from(unit > 0 && value < 10.0);
    format!("{value:.digits$} {}", UNITS[unit])
}

/// What a daemon that does not serve yet is doing, in a few words without style.
pub(crate) fn doing(status: &StatusResponse) -> String {
    state(status)
}

/// What a daemon serves and where, and what is wrong, in one line without style.
pub(crate) fn serves(status: &StatusResponse, address: &str) -> String {
    let notes = counted(status.n_notes, "note", "notes");
    let error = status.last_error.iter().map(|error| format!("; {error}")).collect::<String>();
    format!("weft {} serves {notes} at {address}{error}", status.version)
}

/// The line with which a daemon says that it serves.
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
        Some(model) => format!("model {} in {}", model.name, model.runner),
        None => "no model: words and links alone".to_owned(),
    };
    let about = format!(
        "{}, {} ({} unresolved), {model}",
        counted(status.n_notes, "note", "notes"),
        counted(status.n_links, "link", "links"),
        status.n_unresolved,
    );
    let _ = writeln!(out, "{}\n", paint(DIM, &about));
    for notice in &status.notices {
        let _ = writeln!(out, "{} {notice}", paint(NOTICE, "!"));
    }
    out
}

/// The files that are not in order, or all of them, and a summary.
pub(crate) fn coverage(answer: &CoverageResponse, all: bool) -> String {
    let CoverageResponse { files, generation: _ } = answer;
    let mut out = String::new();
    let vault = files.first().map(|file| &file.vault);
    let has_several = files.iter().any(|file| Some(&file.vault) != vault);
    for file in files.iter().filter(|file| all || !is_in_order(file)) {
        if has_several {
            let _ = write!(out, "{}:", one_line(&file.vault));
        }
        out.push_str(&one_file(file));
    }
    let n = |state: FileState| files.iter().filter(|file| file.state() == state).count();
    let summary = format!(
        "{}: {} indexed, {} pending, {} skipped, {} failed; {} unresolved",
        counted(files.len() as u64, "file", "files"),
        n(FileState::Indexed),
        n(FileState::Pending),
        n(FileState::Skipped),
        n(FileState::Failed),
        counted(files.iter().map(|file| file.unresolved.len() as u64).sum(), "link", "links"),
    );
    let _ = writeln!(out, "{}", paint(DIM, &summary));
    out
}

fn is_in_order(file: &FileCoverage) -> bool {
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
    let mut out = format!("{}  {state}{reason}\n", one_line(&file.path));
    for target in &file.unresolved {
        let _ = writeln!(out, "    {} {}", paint(NOTICE, "unresolved"), one_line(target));
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
    fn sizes_read_well() {
        for (n, expected) in [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (25_000_000, "25 MB")] {
            assert_eq!(bytes(n), expected);
        }
    }

    #[test]
    fn coverage_shows_what_is_not_in_order() {
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
            "b.md  failed: no permission\n2 files: 1 indexed, 0 pending, 0 skipped, 1 failed; 0 links unresolved\n"
        );
    }
}
