//! The layers: which of our crates may use which.

use crate::manifest::Member;

/// A crate, and what of ours it may use when it runs.
struct Layer {
    krate: &'static str,
    may_use: &'static [&'static str],
}

/// The house from the ground up. A crate uses only crates above its row; tests may use anything.
const LAYERS: &[Layer] = &[
    layer("weft-model", &[]),
    layer("weft-proto", &[]),
    layer("weft-xtask", &[]),
    layer("weft-graph", &["weft-model"]),
    layer("weft-gars", &["weft-model"]),
    layer("weft-accordion", &["weft-model"]),
    layer("weft-index", &["weft-model", "weft-graph"]),
    layer("weft-indexer", &["weft-model", "weft-index"]),
    layer(
        "weft-engine",
        &["weft-model", "weft-graph", "weft-gars", "weft-accordion", "weft-index"],
    ),
    layer("weft-eval", &[]),
    layer("weft-mcp", &["weft-model", "weft-proto"]),
    layer(
        "weft-daemon",
        &["weft-model", "weft-index", "weft-indexer", "weft-engine", "weft-proto", "weft-mcp"],
    ),
    // The formats of an exported graph are the graph's own.
    layer(
        "weft",
        &["weft-model", "weft-graph", "weft-eval", "weft-proto", "weft-mcp", "weft-daemon"],
    ),
];

/// Packages that exist to exercise others.
const EXEMPT: &[&str] = &["weft-testkit", "weft-benches", "weft-tests"];

const fn layer(krate: &'static str, may_use: &'static [&'static str]) -> Layer {
    Layer { krate, may_use }
}

/// Whether a package is one of ours.
fn is_ours(package: &str) -> bool {
    package == "weft" || package.starts_with("weft-")
}

/// One line for each dependency that points up, and for each crate that has no row.
pub(crate) fn breaches(members: &[Member]) -> Vec<String> {
    let mut breaches = Vec::new();
    for Member { name, uses } in members.iter().filter(|member| !EXEMPT.contains(&&*member.name)) {
        let Some(layer) = LAYERS.iter().find(|layer| layer.krate == name) else {
            breaches.push(format!("`{name}` has no row in the table of layers"));
            continue;
        };
        let wrong = uses.iter().filter(|used| is_ours(used) && !layer.may_use.contains(&&***used));
        breaches.extend(wrong.map(|used| format!("`{name}` may not use `{used}`")));
    }
    breaches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_point_down() {
        let members = crate::manifest::members(crate::root()).unwrap();
        assert!(members.iter().any(|member| member.name == "weft-model"), "{members:?}");
        assert_eq!(breaches(&members), [""; 0]);
    }

    #[test]
    fn a_row_uses_rows_above_it() {
        for (at, layer) in LAYERS.iter().enumerate() {
            for used in layer.may_use {
                let above = LAYERS[..at].iter().any(|other| other.krate == *used);
                assert!(above, "`{}` may use `{used}`, which is no row above it", layer.krate);
            }
        }
    }

    #[test]
    fn breaches_name_both_ends() {
        let member = |name: &str, uses: &[&str]| Member {
            name: name.to_owned(),
            uses: uses.iter().map(|&used| used.to_owned()).collect(),
        };
        let members = [
            member("weft-graph", &["weft-model", "serde"]),
            member("weft-model", &["weft-graph"]),
            member("weft-attic", &[]),
            member("weft-tests", &["weft-attic"]),
        ];
        let expected = [
            "`weft-model` may not use `weft-graph`",
            "`weft-attic` has no row in the table of layers",
        ];
        assert_eq!(breaches(&members), expected);
    }
}
