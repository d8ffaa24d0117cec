//! What `weft doctor` says of faults that were planted.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;

use serde_json::Value;

use crate::{example, weft};

/// The flags that go with a fault, and what must stay for it to last.
type Planted = (Vec<String>, Box<dyn Send>);

fn flags(flags: &[&str]) -> Planted {
    (flags.iter().map(|flag| (*flag).to_owned()).collect(), Box::new(()))
}

fn set(key: &str, value: &str) -> Planted {
    flags(&["--set", &format!("{key}={value}")])
}

fn at(home: &Path, name: &str) -> String {
    home.join(name).display().to_string()
}

/// An index of a small vault in `home`; gives the flags that name it, and the folder of its generation.
fn indexed(home: &Path) -> (Planted, std::path::PathBuf) {
    let vault = home.join("vault");
    std::fs::create_dir(&vault).expect("a folder");
    std::fs::write(vault.join("moss.md"), "# Moss\n").expect("a file");
    let (vault, store) = (at(home, "vault"), at(home, "index"));
    let names = ["--vault", &vault, "--store", &store];
    assert!(weft(home, &[&["index"], &names[..]].concat()).status.success());
    let mut entries =
        std::fs::read_dir(&store).expect("a store").flatten().map(|entry| entry.path());
    let is_generation = |path: &std::path::PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("gen-"))
    };
    (flags(&names), entries.find(is_generation).expect("a generation"))
}

/// A vault whose index says of itself that it has another format.
fn of_format(home: &Path, other: fn(u8) -> u8) -> Planted {
    let (planted, generation) = indexed(home);
    let path = generation.join("manifest.rmp");
    let mut bytes = std::fs::read(&path).expect("a generation");
    bytes[0] = other(bytes[0]);
    let end = bytes.len() - 4;
    let sum = crc32(&bytes[..end]).to_le_bytes();
    bytes[end..].copy_from_slice(&sum);
    std::fs::write(&path, bytes).expect("a generation");
    planted
}

/// CRC-32 as in IEEE 802.3, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |sum: u32| if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
    !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), |sum, _| step(sum)))
}

/// Somebody who listens and is no daemon: says `words` to whoever comes, or nothing.
fn stranger(words: &'static [u8]) -> Planted {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address").to_string();
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let _ = stream.read(&mut [0; 64]);
            let _ = stream.write_all(words);
            // One that says nothing goes on saying nothing.
            held.extend(words.is_empty().then_some(stream));
        }
    });
    flags(&["--addr", &address])
}

