//! Layers of settings: embedded defaults, file, environment, flags.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize as _;
use toml::{Table, Value};
use weft_indexer::embed::{
    EmbeddingSettings, RemoteSettings, RerankEndpoint, RerankerSettings, Secret,
};
use weft_model::redact_urls;

use super::problem::{ConfigError, Problem, SettingOrigin};
use super::settings::Settings;
use crate::paths::{Environment, Paths};

/// Prefix of variables that set a key; `__` separates the parts of the key.
const PREFIX: &str = "WEFT__";

/// Variable that names ONNX Runtime's library by convention; used if the configuration names none.
const ORT_LIBRARY: &str = "ORT_DYLIB_PATH";

/// Settings that a running daemon reloads; a change of any other needs a restart.
pub const RELOADABLE: &[&str] = &[
    "access.unauthenticated_health",
    "access.tokens",
    "log.filter",
    "tls.certificate",
    "tls.client_ca",
    "tls.client_permission",
    "tls.key",
    "vaults",
];

/// Sources of settings on the command line.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Configuration file; without it the user's own is read, if it exists.
    pub file: Option<PathBuf>,
    /// Settings as key, value and flag; a value is TOML, or plain text if that fits.
    pub flags: Vec<(String, String, String)>,
    /// Folders to serve instead of the configured ones.
    pub vaults: Vec<PathBuf>,
}

/// The settings and the origin of each value.
#[derive(Clone, Debug)]
pub struct Config {
    /// The settings in force.
    pub settings: Settings,
    origins: BTreeMap<String, SettingOrigin>,
    environment: Environment,
}

impl Config {
    /// Reads all layers and validates the result.
    ///
    /// Fails with every problem.
    pub fn load(sources: &Sources, environment: &Environment) -> Result<Self, ConfigError> {
        match Self::read(sources, environment)? {
            (config, problems) if problems.is_empty() => Ok(config),
            (_, problems) => Err(ConfigError::Invalid { problems }),
        }
    }

    /// Reads all layers; returns the settings and their problems.
    pub(crate) fn read(
        sources: &Sources,
        environment: &Environment,
    ) -> Result<(Self, Vec<(Problem, SettingOrigin)>), ConfigError> {
        let paths = Paths::new(environment);
        let home = paths.home().map(PathBuf::from);
        let mut layers = Layers { home: home.clone(), ..Layers::default() };
        let found = || paths.config_file().filter(|path| path.exists());
        if let Some(path) = sources.file.clone().or_else(found) {
            let text = std::fs::read_to_string(&path)
                .map_err(|source| ConfigError::Read { path: path.clone(), source })?;
            let table: Table = text.parse().map_err(|source| ConfigError::Parse {
                path: path.clone(),
                source: Box::new(source),
            })?;
            let base = path.parent().map(PathBuf::from).unwrap_or_default();
            let origin = SettingOrigin::File(path);
            for (key, value) in flatten_table(table) {
                let beside = |path: &str| base.join(expand_home(path, home.as_deref()));
                layers.add(&key, vec![resolve_paths(&key, value, &beside)], origin.clone());
            }
        }
        for (name, value) in environment.with_prefix(PREFIX) {
            let key = name[PREFIX.len()..].to_ascii_lowercase().replace("__", ".");
            layers.add(&key, candidate_values(value), SettingOrigin::Environment(name.to_owned()));
        }
        for (key, value, flag) in &sources.flags {
            layers.add(key, candidate_values(value), SettingOrigin::Flag(flag.clone()));
        }
        if !sources.vaults.is_empty() {
            let vault = |root: &PathBuf| {
                Value::Table(
                    [("root".to_owned(), root.to_string_lossy().into_owned().into())]
                        .into_iter()
                        .collect(),
                )
            };
            let vaults = Value::Array(sources.vaults.iter().map(vault).collect());
            layers.add("vaults", vec![vaults], SettingOrigin::Flag("the command line".to_owned()));
        }
        if let Some(library) = environment.get(ORT_LIBRARY)
            && !layers.origins.contains_key("embedding.library")
        {
            let origin = SettingOrigin::Environment(ORT_LIBRARY.to_owned());
            layers.add("embedding.library", vec![Value::String(library.to_owned())], origin);
        }
        layers.finish(environment)
    }

