//! Collections of PostgreSQL on the command line: a followed folder, checkpoints, exports.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use weft_testkit::Postgres;

use super::{command, example, free_port, run, text};

/// Longest wait for a process; a wait ends as soon as the state is reached.
const LONG: Duration = Duration::from_secs(120);

/// Ends the process at the end of the test.
struct Ended(Child);

impl Ended {
    fn terminate(&mut self) -> Option<i32> {
        let id = self.0.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill {id}");
        self.0.wait().expect("the process").code()
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn json(home: &Path, args: &[&str]) -> Value {
    let output = run(home, &[args, &["--format", "json"]].concat());
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

/// Repeats a command until its answer is accepted.
fn until(home: &Path, args: &[&str], accepts: impl Fn(&Value) -> bool) -> Value {
    let end = Instant::now() + LONG;
    loop {
        let answer = json(home, args);
        if accepts(&answer) {
            return answer;
        }
        assert!(Instant::now() < end, "{args:?}: {answer}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn followed_folder_is_served_until_sigterm() {
    let Some(server) = Postgres::start() else { return };
    let (home, dsn) = (tempfile::tempdir().unwrap(), server.dsn_file());
    let home = home.path();
    let on = |collection: &'static str| {
        ["--collection", collection, "--postgres", dsn.to_str().unwrap()]
    };
    let team = on("team");
    json(home, &[&["cluster", "init"][..], &team].concat());
    let folder = home.join("notes");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("fern.md"), "# Fern\ngrows beside water\n").unwrap();
    let push = ["push", folder.to_str().unwrap()];

    let watch = [&push[..], &team, &["--watch", "--format", "json"]].concat();
    let mut watching = command(home, &watch);
    let watching = watching.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut watching = Ended(watching);
    let status = [&["cluster", "status"][..], &team].concat();
    until(home, &status, |status| status["note_count"] == 1);
    fs::write(folder.join("moss.md"), "# Moss\n").unwrap();
    until(home, &status, |status| status["note_count"] == 2);
    let busy = run(home, &[&push[..], &team].concat());
    let said = text(&busy.stderr);
    assert!(!busy.status.success() && said.contains("weft push --watch"), "{said}");
    assert_eq!(watching.terminate(), Some(0));
    let pushed = json(home, &[&push[..], &team].concat());
    assert_eq!((&pushed["written"], &pushed["unchanged"]), (&0.into(), &2.into()));

    let (exported, other) = (home.join("exported"), on("other"));
    let exported = exported.to_str().unwrap();
    let export = json(home, &[&["cluster", "export", exported][..], &team].concat());
    assert_eq!((&export["vaults"], &export["notes"]), (&1.into(), &2.into()));
    json(home, &[&["cluster", "init"][..], &other].concat());
    let import = [&["cluster", "import", exported][..], &other].concat();
    assert_eq!(json(home, &import)["changed_notes"], 2);
    assert_eq!(json(home, &import)["changed_notes"], 0);
    let lost = run(home, &[&["cluster", "import"][..], &team].concat());
    let said = text(&lost.stderr);
    assert!(!lost.status.success() && said.contains("--store DIR"), "{said}");
}

#[test]
fn new_node_starts_from_a_checkpoint() {
    let Some(server) = Postgres::start() else { return };
    let (home, dsn) = (tempfile::tempdir().unwrap(), server.dsn_file());
    let home = home.path();
    let team = ["--collection", "team", "--postgres", dsn.to_str().unwrap()];
    json(home, &[&["cluster", "init"][..], &team].concat());
    let (example, place) = (example(), home.join("checkpoints"));
    let folder = example.to_str().unwrap();
    json(home, &[&["push", folder, "--name", "notes"][..], &team].concat());
    let bootstrap = format!("cluster.bootstrap={}", place.to_str().unwrap());
    let start = |name: &str| {
        let address = format!("127.0.0.1:{}", free_port());
        let store = home.join(name);
        let store = store.to_str().unwrap();
        let log = ["--set", "log.filter=info"];
        let serve =
            [&["serve", "--addr", &address, "--store", store, "--set", &bootstrap][..], &log]
                .concat();
        let mut node = command(home, &[&serve[..], &team].concat());
        let log = fs::File::create(home.join(format!("{name}.log"))).unwrap();
        let node = Ended(node.stdout(Stdio::null()).stderr(log).spawn().unwrap());
        let end = Instant::now() + LONG;
        // Until it has read the collection, it only reports its progress.
        while !run(home, &["list", "--addr", &address]).status.success() {
            assert!(Instant::now() < end, "the node {name} does not answer");
        }
        (node, address)
    };
    let (_first, first) = start("first");
    let write =
        [&["cluster", "checkpoint", place.to_str().unwrap(), "--addr", &first][..], &team].concat();
    let written = json(home, &write);
    let folder = Path::new(written["folder"].as_str().unwrap());
    assert!(folder.starts_with(&place) && folder.join("backup.rmp").exists(), "{written}");
    let source = home.join("source.txt");
    fs::write(&source, "# Tide table\nSee [[Leap second]] and quartz.\n").unwrap();
    let put = ["put", "tide.md", source.to_str().unwrap(), "--new", "--addr", &first];
    let generation = json(home, &put)["generation"].to_string();

    let (_second, second) = start("second");
    for query in ["quartz", "leap second", "tide table"] {
        let search = ["search", query, "--min-generation", &generation, "--addr"];
        let [one, two] =
            [&first, &second].map(|at| json(home, &[&search[..], &[at]].concat())["hits"].clone());
        assert!(one == two && one.as_array().is_some_and(|hits| !hits.is_empty()), "{query}");
    }
    let log = |name: &str| fs::read_to_string(home.join(format!("{name}.log"))).unwrap();
    assert!(log("first").contains("no checkpoint to start from"), "{}", log("first"));
    assert!(log("second").contains("starting from a checkpoint"), "{}", log("second"));
    // A daemon over folders is not a node.
    let address = format!("127.0.0.1:{}", free_port());
    let serve = ["serve", example.to_str().unwrap(), "--addr", &address];
    let mut local = command(home, &serve);
    let _local = Ended(local.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let end = Instant::now() + LONG;
    while !run(home, &["status", "--addr", &address]).status.success() {
        assert!(Instant::now() < end, "the daemon does not answer");
    }
    let refused = run(
        home,
        &[&["cluster", "checkpoint", place.to_str().unwrap(), "--addr", &address][..], &team]
            .concat(),
    );
    let said = text(&refused.stderr);
    assert!(!refused.status.success() && said.contains("does not serve"), "{said}");
}
