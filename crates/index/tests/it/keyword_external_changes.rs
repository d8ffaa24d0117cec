//! Tests of a keyword index whose files another program changes while it is open.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use weft_index::Disk;
use weft_index::keyword::{
    KeywordDocument, KeywordError, KeywordReader, KeywordSettings, KeywordWriter, QueryOptions,
};
use weft_model::{NoteId, NoteSet};

/// Number of positions at which each file is changed.
const N_POSITIONS: usize = 12;

fn put_note(
    writer: &mut KeywordWriter,
    id: u32,
    title: &str,
    body: &str,
) -> Result<(), KeywordError> {
    let passages = weft_model::passages(body, &[]);
    let version = u64::from(id);
    let document = KeywordDocument { version, title, body, passages, ..KeywordDocument::default() };
    writer.upsert(NoteId::new(id), writer.encoder().encode(&document))
}

/// Creates an index of a few notes in one segment with one note deleted, so that a file of every kind exists.
fn filled(folder: &Path) -> KeywordWriter {
    let settings =
        KeywordSettings { heap_bytes_per_thread: 15 << 20, ..KeywordSettings::default() };
    let opened = KeywordWriter::open_or_create(&Disk::default(), folder, settings);
    let (mut writer, _) = opened.expect("an index");
    refill(&mut writer);
    writer.delete(NoteId::new(3)).expect("a change");
    writer.commit(4).expect("a commit");
    writer
}

fn refill(writer: &mut KeywordWriter) {
    for (id, title, body) in [
        (0, "Fern", "green in the shade"),
        (1, "Moss", "green green and soft"),
        (2, "Stone", "hard, grey, mossy"),
        (3, "Gone", "soon"),
        (4, "Lichen", "on a grey stone"),
    ] {
        put_note(writer, id, title, body).expect("a change");
    }
    writer.commit(3).expect("a commit");
}

/// Runs every kind of read and returns the hits, or an error if some file cannot be read.
fn read_everything(reader: &KeywordReader) -> Result<Vec<NoteId>, KeywordError> {
    let mut found = Vec::new();
    for text in ["green", "+grey -moss", "\"grey stone\"", "fern shade"] {
        let query = reader.parse(text, &QueryOptions::default())?;
        found.extend(reader.search(&query, 9, &NoteSet::All)?.iter().map(|hit| hit.note));
        found.extend(reader.mentions(&query)?.notes.iter().map(|mention| mention.note));
    }
    for id in (0..5).map(NoteId::new) {
        reader.rare_terms(id, 9)?;
        reader.languages_of(&[id])?;
    }
    reader.notes_with(&["green"])?;
    reader.n_notes_with("green")?;
    reader.versions()?;
    Ok(found)
}

/// Returns the files of segments.
fn segments(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    let is_segment = |path: &PathBuf| path.file_stem().is_some_and(|stem| stem.len() >= 32);
    let mut paths: Vec<PathBuf> = entries.filter(is_segment).collect();
    paths.sort_by_key(|path| path.extension().map(ToOwned::to_owned));
    paths
}

/// Overwrites a file in place; if `hides_change` is set, its modification time stays the same.
fn overwrite(path: &Path, bytes: &[u8], hides_change: bool) {
    let modified = std::fs::metadata(path).and_then(|facts| facts.modified()).expect("facts");
    let file = std::fs::File::options().write(true).open(path).expect("a file");
    std::io::Write::write_all(&mut &file, bytes).expect("written");
    let time = if hides_change { modified } else { modified + Duration::from_secs(1) };
    file.set_modified(time).expect("a time");
}

/// Counts how often the corruption flag is raised.
fn count_alarms(writer: &KeywordWriter) -> Arc<AtomicUsize> {
    let n_alarms = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&n_alarms);
    writer.on_corruption(move || {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    n_alarms
}

#[test]
fn changed_byte_is_detected_and_the_index_rebuilt() {
    let whole = {
        let folder = tempfile::tempdir().expect("a folder");
        read_everything(filled(folder.path()).reader()).expect("an answer")
    };
    assert!(!whole.is_empty());
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer = filled(folder.path());
    let n_alarms = count_alarms(&writer);
    let kinds: Vec<_> = segments(folder.path())
        .iter()
        .map(|path| path.extension().map(ToOwned::to_owned))
        .collect();
    assert_eq!(kinds.len(), 7, "{kinds:?}");
    let mut n_detected = 0;
    for (kind, extension) in kinds.iter().enumerate() {
        // The footer that tantivy appends holds its version and the checksum.
        let bytes = std::fs::read(&segments(folder.path())[kind]).expect("a file");
        let n_bytes = bytes.windows(10).position(|part| part == b"{\"version\"").expect("a footer");
        for at in (0..n_bytes).step_by(n_bytes / N_POSITIONS) {
            let name = format!("byte {at} of {extension:?}");
            let path = &segments(folder.path())[kind];
            let mut bytes = std::fs::read(path).expect("a file");
            bytes[at] ^= 1 << (at % 8);
            overwrite(path, &bytes, false);
            n_alarms.store(0, Ordering::SeqCst);
            let detected = match read_everything(writer.reader()) {
                Err(error) if error.needs_rebuild() => 1,
                Err(error) => panic!("{name}: {error}"),
                Ok(_) => 0,
            };
            assert_eq!(n_alarms.load(Ordering::SeqCst), detected, "{name}");
            n_detected += detected;
            // A change reads every segment for the note it replaces.
            put_note(&mut writer, 1, "Moss", "green").expect("a change");
            let error = writer.commit(5).expect_err(&name);
            assert!(matches!(error, KeywordError::Corrupt { .. }), "{name}: {error}");
            writer.verify().expect_err(&name);
            writer.reset().expect(&name);
            assert_eq!(writer.reader().n_notes(), 0, "{name}");
            refill(&mut writer);
            writer.delete(NoteId::new(3)).expect("a change");
            writer.commit(4).expect("a commit");
            writer.verify().expect(&name);
            assert_eq!(read_everything(writer.reader()).expect(&name), whole, "{name}");
        }
    }
    assert!(n_detected > 0, "reads detect some damage");
}

#[test]
fn damaged_segment_is_not_merged() {
    for compacts in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut writer = filled(folder.path());
        let n_alarms = count_alarms(&writer);
        let is_store = |path: &PathBuf| path.extension() == Some("store".as_ref());
        let store = segments(folder.path()).into_iter().find(is_store).expect("a file");
        let mut bytes = std::fs::read(&store).expect("a file");
        bytes[0] ^= 1;
        overwrite(&store, &bytes, true);
        if compacts {
            let error = writer.compact(9).expect_err("damage");
            assert!(matches!(error, KeywordError::Corrupt { .. }), "{error}");
            continue;
        }
        for n in 5..12 {
            put_note(&mut writer, n, "Another", "with its own segment").expect("a change");
            writer.commit(u64::from(n)).expect("undetected damage");
        }
        assert!(n_alarms.load(Ordering::SeqCst) > 0);
        assert!(store.exists());
        let error = writer.verify().expect_err("the damage is still there");
        assert!(error.to_string().contains(&*store.file_name().expect("a name").to_string_lossy()));
    }
}

