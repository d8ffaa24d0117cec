//! A store whose disk fails, is full, or gives back other bytes than it was given.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use weft_engine::SearchMode;
use weft_index::embedder::Embedder;
use weft_index::keyword::KeywordError;
use weft_index::{Disk, Gate, Step};
use weft_indexer::{
    Content, Expected, FuseOptions, IndexError, IndexSettings, Indexer, Rescan, VaultSettings,
    WatchOptions, Write, WriteError,
};
use weft_testkit::FailingDisk;

use crate::durable::files;
use crate::fake::{FakeEmbedder, Place, search, settle, uris};

const FILES: &[(&str, &[u8])] = &[
    ("fern.md", b"# Fern\nA [[moss]] of the shade.\n"),
    ("moss.md", b"# Moss\nGreen and soft, by the [[stone]].\n"),
    ("stone.md", b"# Stone\nHard and grey.\n"),
];

/// Most files of these vaults go; that is meant.
const NEVER: FuseOptions = FuseOptions { max_share: 1.0, min_notes: 0 };

/// Each generation that was published, and what it said.
type Published = Arc<Mutex<BTreeMap<u64, u128>>>;

fn open(place: &Place, embedder: &Arc<FakeEmbedder>, disk: &Arc<FailingDisk>) -> Option<Indexer> {
    let mut settings = IndexSettings { disk: disk.disk(), ..place.settings() };
    settings.keyword.heap_bytes_per_thread = 15 << 20;
    settings.fuse = NEVER;
    let embedder = Arc::clone(embedder) as Arc<dyn Embedder>;
    Indexer::open(settings, Some(embedder), None).ok()
}

/// Notes what is published from now on.
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

/// Changes files, and asks for everything that writes. Errors are the disk's.
fn live(place: &Place, indexer: &Indexer) {
    let vault = place.vault();
    let _ = indexer.flush();
    let put = |path: &str, text: &str| {
        let (path, content) = (path.to_owned(), Content::Whole(text.to_owned()));
        let _ =
            indexer.write(Write::Put { vault: None, path, content, expected: Expected::Anything });
    };
    put("lichen.md", "# Lichen\ncrusty, on a [[stone]]\n");
    let _ = std::fs::remove_file(vault.join("fern.md"));
    let _ = std::fs::rename(vault.join("moss.md"), vault.join("bog.md"));
    // On a disk that fails they never come.
    let _ = indexer.flush();
    let end = Instant::now() + Duration::from_millis(100);
    while indexer.status().n_vectors_pending > 0 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    put("stone.md", "# Stone\nwarm in the sun\n");
    let _ = indexer.rescan(Rescan { full: false, compact: true });
    put("pool.md", "# Pool\ndeep, below the [[bog]]\n");
    let _ = indexer.backup();
}

/// What an index says: its digest, what is open, and what is found.
type Said = (u128, usize, usize, Vec<Vec<String>>);

fn said(indexer: &Indexer) -> Said {
    settle(indexer);
    let status = indexer.status();
    (status.digest, status.n_vectors_pending, status.n_unresolved, found(indexer))
}

/// What indexes made anew of these files say; made once for each state of the files.
#[derive(Default)]
struct Truth(BTreeMap<Vec<(PathBuf, Vec<u8>)>, Said>);

impl Truth {
    fn assert(&mut self, place: &Place, indexer: &Indexer, name: &str) {
        let read = |path: PathBuf| {
            let bytes = std::fs::read(&path).expect("a file");
            (path.strip_prefix(place.vault()).expect("below it").to_owned(), bytes)
        };
        let state: Vec<_> = files(&place.vault()).into_iter().map(read).collect();
        let anew = self.0.entry(state).or_insert_with(|| {
            let store = tempfile::tempdir().expect("a folder");
            let settings = IndexSettings { store: store.path().to_owned(), ..place.settings() };
            let embedder: Arc<dyn Embedder> = FakeEmbedder::new();
            let anew = Indexer::open(settings, Some(embedder), None).expect("an index");
            said(&anew)
        });
        assert_eq!(said(indexer), *anew, "{name}");
    }
}

