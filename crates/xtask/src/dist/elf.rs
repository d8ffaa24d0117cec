//! Version of the C library that a Linux program needs.
//!
//! Format: System V ABI, chapter 4, and Linux Standard Base, "Symbol Versioning".

use anyhow::{Context as _, ensure};

/// Type of the section with the required versions.
const VERSION_NEEDS: usize = 0x6fff_fffe;

/// Libraries that every system with the C library has.
const ALLOWED: &[&str] =
    &["libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libgcc_s.so.1"];

/// Requirements of a program on the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Libraries {
    /// Lowest version of the GNU C library.
    pub(super) glibc: (u32, u32),
}

impl Libraries {
    /// Reads the needs of a program; `None` if it is not ELF. Fails if it needs a library that packages do not bring along.
    pub(super) fn of(bytes: &[u8]) -> anyhow::Result<Option<Self>> {
        if !bytes.starts_with(b"\x7fELF") {
            return Ok(None);
        }
        let needs = needs(bytes).context("the program is not a little-endian 64-bit ELF file")?;
        let mut glibc = (0, 0);
        for (library, version) in &needs {
            ensure!(
                ALLOWED.contains(&library.as_str()) || library.starts_with("ld-linux"),
                "the program needs {library}, which no package installs"
            );
            if let Some(version) = version.strip_prefix("GLIBC_") {
                let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
                let minor = minor.split('.').next().unwrap_or_default();
                let parsed = major.parse().ok().zip(minor.parse().ok());
                glibc = glibc.max(parsed.unwrap_or_default());
            }
        }
        ensure!(glibc > (0, 0), "the program is not linked with the GNU C library");
        Ok(Some(Self { glibc }))
    }
}

/// Returns library and version of each need.
fn needs(bytes: &[u8]) -> Option<Vec<(String, String)>> {
    let is_64_bit_little_endian = bytes.get(4..6)? == [2, 1];
    let sections = field::<8>(bytes, 0, 0x28).filter(|_| is_64_bit_little_endian)?;
    let (size, n) = (field::<2>(bytes, 0, 0x3a)?, field::<2>(bytes, 0, 0x3c)?);
    let section = |at: usize| sections.checked_add(at.checked_mul(size)?);
    let content = |header: usize| {
        let start = field::<8>(bytes, header, 0x18)?;
        bytes.get(start..start.checked_add(field::<8>(bytes, header, 0x20)?)?)
    };
    let mut needs = Vec::new();
    for at in 0..n {
        let header = section(at)?;
        if field::<4>(bytes, header, 4)? != VERSION_NEEDS {
            continue;
        }
        let names = content(section(field::<4>(bytes, header, 0x28)?)?)?;
        let name = |at: usize| {
            let rest = names.get(at..)?;
            let end = rest.iter().position(|byte| *byte == 0)?;
            Some(String::from_utf8_lossy(&rest[..end]).into_owned())
        };
        let table = content(header)?;
        let mut need = 0_usize;
        loop {
            let library = name(field::<4>(table, need, 4)?)?;
            let mut version = need.checked_add(field::<4>(table, need, 8)?)?;
            for _ in 0..field::<2>(table, need, 2)? {
                needs.push((library.clone(), name(field::<4>(table, version, 8)?)?));
                version = version.checked_add(field::<4>(table, version, 12)?)?;
            }
            match field::<4>(table, need, 12)? {
                0 => break,
                next => need = need.checked_add(next)?,
            }
        }
    }
    Some(needs)
}

/// Returns the little-endian number of `N` bytes at `offset` from `base`; `None` beyond the end.
fn field<const N: usize>(bytes: &[u8], base: usize, offset: usize) -> Option<usize> {
    let found: &[u8; N] = bytes.get(base.checked_add(offset)?..)?.first_chunk()?;
    let mut number = [0; 8];
    number[..N].copy_from_slice(found);
    usize::try_from(u64::from_le_bytes(number)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_formats_have_no_needs_and_damaged_files_fail() {
        assert_eq!(Libraries::of(b"MZ").unwrap(), None);
        assert!(Libraries::of(b"\x7fELF").is_err());
        assert!(Libraries::of(&[b"\x7fELF\x02\x01".as_slice(), &[0xff; 200]].concat()).is_err());
    }

    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
    fn needs_of_this_test_are_read() {
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let found = needs(&program).unwrap();
        assert!(found.iter().any(|(library, _)| library == "libc.so.6"), "{found:?}");
        let Libraries { glibc } = Libraries::of(&program).unwrap().unwrap();
        assert!(((2, 17)..(3, 0)).contains(&glibc), "{glibc:?}");
    }
}
