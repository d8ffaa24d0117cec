//! Messages of AdminService.

use weft_cluster::LogLag;
use weft_index::embedder::ModelIdentity;
use weft_index::reranker::RerankerIdentity;
use weft_index::{Backup, BackupPart};
use weft_indexer as indexer;
use weft_model::Severity;
use weft_proto::noteweft::v1 as wire;

use super::count;
use weft_indexer::embed::ModelChoice;

use crate::cluster_node::ServingNode;
use crate::config::SettingOrigin;
use crate::open_files::{max_open_files, n_open_files};
use crate::services::ServerState;

pub(crate) fn status_response(
    status: indexer::IndexStatus,
    node: Option<wire::NodeStatus>,
    reranker: Option<&RerankerIdentity>,
    server: Option<&ServerState>,
) -> wire::StatusResponse {
    let n_vectors_awaited = status.n_vectors_awaited();
    let indexer::IndexStatus {
        generation,
        digest,
        phase: at,
        vaults,
        n_notes,
        n_placeholders,
        n_links,
        n_unresolved,
        n_chunks,
        n_vectors_pending: _,
        n_vectors_unpublished: _,
        n_vectors_failed,
        vectors_per_second,
        seconds_left,
        n_files_done,
        n_files_total,
        embedder,
        unavailable: _,
        next: _,
        model_choice,
        recovering: _,
        notices,
        last_error,
        store,
        stored_generations,
        store_bytes,
    } = status;
    let vaults = vaults.into_iter().map(|vault| {
        let indexer::VaultStatus {
            name,
            root,
            n_notes,
            n_links,
            n_resolved,
            n_ambiguous,
            n_skipped,
            n_failed,
            n_missing,
            watch_state: state,
        } = vault;
        wire::VaultStatus {
            name,
            root,
            note_count: count(n_notes),
            link_count: count(n_links),
            resolved_count: count(n_resolved),
            ambiguous_count: count(n_ambiguous),
            skipped_count: count(n_skipped),
            failed_count: count(n_failed),
            watch_state: watch_state(state).into(),
            missing_count: count(n_missing),
        }
    });
    wire::StatusResponse {
        generation,
        phase: phase(at).into(),
        vaults: vaults.collect(),
        note_count: count(n_notes),
        placeholder_count: count(n_placeholders),
        link_count: count(n_links),
        unresolved_count: count(n_unresolved),
        chunk_count: count(n_chunks),
        pending_vector_count: count(n_vectors_awaited),
        vectors_per_second,
        estimated_seconds_left: seconds_left,
        processed_file_count: count(n_files_done),
        total_file_count: count(n_files_total),
        model: embedder.map(|identity| {
            let ModelIdentity { model, dimension, runner, pooling } = identity;
            let dimension = u32::try_from(dimension).unwrap_or(u32::MAX);
            wire::Model { name: model, dimension, runner, pooling }
        }),
        notices,
        last_error,
        store: store.display().to_string(),
        store_bytes,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        digest: self::digest(digest),
        stored_generations,
        server: server.map(server_status),
        failed_vector_count: count(n_vectors_failed),
        model_choice: model_choice.map(|choice| {
            let ModelChoice { model, not_english } = choice;
            wire::ModelChoice { model, not_english }
        }),
        reranker: reranker.map(|RerankerIdentity { model, runner }| wire::Reranker {
            name: model.clone(),
            runner: runner.clone(),
        }),
        node,
    }
}

/// Converts the state of a node that serves `generation`.
pub(crate) fn node_status(node: &ServingNode, generation: u64) -> wire::NodeStatus {
    let health = node.health(generation);
    let LogLag { log_seq, n_commits, age, lost_commits: _ } = health.lag;
    let not_ready_reason = health.not_serving_reason();
    wire::NodeStatus {
        collection: node.collection().to_owned(),
        name: node.id().to_owned(),
        ready: not_ready_reason.is_none(),
        not_ready_reason,
        newest_commit: log_seq,
        lag_commit_count: n_commits,
        lag_seconds: age.as_secs_f64(),
    }
}

fn server_status(server: &ServerState) -> wire::ServerStatus {
    let ServerState { connections: [tcp, _unix], credentials } = server;
    let errors = credentials.borrow().problems.iter().map(ToString::to_string).collect();
    wire::ServerStatus {
        connection_count: count(tcp.n_open()),
        max_connection_count: count(tcp.limits().total),
        open_file_count: n_open_files(),
        max_open_file_count: max_open_files(),
        credential_errors: errors,
    }
}

