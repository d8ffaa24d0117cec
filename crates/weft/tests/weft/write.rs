//! Notes written at the prompt.

use serde_json::Value;

use crate::weft;

#[test]
fn notes_are_written_moved_and_deleted() {
    let (home, vault) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let source = home.path().join("moss.txt");
    std::fs::write(&source, "soft\n").unwrap();
    std::fs::write(vault.path().join("fern.md"), "[[moss]]\n").unwrap();
    let (folder, source) = (vault.path().to_str().unwrap(), source.to_str().unwrap());
    let run = |args: &[&str], code: i32| -> Value {
        let output = weft(home.path(), &[args, &["--vault", folder, "--format", "json"]].concat());
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
        serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
    };
    let put = run(&["put", "moss.md", source, "--new"], 0);
    assert_eq!((&put["created"], &put["uri"]), (&Value::from(true), &Value::from("moss")));
    run(&["put", "moss.md", source, "--new"], 4);
    run(&["put", "moss.txt", source], 2);
    let hash = run(&["get", "moss"], 0)["hash"].as_str().unwrap().to_owned();
    run(&["put", "moss.md", source, "--expect", &hash], 0);
    let moved = run(&["move", "moss", "bog/peat.md", "--rewrite-links"], 0);
    assert_eq!(moved["links"][0]["n_links"], 1);
    assert_eq!(std::fs::read_to_string(vault.path().join("fern.md")).unwrap(), "[[peat]]\n");
    run(&["delete", "peat"], 0);
    run(&["delete", "peat"], 3);
    assert!(!vault.path().join("bog/peat.md").exists());
}
