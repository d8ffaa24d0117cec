//! Layers of settings: the embedded defaults, a file, the environment, flags.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize as _;
use toml::{Table, Value};
use weft_indexer::embed::{EmbeddingSettings, RemoteSettings, Secret};

use super::Settings;
use crate::paths::{Environment, Paths};

/// Variables that set a key begin with this; `__` separates the parts of the key.
const PREFIX: &str = "WEFT__";

/// The variable by which ONNX Runtime's library is found everywhere; it counts where the configuration names none.
const ORT_LIBRARY: &str = "ORT_DYLIB_PATH";

/// Where the value of a setting came from; a later one wins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The embedded default.
    Default,
    /// A configuration file.
    File(PathBuf),
    /// A variable.
    Environment(String),
    /// A flag of the command line.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// A setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its key.
    pub key: String,
    /// What is wrong and what would be right.
    pub reason: String,
}

/// Why there is no configuration: every problem at once.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration {}: {source}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The file is no TOML.
    #[error("the configuration {} is no TOML: {source}", path.display())]
    Parse {
        /// Which file.
        path: PathBuf,
        /// Where and why.
        source: Box<toml::de::Error>,
    },
    /// Settings that cannot be used, each with its origin.
    #[error("{}", list(problems))]
    Invalid {
        /// In the order of the layers, then of the keys.
        problems: Vec<(Problem, Origin)>,
    },
}

