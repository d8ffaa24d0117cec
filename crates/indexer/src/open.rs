//! Bringing an index up: what the store holds, made whole.

use std::path::Path;
use std::sync::Arc;

use weft_index::embedder::Embedder;
use weft_index::keyword::KeywordWriter;
use weft_index::notes::{NoteTable, VaultInfo};
use weft_index::{Newest, Publisher, Resumed, Shelf, Snapshot, Store, StoreError, Vectors};

use crate::board::Board;
use crate::embed;
use crate::past::Past;
use crate::vaults::vault_changes;
use crate::writer::{Parts, reconcile, words_made_anew};
use crate::{IndexError, IndexSettings, Model, VaultSettings, watch};

/// Opens or creates the store and reads back what it holds.
///
/// What is damaged is left out, with a notice: it is made again from the files.
/// The vectors themselves, which are many bytes, are left to the writer, which reads them back first.
pub(crate) fn parts(
    settings: &IndexSettings,
    model: Option<Model>,
    has_next: bool,
    address: Option<&str>,
) -> Result<Parts, IndexError> {
    let home = settings.store.canonicalize().ok();
    for VaultSettings { root, .. } in &settings.vaults {
        let lies_in = |home: &std::path::PathBuf| {
            root.canonicalize().is_ok_and(|root| root.starts_with(home))
        };
        if home.as_ref().is_some_and(lies_in) {
            let reason = format!(
                "it lies in the folder of the index, {}; an index needs one of its own",
                settings.store.display()
            );
            return Err(IndexError::Vault { root: root.clone(), reason });
        }
    }
    let mut store = Store::open(&settings.disk, &settings.store, address)?;
    let board = Board::default();
    let embedder = model.as_ref().map(|model| Arc::clone(&model.embedder));
    if let Some(model) = model.as_ref().filter(|_| !has_next) {
        embed::remember(&settings.disk, &settings.store, model).map_err(|source| {
            StoreError::Io { action: "write", path: settings.store.clone(), source }
        })?;
    }
    {
        let status = &mut board.lock().status;
        status.store.clone_from(&settings.store);
        let identity = embedder.as_ref().map(|embedder| embedder.identity().clone());
        status.embedder = identity.filter(|identity| !embed::is_unopened(identity));
    }
    let Restored { mut notes, resumed, written, outdated, mended } =
        restore(&store, settings.recipe(embedder.as_deref()), &board)?;
    let Resumed { mut generation, ended_well } = resumed;
    let changes = vault_changes(&notes, &settings.vaults);
    // What was mended is written down anew.
    if mended || (!changes.is_empty() && notes.n_notes() > 0) {
        generation += 1;
        store.issue(generation)?;
    }
    if !changes.is_empty() {
        notes = notes.edited(&changes).0;
    }
    for VaultSettings { name, root } in &settings.vaults {
        let vault = notes
            .vaults()
            .find(|(_, VaultInfo { name: known, root: _, n_missing: _ })| known == name);
        let n_notes = vault.map_or(0, |(id, _)| notes.tally(id).n_notes);
        // A folder that is missing today may be back tomorrow; its notes are served meanwhile.
        if watch::identity(root).is_none() && n_notes == 0 {
            let reason = match std::fs::metadata(root) {
                Ok(_) => "it is no folder".to_owned(),
                Err(error) => error.to_string(),
            };
            return Err(IndexError::Vault { root: root.clone(), reason });
        }
    }
    let mut keyword = open_words(&store, settings, &notes, &board)?;
    let reader = reconcile(&mut keyword, &notes, generation)?;
    let awaited = |embedder: Arc<dyn Embedder>| {
        let glance = match Shelf::glance(&settings.store, embedder.identity(), &notes) {
            Ok(glance) => glance,
            Err(error @ StoreError::FutureVersion { .. }) => return Err(error),
            // The writer meets it again, and tells.
            Err(_) => Vectors::no_rows(&notes),
        };
        Ok(Vectors::awaited(embedder, settings.vector, glance)?)
    };
    let awaited = embedder.clone().map(awaited).transpose()?;
    let (vectors, reading) = awaited.unzip();
    let snapshot = Snapshot { generation, notes, keyword: reader, vectors };
    let past = Past::new(store.checkpoints(), settings.keep_generations);
    {
        let mut board = board.lock();
        board.status.recovering = (!ended_well).then_some(generation);
        board.status.store_bytes = store.checkpoints().store_bytes();
        board.status.stored_generations = store.checkpoints().stored()?;
        board.status.n_vectors_pending =
            snapshot.vectors.as_ref().map_or(0, |vectors| vectors.n_waiting);
        board.count(&snapshot);
    }
    let digest = snapshot.notes.total().digest;
    tracing::debug!(generation, digest = %format_args!("{digest:032x}"), "opened");
    let publisher = Publisher::new(snapshot);
    let store = Some(store);
    Ok(Parts { store, keyword, embedder, reading, publisher, board, past, written, outdated })
}