/// The changes that a life without trouble makes; every twenty-third, or all with `WEFT_EVERY_CHANGE` in the environment.
#[expect(clippy::disallowed_methods, reason = "a test may be told to take longer")]
fn changes() -> impl Iterator<Item = u64> {
    let (place, disk) = (Place::new(FILES), FailingDisk::sound());
    let indexer = open(&place, &FakeEmbedder::new(), &disk).expect("an index");
    live(&place, &indexer);
    indexer.stop();
    let step = if std::env::var_os("WEFT_EVERY_CHANGE").is_some() { 1 } else { 23 };
    (0..disk.n_steps()).step_by(step)
}

#[test]
fn a_change_that_fails_once_costs_nothing() {
    let mut truth = Truth::default();
    for n in changes() {
        let (place, disk, embedder) =
            (Place::new(FILES), FailingDisk::once(n), FakeEmbedder::new());
        let name = format!("change {n}");
        let indexer = open(&place, &embedder, &disk);
        if let Some(indexer) = &indexer {
            live(&place, indexer);
        }
        disk.recover();
        let indexer = indexer.or_else(|| open(&place, &embedder, &disk)).expect(&name);
        truth.assert(&place, &indexer, &name);
        assert_eq!(indexer.status().last_error, None, "{name}: it has recovered");
        let (digest, generation) = (indexer.status().digest, indexer.status().generation);
        indexer.stop();
        let indexer = open(&place, &embedder, &FailingDisk::sound()).expect(&name);
        let again = (indexer.status().digest, indexer.status().generation);
        assert_eq!(again, (digest, generation), "{name}: everything was durable");
        assert_eq!(indexer.status().notices, [""; 0], "{name}");
    }
}

#[test]
fn a_run_that_ends_at_any_change_is_gone_on_from() {
    let mut truth = Truth::default();
    for n in changes() {
        let (place, disk, embedder) =
            (Place::new(FILES), FailingDisk::dead_from(n), FakeEmbedder::new());
        let (name, published) = (format!("change {n}"), Published::default());
        if let Some(indexer) = open(&place, &embedder, &disk) {
            record(&indexer, &published);
            live(&place, &indexer);
            indexer.stop();
        }
        // Without its files the index can only say what it holds.
        let away = place.outside().join("away");
        std::fs::rename(place.vault(), &away).expect("a move");
        let published = published.lock().expect("a map").clone();
        if let Some(indexer) = open(&place, &embedder, &FailingDisk::sound()) {
            let (generation, digest) = (indexer.status().generation, indexer.status().digest);
            assert!(published.values().any(|known| *known == digest), "{name}: a state that was");
            let known = published.get(&generation).copied().unwrap_or(digest);
            assert_eq!(known, digest, "{name}: generation {generation} has been another");
            indexer.stop();
        }
        std::fs::rename(&away, place.vault()).expect("a move");
        let indexer = open(&place, &embedder, &FailingDisk::sound()).expect(&name);
        truth.assert(&place, &indexer, &name);
        let is_note = |path: &PathBuf| path.extension() == Some("md".as_ref());
        assert!(files(&place.vault()).iter().all(is_note), "{name}: nothing is left in the vault");
        // That the files were away may be told until they are looked at.
        assert_eq!(indexer.status().notices, [""; 0], "{name}: nothing is damaged");
    }
}

