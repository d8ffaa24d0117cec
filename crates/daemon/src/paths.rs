//! The environment, read once, and the folders that it names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Environment variables of the process, read once.
#[derive(Clone, Debug, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Reads the environment; omits variables that are not UTF-8.
    #[must_use]
    pub fn read() -> Self {
        let pairs = std::env::vars_os();
        Self(
            pairs
                .filter_map(|(key, value)| {
                    Some((key.into_string().ok()?, value.into_string().ok()?))
                })
                .collect(),
        )
    }

    /// Creates an environment from `pairs`.
    #[must_use]
    pub fn from_pairs(pairs: &[(&str, &str)]) -> Self {
        Self(pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
    }

    /// Returns the value of `name`, unless it is empty.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns the variables whose names begin with `prefix`, ordered by name.
    pub(crate) fn with_prefix<'e>(
        &'e self,
        prefix: &'e str,
    ) -> impl Iterator<Item = (&'e str, &'e str)> {
        let all = self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        all.filter(move |(name, _)| name.starts_with(prefix))
    }
}

/// Folders of the user, by the XDG base directory specification.
#[derive(Clone, Debug)]
pub struct Paths {
    home: Option<PathBuf>,
    data: Option<PathBuf>,
    config: Option<PathBuf>,
    cache: Option<PathBuf>,
    state: Option<PathBuf>,
    runtime: Option<PathBuf>,
}

impl Paths {
    /// Returns the folders that `environment` names.
    #[must_use]
    pub fn new(environment: &Environment) -> Self {
        let absolute =
            |name| environment.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = absolute("HOME").or_else(|| absolute("USERPROFILE"));
        let below = |name, rest: &str| absolute(name).or_else(|| Some(home.as_ref()?.join(rest)));
        let state = below("XDG_STATE_HOME", ".local/state");
        let cache = below("XDG_CACHE_HOME", ".cache");
        Self {
            data: below("XDG_DATA_HOME", ".local/share"),
            config: below("XDG_CONFIG_HOME", ".config"),
            cache: cache.map(|folder| folder.join("weft")),
            state: state.map(|folder| folder.join("weft")),
            runtime: absolute("XDG_RUNTIME_DIR"),
            home,
        }
    }

    /// Returns the user's home, if known.
    #[must_use]
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Returns the path of the user's configuration file, which may not exist.
    #[must_use]
    pub fn config_file(&self) -> Option<PathBuf> {
        Some(self.config.as_ref()?.join("weft").join("config.toml"))
    }

    /// Returns the store of vaults at these folders, named after their canonical paths, so that every path to a folder leads to the same store.
    ///
    /// Returns `None` if the environment names no folder of the user: a shared folder must not hold the text of notes.
    #[must_use]
    pub fn store(&self, roots: &[&Path]) -> Option<PathBuf> {
        let data = self.data.as_ref()?.join("weft");
        let mut real: Vec<PathBuf> = roots
            .iter()
            .map(|root| root.canonicalize().unwrap_or_else(|_| root.to_path_buf()))
            .collect();
        real.sort_unstable();
        let mut hasher = blake3::Hasher::new();
        for path in &real {
            hasher.update(path.as_os_str().as_encoded_bytes()).update(&[0]);
        }
        Some(data.join(&hasher.finalize().to_hex()[..16]))
    }

    /// Returns the folder of the indexes of collections; `None` if the environment names no folder of the user.
    #[must_use]
    pub fn collections(&self) -> Option<PathBuf> {
        Some(self.data.as_ref()?.join("weft").join("collections"))
    }

    /// Resolves `folder` relative to the user's cache; without one, it stays relative.
    #[must_use]
    pub fn cached(&self, folder: &Path) -> PathBuf {
        self.cache.as_ref().map_or_else(|| folder.to_owned(), |cache| cache.join(folder))
    }

    /// Returns the folder of logs, and of sockets if the user has no runtime folder.
    ///
    /// Returns `None` if the environment names no folder of the user: in a shared folder, others could replace its files.
    #[must_use]
    pub fn state(&self) -> Option<&Path> {
        self.state.as_deref()
    }

    /// Returns the path of the socket of a daemon on `port`; `None` if the environment names no folder of the user.
    #[must_use]
    pub fn socket(&self, port: u16) -> Option<PathBuf> {
        let runtime = self.runtime.as_ref().map(|folder| folder.join("weft"));
        Some(runtime.or_else(|| self.state.clone())?.join(format!("{port}.sock")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_user_are_in_no_shared_folder() {
        let paths = |pairs: &[(&str, &str)]| Paths::new(&Environment::from_pairs(pairs));
        let socket = |pairs: &[(&str, &str)]| paths(pairs).socket(9338);
        let home = ("HOME", "/home/ann");
        assert_eq!(socket(&[home]), Some("/home/ann/.local/state/weft/9338.sock".into()));
        let runtime = ("XDG_RUNTIME_DIR", "/run/user/7");
        assert_eq!(socket(&[home, runtime]), Some("/run/user/7/weft/9338.sock".into()));
        let nowhere = paths(&[]);
        assert_eq!((nowhere.socket(9338), nowhere.state(), nowhere.store(&[])), (None, None, None));
        let cached = |paths: &Paths| paths.cached(Path::new("models"));
        assert_eq!(cached(&paths(&[home])), Path::new("/home/ann/.cache/weft/models"));
        assert_eq!(cached(&nowhere), Path::new("models"));
    }
}
