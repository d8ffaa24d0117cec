//! The bill of materials: every crate in the program, and the bundled models, as CycloneDX 1.6.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context as _, ensure};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use toml::Table;

use super::{NAME, Release, SUMMARY, hex};

/// Package of the program.
const ROOT: &str = "weft";

/// A bundled model.
struct BundledWeights {
    name: &'static str,
    weights: &'static str,
    description: &'static str,
    license: &'static str,
}

/// The models that a build with the default features contains.
const MODELS: &[BundledWeights] = &[
    BundledWeights {
        name: "all-MiniLM-L6-v2",
        weights: "crates/indexer/models/minilm-q8row.onnx",
        description: "Bundled English embedding model with 7-bit weights",
        license: "Apache-2.0",
    },
    BundledWeights {
        name: "multilingual-e5-small",
        weights: "crates/indexer/models/multilingual/e5-small-180k.onnx",
        description: "Bundled multilingual embedding model with 4-bit weights and a reduced vocabulary",
        license: "MIT",
    },
];

/// Output of `cargo metadata`, as far as it is needed.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    description: Option<String>,
    repository: Option<String>,
    /// `None` for packages of the workspace.
    source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

/// A package and what it depends on.
#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    /// `None` for a normal dependency.
    kind: Option<String>,
}

/// Returns the document.
pub(super) fn document(release: &Release) -> anyhow::Result<(String, Vec<u8>)> {
    let metadata = metadata(release)?;
    let checksums = checksums(release)?;
    let packages: BTreeMap<&str, &Package> =
        metadata.packages.iter().map(|package| (package.id.as_str(), package)).collect();
    let dependencies = linked(&metadata)?;
    let mut components: Vec<Value> = Vec::new();
    let mut graph: Vec<(String, Vec<String>)> = Vec::new();
    for (id, uses) in &dependencies {
        let package = packages[id];
        let mut uses: Vec<String> = uses.iter().map(|id| purl(packages[id])).collect();
        if package.name == ROOT && package.source.is_none() {
            uses.extend(MODELS.iter().map(BundledWeights::reference));
        } else {
            components.push(component(package, &checksums));
        }
        uses.sort();
        graph.push((purl(package), uses));
    }
    for model in MODELS {
        components.push(model.component(release)?);
        graph.push((model.reference(), Vec::new()));
    }
    components.sort_by_key(|component| component["bom-ref"].to_string());
    graph.sort();
    let root = packages.values().find(|package| package.name == ROOT && package.source.is_none());
    let root = purl(root.context("the workspace has no package of the program")?);
    let graph = graph.into_iter().map(|(from, to)| json!({ "ref": from, "dependsOn": to }));
    let time = Timestamp::from_second(i64::try_from(release.time)?)?;
    let mut document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": time.to_string(),
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": NAME,
                "version": release.version,
                "description": SUMMARY,
                "licenses": [{ "license": { "id": "Apache-2.0" } }],
                "hashes": [{ "alg": "SHA-256", "content": hex(&Sha256::digest(&release.binary)) }],
            },
        },
        "components": components,
        "dependencies": graph.collect::<Vec<_>>(),
    });
    document["serialNumber"] = serial_number(&document).into();
    let text = serde_json::to_string_pretty(&document)? + "\n";
    Ok((format!("{NAME}-{}.cdx.json", release.version), text.into()))
}

/// Returns a number derived from the content, so that equal documents have equal numbers.
fn serial_number(document: &Value) -> String {
    let mut digest = Sha256::digest(document.to_string());
    // Version 8 and variant 2 of RFC 9562: an identifier in a form of our own.
    digest[6] = digest[6] & 0x0f | 0x80;
    digest[8] = digest[8] & 0x3f | 0x80;
    let text = hex(&digest[..16]);
    let parts = [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]];
    format!("urn:uuid:{}", parts.join("-"))
}

fn metadata(release: &Release) -> anyhow::Result<Metadata> {
    let target = match release.os {
        "macos" => format!("{}-apple-darwin", release.arch),
        "windows" => format!("{}-pc-windows-msvc", release.arch),
        os => format!("{}-unknown-{os}-gnu", release.arch),
    };
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", &target])
        .current_dir(&release.root)
        .output()
        .context("cannot start cargo")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).context("cargo metadata")
}

