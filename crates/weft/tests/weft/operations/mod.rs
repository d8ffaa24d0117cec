//! The daemon in operation: in the background, under systemd, with reloaded settings.

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

mod audit;
mod collections;
mod connection;
mod flood;
mod logs;
mod nodes;
mod traces;

use super::example;

/// Returns a port that was just free.
pub(crate) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    listener.local_addr().expect("a bound socket has an address").port()
}

/// Returns a command without the user's environment and without a model.
fn command(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weft"));
    command.args(args).env_clear().env("HOME", home).env("WEFT__EMBEDDING__MODEL", "none");
    command
}

fn run(home: &Path, args: &[&str]) -> Output {
    command(home, args).output().expect("the binary was built for this test")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn commands_on_one_store_wait_for_each_other() {
    let home = tempfile::tempdir().unwrap();
    let example = example();
    let vault = example.to_str().unwrap();
    let search = ["search", "leap second", "--vault", vault, "--set", "embedding.model=none"];
    let answers: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..3).map(|_| scope.spawn(|| run(home.path(), &search))).collect();
        running.into_iter().map(|command| command.join().unwrap()).collect()
    });
    for answer in answers {
        assert_eq!(answer.status.code(), Some(0), "{}", text(&answer.stderr));
        assert!(text(&answer.stdout).contains("Leap second"), "{}", text(&answer.stdout));
    }
}

#[test]
fn next_command_has_the_name_that_a_shell_finds() {
    let home = tempfile::tempdir().unwrap();
    let (bin, vault) = (home.path().join("bin"), example());
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_weft"), bin.join("weft")).unwrap();
    for (path, program) in [(&*bin, "weft"), (home.path(), env!("CARGO_BIN_EXE_weft"))] {
        let output = Command::new(env!("CARGO_BIN_EXE_weft"))
            .args(["search", "longitude", "--set", "embedding.model=none", "--vault"])
            .arg(&vault)
            .env_clear()
            .env("HOME", home.path())
            .env("PATH", path)
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains(&format!("next: {program} ")), "{said}");
    }
}

#[test]
fn search_without_notes_names_the_cause() {
    let (home, vault) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let vault = vault.path().to_str().unwrap();
    for (file, expected) in [("moss.doc", true), ("moss.md", false)] {
        std::fs::write(Path::new(vault).join(file), "fern").unwrap();
        let answer = run(home.path(), &["search", "lichen", "--vault", vault]);
        let said = text(&answer.stderr);
        assert!(answer.status.success(), "{said}");
        assert!(text(&answer.stdout).contains("No hits for lichen"), "{said}");
        assert_eq!(said.contains("there are no .md or .markdown files"), expected, "{said}");
    }
}

