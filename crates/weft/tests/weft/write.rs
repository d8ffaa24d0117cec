//! Commands that write notes.

use std::process::Command;

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
    // A retry succeeds, and another content is refused.
    let again = run(&["put", "moss.md", source, "--new"], 0);
    assert_eq!((&again["created"], &again["hash"]), (&Value::from(false), &put["hash"]));
    let other = home.path().join("other.txt");
    std::fs::write(&other, "hard\n").unwrap();
    run(&["put", "moss.md", other.to_str().unwrap(), "--new"], 4);
    run(&["put", "moss.txt", source], 2);
    // Standard input is empty.
    run(&["put", "moss.md"], 2);
    assert_eq!(std::fs::read_to_string(vault.path().join("moss.md")).unwrap(), "soft\n");
    let hash = run(&["get", "moss"], 0)["hash"].as_str().unwrap().to_owned();
    run(&["put", "moss.md", source, "--expect", &hash], 0);
    let moved = run(&["move", "moss", "bog/peat.md", "--rewrite-links"], 0);
    assert_eq!(moved["links"][0]["links_rewritten"], 1);
    assert_eq!(std::fs::read_to_string(vault.path().join("fern.md")).unwrap(), "[[peat]]\n");
    run(&["delete", "peat"], 0);
    run(&["delete", "peat"], 3);
    assert!(!vault.path().join("bog/peat.md").exists());
}

#[test]
fn notes_are_named_by_file_paths_of_the_shell() {
    let home = tempfile::tempdir().unwrap();
    let notes = home.path().join("notes");
    std::fs::create_dir_all(notes.join("bog")).unwrap();
    std::fs::write(notes.join("fern.md"), "fern [[peat]]\n").unwrap();
    std::fs::write(notes.join("bog/peat.md"), "fern\n").unwrap();
    std::fs::write(notes.join("bog/fern.md"), "another fern\n").unwrap();
    std::fs::write(home.path().join("fern.md"), "no note, beside the vault\n").unwrap();
    let run = |here: &std::path::Path, args: &[&str], code: i32| -> Value {
        let output = Command::new(env!("CARGO_BIN_EXE_weft"))
            .args(args)
            .args(["--vault", notes.to_str().unwrap(), "--format", "json"])
            .current_dir(here)
            .env_clear()
            .env("HOME", home.path())
            .env("WEFT__EMBEDDING__MODEL", "none")
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
        serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
    };
    let (above, within) = (home.path(), notes.join("bog"));
    let whole = notes.join("bog/peat.md");
    for (here, name, expected) in [
        (above, "notes/bog/peat.md", "bog/peat"),
        (above, "./notes/bog/../fern.md", "fern"),
        (above, whole.to_str().unwrap(), "bog/peat"),
        (&within, "peat.md", "bog/peat"),
        (&within, "../fern.md", "fern"),
        // It is also a path in the vault.
        (&within, "fern.md", "fern"),
        (&within, "./fern.md", "bog/fern"),
    ] {
        assert_eq!(run(here, &["get", name], 0)["uri"], expected, "{name} in {}", here.display());
    }
    run(above, &["get", "notes/gone.md"], 3);
    let tree = run(above, &["tree", "notes/fern.md", "--path", "notes/bog/"], 0);
    assert_eq!((&tree["root"], tree["nodes"].as_array().unwrap().len()), (&"fern".into(), 2));
    let among = ["search", "fern", "--path", "notes/bog", "--exclude", "notes/bog/fern.md"];
    let hits = run(above, &among, 0);
    assert_eq!(hits["hits"].as_array().unwrap().len(), 1);
    let moved = run(above, &["move", "notes/bog/peat.md", "notes/moor.md"], 0);
    assert_eq!(moved["path"], "moor.md");
    let text = home.path().join("text");
    std::fs::write(&text, "soft\n").unwrap();
    let put = run(above, &["put", "notes/bog/moss.md", text.to_str().unwrap()], 0);
    assert_eq!(put["path"], "bog/moss.md");
    let put = run(&within, &["put", "../moss.md", text.to_str().unwrap()], 0);
    assert_eq!(put["path"], "moss.md");
    let moved = run(&within, &["move", "../moor.md", "./moor.md"], 0);
    assert_eq!(moved["path"], "bog/moor.md");
    let put = run(above, &["put", "new/moss.md", text.to_str().unwrap()], 0);
    assert_eq!(put["path"], "new/moss.md", "no such folder in the working directory");
    // With a second vault, the path selects that vault only.
    let other = home.path().join("other");
    std::fs::create_dir_all(other.join("bog")).unwrap();
    std::fs::write(other.join("bog/fern.md"), "fern\n").unwrap();
    let other = other.to_str().unwrap();
    let hits = run(above, &["search", "fern", "--path", "other/bog", "--vault", other], 0);
    let uris: Vec<&Value> =
        hits["hits"].as_array().unwrap().iter().map(|hit| &hit["uri"]).collect();
    assert_eq!(uris, ["other:bog/fern"]);
    let put = ["put", "other/bog/moss.md", text.to_str().unwrap(), "--vault", other];
    assert_eq!(run(above, &put, 0)["uri"], "other:bog/moss");
}
