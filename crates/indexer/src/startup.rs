//! Startup: opens the store and repairs what is damaged.

use std::path::Path;
use std::sync::Arc;

use weft_index::embedder::Embedder;
use weft_index::keyword::KeywordWriter;
use weft_index::notes::{NoteTable, VaultInfo};
use weft_index::{
    EmbeddingStore, LatestCheckpoint, Publisher, ResumePoint, Snapshot, Store, StoreError, Vectors,
};

use crate::embed::{self, ModelChoice};
use crate::past_snapshots::PastSnapshots;
use crate::scan::folder_problem;
use crate::shared_status::SharedStatus;
use crate::vault_changes::vault_changes;
use crate::vault_files::VaultFiles;
use crate::vault_home::{Folders, VaultHome};
use crate::writer::{WriterParts, keyword_rebuild_notice, reconcile};
use crate::{IndexError, IndexSettings, Model, VaultSettings};

/// Opens or creates the store and loads its content.
///
/// Damaged parts are skipped with a notice and rebuilt from the files.
/// The writer loads the vectors, which are large, as its first task.
pub(crate) fn open_parts(
    settings: &IndexSettings,
    (model, choice): (Option<Model>, Option<ModelChoice>),
    has_next: bool,
    address: Option<&str>,
) -> Result<WriterParts, IndexError> {
    let home = settings.store.canonicalize().ok();
    for VaultSettings { root, .. } in &settings.vaults {
        let is_inside = |home: &std::path::PathBuf| {
            root.canonicalize().is_ok_and(|root| root.starts_with(home))
        };
        if home.as_ref().is_some_and(is_inside) {
            let reason = format!(
                "it is inside the index folder {}; set `store.path` to a folder of its own",
                settings.store.display()
            );
            return Err(IndexError::Vault { root: root.clone(), reason });
        }
    }
    // A mistyped vault leaves no index behind.
    if settings.home.is_none() && !settings.store.exists() {
        for VaultSettings { root, .. } in &settings.vaults {
            if let Some(reason) = folder_problem(root) {
                return Err(IndexError::Vault { root: root.clone(), reason });
            }
        }
    }
    let mut store = Store::open(&settings.disk, &settings.store, address)?;
    let files = Arc::new(VaultFiles::new(settings.disk.clone(), &settings.store));
    let folders = || Arc::new(Folders::new(Arc::clone(&files))) as Arc<dyn VaultHome>;
    let vaults_home = settings.home.clone().unwrap_or_else(folders);
    let shared = SharedStatus::default();
    let embedder = model.as_ref().map(|model| Arc::clone(&model.embedder));
    if let Some(model) = model.as_ref().filter(|_| !has_next) {
        embed::record_serving_model(&settings.disk, &settings.store, model).map_err(|source| {
            StoreError::Io { action: "write", path: settings.store.clone(), source }
        })?;
    }
    let is_new_choice = choice.is_some() && ModelChoice::read(&settings.store) != choice;
    let recorded = ModelChoice::record(choice.as_ref(), &settings.disk, &settings.store);
    recorded.map_err(|source| StoreError::Io {
        action: "write",
        path: settings.store.clone(),
        source,
    })?;
    if let Some(choice) = choice.as_ref().filter(|_| is_new_choice) {
        shared.notice(choice.line());
    }
    {
        let status = &mut shared.lock().status;
        status.model_choice = choice;
        status.store.clone_from(&settings.store);
        let identity = embedder.as_ref().map(|embedder| embedder.identity().clone());
        status.embedder = identity.filter(|identity| !embed::is_pending(identity));
    }
    let RestoredCheckpoint { mut notes, resumed, checkpointed, outdated, repaired } =
        restore(&store, settings.recipe(embedder.as_deref()), &shared)?;
    let ResumePoint { mut generation, clean_shutdown } = resumed;
    let follows = vaults_home.log().is_some();
    if follows {
        // The number of a state comes from the log, and a state that was not persisted is followed again.
        generation = checkpointed;
    }
    let vaults = if follows { vaults_of(&notes) } else { settings.vaults.clone() };
    let changes = vault_changes(&*vaults_home, &notes, &vaults);
    // Repaired state is persisted under a new generation.
    if !follows && (repaired || (!changes.is_empty() && notes.n_notes() > 0)) {
        generation += 1;
        store.reserve_generation(generation)?;
    }
    if !changes.is_empty() {
        notes = notes.edited(&changes).0;
    }
    for VaultSettings { name, root } in &vaults {
        let vault = notes
            .vaults()
            .find(|(_, VaultInfo { name: known, root: _, n_missing: _ })| known == name);
        let n_notes = vault.map_or(0, |(id, _)| notes.vault_stats(id).n_notes);
        // A missing folder may come back, for example on an unmounted disk; its notes are served meanwhile.
        if vaults_home.locate(root).identity.is_none() && n_notes == 0 {
            // It may have come back since.
            let reason = folder_problem(root).unwrap_or_else(|| "it is not a folder".to_owned());
            return Err(IndexError::Vault { root: root.clone(), reason });
        }
    }
    let mut keyword = open_keywords(&store, settings, &notes, &shared)?;
    let reader = reconcile(&mut keyword, &notes, generation)?;
    let loading = |embedder: Arc<dyn Embedder>| {
        let rows = match EmbeddingStore::peek(&settings.store, embedder.identity(), &notes) {
            Ok(rows) => rows,
            Err(error @ StoreError::FutureVersion { .. }) => return Err(error),
            // The writer gets the same error when it loads the vectors, and reports it.
            Err(_) => Vectors::unembedded_rows(&notes),
        };
        Ok(Vectors::loading(embedder, settings.vector, rows)?)
    };
    let loading = embedder.clone().map(loading).transpose()?;
    let (vectors, reading) = loading.unzip();
    let snapshot = Snapshot { generation, notes, keyword: reader, vectors };
    let past = PastSnapshots::new(store.checkpoints(), settings.keep_generations);
    {
        let mut shared = shared.lock();
        shared.status.recovering = (!clean_shutdown && !follows).then_some(generation);
        shared.status.store_bytes = store.checkpoints().store_bytes();
        shared.status.stored_generations = store.checkpoints().stored()?;
        shared.status.n_vectors_pending =
            snapshot.vectors.as_ref().map_or(0, |vectors| vectors.n_waiting);
        shared.count(&snapshot);
    }
    let digest = snapshot.notes.total().digest;
    tracing::debug!(generation, digest = %format_args!("{digest:032x}"), "opened");
    let publisher = Publisher::new(snapshot);
    let store = Some(store);
    Ok(WriterParts {
        store,
        home: vaults_home,
        files,
        vaults,
        keyword,
        embedder,
        reading,
        publisher,
        shared,
        past,
        checkpointed,
        outdated,
    })
}

