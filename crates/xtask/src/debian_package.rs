//! Consistency of the metadata of the Debian package.

use std::path::Path;

use toml::{Table, Value};

/// Returns one line for each file that the package lists and the repository lacks, and for each other problem that dpkg would report.
///
/// Files below `target` are built before the package.
fn problems(root: &Path, manifest: &Table) -> Vec<String> {
    let folder = root.join("crates/weft");
    let deb = manifest.get("package").and_then(|package| package.get("metadata")?.get("deb"));
    let Some(deb) = deb else { return vec!["package.metadata.deb is missing".to_owned()] };
    let mut problems = Vec::new();
    let mut installed = Vec::new();
    for asset in deb.get("assets").and_then(Value::as_array).into_iter().flatten() {
        let parts: Vec<&str> =
            asset.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let [source, place, mode] = parts.as_slice() else {
            problems.push(format!("{asset} is not [source, place, mode]"));
            continue;
        };
        let name = source.rsplit('/').next().unwrap_or_default();
        installed.push(if place.ends_with('/') {
            format!("{place}{name}")
        } else {
            (*place).to_owned()
        });
        if place.starts_with('/') || !["644", "640", "755"].contains(mode) {
            problems.push(format!("{source}: to {place} with {mode}"));
        }
        let (parent, is_there) = match source.strip_suffix(name).filter(|_| name.starts_with('*')) {
            Some(parent) => (
                parent,
                std::fs::read_dir(folder.join(parent))
                    .is_ok_and(|mut entries| entries.next().is_some()),
            ),
            None => (*source, folder.join(source).is_file()),
        };
        if !is_there && !parent.trim_start_matches("../").starts_with("target/") {
            problems.push(format!("{source} does not exist"));
        }
    }
    let texts = |key: &str| {
        deb.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    };
    for file in texts("conf-files") {
        if !installed.iter().any(|place| format!("/{place}") == file) {
            problems.push(format!("{file} is a configuration file, but no asset installs it"));
        }
    }
    for key in ["maintainer", "copyright", "section", "priority", "depends", "extended-description"]
    {
        if deb.get(key).and_then(Value::as_str).is_none_or(str::is_empty) {
            problems.push(format!("{key} is missing"));
        }
    }
    let scripts = deb.get("maintainer-scripts").and_then(Value::as_str).unwrap_or_default();
    for script in ["postinst", "postrm"] {
        let text = std::fs::read_to_string(folder.join(scripts).join(script)).unwrap_or_default();
        if !text.starts_with("#!/bin/sh\nset -e\n") || !text.contains("#DEBHELPER#") {
            problems.push(format!("{script} must use `set -e` and contain #DEBHELPER#"));
        }
    }
    let units = deb.get("systemd-units").and_then(|units| {
        Some(
            folder
                .join(units.get("unit-scripts")?.as_str()?)
                .join(format!("{}.service", units.get("unit-name")?.as_str()?)),
        )
    });
    if !units.is_some_and(|unit| unit.is_file()) {
        problems.push("the systemd unit does not exist".to_owned());
    }
    problems
}

#[test]
fn debian_package_metadata_is_consistent() {
    let manifest = std::fs::read_to_string(crate::root().join("crates/weft/Cargo.toml")).unwrap();
    let mut manifest: Table = manifest.parse().unwrap();
    assert_eq!(problems(crate::root(), &manifest), [""; 0]);
    let deb = manifest["package"]["metadata"]["deb"].as_table_mut().unwrap();
    deb.remove("section");
    deb.insert("conf-files".into(), Value::Array(vec!["/etc/weft/none".into()]));
    deb["assets"]
        .as_array_mut()
        .unwrap()
        .push(Value::Array(["../../none/*.1", "/usr", "777"].map(Value::from).to_vec()));
    assert_eq!(problems(crate::root(), &manifest).len(), 4);
}
