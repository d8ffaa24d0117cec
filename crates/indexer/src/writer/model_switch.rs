//! The switch to another embedding model once its vectors are ready.

use std::sync::Arc;
use std::time::Instant;

use weft_index::{Snapshot, StoreError};

use super::Writer;
use crate::embed::{Model, ModelChoice, record_serving_model};
use crate::model_migration::MigratedModel;
use crate::vault_languages::LanguageShare;
use crate::{IndexError, IndexSettings};

impl Writer {
    /// Starts embedding all notes with the next model in the background.
    pub(super) fn start_migration(&mut self) {
        let reader = self.publication.reader();
        let started = self.migration.start(reader, &self.settings, &self.shared, &self.events);
        self.report_outcome(started.map_err(IndexError::from));
    }

    /// Publishes the vectors of the next model, with the notes chunked for it, and embeds with it from now on.
    ///
    /// Keywords and links stay the same; vectors of the latest changes follow.
    /// If publishing fails, the switch is retried later and the present model serves until then.
    pub(super) fn switch_model(&mut self) -> Result<(), IndexError> {
        let now = Instant::now();
        let Some(mut migrated) = self.migration.take_due(now) else { return Ok(()) };
        let before = self.publication.newest();
        let generation = before.generation + 1;
        if let Err(error) = self.persistence.issue(generation) {
            self.migration.postpone(migrated, now);
            if let Some(next) = &mut self.shared.lock().status.next {
                next.error = Some(error.to_string());
            }
            return Err(error.into());
        }
        let changes = migrated.rechunk(&before.notes, &self.settings.chunks);
        let (notes, _) = before.notes.edited(&changes);
        let MigratedModel { model, embeddings, covered: _ } = *migrated;
        let embedder = Arc::clone(&model.embedder);
        let indexed = self.vectors.start(embeddings, Arc::clone(&embedder), &notes);
        let vectors = self.vectors.current(&notes);
        self.shared.lock().vectors_unreadable = None;
        self.persistence.recipe = self.settings.recipe(Some(&*embedder));
        self.publish_snapshot(Snapshot { generation, notes, vectors, ..Snapshot::clone(&before) });
        {
            let status = &mut self.shared.lock().status;
            (status.embedder, status.next) = (Some(embedder.identity().clone()), None);
            (status.unavailable, status.last_error) = (None, None);
        }
        self.remember_model(&model).and(Ok(indexed?))
    }

    /// Chooses between the bundled models by the languages of the present notes; another model than the serving one embeds them in the background.
    pub(super) fn choose_model(&mut self) -> Result<(), IndexError> {
        let Some(auto) = &mut self.migration.auto else { return Err(IndexError::ModelIsSet) };
        let share = LanguageShare::of_snapshot(&self.publication.newest());
        let (choice, mut open) = auto.choose(share.not_english().unwrap_or_default());
        let IndexSettings { disk, store, .. } = &self.settings;
        ModelChoice::record(Some(&choice), disk, store).map_err(|source| StoreError::Io {
            action: "write",
            path: store.clone(),
            source,
        })?;
        self.shared.notice(choice.line());
        let serving = self.vectors.embedder().map(|embedder| embedder.identity().clone());
        let is_serving =
            open().is_ok_and(|model| Some(model.embedder.identity()) == serving.as_ref());
        self.migration.replace((!is_serving).then_some(open));
        {
            let status = &mut self.shared.lock().status;
            status.model_choice = Some(choice);
            status.next = None;
        }
        self.start_migration();
        Ok(())
    }

    fn remember_model(&self, model: &Model) -> Result<(), IndexError> {
        let outcome = record_serving_model(&self.settings.disk, &self.settings.store, model);
        let path = self.settings.store.clone();
        Ok(outcome.map_err(|source| StoreError::Io { action: "write", path, source })?)
    }
}