#[test]
fn detached_daemon_answers_and_stops() {
    let home = tempfile::tempdir().unwrap();
    let (example, address) = (example(), format!("127.0.0.1:{}", free_port()));
    let vault = example.to_str().unwrap();
    let started = run(home.path(), &["serve", vault, "--addr", &address, "--detach"]);
    assert!(started.status.success(), "{}", text(&started.stderr));
    let said = text(&started.stderr);
    for part in ["serves", &format!("page: http://{address}\n"), "search 'a question", "stop"] {
        assert!(said.contains(part), "{part}: {said}");
    }

    let answer = run(home.path(), &["search", "leap second", "--addr", &address]);
    assert!(text(&answer.stdout).contains("Leap second"), "{}", text(&answer.stderr));

    // The daemon also answers for its vault, unless other settings are requested.
    let on_vault = ["search", "leap second", "--vault", vault];
    let answer = run(home.path(), &on_vault);
    assert!(text(&answer.stdout).contains("Leap second"), "{}", text(&answer.stderr));
    let on_daemon = ["search", "leap second", "--addr", &address];
    let (set, address_setting) = ("search.snippets=0", format!("server.address='{address}'"));
    for request in [&on_vault[..], &on_daemon] {
        let refused = run(home.path(), &[request, &["--set", set]].concat());
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(4), "{said}");
        assert!(said.contains("would ignore search.snippets") && said.contains(&address), "{said}");
        let answer = run(home.path(), &[request, &["--set", &address_setting]].concat());
        assert!(text(&answer.stdout).contains("Leap second"), "{}", text(&answer.stderr));
    }
    let answer = run(home.path(), &["search", "leap second", "--set", &address_setting]);
    assert!(text(&answer.stdout).contains("Leap second"), "{}", text(&answer.stderr));

    // A second daemon reports why it does not start, with its own exit code.
    let other = tempfile::tempdir().unwrap();
    let other = other.path().to_str().unwrap();
    let mut words = said.split_whitespace().map(|word| word.trim_matches(|c| "(),".contains(c)));
    let log = words.rfind(|word| word.ends_with(".log")).unwrap();
    let logged = std::fs::read_to_string(log).unwrap();
    let second = run(home.path(), &["serve", other, "--addr", &address, "--detach"]);
    assert_eq!(second.status.code(), Some(1), "{}", text(&second.stderr));
    let said = text(&second.stderr);
    assert!(
        said.contains("in use")
            && said.contains(&format!("`weft stop --addr {address}`"))
            && said.contains(&format!("that daemon serves {vault}"))
            && !said.contains(other),
        "{said}"
    );
    assert_eq!(std::fs::read_to_string(log).unwrap(), logged, "the log of the first daemon");

    let stopped = run(home.path(), &["stop", "--addr", &address, "--format", "json"]);
    assert!(stopped.status.success(), "{}", text(&stopped.stderr));
    let report: Value = serde_json::from_slice(&stopped.stdout).unwrap();
    assert!(report["process"].is_number() && report["socket"].is_string(), "{report}");
    let again = run(home.path(), &["stop", "--addr", &address]);
    assert_eq!(again.status.code(), Some(5), "nothing is left to stop: {}", text(&again.stderr));
    // The index is persisted: the store can be opened again at once.
    let after = run(home.path(), &["search", "leap second", "--vault", vault, "--no-wait"]);
    assert!(after.status.success(), "{}", text(&after.stderr));
}

/// As in the container file: clients use the socket, and the port stays that of the settings.
#[test]
fn address_variable_applies_to_clients_only() {
    let home = tempfile::tempdir().unwrap();
    let (example, socket) = (example(), home.path().join("weft.sock"));
    let asked = format!("unix:{}", socket.display());
    let in_container = |args: &[&str]| {
        let mut command = command(home.path(), args);
        command.env("WEFT_ADDR", &asked).env("WEFT__SERVER__SOCKET", &socket);
        command.env("WEFT__SERVER__ADDRESS", "127.0.0.1:0").output().unwrap()
    };
    let started = in_container(&["serve", example.to_str().unwrap(), "--detach"]);
    assert!(started.status.success(), "{}", text(&started.stderr));
    let status = in_container(&["status"]);
    assert!(text(&status.stdout).contains("notes"), "{}", text(&status.stderr));
    let shown = in_container(&["config", "show", "--origin"]);
    let shown = text(&shown.stdout);
    let line = shown.lines().find(|line| line.starts_with("server.address")).unwrap();
    assert!(line.contains("\"127.0.0.1:0\"  (environment WEFT__SERVER__ADDRESS)"), "{line}");
    assert!(in_container(&["stop"]).status.success());
}

/// A daemon of this test, killed if the test fails.
struct Running(Child);

