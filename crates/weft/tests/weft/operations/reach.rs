//! A daemon that others reach, and how the command line finds it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::Value;

use super::{Running, command, example, free_port, run, text};

/// The name that the daemon's certificate bears.
const NAME: &str = "notes.example";

const READ: &str = "a-token-that-may-read-0123456789";
const WRITE: &str = "a-token-that-may-write-0123456789";

/// Settings for an open address with TLS and tokens, as a file in `folder` with all that it names.
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
    let text = format!(
        "[server]\naddress = '{address}'\n[tls]\ncertificate = 'cert.pem'\nkey = 'key.pem'\n\
        [[access.tokens]]\nname = 'rag'\nright = 'read'\nfile = 'read'\n\
        [[access.tokens]]\nname = 'owner'\nright = 'write'\nfile = 'write'\n"
    );
    let path = folder.join("weft.toml");
    std::fs::write(&path, text)?;
    Ok(path)
}

#[test]
fn a_daemon_at_all_addresses_is_found_and_what_is_not_right_is_said() {
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

    // What it tells to try next works as it stands.
    let next = loop {
        let log = std::fs::read_to_string(&log).unwrap();
        if let Some((_, next)) = log.split_once("next: ") {
            break next.lines().next().unwrap().to_owned();
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let (_, flags) = next.split_once("question in your own words' ").unwrap();
    let flags: Vec<&str> = flags.split(' ').collect();
    let answer = run(home.path(), &[&["search", "leap second"], &flags[..]].concat());
    assert!(answer.status.success(), "{next}: {}", text(&answer.stderr));

    let named = ["--tls-ca", ca.as_str(), "--tls-name", NAME];
    let asked = |words: &[&str], flags: &[&[&str]]| {
        let output = run(home.path(), &[words, &flags.concat()].concat());
        let said = text(&output.stdout) + &text(&output.stderr);
        (output.status.code(), said)
    };
    let (own, elsewhere) = (["--config", settings], format!("https://127.0.0.1:{port}"));
    let elsewhere = ["--addr", elsewhere.as_str()];
    let owner = ["--token-file", write.as_str()];
    let (code, said) = asked(&["status"], &[&own, &named, &owner]);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = asked(&["status"], &[&own, &["--tls-ca", &ca], &owner]);
    assert!(code == Some(5) && said.contains("--tls-name NAME"), "{said}");
    let (code, said) = asked(&["flush"], &[&own, &named, &["--token-file", &read]]);
    assert!(code == Some(4) && said.contains("right \"write\""), "{said}");

    let doctor = |flags: &[&[&str]]| -> Vec<(String, String, String)> {
        let flags = flags.concat();
        let output = run(home.path(), &[&["doctor", "--format", "json"], &flags[..]].concat());
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        let part = |check: &Value, key: &str| check[key].as_str().unwrap_or_default().to_owned();
        let checks = told["checks"].as_array().unwrap().iter();
        let all = |check| {
            let said = format!("{} -> {}", part(check, "message"), part(check, "advice"));
            (part(check, "name"), part(check, "outcome"), said)
        };
        checks.map(all).collect()
    };
    for (name, flags, outcome, parts) in [
        ("as it should be", &[&own[..], &named, &owner][..], "good", &["serves"][..]),
        (
            "an unknown authority",
            &[&own, &owner],
            "bad",
            &["something listens", "--tls-ca FILE", "--tls-name NAME"],
        ),
        ("another name", &[&own, &["--tls-ca", &ca], &owner], "bad", &["--tls-name NAME"]),
        ("no token", &[&own, &named], "bad", &["asks for a token", "--token-file FILE"]),
        (
            "a token to read",
            &[&own, &named, &["--token-file", &read]],
            "notice",
            &["may only read", "right \"write\""],
        ),
        ("from elsewhere", &[&elsewhere, &named, &owner], "good", &["serves"]),
        (
            "without TLS",
            &[&["--addr", &elsewhere[1][8..]], &owner],
            "bad",
            &["with TLS, ask https"],
        ),
    ] {
        let checks = doctor(flags);
        let found: Vec<_> = checks.iter().filter(|(name, ..)| name == "daemon").collect();
        let [(_, told, said)] = &found[..] else { panic!("{name}: {checks:?}") };
        assert_eq!(told, outcome, "{name}: {said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{name}: {said}");
        assert!(!said.contains("start one"), "{name}: {said}");
        // Settings of this machine say nothing of a daemon that they do not name.
        let vouches = checks.iter().any(|(name, ..)| name == "access");
        assert_eq!(vouches, flags[0] == own, "{name}: {checks:?}");
    }
}

#[test]
fn a_daemon_without_a_socket_is_ended_as_it_says() {
    let home = tempfile::tempdir().unwrap();
    let (example, address) = (example(), format!("127.0.0.1:{}", free_port()));
    let vault = example.to_str().unwrap();
    let asked = ["serve", vault, "--addr", &address, "--socket", "none", "--detach"];
    let started = run(home.path(), &asked);
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
