//! Collections, their nodes, and transfers of notes.

use std::fmt::Write as _;

use super::text::{DIM, FAINT_TITLE, bytes, counted, harmless, padded, paint};
use crate::cluster::{
    ExportSummary, GraphSummary, ImportSummary, NodeLine, PullSummary, PushSummary,
    ReceivedSummary, StatusReport,
};

/// Formats the state of a collection.
pub(crate) fn collection(status: &StatusReport) -> String {
    let StatusReport {
        collection,
        database,
        generation,
        seconds_since_commit,
        vaults,
        note_count,
        version_count,
        vector_count,
        pending_text_count,
        rejected_text_count,
        floor,
        removed_version_count,
        removed_vector_count,
        vector_graph,
    } = status;
    let age = seconds_since_commit.map_or_else(String::new, |seconds| {
        paint(DIM, &format!(", committed {} ago", duration(seconds)))
    });
    let vaults = if vaults.is_empty() { "none".to_owned() } else { vaults.join(", ") };
    let graph = match vector_graph {
        None => "none, vectors are compared exactly".to_owned(),
        Some(GraphSummary { generation, built_from, text_count, bytes: n_bytes }) => format!(
            "{} in {}, used from generation {generation}, built from {built_from}",
            counted(*text_count, "text", "texts"),
            bytes(*n_bytes)
        ),
    };
    let mut out = String::new();
    for (name, value) in [
        ("collection", format!("{} at {}", harmless(collection), harmless(database))),
        ("generation", format!("{generation}{age}")),
        ("vaults", harmless(&vaults)),
        ("notes", format!("{note_count} in {}", counted(*version_count, "version", "versions"))),
        ("vectors", format!("{vector_count}, {pending_text_count} texts are pending")),
        ("graph", graph),
        ("floor", floor_line(*floor, *removed_version_count, *removed_vector_count)),
    ] {
        let _ = writeln!(out, "{}  {value}", paint(FAINT_TITLE, &padded(name, 10)));
    }
    if *rejected_text_count > 0 {
        let texts = counted(*rejected_text_count, "text", "texts");
        let _ = writeln!(out, "the model rejected {texts}, which are not found by meaning");
    }
    out
}

/// Formats the first generation that can be read, and what was removed with the earlier ones.
fn floor_line(floor: u64, n_versions: u64, n_vectors: u64) -> String {
    if floor == 0 {
        return "every generation is kept so far".to_owned();
    }
    format!(
        "generations before {floor} are not kept, {} and {} were removed",
        counted(n_versions, "version", "versions"),
        counted(n_vectors, "vector", "vectors")
    )
}

/// Formats the nodes of a collection.
pub(crate) fn nodes(nodes: &[NodeLine]) -> String {
    if nodes.is_empty() {
        return "no node has reported; `weft serve --collection NAME --postgres FILE` starts one\n"
            .to_owned();
    }
    let mut out = String::new();
    for node in nodes {
        let NodeLine {
            id,
            address,
            version,
            generation,
            lag,
            lag_seconds,
            seconds_since_report,
            problem,
        } = node;
        let age = match lag {
            0 => String::new(),
            _ => format!(" and {}", duration(*lag_seconds)),
        };
        let _ = writeln!(
            out,
            "{}  {}  generation {generation}, {}{age} behind{}",
            paint(FAINT_TITLE, &padded(&harmless(id), 16)),
            padded(&harmless(address), 21),
            counted(*lag, "commit", "commits"),
            paint(
                DIM,
                &format!(
                    "  version {}, reported {} ago",
                    harmless(version),
                    duration(*seconds_since_report)
                )
            ),
        );
        if let Some(problem) = problem {
            let _ = writeln!(out, "  does not serve: {}", harmless(problem));
        }
    }
    out
}

/// Formats the result of a push.
pub(crate) fn pushed(push: &PushSummary) -> String {
    let PushSummary { vault, generation, written, moved, removed, unchanged, unreadable: _ } = push;
    format!(
        "{} written, {moved} moved, {removed} removed, {unchanged} unchanged in the vault {}, generation {generation}\n",
        counted(*written as u64, "note", "notes"),
        harmless(vault)
    )
}

/// Formats what a folder received from other writers.
pub(crate) fn received(received: &ReceivedSummary) -> String {
    let ReceivedSummary { vault, generation, received, removed_files, conflicts, refused: _ } =
        received;
    format!(
        "received from the vault {}: {} written, {removed_files} removed, {}, generation {generation}\n",
        harmless(vault),
        counted(*received as u64, "file", "files"),
        counted(conflicts.len() as u64, "conflict", "conflicts")
    )
}

/// Formats the result of an export.
pub(crate) fn exported(export: &ExportSummary) -> String {
    let ExportSummary { folder, generation, vaults, notes, bytes: n_bytes, vectors } = export;
    format!(
        "{} in {} and {} of generation {generation} are in {}: {} of notes\n",
        counted(*notes as u64, "note", "notes"),
        counted(*vaults as u64, "vault", "vaults"),
        counted(*vectors as u64, "vector", "vectors"),
        harmless(&folder.to_string_lossy()),
        bytes(*n_bytes)
    )
}

/// Formats the result of an import.
pub(crate) fn imported(import: &ImportSummary) -> String {
    let ImportSummary { generation, changed_notes, vectors, new_vectors, damaged_vectors } = import;
    let mut out = format!(
        "{} changed, {} read, {new_vectors} of them new, generation {generation}\n",
        counted(*changed_notes as u64, "note", "notes"),
        counted(*vectors as u64, "vector", "vectors"),
    );
    if *damaged_vectors > 0 {
        let vectors = counted(*damaged_vectors as u64, "vector is", "vectors are");
        let _ = writeln!(out, "{vectors} damaged; their texts are embedded again");
    }
    out
}

/// Formats the result of a pull.
pub(crate) fn pulled(pull: &PullSummary) -> String {
    let PullSummary { vault, folder, generation, notes, bytes: n_bytes } = pull;
    format!(
        "{} of the vault {} at generation {generation} are in {}: {}\n",
        counted(*notes as u64, "note", "notes"),
        harmless(vault),
        harmless(&folder.to_string_lossy()),
        bytes(*n_bytes)
    )
}

/// Formats a number of seconds in its largest unit.
fn duration(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}
