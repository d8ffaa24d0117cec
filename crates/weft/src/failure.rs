//! Why a command has no answer, and the exit code that says so.

use std::io::ErrorKind;

use tonic::{Code, Status};
use tonic_types::StatusExt as _;
use weft_daemon::config::{ConfigError, Origin, Problem};
use weft_daemon::{IndexError, OpenError, ServeError, StoreError, is_full};

use crate::flags::in_flags;

/// The command line, the configuration or a request cannot be used.
const USAGE: u8 = 2;
/// What was named does not exist.
const NOT_FOUND: u8 = 3;
/// The daemon refused for another reason.
const REFUSED: u8 = 4;
/// No daemon could be reached.
const UNREACHABLE: u8 = 5;
/// Anything else.
const OTHER: u8 = 1;

/// An error for a person, with the exit code of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The exit code, the same whether a daemon answered or the process itself.
    pub(crate) code: u8,
    /// What went wrong.
    pub(crate) message: String,
    /// What to try, a line each.
    pub(crate) hints: Vec<String>,
}

impl Failure {
    fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hints: Vec::new() }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(USAGE, message)
    }

    /// Whether what was named does not exist.
    pub(crate) fn is_missing(&self) -> bool {
        self.code == NOT_FOUND
    }

    pub(crate) fn other(message: impl Into<String>) -> Self {
        Self::new(OTHER, message)
    }

    pub(crate) fn unreachable(address: &str, reason: &str) -> Self {
        let failure = Self::new(UNREACHABLE, format!("no daemon answers at {address}: {reason}"));
        if reason.contains("certificate expired") {
            failure.hint("renew the daemon's certificate; where it was renewed, `kill -HUP` makes the daemon read it")
        } else if address.starts_with("https://") {
            failure.hint("where its certificate is of an authority of your own, name that with --tls-ca FILE; where it bears another name than the address, name that with --tls-name NAME")
        } else {
            failure
                .hint("start one with `weft serve DIR`, or answer from a folder with `--vault DIR`")
        }
    }

    /// A daemon would answer, and not by the settings `set`.
    pub(crate) fn overruled(address: &str, set: &[String]) -> Self {
        let message = format!(
            "the daemon at {address} answers by its own settings, not by {}",
            set.join(", ")
        );
        Self::new(REFUSED, message)
    }

    /// A daemon in the background ended with `code` before it served; `said` is the end of its log.
    pub(crate) fn ended(code: i32, said: &str) -> Self {
        let message = if said.is_empty() { "the daemon did not start" } else { said };
        // It has said `error:` itself.
        Self::new(u8::try_from(code).unwrap_or(OTHER), message.trim_start_matches("error: "))
    }

    pub(crate) fn interrupted() -> Self {
        Self::other("interrupted; what was indexed so far is kept")
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        // A status with a cause was made on this side: the connection broke, or carried something else.
        let lost = std::error::Error::source(&status).is_some();
        let code = match status.code() {
            Code::InvalidArgument => USAGE,
            Code::NotFound => NOT_FOUND,
            Code::Unavailable | Code::Unknown if lost => UNREACHABLE,
            Code::Ok
            | Code::Cancelled
            | Code::Unknown
            | Code::DeadlineExceeded
            | Code::AlreadyExists
            | Code::PermissionDenied
            | Code::ResourceExhausted
            | Code::FailedPrecondition
            | Code::Aborted
            | Code::OutOfRange
            | Code::Unimplemented
            | Code::Internal
            | Code::Unavailable
            | Code::DataLoss
            | Code::Unauthenticated => REFUSED,
        };
        let failure = if lost {
            Self::new(
                code,
                format!("nothing answered in time, or the connection broke ({})", status.message()),
            )
        } else {
            Self::new(code, in_flags(status.message()))
        };
        match status.get_details_error_info() {
            Some(info) if info.reason == "UNKNOWN_NOTE" => match info.metadata.get("near_1") {
                Some(near) => failure.hint(format!("did you mean `{near}`?")),
                None => failure.hint("`weft list` shows what there is"),
            },
            Some(info) if ["NO_TOKEN", "UNKNOWN_TOKEN"].contains(&info.reason.as_str()) => failure
                .hint("show one with --token-file FILE or WEFT_TOKEN; the Unix socket (--addr unix:PATH) needs none"),
            Some(info) if info.reason == "READ_ONLY" => failure
                .hint("show a token with the right \"write\" (--token-file FILE or WEFT_TOKEN), or ask at the Unix socket on the daemon's own machine (--addr unix:PATH)"),
            None if lost => failure.hint("where something else listens there, name the daemon with --addr; one with TLS is asked at https://HOST:PORT, and shown a certificate with --tls-cert and --tls-key where it asks for one"),
            Some(_) | None => failure,
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let hint = match &error {
            ConfigError::Read { .. } => "`weft config default > FILE` writes a file to begin with",
            ConfigError::Invalid { problems } if problems.iter().all(is_typed_vault) => {
                "name a folder that is there and holds Markdown notes"
            }
            ConfigError::Parse { .. } | ConfigError::Invalid { .. } => {
                "`weft config default` shows every setting with its range"
            }
        };
        Self::usage(error.to_string()).hint(hint)
    }
}

