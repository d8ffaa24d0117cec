//! The vectors: whose they are, which are missing, and what makes searching them fast.

use std::sync::Arc;

use crossbeam_channel::Sender;
use weft_index::embedder::{EmbedError, Embedder};
use weft_index::notes::{Delta, NoteTable};
use weft_index::vector::FrozenGraph;
use weft_index::{Shelf, StoreError, Vectors};
use weft_model::{NoteId, TextHash};

use super::Event;
use super::backlog::{Backlog, Embedded};
use crate::IndexError;

/// The shelf of vectors, the texts that are on their way to it, and a graph over it.
pub(super) struct Meaning {
    /// Tells it from those of other models.
    number: u64,
    shelf: Shelf,
    backlog: Backlog,
    /// Vectors, or a graph, that came since the last publication.
    unpublished: bool,
    building: Building,
    events: Sender<Event>,
}

/// A graph over the vectors that is being built.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Building {
    Nothing,
    /// One over the rows of now.
    Graph,
    /// One over rows that have other numbers now.
    Outdated,
}

impl Meaning {
    pub(super) fn start(
        number: u64,
        shelf: Shelf,
        embedder: Arc<dyn Embedder>,
        events: Sender<Event>,
    ) -> Self {
        let backlog = Backlog::new(embedder, events.clone());
        Self { number, shelf, backlog, unpublished: false, building: Building::Nothing, events }
    }

    /// What tells it from those of other models.
    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    pub(super) const fn shelf(&self) -> &Shelf {
        &self.shelf
    }

    pub(super) const fn backlog(&self) -> &Backlog {
        &self.backlog
    }

    pub(super) const fn backlog_mut(&mut self) -> &mut Backlog {
        &mut self.backlog
    }

    /// Whether vectors or a graph came that no snapshot holds.
    pub(super) const fn is_unpublished(&self) -> bool {
        self.unpublished
    }

    /// The vectors of now, which count as published.
    pub(super) fn publish(&mut self) -> Vectors {
        self.unpublished = false;
        self.shelf.publish()
    }

    /// Makes every vector so far durable.
    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        self.shelf.sync()
    }

    /// Gives the chunks of changed notes their vectors, or a place in the backlog.
    ///
    /// After an error every chunk has one or the other all the same.
    pub(super) fn arrange(&mut self, notes: &NoteTable, delta: &Delta) -> Result<(), StoreError> {
        let mut outcome = Ok(());
        for id in &delta.removed {
            outcome = self.arrange_note(*id, &[]).and(outcome);
        }
        for id in &delta.upserted {
            let Some(card) = notes.card(*id) else { continue };
            let texts: Vec<TextHash> = card.texts().collect();
            outcome = self.arrange_note(*id, &texts).and(outcome);
        }
        outcome
    }

    /// Brings everything in line with `notes`, whatever the shelf knew before.
    pub(super) fn arrange_all(&mut self, notes: &NoteTable) -> Result<(), StoreError> {
        let upserted = notes.cards().map(|(id, _)| id).collect();
        let known = self.shelf.publish().rows;
        let removed = known.iter().map(|(id, _)| id).filter(|id| !notes.is_note(*id)).collect();
        self.arrange(notes, &Delta { upserted, removed })
    }

    fn arrange_note(&mut self, id: NoteId, texts: &[TextHash]) -> Result<(), StoreError> {
        self.backlog.forget(id);
        let (waiting, outcome) = self.shelf.arrange(id, texts);
        for at in waiting {
            self.backlog.wait(texts[at], (id, at));
        }
        outcome
    }

    /// Takes in what came back from the model.
    ///
    /// A text whose vector could not be made or kept for want of a model or of room waits on; one that the model refuses does not.
    pub(super) fn embedded(&mut self, part: Embedded) -> Result<(), IndexError> {
        let Embedded { texts, result } = part;
        match result {
            Ok(vectors) => {
                for ((text, vector), at) in texts.iter().zip(vectors).zip(0..) {
                    let places = self.backlog.take(*text);
                    if let Err(error) = self.shelf.fill(*text, &vector, &places) {
                        for place in places {
                            self.backlog.wait(*text, place);
                        }
                        self.backlog.postpone(&texts[at + 1..]);
                        return Err(error.into());
                    }
                    self.backlog.embedded(places.len());
                    self.unpublished = true;
                }
                Ok(())
            }
            Err(error @ EmbedError::Unavailable { .. }) => {
                self.backlog.postpone(&texts);
                Err(error.into())
            }
            Err(error @ EmbedError::Failed { .. }) => {
                // Trying again gives the same; the notes stay found by word and link.
                for text in texts {
                    self.backlog.take(text);
                }
                Err(error.into())
            }
        }
    }

    /// Starts building a graph over the vectors where one would make searches faster.
    pub(super) fn build_graph(&mut self) {
        if self.building != Building::Nothing || !self.backlog.is_idle() {
            return;
        }
        let index = self.shelf.publish().index;
        if !index.needs_rebuild() {
            return;
        }
        let (number, events) = (self.number, self.events.clone());
        let work = move || {
            // A writer that has stopped needs no graph.
            let _ = events.send(Event::GraphBuilt(number, index.build_graph()));
        };
        if std::thread::Builder::new().name("weft-graph".into()).spawn(work).is_ok() {
            self.building = Building::Graph;
        }
    }

    /// Makes searches use a graph that was built in the background.
    pub(super) fn attach(&mut self, graph: FrozenGraph) -> Result<(), StoreError> {
        let was = std::mem::replace(&mut self.building, Building::Nothing);
        if was == Building::Graph {
            // It serves also where there is no room to keep it for the next start.
            self.unpublished = true;
            self.shelf.attach(graph)?;
        }
        Ok(())
    }

    /// Lets vectors go that another program changed, for the model to make them anew, and gives a line for a person where there were any; looks for them where their file was touched, or `always`.
    pub(super) fn drop_damaged(
        &mut self,
        notes: &NoteTable,
        always: bool,
    ) -> Result<Option<String>, StoreError> {
        if !always && !self.shelf.is_touched() {
            return Ok(None);
        }
        let n_damaged = self.shelf.drop_damaged()?;
        if n_damaged == 0 {
            if self.shelf.is_gone() {
                // They are still held: they are written anew.
                self.compact()?;
                self.unpublished = true;
            }
            return Ok(None);
        }
        self.unpublished = true;
        self.arrange_all(notes)?;
        // What lies there damaged is not found, and told of, a second time.
        self.compact()?;
        Ok(Some(damaged_vectors(n_damaged)))
    }

    /// Takes vectors that nobody needs off the disk. After an error everything is as it was.
    pub(super) fn compact(&mut self) -> Result<(), StoreError> {
        self.shelf.sync()?;
        self.shelf.compact()?;
        if self.building == Building::Graph {
            self.building = Building::Outdated;
        }
        Ok(())
    }
}

/// What a person is told of vectors that were not as they had been made.
pub(super) fn damaged_vectors(n: usize) -> String {
    format!("{n} vectors were damaged; those still needed were made again.")
}
