//! Scans of real folders.

use std::fs;

use super::*;

/// Creates a vault from `path: text` pairs.
fn vault(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a folder can be made");
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().expect("paths have parents")).expect("folders");
        fs::write(&path, text).expect("files can be written");
    }
    root
}

fn scan_paths(root: &tempfile::TempDir, options: &ScanOptions) -> (Vec<String>, Vec<String>) {
    let ScanResult { found, skipped, attachments: _, has_path_aliases: _, leftover_temp_files: _ } =
        scan(root.path(), options, &ScanArea::WHOLE).expect("the root can be read");
    (
        found.iter().map(|file| file.path.as_str().to_owned()).collect(),
        skipped.iter().map(|file| file.path.clone()).collect(),
    )
}

fn found(root: &tempfile::TempDir) -> Vec<String> {
    scan_paths(root, &ScanOptions::default()).0
}

#[test]
fn scan_finds_markdown_in_order_and_reports_hidden_entries() {
    let root = vault(&[
        ("b.md", ""),
        ("a/z.MARKDOWN", ""),
        ("a/y.Md", ""),
        ("a b/🌿\nnew line.md", ""),
        ("c.txt", ""),
        (".hidden.md", ""),
        (".obsidian/x.md", ""),
        (".trash/x.md", ""),
        ("a/.git/x.md", ""),
        ("node_modules/x/y.md", ""),
        (".weft-1.tmp", ""),
        ("md", ""),
    ]);
    let expected = ["a b/🌿\nnew line.md", "a/y.Md", "a/z.MARKDOWN", "b.md"];
    let (found, skipped) = scan_paths(&root, &ScanOptions::default());
    assert_eq!(found, expected);
    assert_eq!(skipped, [".hidden.md", ".obsidian/", ".trash/", "a/.git/", "node_modules/"]);
}

#[test]
fn ignore_rules_exclude_files_and_are_named_in_reason() {
    let root = vault(&[
        (".gitignore", "drafts/\n*.tmp.md\n/top.md\n"),
        ("drafts/a.md", ""),
        ("x/drafts/a.md", ""),
        ("x.tmp.md", ""),
        ("top.md", ""),
        ("x/top.md", ""),
        ("x/.gitignore", "!kept.tmp.md\nlocal.md\n"),
        ("x/kept.tmp.md", ""),
        ("x/local.md", ""),
        ("local.md", ""),
        (".ignore", "ignored.md\nboth.md\n"),
        ("ignored.md", ""),
        (".weftignore", "weft.md\n!both.md\n"),
        ("y/weft.md", ""),
        ("both.md", ""),
    ]);
    let (found, skipped) = scan_paths(&root, &ScanOptions::default());
    assert_eq!(found, ["both.md", "local.md", "x/kept.tmp.md", "x/top.md"]);
    let expected =
        ["drafts/", "ignored.md", "top.md", "x.tmp.md", "x/drafts/", "x/local.md", "y/weft.md"];
    assert_eq!(skipped, expected);
    let all =
        scan(root.path(), &ScanOptions::default(), &ScanArea::WHOLE).expect("the root can be read");
    assert_eq!(all.skipped[0].reason, "the rule `drafts/` in a `.gitignore` file matches it");
}

#[test]
fn settings_restrict_scanned_files() {
    let root = vault(&[
        (".gitignore", "a/no.md\n"),
        ("a/x.md", "12345"),
        ("a/no.md", ""),
        ("a/deep/y.md", ""),
        ("b/x.md", ""),
        ("z.md", ""),
    ]);
    let only = |include: &[&str], exclude: &[&str]| {
        let owned = |globs: &[&str]| globs.iter().map(|glob| (*glob).to_owned()).collect();
        let options = ScanOptions {
            include: owned(include),
            exclude: owned(exclude),
            max_file_bytes: 4,
            ..ScanOptions::default()
        };
        scan_paths(&root, &options).0
    };
    assert_eq!(only(&[], &[]), ["a/deep/y.md", "b/x.md", "z.md"]);
    assert_eq!(only(&["a/"], &[]), ["a/deep/y.md"]);
    assert_eq!(only(&["x.md", "a/**"], &[]), ["a/deep/y.md", "b/x.md"]);
    assert_eq!(only(&[], &["deep", "/z.md"]), ["b/x.md"]);
    let broken = ScanOptions { include: vec!["a[".to_owned()], ..ScanOptions::default() };
    assert!(
        matches!(scan(root.path(), &broken, &ScanArea::WHOLE), Err(ScanError::Glob { glob, .. }) if glob == "a[")
    );
    let nowhere = scan(&root.path().join("nowhere"), &ScanOptions::default(), &ScanArea::WHOLE);
    assert!(matches!(nowhere, Err(ScanError::Read { .. })));
}