/// Whether a folder is wrong that was named on the command line.
fn is_typed_vault((problem, origin): &(Problem, Origin)) -> bool {
    problem.key == "vaults" && matches!(origin, Origin::Flag(_))
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::NotEmpty { .. } => {
                Self::usage(message).hint("move it away, or name another folder")
            }
            StoreError::NoBackup { .. } | StoreError::NoStore { .. } => Self::usage(message),
            StoreError::Locked { .. }
            | StoreError::FutureVersion { .. }
            | StoreError::PastVersion { .. }
            | StoreError::Io { .. }
            | StoreError::Damaged { .. }
            | StoreError::Changed { .. }
            | StoreError::Vector(_) => Self::other(message),
        }
    }
}

/// What the file system says of a place where no folder can be.
const PLACE_IS_WRONG: [ErrorKind; 4] = [
    ErrorKind::NotADirectory,
    ErrorKind::AlreadyExists,
    ErrorKind::PermissionDenied,
    ErrorKind::ReadOnlyFilesystem,
];

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        let message = error.to_string();
        match error {
            OpenError::NoVault | OpenError::NoHome => Self::usage(message),
            OpenError::Tokenizer { .. } | OpenError::Estimator(_) => Self::usage(message),
            OpenError::Index(error) if is_full(&error) => Self::other(message).hint(
                "make room on the disk of the index, or name a folder elsewhere with --store DIR",
            ),
            OpenError::Index(error) => match error {
                IndexError::Store(StoreError::Locked { holder, .. }) => {
                    let failure = Self::new(REFUSED, message);
                    match holder {
                        Some(address) => {
                            failure.hint(format!("ask it: weft search … --addr {address}"))
                        }
                        None => failure.hint("another weft indexes it and will soon be done, or is an agent's `weft mcp --vault`, which keeps it as long as the agent runs: let `weft serve` run and leave out --vault there"),
                    }
                }
                IndexError::Vault { .. } => Self::usage(message),
                IndexError::Store(StoreError::Io { source, .. })
                    if PLACE_IS_WRONG.contains(&source.kind()) =>
                {
                    Self::usage(message).hint("the index needs a folder that it may write to: name one with --store DIR, or `store.path` in the settings")
                }
                IndexError::Store(StoreError::NoStore { .. }) => Self::usage(message),
                IndexError::Store(_) => Self::other(message)
                    .hint("the index can be deleted at any time; it comes back the same"),
                IndexError::Keyword(_)
                | IndexError::Embed(_)
                | IndexError::UnknownVault { .. }
                | IndexError::UnknownGeneration { .. }
                | IndexError::Stopped => Self::other(message),
            },
        }
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        let message = error.to_string();
        match error {
            ServeError::Open(error) => error.into(),
            ServeError::Settings(error) => error.into(),
            ServeError::AddressInUse { .. }
            | ServeError::Listen { .. }
            | ServeError::Transport(_)
            | ServeError::Reflection(_)
            | ServeError::Opening
            | ServeError::Panicked => Self::other(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_follow_the_status() {
        for (code, expected) in [
            (Code::InvalidArgument, 2),
            (Code::NotFound, 3),
            (Code::FailedPrecondition, 4),
            (Code::ResourceExhausted, 4),
            (Code::Unavailable, 4),
        ] {
            assert_eq!(Failure::from(Status::new(code, "x")).code, expected, "{code:?}");
        }
        assert_eq!(Failure::unreachable("x", "y").code, 5);
    }
}
