//! A daemon reachable from other machines, and how clients connect to it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::Value;

use super::{Running, command, example, free_port, run, text};

/// Name in the daemon's certificate.
const NAME: &str = "notes.example";

const READ: &str = "a-token-that-may-read-0123456789";
const WRITE: &str = "a-token-that-may-write-0123456789";

/// Writes settings for a public address with TLS and tokens into `folder`, with all files they name.
fn settings(folder: &Path, address: &str) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let authority = KeyPair::generate()?;
    let mut parameters = CertificateParams::new(Vec::new())?;
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    std::fs::write(folder.join("ca.pem"), parameters.self_signed(&authority)?.pem())?;
    let issuer = Issuer::new(parameters, authority);
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new(vec![NAME.to_owned()])?.signed_by(&key, &issuer)?;
    std::fs::write(folder.join("cert.pem"), certificate.pem())?;
    std::fs::write(folder.join("key.pem"), key.serialize_pem())?;
    std::fs::write(folder.join("read"), READ)?;
    std::fs::write(folder.join("write"), WRITE)?;
    let key = KeyPair::generate()?;
    let client = CertificateParams::new(Vec::new())?.signed_by(&key, &issuer)?;
    std::fs::write(folder.join("client.pem"), client.pem())?;
    std::fs::write(folder.join("client-key.pem"), key.serialize_pem())?;
    let text = format!(
        "[server]\naddress = '{address}'\n[tls]\ncertificate = 'cert.pem'\nkey = 'key.pem'\n\
        [[access.tokens]]\nname = 'rag'\npermission = 'read'\nfile = 'read'\n\
        [[access.tokens]]\nname = 'owner'\npermission = 'write'\nfile = 'write'\n"
    );
    let path = folder.join("weft.toml");
    std::fs::write(&path, text)?;
    Ok(path)
}

