//! A disk that fails, is full, or returns other bytes than were written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use weft_engine::{SearchMode, Warning, WarningCode};
use weft_index::embedder::Embedder;
use weft_index::keyword::KeywordError;
use weft_index::{Disk, DiskOperation, FaultInjector};
use weft_indexer::{
    DeletionGuardOptions, IndexError, IndexSettings, Indexer, Precondition, Rescan, VaultSettings,
    WatchOptions, WriteContent, WriteError, WriteRequest,
};
use weft_testkit::FailingDisk;

use crate::durability::files;
use crate::fixtures::{FakeEmbedder, Place, search, settle, uris};

const FILES: &[(&str, &[u8])] = &[
    ("fern.md", b"# Fern\nA [[moss]] of the shade.\n"),
    ("moss.md", b"# Moss\nGreen and soft, by the [[stone]].\n"),
    ("stone.md", b"# Stone\nHard and grey.\n"),
];

/// Most files of these vaults are removed on purpose.
const NEVER: DeletionGuardOptions = DeletionGuardOptions { max_share: 1.0, min_notes: 0 };

/// The digest of each published generation.
type Published = Arc<Mutex<BTreeMap<u64, u128>>>;

fn open(place: &Place, embedder: &Arc<FakeEmbedder>, disk: &Arc<FailingDisk>) -> Option<Indexer> {
    let mut settings = IndexSettings { disk: disk.disk(), ..place.settings() };
    settings.keyword.heap_bytes_per_thread = 15 << 20;
    settings.deletion_guard = NEVER;
    let embedder = Arc::clone(embedder) as Arc<dyn Embedder>;
    Indexer::open(settings, Some(embedder), None).ok()
}

/// Records the generations published from now on.
fn record(indexer: &Indexer, published: &Published) {
    let (reader, published) = (indexer.reader(), Arc::clone(published));
    let note = move |_| {
        let snapshot = reader.snapshot();
        let digest = snapshot.notes.total().digest;
        published.lock().expect("a map").insert(snapshot.generation, digest);
    };
    note(0);
    indexer.listen(note);
}

/// Changes files and requests everything that writes. Errors come from the disk.
fn run_workload(place: &Place, indexer: &Indexer) {
    let vault = place.vault();
    let _ = indexer.flush();
    let put = |path: &str, text: &str| {
        let (path, content) = (path.to_owned(), WriteContent::Whole(text.to_owned()));
        let _ = indexer.write(WriteRequest::Put {
            vault: None,
            path,
            content,
            expected: Precondition::Anything,
        });
    };
    put("lichen.md", "# Lichen\ncrusty, on a [[stone]]\n");
    let _ = std::fs::remove_file(vault.join("fern.md"));
    let _ = std::fs::rename(vault.join("moss.md"), vault.join("bog.md"));
    // On a failing disk the vectors never arrive.
    let _ = indexer.flush();
    let end = Instant::now() + Duration::from_millis(100);
    while indexer.status().n_vectors_pending > 0 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    put("stone.md", "# Stone\nwarm in the sun\n");
    let _ = indexer.rescan(Rescan { full: false, compact: true, choose_model: false });
    put("pool.md", "# Pool\ndeep, below the [[bog]]\n");
    let _ = indexer.backup();
}

/// State of an index: digest, number of unresolved links and pending vectors, and search results.
type IndexState = (u128, usize, usize, Vec<Vec<String>>);

fn state_of(indexer: &Indexer) -> IndexState {
    settle(indexer);
    let status = indexer.status();
    (status.digest, status.n_vectors_pending, status.n_unresolved, found(indexer))
}

/// The states of fresh indexes of the same files, computed once per state of the files.
#[derive(Default)]
struct ExpectedStates(BTreeMap<Vec<(PathBuf, Vec<u8>)>, IndexState>);

impl ExpectedStates {
    fn assert(&mut self, place: &Place, indexer: &Indexer, name: &str) {
        let read = |path: PathBuf| {
            let bytes = std::fs::read(&path).expect("a file");
            (path.strip_prefix(place.vault()).expect("below it").to_owned(), bytes)
        };
        let state: Vec<_> = files(&place.vault()).into_iter().map(read).collect();
        let fresh = self.0.entry(state).or_insert_with(|| {
            let store = tempfile::tempdir().expect("a folder");
            let settings = IndexSettings { store: store.path().to_owned(), ..place.settings() };
            let embedder: Arc<dyn Embedder> = FakeEmbedder::new();
            let fresh = Indexer::open(settings, Some(embedder), None).expect("an index");
            state_of(&fresh)
        });
        assert_eq!(state_of(indexer), *fresh, "{name}");
    }
}