    /// Returns the embedding settings with the model folder and the endpoint's key filled in.
    #[must_use]
    pub fn embedding(&self, paths: &Paths) -> EmbeddingSettings {
        self.with_endpoint_secrets(paths, self.settings.embedding.clone())
    }

    /// Fills in the same of earlier embedding settings, and the secrets of an address that was redacted.
    pub(crate) fn with_endpoint_secrets(
        &self,
        paths: &Paths,
        mut embedding: EmbeddingSettings,
    ) -> EmbeddingSettings {
        let url = &self.settings.embedding.remote.url;
        if embedding.remote.url == url.as_deref().map(|url| redact_urls(url).into_owned()) {
            embedding.remote.url.clone_from(url);
        }
        let cache_dir = paths.cached(&embedding.cache_dir);
        let key = self.api_key(embedding.remote.key_env.as_deref());
        let remote = RemoteSettings { key, ..embedding.remote };
        EmbeddingSettings { cache_dir, remote, ..embedding }
    }

    /// Returns the settings of the reranker with the endpoint's key filled in.
    #[must_use]
    pub fn reranker(&self) -> RerankerSettings {
        let Settings { rerank, embedding, .. } = &self.settings;
        let settings = rerank.model(embedding.library.clone());
        let key = self.api_key(settings.endpoint.key_env.as_deref());
        let endpoint = RerankEndpoint { key, ..settings.endpoint };
        RerankerSettings { endpoint, ..settings }
    }

    /// Returns the API key in an environment variable.
    fn api_key(&self, variable: Option<&str>) -> Option<Secret> {
        let key = variable.and_then(|variable| self.environment.get(variable));
        key.map(|key| Secret::new(key.trim().to_owned()))
    }

    /// Returns every setting as key, JSON value (`null` if unset) and origin, ordered by key. Secrets in URLs are redacted.
    #[must_use]
    pub fn entries(&self) -> Vec<(String, serde_json::Value, SettingOrigin)> {
        values(&self.settings)
            .into_iter()
            .map(|(key, value)| {
                let origin = self.origin(&key);
                (key, redacted(value), origin)
            })
            .collect()
    }

    /// Returns the default of every setting as key and JSON value (`null` if it is unset), ordered by key.
    pub(crate) fn defaults() -> BTreeMap<String, serde_json::Value> {
        values(&Settings::default())
    }

    /// Returns the keys whose values differ from those of `other`, in order.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let theirs = values(&other.settings);
        let ours = values(&self.settings).into_iter();
        ours.filter(|(key, value)| theirs.get(key) != Some(value)).map(|(key, _)| key).collect()
    }

    /// Returns these settings with the [`RELOADABLE`] ones of `next`.
    #[must_use]
    pub(crate) fn reloaded(&self, next: &Self) -> Self {
        let Settings { access, tls, vaults, log, .. } = next.settings.clone();
        let mut settings = Settings { access, tls, vaults, ..self.settings.clone() };
        settings.log.filter = log.filter;
        let is_taken = |key: &str| {
            let names = |taken: &&str| key == *taken || taken.starts_with(&format!("{key}."));
            RELOADABLE.iter().any(names)
        };
        let kept = self.origins.iter().filter(|(key, _)| !is_taken(key));
        let taken = next.origins.iter().filter(|(key, _)| is_taken(key));
        let origins = kept.chain(taken).map(|(key, origin)| (key.clone(), origin.clone()));
        Self { settings, origins: origins.collect(), environment: self.environment.clone() }
    }

    /// Builds the error for a value that turns out invalid only when it is used.
    #[must_use]
    pub fn refuse(&self, key: &str, reason: String) -> ConfigError {
        self.invalid(vec![Problem { key: key.to_owned(), reason }])
    }

    /// Builds the error for several such values.
    pub(crate) fn invalid(&self, problems: Vec<Problem>) -> ConfigError {
        let with_origin = |problem: Problem| {
            let origin = self.origin(&problem.key);
            (problem, origin)
        };
        ConfigError::Invalid { problems: problems.into_iter().map(with_origin).collect() }
    }

    /// Returns the environment, which may hold secrets.
    pub(crate) const fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Returns the origin of the value of `key`.
    #[must_use]
    pub fn origin(&self, key: &str) -> SettingOrigin {
        origin_of(&self.origins, key)
    }
}