/// Returns the packages whose code is in the program, and the linked dependencies of each.
fn linked(metadata: &Metadata) -> anyhow::Result<BTreeMap<&str, BTreeSet<&str>>> {
    let nodes: BTreeMap<&str, &Node> =
        metadata.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    let is_root = |package: &&Package| package.name == ROOT && package.source.is_none();
    let root = metadata.packages.iter().find(is_root);
    let mut pending =
        vec![root.context("the workspace has no package of the program")?.id.as_str()];
    let mut linked = BTreeMap::new();
    while let Some(id) = pending.pop() {
        if linked.contains_key(id) {
            continue;
        }
        let is_normal =
            |dependency: &&Dependency| dependency.dep_kinds.iter().any(|kind| kind.kind.is_none());
        let uses: BTreeSet<&str> =
            nodes[id].deps.iter().filter(is_normal).map(|used| used.pkg.as_str()).collect();
        pending.extend(&uses);
        linked.insert(id, uses);
    }
    Ok(linked)
}

/// Returns the checksums of the lock file, by name and version.
fn checksums(release: &Release) -> anyhow::Result<BTreeMap<(String, String), String>> {
    let lock: Table = String::from_utf8(release.source("Cargo.lock")?)?.parse()?;
    let packages = lock.get("package").and_then(|packages| packages.as_array());
    let text = |package: &toml::Value, key| Some(package.get(key)?.as_str()?.to_owned());
    let entries = packages.into_iter().flatten().filter_map(|package| {
        let key = (text(package, "name")?, text(package, "version")?);
        Some((key, text(package, "checksum")?))
    });
    Ok(entries.collect())
}

/// Returns the package URL, which identifies a package across registries.
fn purl(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version.replace('+', "%2B"))
}

fn component(package: &Package, checksums: &BTreeMap<(String, String), String>) -> Value {
    let reference = purl(package);
    let mut component = json!({
        "type": "library",
        "bom-ref": reference,
        "name": package.name,
        "version": package.version,
        "scope": "required",
        "purl": reference,
    });
    if let Some(license) = &package.license {
        // The older notation of Cargo.
        let expression = license.replace('/', " OR ");
        component["licenses"] = json!([{ "expression": expression }]);
    }
    if let Some(description) = &package.description {
        let words: Vec<&str> = description.split_whitespace().collect();
        component["description"] = words.join(" ").into();
    }
    if let Some(repository) = &package.repository {
        component["externalReferences"] = json!([{ "type": "vcs", "url": repository.trim() }]);
    }
    if let Some(checksum) = checksums.get(&(package.name.clone(), package.version.clone())) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    component
}

impl BundledWeights {
    fn reference(&self) -> String {
        format!("model:{}", self.name)
    }

    fn component(&self, release: &Release) -> anyhow::Result<Value> {
        let Self { name, weights, description, license } = *self;
        let digest = Sha256::digest(release.source(weights)?);
        Ok(json!({
            "type": "machine-learning-model",
            "bom-ref": self.reference(),
            "name": name,
            "description": description,
            "licenses": [{ "license": { "id": license } }],
            "hashes": [{ "alg": "SHA-256", "content": hex(&digest) }],
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn document_lists_what_the_program_links() {
        let (_, bytes) = document(&sample()).unwrap();
        let document: Value = serde_json::from_slice(&bytes).unwrap();
        let components = document["components"].as_array().unwrap();
        let named = |name: &str| components.iter().find(|component| component["name"] == name);
        let tokio = named("tokio").unwrap();
        assert_eq!(tokio["licenses"][0]["expression"], "MIT");
        assert_eq!(tokio["hashes"][0]["content"].as_str().map(str::len), Some(64));
        for name in ["all-MiniLM-L6-v2", "multilingual-e5-small", "weft-engine"] {
            assert!(named(name).is_some(), "{name}");
        }
        for (name, why) in [
            ("criterion", "a bench's dependency"),
            ("proptest", "a test's dependency"),
            ("protox", "a build script's dependency"),
            ("weft-xtask", "a tool"),
            ("weft", "the program itself"),
        ] {
            assert!(named(name).is_none(), "{name} is {why}");
        }
        let references: BTreeSet<&str> =
            components.iter().map(|component| component["bom-ref"].as_str().unwrap()).collect();
        assert_eq!(references.len(), components.len(), "references are unique");
        for edge in document["dependencies"].as_array().unwrap() {
            for to in edge["dependsOn"].as_array().unwrap() {
                assert!(references.contains(to.as_str().unwrap()), "{to} is listed");
            }
        }
    }
}