/// The numbers of the disk operations of a run without failures; every 23rd, or all with `WEFT_EVERY_CHANGE` in the environment.
#[expect(clippy::disallowed_methods, reason = "developers may request a longer test")]
fn changes() -> impl Iterator<Item = u64> {
    let (place, disk) = (Place::new(FILES), FailingDisk::sound());
    let indexer = open(&place, &FakeEmbedder::new(), &disk).expect("an index");
    run_workload(&place, &indexer);
    indexer.stop();
    let step = if std::env::var_os("WEFT_EVERY_CHANGE").is_some() { 1 } else { 23 };
    (0..disk.n_steps()).step_by(step)
}

#[test]
fn disk_operation_that_fails_once_loses_nothing() {
    let mut expected = ExpectedStates::default();
    for n in changes() {
        let (place, disk, embedder) =
            (Place::new(FILES), FailingDisk::once(n), FakeEmbedder::new());
        let name = format!("change {n}");
        let indexer = open(&place, &embedder, &disk);
        if let Some(indexer) = &indexer {
            run_workload(&place, indexer);
        }
        disk.recover();
        let indexer = indexer.or_else(|| open(&place, &embedder, &disk)).expect(&name);
        expected.assert(&place, &indexer, &name);
        assert_eq!(indexer.status().last_error, None, "{name}: recovered");
        let (digest, generation) = (indexer.status().digest, indexer.status().generation);
        indexer.stop();
        let indexer = open(&place, &embedder, &FailingDisk::sound()).expect(&name);
        let again = (indexer.status().digest, indexer.status().generation);
        assert_eq!(again, (digest, generation), "{name}: everything was durable");
        assert_eq!(indexer.status().notices, [""; 0], "{name}");
    }
}

#[test]
fn run_that_ends_at_any_disk_operation_is_continued() {
    let mut expected = ExpectedStates::default();
    for n in changes() {
        let (place, disk, embedder) =
            (Place::new(FILES), FailingDisk::dead_from(n), FakeEmbedder::new());
        let (name, published) = (format!("change {n}"), Published::default());
        if let Some(indexer) = open(&place, &embedder, &disk) {
            record(&indexer, &published);
            run_workload(&place, &indexer);
            indexer.stop();
        }
        // Without its files the index shows only its stored state.
        let away = place.outside().join("away");
        std::fs::rename(place.vault(), &away).expect("a move");
        let published = published.lock().expect("a map").clone();
        if let Some(indexer) = open(&place, &embedder, &FailingDisk::sound()) {
            let (generation, digest) = (indexer.status().generation, indexer.status().digest);
            assert!(published.values().any(|known| *known == digest), "{name}: a published state");
            let known = published.get(&generation).copied().unwrap_or(digest);
            assert_eq!(known, digest, "{name}: generation {generation} had another state");
            indexer.stop();
        }
        std::fs::rename(&away, place.vault()).expect("a move");
        let indexer = open(&place, &embedder, &FailingDisk::sound()).expect(&name);
        expected.assert(&place, &indexer, &name);
        let is_note = |path: &PathBuf| path.extension() == Some("md".as_ref());
        assert!(
            files(&place.vault()).iter().all(is_note),
            "{name}: no temporary file is left in the vault"
        );
        // The missing files may be reported until the scan.
        assert_eq!(indexer.status().notices, [""; 0], "{name}: nothing is damaged");
    }
}

#[test]
fn full_disk_is_reported_and_recovered_from() {
    let (place, disk, embedder) = (Place::new(FILES), FailingDisk::sound(), FakeEmbedder::new());
    let indexer = open(&place, &embedder, &disk).expect("an index");
    let before = settle(&indexer);
    disk.set_full(true);
    place.write("lichen.md", b"# Lichen\ncrusty\n");
    assert!(indexer.flush().is_err());
    assert_eq!(indexer.status().generation, before);
    let error = indexer.status().last_error.expect("an error");
    assert!(error.contains("no storage space"), "{error}");
    assert_eq!(uris(&search(&indexer, "soft", SearchMode::Keyword)), ["moss"]);
    disk.set_full(false);
    // Without a request, and within the time limit.
    let end = Instant::now() + Duration::from_secs(30);
    while indexer.status().last_error.is_some() || indexer.status().n_vectors_pending > 0 {
        assert!(Instant::now() < end, "{:?}", indexer.status());
        std::thread::sleep(Duration::from_millis(50));
    }
    ExpectedStates::default().assert(&place, &indexer, "space is available again");
}

/// A disk on which files of the keyword index can be created but not written.
struct KeywordFilesFull(AtomicBool);

