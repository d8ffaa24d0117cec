//! Vaults that are not folders.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use weft_engine::SearchMode;
use weft_index::embedder::Embedder;
use weft_index::notes::FileMetadata;
use weft_indexer::scan::{ScanArea, ScanError, ScanOptions, ScanResult, ScannedFile};
use weft_indexer::{
    ChangeError, FileMove, IndexSettings, Indexer, Precondition, Rescan, RewrittenLinks, VaultHome,
    VaultLocation, VaultSettings, WriteContent, WriteError, WriteRequest, hash_of,
};
use weft_model::{NotePath, TextHash};

use crate::fixtures::{FakeEmbedder, Place, search, settle, uris};

/// A vault in memory, with transactions.
#[derive(Debug, Default)]
struct Memory {
    files: Mutex<BTreeMap<PathBuf, Vec<u8>>>,
}

impl Memory {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Vec<u8>>> {
        self.files.lock().expect("no panic")
    }

    fn check(
        files: &BTreeMap<PathBuf, Vec<u8>>,
        file: &Path,
        old: Option<TextHash>,
    ) -> Result<(), ChangeError> {
        let actual = files.get(file).map(|bytes| hash_of(bytes));
        if actual == old { Ok(()) } else { Err(ChangeError::Changed { actual }) }
    }
}

impl VaultHome for Memory {
    fn locate(&self, root: &Path) -> VaultLocation {
        VaultLocation { root: root.to_owned(), identity: Some((0, 0)) }
    }

