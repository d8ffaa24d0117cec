//! Test that the memory of a keyword index does not grow with the number of edits.
//!
//! A separate binary, because its allocator counts the memory of the whole process.
#![expect(unsafe_code, reason = "implementing a counting allocator is unsafe")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use weft_index::Disk;
use weft_index::keyword::{KeywordDocument, KeywordSettings, KeywordWriter};
use weft_model::NoteId;

/// System allocator that counts the allocated bytes.
struct CountingAllocator {
    n_bytes: AtomicUsize,
}

// SAFETY: every call is passed to the system allocator unchanged.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.n_bytes.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        self.n_bytes.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller upholds the contract.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static MEMORY: CountingAllocator = CountingAllocator { n_bytes: AtomicUsize::new(0) };

/// Notes that are edited in turn.
const NOTES: u32 = 4;

/// Number of edits of a run; each is a commit.
const EDITS: u64 = 60;

/// Maximum growth in bytes per edit: half the memory taken if every file of a commit stayed registered.
///
/// Threads of tantivy allocate and free memory at any time: some twenty kilobytes now and then.
const MAX_BYTES_PER_EDIT: usize = 700;

/// Number of memory samples, of which the lowest counts, and the pause before each.
const N_SAMPLES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(20);

/// Edits notes in turn and returns the allocated bytes once everything is in one segment.
fn allocated_after(writer: &mut KeywordWriter, edits: std::ops::Range<u64>) -> usize {
    let (last, mut encoder) = (edits.end, writer.encoder());
    for edit in edits {
        let note = NoteId::new(u32::try_from(edit).expect("few edits") % NOTES);
        let body = if edit % 2 == 0 { "soft and green" } else { "hard and grey" };
        let passages = weft_model::passages(body, &[]);
        let title = "Moss";
        let document =
            KeywordDocument { version: edit, title, body, passages, ..KeywordDocument::default() };
        writer.upsert(note, encoder.encode(&document)).expect("an indexed note");
        writer.commit(edit).expect("a reader");
    }
    drop(writer.compact(last).expect("a reader"));
    let samples = (0..N_SAMPLES).map(|_| {
        std::thread::sleep(PAUSE);
        MEMORY.n_bytes.load(Ordering::Relaxed)
    });
    samples.min().unwrap_or(usize::MAX)
}

#[test]
fn past_commits_release_their_memory() {
    let folder = tempfile::tempdir().unwrap();
    let settings = KeywordSettings { heap_bytes_per_thread: 15 << 20, ..Default::default() };
    let (mut writer, _) =
        KeywordWriter::open_or_create(&Disk::default(), folder.path(), settings).unwrap();
    let first = allocated_after(&mut writer, 1..EDITS);
    let second = allocated_after(&mut writer, EDITS..2 * EDITS);
    let n_more = second.saturating_sub(first) / usize::try_from(EDITS).unwrap();
    assert!(n_more < MAX_BYTES_PER_EDIT, "{n_more} bytes an edit: {first}, then {second}");
}
