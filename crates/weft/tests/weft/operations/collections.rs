//! Collections of PostgreSQL on the command line: a followed folder, exports.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use weft_testkit::Postgres;

use super::{command, run, text};

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
