//! The state of a model migration, from its start to the switch.

use std::time::Instant;

use crossbeam_channel::Sender;
use weft_index::{Reader, StoreError};

use super::{Event, RETRY};
use crate::IndexSettings;
use crate::embed::{AutoModel, ModelOpener};
use crate::model_migration::{MigratedModel, ModelMigration};
use crate::shared_status::SharedStatus;

/// The next embedding model: not started, migrating in the background, or ready to take over.
pub(super) struct MigrationState {
    /// The choice between the bundled models; `None` if the settings name a model.
    pub(super) auto: Option<AutoModel>,
    /// Opens the next model; `None` once the migration started.
    opener: Option<ModelOpener>,
    /// The background thread; dropping it cancels the migration.
    running: Option<ModelMigration>,
    /// The model whose vectors are ready, and when to switch to it.
    ready: Option<(Box<MigratedModel>, Instant)>,
}

impl MigrationState {
    pub(super) const fn new(opener: Option<ModelOpener>, auto: Option<AutoModel>) -> Self {
        Self { auto, opener, running: None, ready: None }
    }

    /// Starts the background migration, if a next model is configured.
    pub(super) fn start(
        &mut self,
        reader: Reader,
        settings: &IndexSettings,
        shared: &SharedStatus,
        events: &Sender<Event>,
    ) -> Result<(), StoreError> {
        let Some(open) = self.opener.take() else { return Ok(()) };
        shared.lock().status.next = Some(crate::NextModel::default());
        let (settings, shared, events) = (settings.clone(), shared.clone(), events.clone());
        // A stopped writer needs no model.
        let finished = move |migrated| drop(events.send(Event::MigrationFinished(migrated)));
        self.running = Some(ModelMigration::start(open, reader, settings, shared, finished)?);
        Ok(())
    }

    /// Cancels a migration, and prepares another one if there is an opener.
    pub(super) fn replace(&mut self, opener: Option<ModelOpener>) {
        (self.opener, self.running, self.ready) = (opener, None, None);
    }

    /// Cancels the background migration.
    pub(super) fn cancel(&mut self) {
        self.running = None;
    }

    /// Records that the vectors of the next model are ready.
    pub(super) fn finished(&mut self, migrated: Box<MigratedModel>) {
        self.ready = Some((migrated, Instant::now()));
    }

    /// Returns when to switch to the next model.
    pub(super) fn due_at(&self) -> Option<Instant> {
        self.ready.as_ref().map(|(_, due)| *due)
    }

    /// Removes and returns the model to switch to, if that is due.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<Box<MigratedModel>> {
        self.ready.take_if(|(_, due)| *due <= now).map(|(migrated, _)| migrated)
    }

    /// Schedules another attempt to switch.
    pub(super) fn postpone(&mut self, migrated: Box<MigratedModel>, now: Instant) {
        self.ready = Some((migrated, now + RETRY));
    }
}