impl Running {
    fn signal(&self, name: &str) {
        let pid = self.0.id().to_string();
        let sent = Command::new("kill").args([name, &pid]).status().expect("a Unix has `kill`");
        assert!(sent.success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has already exited if the test passed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn service_manager_is_notified_and_settings_are_reloaded() {
    let home = tempfile::tempdir().unwrap();
    let settings = home.path().join("weft.toml");
    let first = "[log]\nfilter = 'warn'\nformat = 'json'\naudit = 'audit'\n";
    std::fs::write(&settings, first).unwrap();
    let audit = home.path().join("audit");
    let manager = home.path().join("manager");
    let notifications = UnixDatagram::bind(&manager).unwrap();
    notifications.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // Returns the next notification that contains `wanted`.
    let until = |wanted: &str| loop {
        let mut buffer = [0; 4096];
        let n =
            notifications.recv(&mut buffer).unwrap_or_else(|error| panic!("no {wanted}: {error}"));
        let notice = text(&buffer[..n]);
        if notice.contains(wanted) {
            return notice;
        }
    };

    let log = home.path().join("log");
    let (example, settings_path) = (example(), settings.to_str().unwrap());
    let arguments =
        ["serve", example.to_str().unwrap(), "--addr", "127.0.0.1:0", "--config", settings_path];
    let mut command = command(home.path(), &arguments);
    command.env("NOTIFY_SOCKET", &manager).env("WATCHDOG_USEC", "200000");
    command.stdout(Stdio::null()).stderr(std::fs::File::create(&log).unwrap());
    let mut daemon = Running(command.spawn().unwrap());
    let ready = until("READY=1");
    let address = ready.lines().find_map(|line| line.strip_prefix("STATUS=weft ")).unwrap();
    let address = address.rsplit(' ').next().unwrap();
    assert!(run(home.path(), &["flush", "--addr", address]).status.success());
    until("WATCHDOG=1");

    std::fs::write(&settings, "[log]\nfilter = 'info'\nformat = 'text'\naudit = 'audit'\n")
        .unwrap();
    daemon.signal("-HUP");
    until("RELOADING=1");
    until("READY=1");
    std::fs::write(&settings, "[log]\nfilter = 7\n").unwrap();
    daemon.signal("-HUP");
    until("RELOADING=1");
    until("READY=1");

    daemon.signal("-TERM");
    until("STOPPING=1");
    assert!(daemon.0.wait().unwrap().success());
    let audit = std::fs::read_to_string(&audit).unwrap();
    let flush = audit.lines().find(|line| line.contains("AdminService/Flush")).unwrap();
    let flush: Value = serde_json::from_str(flush).unwrap();
    assert_eq!((&flush["who"], &flush["code"]), (&"loopback".into(), &"OK".into()));
    assert!(flush["timestamp"].is_string() && flush["id"].is_string(), "{flush}");
    let log = std::fs::read_to_string(&log).unwrap();
    let line = |wanted: &str| -> Value {
        let line =
            log.lines().find(|line| line.contains(wanted)).unwrap_or_else(|| panic!("{log}"));
        serde_json::from_str(line).unwrap()
    };
    let reread = line("reloaded the settings");
    assert_eq!(
        (&reread["applied"], &reread["needs_restart"]),
        (&"log.filter".into(), &"log.format".into())
    );
    assert!(line("stay in force")["error"].as_str().unwrap().contains("log.filter"));
}

#[test]
fn emptied_token_file_is_revoked_although_the_settings_are_invalid() {
    const SECRET: &str = "a-token-that-may-write-0123456789";
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let address = format!("127.0.0.1:{}", free_port());
    let settings = format!(
        "[server]\naddress = '{address}'\nsocket = '{}'\n[log]\naudit = 'audit'\n[[access.tokens]]\nname = 'owner'\npermission = 'write'\nfile = 'token'\n",
        at("weft.sock").display()
    );
    let config = at("weft.toml");
    std::fs::write(at("token"), SECRET).unwrap();
    std::fs::write(at("client-token"), SECRET).unwrap();
    std::fs::write(&config, &settings).unwrap();
    let example = example();
    let arguments = ["serve", example.to_str().unwrap(), "--config", config.to_str().unwrap()];
    let mut serve = command(home.path(), &arguments);
    serve.stdout(Stdio::null()).stderr(Stdio::null());
    let daemon = Running(serve.spawn().unwrap());
    let token = at("client-token");
    let ask = || {
        let status = ["status", "--addr", &address, "--token-file", token.to_str().unwrap()];
        run(home.path(), &status).status.code()
    };
    // Waits until requests with the token end with `code`.
    let until = |code: i32| {
        let started = std::time::Instant::now();
        while ask() != Some(code) {
            assert!(started.elapsed() < Duration::from_secs(60), "{:?}", ask());
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    let valid = 0;
    until(valid);
    let refused = {
        std::fs::write(at("client-token"), "another-token-0123456789").unwrap();
        let refused = ask().unwrap();
        std::fs::write(at("client-token"), SECRET).unwrap();
        refused
    };
    assert_ne!(refused, valid);
    for invalid in ["no TOML at all", &format!("{settings}[search]\nsnippets = 'many'\n")] {
        std::fs::write(&config, invalid).unwrap();
        std::fs::write(at("token"), "").unwrap();
        daemon.signal("-HUP");
        until(refused);
        std::fs::write(at("token"), SECRET).unwrap();
        daemon.signal("-HUP");
        until(valid);
    }
    let audit = std::fs::read_to_string(at("audit")).unwrap();
    assert!(audit.contains("credential not loaded") && audit.contains("`owner`"), "{audit}");
    assert!(!audit.contains(SECRET), "{audit}");
}

/// Needs permission to mount a file system; passes without it.
#[cfg(target_os = "linux")]
#[test]
fn first_index_waits_for_disk_space() {
    if !Command::new("unshare").args(["-rm", "true"]).status().is_ok_and(|end| end.success()) {
        eprintln!("not tested: no mount namespaces here");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    for folder in ["vault", "disk"] {
        std::fs::create_dir(at(folder)).unwrap();
    }
    for n in 0..20 {
        std::fs::write(at(&format!("vault/moss{n}.md")), "# Moss\n").unwrap();
    }
    // The disk is full until the file `go` exists.
    let script = "mount -t tmpfs -o size=8m weft disk && head -c 8m /dev/zero >disk/filler; \
        (until [ -e go ]; do sleep 0.1; done; rm disk/filler) & exec \"$0\" \"$@\"";
    let socket = at("weft.sock");
    let place = format!("unix:{socket}");
    let serve =
        ["serve", "vault", "--addr", "127.0.0.1:0", "--socket", &socket, "--store", "disk/store"];
    let mut daemon = Command::new("unshare");
    daemon.args(["-rm", "sh", "-c", script, env!("CARGO_BIN_EXE_weft")]).args(serve);
    daemon.env("HOME", home.path()).env("WEFT__EMBEDDING__MODEL", "none");
    daemon.current_dir(home.path()).stdout(Stdio::null());
    daemon.stderr(std::fs::File::create(at("log")).unwrap());
    let mut daemon = Running(daemon.spawn().unwrap());
    let log = || std::fs::read_to_string(at("log")).unwrap();
    let started = std::time::Instant::now();
    while !log().contains("waiting for it") {
        assert!(daemon.0.try_wait().unwrap().is_none(), "it ended: {}", log());
        assert!(started.elapsed() < Duration::from_secs(60), "{}", log());
        std::thread::sleep(Duration::from_millis(50));
    }
    std::fs::write(at("go"), "").unwrap();
    let is_complete = || {
        let status = run(home.path(), &["status", "--addr", &place, "--format", "json"]);
        let status = serde_json::from_slice::<Value>(&status.stdout).unwrap_or_default();
        status["note_count"] == 20 && status["last_error"].is_null()
    };
    while !is_complete() {
        assert!(daemon.0.try_wait().unwrap().is_none(), "it ended: {}", log());
        assert!(started.elapsed() < Duration::from_secs(90), "{}", log());
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// True if `program` can be started here.
fn is_there(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok()
}

#[test]
fn systemd_accepts_the_units() {
    if !is_there("systemd-analyze") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let units = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/systemd");
    for unit in ["weft.service", "weft-user.service"] {
        // The program and its manual page are not installed on test machines.
        let text = std::fs::read_to_string(units.join(unit)).unwrap();
        let text = text
            .replace("/usr/bin/weft", env!("CARGO_BIN_EXE_weft"))
            .replace("ExecStart=weft", concat!("ExecStart=", env!("CARGO_BIN_EXE_weft")))
            .replace("Documentation=man:weft(1)\n", "");
        let path = folder.path().join(unit);
        std::fs::write(&path, text).unwrap();
        let output = Command::new("systemd-analyze").arg("verify").arg(&path).output().unwrap();
        let said = self::text(&output.stderr);
        assert!(output.status.success() && !said.contains(unit), "{unit}: {said}");
    }
}
