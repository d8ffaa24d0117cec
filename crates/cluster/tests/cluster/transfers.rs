//! Push and pull.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use weft_cluster::{Commit, FileChange, PushOptions, TransferError};
use weft_indexer::DeletionGuardOptions;
use weft_indexer::scan::ScanOptions;

use crate::collection;

/// Name of the machine of all folders.
pub(crate) const MACHINE: &str = "test";

pub(crate) fn options() -> PushOptions {
    PushOptions {
        scan: ScanOptions::default(),
        deletion_guard: DeletionGuardOptions { max_share: 0.5, min_notes: 3 },
        removes_any: false,
        holder: "test".to_owned(),
        machine: MACHINE.to_owned(),
    }
}

pub(crate) fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let below = self::files(&path).into_iter();
            files.extend(below.map(|(path, text)| (format!("{name}/{path}"), text)));
        } else {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            files.insert(name, fs::read_to_string(path).unwrap());
        }
    }
    files
}

#[test]
fn pushed_folder_is_pulled_unchanged() {
    let Some((_server, notes)) = collection() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("source"), folder.path().join("target"));
    fs::create_dir_all(source.join("wood")).unwrap();
    for n in 0..1200 {
        fs::write(source.join(format!("wood/{n}.md")), format!("# Note {}\n", n % 700)).unwrap();
    }
    fs::write(source.join("fern.md"), "# Fern\n").unwrap();
    let pushed = notes.push(&source, "green", &options()).unwrap();
    assert_eq!((pushed.n_put, pushed.n_removed, pushed.n_unchanged), (1201, 0, 0));
    assert_eq!(pushed.generation, notes.head().unwrap());
    let again = notes.push(&source, "green", &options()).unwrap();
    assert_eq!((again.n_put, again.n_unchanged, again.generation), (0, 1201, pushed.generation));

    fs::rename(source.join("fern.md"), source.join("bracken.md")).unwrap();
    let renamed = notes.push(&source, "green", &options()).unwrap();
    assert_eq!((renamed.n_put, renamed.n_moved, renamed.n_removed), (0, 1, 0));
    assert_eq!(renamed.generation, pushed.generation + 1, "one commit");

    let pulled = notes.pull("green", &target, MACHINE).unwrap();
    assert_eq!((pulled.n_notes, pulled.generation), (1201, renamed.generation));
    assert_eq!(files(&target), files(&source));
    assert_eq!(
        fs::metadata(target.join("wood/7.md")).unwrap().modified().unwrap(),
        fs::metadata(source.join("wood/7.md")).unwrap().modified().unwrap()
    );
    let refused = notes.pull("green", &target, MACHINE);
    assert!(matches!(refused, Err(TransferError::NotEmpty { .. })), "{refused:?}");
    let unknown =
        notes.pull("brown", &folder.path().join("other"), MACHINE).unwrap_err().to_string();
    assert!(unknown.contains("`brown`") && unknown.contains("green, notes"), "{unknown}");
}

#[test]
fn push_of_an_emptied_folder_is_refused() {
    let Some((_server, notes)) = collection() else { return };
    let folder = tempfile::tempdir().unwrap();
    for n in 0..4 {
        fs::write(folder.path().join(format!("{n}.md")), "# Note\n").unwrap();
    }
    let pushed = notes.push(folder.path(), "notes", &options()).unwrap();
    (0..4).for_each(|n| fs::remove_file(folder.path().join(format!("{n}.md"))).unwrap());
    let refused = notes.push(folder.path(), "notes", &options());
    assert!(matches!(refused, Err(TransferError::ManyMissing { n_missing: 4, n_notes: 4, .. })));
    assert_eq!(notes.head().unwrap(), pushed.generation);
    let options = PushOptions { removes_any: true, ..options() };
    assert_eq!(notes.push(folder.path(), "notes", &options).unwrap().n_removed, 4);
    let lease = notes.take_lease("watch:notes", "another", 600).unwrap().unwrap();
    let busy = notes.push(folder.path(), "notes", &options).unwrap_err().to_string();
    assert!(busy.contains("`another`"), "{busy}");
    notes.release_lease(&lease).unwrap();
}

#[test]
fn renamed_folder_needs_no_confirmation() {
    let Some((_server, notes)) = collection() else { return };
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("old")).unwrap();
    for n in 0..4 {
        fs::write(folder.path().join(format!("old/{n}.md")), format!("# Note {n}\n")).unwrap();
    }
    let pushed = notes.push(folder.path(), "notes", &options()).unwrap();
    fs::rename(folder.path().join("old"), folder.path().join("new")).unwrap();
    fs::write(folder.path().join("new/3.md"), "# Note 3, edited\n").unwrap();
    let renamed = notes.push(folder.path(), "notes", &options()).unwrap();
    assert_eq!((renamed.n_put, renamed.n_moved, renamed.n_removed), (1, 3, 1));
    assert_eq!(renamed.generation, pushed.generation + 1, "one commit");
    let stored = notes.files("notes", renamed.generation, None).unwrap();
    let paths: Vec<&str> = stored.iter().map(|file| &*file.path).collect();
    assert_eq!(paths, ["new/0.md", "new/1.md", "new/2.md", "new/3.md"]);
}

#[test]
fn path_out_of_the_folder_is_not_pulled() {
    let Some((_server, notes)) = collection() else { return };
    let folder = tempfile::tempdir().unwrap();
    let change = FileChange::put("notes", "../escaped.md", b"# Out\n".to_vec());
    notes.commit(&Commit::of(vec![change])).unwrap();
    let refused = notes.pull("notes", &folder.path().join("target"), MACHINE);
    assert!(matches!(refused, Err(TransferError::Path { .. })), "{refused:?}");
    assert!(!folder.path().join("escaped.md").exists());
}
