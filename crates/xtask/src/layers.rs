//! Layers: allowed dependencies between the crates of the workspace.

use crate::manifest::Member;

/// A crate and the workspace crates that it may depend on, except for tests.
struct Layer {
    krate: &'static str,
    may_use: &'static [&'static str],
}

/// Crates from the lowest layer up. A crate may depend only on crates above its row; tests may depend on any.
const LAYERS: &[Layer] = &[
    layer("weft-model", &[]),
    layer("weft-proto", &[]),
    layer("weft-xtask", &[]),
    layer("weft-graph", &["weft-model"]),
    layer("weft-gars", &["weft-model"]),
    layer("weft-accordion", &["weft-model"]),
    layer("weft-index", &["weft-model", "weft-graph"]),
    layer("weft-indexer", &["weft-model", "weft-index"]),
    layer("weft-cluster", &["weft-model", "weft-index", "weft-indexer"]),
    layer(
        "weft-engine",
        &["weft-model", "weft-graph", "weft-gars", "weft-accordion", "weft-index"],
    ),
    layer("weft-eval", &[]),
    layer("weft-mcp", &["weft-model", "weft-proto"]),
    layer(
        "weft-daemon",
        &[
            "weft-model",
            "weft-index",
            "weft-indexer",
            "weft-cluster",
            "weft-engine",
            "weft-proto",
            "weft-mcp",
        ],
    ),
    // `weft export` uses the formats of `weft-graph`.
    layer(
        "weft",
        &[
            "weft-model",
            "weft-graph",
            "weft-eval",
            "weft-proto",
            "weft-cluster",
            "weft-mcp",
            "weft-daemon",
        ],
    ),
];

/// Packages of tests and benches, which may depend on any crate.
const EXEMPT: &[&str] = &["weft-testkit", "weft-benches", "weft-tests"];

const fn layer(krate: &'static str, may_use: &'static [&'static str]) -> Layer {
    Layer { krate, may_use }
}

/// Returns true if a package belongs to the workspace.
fn is_ours(package: &str) -> bool {
    package == "weft" || package.starts_with("weft-")
}

/// Returns one line per forbidden dependency and per crate without a row.
pub(crate) fn breaches(members: &[Member]) -> Vec<String> {
    let mut breaches = Vec::new();
    for Member { name, uses } in members.iter().filter(|member| !EXEMPT.contains(&&*member.name)) {
        let Some(layer) = LAYERS.iter().find(|layer| layer.krate == name) else {
            breaches.push(format!("`{name}` has no row in `LAYERS`"));
            continue;
        };
        let wrong = uses.iter().filter(|used| is_ours(used) && !layer.may_use.contains(&&***used));
        breaches.extend(wrong.map(|used| format!("`{name}` must not depend on `{used}`")));
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
    fn rows_depend_on_rows_above() {
        for (at, layer) in LAYERS.iter().enumerate() {
            for used in layer.may_use {
                let above = LAYERS[..at].iter().any(|other| other.krate == *used);
                assert!(above, "`{}` may use `{used}`, which is not a row above it", layer.krate);
            }
        }
    }

    #[test]
    fn breaches_name_both_crates() {
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
        let expected =
            ["`weft-model` must not depend on `weft-graph`", "`weft-attic` has no row in `LAYERS`"];
        assert_eq!(breaches(&members), expected);
    }
}
