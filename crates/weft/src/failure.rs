//! Failures of commands and their exit codes.

use std::io::ErrorKind;

use tonic::{Code, Status};
use tonic_types::StatusExt as _;
use weft_daemon::config::{ConfigError, Problem, SettingOrigin};
use weft_daemon::{IndexError, OpenVaultsError, ServeError, StoreError, is_full};
use weft_model::escape;

use crate::flags::in_flags;

/// Invalid command line, configuration or request.
const USAGE: u8 = 2;
/// Something named does not exist.
const NOT_FOUND: u8 = 3;
/// The daemon rejected the request for another reason.
const REFUSED: u8 = 4;
/// No daemon could be reached.
const UNREACHABLE: u8 = 5;
/// Any other failure.
const OTHER: u8 = 1;

/// An error for people, with the exit code of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Exit code, the same whether a daemon or this process answers.
    pub(crate) code: u8,
    /// Description of the error.
    pub(crate) message: String,
    /// Suggested fixes, one per line.
    pub(crate) hints: Vec<String>,
}

impl Failure {
    fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hints: Vec::new() }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(USAGE, message)
    }

    /// Returns whether something named does not exist.
    pub(crate) fn is_missing(&self) -> bool {
        self.code == NOT_FOUND
    }

    pub(crate) fn other(message: impl Into<String>) -> Self {
        Self::new(OTHER, message)
    }

    pub(crate) fn unreachable(address: &str, reason: &str) -> Self {
        let failure = Self::new(UNREACHABLE, format!("no daemon answers at {address}: {reason}"));
        if reason.contains("certificate expired") {
            failure.hint("renew the daemon's certificate; after a renewal, `kill -HUP` makes the daemon reload it")
        } else if address.starts_with("https://") {
            failure.hint("for your own certificate authority, pass --tls-ca FILE; if the name in the certificate differs from the host in the address, pass --tls-name NAME")
        } else {
            failure
                .hint("start one with `weft serve DIR`, or answer from a vault in this process with `--vault DIR`")
        }
    }

    /// Returns the failure of `weft stop` if no daemon of this user listens at `socket`.
    pub(crate) fn nothing_to_stop(socket: &str, reason: &str) -> Self {
        let message = format!("no daemon of this user listens at {socket}: {reason}");
        Self::new(UNREACHABLE, message)
            .hint("stop the service of the system with `systemctl stop weft`, and a daemon at another address with `weft stop --addr ADDRESS`")
    }

    /// Returns the failure for a daemon that would ignore the settings `set`.
    pub(crate) fn settings_ignored(address: &str, set: &[String]) -> Self {
        let message = format!(
            "the daemon at {address} uses its own settings and would ignore {}",
            set.join(", ")
        );
        Self::new(REFUSED, message)
    }

    /// Returns the failure for a background daemon that exited with `code` before it was ready; `log_tail` is the end of its log.
    pub(crate) fn daemon_exited(code: i32, log_tail: &str) -> Self {
        let message = if log_tail.is_empty() { "the daemon did not start" } else { log_tail };
        // The log line already starts with `error:`.
        Self::new(u8::try_from(code).unwrap_or(OTHER), message.trim_start_matches("error: "))
    }

    /// Returns the failure for a folder that cannot be created.
    pub(crate) fn no_folder(message: impl Into<String>, error: &std::io::Error) -> Self {
        let code = if UNUSABLE_FOLDER.contains(&error.kind()) { USAGE } else { OTHER };
        Self::new(code, message)
    }

    pub(crate) fn interrupted() -> Self {
        Self::other("interrupted; everything indexed so far is kept")
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        // A status with a cause was created by the client: the connection failed, or the server speaks another protocol.
        let is_local = std::error::Error::source(&status).is_some();
        let code = match status.code() {
            Code::InvalidArgument => USAGE,
            Code::NotFound => NOT_FOUND,
            Code::Unavailable | Code::Unknown if is_local => UNREACHABLE,
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
        // The message may contain names of notes.
        let message = escape::one_line(status.message());
        let failure = if is_local {
            Self::new(code, format!("no response in time, or the connection was lost ({message})"))
        } else {
            Self::new(code, in_flags(&message))
        };
        match status.get_details_error_info() {
            Some(info) if info.reason == "UNKNOWN_NOTE" => match info.metadata.get("near_1") {
                Some(similar) => {
                    failure.hint(format!("did you mean `{}`?", escape::one_line(similar)))
                }
                None if info.metadata.contains_key("file") => {
                    failure.hint("`weft coverage` lists the state of each file")
                }
                None => failure.hint("`weft list` lists all notes"),
            },
            Some(info) if info.reason == "UNKNOWN_FRAGMENT" => {
                failure.hint("leave out `#` and what follows it for the whole note")
            }
            Some(info) if ["NO_TOKEN", "UNKNOWN_TOKEN"].contains(&info.reason.as_str()) => failure
                .hint("pass one with --token-file FILE or WEFT_TOKEN; the Unix socket (--addr unix:PATH) needs none"),
            Some(info) if info.reason == "READ_ONLY" => failure
                .hint("pass a token with the permission \"write\" (--token-file FILE or WEFT_TOKEN), or use the Unix socket on the daemon's machine (--addr unix:PATH)"),
            None if is_local => failure.hint("if another program listens there, set the address of the daemon with --addr; a daemon with TLS is reached at https://HOST:PORT, with --tls-cert and --tls-key if it requires a client certificate"),
            Some(_) | None => failure,
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let hint = match &error {
            ConfigError::Read { .. } => "`weft config default > FILE` creates a file to start from",
            ConfigError::Invalid { problems } if problems.iter().all(is_typed_vault) => {
                "name an existing folder with Markdown notes"
            }
            ConfigError::Parse { .. } | ConfigError::Invalid { .. } => {
                "`weft config default` lists every setting with its range"
            }
        };
        Self::usage(error.to_string()).hint(hint)
    }
}

/// Returns whether the problem is a vault folder given on the command line.
fn is_typed_vault((problem, origin): &(Problem, SettingOrigin)) -> bool {
    problem.key == "vaults" && matches!(origin, SettingOrigin::Flag(_))
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::NotEmpty { .. } => {
                Self::usage(message).hint("move it away, or name another folder")
            }
            StoreError::NotABackup { .. } | StoreError::NotAStore { .. } => Self::usage(message),
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

/// Errors of the file system that mean a folder cannot be created at a path.
const UNUSABLE_FOLDER: [ErrorKind; 4] = [
    ErrorKind::NotADirectory,
    ErrorKind::AlreadyExists,
    ErrorKind::PermissionDenied,
    ErrorKind::ReadOnlyFilesystem,
];

impl From<OpenVaultsError> for Failure {
    fn from(error: OpenVaultsError) -> Self {
        let message = error.to_string();
        match error {
            OpenVaultsError::NoVault
            | OpenVaultsError::NoHome
            | OpenVaultsError::FoldersAndCollection
            | OpenVaultsError::NodeModel { .. } => Self::usage(message),
            OpenVaultsError::Cluster(error) => error.into(),
            OpenVaultsError::Tokenizer { .. } | OpenVaultsError::Estimator(_) => Self::usage(message),
            OpenVaultsError::Index(error) if is_full(&error) => Self::other(message).hint(
                "free space on the disk of the index, or choose another folder with --store DIR",
            ),
            OpenVaultsError::Index(error) => match error {
                IndexError::Store(StoreError::Locked { holder, .. }) => {
                    let failure = Self::new(REFUSED, message);
                    match holder {
                        Some(address) => {
                            failure.hint(format!("query it: weft search … --addr {address}"))
                        }
                        None => failure.hint("another weft process is using it: an indexing run, which ends soon, or an agent's `weft mcp --vault`, which holds it while the agent runs; to share it, run `weft serve` and omit --vault there"),
                    }
                }
                IndexError::Vault { .. } => Self::usage(message),
                IndexError::Store(StoreError::Io { source, .. })
                    if UNUSABLE_FOLDER.contains(&source.kind()) =>
                {
                    Self::usage(message).hint("the index needs a writable folder: set one with --store DIR, or `store.path` in the settings")
                }
                IndexError::Store(StoreError::NotAStore { .. }) => Self::usage(message),
                IndexError::Store(_) => Self::other(message)
                    .hint("the index can be deleted at any time; it is rebuilt from the notes"),
                IndexError::Keyword(_)
                | IndexError::Embed(_)
                | IndexError::UnknownVault { .. }
                | IndexError::UnknownGeneration { .. }
                | IndexError::ModelIsSet
                | IndexError::Log { .. }
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