/// What a store gives back.
struct Restored {
    notes: NoteTable,
    resumed: Resumed,
    /// The generation that is written down.
    written: u64,
    /// Whether its entries were made with another recipe.
    outdated: bool,
    /// Whether it is another than what is written down, because part of that was damaged.
    mended: bool,
}

/// The last checkpoint, if it can be read.
fn restore(store: &Store, recipe: u64, board: &Board) -> Result<Restored, IndexError> {
    let nothing = Restored {
        notes: NoteTable::default(),
        resumed: store.resume(0)?,
        written: 0,
        outdated: false,
        mended: false,
    };
    match store.checkpoints().newest() {
        Ok(None) => Ok(nothing),
        Ok(Some(Newest { checkpoint, graph, damaged })) => {
            let generation = checkpoint.generation;
            for (damaged, error) in damaged {
                tracing::warn!(%error, generation, "an earlier state is opened");
                board.notice(format!(
                    "{error}; the index goes on from generation {generation} and the files."
                ));
                // Nothing is lost with it. What cannot be removed now is met again at the next start.
                let _ = store.checkpoints().discard(damaged);
            }
            let mended = graph.is_some();
            if let Some(error) = graph {
                tracing::warn!(%error, generation, "the graph is made again");
                board.notice(format!("{error}; it was made again from the notes."));
            }
            let outdated = checkpoint.recipe != recipe;
            if outdated {
                board.notice(
                    "The settings changed; every file is read again, vectors are kept.".into(),
                );
            }
            Ok(Restored {
                resumed: store.resume(checkpoint.generation)?,
                written: checkpoint.generation,
                notes: checkpoint.notes,
                outdated,
                mended,
            })
        }
        Err(error) if error.is_lost() => {
            tracing::warn!(%error, "the index is built anew");
            board.notice(format!(
                "{error}; the index was built anew from the files, vectors are kept."
            ));
            Ok(nothing)
        }
        Err(error) => Err(error.into()),
    }
}

fn open_words(
    store: &Store,
    settings: &IndexSettings,
    notes: &NoteTable,
    board: &Board,
) -> Result<KeywordWriter, IndexError> {
    let folder: &Path = &store.keyword_folder();
    // Where a run ended while it made them anew, they are begun and hold nothing.
    let is_begun = folder.join("meta.json").exists();
    match KeywordWriter::open_or_create(store.disk(), folder, settings.keyword) {
        Ok((writer, reader)) => {
            // Notes are written down after their words.
            if reader.generation() == 0 && notes.n_notes() > 0 && !is_begun {
                let error = StoreError::Damaged {
                    path: folder.to_owned(),
                    reason: "the word index is missing".into(),
                };
                tracing::warn!(%error, "the word index is built anew");
                board.notice(words_made_anew(&error));
            }
            Ok(writer)
        }
        Err(error) if error.needs_rebuild() => {
            tracing::warn!(%error, "the word index is built anew");
            board.notice(words_made_anew(&error));
            Ok(KeywordWriter::recreate(store.disk(), folder, settings.keyword)?.0)
        }
        Err(error) => Err(error.into()),
    }
}
