//! A small file that holds one number and its checksum.

use std::path::Path;

use super::StoreError;
use crate::disk::{self, Disk};

/// Maximum valid number: generations increase by one, and a corrupt file may hold any number.
pub(super) const MAX_NUMBER: u64 = u64::MAX / 2;

/// Durably replaces the number in the file at `path`.
pub(super) fn write(disk: &Disk, path: &Path, number: u64) -> Result<(), StoreError> {
    let text = format!("{number} {:08x}\n", sum(number));
    disk.replace(path, text.as_bytes()).map_err(StoreError::io("write", path))
}

/// Returns the number in the file at `path`; `None` if there is no such file.
///
/// Fails with [`StoreError::Damaged`] if the checksum does not match.
pub(super) fn read(path: &Path) -> Result<Option<u64>, StoreError> {
    let bytes = disk::read(path).map_err(StoreError::read_error(path))?;
    let Some(bytes) = bytes else { return Ok(None) };
    let number = str::from_utf8(&bytes).ok().and_then(|text| {
        let (number, found) = text.strip_suffix('\n')?.split_once(' ')?;
        let number = number.parse().ok().filter(|number| *number <= MAX_NUMBER)?;
        (found == format!("{:08x}", sum(number))).then_some(number)
    });
    number.map(Some).ok_or_else(|| StoreError::Damaged {
        path: path.to_owned(),
        reason: "its checksum differs".to_owned(),
    })
}

fn sum(number: u64) -> u32 {
    crc32fast::hash(&number.to_le_bytes())
}