impl FaultInjector for KeywordFilesFull {
    fn check(&self, step: DiskOperation, path: &Path) -> std::io::Result<()> {
        let is_full = self.0.load(Ordering::SeqCst) && step == DiskOperation::Write;
        let is_meant = is_full && path.iter().any(|part| part == "keyword");
        if is_meant { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

/// The keyword library reports only that one of its threads ended.
#[test]
fn keyword_index_on_full_disk_reports_the_cause() {
    let (place, disk) = (Place::new(FILES), Arc::new(KeywordFilesFull(AtomicBool::new(false))));
    let gate = Arc::clone(&disk) as Arc<dyn FaultInjector>;
    let settings = IndexSettings { disk: Disk::with_faults(gate), ..place.settings() };
    let indexer = Indexer::open(settings, None, None).expect("an index");
    settle(&indexer);
    disk.0.store(true, Ordering::SeqCst);
    for n in 0..3 {
        let word = |at: u32| format!("word{n}x{at} ");
        place.write(&format!("long{n}.md"), (0..30_000).map(word).collect::<String>().as_bytes());
    }
    let error = indexer.flush().expect_err("the disk is full");
    let is_full = matches!(
        &error,
        IndexError::Keyword(KeywordError::Io { source, .. })
            if source.kind() == std::io::ErrorKind::StorageFull
    );
    assert!(is_full, "{error}");
    disk.0.store(false, Ordering::SeqCst);
    indexer.flush().expect("space is available again");
    assert_eq!(uris(&search(&indexer, "word2x29999", SearchMode::Keyword)), ["long2"]);
}

#[test]
fn failed_checkpoint_frees_its_space() {
    let (place, embedder) = (Place::new(FILES), FakeEmbedder::new());
    let disk = Arc::new(FullFor(&["graph.rmp"], AtomicBool::new(true)));
    let gate = Arc::clone(&disk) as Arc<dyn FaultInjector>;
    let settings = IndexSettings { disk: Disk::with_faults(gate), ..place.settings() };
    let model: Arc<dyn Embedder> = Arc::clone(&embedder) as Arc<dyn Embedder>;
    let indexer = Indexer::open(settings, Some(model), None).expect("an index");
    assert!(indexer.flush().is_err(), "the notes fit, and the graph does not");
    let is_unfinished = |path: &PathBuf| path.iter().any(|part| part == "gen-new");
    assert!(!files(&place.store()).iter().any(is_unfinished));
    disk.1.store(false, Ordering::SeqCst);
    indexer.flush().expect("space is available again");
}

#[test]
fn move_without_space_for_its_links_is_finished_with_the_next() {
    let place = Place::new(&[
        ("full/fern.md", b"[[bog/moss]]"),
        ("bog/moss.md", b"soft"),
        ("stone.md", b"hard"),
    ]);
    let disk = Arc::new(FullFor(&["full"], AtomicBool::new(false)));
    let gate = Arc::clone(&disk) as Arc<dyn FaultInjector>;
    let settings = IndexSettings { disk: Disk::with_faults(gate), ..place.settings() };
    let indexer = Indexer::open(settings, None, None).expect("an index");
    settle(&indexer);
    let move_to = |name: &str, to: &str| {
        let (name, to, expected) = (name.to_owned(), to.to_owned(), Precondition::Anything);
        indexer.write(WriteRequest::Move { name, to, expected, rewrite_links: true })
    };
    let text = || std::fs::read_to_string(place.vault().join("full/fern.md")).expect("a file");
    disk.1.store(true, Ordering::SeqCst);
    let error = move_to("bog/moss", "moor/peat.md").expect_err("no space for the link");
    let WriteError::MoveUnfinished { to, path, .. } = &error else { panic!("{error}") };
    assert_eq!((to.as_str(), path.as_str()), ("moor/peat.md", "full/fern.md"));
    assert_eq!(text(), "[[bog/moss]]");
    disk.1.store(false, Ordering::SeqCst);
    move_to("stone", "rock.md").expect("space is available again");
    assert_eq!(text(), "[[moor/peat]]");
    indexer.stop();

    // Without a next move, it is finished as soon as there is space.
    disk.1.store(true, Ordering::SeqCst);
    let gate = Arc::clone(&disk) as Arc<dyn FaultInjector>;
    let watch = WatchOptions { poll_ms: 20, ..WatchOptions::default() };
    let settings = IndexSettings { watch, disk: Disk::with_faults(gate), ..place.settings() };
    let indexer = Indexer::open(settings, None, None).expect("an index");
    settle(&indexer);
    let (name, to, expected) =
        ("moor/peat".to_owned(), "moss.md".to_owned(), Precondition::Anything);
    let write = WriteRequest::Move { name, to, expected, rewrite_links: true };
    indexer.write(write).expect_err("no space for the link");
    let until = |holds: &dyn Fn() -> bool| {
        let end = Instant::now() + Duration::from_secs(20);
        while !holds() {
            assert!(Instant::now() < end, "{:?}", indexer.status());
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    until(&|| indexer.status().last_error.is_some_and(|error| error.contains("finish a move")));
    disk.1.store(false, Ordering::SeqCst);
    until(&|| text() == "[[moss]]" && indexer.status().last_error.is_none());
    indexer.flush().expect("the vault is scanned");
    assert_eq!(indexer.status().n_unresolved, 0);
}

#[test]
fn interrupted_move_waits_for_its_vault_until_another_begins() {
    let place = Place::new(&[("full/fern.md", b"[[bog/moss]]"), ("bog/moss.md", b"soft")]);
    let other = VaultSettings { name: "other".into(), root: place.outside().join("other") };
    std::fs::create_dir(&other.root).expect("a folder");
    std::fs::write(other.root.join("stone.md"), "hard").expect("a file");
    let disk = Arc::new(FullFor(&["full"], AtomicBool::new(true)));
    let open = |vaults: &[VaultSettings], disk: Disk| {
        let settings = IndexSettings { vaults: vaults.to_vec(), disk, ..place.settings() };
        let indexer = Indexer::open(settings, None, None).expect("an index");
        let _ = indexer.flush();
        indexer
    };
    let served = [place.settings().vaults, vec![other.clone()]].concat();
    let move_to = |indexer: &Indexer, name: &str, to: &str| {
        let (name, to, expected) = (name.to_owned(), to.to_owned(), Precondition::Anything);
        indexer.write(WriteRequest::Move { name, to, expected, rewrite_links: true })
    };
    let half = |name: &str, to: &str| {
        let full = Disk::with_faults(Arc::clone(&disk) as Arc<dyn FaultInjector>);
        let error = move_to(&open(&served, full), name, to).expect_err("no space for the link");
        assert!(matches!(error, WriteError::MoveUnfinished { .. }), "{error}");
    };
    let text = || std::fs::read_to_string(place.vault().join("full/fern.md")).expect("a file");

    half("bog/moss", "moor/peat.md");
    let away = place.outside().join("away");
    std::fs::rename(place.vault(), &away).expect("a disk is unmounted");
    let indexer = open(&served, Disk::default());
    let error = move_to(&indexer, "stone", "rock.md").expect_err("the first move is not finished");
    assert!(error.to_string().contains("vault"), "{error}");
    indexer.stop();
    // An empty folder may be at its mount point.
    std::fs::create_dir(place.vault()).expect("a folder");
    open(&served, Disk::default()).stop();
    std::fs::remove_dir(place.vault()).expect("an empty folder");
    std::fs::rename(&away, place.vault()).expect("mounted again");
    assert_eq!(text(), "[[bog/moss]]");
    let indexer = open(std::slice::from_ref(&other), Disk::default());
    indexer.set_vaults(served.clone()).expect("served again");
    assert_eq!(text(), "[[moor/peat]]");
    indexer.stop();

    half("moor/peat", "bog/moss.md");
    let indexer = open(std::slice::from_ref(&other), Disk::default());
    assert_eq!(indexer.status().notices, [""; 0], "the vault may be served again");
    move_to(&indexer, "stone", "rock.md").expect("moved");
    let notices = indexer.status().notices;
    assert!(notices[0].contains("`moor/peat.md` to `bog/moss.md`"), "{notices:?}");
    indexer.stop();
    open(&served, Disk::default()).stop();
    assert_eq!(text(), "[[moor/peat]]", "the move was abandoned");
}

#[test]
fn write_on_full_disk_leaves_the_file_unchanged() {
    let (place, disk, embedder) = (Place::new(FILES), FailingDisk::sound(), FakeEmbedder::new());
    let indexer = open(&place, &embedder, &disk).expect("an index");
    let before = settle(&indexer);
    let put = |path: &str| {
        let (path, content) = (path.to_owned(), WriteContent::Whole("# Moss\ndry\n".to_owned()));
        indexer.write(WriteRequest::Put {
            vault: None,
            path,
            content,
            expected: Precondition::Anything,
        })
    };
    disk.set_full(true);
    for path in ["moss.md", "new/moss.md"] {
        let error = put(path).expect_err(path);
        let WriteError::Io { source, .. } = &error else { panic!("{path}: {error}") };
        assert_eq!(source.kind(), std::io::ErrorKind::StorageFull, "{path}");
    }
    let names: Vec<_> = files(&place.vault()).iter().map(|path| name_of(path)).collect();
    assert_eq!(names, ["fern.md", "moss.md", "stone.md"], "no temporary file is left");
    assert_eq!(std::fs::read(place.vault().join("moss.md")).expect("a file"), FILES[1].1);
    assert_eq!(indexer.status().generation, before);
    disk.set_full(false);
    let wrote = put("moss.md").expect("space is available again");
    assert!(wrote.generation > Some(before));
    assert_eq!(uris(&search(&indexer, "dry", SearchMode::Keyword)), ["moss"]);
    ExpectedStates::default().assert(&place, &indexer, "space is available again");
}

/// Prevents the removal of files with these names while enabled.
struct RemovalDenied(&'static [&'static str], AtomicBool);

impl FaultInjector for RemovalDenied {
    fn check(&self, step: DiskOperation, path: &Path) -> std::io::Result<()> {
        let Self(names, is_closed) = self;
        let is_meant =
            step == DiskOperation::Remove && names.iter().any(|name| path.ends_with(name));
        if is_meant && is_closed.load(Ordering::SeqCst) {
            return Err(std::io::ErrorKind::PermissionDenied.into());
        }
        Ok(())
    }
}

#[test]
fn failed_move_is_reverted_or_finished_later_and_blocks_no_other() {
    type Names = &'static [&'static str];
    let (old, both): (Names, Names) = (&["moss.md"], &["bog.md", "moss.md"]);
    // The files that cannot be removed, whether they can be before the next move, and the files and notices after it.
    let cases: [(&str, Names, bool, Names, Names, usize); 3] = [
        ("taken back", old, false, old, old, 0),
        ("finished before the next", both, true, both, &["bog.md"], 0),
        ("given up", both, false, both, both, 1),
    ];
    for (name, stuck, opens, first, then, n_notices) in cases {
        let (place, gate) =
            (Place::new(FILES), Arc::new(RemovalDenied(stuck, AtomicBool::new(true))));
        let disk = Disk::with_faults(Arc::clone(&gate) as Arc<dyn FaultInjector>);
        let settings = IndexSettings { disk, ..place.settings() };
        let embedder: Arc<dyn Embedder> = FakeEmbedder::new();
        let indexer = Indexer::open(settings, Some(embedder), None).expect("an index");
        settle(&indexer);
        let rename = |name: &str, to: &str| {
            let (name, to, expected) = (name.to_owned(), to.to_owned(), Precondition::Anything);
            indexer.write(WriteRequest::Move { name, to, expected, rewrite_links: true })
        };
        let names = || -> Vec<String> {
            let names = files(&place.vault()).iter().map(|at| name_of(at)).collect::<Vec<_>>();
            names.into_iter().filter(|name| both.contains(&name.as_str())).collect()
        };
        let error =
            rename("moss", "bog.md").expect_err("the old name cannot be removed").to_string();
        assert!(!error.contains(&*place.outside().to_string_lossy()), "{name}: {error}");
        assert_eq!(names(), first, "{name}");
        gate.1.store(!opens, Ordering::SeqCst);
        rename("stone", "rock.md").expect("another move");
        assert_eq!(names(), then, "{name}");
        let text = |at: &str| std::fs::read_to_string(place.vault().join(at)).expect("a file");
        assert_eq!(text("fern.md").contains("[[bog]]"), opens, "{name}: links are rewritten");
        assert!(text(then[0]).contains("[[rock]]"), "{name}: and those of the other move");
        let notices = indexer.status().notices;
        assert_eq!(notices.len(), n_notices, "{name}: {notices:?}");
        assert!(notices.iter().all(|line| line.contains("`bog.md`")), "{name}: {notices:?}");
    }
}

#[test]
fn corrupt_or_truncated_files_lose_only_their_own_content() {
    let place = Place::new(FILES);
    let embedder = FakeEmbedder::new();
    let indexer = open(&place, &embedder, &FailingDisk::sound()).expect("an index");
    settle(&indexer);
    let (digest, answers) = (indexer.status().digest, found(&indexer));
    indexer.stop();
    let whole: Vec<_> = files(&place.store())
        .into_iter()
        .map(|path| (path.clone(), std::fs::read(path).expect("a file")))
        .filter(|(_, bytes)| !bytes.is_empty())
        .collect();
    let put_back = || {
        std::fs::remove_dir_all(place.store()).expect("removed");
        for (path, bytes) in &whole {
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, bytes).expect("a file");
        }
    };
    for (path, bytes) in &whole {
        let spoilt = |at: usize| {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1 << (at % 8);
            (format!("byte {at} flipped"), bytes)
        };
        // At most this number of positions per file, from the first byte to the last.
        let n_places = bytes.len().min(5);
        let mut cases: Vec<_> = (0..n_places).map(|n| spoilt(n * (bytes.len() - 1) / 4)).collect();
        let cuts = [0, 1, bytes.len() / 2, bytes.len().saturating_sub(1)];
        cases.extend(cuts.map(|n| (format!("cut to {n}"), bytes[..n].to_vec())));
        let is_vectors = path.components().any(|part| part.as_os_str() == "vectors");
        for (what, spoilt) in cases {
            let name =
                format!("{} {what}", path.strip_prefix(place.store()).unwrap_or(path).display());
            put_back();
            std::fs::write(path, spoilt).expect("a file");
            let n_before = embedder.n_documents.load(Ordering::SeqCst);
            let indexer = open(&place, &embedder, &FailingDisk::sound());
            let indexer = indexer.unwrap_or_else(|| panic!("{name}: it does not open"));
            settle(&indexer);
            assert_eq!(indexer.status().digest, digest, "{name}");
            assert_eq!(found(&indexer), answers, "{name}");
            let n_embedded = embedder.n_documents.load(Ordering::SeqCst) - n_before;
            assert!(n_embedded == 0 || is_vectors, "{name}: {n_embedded} texts embedded");
            indexer.stop();
        }
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the results of keyword and vector searches.
fn found(indexer: &Indexer) -> Vec<Vec<String>> {
    let modes = [SearchMode::Keyword, SearchMode::Vector];
    let texts = ["shade", "soft", "grey stone", "deep", "crusty sun"];
    let queries = texts.into_iter().flat_map(|query| modes.map(|mode| (query, mode)));
    queries
        .map(|(query, mode)| {
            let answer = search(indexer, query, mode);
            uris(&answer).into_iter().map(str::to_owned).collect()
        })
        .collect()
}

/// A disk without space for files with one of these names, or in a folder with one.
struct FullFor(&'static [&'static str], AtomicBool);

impl FaultInjector for FullFor {
    fn check(&self, _: DiskOperation, path: &Path) -> std::io::Result<()> {
        let Self(names, is_full) = self;
        let is_named = names.iter().any(|name| path.iter().any(|part| part == *name));
        let is_kept = is_named && is_full.load(Ordering::SeqCst);
        if is_kept { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

/// Counts writes to unnamed files, which the fault injector sees as changes of their folder.
struct UnnamedFileWrites(PathBuf, AtomicUsize);

impl FaultInjector for UnnamedFileWrites {
    fn check(&self, step: DiskOperation, path: &Path) -> std::io::Result<()> {
        let is_meant = step == DiskOperation::Write && path == self.0;
        self.1.fetch_add(usize::from(is_meant), Ordering::SeqCst);
        Ok(())
    }
}

#[test]
fn bodies_read_in_one_scan_are_spilled_to_disk() {
    let place = Place::new(FILES);
    let paper = " ".repeat(11 << 20);
    let at = |n: usize| place.vault().join(format!("long{n}.md"));
    let put = |n: usize| std::fs::write(at(n), format!("# Long {n}\n{paper}\nword{n}\n"));
    (0..4).for_each(|n| put(n).expect("a file"));
    let gate = Arc::new(UnnamedFileWrites(place.store(), AtomicUsize::new(0)));
    let disk = Disk::with_faults(Arc::clone(&gate) as Arc<dyn FaultInjector>);
    let open = || {
        let settings = IndexSettings { disk: disk.clone(), ..place.settings() };
        Indexer::open(settings, None, None).expect("an index")
    };
    let indexer = open();
    settle(&indexer);
    let n_spilled = gate.1.load(Ordering::SeqCst);
    assert!((1..4).contains(&n_spilled), "the first bodies stay in memory: {n_spilled}");
    let body = |indexer: &Indexer, n: usize| {
        let notes = indexer.reader().snapshot().notes.clone();
        notes
            .find(&format!("long{n}"))
            .note
            .and_then(|id| notes.entry(id))
            .map(|entry| entry.body.clone())
    };
    let whole = |indexer: &Indexer| {
        for n in 0..4 {
            let body = body(indexer, n).expect("a note");
            assert!(*body == format!("# Long {n}\n{paper}\nword{n}\n"), "note {n}");
            let found = search(indexer, &format!("word{n}"), SearchMode::Keyword);
            assert_eq!(uris(&found), [format!("long{n}")]);
        }
    };
    whole(&indexer);
    indexer.stop();
    whole(&open());
    assert_eq!(gate.1.load(Ordering::SeqCst), n_spilled, "unchanged files are not read again");
}

/// Vectors are loaded after the first answers. An error there once prevented opening, and must be reported wherever it occurs.
#[test]
fn unreadable_vectors_are_reported_and_retried() {
    unreadable(&["vectors"]);
}

/// On a full disk no generation can be issued for a snapshot without vectors, which must still not look complete.
#[test]
fn unreadable_vectors_on_full_disk_are_reported() {
    unreadable(&["vectors", "ISSUED"]);
}

fn unreadable(names: &'static [&'static str]) {
    let (place, embedder) = (Place::new(FILES), FakeEmbedder::new());
    let indexer = place.open(&embedder);
    let before = settle(&indexer);
    let whole = search(&indexer, "soft", SearchMode::Hybrid);
    indexer.stop();
    // One vector is damaged, so that the file must be written again.
    let path = files(&place.store()).into_iter().find(|path| path.ends_with("vec.f32"));
    let path = path.expect("a file");
    let mut bytes = std::fs::read(&path).expect("a file");
    bytes[64 + 40] ^= 1;
    std::fs::write(&path, bytes).expect("written");

    let disk = Arc::new(FullFor(names, AtomicBool::new(true)));
    let gate = Arc::clone(&disk) as Arc<dyn FaultInjector>;
    let settings = IndexSettings { disk: Disk::with_faults(gate), ..place.settings() };
    let model: Arc<dyn Embedder> = Arc::clone(&embedder) as Arc<dyn Embedder>;
    let indexer =
        Indexer::open(settings, Some(model), None).expect("the keyword index can be read");
    let pending = [Warning::new(WarningCode::VectorsPending, "3 chunks have no vector yet")];
    let answer = search(&indexer, "soft", SearchMode::Hybrid);
    assert_eq!(answer.warnings, pending, "a waiting request reports pending vectors");
    assert!(indexer.flush().is_err() && indexer.backup().is_err(), "explicit requests fail");
    let by_word = search(&indexer, "soft", SearchMode::Hybrid);
    assert_eq!((uris(&by_word), &by_word.warnings[..]), (vec!["moss"], &pending[..]));
    assert_eq!(
        by_word.generation > before,
        names == ["vectors"],
        "if a generation could be issued"
    );
    assert!(!by_word.hits[0].embedding_current);
    let status = indexer.status();
    assert!(status.notices[0].contains("no storage space"), "{:?}", status.notices);
    assert_eq!(status.n_vectors_pending, 3);

    disk.1.store(false, Ordering::SeqCst);
    let after = settle(&indexer);
    assert!(after > by_word.generation, "a new generation with vectors");
    let again = search(&indexer, "soft", SearchMode::Hybrid);
    assert_eq!((again.hits, again.warnings), (whole.hits, whole.warnings));
    let status = indexer.status();
    assert_eq!((status.last_error, status.unavailable, status.n_vectors_pending), (None, None, 0));
    assert_eq!(
        status.notices,
        ["1 vectors were damaged; the ones still in use were embedded again."]
    );
    assert_eq!(embedder.n_documents.load(Ordering::SeqCst), 4, "only the damaged one");
}

#[test]
fn failed_checkpoint_is_reported_until_one_succeeds() {
    let (place, embedder) = (Place::new(FILES), FakeEmbedder::new());
    let disk = FailingDisk::sound();
    let indexer = open(&place, &embedder, &disk).expect("an index");
    settle(&indexer);
    disk.set_full_at("gen-");
    place.write("lichen.md", b"# Lichen\ncrusty\n");
    let refused = indexer.flush().expect_err("the disk is full").to_string();
    // Changes are still indexed, and do not hide the error.
    indexer.rescan(Rescan::default()).expect("a rescan");
    assert_eq!(uris(&search(&indexer, "crusty", SearchMode::Keyword)), ["lichen"]);
    assert_eq!(indexer.status().last_error, Some(refused));

    disk.set_full(false);
    let generation = indexer.flush().expect("space is available");
    let status = indexer.status();
    assert_eq!(status.last_error, None);
    assert_eq!(status.stored_generations.last(), Some(&generation));
}

#[test]
fn write_that_cannot_be_indexed_yet_succeeds_and_says_so() {
    let (place, embedder, disk) = (Place::new(FILES), FakeEmbedder::new(), FailingDisk::sound());
    let indexer = open(&place, &embedder, &disk).expect("an index");
    settle(&indexer);
    let put = |path: &str, text: &str, expected| {
        let content = WriteContent::Whole(text.to_owned());
        indexer.write(WriteRequest::Put { vault: None, path: path.into(), content, expected })
    };
    let delete = || {
        let name = "fern".to_owned();
        indexer.write(WriteRequest::Delete { name, expected: Precondition::Anything })
    };
    disk.set_full_at("/store/");
    for _ in 0..2 {
        // The second time is a retry with the same expectation.
        let wrote = put("new/pool.md", "# Pool\ndeep\n", Precondition::Nothing).expect("written");
        assert!(wrote.index_pending.is_some() && wrote.hash.is_some(), "{wrote:?}");
        // Another change may be published first.
        assert_eq!(wrote.generation, None);
    }
    for _ in 0..2 {
        let deleted = delete().expect("deleted");
        assert!(deleted.index_pending.is_some() && deleted.hash.is_none(), "{deleted:?}");
    }
    let error = put("new/pool.md", "other", Precondition::Nothing).expect_err("it exists");
    assert!(matches!(error, WriteError::AlreadyExists { .. }), "{error}");
    let moved = indexer.write(WriteRequest::Move {
        name: "stone".into(),
        to: "rock.md".into(),
        expected: Precondition::Anything,
        rewrite_links: true,
    });
    assert!(moved.is_err() && place.vault().join("stone.md").exists(), "{moved:?}");
    assert!(!place.vault().join("fern.md").exists());
    assert!(indexer.flush().is_err(), "the change is still pending");

    disk.set_full(false);
    let flushed = indexer.flush().expect("the change is indexed");
    assert_eq!(indexer.reader().snapshot().generation, flushed);
    assert_eq!(uris(&search(&indexer, "deep", SearchMode::Keyword)), ["new/pool"]);
    settle(&indexer);
    let status = indexer.status();
    assert_eq!((status.n_notes, status.last_error), (3, None));
    let again = put("new/pool.md", "# Pool\ndeep\n", Precondition::Nothing).expect("the same");
    assert_eq!((again.index_pending, again.created), (None, false));
}

#[test]
fn change_that_is_not_indexed_yet_can_be_repeated_and_undone() {
    let (place, embedder, disk) = (Place::new(FILES), FakeEmbedder::new(), FailingDisk::sound());
    let indexer = open(&place, &embedder, &disk).expect("an index");
    settle(&indexer);
    let move_stone = || {
        let (name, to) = ("stone".to_owned(), "rock.md".to_owned());
        let expected = Precondition::Anything;
        indexer.write(WriteRequest::Move { name, to, expected, rewrite_links: false })
    };
    disk.set_full_at("keyword");
    for _ in 0..2 {
        let moved = move_stone().expect("moved");
        assert!(moved.index_pending.is_some() && moved.path == "rock.md", "{moved:?}");
    }
    let rock = place.vault().join("rock.md");
    assert!(rock.exists() && !place.vault().join("stone.md").exists());
    let text = std::fs::read(&rock).expect("a file");
    std::fs::write(&rock, "other").expect("written");
    let error = move_stone().expect_err("another file is there");
    assert!(matches!(error, WriteError::Conflict { .. }), "{error}");
    std::fs::write(&rock, text).expect("written");

    let (path, content) = ("new/pool.md".to_owned(), WriteContent::Whole("# Pool\n".to_owned()));
    let expected = Precondition::Nothing;
    let put = indexer.write(WriteRequest::Put { vault: None, path, content, expected });
    assert!(put.expect("written").index_pending.is_some());
    for (name, is_known) in [("new/pool.md", true), ("new/pond.md", false), ("pool", false)] {
        let expected = Precondition::Anything;
        let deleted = indexer.write(WriteRequest::Delete { name: name.to_owned(), expected });
        assert_eq!(deleted.is_ok(), is_known, "{name}: {deleted:?}");
    }
    assert!(!place.vault().join("new/pool.md").exists());

    disk.set_full(false);
    settle(&indexer);
    let list = search(&indexer, "hard", SearchMode::Keyword);
    assert_eq!(uris(&list), ["rock"]);
    assert_eq!(indexer.status().n_notes, FILES.len());
}

#[test]
fn put_that_fails_at_any_step_leaves_no_new_folder() {
    let (place, embedder, disk) = (Place::new(FILES), FakeEmbedder::new(), FailingDisk::sound());
    let indexer = open(&place, &embedder, &disk).expect("an index");
    settle(&indexer);
    let outer = place.vault().join("outer");
    let mut n_failed = 0;
    for n in 0..24 {
        disk.fail_after(n);
        let content = WriteContent::Whole("# Pool\n".to_owned());
        let (path, expected) = ("outer/inner/deep/pool.md".to_owned(), Precondition::Nothing);
        let put = indexer.write(WriteRequest::Put { vault: None, path, content, expected });
        disk.recover();
        if put.is_err() {
            n_failed += 1;
            assert!(!outer.exists(), "{n}: {put:?}");
        } else {
            std::fs::remove_dir_all(&outer).expect("removed");
            indexer.rescan(Rescan::default()).expect("scanned");
        }
    }
    // Each of three folders is created and made durable.
    assert!(n_failed >= 6, "{n_failed}");
}

#[test]
fn failed_put_leaves_no_new_folder() {
    let (place, embedder, disk) = (Place::new(FILES), FakeEmbedder::new(), FailingDisk::sound());
    let indexer = open(&place, &embedder, &disk).expect("an index");
    settle(&indexer);
    for part in ["pool.md", ".weft-", "inner"] {
        disk.set_full_at(part);
        let content = WriteContent::Whole("# Pool\n".to_owned());
        let (path, expected) = ("outer/inner/pool.md".to_owned(), Precondition::Nothing);
        let error = indexer
            .write(WriteRequest::Put { vault: None, path, content, expected })
            .expect_err("the disk is full");
        assert!(matches!(error, WriteError::Io { .. }), "{part}: {error}");
        assert!(!place.vault().join("outer").exists(), "{part}");
    }
}