pub(crate) fn confirmed(
    (vaults, generation): (Vec<indexer::ConfirmedDeletions>, u64),
) -> wire::ConfirmDeletionsResponse {
    let vaults = vaults.into_iter().map(|confirmed| {
        let indexer::ConfirmedDeletions { vault, n_removed } = confirmed;
        wire::ConfirmedVault { name: vault, removed_count: count(n_removed) }
    });
    wire::ConfirmDeletionsResponse { vaults: vaults.collect(), generation }
}

fn digest(digest: u128) -> String {
    format!("{digest:032x}")
}

/// Converts a status to the announcement of its generation.
pub(crate) fn generation(
    status: &indexer::IndexStatus,
    n_missed: u64,
) -> wire::WatchGenerationsResponse {
    wire::WatchGenerationsResponse {
        generation: status.generation,
        digest: digest(status.digest),
        note_count: count(status.n_notes),
        pending_vector_count: count(status.n_vectors_awaited()),
        missed_count: n_missed,
    }
}

const fn watch_state(state: indexer::WatchState) -> wire::WatchState {
    match state {
        indexer::WatchState::Off => wire::WatchState::Off,
        indexer::WatchState::Native => wire::WatchState::Native,
        indexer::WatchState::Polling => wire::WatchState::Polling,
    }
}

const fn phase(phase: indexer::Phase) -> wire::Phase {
    match phase {
        indexer::Phase::Opening => wire::Phase::Opening,
        indexer::Phase::Scanning => wire::Phase::Scanning,
        indexer::Phase::Indexing => wire::Phase::Indexing,
        indexer::Phase::Embedding => wire::Phase::Embedding,
        indexer::Phase::Ready => wire::Phase::Ready,
    }
}

pub(crate) fn progress(status: &indexer::IndexStatus, done: bool) -> wire::ReindexResponse {
    wire::ReindexResponse {
        phase: phase(status.phase).into(),
        processed_file_count: count(status.n_files_done),
        total_file_count: count(status.n_files_total),
        pending_vector_count: count(status.n_vectors_pending),
        done,
        generation: status.generation,
    }
}

pub(crate) fn backup_piece(
    piece: BackupPart,
    generation: u64,
    n_bytes_total: u64,
) -> wire::BackupResponse {
    let BackupPart { path, bytes, crc32 } = piece;
    wire::BackupResponse { path, bytes, crc32, total_bytes: n_bytes_total, done: false, generation }
}

pub(crate) fn backup_end(backup: &Backup) -> wire::BackupResponse {
    wire::BackupResponse {
        path: String::new(),
        bytes: Vec::new(),
        crc32: None,
        total_bytes: backup.n_bytes(),
        done: true,
        generation: backup.generation(),
    }
}

pub(crate) fn setting(
    (key, value, origin): (String, serde_json::Value, SettingOrigin),
) -> wire::Setting {
    wire::Setting { key, value: value.to_string(), origin: origin.to_string() }
}

pub(crate) fn file_coverage(file: indexer::FileCoverage) -> wire::FileCoverage {
    let indexer::FileCoverage {
        vault,
        path,
        state,
        reason,
        uri,
        hash,
        modified_ns,
        n_chunks,
        n_links,
        unresolved,
        diagnostics,
    } = file;
    let state = match state {
        indexer::FileState::Indexed => wire::FileState::Indexed,
        indexer::FileState::Pending => wire::FileState::Pending,
        indexer::FileState::Skipped => wire::FileState::Skipped,
        indexer::FileState::Failed => wire::FileState::Failed,
    };
    let diagnostics = diagnostics.into_iter().map(|diagnostic| {
        let weft_model::Diagnostic { severity, code, message, line } = diagnostic;
        let severity = match severity {
            Severity::Notice => wire::Severity::Notice,
            Severity::Warning => wire::Severity::Warning,
        };
        wire::Diagnostic { severity: severity.into(), code, message, line }
    });
    wire::FileCoverage {
        vault,
        path,
        state: state.into(),
        reason,
        uri,
        hash: hash.map(|hash| format!("{hash:?}")),
        modified_ns,
        chunk_count: count(n_chunks),
        link_count: count(n_links),
        unresolved,
        diagnostics: diagnostics.collect(),
    }
}
