//! `weft doctor` on injected faults.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;

use serde_json::Value;

use crate::{example, weft};

/// Flags of an injected fault, and a value that keeps it in place.
type InjectedFault = (Vec<String>, Box<dyn Send>);

fn flags(flags: &[&str]) -> InjectedFault {
    (flags.iter().map(|flag| (*flag).to_owned()).collect(), Box::new(()))
}

fn set(key: &str, value: &str) -> InjectedFault {
    flags(&["--set", &format!("{key}={value}")])
}

/// Writes a cross-encoder that knows `words` and returns the flags that select it.
fn reranker(home: &Path, words: &[&str]) -> InjectedFault {
    weft_testkit::write_cross_encoder(home, words).expect("two files");
    let model = format!("rerank.model={}", home.display());
    flags(&["--set", &model, "--set", "rerank.runner=rten"])
}

fn at(home: &Path, name: &str) -> String {
    home.join(name).display().to_string()
}

/// Writes a vault of files with these names; returns the flags that name it.
fn vault_with(home: &Path, names: impl IntoIterator<Item = impl AsRef<Path>>) -> InjectedFault {
    let vault = home.join("vault");
    std::fs::create_dir(&vault).expect("a folder");
    for name in names {
        std::fs::write(vault.join(name), "# Moss\n").expect("a file");
    }
    flags(&["--vault", &at(home, "vault")])
}

/// Indexes a small vault in `home`; returns the flags that name it, and the folder of its generation.
fn indexed(home: &Path) -> (InjectedFault, std::path::PathBuf) {
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

/// Returns a vault whose index has another format version.
fn of_format(home: &Path, other: fn(u8) -> u8) -> InjectedFault {
    let (fault, generation) = indexed(home);
    let path = generation.join("manifest.rmp");
    let mut bytes = std::fs::read(&path).expect("a generation");
    bytes[0] = other(bytes[0]);
    let end = bytes.len() - 4;
    let sum = crc32(&bytes[..end]).to_le_bytes();
    bytes[end..].copy_from_slice(&sum);
    std::fs::write(&path, bytes).expect("a generation");
    fault
}

#[test]
fn index_of_an_earlier_release_is_rebuilt_and_reported_once() {
    let home = tempfile::tempdir().unwrap();
    let (flags, _held) = of_format(home.path(), |format| format - 1);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let search = || {
        let output =
            weft(home.path(), &[&["search", "moss", "--format", "json"], &flags[..]].concat());
        assert!(output.status.success(), "{output:?}");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["hits"][0]["uri"], "moss", "{answer:#}");
        String::from_utf8(output.stderr).unwrap()
    };
    let notice = search();
    assert!(notice.contains("of an earlier release"), "{notice}");
    assert!(
        notice.contains("the index was rebuilt from the files, and the vectors are kept"),
        "{notice}"
    );
    let later = search();
    assert!(!later.contains("rebuilt"), "{later}");
}

/// Computes CRC-32 as in IEEE 802.3, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |sum: u32| if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
    !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), |sum, _| step(sum)))
}

/// Starts a server that is not a daemon and sends `response` to each client, or never answers.
fn other_server(response: &'static [u8]) -> InjectedFault {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address").to_string();
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let _ = stream.read(&mut [0; 64]);
            let _ = stream.write_all(response);
            // Without a response, the connection stays open.
            held.extend(response.is_empty().then_some(stream));
        }
    });
    flags(&["--addr", &address])
}

