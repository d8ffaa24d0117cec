//! What is held does not grow with the number of edits.
//!
//! A binary of its own: its allocator counts what the whole process holds.
#![expect(unsafe_code, reason = "an allocator that counts is one, and an allocator is unsafe")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use weft_index::Disk;
use weft_index::keyword::{KeywordDocument, KeywordSettings, KeywordWriter};
use weft_model::NoteId;

/// The system's allocator, and the bytes it has given out and not taken back.
struct Counting {
    n_bytes: AtomicUsize,
}

// SAFETY: every call is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.n_bytes.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        self.n_bytes.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static MEMORY: Counting = Counting { n_bytes: AtomicUsize::new(0) };

/// Notes that are edited in turn.
const NOTES: u32 = 4;

/// Edits of a run; each is a commit.
const EDITS: u64 = 60;

/// Bytes that may come to be held with an edit: half of what a commit's files take, were each remembered.
///
/// Threads of the library make and drop things of their own when they like: some twenty kilobytes now and then.
const MOST_BYTES_PER_EDIT: usize = 700;

/// How often the least that is held is looked for, and the pause before each look.
const LOOKS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(20);

/// Edits notes in turn, and gives the bytes held when all is in one segment.
fn held_after(writer: &mut KeywordWriter, edits: std::ops::Range<u64>) -> usize {
    let (last, mut encoder) = (edits.end, writer.encoder());
    for edit in edits {
        let note = NoteId::new(u32::try_from(edit).expect("few edits") % NOTES);
        let body = if edit % 2 == 0 { "soft and green" } else { "hard and grey" };
        let document = KeywordDocument {
            version: edit,
            title: "Moss",
            aliases: Vec::new(),
            headings: Vec::new(),
            tags: Vec::new(),
            body,
        };
        writer.upsert(note, encoder.encode(&document)).expect("taken in");
        writer.commit(edit).expect("a reader");
    }
    drop(writer.compact(last).expect("a reader"));
    let held = (0..LOOKS).map(|_| {
        std::thread::sleep(PAUSE);
        MEMORY.n_bytes.load(Ordering::Relaxed)
    });
    held.min().unwrap_or(usize::MAX)
}

#[test]
fn words_of_the_past_leave_nothing_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let settings = KeywordSettings { heap_bytes_per_thread: 15 << 20, ..Default::default() };
    let (mut writer, _) =
        KeywordWriter::open_or_create(&Disk::default(), folder.path(), settings).unwrap();
    let first = held_after(&mut writer, 1..EDITS);
    let second = held_after(&mut writer, EDITS..2 * EDITS);
    let n_more = second.saturating_sub(first) / usize::try_from(EDITS).unwrap();
    assert!(n_more < MOST_BYTES_PER_EDIT, "{n_more} bytes an edit: {first}, then {second}");
}
