//! Nodes whose notes are not those of the log.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use weft_cluster::{
    Agreement, Collection, CollectionHome, Commit, FileChange, NodeReport, NodeThreads,
};
use weft_indexer::scan::{ScanArea, ScanError, ScanOptions, ScanResult};
use weft_indexer::{
    ChangeError, ChangeLog, FileMove, IndexSettings, Indexer, VaultHome, VaultLocation,
};
use weft_model::TextHash;
use weft_testkit::Postgres;

use crate::{collection, connect};

/// Time within which a node must notice and repair its notes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A home that reads wrong bytes while `lies` is set.
#[derive(Debug)]
struct LyingHome {
    home: CollectionHome,
    lies: Arc<AtomicBool>,
}

impl VaultHome for LyingHome {
    fn locate(&self, root: &Path) -> VaultLocation {
        self.home.locate(root)
    }

    fn list(
        &self,
        root: &Path,
        options: &ScanOptions,
        area: &ScanArea,
    ) -> Result<ScanResult, ScanError> {
        self.home.list(root, options, area)
    }

    fn read(&self, root: &Path, file: &Path, max_bytes: u64) -> Result<Vec<u8>, ScanError> {
        if self.lies.load(Ordering::SeqCst) && file.ends_with("fern.md") {
            return Ok(b"# Moss".to_vec());
        }
        self.home.read(root, file, max_bytes)
    }

    fn content(&self, file: &Path) -> io::Result<Option<Vec<u8>>> {
        self.home.content(file)
    }

    fn put(&self, file: &Path, old: Option<TextHash>, bytes: &[u8]) -> Result<(), ChangeError> {
        self.home.put(file, old, bytes)
    }

    fn remove(&self, file: &Path, old: Option<TextHash>) -> Result<(), ChangeError> {
        self.home.remove(file, old)
    }

    fn commit_move(&self, moved: &FileMove<'_>) -> Option<Result<(), ChangeError>> {
        self.home.commit_move(moved)
    }

    fn log(&self) -> Option<&dyn ChangeLog> {
        self.home.log()
    }
}

struct Node {
    threads: NodeThreads,
    indexer: Arc<Indexer>,
}

impl Node {
    fn start(server: &Postgres, id: &str, store: &Path, lies: &Arc<AtomicBool>) -> Self {
        let notes = Collection::open(&connect(server), "team").unwrap();
        let home = CollectionHome::new(notes.clone(), Duration::from_millis(5));
        let home = LyingHome { home, lies: Arc::clone(lies) };
        let settings = IndexSettings {
            store: store.join(id),
            home: Some(Arc::new(home) as Arc<dyn VaultHome>),
            ..IndexSettings::default()
        };
        let indexer = Arc::new(Indexer::open(settings, None, None).unwrap());
        indexer.flush().unwrap();
        let (address, version) = ("127.0.0.1:1".to_owned(), "0.1.0".to_owned());
        let report = NodeReport { id: id.to_owned(), address, version, generation: 0, digest: 0 };
        let threads = NodeThreads::start(&notes, None, report, &indexer).unwrap();
        Self { threads, indexer }
    }

    fn digest(&self) -> u128 {
        self.indexer.reader().snapshot().notes.total().digest
    }
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn node_that_differs_from_the_log_rebuilds_its_index_once() {
    let Some((server, notes)) = collection() else { return };
    let put = |text: &str| {
        let change = FileChange::put("notes", "fern.md", text.into());
        notes.commit(&Commit::of(vec![change])).unwrap();
    };
    put("# Fern");
    let folder = tempfile::tempdir().unwrap();
    let (honest, lies) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(true)));
    let wrong = Node::start(&server, "wrong", folder.path(), &lies);
    lies.store(false, Ordering::SeqCst);
    assert_eq!(wrong.threads.state().agreement, Agreement::Agrees, "no other node says otherwise");
    let right = Node::start(&server, "right", folder.path(), &honest);
    assert_ne!(right.digest(), wrong.digest());
    wait_until("the rebuild", || right.digest() == wrong.digest());
    let problems = || {
        let nodes = notes.nodes().unwrap().into_iter();
        nodes.filter_map(|node| Some((node.report.id, node.problem?))).collect::<Vec<_>>()
    };
    let agree =
        || [&right, &wrong].iter().all(|it| it.threads.state().agreement == Agreement::Agrees);
    wait_until("the agreement", || agree() && problems().is_empty());

    // Wrong again: the node stays out, and says what to do.
    lies.store(true, Ordering::SeqCst);
    put("# Fern\nfrond");
    wait_until("the problem", || !problems().is_empty());
    assert_eq!(wrong.threads.state().agreement, Agreement::Wrong);
    let listed = problems();
    assert!(listed.len() == 1 && listed[0].0 == "wrong", "{listed:?}");
    assert!(listed[0].1.contains("weft cluster verify"), "{listed:?}");
    lies.store(false, Ordering::SeqCst);
    put("# Fern\nfrond and spore");
    wait_until("the next commit", || right.digest() == wrong.digest());
    assert_eq!(wrong.threads.state().agreement, Agreement::Wrong, "until it is started again");
    drop(wrong);
    let started = Node::start(&server, "wrong", folder.path(), &honest);
    wait_until("the start", || problems().is_empty());
    assert_eq!(started.digest(), right.digest());
}