fn list(problems: &[(Problem, Origin)]) -> String {
    let lines = problems.iter().map(|(Problem { key, reason }, origin)| match origin {
        Origin::Default => format!("`{key}`: {reason}"),
        Origin::File(_) | Origin::Environment(_) | Origin::Flag(_) => {
            format!("`{key}` ({origin}): {reason}")
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// What the command line adds to file and environment.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The file asked for; without it the user's own is read if it is there.
    pub file: Option<PathBuf>,
    /// Keys with values as TOML, or as plain text where that fits, each with the flag that gave it.
    pub flags: Vec<(String, String, String)>,
    /// Folders to serve instead of the configured ones.
    pub vaults: Vec<PathBuf>,
}

/// The settings and where each came from.
#[derive(Clone, Debug)]
pub struct Config {
    /// The settings in force.
    pub settings: Settings,
    origins: BTreeMap<String, Origin>,
    environment: Environment,
}

impl Config {
    /// Reads all layers and validates the result as a whole.
    ///
    /// Fails with every problem that was found.
    pub fn load(sources: &Sources, environment: &Environment) -> Result<Self, ConfigError> {
        match Self::read(sources, environment)? {
            (config, problems) if problems.is_empty() => Ok(config),
            (_, problems) => Err(ConfigError::Invalid { problems }),
        }
    }

    /// The same for a daemon, whose files must be usable, too: those of tokens and certificates, and the folders of notes.
    ///
    /// Fails with every problem of either kind.
    pub fn load_to_serve(
        sources: &Sources,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        let (config, mut problems) = Self::read(sources, environment)?;
        let paths = Paths::new(environment);
        for problem in crate::daemon::problems(&config, &paths) {
            let problem = (problem.clone(), config.origin(&problem.key));
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
        if problems.is_empty() { Ok(config) } else { Err(ConfigError::Invalid { problems }) }
    }

    /// The settings as they are written, and what is wrong with them by themselves.
    fn read(
        sources: &Sources,
        environment: &Environment,
    ) -> Result<(Self, Vec<(Problem, Origin)>), ConfigError> {
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
            let origin = Origin::File(path);
            for (key, value) in leaves(table) {
                let beside = |path: &str| base.join(at_home(path, home.as_deref()));
                layers.add(&key, vec![placed(&key, value, &beside)], origin.clone());
            }
        }
        for (name, value) in environment.with_prefix(PREFIX) {
            let key = name[PREFIX.len()..].to_ascii_lowercase().replace("__", ".");
            layers.add(&key, readings(value), Origin::Environment(name.to_owned()));
        }
        for (key, value, flag) in &sources.flags {
            layers.add(key, readings(value), Origin::Flag(flag.clone()));
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
            layers.add("vaults", vec![vaults], Origin::Flag("the command line".to_owned()));
        }
        if let Some(library) = environment.get(ORT_LIBRARY)
            && !layers.origins.contains_key("embedding.library")
        {
            let origin = Origin::Environment(ORT_LIBRARY.to_owned());
            layers.add("embedding.library", vec![Value::String(library.to_owned())], origin);
        }
        layers.finish(environment)
    }

    /// How vectors are made, with the folder of models and the endpoint's key filled in.
    #[must_use]
    pub fn embedding(&self, paths: &Paths) -> EmbeddingSettings {
        self.keyed(paths, self.settings.embedding.clone())
    }

    /// The same of settings that were in force once.
    pub(crate) fn keyed(&self, paths: &Paths, embedding: EmbeddingSettings) -> EmbeddingSettings {
        let cache_dir = paths.cached(&embedding.cache_dir);
        let variable = embedding.remote.key_env.as_deref();
        let key = variable.and_then(|variable| self.environment.get(variable));
        let key = key.map(|key| Secret::new(key.trim().to_owned()));
        let remote = RemoteSettings { key, ..embedding.remote };
        EmbeddingSettings { cache_dir, remote, ..embedding }
    }

    /// Every setting in force by key, with its value as JSON (`null` where none is set) and its origin; by key.
    #[must_use]
    pub fn entries(&self) -> Vec<(String, serde_json::Value, Origin)> {
        let mut entries = Vec::new();
        let whole = serde_json::to_value(&self.settings).unwrap_or_default();
        flatten(String::new(), whole, &mut entries);
        entries
            .into_iter()
            .map(|(key, value)| {
                let origin = self.origin(&key);
                (key, value, origin)
            })
            .collect()
    }

    /// The keys whose values differ from those of `other`, in order.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let theirs: BTreeMap<String, serde_json::Value> =
            other.entries().into_iter().map(|(key, value, _)| (key, value)).collect();
        let mut keys: Vec<String> = self
            .entries()
            .into_iter()
            .filter(|(key, value, _)| theirs.get(key) != Some(value))
            .map(|(key, _, _)| key)
            .collect();
        keys.sort_unstable();
        keys
    }

    /// These settings with what a running daemon takes over of `next`: see [`Control::RELOADED`](crate::Control::RELOADED).
    #[must_use]
    pub(crate) fn reloaded(&self, next: &Self) -> Self {
        let Settings { access, tls, vaults, log, .. } = next.settings.clone();
        let mut settings = Settings { access, tls, vaults, ..self.settings.clone() };
        settings.log.filter = log.filter;
        let is_taken = |key: &str| {
            let names = |taken: &&str| key == *taken || taken.starts_with(&format!("{key}."));
            crate::Control::RELOADED.iter().any(names)
        };
        let kept = self.origins.iter().filter(|(key, _)| !is_taken(key));
        let taken = next.origins.iter().filter(|(key, _)| is_taken(key));
        let origins = kept.chain(taken).map(|(key, origin)| (key.clone(), origin.clone()));
        Self { settings, origins: origins.collect(), environment: self.environment.clone() }
    }

    /// The error for a value that only shows itself unusable when it is put to use.
    #[must_use]
    pub fn refuse(&self, key: &str, reason: String) -> ConfigError {
        self.invalid(vec![Problem { key: key.to_owned(), reason }])
    }

    /// Likewise for several values.
    pub(crate) fn invalid(&self, problems: Vec<Problem>) -> ConfigError {
        let with_origin = |problem: Problem| {
            let origin = self.origin(&problem.key);
            (problem, origin)
        };
        ConfigError::Invalid { problems: problems.into_iter().map(with_origin).collect() }
    }

    /// The variables of the process, for secrets that lie in one.
    pub(crate) const fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Where the value of `key` came from.
    #[must_use]
    pub fn origin(&self, key: &str) -> Origin {
        origin_of(&self.origins, key)
    }
}

/// The origin of `key`, or of the table around it or a key below it that was set as a whole.
fn origin_of(origins: &BTreeMap<String, Origin>, key: &str) -> Origin {
    let near = |set: &str| {
        set == key
            || key.strip_prefix(set).is_some_and(|rest| rest.starts_with('.'))
            || set.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'))
    };
    origins.iter().find(|(set, _)| near(set)).map_or(Origin::Default, |(_, origin)| origin.clone())
}

#[derive(Default)]
struct Layers {
    home: Option<PathBuf>,
    merged: Table,
    origins: BTreeMap<String, Origin>,
    problems: Vec<(Problem, Origin)>,
}

impl Layers {
    /// Sets `key` to the first of `readings` that fits; notes a problem where none does.
    fn add(&mut self, key: &str, readings: Vec<Value>, origin: Origin) {
        let mut first_error = None;
        let home = self.home.clone();
        let at_home = |path: &str| at_home(path, home.as_deref());
        for value in readings {
            let value = placed(key, value, &at_home);
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
            first_error.unwrap_or_else(|| "it is set as a table and as a value".to_owned());
        self.problems.push((Problem { key: key.to_owned(), reason }, origin));
    }

    fn finish(
        self,
        environment: &Environment,
    ) -> Result<(Config, Vec<(Problem, Origin)>), ConfigError> {
        let Self { home: _, merged, origins, mut problems } = self;
        let settings = match Settings::deserialize(Value::Table(merged)) {
            Ok(settings) => settings,
            Err(error) => {
                let problem =
                    Problem { key: "all layers together".to_owned(), reason: reason(error) };
                problems.push((problem, Origin::Default));
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

/// The first line of what the reader said: the rest repeats the key.
#[expect(clippy::needless_pass_by_value, reason = "it is called through `map_err`")]
fn reason(error: toml::de::Error) -> String {
    error.message().lines().next().unwrap_or_default().to_owned()
}

/// What a text can mean: TOML first, then the text itself.
fn readings(text: &str) -> Vec<Value> {
    let parsed = format!("value = {text}").parse::<Table>().ok();
    let parsed = parsed.and_then(|mut table| table.remove("value"));
    parsed.into_iter().chain([Value::String(text.to_owned())]).collect()
}

/// Sets `key` in nested tables. Fails where a part of the key is no table.
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
        | Value::Array(_) => Err(format!("`{first}` is no table")),
    }
}

/// The values of nested tables by dotted key; a list is one value.
fn leaves(table: Table) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (key, value) in table {
        if let Value::Table(below) = value {
            let below = leaves(below).into_iter();
            found.extend(below.map(|(rest, value)| (format!("{key}.{rest}"), value)));
        } else {
            found.push((key, value));
        }
    }
    found
}

/// Settings that are paths, and those that stand in the tables of a list.
const PATHS: &[&str] = &[
    "store.path",
    "tls.certificate",
    "tls.key",
    "tls.client_ca",
    "log.audit",
    "embedding.remote.key_file",
];
const PATHS_IN_LISTS: &[(&str, &str)] = &[("vaults", "root"), ("access.tokens", "file")];

/// Settings that may be paths, from wherever the program runs.
const MAY_BE_PATHS: &[&str] = &["embedding.model", "embedding.library", "embedding.cache_dir"];

/// `path` with the user's home for a `~` at its front, which no shell replaces in a file or behind a `=`.
fn at_home(path: &str, home: Option<&Path>) -> PathBuf {
    let below = path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    match (below, home) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
        (Some(_) | None, _) => PathBuf::from(path),
    }
}

/// A setting whose paths are put in their place.
///
/// Relative paths in a file are meant from the file's own folder.
fn placed(key: &str, value: Value, place: &dyn Fn(&str) -> PathBuf) -> Value {
    let joined = |text: &str| place(text).to_string_lossy().into_owned();
    match (key, value) {
        (key, Value::String(path)) if PATHS.contains(&key) => Value::String(joined(&path)),
        // One that names no home is a name as well as a path, and stays as it is.
        (key, Value::String(path)) if MAY_BE_PATHS.contains(&key) && path.starts_with('~') => {
            Value::String(joined(&path))
        }
        (key, Value::String(path)) if key.starts_with("tokens.tokenizers.") => {
            Value::String(joined(&path))
        }
        (key, Value::Array(mut tables)) => {
            let path = PATHS_IN_LISTS.iter().find(|(list, _)| *list == key).map(|(_, path)| path);
            for table in &mut tables {
                if let Some(Value::String(path)) = path.and_then(|path| table.get_mut(path)) {
                    *path = joined(path);
                }
            }
            Value::Array(tables)
        }
        (_, value) => value,
    }
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
    fn a_tilde_is_the_users_home() {
        let file = "vaults = [{root = \"~/notes\"}, {root = \"~\"}, {root = \"/~/a\"}]\n[tls]\ncertificate = \"~\"\nkey = \"~x/key\"\n";
        let flags = [("store.path", "~/store"), ("embedding.model", "~/models/e5")];
        let variables = [("HOME", "/home/ann"), ("WEFT__LOG__AUDIT", "~/audit.log")];
        let config = load(Some(file), &variables, &flags).unwrap();
        let Settings { vaults, store, embedding, log, tls, .. } = &config.settings;
        let roots: Vec<&Path> = vaults.iter().map(|vault| vault.root.as_path()).collect();
        assert_eq!(roots, ["/home/ann/notes", "/home/ann", "/~/a"].map(Path::new));
        assert_eq!(store.path.as_deref(), Some(Path::new("/home/ann/store")));
        assert_eq!(embedding.model, "/home/ann/models/e5");
        assert_eq!(log.audit.as_deref(), Some(Path::new("/home/ann/audit.log")));
        assert!(tls.key.as_ref().unwrap().ends_with("~x/key"), "somebody else's is not known");
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
    fn the_annotated_file_is_the_defaults() {
        let table: Table = DEFAULT_TOML.parse().unwrap();
        let parsed = Settings::deserialize(Value::Table(table.clone())).unwrap();
        assert_eq!(parsed, Settings::default());
        let written: Vec<String> = leaves(table).into_iter().map(|(key, _)| key).collect();
        for (key, value, _) in load(None, &[], &[]).unwrap().entries() {
            // What is not set by default stands there as a comment.
            let last = key.rsplit('.').next().unwrap();
            assert!(
                written.contains(&key)
                    || value.is_null() && DEFAULT_TOML.contains(&format!("\n# {last} =")),
                "{key} is missing in config/default.toml"
            );
        }
    }

    #[test]
    fn the_annotated_file_can_be_begun_with() {
        let config = load(Some(DEFAULT_TOML), &[], &[]).unwrap();
        assert_eq!(config.settings, Settings::default());
        let flags = [("search.bridge.weights.centrality", "0.1")];
        let weights = load(None, &[], &flags).unwrap().settings.search.bridge.weights;
        assert_eq!((weights.similarity, weights.centrality), (0.49, 0.1), "one alone can be set");
    }

    /// A vault whose folder is a link would be another one after the link was turned.
    #[cfg(unix)]
    #[test]
    fn a_vault_is_called_as_its_folder_is_written() {
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
    fn later_layers_win_and_are_named() {
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
        assert_eq!(config.origin("server.timeout_ms"), Origin::Flag("--set".into()));
        assert_eq!(
            config.origin("embedding.model"),
            Origin::Environment("WEFT__EMBEDDING__MODEL".into())
        );
        assert_eq!(config.origin("search.snippets"), Origin::Default);
        assert_eq!(embedding.library, Some(PathBuf::from("/x")));
        assert!(store.path.as_ref().unwrap().is_absolute(), "beside the file");
    }

    #[test]
    fn what_differs_between_two_configurations_is_named() {
        let before = load(None, &[], &[]).unwrap();
        let after = load(None, &[], &[("log.filter", "info"), ("server.timeout_ms", "9")]).unwrap();
        assert_eq!(after.differences(&before), ["log.filter", "server.timeout_ms"]);
        assert_eq!(before.differences(&before), [""; 0]);
    }

    #[test]
    fn certificates_that_open_nothing_ask_for_tokens() {
        let tls = [("tls.certificate", "c"), ("tls.key", "k"), ("tls.client_ca", "ca")];
        let none = [&tls[..], &[("tls.client_right", "none")]].concat();
        let token = ("access.tokens", "[{name = 'x', right = 'read', env = 'X'}]");
        for address in ["127.0.0.1:0", "0.0.0.0:0"] {
            let at = ("server.address", address);
            let error = load(None, &[], &[&none[..], &[at]].concat()).unwrap_err();
            let ConfigError::Invalid { problems } = error else { panic!("{error}") };
            let keys: Vec<&str> = problems.iter().map(|(problem, _)| &*problem.key).collect();
            assert_eq!(keys, ["tls.client_right"], "{address}");
            assert!(problems[0].0.reason.contains("access.tokens"), "{address}");
            assert!(load(None, &[], &[&none[..], &[at, token]].concat()).is_ok(), "{address}");
            assert!(load(None, &[], &[&tls[..], &[at]].concat()).is_ok(), "{address}");
        }
    }

    #[test]
    fn what_a_daemon_cannot_use_is_told_with_all_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().display().to_string();
        let token = |name: &str, from: &str| format!("{{name = '{name}', right = 'read'{from}}}");
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
        let told = problems.iter().map(|(problem, _)| (&*problem.key, &*problem.reason));
        let expected = [
            ("access.tokens", "`a` is empty"),
            ("access.tokens", "UNSET"),
            ("access.tokens", "`c` needs either"),
            ("embedding.remote.url", "`nonsense` is no address"),
            ("log.filter", "directive"),
            ("search.snippets", "0 to 100"),
            ("tls.certificate", "cannot be used"),
            ("tls.key", "cannot be used"),
            ("trace.endpoint", "`foo` is no address"),
            ("vaults", "nowhere cannot be read"),
        ];
        let told: Vec<_> = told.collect();
        assert_eq!(told.len(), expected.len(), "{told:#?}");
        for ((key, reason), (expected, part)) in told.iter().zip(expected) {
            assert!(*key == expected && reason.contains(part), "{key}: {reason}");
        }
    }

    #[test]
    fn an_estimator_is_one_of_those_that_are_set() {
        let counted_by = |estimator, more: &[(&str, &str)]| {
            load(None, &[], &[&[("tokens.estimator", estimator)], more].concat()).is_ok()
        };
        for known in ["chars", "bytes", "unit", "bundled"] {
            assert!(counted_by(known, &[]), "{known}");
        }
        assert!(!counted_by("gpt", &[]) && !counted_by("none", &[("embedding.model", "none")]));
        assert!(counted_by("gpt", &[("tokens.tokenizers", "{gpt = '/gpt.json'}")]));
        assert!(counted_by("some-model", &[("embedding.model", "some-model")]));
    }

    #[test]
    fn all_problems_are_told_together() {
        let error = load(
            Some("[server]\nadress = 'x'\ntimeout_ms = 'soon'\naddress = '0.0.0.0:9338'\n[search]\nsnippet_chars = 0"),
            &[("WEFT__KEYWORD__THREADS", "99"), ("WEFT__NOTHING", "1")],
            &[
                ("keyword.heap_bytes_per_thread", "5000000000"),
                ("scan.exclude", "['[']"),
                ("server.max_connections", "9223372036854775807"),
                ("server.max_streams", "2305843009213693952"),
                ("server.max_waiting", "1152921504606846976"),
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
                "server.max_streams",
                "server.max_waiting",
                "server.timeout_ms",
                "server.workers",
                "tokens.estimator",
                "vector.graph.degree",
                "vector.graph.ef_construction",
                "vector.graph.m"
            ]
        );
        let of = |key| problems.iter().find(|(problem, _)| problem.key == key).unwrap();
        assert_eq!(of("keyword.threads").1, Origin::Environment("WEFT__KEYWORD__THREADS".into()));
        assert!(of("server.address").0.reason.contains("loopback"));
    }
}