#[test]
fn daemon_on_all_addresses_is_found_and_mistakes_are_reported() {
    let home = tempfile::tempdir().unwrap();
    let port = free_port();
    let settings = settings(home.path(), &format!("0.0.0.0:{port}")).unwrap();
    let settings = settings.to_str().unwrap();
    let path = |name: &str| home.path().join(name).display().to_string();
    let (ca, read, write) = (path("ca.pem"), path("read"), path("write"));
    let example = example();
    let log = home.path().join("log");
    let mut serve =
        command(home.path(), &["serve", example.to_str().unwrap(), "--config", settings]);
    serve.stderr(std::fs::File::create(&log).unwrap());
    let _daemon = Running(serve.spawn().unwrap());

    // The suggested next command works as printed.
    let next = loop {
        let log = std::fs::read_to_string(&log).unwrap();
        if let Some((before, next)) = log.split_once("next: ") {
            assert!(before.contains(&format!("page: https://127.0.0.1:{port}\n")), "{before}");
            break next.lines().next().unwrap().to_owned();
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let (_, flags) = next.split_once("question in your own words' ").unwrap();
    let flags: Vec<&str> = flags.split(' ').collect();
    let answer = run(home.path(), &[&["search", "leap second"], &flags[..]].concat());
    assert!(answer.status.success(), "{next}: {}", text(&answer.stderr));

    let named = ["--tls-ca", ca.as_str(), "--tls-name", NAME];
    let request = |words: &[&str], flags: &[&[&str]]| {
        let output = run(home.path(), &[words, &flags.concat()].concat());
        let said = text(&output.stdout) + &text(&output.stderr);
        (output.status.code(), said)
    };
    let (own, elsewhere) = (["--config", settings], format!("https://127.0.0.1:{port}"));
    let elsewhere = ["--addr", elsewhere.as_str()];
    let owner = ["--token-file", write.as_str()];
    let (code, said) = request(&["status"], &[&own, &named, &owner]);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = request(&["status"], &[&own, &["--tls-ca", &ca], &owner]);
    assert!(code == Some(5) && said.contains("--tls-name NAME"), "{said}");
    let (code, said) = request(&["flush"], &[&own, &named, &["--token-file", &read]]);
    assert!(code == Some(4) && said.contains("permission \"write\""), "{said}");

    let doctor = |flags: &[&[&str]]| -> Vec<(String, String, String)> {
        let flags = flags.concat();
        let output = run(home.path(), &[&["doctor", "--format", "json"], &flags[..]].concat());
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let part = |check: &Value, key: &str| check[key].as_str().unwrap_or_default().to_owned();
        let checks = report["checks"].as_array().unwrap().iter();
        let all = |check| {
            let said = format!("{} -> {}", part(check, "message"), part(check, "advice"));
            (part(check, "name"), part(check, "outcome"), said)
        };
        checks.map(all).collect()
    };
    for (name, flags, outcome, parts) in [
        ("all credentials", &[&own[..], &named, &owner][..], "good", &["serves"][..]),
        (
            "an unknown authority",
            &[&own, &owner],
            "bad",
            &["something listens", "--tls-ca FILE", "--tls-name NAME"],
        ),
        ("another name", &[&own, &["--tls-ca", &ca], &owner], "bad", &["--tls-name NAME"]),
        ("no token", &[&own, &named], "bad", &["requires a token", "--token-file FILE"]),
        (
            "a token to read",
            &[&own, &named, &["--token-file", &read]],
            "notice",
            &["may only read", "permission \"write\""],
        ),
        ("from elsewhere", &[&elsewhere, &named, &owner], "good", &["serves"]),
        (
            "without TLS",
            &[&["--addr", &elsewhere[1][8..]], &owner],
            "bad",
            &["with TLS, use https"],
        ),
    ] {
        let checks = doctor(flags);
        let found: Vec<_> = checks.iter().filter(|(name, ..)| name == "daemon").collect();
        let [(_, found_outcome, said)] = &found[..] else { panic!("{name}: {checks:?}") };
        assert_eq!(found_outcome, outcome, "{name}: {said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{name}: {said}");
        assert!(!said.contains("start one"), "{name}: {said}");
        // Settings of this machine do not apply to a daemon at another address.
        let checks_access = checks.iter().any(|(name, ..)| name == "access");
        assert_eq!(checks_access, flags[0] == own, "{name}: {checks:?}");
    }
}

#[test]
fn misspelled_credentials_neither_open_nor_close_anything() {
    let (home, port) = (tempfile::tempdir().unwrap(), free_port());
    let config = settings(home.path(), &format!("127.0.0.1:{port}")).unwrap();
    let path = |name: &str| home.path().join(name).display().to_string();
    let socket = path("weft.sock");
    let written = std::fs::read_to_string(&config).unwrap().replace(
        "[tls]\n",
        &format!("socket = '{socket}'\n[log]\naudit = 'audit'\n[tls]\nclient_ca = 'ca.pem'\nclient_permission = 'none'\n"),
    );
    std::fs::write(&config, &written).unwrap();
    let example = example();
    let arguments = ["serve", example.to_str().unwrap(), "--config", config.to_str().unwrap()];
    let mut serve = command(home.path(), &arguments);
    let daemon = Running(serve.stderr(std::process::Stdio::null()).spawn().unwrap());
    let address = format!("https://127.0.0.1:{port}");
    let files = ["ca.pem", "client.pem", "client-key.pem", "read"].map(path);
    let [ca, certificate, key, token] = &files;
    let certified =
        ["--tls-ca", ca, "--tls-name", NAME, "--tls-cert", certificate, "--tls-key", key];
    let search = |flags: &[&str]| {
        let all = [&["search", "leap second", "--addr", &address], &certified[..], flags].concat();
        run(home.path(), &all).status.code()
    };
    let is_as_before = || {
        assert_ne!(search(&[]), Some(0), "a certificate requires a token as well");
        assert_eq!(search(&["--token-file", token]), Some(0));
    };
    let local = format!("unix:{socket}");
    let status = || text(&run(home.path(), &["status", "--addr", &local]).stdout);
    while search(&["--token-file", token]) != Some(0) {
        std::thread::sleep(Duration::from_millis(50));
    }
    is_as_before();
    for (key, from, to) in [
        ("tls.client_permission", "'none'", "'noone'"),
        ("access.tokens", "permission = 'read'", "permission = 'raed'"),
        ("access.tokens", "file = 'write'", "fil = 'write'"),
        ("access", "[[access.tokens]]\nname = 'rag'", "[access]\ntokens = 5\n[rag]\nname = 'rag'"),
        ("access", "[server]", "[server"),
    ] {
        let misspelled = written.replacen(from, to, 1);
        assert_ne!(misspelled, written, "{from}");
        let misspelled = if to.contains("[rag]") {
            misspelled.split("[[access.tokens]]").next().unwrap().to_owned()
        } else {
            misspelled
        };
        std::fs::write(&config, misspelled).unwrap();
        daemon.signal("-HUP");
        let started = std::time::Instant::now();
        while !status().contains(key) {
            assert!(started.elapsed() < Duration::from_secs(60), "{to}: {}", status());
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(status().contains("stays in force"), "{to}: {}", status());
        is_as_before();
        std::fs::write(&config, &written).unwrap();
        daemon.signal("-HUP");
        while status().contains("stays in force") {
            assert!(started.elapsed() < Duration::from_secs(60), "{to}: {}", status());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    let audit = std::fs::read_to_string(path("audit")).unwrap();
    assert!(audit.contains("credential not loaded") && audit.contains("noone"), "{audit}");
}

#[test]
fn daemon_without_socket_is_stopped_by_suggested_kill() {
    let home = tempfile::tempdir().unwrap();
    let (example, address) = (example(), format!("127.0.0.1:{}", free_port()));
    let vault = example.to_str().unwrap();
    let arguments = ["serve", vault, "--addr", &address, "--socket", "none", "--detach"];
    let started = run(home.path(), &arguments);
    let said = text(&started.stderr);
    assert!(started.status.success(), "{said}");
    let (_, process) = said.split_once("next: kill ").unwrap();
    let stop = run(home.path(), &["stop", "--addr", &address, "--set", "server.socket=none"]);
    assert_eq!(stop.status.code(), Some(2), "{}", text(&stop.stderr));
    assert!(text(&stop.stderr).contains("`kill`"), "{}", text(&stop.stderr));
    let killed = std::process::Command::new("kill").arg(process.trim()).status().unwrap();
    assert!(killed.success());
    while run(home.path(), &["status", "--addr", &address]).status.success() {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the remote addresses of the sockets of a process that do not belong to clients of `port`, in hexadecimal digits.
#[cfg(target_os = "linux")]
fn sockets_to_others(process: u32, port: u16) -> Vec<String> {
    let folder = PathBuf::from(format!("/proc/{process}"));
    let files = std::fs::read_dir(folder.join("fd")).into_iter().flatten();
    let links = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    let own: Vec<String> = links
        .filter_map(|link| {
            Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
        })
        .collect();
    let mut others = Vec::new();
    for protocol in ["tcp", "tcp6", "udp", "udp6"] {
        let table = std::fs::read_to_string(folder.join("net").join(protocol)).unwrap_or_default();
        for line in table.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (local, remote, inode) = (fields[1], fields[2], fields[9]);
            if own.iter().any(|own| own == inode) && !local.ends_with(&format!(":{port:04X}")) {
                others.push(format!("{protocol} {remote}"));
            }
        }
    }
    others
}

#[cfg(target_os = "linux")]
#[test]
fn daemon_opens_no_connection_by_default() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let (home, port) = (tempfile::tempdir().unwrap(), free_port());
    let (example, address) = (example(), format!("127.0.0.1:{port}"));
    let mut serve = command(home.path(), &["serve", example.to_str().unwrap(), "--addr", &address]);
    // The model is the default.
    serve.env_remove("WEFT__EMBEDDING__MODEL").stderr(std::process::Stdio::null());
    let daemon = Running(serve.spawn().unwrap());
    let process = daemon.0.id();
    let is_over = AtomicBool::new(false);
    let opened = std::thread::scope(|scope| {
        let seen = scope.spawn(|| {
            let mut seen = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                seen.extend(sockets_to_others(process, port));
                std::thread::sleep(Duration::from_millis(1));
            }
            seen
        });
        let ask = |args: &[&str]| run(home.path(), &[args, &["--addr", &address]].concat());
        while !ask(&["reindex"]).status.success() {
            std::thread::sleep(Duration::from_millis(50));
        }
        for args in [&["search", "leap second"][..], &["context", "leap second"], &["status"]] {
            let answer = ask(args);
            assert!(answer.status.success(), "{args:?}: {}", text(&answer.stderr));
        }
        is_over.store(true, Ordering::Relaxed);
        seen.join().unwrap()
    });
    assert_eq!(opened, [""; 0]);
    // The daemon's own clients are distinguished from other connections.
    let client = std::net::TcpStream::connect(&address).unwrap();
    let own = sockets_to_others(std::process::id(), 1);
    assert!(own.contains(&format!("tcp 0100007F:{port:04X}")), "{own:?}");
    drop((client, daemon));
}