    fn list(
        &self,
        root: &Path,
        _options: &ScanOptions,
        area: &ScanArea,
    ) -> Result<ScanResult, ScanError> {
        let areas = area.paths();
        let is_in_area = |path: &str| {
            areas.iter().any(|area| {
                let rest = path.strip_prefix(area.as_str());
                area.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        };
        let mut listed = ScanResult::default();
        for (file, bytes) in self.lock().iter() {
            let path =
                file.strip_prefix(root).expect("a file of the vault").to_str().expect("text");
            if is_in_area(path) {
                let facts = FileMetadata { size: bytes.len() as u64, ..FileMetadata::default() };
                let path = NotePath::new(path);
                listed.found.push(ScannedFile { path, file: file.clone(), facts });
            }
        }
        Ok(listed)
    }

    fn read(&self, _root: &Path, file: &Path, _max_bytes: u64) -> Result<Vec<u8>, ScanError> {
        let missing = || ScanError::NoFile { path: file.to_owned() };
        self.lock().get(file).cloned().ok_or_else(missing)
    }

    fn content(&self, file: &Path) -> io::Result<Option<Vec<u8>>> {
        Ok(self.lock().get(file).cloned())
    }

    fn put(&self, file: &Path, old: Option<TextHash>, bytes: &[u8]) -> Result<(), ChangeError> {
        let mut files = self.lock();
        Self::check(&files, file, old)?;
        files.insert(file.to_owned(), bytes.to_owned());
        Ok(())
    }

    fn remove(&self, file: &Path, old: Option<TextHash>) -> Result<(), ChangeError> {
        let mut files = self.lock();
        Self::check(&files, file, old)?;
        files.remove(file);
        Ok(())
    }

    fn commit_move(&self, moved: &FileMove<'_>) -> Option<Result<(), ChangeError>> {
        let mut files = self.lock();
        let mut next = files.clone();
        let mut commit = || {
            Self::check(&next, moved.from, Some(moved.hash))?;
            Self::check(&next, moved.to, None)?;
            let bytes = next.remove(moved.from).expect("it was checked");
            next.insert(moved.to.to_owned(), bytes);
            for (file, before, text) in &moved.edits {
                Self::check(&next, file, Some(*before))?;
                next.insert((*file).to_owned(), text.as_bytes().to_owned());
            }
            Ok(())
        };
        let committed = commit();
        if committed.is_ok() {
            *files = next;
        }
        Some(committed)
    }
}

const NOTES: [(&str, &[u8]); 3] = [
    ("fern.md", b"# Fern\nGrows beside [[moss]].\n"),
    ("wood/moss.md", b"# Moss\nSoft and green, below the [fern](../fern.md).\n"),
    ("stone.md", b"# Stone\nGrey.\n"),
];

fn open(store: &Path, home: &Arc<Memory>) -> Indexer {
    let settings = IndexSettings {
        store: store.to_owned(),
        vaults: vec![VaultSettings { name: "vault".into(), root: "memory:vault".into() }],
        home: Some(Arc::clone(home) as Arc<dyn VaultHome>),
        ..IndexSettings::default()
    };
    let embedder = FakeEmbedder::new() as Arc<dyn Embedder>;
    Indexer::open(settings, Some(embedder), None).expect("an index")
}

fn in_memory() -> Arc<Memory> {
    let home = Memory::default();
    for (path, bytes) in NOTES {
        home.lock().insert(Path::new("memory:vault").join(path), bytes.to_vec());
    }
    Arc::new(home)
}

#[test]
fn index_over_another_home_equals_index_of_folder() {
    let (folder, place) = (Place::new(&NOTES), Place::new(&[]));
    let over_folder = folder.open(&FakeEmbedder::new());
    let home = in_memory();
    let indexer = open(&place.store(), &home);
    settle(&over_folder);
    settle(&indexer);
    let digest = |indexer: &Indexer| indexer.reader().snapshot().notes.total().digest;
    assert_eq!(digest(&indexer), digest(&over_folder));
    for query in ["green", "grey stone", "fern"] {
        let expected = search(&over_folder, query, SearchMode::Hybrid);
        assert!(!expected.hits.is_empty(), "{query}");
        assert_eq!(uris(&search(&indexer, query, SearchMode::Hybrid)), uris(&expected), "{query}");
    }
    // A change that is not reported is found by the next scan.
    home.lock().insert("memory:vault/stone.md".into(), b"# Stone\nRed.\n".to_vec());
    folder.write("stone.md", b"# Stone\nRed.\n");
    for indexer in [&indexer, &over_folder] {
        indexer.rescan(Rescan::default()).expect("scanned");
    }
    assert_eq!(digest(&indexer), digest(&over_folder));
}

#[test]
fn writes_reach_another_home_and_a_move_is_one_transaction() {
    let place = Place::new(&[]);
    let home = in_memory();
    let indexer = open(&place.store(), &home);
    settle(&indexer);
    let text = |path: &str| {
        let bytes = home.lock().get(&Path::new("memory:vault").join(path)).cloned();
        bytes.map(|bytes| String::from_utf8(bytes).expect("text"))
    };
    let put = |path: &str, text: &str, expected| {
        let content = WriteContent::Whole(text.to_owned());
        indexer.write(WriteRequest::Put { vault: None, path: path.to_owned(), content, expected })
    };
    assert!(put("new/tree.md", "# Tree\n[[moss]]\n", Precondition::Nothing).expect("put").created);
    let refused = put("new/tree.md", "# Other\n", Precondition::Nothing);
    assert!(matches!(refused, Err(WriteError::AlreadyExists { .. })), "{refused:?}");
    assert_eq!(uris(&search(&indexer, "tree", SearchMode::Keyword)), ["new/tree"]);

    let moved_to = |to: &str| {
        indexer.write(WriteRequest::Move {
            name: "wood/moss".into(),
            to: to.into(),
            expected: Precondition::Anything,
            rewrite_links: true,
        })
    };
    let taken = moved_to("new/tree.md");
    assert!(
        matches!(&taken, Err(WriteError::AlreadyExists { path }) if path == "new/tree.md"),
        "{taken:?}"
    );
    let moved = moved_to("lichen.md");
    let links = moved.expect("moved").links;
    let rewritten =
        |path: &str| RewrittenLinks { path: path.to_owned(), n_rewritten: 1, n_not_rewritten: 0 };
    assert_eq!(links, ["fern.md", "lichen.md", "new/tree.md"].map(rewritten));
    assert_eq!(text("wood/moss.md"), None);
    assert_eq!(
        text("lichen.md").as_deref(),
        Some("# Moss\nSoft and green, below the [fern](./fern.md).\n")
    );
    assert_eq!(text("fern.md").as_deref(), Some("# Fern\nGrows beside [[lichen]].\n"));

    let expected = Precondition::Anything;
    indexer.write(WriteRequest::Delete { name: "lichen".into(), expected }).expect("deleted");
    assert_eq!(text("lichen.md"), None);
    assert_eq!(uris(&search(&indexer, "soft", SearchMode::Keyword)), [""; 0]);
}
