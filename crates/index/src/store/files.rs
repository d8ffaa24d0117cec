//! Files that are replaced whole or not at all.

use std::io::Write as _;
use std::path::Path;

use super::StoreError;

/// Writes `bytes` beside `path`, makes them durable, and puts them in its place.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let beside = path.with_extension("new");
    write_durably(&beside, bytes)?;
    std::fs::rename(&beside, path).map_err(StoreError::io("replace", path))?;
    sync_folder(path.parent().unwrap_or(Path::new(".")))
}

pub(super) fn write_durably(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let write = || {
        let mut file = std::fs::File::create(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(StoreError::io("write", path))
}

/// Makes the names in a folder durable; a no-op where folders cannot be opened.
pub(super) fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    if cfg!(unix) {
        std::fs::File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(StoreError::io("sync", folder))?;
    }
    Ok(())
}

/// The file's bytes; nothing where there is no such file.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::io("read", path)(error)),
    }
}

/// The number a small file holds; nothing where there is none or it is no number.
pub(super) fn read_number(path: &Path) -> Result<Option<u64>, StoreError> {
    Ok(read(path)?.and_then(|bytes| String::from_utf8(bytes).ok()?.trim().parse().ok()))
}

pub(super) fn n_bytes(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(facts) if facts.is_dir() => n_bytes(&entry.path()),
            Ok(facts) => facts.len(),
            Err(_) => 0,
        })
        .sum()
}