#[test]
fn faults_are_named_with_what_to_do() {
    type Plant = fn(&Path) -> Planted;
    let cases: &[(&str, Plant, &str, &str, &str, &str)] = &[
        ("nothing", |_| flags(&[]), "settings", "good", "can be used", ""),
        ("no vault", |_| flags(&[]), "vault", "notice", "none is named", "--vault DIR"),
        ("no daemon", |_| flags(&[]), "daemon", "notice", "no daemon answers", "weft serve DIR"),
        (
            "a key that is none",
            |_| set("serach.limit", "3"),
            "settings",
            "bad",
            "serach",
            "weft config default",
        ),
        (
            "two values that cannot be",
            |_| flags(&["--set", "search.snippets=-1", "--set", "server.address=nowhere"]),
            "settings",
            "bad",
            "server.address",
            "weft config default",
        ),
        (
            "a file of settings that is no TOML",
            |home| {
                std::fs::write(home.join("x.toml"), "[server\n").unwrap();
                flags(&["--config", &at(home, "x.toml")])
            },
            "settings",
            "bad",
            "is no TOML",
            "",
        ),
        (
            "a model that is not there",
            |home| set("embedding.model", &at(home, "nowhere")),
            "model",
            "bad",
            "nowhere",
            "\"bundled\" always runs",
        ),
        (
            "an endpoint that is not there",
            |_| {
                flags(&[
                    "--set",
                    "embedding.runner=ollama",
                    "--set",
                    "embedding.model=x",
                    "--set",
                    "embedding.remote.url=http://127.0.0.1:1",
                ])
            },
            "model",
            "bad",
            "http://127.0.0.1:1",
            "start the endpoint",
        ),
        (
            "a vault that is not there",
            |home| flags(&["--vault", &at(home, "nowhere")]),
            "vault",
            "bad",
            "nowhere",
            "real path",
        ),
        (
            "a store where none can be",
            |home| {
                std::fs::write(home.join("file"), "").unwrap();
                let vault = example().display().to_string();
                flags(&["--vault", &vault, "--store", &at(home, "file/store")])
            },
            "store",
            "bad",
            "file/store cannot be written",
            "--store DIR",
        ),
        (
            "a store in order",
            |home| indexed(home).0,
            "store",
            "good",
            "holds 1 note in generation",
            "",
        ),
        (
            "a store that was damaged",
            |home| {
                let (planted, generation) = indexed(home);
                std::fs::write(generation.join("notes.col"), "?").unwrap();
                planted
            },
            "store",
            "notice",
            "is damaged: its length differs",
            "builds the index anew",
        ),
        (
            "a store of an earlier release",
            |home| of_format(home, |format| format - 1),
            "store",
            "notice",
            "of an earlier release",
            "builds the index anew",
        ),
        (
            "a store of a later release",
            |home| of_format(home, |format| format + 1),
            "store",
            "bad",
            "this release reads up to",
            "",
        ),
        (
            "a certificate that is not there",
            |home| {
                let (certificate, key) = (at(home, "cert.pem"), at(home, "key.pem"));
                let (certificate, key) =
                    (format!("tls.certificate={certificate}"), format!("tls.key={key}"));
                flags(&["--set", &certificate, "--set", &key])
            },
            "access",
            "bad",
            "cert.pem cannot be used",
            "",
        ),
        (
            "a token that is too short",
            |home| {
                std::fs::write(home.join("token"), "short").unwrap();
                let token = at(home, "token");
                set("access.tokens", &format!("[{{name='x', right='read', file='{token}'}}]"))
            },
            "access",
            "bad",
            "less than 16 characters",
            "",
        ),
        (
            "an address open to all",
            |_| set("server.address", "0.0.0.0:1"),
            "settings",
            "bad",
            "without credentials",
            "",
        ),
        (
            "another program at the port",
            |_| stranger(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"),
            "daemon",
            "bad",
            "does not answer as a daemon",
            "server.address",
        ),
        (
            "somebody who says nothing",
            |_| stranger(b""),
            "daemon",
            "bad",
            "does not answer as a daemon",
            "server.address",
        ),
        (
            "a socket that was left behind",
            |home| {
                let socket = at(home, "weft.sock");
                drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
                flags(&["--addr", &format!("unix:{socket}")])
            },
            "daemon",
            "notice",
            "no daemon answers at unix:",
            "left its socket",
        ),
    ];
    for (name, plant, check, outcome, said, advice) in cases {
        let home = tempfile::tempdir().unwrap();
        let (flags, _held) = plant(home.path());
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let output = weft(home.path(), &[&["doctor", "--format", "json"], &flags[..]].concat());
        let told: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{name}: {}", String::from_utf8_lossy(&output.stderr)));
        let checks = told["checks"].as_array().unwrap();
        let holds = |found: &&Value| {
            let text = |key: &str| found[key].as_str().unwrap_or_default();
            text("name") == *check
                && text("outcome") == *outcome
                && text("message").contains(said)
                && text("advice").contains(advice)
        };
        assert!(checks.iter().any(|found| holds(&found)), "{name}: {told:#}");
        let fails = checks.iter().any(|found| found["outcome"] == "bad");
        assert_eq!(output.status.code(), Some(i32::from(fails)), "{name}");
        assert_eq!(fails, *outcome == "bad", "{name}: nothing else is wrong: {told:#}");
    }
}
