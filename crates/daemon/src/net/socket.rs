//! A Unix socket that removes its file.

use std::path::{Path, PathBuf};

#[cfg(unix)]
use weft_index::create_private_folder;

/// A bound Unix socket. Dropping it removes its file, unless another process has put its own there.
pub(crate) struct Socket {
    path: PathBuf,
    /// Device and inode of its file.
    #[cfg(unix)]
    file: (u64, u64),
}

impl Socket {
    /// Returns the path of its file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Listener of a Unix socket.
#[cfg(unix)]
pub(crate) type SocketListener = tokio::net::UnixListener;

/// Uninhabited: systems without Unix sockets accept no connections.
#[cfg(not(unix))]
pub(crate) enum SocketListener {}

#[cfg(not(unix))]
impl Socket {
    /// Returns false: there are no Unix sockets.
    pub(crate) const fn is_heard(_path: &Path) -> bool {
        false
    }

    /// Fails: there are no Unix sockets.
    pub(crate) fn bind(_path: &Path) -> std::io::Result<(Self, SocketListener)> {
        Err(std::io::Error::other("this system has no Unix sockets"))
    }
}

#[cfg(unix)]
impl Socket {
    /// Returns whether a process listens at `path`.
    pub(crate) fn is_heard(path: &Path) -> bool {
        std::os::unix::net::UnixStream::connect(path).is_ok()
    }

    /// Binds `path`, accessible to the user only. Replaces a socket without a listener, but no other file.
    pub(crate) fn bind(path: &Path) -> std::io::Result<(Self, SocketListener)> {
        use std::os::unix::fs::PermissionsExt as _;
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            create_private_folder(folder)?;
        }
        let listener = match tokio::net::UnixListener::bind(path) {
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
                use std::os::unix::fs::FileTypeExt as _;
                if !std::fs::symlink_metadata(path)?.file_type().is_socket() {
                    return Err(std::io::Error::other("a file that is not a socket exists there"));
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
        Ok((Self { path: path.to_owned(), file: identity(path)? }, listener))
    }
}

/// Returns the device and inode of a file.
#[cfg(unix)]
fn identity(path: &Path) -> std::io::Result<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::symlink_metadata(path).map(|metadata| (metadata.dev(), metadata.ino()))
}

impl Drop for Socket {
    fn drop(&mut self) {
        #[cfg(unix)]
        if identity(&self.path).ok() != Some(self.file) {
            return;
        }
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::debug!(%error, "the socket's file was already removed");
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn stale_socket_is_replaced_and_other_files_are_kept() {
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
        let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&left).unwrap());
        assert_eq!(mode & 0o777, 0o600, "only the owner can open it");
        drop(socket);
        assert!(!left.exists());
        let (first, _listener) = Socket::bind(&left).unwrap();
        std::fs::remove_file(&left).unwrap();
        let (_second, _listener) = Socket::bind(&left).unwrap();
        drop(first);
        assert!(Socket::is_heard(&left), "the file is that of the second");
    }
}
