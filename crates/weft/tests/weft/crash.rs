//! Kills the daemon at random moments during writes, and checks its state after each restart.
#![expect(clippy::unwrap_used, reason = "a failed helper fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use tonic::transport::{Channel, Endpoint};
use weft_proto::noteweft::v1::admin_service_client::AdminServiceClient;
use weft_proto::noteweft::v1::note_service_client::NoteServiceClient;
use weft_proto::noteweft::v1::search_service_client::SearchServiceClient;
use weft_proto::noteweft::v1::{
    BackupRequest, DeleteNoteRequest, FlushRequest, MoveNoteRequest, PutNoteRequest,
    ReindexRequest, SearchMode, SearchRequest, StatusRequest, StatusResponse,
};
use weft_testkit::Random;

/// Default number of kills.
const KILLS: u32 = 6;

/// Number of notes that link to the moved note.
const N_LINKING: usize = 5;

/// Number of files of each of the two writers.
const N_FILES: usize = 12;

/// Time after which a daemon that does not answer counts as hung.
pub(crate) const HANG_TIMEOUT: Duration = Duration::from_secs(120);

/// Returns a parameter from the environment: the number of kills, the seed or the model.
#[expect(clippy::disallowed_methods, reason = "parameters of longer runs")]
pub(crate) fn parameter<T: std::str::FromStr>(name: &str, otherwise: T) -> T {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// A vault, a store, and the expected state.
struct World {
    home: TempDir,
    model: String,
    /// Files written by acknowledged calls: the word each must contain, or `None` if it was deleted.
    acknowledged: BTreeMap<String, Option<String>>,
    /// The last acknowledged put: path, word and generation.
    last_put: Option<(String, String, u64)>,
    /// File of a call that ended without an answer.
    in_doubt: Option<String>,
    /// Digest of every published generation.
    published: BTreeMap<u64, String>,
    n_words: u64,
}

/// Statistics of a run.
#[derive(Debug, Default)]
struct Statistics {
    n_calls: u64,
    n_file_changes: u64,
    n_early: u32,
    opened_ms: Vec<u128>,
    n_left_over: usize,
}

impl World {
    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn vault(&self) -> PathBuf {
        self.path("vault")
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weft"));
        command.env_clear().env("HOME", self.home.path());
        command.env("WEFT__EMBEDDING__MODEL", &self.model);
        command.env("WEFT__STORE__KEEP_GENERATIONS", "3");
        command
    }

    fn start(&self) -> Daemon {
        let _ = fs::remove_file(self.path("weft.sock"));
        let log = File::create(self.path("log")).unwrap();
        let mut command = self.command();
        command.env("WEFT__LOG__FILTER", "weft_indexer=debug").env("WEFT__LOG__FORMAT", "json");
        command.args(["serve", "vault", "--addr", "127.0.0.1:0", "--store", "store", "--socket"]);
        command.arg(self.path("weft.sock")).current_dir(self.home.path());
        Daemon(command.stdout(Stdio::null()).stderr(log).spawn().unwrap())
    }

    /// Returns a word that no other note contains.
    fn word(&mut self) -> String {
        self.n_words += 1;
        format!("wq{}x", self.n_words)
    }

    /// Records the generations published by the last process, and asserts that it opened a state that had been published.
    fn read_log(&mut self, name: &str) {
        let log = fs::read_to_string(self.path("log")).unwrap();
        for line in log_lines(&log) {
            let Some((generation, digest)) = published_state(&line) else {
                assert_ne!(line["level"], "ERROR", "{name}: {line}");
                continue;
            };
            if line["message"] == "opened" && !self.published.is_empty() {
                let is_known = self.published.values().any(|known| known == digest);
                assert!(is_known, "{name}: it opened a state that was never published: {line}");
            }
            let known = self.published.entry(generation).or_insert_with(|| digest.to_owned());
            assert_eq!(known, digest, "{name}: generation {generation} has two digests");
        }
        assert!(!log.contains("panicked"), "{name}: {log}");
    }

    /// Returns the status of an index rebuilt from the files.
    fn rebuilt_status(&self) -> Value {
        let store = self.path("rebuilt");
        let _ = fs::remove_dir_all(&store);
        let mut command = self.command();
        command.args(["status", "--format", "json", "--no-wait", "--vault"]).arg(self.vault());
        let output = command.arg("--store").arg(&store).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// Returns the lines of a log in JSON, without those that a kill cut.
pub(crate) fn log_lines(log: &str) -> impl Iterator<Item = Value> {
    log.lines().filter_map(|line| serde_json::from_str(line).ok())
}

/// Returns the generation and digest of the state that a line reports as opened or published.
pub(crate) fn published_state(line: &Value) -> Option<(u64, &str)> {
    Some((line["generation"].as_u64()?, line["digest"].as_str()?))
}

/// A running daemon; killed when it is dropped.
pub(crate) struct Daemon(pub(crate) Child);

impl Daemon {
    async fn channel(&mut self, world: &World, name: &str) -> Channel {
        let end = Instant::now() + HANG_TIMEOUT;
        let uri = format!("unix:{}", world.path("weft.sock").display());
        loop {
            let log = || fs::read_to_string(world.path("log")).unwrap();
            assert!(Instant::now() < end, "{name}: no answer\n{}", log());
            let ended = self.0.try_wait().unwrap();
            assert!(ended.is_none(), "{name}: the daemon does not start: {ended:?}\n{}", log());
            if let Ok(channel) = Endpoint::from_shared(uri.clone()).unwrap().connect().await
                && AdminServiceClient::new(channel.clone()).status(StatusRequest {}).await.is_ok()
            {
                return channel;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Ends the process as a power cut would.
    pub(crate) fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Asserts that nothing was lost, and that the index matches the files.
async fn check(world: &World, channel: &Channel, name: &str) -> StatusResponse {
    // A client that waits for a generation of the previous process sees its content.
    if let Some((path, word, generation)) = &world.last_put
        && world.in_doubt.as_ref() != Some(path)
    {
        let min_generation = Some(*generation);
        assert_eq!(
            found(channel, word, min_generation).await.first(),
            Some(path),
            "{name}: {word}"
        );
    }
    let mut admin = AdminServiceClient::new(channel.clone());
    admin.flush(FlushRequest {}).await.unwrap_or_else(|error| panic!("{name}: {error}"));
    let status = admin.status(StatusRequest {}).await.unwrap().into_inner();
    let rebuilt = world.rebuilt_status();
    assert_eq!(rebuilt["digest"], status.digest, "{name}");
    for (what, ours) in [
        ("note_count", status.note_count),
        ("link_count", status.link_count),
        ("unresolved_count", status.unresolved_count),
        ("placeholder_count", status.placeholder_count),
    ] {
        assert_eq!(rebuilt[what], ours, "{name}: {what}");
    }
    assert_eq!((status.last_error, status.notices), (None, vec![]), "{name}");

    // Acknowledged writes are in the files and in the keyword index.
    for (path, word) in &world.acknowledged {
        let text = fs::read_to_string(world.vault().join(path));
        match word {
            _ if world.in_doubt.as_ref() == Some(path) => {}
            Some(word) => {
                let text = text.unwrap_or_else(|error| panic!("{name}: {path} is lost: {error}"));
                assert!(text.contains(word.as_str()), "{name}: {path} lost {word}: {text}");
            }
            None => assert!(text.is_err(), "{name}: {path} was deleted"),
        }
    }
    let certain =
        world.acknowledged.iter().filter(|(path, _)| world.in_doubt.as_ref() != Some(path));
    for (path, word) in certain.filter_map(|(path, word)| Some((path, word.as_ref()?))).take(4) {
        assert_eq!(found(channel, word, None).await.first(), Some(path), "{name}: {word}");
    }

    // The moved note exists once, and every link to it leads there.
    let hub: Vec<PathBuf> = notes(&world.vault().join("hub"));
    assert_eq!(hub.len(), 1, "{name}: {hub:?}");
    let target = format!("[[hub/{}]]", hub[0].file_stem().unwrap().to_string_lossy());
    for at in 0..N_LINKING {
        let text = fs::read_to_string(world.vault().join(format!("links/{at}.md"))).unwrap();
        assert!(text.contains(&target), "{name}: links/{at}.md should link {target}: {text}");
    }
    admin.status(StatusRequest {}).await.unwrap().into_inner()
}

/// Returns the paths of the notes that contain `word`, in generation `min_generation` or later.
async fn found(channel: &Channel, word: &str, min_generation: Option<u64>) -> Vec<String> {
    let request = SearchRequest {
        query: word.to_owned(),
        mode: SearchMode::Keyword.into(),
        min_generation,
        ..SearchRequest::default()
    };
    let answer = SearchServiceClient::new(channel.clone()).search(request).await.unwrap();
    answer.into_inner().hits.into_iter().map(|hit| hit.path).collect()
}

/// Returns the notes of a folder.
fn notes(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|end| end == "md")).collect()
}

/// Makes writing calls one after the other until the daemon is killed.
async fn call(world: &mut World, channel: Channel, random: &mut Random, tally: &mut Statistics) {
    let mut notes = NoteServiceClient::new(channel.clone());
    let mut admin = AdminServiceClient::new(channel);
    let text = |text: String| Some(text);
    loop {
        let path = format!("calls/{}.md", random.below(N_FILES));
        let is_there = world.vault().join(&path).exists();
        let over = match random.below(12) {
            0..6 => {
                let word = world.word();
                world.in_doubt = Some(path.clone());
                let body = format!("# Call\n{word} [[files/{}]]\n", random.below(N_FILES));
                let request = PutNoteRequest {
                    path: path.clone(),
                    text: text(body),
                    ..PutNoteRequest::default()
                };
                let answer = notes.put_note(request).await;
                if let Ok(put) = &answer {
                    let generation = put.get_ref().generation;
                    world.last_put = Some((path.clone(), word.clone(), generation));
                    world.acknowledged.insert(path, Some(word));
                }
                answer.err()
            }
            6..8 if is_there => {
                world.in_doubt = Some(path.clone());
                let request =
                    DeleteNoteRequest { name: path.clone(), ..DeleteNoteRequest::default() };
                let answer = notes.delete_note(request).await;
                if answer.is_ok() {
                    world.last_put.take_if(|(last, _, _)| *last == path);
                    world.acknowledged.insert(path, None);
                }
                answer.err()
            }
            6..10 => {
                let old = self::notes(&world.vault().join("hub")).remove(0);
                let name = format!("hub/{}", old.file_name().unwrap().to_string_lossy());
                let to = format!("hub/{}.md", world.word());
                let request =
                    MoveNoteRequest { name, to, rewrite_links: true, ..MoveNoteRequest::default() };
                notes.move_note(request).await.err()
            }
            10 => {
                let request = ReindexRequest { compact: true, ..ReindexRequest::default() };
                match admin.reindex(request).await {
                    Ok(stream) => drained(stream.into_inner()).await,
                    Err(error) => Some(error),
                }
            }
            _ => match admin.backup(BackupRequest {}).await {
                Ok(stream) => drained(stream.into_inner()).await,
                Err(error) => Some(error),
            },
        };
        if let Some(error) = over {
            // The connection was lost, or the daemon had not yet indexed the last change of a file.
            if std::error::Error::source(&error).is_some()
                || error.code() == tonic::Code::Unavailable
                || error.code() == tonic::Code::Unknown
                || error.code() == tonic::Code::Internal
            {
                return;
            }
        }
        world.in_doubt = None;
        tally.n_calls += 1;
    }
}

async fn drained<T>(mut stream: tonic::Streaming<T>) -> Option<tonic::Status> {
    loop {
        match stream.message().await {
            Ok(Some(_)) => {}
            Ok(None) => return None,
            Err(error) => return Some(error),
        }
    }
}

/// Changes files like an editor, a sync program and a careless user, until `stop` is set.
fn change_files(vault: &Path, seed: u64, stop: &AtomicBool) -> u64 {
    let mut random = Random::new(seed);
    let mut n = 0;
    while !stop.load(Ordering::SeqCst) {
        let path = vault.join(format!("files/{}.md", random.below(N_FILES)));
        let text = format!(
            "# File\nedit{} [[calls/{}]] {}\n",
            random.number(),
            random.below(N_FILES),
            "and more of it ".repeat(random.below(40))
        );
        let _ = match random.below(6) {
            0 | 1 => fs::write(&path, text),
            2 => {
                let beside = path.with_extension("tmp");
                fs::write(&beside, text).and_then(|()| fs::rename(beside, &path))
            }
            3 => fs::rename(&path, vault.join(format!("files/{}.md", random.below(N_FILES)))),
            4 => fs::remove_file(&path),
            _ => File::options()
                .append(true)
                .open(&path)
                .and_then(|mut file| file.write_all(b"one more line\n")),
        };
        n += 1;
        std::thread::sleep(Duration::from_millis(random.below(8) as u64));
    }
    n
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_daemon_loses_nothing() {
    let n_kills = parameter("WEFT_KILLS", KILLS);
    let seed = parameter("WEFT_SEED", 1_u64);
    let mut random = Random::new(seed);
    let mut world = World {
        home: tempfile::tempdir().unwrap(),
        model: parameter("WEFT_MODEL", "none".to_owned()),
        acknowledged: BTreeMap::new(),
        last_put: None,
        in_doubt: None,
        published: BTreeMap::new(),
        n_words: 0,
    };
    for folder in ["hub", "links", "calls", "files"] {
        fs::create_dir_all(world.vault().join(folder)).unwrap();
    }
    fs::write(world.vault().join("hub/first.md"), "# Hub\nin the middle\n").unwrap();
    for at in 0..N_LINKING {
        let text = format!("# Link {at}\nsee [[hub/first]]\n");
        fs::write(world.vault().join(format!("links/{at}.md")), text).unwrap();
    }
    let mut tally = Statistics::default();
    for kill in 0..n_kills {
        let name = format!("seed {seed}, kill {kill}");
        let started = Instant::now();
        let mut daemon = world.start();
        if kill > 0 && random.below(8) == 0 {
            // Kill while opening.
            tokio::time::sleep(Duration::from_millis(random.below(120) as u64)).await;
            daemon.kill();
            tally.n_early += 1;
            world.read_log(&name);
            continue;
        }
        let channel = daemon.channel(&world, &name).await;
        tally.opened_ms.push(started.elapsed().as_millis());
        check(&world, &channel, &name).await;
        world.in_doubt = None;
        // The file of an unacknowledged call may be in either state; its current one is expected from now on.
        let paths: Vec<String> = world.acknowledged.keys().cloned().collect();
        for path in paths {
            let is_there = world.vault().join(&path).exists();
            let word = is_there.then(|| {
                let text = fs::read_to_string(world.vault().join(&path)).unwrap();
                text.split_whitespace().find(|word| word.starts_with("wq")).unwrap().to_owned()
            });
            world.acknowledged.insert(path, word);
        }
        let World { acknowledged, last_put, .. } = &mut world;
        last_put.take_if(|(path, word, _)| acknowledged.get(path) != Some(&Some(word.clone())));

        let stop = Arc::new(AtomicBool::new(false));
        let n_changes = Arc::new(AtomicU64::new(0));
        let files = {
            let (vault, stop, n) = (world.vault(), Arc::clone(&stop), Arc::clone(&n_changes));
            let seed = random.number();
            std::thread::spawn(move || n.store(change_files(&vault, seed, &stop), Ordering::SeqCst))
        };
        let life = Duration::from_millis(20 + random.below(900) as u64);
        let killer = tokio::spawn(async move {
            tokio::time::sleep(life).await;
            daemon.kill();
        });
        call(&mut world, channel, &mut random, &mut tally).await;
        killer.await.unwrap();
        // Files keep changing while no daemon runs.
        tokio::time::sleep(Duration::from_millis(random.below(30) as u64)).await;
        stop.store(true, Ordering::SeqCst);
        files.join().unwrap();
        tally.n_file_changes += n_changes.load(Ordering::SeqCst);
        world.read_log(&name);
    }
    let mut daemon = world.start();
    let name = format!("seed {seed}, at the end");
    let channel = daemon.channel(&world, &name).await;
    check(&world, &channel, &name).await;
    world.read_log(&name);
    let folders = ["", "hub", "links", "calls", "files"].map(|folder| world.vault().join(folder));
    let left = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap().flatten());
    let left: BTreeSet<_> = left
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with(".weft"))
        .collect();
    tally.n_left_over = left.len();
    tally.opened_ms.sort_unstable();
    let n = tally.opened_ms.len();
    eprintln!(
        "{n_kills} kills, {} of them while opening; {} calls, {} file changes, {} generations; opened in {} ms (median), {} ms (maximum); {} temporary files left",
        tally.n_early,
        tally.n_calls,
        tally.n_file_changes,
        world.published.len(),
        tally.opened_ms.get(n / 2).unwrap_or(&0),
        tally.opened_ms.last().unwrap_or(&0),
        tally.n_left_over,
    );
}