#[test]
fn a_full_disk_is_told_of_and_outlived() {
    let (place, disk, embedder) = (Place::new(FILES), FailingDisk::sound(), FakeEmbedder::new());
    let indexer = open(&place, &embedder, &disk).expect("an index");
    let before = settle(&indexer);
    disk.set_full(true);
    place.write("lichen.md", b"# Lichen\ncrusty\n");
    assert!(indexer.flush().is_err());
    assert_eq!(indexer.status().generation, before);
    let error = indexer.status().last_error.expect("what went wrong");
    assert!(error.contains("no storage space"), "{error}");
    assert_eq!(uris(&search(&indexer, "soft", SearchMode::Keyword)), ["moss"]);
    disk.set_full(false);
    // By itself, and in time.
    let end = Instant::now() + Duration::from_secs(30);
    while indexer.status().last_error.is_some() || indexer.status().n_vectors_pending > 0 {
        assert!(Instant::now() < end, "{:?}", indexer.status());
        std::thread::sleep(Duration::from_millis(50));
    }
    Truth::default().assert(&place, &indexer, "there is room again");
}

/// A disk on which files of words can be made and not filled.
struct NoWords(AtomicBool);

impl Gate for NoWords {
    fn pass(&self, step: Step, path: &Path) -> std::io::Result<()> {
        let is_full = self.0.load(Ordering::SeqCst) && step == Step::Write;
        let is_meant = is_full && path.iter().any(|part| part == "keyword");
        if is_meant { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

/// The library that writes words tells only that a thread of it ended.
#[test]
fn words_without_room_say_so() {
    let (place, disk) = (Place::new(FILES), Arc::new(NoWords(AtomicBool::new(false))));
    let gate = Arc::clone(&disk) as Arc<dyn Gate>;
    let settings = IndexSettings { disk: Disk::behind(gate), ..place.settings() };
    let indexer = Indexer::open(settings, None, None).expect("an index");
    settle(&indexer);
    disk.0.store(true, Ordering::SeqCst);
    for n in 0..3 {
        let word = |at: u32| format!("word{n}x{at} ");
        place.write(&format!("long{n}.md"), (0..30_000).map(word).collect::<String>().as_bytes());
    }
    let error = indexer.flush().expect_err("there is no room");
    let is_full = matches!(
        &error,
        IndexError::Keyword(KeywordError::Io { source, .. })
            if source.kind() == std::io::ErrorKind::StorageFull
    );
    assert!(is_full, "{error}");
    disk.0.store(false, Ordering::SeqCst);
    indexer.flush().expect("there is room again");
    assert_eq!(uris(&search(&indexer, "word2x29999", SearchMode::Keyword)), ["long2"]);
}

#[test]
fn a_checkpoint_without_room_takes_none() {
    let (place, embedder) = (Place::new(FILES), FakeEmbedder::new());
    let disk = Arc::new(NoRoomFor(&["graph.rmp"], AtomicBool::new(true)));
    let gate = Arc::clone(&disk) as Arc<dyn Gate>;
    let settings = IndexSettings { disk: Disk::behind(gate), ..place.settings() };
    let model: Arc<dyn Embedder> = Arc::clone(&embedder) as Arc<dyn Embedder>;
    let indexer = Indexer::open(settings, Some(model), None).expect("an index");
    assert!(indexer.flush().is_err(), "notes have room, and what links them has not");
    let is_unfinished = |path: &PathBuf| path.iter().any(|part| part == "gen-new");
    assert!(!files(&place.store()).iter().any(is_unfinished));
    disk.1.store(false, Ordering::SeqCst);
    indexer.flush().expect("there is room again");
}

#[test]
fn a_move_without_room_for_its_links_is_told_and_finished_with_the_next() {
    let place = Place::new(&[
        ("full/fern.md", b"[[bog/moss]]"),
        ("bog/moss.md", b"soft"),
        ("stone.md", b"hard"),
    ]);
    let disk = Arc::new(NoRoomFor(&["full"], AtomicBool::new(false)));
    let gate = Arc::clone(&disk) as Arc<dyn Gate>;
    let settings = IndexSettings { disk: Disk::behind(gate), ..place.settings() };
    let indexer = Indexer::open(settings, None, None).expect("an index");
    settle(&indexer);
    let move_to = |name: &str, to: &str| {
        let (name, to, expected) = (name.to_owned(), to.to_owned(), Expected::Anything);
        indexer.write(Write::Move { name, to, expected, rewrite_links: true })
    };
    let text = || std::fs::read_to_string(place.vault().join("full/fern.md")).expect("a file");
    disk.1.store(true, Ordering::SeqCst);
    let error = move_to("bog/moss", "moor/peat.md").expect_err("no room for the link");
    let WriteError::HalfMoved { to, path, .. } = &error else { panic!("{error}") };
    assert_eq!((to.as_str(), path.as_str()), ("moor/peat.md", "full/fern.md"));
    assert_eq!(text(), "[[bog/moss]]");
    disk.1.store(false, Ordering::SeqCst);
    move_to("stone", "rock.md").expect("there is room again");
    assert_eq!(text(), "[[moor/peat]]");
    indexer.stop();

    // Nor need there be a next.
    disk.1.store(true, Ordering::SeqCst);
    let gate = Arc::clone(&disk) as Arc<dyn Gate>;
    let watch = WatchOptions { poll_ms: 20, ..WatchOptions::default() };
    let settings = IndexSettings { watch, disk: Disk::behind(gate), ..place.settings() };
    let indexer = Indexer::open(settings, None, None).expect("an index");
    settle(&indexer);
    let (name, to, expected) = ("moor/peat".to_owned(), "moss.md".to_owned(), Expected::Anything);
    let write = Write::Move { name, to, expected, rewrite_links: true };
    indexer.write(write).expect_err("no room for the link");
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
    indexer.flush().expect("it is looked at");
    assert_eq!(indexer.status().n_unresolved, 0);
}

#[test]
fn a_move_left_half_done_waits_for_its_vault_until_another_begins() {
    let place = Place::new(&[("full/fern.md", b"[[bog/moss]]"), ("bog/moss.md", b"soft")]);
    let other = VaultSettings { name: "other".into(), root: place.outside().join("other") };
    std::fs::create_dir(&other.root).expect("a folder");
    std::fs::write(other.root.join("stone.md"), "hard").expect("a file");
    let disk = Arc::new(NoRoomFor(&["full"], AtomicBool::new(true)));
    let open = |vaults: &[VaultSettings], disk: Disk| {
        let settings = IndexSettings { vaults: vaults.to_vec(), disk, ..place.settings() };
        let indexer = Indexer::open(settings, None, None).expect("an index");
        let _ = indexer.flush();
        indexer
    };
    let served = [place.settings().vaults, vec![other.clone()]].concat();
    let move_to = |indexer: &Indexer, name: &str, to: &str| {
        let (name, to, expected) = (name.to_owned(), to.to_owned(), Expected::Anything);
        indexer.write(Write::Move { name, to, expected, rewrite_links: true })
    };
    let half = |name: &str, to: &str| {
        let full = Disk::behind(Arc::clone(&disk) as Arc<dyn Gate>);
        let error = move_to(&open(&served, full), name, to).expect_err("no room for the link");
        assert!(matches!(error, WriteError::HalfMoved { .. }), "{error}");
    };
    let text = || std::fs::read_to_string(place.vault().join("full/fern.md")).expect("a file");

    half("bog/moss", "moor/peat.md");
    let away = place.outside().join("away");
    std::fs::rename(place.vault(), &away).expect("a disk is taken out");
    let indexer = open(&served, Disk::default());
    let error = move_to(&indexer, "stone", "rock.md").expect_err("the other is not done");
    assert!(error.to_string().contains("vault"), "{error}");
    indexer.stop();
    // An empty folder may lie where it was.
    std::fs::create_dir(place.vault()).expect("a folder");
    open(&served, Disk::default()).stop();
    std::fs::remove_dir(place.vault()).expect("it is empty");
    std::fs::rename(&away, place.vault()).expect("it is put in again");
    assert_eq!(text(), "[[bog/moss]]");
    let indexer = open(std::slice::from_ref(&other), Disk::default());
    indexer.set_vaults(served.clone()).expect("it is served again");
    assert_eq!(text(), "[[moor/peat]]");
    indexer.stop();

    half("moor/peat", "bog/moss.md");
    let indexer = open(std::slice::from_ref(&other), Disk::default());
    assert_eq!(indexer.status().notices, [""; 0], "it may be served again");
    move_to(&indexer, "stone", "rock.md").expect("moved");
    let notices = indexer.status().notices;
    assert!(notices[0].contains("`moor/peat.md` to `bog/moss.md`"), "{notices:?}");
    indexer.stop();
    open(&served, Disk::default()).stop();
    assert_eq!(text(), "[[moor/peat]]", "it was given up");
}

#[test]
fn a_write_without_room_leaves_the_file_as_it_was() {
    let (place, disk, embedder) = (Place::new(FILES), FailingDisk::sound(), FakeEmbedder::new());
    let indexer = open(&place, &embedder, &disk).expect("an index");
    let before = settle(&indexer);
    let put = |path: &str| {
        let (path, content) = (path.to_owned(), Content::Whole("# Moss\ndry\n".to_owned()));
        indexer.write(Write::Put { vault: None, path, content, expected: Expected::Anything })
    };
    disk.set_full(true);
    for path in ["moss.md", "new/moss.md"] {
        let error = put(path).expect_err(path);
        let WriteError::Io { source, .. } = &error else { panic!("{path}: {error}") };
        assert_eq!(source.kind(), std::io::ErrorKind::StorageFull, "{path}");
    }
    let held: Vec<_> = files(&place.vault()).iter().map(|path| name_of(path)).collect();
    assert_eq!(held, ["fern.md", "moss.md", "stone.md"], "nothing is left beside them");
    assert_eq!(std::fs::read(place.vault().join("moss.md")).expect("a file"), FILES[1].1);
    assert_eq!(indexer.status().generation, before);
    disk.set_full(false);
    let wrote = put("moss.md").expect("there is room again");
    assert!(wrote.generation > before);
    assert_eq!(uris(&search(&indexer, "dry", SearchMode::Keyword)), ["moss"]);
    Truth::default().assert(&place, &indexer, "there is room again");
}

/// Lets nobody remove files of these names while it is closed.
struct Closed(&'static [&'static str], AtomicBool);

impl Gate for Closed {
    fn pass(&self, step: Step, path: &Path) -> std::io::Result<()> {
        let Self(names, is_closed) = self;
        let is_meant = step == Step::Remove && names.iter().any(|name| path.ends_with(name));
        if is_meant && is_closed.load(Ordering::SeqCst) {
            return Err(std::io::ErrorKind::PermissionDenied.into());
        }
        Ok(())
    }
}

#[test]
fn a_move_that_is_not_done_is_taken_back_or_finished_later_and_stands_before_no_other() {
    type Names = &'static [&'static str];
    let (old, both): (Names, Names) = (&["moss.md"], &["bog.md", "moss.md"]);
    // What cannot be removed, whether it can be before the next move, and what is there then, with what is told.
    let cases: [(&str, Names, bool, Names, Names, usize); 3] = [
        ("taken back", old, false, old, old, 0),
        ("finished before the next", both, true, both, &["bog.md"], 0),
        ("given up", both, false, both, both, 1),
    ];
    for (name, stuck, opens, first, then, n_notices) in cases {
        let (place, gate) = (Place::new(FILES), Arc::new(Closed(stuck, AtomicBool::new(true))));
        let disk = Disk::behind(Arc::clone(&gate) as Arc<dyn Gate>);
        let settings = IndexSettings { disk, ..place.settings() };
        let embedder: Arc<dyn Embedder> = FakeEmbedder::new();
        let indexer = Indexer::open(settings, Some(embedder), None).expect("an index");
        settle(&indexer);
        let rename = |name: &str, to: &str| {
            let (name, to, expected) = (name.to_owned(), to.to_owned(), Expected::Anything);
            indexer.write(Write::Move { name, to, expected, rewrite_links: true })
        };
        let held = || -> Vec<String> {
            let names = files(&place.vault()).iter().map(|at| name_of(at)).collect::<Vec<_>>();
            names.into_iter().filter(|name| both.contains(&name.as_str())).collect()
        };
        let error = rename("moss", "bog.md").expect_err("its old name cannot go").to_string();
        assert!(!error.contains(&*place.outside().to_string_lossy()), "{name}: {error}");
        assert_eq!(held(), first, "{name}");
        gate.1.store(!opens, Ordering::SeqCst);
        rename("stone", "rock.md").expect("another move");
        assert_eq!(held(), then, "{name}");
        let text = |at: &str| std::fs::read_to_string(place.vault().join(at)).expect("a file");
        assert_eq!(text("fern.md").contains("[[bog]]"), opens, "{name}: links come along");
        assert!(text(then[0]).contains("[[rock]]"), "{name}: and those of the other");
        let notices = indexer.status().notices;
        assert_eq!(notices.len(), n_notices, "{name}: {notices:?}");
        assert!(notices.iter().all(|line| line.contains("`bog.md`")), "{name}: {notices:?}");
    }
}

#[test]
fn flipped_and_cut_files_cost_no_more_than_they_held() {
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
        // At most so many places of a file, from its first byte to its last.
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

/// What is found by word and by meaning.
fn found(indexer: &Indexer) -> Vec<Vec<String>> {
    let modes = [SearchMode::Keyword, SearchMode::Vector];
    let asked = ["shade", "soft", "grey stone", "deep", "crusty sun"];
    let queries = asked.into_iter().flat_map(|query| modes.map(|mode| (query, mode)));
    queries
        .map(|(query, mode)| {
            let answer = search(indexer, query, mode);
            uris(&answer).into_iter().map(str::to_owned).collect()
        })
        .collect()
}

/// A disk without room for what bears one of these names, or lies in such a folder.
struct NoRoomFor(&'static [&'static str], AtomicBool);

impl Gate for NoRoomFor {
    fn pass(&self, _: Step, path: &Path) -> std::io::Result<()> {
        let Self(names, is_full) = self;
        let is_named = names.iter().any(|name| path.iter().any(|part| part == *name));
        let is_kept = is_named && is_full.load(Ordering::SeqCst);
        if is_kept { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

/// Counts what is written into files without a name, which a gate is told as changes of the folder they lie in.
struct Nameless(PathBuf, AtomicUsize);

impl Gate for Nameless {
    fn pass(&self, step: Step, path: &Path) -> std::io::Result<()> {
        let is_meant = step == Step::Write && path == self.0;
        self.1.fetch_add(usize::from(is_meant), Ordering::SeqCst);
        Ok(())
    }
}

#[test]
fn texts_that_are_read_at_once_do_not_all_stay_in_memory() {
    let place = Place::new(FILES);
    let paper = " ".repeat(11 << 20);
    let at = |n: usize| place.vault().join(format!("long{n}.md"));
    let put = |n: usize| std::fs::write(at(n), format!("# Long {n}\n{paper}\nword{n}\n"));
    (0..4).for_each(|n| put(n).expect("a file"));
    let gate = Arc::new(Nameless(place.store(), AtomicUsize::new(0)));
    let disk = Disk::behind(Arc::clone(&gate) as Arc<dyn Gate>);
    let open = || {
        let settings = IndexSettings { disk: disk.clone(), ..place.settings() };
        Indexer::open(settings, None, None).expect("an index")
    };
    let indexer = open();
    settle(&indexer);
    let n_spilled = gate.1.load(Ordering::SeqCst);
    assert!((1..4).contains(&n_spilled), "the first ones stay: {n_spilled}");
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
    assert_eq!(gate.1.load(Ordering::SeqCst), n_spilled, "what is unchanged is not read again");
}

/// Vectors are read back behind the first answers: an error there once refused to open, and must be told, wherever it is met.
#[test]
fn vectors_that_cannot_be_read_back_are_told_of_and_tried_again() {
    unreadable(&["vectors"]);
}

/// Then what was found without them has no number of its own, and must still not pass for whole.
#[test]
fn vectors_that_cannot_be_read_back_from_a_full_disk_are_told_of() {
    unreadable(&["vectors", "ISSUED"]);
}

fn unreadable(names: &'static [&'static str]) {
    let (place, embedder) = (Place::new(FILES), FakeEmbedder::new());
    let indexer = place.open(&embedder);
    let before = settle(&indexer);
    let whole = search(&indexer, "soft", SearchMode::Hybrid);
    indexer.stop();
    // One is damaged, so that they are to be written anew.
    let path = files(&place.store()).into_iter().find(|path| path.ends_with("vec.f32"));
    let path = path.expect("a file");
    let mut bytes = std::fs::read(&path).expect("a file");
    bytes[64 + 40] ^= 1;
    std::fs::write(&path, bytes).expect("written");

    let disk = Arc::new(NoRoomFor(names, AtomicBool::new(true)));
    let gate = Arc::clone(&disk) as Arc<dyn Gate>;
    let settings = IndexSettings { disk: Disk::behind(gate), ..place.settings() };
    let model: Arc<dyn Embedder> = Arc::clone(&embedder) as Arc<dyn Embedder>;
    let indexer = Indexer::open(settings, Some(model), None).expect("words can be read");
    let told = ["vector: 3 passages have no vector yet"];
    assert_eq!(search(&indexer, "soft", SearchMode::Hybrid).degraded, told, "who waited is told");
    assert!(indexer.flush().is_err() && indexer.backup().is_err(), "and who asks");
    let by_word = search(&indexer, "soft", SearchMode::Hybrid);
    assert_eq!(
        (uris(&by_word), &by_word.degraded[..]),
        (vec!["moss"], &told.map(str::to_owned)[..])
    );
    assert_eq!(by_word.generation > before, names == ["vectors"], "where there is a number");
    assert!(!by_word.hits[0].fresh);
    let status = indexer.status();
    assert!(status.notices[0].contains("no storage space"), "{:?}", status.notices);
    assert_eq!(status.n_vectors_pending, 3);

    disk.1.store(false, Ordering::SeqCst);
    let after = settle(&indexer);
    assert!(after > by_word.generation, "answers are others again");
    let again = search(&indexer, "soft", SearchMode::Hybrid);
    assert_eq!((again.hits, again.degraded), (whole.hits, whole.degraded));
    let status = indexer.status();
    assert_eq!((status.last_error, status.unavailable, status.n_vectors_pending), (None, None, 0));
    assert_eq!(status.notices, ["1 vectors were damaged; those still needed were made again."]);
    assert_eq!(embedder.n_documents.load(Ordering::SeqCst), 4, "the damaged one alone");
}

#[test]
fn that_nothing_can_be_written_down_is_told_until_it_can() {
    let (place, embedder) = (Place::new(FILES), FakeEmbedder::new());
    let disk = FailingDisk::sound();
    let indexer = open(&place, &embedder, &disk).expect("an index");
    settle(&indexer);
    disk.set_full_at("gen-");
    place.write("lichen.md", b"# Lichen\ncrusty\n");
    let refused = indexer.flush().expect_err("there is no room").to_string();
    // What changes goes in all the same, and makes nobody believe that all is well.
    indexer.rescan(Rescan::default()).expect("a look");
    assert_eq!(uris(&search(&indexer, "crusty", SearchMode::Keyword)), ["lichen"]);
    assert_eq!(indexer.status().last_error, Some(refused));

    disk.set_full(false);
    let generation = indexer.flush().expect("there is room");
    let status = indexer.status();
    assert_eq!(status.last_error, None);
    assert_eq!(status.stored_generations.last(), Some(&generation));
}
