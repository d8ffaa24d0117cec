//! Problems of settings, and the origin of each value.

use std::fmt;
use std::path::PathBuf;

use weft_model::redact_urls;

/// Origin of the value of a setting; a later one overrides an earlier one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingOrigin {
    /// The embedded default.
    Default,
    /// A configuration file.
    File(PathBuf),
    /// An environment variable.
    Environment(String),
    /// A command-line flag.
    Flag(String),
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// An invalid setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Key of the setting.
    pub key: String,
    /// Description of the problem and of valid values.
    pub reason: String,
}

impl Problem {
    /// Returns whether the setting is in a section of the settings, or is the section.
    pub(crate) fn is_in(&self, section: &str) -> bool {
        self.key.strip_prefix(section).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, reason } = self;
        write!(f, "`{key}`: {reason}")
    }
}

/// Reason why the configuration cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration {}: {source}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file is not valid TOML.
    #[error("the configuration {} is not valid TOML: {}", path.display(), position_and_cause(source))]
    Parse {
        /// Path of the file.
        path: PathBuf,
        /// Position and cause.
        source: Box<toml::de::Error>,
    },
    /// Invalid settings, each with its origin.
    #[error("{}", list(problems))]
    Invalid {
        /// Problems in the order of the layers, then of the keys.
        problems: Vec<(Problem, SettingOrigin)>,
    },
}

/// Returns where and why a file is not valid TOML, without the line itself, which may contain a secret.
fn position_and_cause(error: &toml::de::Error) -> String {
    let text = error.to_string();
    let position = text.lines().next().unwrap_or_default();
    format!("{position}: {}", redact_urls(error.message()))
}

fn list(problems: &[(Problem, SettingOrigin)]) -> String {
    let lines = problems.iter().map(|(problem, origin)| match origin {
        SettingOrigin::Default => problem.to_string(),
        SettingOrigin::File(_) | SettingOrigin::Environment(_) | SettingOrigin::Flag(_) => {
            let Problem { key, reason } = problem;
            format!("`{key}` ({origin}): {reason}")
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}