/// Returns the origin of `key`, or of an enclosing table or contained key that was set as a whole.
fn origin_of(origins: &BTreeMap<String, SettingOrigin>, key: &str) -> SettingOrigin {
    let near = |set: &str| {
        set == key
            || key.strip_prefix(set).is_some_and(|rest| rest.starts_with('.'))
            || set.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'))
    };
    origins
        .iter()
        .find(|(set, _)| near(set))
        .map_or(SettingOrigin::Default, |(_, origin)| origin.clone())
}

#[derive(Default)]
struct Layers {
    home: Option<PathBuf>,
    merged: Table,
    origins: BTreeMap<String, SettingOrigin>,
    problems: Vec<(Problem, SettingOrigin)>,
}

impl Layers {
    /// Sets `key` to the first of `readings` that is valid; records a problem if none is.
    fn add(&mut self, key: &str, candidate_values: Vec<Value>, origin: SettingOrigin) {
        let mut first_error = None;
        let home = self.home.clone();
        let expand_home = |path: &str| expand_home(path, home.as_deref());
        for value in candidate_values {
            let value = resolve_paths(key, value, &expand_home);
            let mut alone = Table::new();
            let tried = set(&mut alone, key, value.clone())
                .and_then(|()| Settings::deserialize(Value::Table(alone)).map_err(reason));
            match tried {
                Ok(_) => {
                    if set(&mut self.merged, key, value).is_ok() {
                        self.origins.insert(key.to_owned(), origin);
                        return;
                    }
                }
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        let reason =
            first_error.unwrap_or_else(|| "is set both as a table and as a value".to_owned());
        self.problems.push((Problem { key: key.to_owned(), reason }, origin));
    }

    fn finish(
        self,
        environment: &Environment,
    ) -> Result<(Config, Vec<(Problem, SettingOrigin)>), ConfigError> {
        let Self { home: _, merged, origins, mut problems } = self;
        let settings = match Settings::deserialize(Value::Table(merged)) {
            Ok(settings) => settings,
            Err(error) => {
                let problem =
                    Problem { key: "all layers together".to_owned(), reason: reason(error) };
                problems.push((problem, SettingOrigin::Default));
                return Err(ConfigError::Invalid { problems });
            }
        };
        for problem in settings.problems() {
            let origin = origin_of(&origins, &problem.key);
            problems.push((problem, origin));
        }
        Ok((Config { settings, origins, environment: environment.clone() }, problems))
    }
}

/// Redacts the secrets of URLs in a JSON value.
fn redacted(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::String(text) => Value::String(redact_urls(&text).into_owned()),
        Value::Array(values) => values.into_iter().map(redacted).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(key, value)| (key, redacted(value))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// Returns the first line of a parser message; the rest repeats the key.
#[expect(clippy::needless_pass_by_value, reason = "it is called through `map_err`")]
fn reason(error: toml::de::Error) -> String {
    redact_urls(error.message().lines().next().unwrap_or_default()).into_owned()
}

/// Returns the possible values of a text: as TOML, then as the text itself.
fn candidate_values(text: &str) -> Vec<Value> {
    let parsed = format!("value = {text}").parse::<Table>().ok();
    let parsed = parsed.and_then(|mut table| table.remove("value"));
    parsed.into_iter().chain([Value::String(text.to_owned())]).collect()
}

/// Sets `key` in nested tables. Fails if a part of the key is not a table.
fn set(table: &mut Table, key: &str, value: Value) -> Result<(), String> {
    let Some((first, rest)) = key.split_once('.') else {
        table.insert(key.to_owned(), value);
        return Ok(());
    };
    let below = table.entry(first).or_insert_with(|| Value::Table(Table::new()));
    match below {
        Value::Table(below) => set(below, rest, value),
        Value::String(_)
        | Value::Integer(_)
        | Value::Float(_)
        | Value::Boolean(_)
        | Value::Datetime(_)
        | Value::Array(_) => Err(format!("`{first}` is not a table")),
    }
}

/// Returns the values of nested tables by dotted key; a list is one value.
fn flatten_table(table: Table) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (key, value) in table {
        if let Value::Table(below) = value {
            let below = flatten_table(below).into_iter();
            found.extend(below.map(|(rest, value)| (format!("{key}.{rest}"), value)));
        } else {
            found.push((key, value));
        }
    }
    found
}

/// Settings that are paths, and paths within lists of tables.
const PATHS: &[&str] = &[
    "cluster.bootstrap",
    "cluster.postgres",
    "store.path",
    "tls.certificate",
    "tls.key",
    "tls.client_ca",
    "log.audit",
    "embedding.remote.key_file",
    "rerank.endpoint.key_file",
];
const PATHS_IN_LISTS: &[(&str, &str)] = &[("vaults", "root"), ("access.tokens", "file")];

/// Settings that may be paths, whatever the working directory.
const MAY_BE_PATHS: &[&str] =
    &["embedding.model", "embedding.library", "embedding.cache_dir", "rerank.model"];

/// Expands a leading `~` to the user's home, which shells do not do in files or after `=`.
fn expand_home(path: &str, home: Option<&Path>) -> PathBuf {
    let below = path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    match (below, home) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
        (Some(_) | None, _) => PathBuf::from(path),
    }
}

/// Resolves the paths in a setting with `place`.
///
/// Relative paths in a file are relative to the file's folder.
fn resolve_paths(key: &str, value: Value, resolve: &dyn Fn(&str) -> PathBuf) -> Value {
    let joined = |text: &str| resolve(text).to_string_lossy().into_owned();
    match (key, value) {
        (key, Value::String(path)) if PATHS.contains(&key) => Value::String(joined(&path)),
        // A value without `~` may be a name instead of a path, and is kept.
        (key, Value::String(path)) if MAY_BE_PATHS.contains(&key) && path.starts_with('~') => {
            Value::String(joined(&path))
        }
        (key, Value::String(path)) if key.starts_with("tokens.tokenizers.") => {
            Value::String(joined(&path))
        }
        (key, Value::Array(mut tables)) => {
            if let Some((_, path)) = PATHS_IN_LISTS.iter().find(|(list, _)| *list == key) {
                for table in &mut tables {
                    // A path alone is short for a table with nothing else.
                    if let Value::String(alone) = table {
                        let alone = std::mem::take(alone).into();
                        *table = Value::Table([((*path).to_owned(), alone)].into_iter().collect());
                    }
                    if let Some(Value::String(path)) = table.get_mut(path) {
                        *path = joined(path);
                    }
                }
            }
            Value::Array(tables)
        }
        (_, value) => value,
    }
}

/// Returns every setting as key and JSON value, ordered by key, with secrets in URLs.
fn values(settings: &Settings) -> BTreeMap<String, serde_json::Value> {
    let mut values = Vec::new();
    let whole = serde_json::to_value(settings).unwrap_or_default();
    flatten(String::new(), whole, &mut values);
    values.into_iter().collect()
}

fn flatten(key: String, value: serde_json::Value, into: &mut Vec<(String, serde_json::Value)>) {
    if let serde_json::Value::Object(below) = value {
        for (part, value) in below {
            let key = if key.is_empty() { part } else { format!("{key}.{part}") };
            flatten(key, value, into);
        }
    } else {
        into.push((key, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DEFAULT_TOML;

    #[cfg(unix)]
    #[test]
    fn tilde_expands_to_the_home_folder() {
        let file = "vaults = [\"~/notes\", {root = \"~\"}, {root = \"/~/a\"}]\n[tls]\ncertificate = \"~\"\nkey = \"~x/key\"\n";
        let flags = [("store.path", "~/store"), ("embedding.model", "~/models/e5")];
        let variables = [("HOME", "/home/ann"), ("WEFT__LOG__AUDIT", "~/audit.log")];
        let config = load(Some(file), &variables, &flags).unwrap();
        let Settings { vaults, store, embedding, log, tls, .. } = &config.settings;
        let roots: Vec<&Path> = vaults.iter().map(|vault| vault.root.as_path()).collect();
        assert_eq!(roots, ["/home/ann/notes", "/home/ann", "/~/a"].map(Path::new));
        assert_eq!(store.path.as_deref(), Some(Path::new("/home/ann/store")));
        assert_eq!(embedding.model, "/home/ann/models/e5");
        assert_eq!(log.audit.as_deref(), Some(Path::new("/home/ann/audit.log")));
        assert!(
            tls.key.as_ref().unwrap().ends_with("~x/key"),
            "another user's home is not expanded"
        );
    }

    fn load(
        file: Option<&str>,
        variables: &[(&str, &str)],
        flags: &[(&str, &str)],
    ) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("weft.toml");
        let file = file.map(|text| {
            std::fs::write(&path, text).unwrap();
            path
        });
        let flags = flags
            .iter()
            .map(|(key, value)| (key.to_string(), value.to_string(), "--set".to_owned()))
            .collect();
        let sources = Sources { file, flags, vaults: Vec::new() };
        Config::load(&sources, &Environment::from_pairs(variables))
    }

    #[test]
    fn annotated_file_equals_the_defaults() {
        let table: Table = DEFAULT_TOML.parse().unwrap();
        let parsed = Settings::deserialize(Value::Table(table.clone())).unwrap();
        assert_eq!(parsed, Settings::default());
        let written: Vec<String> = flatten_table(table).into_iter().map(|(key, _)| key).collect();
        for (key, value, _) in load(None, &[], &[]).unwrap().entries() {
            // Settings without a default value are comments in the file.
            let last = key.rsplit('.').next().unwrap();
            assert!(
                written.contains(&key)
                    || value.is_null() && DEFAULT_TOML.contains(&format!("\n# {last} =")),
                "{key} is missing in config/default.toml"
            );
        }
    }

    #[test]
    fn secrets_of_addresses_are_not_shown() {
        let secret = "http://me:hush@localhost:1/v1?key=hush";
        let urls = ["embedding.remote.url", "rerank.endpoint.url", "trace.endpoint"];
        let flags = urls.map(|key| (key, secret));
        let config = load(None, &[], &flags).unwrap();
        let shown: Vec<_> =
            config.entries().into_iter().filter(|(_, value, _)| value.is_string()).collect();
        let of = |key: &str| &shown.iter().find(|(other, ..)| other == key).unwrap().1;
        for key in urls {
            assert_eq!(of(key), "http://***@localhost:1/v1?***", "{key}");
        }
        assert!(!format!("{shown:?}").contains("hush"));
        let other = load(None, &[], &[("embedding.remote.url", &secret.replace("hush", "other"))]);
        let changed = other.unwrap().differences(&config);
        assert_eq!(changed, urls, "a new password counts");

        let paths = Paths::new(&Environment::from_pairs(&[]));
        let mut recorded = config.settings.embedding.clone();
        recorded.remote.url = Some("http://***@localhost:1/v1?***".to_owned());
        let keyed = config.with_endpoint_secrets(&paths, recorded);
        assert_eq!(keyed.remote.url.as_deref(), Some(secret), "a record of this endpoint");

        for (name, file) in [
            ("no URL", "[embedding.remote]\nurl = 'me:hush@localhost'"),
            ("no TOML", "[embedding.remote]\nurl = 'http://me:hush@localhost"),
            ("no TOML with a space", "[embedding.remote]\nurl = 'http://me:pa hush@localhost"),
            ("no TOML and no URL", "[embedding.remote]\nurl = me:hush@localhost"),
            ("another type", "[embedding.remote]\nbatch = 'http://me:hush@localhost'"),
            ("no URL of a reranker", "[rerank.endpoint]\nurl = 'me:hush@localhost'"),
            ("an unknown key", "[trace]\nendpoint = 'hush://me:hush@localhost'"),
        ] {
            let error = load(Some(file), &[], &[]).unwrap_err().to_string();
            assert!(!error.contains("hush"), "{name}: {error}");
        }
    }

    #[test]
    fn annotated_file_can_be_edited() {
        let config = load(Some(DEFAULT_TOML), &[], &[]).unwrap();
        assert_eq!(config.settings, Settings::default());
        let flags = [("search.bridge.weights.centrality", "0.1")];
        let weights = load(None, &[], &flags).unwrap().settings.search.bridge.weights;
        assert_eq!(
            (weights.similarity, weights.centrality),
            (0.49, 0.1),
            "a single value can be set"
        );
    }

    #[test]
    fn deployed_nodes_have_valid_settings() {
        let file = |name: &str| {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/cluster");
            std::fs::read_to_string(folder.join(name)).unwrap()
        };
        let kubernetes = file("kubernetes.yaml");
        let (_, config) = kubernetes.split_once("  config.toml: |\n").unwrap();
        let (config, _) = config.split_once("---").unwrap();
        let node = [("WEFT__CLUSTER__NODE", "weft-0")];
        let in_kubernetes = load(Some(config), &node, &[]).unwrap();
        let compose = file("compose.yaml");
        let (_, variables) = compose.split_once("x-node-settings:").unwrap();
        let (variables, _) = variables.split_once("\n\n").unwrap();
        let variables = variables.lines().filter_map(|line| line.trim().split_once(": "));
        let variables = variables.filter(|(name, _)| name.starts_with("WEFT__"));
        let variables: Vec<(&str, &str)> =
            variables.map(|(name, value)| (name, value.trim_matches('"'))).collect();
        let in_compose = load(None, &variables, &[]).unwrap();
        for Config { settings, .. } in [in_kubernetes, in_compose] {
            let token = &settings.access.tokens[0];
            let own: Vec<String> = settings.cluster.collection.into_iter().collect();
            assert_eq!(token.collections.as_ref(), Some(&own));
            assert!(settings.cluster.postgres.is_some() && settings.access.unauthenticated_health);
        }
    }

    /// A vault at a symbolic link must keep its identity when the link changes.
    #[cfg(unix)]
    #[test]
    fn vault_is_named_after_its_folder_as_written() {
        use crate::config::settings::Vault;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("2026")).unwrap();
        std::os::unix::fs::symlink(at("2026"), at("notes")).unwrap();
        for (root, expected) in [
            (at("2026"), "2026"),
            (at("notes"), "notes"),
            (at("notes/."), "notes"),
            (at("2026/../2026/.."), folder.path().file_name().unwrap().to_str().unwrap()),
            (at("gone"), "gone"),
            (at("gone/.."), "vault"),
        ] {
            assert_eq!(Vault { name: None, root: root.clone() }.name(), expected, "{root:?}");
        }
        assert_eq!(Vault { name: Some("mine".into()), root: at("notes") }.name(), "mine");
        for name in ["\u{fc}notes", "u\u{308}notes"] {
            assert_eq!(Vault { name: None, root: at(name) }.name(), "\u{fc}notes", "as links are");
        }
    }

    #[test]
    fn later_layers_win_and_are_the_origin() {
        let config = load(
            Some("[server]\naddress = '127.0.0.1:1'\ntimeout_ms = 7\n[store]\npath = 'here'"),
            &[
                ("WEFT__SERVER__TIMEOUT_MS", "8"),
                ("WEFT__EMBEDDING__MODEL", "none"),
                ("ORT_DYLIB_PATH", "/x"),
            ],
            &[("server.timeout_ms", "9")],
        )
        .unwrap();
        let Settings { server, store, embedding, .. } = &config.settings;
        assert_eq!((server.address.as_str(), server.timeout_ms), ("127.0.0.1:1", 9));
        assert_eq!(config.origin("server.timeout_ms"), SettingOrigin::Flag("--set".into()));
        assert_eq!(
            config.origin("embedding.model"),
            SettingOrigin::Environment("WEFT__EMBEDDING__MODEL".into())
        );
        assert_eq!(config.origin("search.snippets"), SettingOrigin::Default);
        assert_eq!(embedding.library, Some(PathBuf::from("/x")));
        assert!(store.path.as_ref().unwrap().is_absolute(), "beside the file");
    }

    #[test]
    fn differences_name_the_changed_keys() {
        let before = load(None, &[], &[]).unwrap();
        let after = load(None, &[], &[("log.filter", "info"), ("server.timeout_ms", "9")]).unwrap();
        assert_eq!(after.differences(&before), ["log.filter", "server.timeout_ms"]);
        assert_eq!(before.differences(&before), [""; 0]);
    }

    #[test]
    fn certificates_without_permission_require_tokens() {
        let tls = [("tls.certificate", "c"), ("tls.key", "k"), ("tls.client_ca", "ca")];
        let none = [&tls[..], &[("tls.client_permission", "none")]].concat();
        let token = ("access.tokens", "[{name = 'x', permission = 'read', env = 'X'}]");
        for address in ["127.0.0.1:0", "0.0.0.0:0"] {
            let at = ("server.address", address);
            let error = load(None, &[], &[&none[..], &[at]].concat()).unwrap_err();
            let ConfigError::Invalid { problems } = error else { panic!("{error}") };
            let keys: Vec<&str> = problems.iter().map(|(problem, _)| &*problem.key).collect();
            assert_eq!(keys, ["tls.client_permission"], "{address}");
            assert!(problems[0].0.reason.contains("access.tokens"), "{address}");
            assert!(load(None, &[], &[&none[..], &[at, token]].concat()).is_ok(), "{address}");
            assert!(load(None, &[], &[&tls[..], &[at]].concat()).is_ok(), "{address}");
        }
    }

    #[test]
    fn unusable_files_are_reported_with_all_other_problems() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().display().to_string();
        let token =
            |name: &str, from: &str| format!("{{name = '{name}', permission = 'read'{from}}}");
        std::fs::write(folder.path().join("empty"), "").unwrap();
        let tokens = [
            token("a", &format!(", file = '{home}/empty'")),
            token("b", ", env = 'UNSET'"),
            token("c", ""),
        ];
        let flags = [
            ("access.tokens", format!("[{}]", tokens.join(", "))),
            ("trace.endpoint", "foo".to_owned()),
            ("embedding.remote.url", "nonsense".to_owned()),
            ("log.filter", "warn,weft=loud".to_owned()),
            ("tls.certificate", format!("{home}/none")),
            ("tls.key", format!("{home}/none")),
            ("search.snippets", "1000".to_owned()),
        ];
        let flags = flags.map(|(key, value)| (key.to_owned(), value, "--set".to_owned()));
        let vaults = vec![folder.path().join("nowhere")];
        let sources = Sources { file: None, flags: flags.to_vec(), vaults };
        let environment = Environment::from_pairs(&[("HOME", &home)]);
        let error = Config::load_to_serve(&sources, &environment).unwrap_err();
        let ConfigError::Invalid { mut problems } = error else { panic!("{error}") };
        problems.sort_by(|(a, _), (b, _)| (&a.key, &a.reason).cmp(&(&b.key, &b.reason)));
        let reported = problems.iter().map(|(problem, _)| (&*problem.key, &*problem.reason));
        let expected = [
            ("access.tokens", "`a` is empty"),
            ("access.tokens", "UNSET"),
            ("access.tokens", "`c` needs either"),
            ("embedding.remote.url", "the value is not an address"),
            ("log.filter", "directive"),
            ("search.snippets", "0 to 100"),
            ("tls.certificate", "cannot be used"),
            ("tls.key", "cannot be used"),
            ("trace.endpoint", "the value is not an address"),
            ("vaults", "/nowhere: "),
        ];
        let reported: Vec<_> = reported.collect();
        assert_eq!(reported.len(), expected.len(), "{reported:#?}");
        for ((key, reason), (expected, part)) in reported.iter().zip(expected) {
            assert!(*key == expected && reason.contains(part), "{key}: {reason}");
        }
    }

    #[test]
    fn estimator_must_be_known() {
        let counted_by = |estimator, more: &[(&str, &str)]| {
            load(None, &[], &[&[("tokens.estimator", estimator)], more].concat()).is_ok()
        };
        for known in ["chars", "bytes", "unit", "bundled-english"] {
            assert!(counted_by(known, &[]), "{known}");
        }
        assert!(!counted_by("gpt", &[]) && !counted_by("none", &[("embedding.model", "none")]));
        assert!(counted_by("gpt", &[("tokens.tokenizers", "{gpt = '/gpt.json'}")]));
        assert!(counted_by("some-model", &[("embedding.model", "some-model")]));
    }

    #[test]
    fn all_problems_are_reported_together() {
        let error = load(
            Some("[server]\nadress = 'x'\ntimeout_ms = 'soon'\naddress = '0.0.0.0:9338'\n[search]\nsnippet_chars = 0"),
            &[("WEFT__KEYWORD__THREADS", "99"), ("WEFT__NOTHING", "1")],
            &[
                ("keyword.heap_bytes_per_thread", "5000000000"),
                ("scan.exclude", "['[']"),
                ("server.max_connections", "9223372036854775807"),
                ("server.max_streams", "2305843009213693952"),
                ("server.max_queued_requests", "1152921504606846976"),
                ("server.workers", "1152921504606846976"),
                ("tokens.estimator", "gpt"),
                ("vector.graph.degree", "100000"),
                ("vector.graph.ef_construction", "0"),
                ("vector.graph.m", "2"),
            ],
        )
        .unwrap_err();
        let ConfigError::Invalid { problems } = error else { panic!("{error}") };
        let mut keys: Vec<&str> =
            problems.iter().map(|(problem, _)| problem.key.as_str()).collect();
        keys.sort_unstable();
        assert_eq!(
            keys,
            [
                "keyword.heap_bytes_per_thread",
                "keyword.threads",
                "nothing",
                "scan.exclude",
                "search.snippet_chars",
                "server.address",
                "server.adress",
                "server.max_connections",
                "server.max_queued_requests",
                "server.max_streams",
                "server.timeout_ms",
                "server.workers",
                "tokens.estimator",
                "vector.graph.degree",
                "vector.graph.ef_construction",
                "vector.graph.m"
            ]
        );
        let of = |key| problems.iter().find(|(problem, _)| problem.key == key).unwrap();
        assert_eq!(
            of("keyword.threads").1,
            SettingOrigin::Environment("WEFT__KEYWORD__THREADS".into())
        );
        assert!(of("server.address").0.reason.contains("loopback"));
    }
}
