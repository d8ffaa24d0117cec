//! A small file that holds one number, with its checksum.

use std::path::Path;

use super::StoreError;
use crate::disk::{self, Disk};

/// The greatest number that counts: generations go on from one for ever, and a file may say anything.
pub(super) const GREATEST: u64 = u64::MAX / 2;

/// Puts `number` in the place of what the file at `path` holds, durably.
pub(super) fn write(disk: &Disk, path: &Path, number: u64) -> Result<(), StoreError> {
    let text = format!("{number} {:08x}\n", sum(number));
    disk.replace(path, text.as_bytes()).map_err(StoreError::io("write", path))
}

/// The number in the file at `path`; nothing where there is no such file.
///
/// Fails with [`StoreError::Damaged`] where it is not what was written.
pub(super) fn read(path: &Path) -> Result<Option<u64>, StoreError> {
    let bytes = disk::read(path).map_err(StoreError::unread(path))?;
    let Some(bytes) = bytes else { return Ok(None) };
    let number = str::from_utf8(&bytes).ok().and_then(|text| {
        let (number, found) = text.strip_suffix('\n')?.split_once(' ')?;
        let number = number.parse().ok().filter(|number| *number <= GREATEST)?;
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
