//! Backup and restore on the command line.

use std::path::Path;

use serde_json::Value;

use crate::{example, on_example, weft};

#[test]
fn restored_backup_answers_like_the_original() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name).to_string_lossy().into_owned();
    let (copy, store) = (at("copy"), at("store"));
    let json = |args: &[&str]| -> Value {
        let output = on_example(&home, args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let before = json(&["search", "leap second"]);
    let made = json(&["backup", &copy]);
    assert_eq!(made["generation"], before["generation"]);
    assert!(made["n_files"].as_u64().unwrap() > 5, "{made}");
    let back = json(&["restore", &copy, "--store", &store]);
    assert_eq!((&back["n_files"], &back["n_bytes"]), (&made["n_files"], &made["n_bytes"]));
    assert_eq!(back["folder"], store.as_str());
    let after = json(&["search", "leap second", "--store", &store]);
    assert_eq!(after["hits"], before["hits"]);
    assert_eq!(json(&["status", "--store", &store])["notices"], json(&["status"])["notices"]);

    // Existing files are never overwritten, and a store is not accepted as a backup.
    let vault = example();
    let refused = |args: &[&str], says: &str| {
        let output = weft(home.path(), &[args, &["--vault", vault.to_str().unwrap()]].concat());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(says), "{args:?}: {error}");
    };
    refused(&["backup", &copy], "is not empty");
    refused(&["restore", &copy, "--store", &store], "is not empty");
    refused(&["restore", &store, "--store", &at("third")], "is not a complete backup");
    assert!(!Path::new(&at("third")).exists());
}
