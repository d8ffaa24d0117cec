//! The system's limit of open files, shared by connections, the store and the vaults.

use crate::net::SURPLUS_CONNECTIONS;

/// Number of open files reserved for the store, the vaults and the runtime; half of the limit if that is less.
///
/// A store with many keyword segments and a running backup opens the most, about 300.
const RESERVED_FILES: usize = 512;

/// Share of the remaining files for TCP connections; the Unix socket has the rest.
const TCP_SHARE: (usize, usize) = (3, 4);

/// Raises this process's limit of open files to the most that the system allows without privileges.
///
/// Has no effect if the system refuses.
pub fn raise_open_file_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        if current == maximum {
            return;
        }
        if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
            tracing::warn!(%error, ?current, "cannot raise the limit of open files");
        }
    }
}

/// Returns the maximum number of open files of this process; `None` if it is unlimited or unknown.
pub(crate) fn max_open_files() -> Option<u64> {
    #[cfg(unix)]
    {
        rustix::process::getrlimit(rustix::process::Resource::Nofile).current
    }
    #[cfg(not(unix))]
    {
        None
    }
}

/// Returns the number of open files of this process, connections included; `None` if the system does not report it.
pub(crate) fn n_open_files() -> Option<u64> {
    let open = ["/proc/self/fd", "/dev/fd"].iter().find_map(|path| std::fs::read_dir(path).ok())?;
    // The folder that lists them is one of them.
    Some((open.count() as u64).saturating_sub(1))
}

/// Returns the maximum numbers of connections over TCP and over the Unix socket: `wanted` of each, or fewer if the reserve of a process with `limit` open files requires it.
pub(crate) fn connections_within(limit: Option<u64>, wanted: usize) -> [usize; 2] {
    let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok()) else {
        return [wanted; 2];
    };
    let left = limit - RESERVED_FILES.min(limit / 2);
    let tcp = left / TCP_SHARE.1 * TCP_SHARE.0;
    [tcp, left - tcp].map(|share| wanted.min(share.saturating_sub(SURPLUS_CONNECTIONS)).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_a_reserve_of_open_files() {
        for (name, limit, wanted, expected) in [
            ("unlimited", None, 1024, [1024, 1024]),
            ("usual hard limit", Some(524_288), 1024, [1024, 1024]),
            ("usual soft limit", Some(1024), 1024, [368, 112]),
            ("few wanted", Some(1024), 100, [100, 100]),
            ("low limit", Some(256), 1024, [80, 16]),
            ("no room", Some(8), 1024, [1, 1]),
            ("nothing", Some(0), 1024, [1, 1]),
        ] {
            assert_eq!(connections_within(limit, wanted), expected, "{name}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn open_files_are_counted() {
        let before = n_open_files().unwrap();
        let files: Vec<_> = (0..64).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
        // Other tests of this process open and close files as well.
        assert!(n_open_files().unwrap() + 32 >= before + files.len() as u64);
        assert!(max_open_files().is_none_or(|limit| limit > before));
    }
}