#[test]
fn truncated_files_are_not_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer = filled(folder.path());
    writer.verify_modified().expect("intact files");
    for path in segments(folder.path()) {
        let file = std::fs::File::options().write(true).open(path).expect("a file");
        // Reading a mapped page beyond the end of its file kills the process.
        file.set_len(0).expect("truncated");
    }
    put_note(&mut writer, 1, "Moss", "green").expect("a change");
    let error = writer.commit(5).expect_err("truncated files");
    assert!(error.to_string().contains("the file was truncated"), "{error}");
    writer.verify().expect_err("the files are still truncated");
    writer.reset().expect("an empty index");
    assert_eq!(writer.reader().n_notes(), 0);
}

#[test]
fn interrupted_commit_does_not_block_the_next_one() {
    let delete = |mut writer: KeywordWriter, notes: &[u32]| {
        notes.iter().for_each(|id| writer.delete(NoteId::new(*id)).expect("a change"));
        writer.commit(5).expect("a commit").n_notes()
    };
    // Tantivy names a file by the number of preceding changes.
    for notes in [&[4][..], &[4, 0], &[4, 0, 1], &[4, 0, 1, 2]] {
        let folder = tempfile::tempdir().expect("a folder");
        let writer = filled(folder.path());
        let list = folder.path().join("meta.json");
        let (before, named) = (std::fs::read(&list).expect("a list"), segments(folder.path()));
        let kept: Vec<_> = named.iter().map(|path| std::fs::read(path).expect("a file")).collect();
        assert_eq!(delete(writer, &[4, 0]), 2);
        // As if the process had ended before the new list was in place.
        std::fs::write(&list, before).expect("written");
        for (path, bytes) in named.iter().zip(kept).filter(|(path, _)| !path.exists()) {
            std::fs::write(path, bytes).expect("written");
        }
        let (disk, settings) = (Disk::default(), KeywordSettings::default());
        let opened = KeywordWriter::open_or_create(&disk, folder.path(), settings);
        let (writer, reader) = opened.expect("an index");
        assert_eq!(reader.n_notes(), 4);
        assert_eq!(delete(writer, notes), 4 - notes.len());
    }
}

#[test]
fn removed_folder_is_reset() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join("words");
    let mut writer = filled(&folder);
    let whole = read_everything(writer.reader()).expect("an answer");
    type Damage = fn(&Path);
    let cases: [(&str, Damage); 4] = [
        ("the folder", |at| std::fs::remove_dir_all(at).expect("removed")),
        ("the segment list", |at| std::fs::remove_file(at.join("meta.json")).expect("removed")),
        ("a file in place of the folder", |at| {
            std::fs::remove_dir_all(at).expect("removed");
            std::fs::write(at, "no folder").expect("written");
        }),
        ("a segment", |at| std::fs::remove_file(&segments(at)[0]).expect("removed")),
    ];
    for (name, damage) in cases {
        damage(&folder);
        assert_eq!(
            read_everything(writer.reader()).expect(name),
            whole,
            "{name}: the files are still mapped"
        );
        let changed = put_note(&mut writer, 1, "Moss", "green");
        changed.and_then(|()| writer.commit(5)).expect_err(name);
        let error = writer.verify().expect_err(name);
        assert!(matches!(error, KeywordError::Corrupt { .. }), "{name}: {error}");
        writer.reset().expect(name);
        refill(&mut writer);
        writer.delete(NoteId::new(3)).expect(name);
        writer.commit(4).expect(name);
        assert_eq!(read_everything(writer.reader()).expect(name), whole, "{name}");
    }
}
