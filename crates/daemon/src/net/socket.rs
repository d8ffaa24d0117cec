//! A Unix socket whose file goes when it does.

use std::path::{Path, PathBuf};

/// A bound Unix socket. Its file is removed when this is dropped.
pub(crate) struct Socket {
    path: PathBuf,
}

impl Socket {
    /// Its file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// What accepts connections at a Unix socket.
#[cfg(unix)]
pub(crate) type SocketListener = tokio::net::UnixListener;

/// Where there are no Unix sockets, nothing accepts any.
#[cfg(not(unix))]
pub(crate) enum SocketListener {}

#[cfg(not(unix))]
impl Socket {
    /// Nobody listens where there are none.
    pub(crate) const fn is_heard(_path: &Path) -> bool {
        false
    }

    /// Fails: there are none.
    pub(crate) fn bind(_path: &Path) -> std::io::Result<(Self, SocketListener)> {
        Err(std::io::Error::other("this system has no Unix sockets"))
    }
}

#[cfg(unix)]
impl Socket {
    /// Whether somebody listens at `path`.
    pub(crate) fn is_heard(path: &Path) -> bool {
        std::os::unix::net::UnixStream::connect(path).is_ok()
    }

    /// Binds `path`, open to the user alone; takes the place of a socket that nobody listens on any more, and of nothing else.
    pub(crate) fn bind(path: &Path) -> std::io::Result<(Self, SocketListener)> {
        use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let listener = match tokio::net::UnixListener::bind(path) {
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
                use std::os::unix::fs::FileTypeExt as _;
                if !std::fs::symlink_metadata(path)?.file_type().is_socket() {
                    return Err(std::io::Error::other("something that is no socket is there"));
                }
                if Self::is_heard(path) {
                    return Err(error);
                }
                std::fs::remove_file(path)?;
                tokio::net::UnixListener::bind(path)?
            }
            bound => bound?,
        };
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        Ok((Self { path: path.to_owned() }, listener))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::debug!(%error, "the socket's file was gone already");
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_that_nobody_listens_on_is_replaced_and_no_other_file() {
        let folder = tempfile::tempdir().unwrap();
        let [note, left, link] =
            ["note.md", "left.sock", "link.sock"].map(|name| folder.path().join(name));
        std::fs::write(&note, "precious").unwrap();
        std::os::unix::fs::symlink(&note, &link).unwrap();
        for path in [&note, &link] {
            assert!(Socket::bind(path).is_err());
            assert_eq!(std::fs::read_to_string(path).unwrap(), "precious");
        }
        drop(tokio::net::UnixListener::bind(&left).unwrap());
        let (socket, _listener) = Socket::bind(&left).unwrap();
        assert!(Socket::is_heard(&left) && Socket::bind(&left).is_err());
        drop(socket);
        assert!(!left.exists());
    }
}
