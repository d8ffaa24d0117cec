//! What the links of many notes mean.

use std::collections::HashMap;
use std::thread::{self, Builder};

use foldhash::fast::RandomState;
use weft_model::{NoteId, Target};

use super::NoteTable;
use super::resolve::{From, Resolver};

/// Notes for which a thread is worth its while.
const NOTES_PER_THREAD: usize = 256;

/// What a link means.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meaning {
    /// Nothing where no note answers.
    pub(super) note: Option<NoteId>,
    /// Whether it could equally well mean another.
    pub(super) is_ambiguous: bool,
}

impl NoteTable {
    /// What the links of each note mean, in their order; on all cores where there are many notes.
    pub(super) fn meanings_of_all(&self, notes: &[NoteId]) -> Vec<Vec<Meaning>> {
        let meanings = |notes: &[NoteId]| -> Vec<Vec<Meaning>> {
            let mut resolver = Resolver::new(self);
            notes.iter().map(|note| self.meanings(*note, &mut resolver)).collect()
        };
        let n_cores = thread::available_parallelism().map_or(1, usize::from);
        let n_threads = n_cores.min(notes.len() / NOTES_PER_THREAD);
        if n_threads < 2 {
            return meanings(notes);
        }
        thread::scope(|scope| {
            let shares = notes.chunks(notes.len().div_ceil(n_threads));
            let spawn = |share| {
                let thread = Builder::new().name("weft-links".into());
                (share, thread.spawn_scoped(scope, move || meanings(share)))
            };
            let threads: Vec<_> = shares.map(spawn).collect();
            let joined =
                threads.into_iter().map(|(share, thread)| match thread.map(|it| it.join()) {
                    Ok(Ok(meanings)) => meanings,
                    Ok(Err(panic)) => std::panic::resume_unwind(panic),
                    // The system has no thread to give.
                    Err(_) => meanings(share),
                });
            joined.flatten().collect()
        })
    }

    /// What the links of a note mean, in their order.
    fn meanings<'t>(&'t self, note: NoteId, resolver: &mut Resolver<'t, 't>) -> Vec<Meaning> {
        let Some(entry) = self.entry(note) else { return Vec::new() };
        let from = From { vault: entry.vault, folder: entry.note.path.folder() };
        // A note often links to the same target many times.
        let mut known: HashMap<&Target, Meaning, RandomState> = HashMap::default();
        let links = entry.note.links.iter().map(|link| {
            *known.entry(&link.target).or_insert_with(|| {
                let found = resolver.resolution(&link.target, &[from]);
                Meaning { note: found.note, is_ambiguous: found.is_ambiguous() }
            })
        });
        links.collect()
    }
}