#[test]
fn metadata_differs_between_versions_of_a_file() {
    let root = vault(&[("a.md", "one")]);
    let facts = || {
        scan(root.path(), &ScanOptions::default(), &ScanArea::WHOLE)
            .expect("the root can be read")
            .found[0]
            .facts
    };
    let before = facts();
    assert_eq!(before, facts());
    assert_eq!(before.size, 3);
    fs::write(root.path().join("a.md"), "three").expect("files can be written");
    assert_ne!(before, facts());
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::symlink;

    use super::*;

    fn link(root: &tempfile::TempDir, at: &str, to: impl AsRef<Path>) {
        symlink(to, root.path().join(at)).expect("links can be made");
    }

    #[test]
    fn symbolic_links_are_followed_only_inside_vault() {
        let outside = vault(&[("secret.md", ""), ("folder/secret.md", "")]);
        let root = vault(&[("a/x.md", ""), ("b/y.md", "")]);
        link(&root, "file.md", "a/x.md");
        link(&root, "folder", "a");
        link(&root, "out.md", outside.path().join("secret.md"));
        link(&root, "out", outside.path().join("folder"));
        link(&root, "gone.md", "nowhere.md");
        link(&root, "a/up", "..");
        link(&root, "a/self", "self");
        let (found, skipped) = scan_paths(&root, &ScanOptions::default());
        assert_eq!(found, ["a/x.md", "b/y.md", "file.md", "folder/x.md"]);
        assert_eq!(skipped, ["a/up/", "folder/up/", "gone.md", "out.md", "out/"]);
    }

    #[test]
    fn cyclic_folder_links_terminate() {
        let root = vault(&[("a/x.md", ""), ("b/y.md", ""), ("c/z.md", "")]);
        for at in ["a", "b", "c"] {
            for to in ["a", "b", "c"] {
                link(&root, &format!("{at}/to-{to}"), format!("../{to}"));
            }
        }
        let found = found(&root);
        assert!(found.len() < 12, "{found:?}");
        assert!(["a/x.md", "b/y.md", "c/z.md"].iter().all(|path| found.iter().any(|f| f == path)));
    }

    #[test]
    fn unreadable_rule_file_excludes_its_folder() {
        let root = vault(&[
            ("a.md", ""),
            ("in/secret.md", ""),
            ("in/.weftignore", "secret.md\n"),
            ("in/deep/b.md", ""),
        ]);
        assert_eq!(scan_paths(&root, &ScanOptions::default()).0, ["a.md", "in/deep/b.md"]);
        let rules = root.path().join("in/.weftignore");
        fs::remove_file(&rules).expect("it is there");
        // A file that can be opened but not read, even by root.
        if !Path::new("/proc/self/mem").is_file() {
            return;
        }
        symlink("/proc/self/mem", &rules).expect("a link");
        let all = scan(root.path(), &ScanOptions::default(), &ScanArea::WHOLE).expect("a scan");
        let paths: Vec<&str> = all.found.iter().map(|found| found.path.as_str()).collect();
        assert_eq!(paths, ["a.md"]);
        let [skipped] = &all.skipped[..] else { panic!("{:?}", all.skipped) };
        assert!(skipped.failed && skipped.path == "in/");
        let begins = "it cannot be read: its rules in `.weftignore` cannot be read: ";
        assert!(skipped.reason.starts_with(begins), "{}", skipped.reason);
        symlink("/proc/self/mem", root.path().join(".gitignore")).expect("a link");
        let error =
            scan(root.path(), &ScanOptions::default(), &ScanArea::WHOLE).expect_err("no scan");
        assert!(error.to_string().contains("its rules in `.gitignore`"), "{error}");
    }

    #[test]
    fn rule_file_outside_the_vault_is_not_read() {
        let other = vault(&[("secret", "hush\ntop[hush\n")]);
        let root = vault(&[("a.md", ""), ("in/hush", ""), ("in/b.md", "")]);
        symlink(other.path().join("secret"), root.path().join("in/.gitignore")).expect("a link");
        let all = scan(root.path(), &ScanOptions::default(), &ScanArea::WHOLE).expect("a scan");
        let paths: Vec<&str> = all.found.iter().map(|found| found.path.as_str()).collect();
        assert_eq!(paths, ["a.md"], "what the rules exclude is unknown");
        let [skipped] = &all.skipped[..] else { panic!("{:?}", all.skipped) };
        assert!(skipped.failed && skipped.path == "in/");
        assert!(skipped.reason.contains("is outside the vault"), "{}", skipped.reason);
        assert!(!format!("{:?}", all.skipped).contains("hush"));
    }

    #[test]
    fn linked_rule_file_counts_as_path_alias() {
        let root = vault(&[("a.md", ""), ("rules/shared.txt", "a.md\n"), ("b.md", "")]);
        let has_path_aliases = || {
            scan(root.path(), &ScanOptions::default(), &ScanArea::WHOLE)
                .expect("a scan")
                .has_path_aliases
        };
        assert!(!has_path_aliases());
        symlink("rules/shared.txt", root.path().join(".weftignore")).expect("a link");
        assert!(has_path_aliases());
        assert_eq!(scan_paths(&root, &ScanOptions::default()).0, ["b.md"]);
    }

    #[test]
    fn root_may_be_a_symbolic_link() {
        let root = vault(&[("a/x.md", "text")]);
        let other = vault(&[]);
        let linked = other.path().join("vault");
        symlink(root.path(), &linked).expect("links can be made");
        let scan =
            scan(&linked, &ScanOptions::default(), &ScanArea::WHOLE).expect("the root can be read");
        assert_eq!(scan.found[0].path.as_str(), "a/x.md");
        let file = &scan.found[0].file;
        assert_eq!(read(&linked, file, 4).expect("the file is there"), b"text");
        read(Path::new(""), file, 4).expect_err("an empty root contains no files");
        read(other.path(), file, 4).expect_err("it is outside");
    }

    #[test]
    fn unicode_forms_of_one_name_are_one_note() {
        let root = vault(&[("e\u{301}.md", "decomposed"), ("a\u{308}/x.md", "")]);
        assert_eq!(found(&root), ["\u{e4}/x.md", "\u{e9}.md"]);
        fs::write(root.path().join("\u{e9}.md"), "composed").expect("files can be written");
        let scan = scan(root.path(), &ScanOptions::default(), &ScanArea::WHOLE)
            .expect("the root can be read");
        let winner = scan.found.iter().find(|file| file.path.as_str() == "\u{e9}.md");
        let winner = read(root.path(), &winner.expect("one is kept").file, 8);
        assert_eq!(winner.expect("it is there"), b"composed");
        assert_eq!((scan.skipped.len(), scan.skipped[0].failed), (1, true));
    }

    #[test]
    fn invalid_unicode_names_and_pipes_are_reported() {
        let root = vault(&[("a.md", "")]);
        fs::write(root.path().join(OsStr::from_bytes(b"b\xff.md")), "")
            .expect("files can be written");
        let socket = std::os::unix::net::UnixListener::bind(root.path().join("pipe.md"));
        let (found, skipped) = scan_paths(&root, &ScanOptions::default());
        assert_eq!(found, ["a.md"]);
        assert_eq!(skipped, ["b\u{fffd}.md", "pipe.md"]);
        drop(socket);
    }

    #[test]
    fn deleted_or_moved_file_is_not_read() {
        let outside = vault(&[("secret.md", "secret")]);
        let root =
            vault(&[("a.md", ""), ("b.md", ""), ("c.md", ""), ("d.md", ""), ("e/secret.md", "")]);
        let scan = scan(root.path(), &ScanOptions::default(), &ScanArea::WHOLE)
            .expect("the root can be read");
        for name in ["a.md", "b.md", "c.md", "d.md"] {
            fs::remove_file(root.path().join(name)).expect("files can be removed");
        }
        link(&root, "a.md", outside.path().join("secret.md"));
        fs::create_dir(root.path().join("b.md")).expect("folders can be made");
        let _socket = std::os::unix::net::UnixListener::bind(root.path().join("d.md"))
            .expect("sockets can be made");
        fs::remove_dir_all(root.path().join("e")).expect("folders can be removed");
        link(&root, "e", outside.path());
        let errors = scan
            .found
            .iter()
            .map(|found| read(root.path(), &found.file, 8).expect_err("it was removed"));
        let errors = errors.collect::<Vec<_>>();
        assert!(matches!(errors[0], ScanError::Outside { .. }), "{:?}", errors[0]);
        assert!(matches!(errors[1], ScanError::NoFile { .. }), "{:?}", errors[1]);
        assert!(matches!(errors[2], ScanError::Read { .. }), "{:?}", errors[2]);
        assert!(matches!(errors[3], ScanError::NoFile { .. }), "{:?}", errors[3]);
        assert!(matches!(errors[4], ScanError::Outside { .. }), "{:?}", errors[4]);
    }

    #[test]
    fn file_behind_link_inside_vault_is_read() {
        let root = vault(&[("a/x.md", "behind a link")]);
        link(&root, "file.md", "a/x.md");
        link(&root, "folder", "a");
        let root = root.path().canonicalize().expect("it is there");
        let scan = scan(&root, &ScanOptions::default(), &ScanArea::WHOLE).expect("it can be read");
        for found in &scan.found {
            assert_eq!(read(&root, &found.file, 13).expect("it can be read"), b"behind a link");
            let longer = read(&root, &found.file, 12);
            assert!(matches!(longer, Err(ScanError::TooLong { max_bytes: 12, .. })));
        }
        assert_eq!(scan.found.len(), 3);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn file_below_root_is_opened_directly_without_blocking() {
        use rustix::fs::{
            CWD, FileType, Mode, OFlags, ResolveFlags, fcntl_getfl, mknodat, openat2,
        };
        let root = vault(&[("a/x.md", ""), ("b.md", "")]);
        link(&root, "link.md", "b.md");
        link(&root, "folder", "a");
        let root = root.path().canonicalize().expect("it is there");
        let pipe = mknodat(CWD, root.join("pipe.md"), FileType::Fifo, Mode::RUSR, 0);
        pipe.expect("pipes can be made");
        let opened = |path: &str| open_unlinked(&root, &root.join(path));
        let any = openat2(CWD, &root, OFlags::RDONLY, Mode::empty(), ResolveFlags::empty());
        if any.is_err() {
            assert!(opened("b.md").is_none(), "a sandbox does not support this call");
            return;
        }
        let file = opened("b.md").expect("it is there");
        assert!(file.metadata().is_ok_and(|facts| facts.is_file()));
        assert!(!fcntl_getfl(&file).expect("it is open").contains(OFlags::NONBLOCK));
        for (path, is_opened) in [
            ("a/x.md", true),
            ("pipe.md", true),
            ("link.md", false),
            ("folder/x.md", false),
            ("a/../b.md", false),
            ("none.md", false),
        ] {
            assert_eq!(opened(path).is_some(), is_opened, "{path}");
        }
        assert!(open_unlinked(&root.join("a"), &root.join("b.md")).is_none(), "beside the root");
        assert!(open_unlinked(&root.join("folder"), &root.join("folder/x.md")).is_none());
        assert!(open_unlinked(Path::new("a"), Path::new("a/x.md")).is_none());
        let pipe = read(&root, &root.join("pipe.md"), 8);
        assert!(matches!(pipe, Err(ScanError::NoFile { .. })));
    }
}

#[test]
fn area_scan_equals_full_scan_of_that_area() {
    let root = vault(&[
        (".gitignore", "/x.md\n"),
        ("a/.ignore", "drafts/\n!x.md\n"),
        ("a/drafts/one.md", ""),
        ("a/.trash/one.md", ""),
        ("a/.hidden.md", ""),
        ("a/b/c/deep.md", ""),
        ("a/b/two.md", ""),
        ("a/x.md", ""),
        ("a/picture.png", ""),
        ("b.md", ""),
        ("x.md", ""),
    ]);
    let options = ScanOptions { exclude: vec!["two.md".into()], ..ScanOptions::default() };
    let whole = scan(root.path(), &options, &ScanArea::WHOLE).expect("the root can be read");
    assert!(!whole.has_path_aliases);
    let real = root.path().canonicalize().expect("it is there");
    let cases: [&[&str]; 10] = [
        &["a/b/c/deep.md"],
        &["a"],
        &["a/b", "b.md", "x.md"],
        &["a/drafts/one.md"],
        &["a/drafts"],
        &["a/picture.png", "nowhere.md", "nowhere/at/all.md"],
        &["b.md/no/folder.md"],
        &["a/b/two.md", "a/b/c"],
        &["a/.ignore"],
        &["a/.hidden.md", "a/.trash"],
    ];
    for touched in cases {
        let mut area = ScanArea::NOTHING;
        touched.iter().for_each(|path| area.touch(&real, &real.join(path)));
        let part = scan(root.path(), &options, &area).expect("the root can be read");
        let paths = area.paths();
        let lies_in = |path: &str| {
            paths.iter().any(|top| path == top || path.starts_with(&format!("{top}/")))
        };
        let expected: Vec<&ScannedFile> =
            whole.found.iter().filter(|file| lies_in(file.path.as_str())).collect();
        let got: Vec<&ScannedFile> =
            part.found.iter().filter(|file| lies_in(file.path.as_str())).collect();
        assert_eq!(got, expected, "{touched:?}");
        let skipped = |scan: &ScanResult| -> Vec<SkippedEntry> {
            scan.skipped.iter().filter(|file| lies_in(&file.path)).cloned().collect()
        };
        assert_eq!(skipped(&part), skipped(&whole), "{touched:?}");
        assert!(!part.has_path_aliases, "{touched:?}");
    }
}

#[cfg(unix)]
#[test]
fn path_aliases_are_reported() {
    type Case = (&'static str, fn(&Path));
    let cases: [Case; 5] = [
        ("a link to a file", |root| {
            std::os::unix::fs::symlink(root.join("a.md"), root.join("b.md")).expect("a link");
        }),
        ("a link to a folder", |root| {
            std::os::unix::fs::symlink(root.join("f"), root.join("g")).expect("a link");
        }),
        ("two names of one file", |root| {
            fs::hard_link(root.join("a.md"), root.join("b.md")).expect("a link");
        }),
        ("another spelling", |root| {
            fs::write(root.join("cafe\u{301}.md"), "").expect("a file");
        }),
        ("no alias", |_| {}),
    ];
    for (name, tangle) in cases {
        let root = vault(&[("a.md", ""), ("f/x.md", "")]);
        tangle(root.path());
        let scan = scan(root.path(), &ScanOptions::default(), &ScanArea::WHOLE);
        let scan = scan.expect("the root can be read");
        assert_eq!(scan.has_path_aliases, name != "no alias", "{name}");
    }
}

#[test]
fn note_can_be_written_only_where_scan_reads_it() {
    let root = vault(&[(".gitignore", "drafts/\n*.tmp.md\n"), ("a/x.md", "")]);
    let options = ScanOptions { exclude: vec!["secret".into()], ..ScanOptions::default() };
    let cases = [
        ("a/x.md", None),
        ("new/deep/y.md", None),
        ("Y.MARKDOWN", None),
        ("", Some("empty segment")),
        ("/etc/x.md", Some("begins with `/`")),
        ("../x.md", Some("`..`")),
        ("a/./x.md", Some("`.`")),
        ("a//x.md", Some("empty segment")),
        ("a\\x.md", Some("character")),
        (".obsidian/x.md", Some("hidden")),
        ("node_modules/x.md", Some("hidden")),
        ("a/x.txt", Some(".md")),
        ("drafts/x.md", Some("the rule `drafts/`")),
        ("a/drafts/deep/x.md", Some("the rule `drafts/`")),
        ("x.tmp.md", Some("the rule `*.tmp.md`")),
        ("secret/x.md", Some("scan.exclude")),
        ("a/x.md/y.md", Some("below a file")),
        ("a/x.md/new/y.md", Some("below a file")),
    ];
    let (long, deep) = (format!("{}.md", "x".repeat(300)), "0123456789/".repeat(64) + "x.md");
    let wide = format!("{}/", "0".repeat(200)).repeat(25) + "x.md";
    let long = [long.clone(), format!("new/{long}"), format!("new/{long}/x.md"), wide];
    let long = long.iter().map(|path| (path.as_str(), Some("longer than")));
    let deep = [(deep.as_str(), Some("65 segments")), (&deep["0123456789/".len()..], None)];
    for (path, refused) in cases.into_iter().chain(long).chain(deep) {
        let outcome = note_path(path).and_then(|path| {
            writable_path(root.path(), &options, &path).expect("the root can be read")
        });
        match (outcome, refused) {
            (Ok(at), None) => assert!(at.named == at.real && at.real.ends_with(path), "{at:?}"),
            (Err(reason), Some(part)) => assert!(reason.contains(part), "{path}: {reason}"),
            (outcome, _) => panic!("{path}: {outcome:?}"),
        }
    }
}

#[cfg(unix)]
#[test]
fn note_is_not_written_through_link_out_of_vault() {
    let (root, outside) = (vault(&[("a/x.md", "")]), vault(&[("y.md", "")]));
    let link = |to: PathBuf, name: &str| {
        std::os::unix::fs::symlink(to, root.path().join(name)).expect("a link");
    };
    link(outside.path().to_owned(), "out");
    link(outside.path().join("y.md"), "out.md");
    link(root.path().join("a"), "in");
    link(root.path().join("nowhere.md"), "dangling.md");
    let at = |path: &str| {
        let path = note_path(path).expect("a path");
        writable_path(root.path(), &ScanOptions::default(), &path).expect("the root can be read")
    };
    for path in ["out/new.md", "out/deep/new.md", "out/y.md", "out.md", "dangling.md"] {
        assert!(at(path).is_err(), "{path}");
    }
    let real = root.path().canonicalize().expect("it is there");
    link("x.md".into(), "a/link.md");
    for (path, named, target) in [
        ("in/x.md", "a/x.md", "a/x.md"),
        ("in/new.md", "a/new.md", "a/new.md"),
        ("in/new/deep.md", "a/new/deep.md", "a/new/deep.md"),
        ("in/link.md", "a/link.md", "a/x.md"),
    ] {
        let expected = WritablePath { named: real.join(named), real: real.join(target) };
        assert_eq!(at(path), Ok(expected), "{path}");
    }
}

#[cfg(unix)]
#[test]
fn files_that_cannot_be_opened_are_skipped_with_the_reason() {
    use std::os::unix::fs::PermissionsExt as _;
    let root = vault(&[("closed.md", ""), ("open.md", "")]);
    let closed = root.path().join("closed.md");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    // Root can read every file.
    let is_root = File::open(&closed).is_ok();
    let scanned = scan_readable(root.path(), &ScanOptions::default()).unwrap();
    let names: Vec<&str> = scanned.found.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(names, if is_root { &["closed.md", "open.md"][..] } else { &["open.md"] });
    let skipped: Vec<String> =
        scanned.skipped.iter().map(|entry| format!("{} {}", entry.path, entry.reason)).collect();
    let expected = "closed.md it cannot be read: Permission denied";
    assert!(is_root || skipped[0].starts_with(expected), "{skipped:?}");
    assert_eq!(skipped.len(), usize::from(!is_root));
}
