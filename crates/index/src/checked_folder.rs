//! Changes in folders on systems without handles of folders: each is checked before and after it is made, and undone if a symbolic link redirected it.
//!
//! Weaker than an open folder: a redirected change is always an error, but it can only be undone while the link is in place, and what it replaced or removed cannot be restored. A new file is checked before anything is written into it.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Fails if a component of `path`, which must exist, is a symbolic link.
pub(crate) fn check(path: &Path) -> io::Result<()> {
    if fs::canonicalize(path)? == path {
        return Ok(());
    }
    Err(io::Error::other(format!("a symbolic link is on the way to {}", path.display())))
}

/// Opens the file at `path` for reading; fails if it is a symbolic link or behind one.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    check(path)?;
    let file = File::open(path)?;
    check(path)?;
    Ok(file)
}

/// Creates the folder at `path`; fails if it exists.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    check_parent(path)?;
    fs::create_dir(path)?;
    // Removes nothing that contains something.
    check(path).inspect_err(|_| drop(fs::remove_dir(path)))
}

/// Creates an empty file at `path` for reading and writing; fails if the name exists.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    check_parent(path)?;
    let file = File::options().read(true).write(true).create_new(true).open(path)?;
    check(path).inspect_err(|_| {
        // Where it is may be behind a link by now, or at the place from which the link was removed.
        let is_new = fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.len() == 0);
        if is_new {
            let _ = fs::remove_file(path);
        }
    })?;
    Ok(file)
}

/// Renames a file, replacing a file of that name.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    check(from)?;
    check_parent(to)?;
    fs::rename(from, to)?;
    check(to).inspect_err(|_| {
        if let Ok(redirected) = fs::canonicalize(to) {
            let _ = fs::rename(redirected, from);
        }
    })
}

/// Gives a file a second name, which must not exist.
pub(crate) fn hard_link(from: &Path, to: &Path) -> io::Result<()> {
    check(from)?;
    check_parent(to)?;
    fs::hard_link(from, to)?;
    check(to).inspect_err(|_| {
        if let Ok(redirected) = fs::canonicalize(to) {
            let _ = fs::remove_file(redirected);
        }
    })
}

/// Removes the file at `path`. A symbolic link is removed, not what it refers to.
pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    check_parent(path)?;
    fs::remove_file(path)
}

/// Removes the empty folder at `path`.
pub(crate) fn remove_folder(path: &Path) -> io::Result<()> {
    check_parent(path)?;
    fs::remove_dir(path)
}

fn check_parent(path: &Path) -> io::Result<()> {
    check(path.parent().unwrap_or(path))
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn place() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        for name in ["vault/d", "outside"] {
            fs::create_dir_all(root.join(name)).expect("created");
        }
        (folder, root)
    }

    #[test]
    fn changes_behind_a_link_are_refused() {
        let (_folder, root) = place();
        let at = |path: &str| root.join(path);
        fs::write(at("outside/x.md"), "theirs").unwrap();
        fs::write(at("vault/y.md"), "mine").unwrap();
        symlink("../outside", at("vault/link")).unwrap();
        symlink("y.md", at("vault/z.md")).unwrap();
        let (x, new) = (at("vault/link/x.md"), at("vault/link/new"));
        assert!(check(&at("vault/d")).is_ok() && check(&at("vault/link")).is_err());
        assert!(open_file(&x).is_err() && open_file(&at("vault/z.md")).is_err());
        assert!(open_file(&at("vault/y.md")).is_ok());
        assert!(create_folder(&new).is_err() && create_new(&new).is_err());
        assert!(rename(&at("vault/y.md"), &x).is_err() && rename(&x, &at("vault/w.md")).is_err());
        assert!(hard_link(&at("vault/y.md"), &new).is_err());
        assert!(remove_file(&x).is_err() && remove_folder(&at("vault/link/e")).is_err());
        assert_eq!(fs::read(at("outside/x.md")).unwrap(), b"theirs");
        assert_eq!(fs::read_dir(at("outside")).unwrap().count(), 1);
        assert_eq!(fs::read(at("vault/y.md")).unwrap(), b"mine");
        remove_file(&at("vault/z.md")).unwrap();
        assert!(at("vault/y.md").exists(), "only the link was removed");
    }

    #[test]
    fn changes_in_the_folder_are_made() {
        let (_folder, root) = place();
        let at = |path: &str| root.join("vault").join(path);
        create_folder(&at("d/e")).unwrap();
        create_new(&at("d/e/a")).unwrap().write_all(b"moss").unwrap();
        assert!(create_new(&at("d/e/a")).is_err());
        hard_link(&at("d/e/a"), &at("b")).unwrap();
        assert!(hard_link(&at("d/e/a"), &at("b")).is_err());
        rename(&at("d/e/a"), &at("c")).unwrap();
        remove_folder(&at("d/e")).unwrap();
        assert_eq!([fs::read(at("b")).unwrap(), fs::read(at("c")).unwrap()], [b"moss", b"moss"]);
    }

    #[test]
    fn redirected_write_is_an_error_while_a_folder_is_swapped() {
        let (_folder, root) = place();
        let (inside, kept, link) = (root.join("vault/d"), root.join("kept"), root.join("link"));
        symlink("../outside", &link).unwrap();
        let is_done = AtomicBool::new(false);
        let written = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    let _ = fs::rename(&inside, &kept).and_then(|()| fs::rename(&link, &inside));
                    let _ = fs::rename(&inside, &link).and_then(|()| fs::rename(&kept, &inside));
                }
            });
            let mut all_written = Vec::new();
            for at in 0..2_000 {
                let (temp, path) =
                    (inside.join(format!("{at}.tmp")), inside.join(format!("{at}.md")));
                let written = create_new(&temp).and_then(|mut file| {
                    file.write_all(b"secret")?;
                    rename(&temp, &path)
                });
                all_written.push(written.is_ok());
            }
            is_done.store(true, Ordering::Relaxed);
            all_written
        });
        let real = if kept.exists() { kept } else { inside };
        let n_written = written.iter().filter(|is_written| **is_written).count();
        println!("{n_written} of 2,000 writes succeeded");
        for (at, is_written) in written.into_iter().enumerate() {
            let name = format!("{at}.md");
            let is_outside = root.join("outside").join(&name).exists();
            assert!(!(is_written && is_outside), "{name}");
            assert!(!is_written || fs::read(real.join(&name)).unwrap() == b"secret", "{name}");
        }
    }
}
