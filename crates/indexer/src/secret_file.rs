//! Reads files that contain secrets.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Maximum size of a file with secrets in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Reads a regular file of at most one MiB. Another process cannot delay it, as it could with a pipe.
pub fn read_secret_file(path: &Path) -> io::Result<String> {
    let file = open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it has more than {MAX_BYTES} bytes")));
    }
    Ok(text)
}

/// Opens a file without waiting for the writer of a pipe.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_small_regular_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "a key\n").unwrap();
        assert_eq!(read_secret_file(&path).unwrap(), "a key\n");
        #[cfg(unix)]
        {
            let pipe = folder.path().join("pipe");
            rustix::fs::mknodat(
                rustix::fs::CWD,
                &pipe,
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::RUSR,
                0,
            )
            .unwrap();
            for other in [folder.path(), Path::new("/dev/zero"), &pipe] {
                let error = read_secret_file(other).unwrap_err().to_string();
                assert!(error.contains("not a regular file"), "{other:?}: {error}");
            }
        }
        File::create(&path).unwrap().set_len(MAX_BYTES + 1).unwrap();
        let error = read_secret_file(&path).unwrap_err().to_string();
        assert!(error.contains("more than 1048576 bytes"), "{error}");
    }
}