#[test]
fn faults_are_reported_with_advice() {
    type Inject = fn(&Path) -> InjectedFault;
    let cases: &[(&str, Inject, &str, &str, &str, &str)] = &[
        ("nothing", |_| flags(&[]), "settings", "good", "settings are valid", ""),
        ("no vault", |_| flags(&[]), "vault", "notice", "no vault is configured", "--vault DIR"),
        (
            "a vault",
            |home| vault_with(home, ["moss.md", "fern.md"]),
            "vault",
            "good",
            ": 2 files to read",
            "",
        ),
        (
            "a vault without notes",
            |home| vault_with(home, ["moss.doc"]),
            "vault",
            "notice",
            "contains no notes",
            "scan.include",
        ),
        #[cfg(target_os = "linux")]
        (
            "a name that is not Unicode",
            |home| {
                use std::os::unix::ffi::OsStrExt as _;
                let name = std::ffi::OsStr::from_bytes(b"caf\xe9.md");
                vault_with(home, ["moss.md".as_ref(), name])
            },
            "vault",
            "notice",
            "1 file to read; errors: caf\u{fffd}.md (its name is not valid Unicode",
            "correct each file as its reason states",
        ),
        ("no daemon", |_| flags(&[]), "daemon", "notice", "no daemon answers", "weft serve DIR"),
        (
            "an unknown key",
            |_| set("serach.limit", "3"),
            "settings",
            "bad",
            "serach",
            "weft config default",
        ),
        (
            "two invalid values",
            |_| flags(&["--set", "search.snippets=-1", "--set", "server.address=nowhere"]),
            "settings",
            "bad",
            "server.address",
            "weft config default",
        ),
        (
            "a file of settings that is not valid TOML",
            |home| {
                std::fs::write(home.join("x.toml"), "[server\n").unwrap();
                flags(&["--config", &at(home, "x.toml")])
            },
            "settings",
            "bad",
            "is not valid TOML",
            "",
        ),
        (
            "a missing model",
            |home| set("embedding.model", &at(home, "nowhere")),
            "model",
            "bad",
            "nowhere",
            "\"bundled-english\" always works",
        ),
        (
            "an unreachable endpoint",
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
            "a missing vault",
            |home| flags(&["--vault", &at(home, "nowhere")]),
            "vault",
            "bad",
            "nowhere",
            "check the path",
        ),
        (
            "a store that cannot be created",
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
            "an intact store",
            |home| indexed(home).0,
            "store",
            "good",
            "contains 1 note in generation",
            "",
        ),
        (
            "a damaged store",
            |home| {
                let (fault, generation) = indexed(home);
                std::fs::write(generation.join("notes.col"), "?").unwrap();
                fault
            },
            "store",
            "notice",
            "is damaged: its length differs",
            "rebuilds the index",
        ),
        (
            "a store of an earlier release",
            |home| of_format(home, |format| format - 1),
            "store",
            "notice",
            "of an earlier release",
            "rebuilds the index",
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
            "a missing certificate",
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
                set("access.tokens", &format!("[{{name='x', permission='read', file='{token}'}}]"))
            },
            "access",
            "bad",
            "less than 16 characters",
            "",
        ),
        (
            "an address without access control",
            |_| set("server.address", "0.0.0.0:1"),
            "settings",
            "bad",
            "without credentials",
            "",
        ),
        (
            "a reranker that works",
            |home| reranker(home, &["ferns"]),
            "reranker",
            "good",
            "runs in rten",
            "",
        ),
        (
            "a model that cannot rerank",
            |home| reranker(home, &["granite"]),
            "reranker",
            "notice",
            "does not prefer the answer",
            "tokenizer.json",
        ),
        (
            "a reranker without a folder",
            |_| set("rerank.model", "/no/such/model"),
            "reranker",
            "bad",
            "/no/such/model is not a model folder",
            "rerank.model",
        ),
        (
            "a reranking endpoint without an address",
            |_| flags(&["--set", "rerank.model=judge", "--set", "rerank.runner=endpoint"]),
            "reranker",
            "bad",
            "rerank.endpoint.url",
            "rerank.endpoint",
        ),
        (
            "a reranking endpoint that does not respond",
            |_| {
                let endpoint = [
                    "rerank.model=judge",
                    "rerank.runner=endpoint",
                    "rerank.endpoint.url=http://127.0.0.1:9",
                ];
                flags(&endpoint.map(|value| ["--set", value]).concat())
            },
            "reranker",
            "bad",
            "cannot be reached",
            "keep their order",
        ),
        ("PDF files are off", |_| flags(&[]), "pdf", "good", "are not read", ""),
        (
            "PDF files are on",
            |_| flags(&["--set", "scan.other_files=[\"pdf\"]"]),
            "pdf",
            "good",
            "text is extracted",
            "",
        ),
        (
            "another program at the port",
            |_| other_server(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"),
            "daemon",
            "bad",
            "does not answer as a daemon",
            "server.address",
        ),
        (
            "a server that does not respond",
            |_| other_server(b""),
            "daemon",
            "bad",
            "does not answer as a daemon",
            "server.address",
        ),
        (
            "a stale socket",
            |home| {
                let socket = at(home, "weft.sock");
                drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
                flags(&["--addr", &format!("unix:{socket}")])
            },
            "daemon",
            "notice",
            "no daemon answers at unix:",
            "left over from a killed daemon",
        ),
    ];
    for (name, inject, check, outcome, message, advice) in cases {
        let home = tempfile::tempdir().unwrap();
        let (flags, _held) = inject(home.path());
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let output = weft(home.path(), &[&["doctor", "--format", "json"], &flags[..]].concat());
        let report: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{name}: {}", String::from_utf8_lossy(&output.stderr)));
        let checks = report["checks"].as_array().unwrap();
        let matches_case = |found: &&Value| {
            let text = |key: &str| found[key].as_str().unwrap_or_default();
            text("name") == *check
                && text("outcome") == *outcome
                && text("message").contains(message)
                && text("advice").contains(advice)
        };
        assert!(checks.iter().any(|found| matches_case(&found)), "{name}: {report:#}");
        let fails = checks.iter().any(|found| found["outcome"] == "bad");
        assert_eq!(output.status.code(), Some(i32::from(fails)), "{name}");
        assert_eq!(fails, *outcome == "bad", "{name}: nothing else is wrong: {report:#}");
    }
}
