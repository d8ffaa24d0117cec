//! Resolves the links of many notes.

use std::collections::HashMap;
use std::thread::{self, Builder};

use foldhash::fast::RandomState;
use weft_model::{NoteId, Target};

use super::NoteTable;
use super::resolve::Resolver;

/// Minimum notes per thread, so that starting a thread pays off.
const NOTES_PER_THREAD: usize = 256;

/// The resolved target of a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkTarget {
    /// `None` if no note matches.
    pub(super) note: Option<NoteId>,
    /// True if another note matches equally well.
    pub(super) is_ambiguous: bool,
}

impl NoteTable {
    /// Returns the targets of each note's links, in their order; uses all cores if there are many notes.
    pub(super) fn link_targets_of_all(&self, notes: &[NoteId]) -> Vec<Vec<LinkTarget>> {
        let link_targets = |notes: &[NoteId]| -> Vec<Vec<LinkTarget>> {
            let mut resolver = Resolver::new(self);
            notes.iter().map(|note| self.link_targets(*note, &mut resolver)).collect()
        };
        let n_cores = thread::available_parallelism().map_or(1, usize::from);
        let n_threads = n_cores.min(notes.len() / NOTES_PER_THREAD);
        if n_threads < 2 {
            return link_targets(notes);
        }
        thread::scope(|scope| {
            let shares = notes.chunks(notes.len().div_ceil(n_threads));
            let spawn = |share| {
                let thread = Builder::new().name("weft-links".into());
                (share, thread.spawn_scoped(scope, move || link_targets(share)))
            };
            let threads: Vec<_> = shares.map(spawn).collect();
            let joined =
                threads.into_iter().map(|(share, thread)| match thread.map(|it| it.join()) {
                    Ok(Ok(link_targets)) => link_targets,
                    Ok(Err(panic)) => std::panic::resume_unwind(panic),
                    // No thread could be started.
                    Err(_) => link_targets(share),
                });
            joined.flatten().collect()
        })
    }

    /// Returns the targets of a note's links, in their order.
    fn link_targets<'t>(
        &'t self,
        note: NoteId,
        resolver: &mut Resolver<'t, 't>,
    ) -> Vec<LinkTarget> {
        let Some(entry) = self.entry(note) else { return Vec::new() };
        let from = entry.link_context();
        // A note often links to the same target many times.
        let mut cache: HashMap<&Target, LinkTarget, RandomState> = HashMap::default();
        let links = entry.note.links.iter().map(|link| {
            *cache.entry(&link.target).or_insert_with(|| {
                let found = resolver.resolution(&link.target, &[from]);
                LinkTarget { note: found.note, is_ambiguous: found.is_ambiguous() }
            })
        });
        links.collect()
    }
}