/// Returns the vaults of the note table.
fn vaults_of(notes: &NoteTable) -> Vec<VaultSettings> {
    let vaults = notes.vaults().map(|(_, info)| {
        let (name, root) = (info.name.clone(), info.root.clone().into());
        VaultSettings { name, root }
    });
    let mut vaults: Vec<VaultSettings> = vaults.collect();
    vaults.sort_by(|a, b| a.name.cmp(&b.name));
    vaults
}

/// The state loaded from a store.
struct RestoredCheckpoint {
    notes: NoteTable,
    resumed: ResumePoint,
    /// Generation of the checkpoint.
    checkpointed: u64,
    /// True if the entries were made with other settings.
    outdated: bool,
    /// True if the state differs from the checkpoint because a part of that was damaged.
    repaired: bool,
}

/// Loads the last readable checkpoint; returns an empty state if no checkpoint is readable.
fn restore(
    store: &Store,
    recipe: u64,
    shared: &SharedStatus,
) -> Result<RestoredCheckpoint, IndexError> {
    let empty = RestoredCheckpoint {
        notes: NoteTable::default(),
        resumed: store.resume(0)?,
        checkpointed: 0,
        outdated: false,
        repaired: false,
    };
    match store.checkpoints().newest() {
        Ok(None) => Ok(empty),
        Ok(Some(LatestCheckpoint { checkpoint, graph, damaged })) => {
            let generation = checkpoint.generation;
            for (damaged, error) in damaged {
                tracing::warn!(%error, generation, "opened an earlier generation");
                shared.notice(format!(
                    "{error}; the index was restored from generation {generation} and the files."
                ));
                // The files still have its content. A checkpoint that cannot be removed now is handled at the next start.
                let _ = store.checkpoints().discard(damaged);
            }
            let repaired = graph.is_some();
            if let Some(error) = graph {
                tracing::warn!(%error, generation, "rebuilding the graph");
                shared.notice(format!("{error}; it was rebuilt from the notes."));
            }
            let outdated = checkpoint.recipe != recipe;
            if outdated {
                shared.notice(
                    "The settings changed: every file is read again, and the vectors are kept."
                        .into(),
                );
            }
            Ok(RestoredCheckpoint {
                resumed: store.resume(checkpoint.generation)?,
                checkpointed: checkpoint.generation,
                notes: checkpoint.notes,
                outdated,
                repaired,
            })
        }
        Err(error) if error.needs_rebuild() => {
            tracing::warn!(%error, "rebuilding the index");
            shared.notice(format!(
                "{error}; the index was rebuilt from the files, and the vectors are kept."
            ));
            Ok(empty)
        }
        Err(error) => Err(error.into()),
    }
}

fn open_keywords(
    store: &Store,
    settings: &IndexSettings,
    notes: &NoteTable,
    shared: &SharedStatus,
) -> Result<KeywordWriter, IndexError> {
    let folder: &Path = &store.keyword_folder();
    // If a run ended during a rebuild, the index exists and is empty.
    let exists = folder.join("meta.json").exists();
    match KeywordWriter::open_or_create(store.disk(), folder, settings.keyword) {
        Ok((writer, reader)) => {
            // Keywords are persisted before their notes, so notes without keywords mean that the index was lost.
            if reader.generation() == 0 && notes.n_notes() > 0 && !exists {
                let error = StoreError::Damaged {
                    path: folder.to_owned(),
                    reason: "the keyword index is missing".into(),
                };
                tracing::warn!(%error, "rebuilding the keyword index");
                shared.notice(keyword_rebuild_notice(&error));
            }
            Ok(writer)
        }
        Err(error) if error.needs_rebuild() => {
            tracing::warn!(%error, "rebuilding the keyword index");
            shared.notice(keyword_rebuild_notice(&error));
            Ok(KeywordWriter::recreate(store.disk(), folder, settings.keyword)?.0)
        }
        Err(error) => Err(error.into()),
    }
}
