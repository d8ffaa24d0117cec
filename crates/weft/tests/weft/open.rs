//! `weft open`, and `weft search --interactive` in a real terminal.

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use super::{example, weft};

/// Runs `weft open` with an editor that writes its arguments to a file.
fn open(home: &Path, editor: &str, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_weft"))
        .args(["open", "--vault"])
        .arg(example())
        .args(args)
        .env_clear()
        .env("HOME", home)
        .env("PATH", "/usr/bin:/bin")
        .env("EDITOR", editor)
        .env("WEFT__EMBEDDING__MODEL", "none")
        .output()
        .expect("the binary was built for this test")
}

#[test]
fn place_is_printed_and_errors_are_those_of_resolve() {
    let home = tempfile::tempdir().unwrap();
    let vault = example();
    let vault = vault.to_str().unwrap();
    let run = |args: &[&str]| {
        let output = weft(home.path(), &[&["open", "--vault", vault], args].concat());
        let out = String::from_utf8(output.stdout).unwrap();
        (output.status.code(), out, String::from_utf8(output.stderr).unwrap())
    };
    let (code, out, err) = run(&["Leap", "second", "--print"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.ends_with("/Agreed Time/Leap second.md:1:1\n"), "{out}");
    let (_, out, _) = run(&["Leap second", "--format", "json"]);
    let place: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&place["line"], &place["open_with"]), (&1.into(), &"editor".into()));
    for (args, code, message) in [
        (&["Leap secnd"][..], 3, "did you mean `Agreed Time/Leap second`?"),
        (&["Leap second#Nowhere"], 3, "leave out `#`"),
        (&["Leap second", "--as-of", "1"], 2, "omit --as-of"),
        (&["Leap second", "--set", "open.with='x"], 2, "open.with"),
    ] {
        let (given, out, err) = run(args);
        assert_eq!((given, &*out), (Some(code), ""), "{args:?}: {err}");
        assert!(err.contains(message), "{args:?}: {err}");
    }
}

#[test]
fn editor_gets_file_and_line() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = tempfile::tempdir().unwrap();
    let (seen, vim) = (home.path().join("seen"), home.path().join("vim"));
    let script = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > '{}'\n", seen.display());
    std::fs::write(&vim, script).unwrap();
    std::fs::set_permissions(&vim, std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = open(home.path(), &format!("{} -R", vim.display()), &["Leap second"]);
    assert!(output.status.success(), "{output:?}");
    let words = std::fs::read_to_string(&seen).unwrap();
    let [flag, line, file] = words.lines().collect::<Vec<_>>()[..] else { panic!("{words}") };
    assert_eq!((flag, line), ("-R", "+1"));
    assert!(file.starts_with('/') && file.ends_with("Leap second.md"), "{file}");
    let setting = format!("open.with=\"{} {{line}}:{{file}}\"", vim.display());
    let output = open(home.path(), "/no/such", &["Leap second", "--set", &setting]);
    assert!(output.status.success(), "{output:?}");
    assert!(std::fs::read_to_string(&seen).unwrap().starts_with("1:/"));
    let failed = open(home.path(), "false", &["Leap second"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&failed.stderr).contains("`false` failed"), "{failed:?}");
}

#[test]
fn interactive_search_needs_a_terminal() {
    let home = tempfile::tempdir().unwrap();
    let output = weft(home.path(), &["search", "--interactive"]);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("needs a terminal") && err.contains("weft search QUERY"), "{err}");
    let output = weft(home.path(), &["search", "-i", "--explain"]);
    assert_eq!(output.status.code(), Some(2));
}

#[expect(clippy::disallowed_methods, reason = "a check requires the tests that others skip")]
fn is_tmux_required() -> bool {
    std::env::var("WEFT_REQUIRE_TMUX").is_ok_and(|it| it == "1")
}

/// A terminal of tmux, on its own server.
struct Terminal {
    socket: std::path::PathBuf,
}

impl Terminal {
    /// Starts a program in a terminal of this size; `None` without tmux.
    fn start(home: &Path, (width, height): (u16, u16), command: &str) -> Option<Self> {
        let terminal = Self { socket: home.join("tmux") };
        let (width, height) = (width.to_string(), height.to_string());
        let started = terminal.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            &width,
            "-y",
            &height,
            command,
        ]);
        started.ok().filter(|output| output.status.success()).map(|_| terminal)
    }

    fn tmux(&self, args: &[&str]) -> std::io::Result<Output> {
        Command::new("tmux")
            .env("TERM", "xterm-256color")
            .arg("-S")
            .arg(&self.socket)
            .args(args)
            .output()
    }

    fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat()).expect("tmux sends keys");
    }

    fn screen(&self) -> String {
        let output = self.tmux(&["capture-pane", "-p"]).expect("tmux shows its screen");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Waits until the screen contains all of `texts`.
    fn shows(&self, texts: &[&str]) -> String {
        let start = Instant::now();
        loop {
            let screen = self.screen();
            if texts.iter().all(|text| screen.contains(text)) {
                return screen;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "no {texts:?} in\n{screen}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]);
    }
}

#[test]
fn interactive_search_runs_in_a_terminal() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name).display().to_string();
    let (seen, out) = (at("seen"), at("out"));
    // The editor writes its arguments, and what follows shows that the terminal is restored.
    std::fs::write(at("hx"), format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > '{seen}'\n")).unwrap();
    std::fs::set_permissions(at("hx"), {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::Permissions::from_mode(0o755)
    })
    .unwrap();
    let command = format!(
        "env HOME='{}' EDITOR='{}' WEFT__EMBEDDING__MODEL=none '{}' search -i --vault '{}' > '{out}'; echo code $?; stty -a | grep -o ' icanon'; sleep 60",
        home.path().display(),
        at("hx"),
        env!("CARGO_BIN_EXE_weft"),
        example().display(),
    );
    let Some(terminal) = Terminal::start(home.path(), (100, 24), &command) else {
        // A machine without tmux has no terminal to test in.
        assert!(!is_tmux_required(), "tmux is not installed; install the package `tmux`");
        return;
    };
    terminal.shows(&["> ", " notes", "Enter open"]);
    terminal.keys(&["-l", "leap sec"]);
    let screen =
        terminal.shows(&["> leap sec", " hits", "▌Leap second", "Agreed Time/Leap second"]);
    assert!(screen.lines().count() <= 24, "{screen}");
    terminal.keys(&["Enter"]);
    let start = Instant::now();
    while !Path::new(&seen).exists() && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(50));
    }
    let opened = std::fs::read_to_string(&seen).unwrap();
    let (file, place) = opened.trim_end().rsplit_once(".md:").expect(&opened);
    assert!(file.ends_with("/Agreed Time/Leap second"), "{opened}");
    assert!(place.split(':').all(|number| number.parse::<u32>().is_ok()), "{opened}");
    terminal.shows(&["▌Leap second"]);
    // A filter by folder, and back.
    terminal.keys(&["C-f"]);
    terminal.shows(&["Folder", "Agreed Time"]);
    terminal.keys(&["-l", "agreed"]);
    terminal.keys(&["Enter"]);
    terminal.shows(&["hybrid · Agreed Time/"]);
    terminal.keys(&["Tab"]);
    terminal.shows(&["vector · Agreed Time/"]);
    terminal.keys(&["Tab"]);
    terminal.shows(&["keyword · Agreed Time/", "▌Leap second"]);
    terminal.keys(&["C-o"]);
    terminal.shows(&["code 0", " icanon"]);
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "Agreed Time/Leap second\n");
}
