//! Type names: each names one type in all libraries together.

use std::collections::{BTreeMap, BTreeSet};

use crate::rust_source::Source;

/// A name that two libraries share on purpose.
struct Twins {
    name: &'static str,
    /// The folders of the crates below `crates/`, sorted.
    crates: &'static [&'static str],
    /// The reason, for readers of this table.
    #[expect(dead_code, reason = "read by people")]
    reason: &'static str,
}

/// One row per shared name.
const TWINS: &[Twins] = &[];

/// Returns one line per type name that is defined in more than one crate, and per stale row of [`TWINS`].
pub(crate) fn breaches(sources: &[Source]) -> Vec<String> {
    breaches_except(sources, TWINS)
}

fn breaches_except(sources: &[Source], twins: &[Twins]) -> Vec<String> {
    let mut homes: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
    for source in sources {
        for name in types(&source.code) {
            homes.entry(name).or_default().entry(&source.krate).or_insert(&source.path);
        }
    }
    let allowed = |name: &str, crates: &BTreeSet<&str>| {
        twins.iter().any(|row| row.name == name && crates.iter().eq(row.crates))
    };
    let shared = homes.into_iter().filter(|(_, homes)| homes.len() > 1);
    let (mut breaches, mut known) = (Vec::new(), BTreeSet::new());
    for (name, homes) in shared {
        if allowed(name, &homes.keys().copied().collect()) {
            known.insert(name);
        } else {
            let paths: Vec<_> =
                homes.iter().map(|(krate, path)| format!("crates/{krate}/src/{path}")).collect();
            breaches.push(format!("the type name `{name}` is used in {}", paths.join(", ")));
        }
    }
    let stale = twins.iter().filter(|row| !known.contains(row.name));
    breaches.extend(stale.map(|row| format!("`{}` no longer needs its row of twins", row.name)));
    breaches
}

/// Returns the names of the types that `code` defines; associated types are left out.
fn types(code: &str) -> impl Iterator<Item = &str> {
    code.lines().filter_map(|line| {
        let text = line.trim_start();
        let is_indented = text.len() < line.len();
        let text = match text.strip_prefix("pub") {
            Some(rest) if rest.starts_with('(') => rest.split_once(')')?.1.trim_start(),
            Some(rest) if rest.starts_with(' ') => rest.trim_start(),
            _ => text,
        };
        let text = text.strip_prefix("unsafe ").unwrap_or(text);
        let (keyword, rest) = text.split_once(' ')?;
        let defines = ["struct", "enum", "trait", "union"].contains(&keyword)
            || keyword == "type" && !is_indented;
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        (defines && rest.starts_with(char::is_uppercase)).then(|| &rest[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(krate: &str, path: &str, code: &str) -> Source {
        Source { krate: krate.to_owned(), path: path.to_owned(), code: code.to_owned() }
    }

    #[test]
    fn type_names_of_the_workspace_are_unique() {
        let files = crate::tidy::tracked(crate::root()).unwrap();
        let sources = crate::rust_source::sources(&files);
        assert!(sources.iter().any(|source| types(&source.code).any(|name| name == "NoteGraph")));
        assert_eq!(breaches(&sources), [""; 0]);
    }

    #[test]
    fn names_in_two_crates_are_reported_unless_they_are_twins() {
        let sources = [
            source("fern", "a.rs", "pub struct Leaf;\nenum Root {}\npub(crate) trait Grow {}"),
            source("fern", "b.rs", "struct Root;"),
            source(
                "moss",
                "c.rs",
                "impl Grow for X {\n    type Leaf = u8;\n}\npub enum Root<T> {}",
            ),
            source("oak", "d.rs", "type Leaf = u8;\nunion Bark {}"),
        ];
        let twins = |crates| [Twins { name: "Root", crates, reason: "" }];
        let leaf = "the type name `Leaf` is used in crates/fern/src/a.rs, crates/oak/src/d.rs";
        let root = "the type name `Root` is used in crates/fern/src/a.rs, crates/moss/src/c.rs";
        assert_eq!(breaches_except(&sources, &[]), [leaf, root]);
        assert_eq!(breaches_except(&sources, &twins(&["fern", "moss"])), [leaf]);
        let stale = "`Root` no longer needs its row of twins";
        assert_eq!(breaches_except(&sources, &twins(&["fern", "oak"])), [leaf, root, stale]);
    }
}
