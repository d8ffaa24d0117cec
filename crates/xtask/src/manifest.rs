//! Manifests of the workspace, as far as the checks need them.

use std::path::Path;

use anyhow::Context as _;
use toml::{Table, Value};

/// A package of the workspace and its dependencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// Name of the package.
    pub(crate) name: String,
    /// Dependencies and build dependencies, without those of tests.
    pub(crate) uses: Vec<String>,
}

/// Returns the members of the workspace at `root`, by name.
pub(crate) fn members(root: &Path) -> anyhow::Result<Vec<Member>> {
    let workspace = read(&root.join("Cargo.toml"))?;
    let patterns = at(&workspace, &["workspace", "members"]).and_then(Value::as_array);
    let patterns = patterns.context("the root manifest lists no members")?;
    let mut members = Vec::new();
    for pattern in patterns.iter().filter_map(Value::as_str) {
        let folders = match pattern.strip_suffix("/*") {
            Some(folder) => std::fs::read_dir(root.join(folder))?
                .map(|entry| entry.map(|entry| entry.path()))
                .collect::<Result<Vec<_>, _>>()?,
            None => vec![root.join(pattern)],
        };
        for manifest in folders.iter().map(|folder| folder.join("Cargo.toml")) {
            if manifest.is_file() {
                members.push(member(&read(&manifest)?).context(manifest.display().to_string())?);
            }
        }
    }
    members.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(members)
}

fn read(path: &Path) -> anyhow::Result<Table> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    text.parse().with_context(|| path.display().to_string())
}

/// Reads the package of `manifest`.
fn member(manifest: &Table) -> anyhow::Result<Member> {
    let name = at(manifest, &["package", "name"]).and_then(Value::as_str);
    let name = name.context("the package has no name")?.to_owned();
    let for_platforms = manifest.get("target").and_then(Value::as_table).into_iter().flatten();
    let tables = for_platforms.filter_map(|(_, table)| table.as_table()).chain([manifest]);
    let mut uses: Vec<String> = tables.flat_map(dependencies).collect();
    uses.sort();
    uses.dedup();
    Ok(Member { name, uses })
}

fn dependencies(table: &Table) -> impl Iterator<Item = String> {
    ["dependencies", "build-dependencies"]
        .into_iter()
        .filter_map(|kind| table.get(kind)?.as_table())
        .flatten()
        .map(|(key, value)| value.get("package").and_then(Value::as_str).unwrap_or(key).to_owned())
}

fn at<'t>(table: &'t Table, path: &[&str]) -> Option<&'t Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(table.get(*first)?, |value, key| value.get(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_read_from_every_table() {
        let manifest = r#"
            package.name = "weft-moss"
            dependencies.weft-fern.workspace = true
            dependencies.bark = { package = "weft-bark", version = "1" }
            build-dependencies.protox.workspace = true
            dev-dependencies.proptest.workspace = true
            target.'cfg(unix)'.dependencies.rustix.workspace = true
        "#;
        let Member { name, uses } = member(&manifest.parse().unwrap()).unwrap();
        assert_eq!(name, "weft-moss");
        assert_eq!(uses, ["protox", "rustix", "weft-bark", "weft-fern"]);
    }
}
