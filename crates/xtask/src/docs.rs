//! Documentation: pages generated from the program, and links.

use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::tidy::File;

/// The annotated defaults, and the page generated from them.
const DEFAULTS: &str = "config/default.toml";
const SETTINGS: &str = "docs/settings.md";

/// Writes the generated pages.
pub(crate) fn write(root: &Path) -> anyhow::Result<()> {
    let defaults = std::fs::read_to_string(root.join(DEFAULTS)).context(DEFAULTS)?;
    std::fs::write(root.join(SETTINGS), settings(&defaults)).context(SETTINGS)?;
    let manual = ["run", "--quiet", "--locked", "--package", "weft", "--", "man", "--markdown"];
    let manual = Command::new("cargo").args(manual).current_dir(root).output()?;
    ensure!(manual.status.success(), "{}", String::from_utf8_lossy(&manual.stderr));
    std::fs::write(root.join("docs/commands.md"), manual.stdout).context("docs/commands.md")
}

/// Returns the page of settings: a section per table of the annotated defaults, an entry per key.
fn settings(defaults: &str) -> String {
    let mut page = "# Settings\n\n\
        Layers in increasing precedence: the defaults below, a file (`--config FILE`, otherwise `~/.config/weft/config.toml`), \
        environment variables (`WEFT__SERVER__ADDRESS=…` sets `server.address`), and flags (`--set KEY=VALUE` and those of single settings).\n\
        `weft config show --origin` shows the source of each value; `weft config default` prints a file to start from.\n\
        All problems with the settings are reported together, before a port is bound.\n"
        .to_owned();
    let mut comment: Vec<&str> = Vec::new();
    let mut lines = defaults.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(table) = line.strip_prefix('[') {
            let _ = writeln!(page, "\n## {}", table.trim_end_matches(']'));
            if !comment.is_empty() {
                let _ = writeln!(page, "\n{}", prose(&comment));
            }
            comment.clear();
        } else if let Some(key) = unset(line) {
            let _ = write!(page, "\n**`{key}`**, not set by default\n\n{}\n", prose(&comment));
            comment.clear();
        } else if let Some(text) = line.strip_prefix('#') {
            comment.push(text.strip_prefix(' ').unwrap_or(text));
        } else if line.is_empty() {
            // Comments above an empty line describe the file as a whole.
            comment.clear();
        } else {
            let mut value = line.to_owned();
            while value.matches('[').count() > value.matches(']').count() {
                let Some(more) = lines.next() else { break };
                value.push_str(more.trim());
            }
            let _ = write!(page, "\n**`{value}`**\n\n{}\n", prose(&comment));
            comment.clear();
        }
    }
    page
}

/// Returns the key of a line `# key = value`: a key without a default.
fn unset(line: &str) -> Option<&str> {
    let setting = line.strip_prefix("# ")?;
    let (key, _) = setting.split_once(" = ")?;
    key.chars().all(|c| c.is_ascii_lowercase() || c == '_').then_some(setting)
}

/// Converts comment lines to Markdown: sentences unchanged, indented lines as a TOML block.
fn prose(comment: &[&str]) -> String {
    let mut text = String::new();
    let mut in_block = false;
    for line in comment {
        let is_block = line.starts_with("    ");
        if is_block != in_block {
            text.push_str(if is_block { "```toml\n" } else { "```\n" });
            in_block = is_block;
        }
        let line = if is_block { line.trim_start() } else { line };
        text.push_str(line);
        text.push('\n');
    }
    if in_block {
        text.push_str("```\n");
    }
    text.trim_end().to_owned()
}

/// Returns one line per broken link of the documentation.
pub(crate) fn broken_links(root: &Path, files: &[File]) -> Vec<String> {
    // The example vault uses wikilinks and vault paths.
    let pages = files.iter().filter(|file| {
        (file.path.ends_with(".md") && !file.path.starts_with("examples/timekeeping/"))
            || file.path == "llms.txt"
    });
    pages
        .flat_map(|page| {
            targets(&page.text)
                .filter(|target| !leads_somewhere(root, files, &page.path, target))
                .map(|target| format!("{}: the link to `{target}` is broken", page.path))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Returns the targets of Markdown links outside of code.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    let mut in_fence = false;
    let lines = text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_fence ^= is_fence;
        !in_fence && !is_fence
    });
    lines.flat_map(|line| {
        // Every second part between backticks is code.
        let texts = line.split('`').step_by(2);
        texts
            .flat_map(|text| text.split("](").skip(1))
            .filter_map(|rest| rest.split_once(')').map(|(target, _)| target))
    })
}

fn leads_somewhere(root: &Path, files: &[File], page: &str, target: &str) -> bool {
    if target.contains("://") || target.starts_with("mailto:") {
        return true;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match path {
        "" => PathBuf::from(page),
        path => plain(&Path::new(page).parent().unwrap_or(Path::new("")).join(path)),
    };
    if anchor.is_empty() {
        return root.join(&path).exists();
    }
    let page = files.iter().find(|file| Path::new(&file.path) == path);
    page.is_some_and(|page| headings(&page.text).any(|heading| slug(heading) == anchor))
}

/// Resolves `..` in a path.
fn plain(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(whole.pop()),
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => whole.push(part),
        }
    }
    whole
}

fn headings(text: &str) -> impl Iterator<Item = &str> {
    let titles = text.lines().filter(|line| line.starts_with('#'));
    titles.map(|line| line.trim_start_matches('#').trim())
}

/// Returns the anchor that GitHub and mdBook generate for a heading.
fn slug(heading: &str) -> String {
    let kept = heading.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c.to_ascii_lowercase()),
        _ => None,
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{root, tidy};

    #[test]
    fn settings_page_is_current() {
        let defaults = std::fs::read_to_string(root().join(DEFAULTS)).unwrap();
        let page = std::fs::read_to_string(root().join(SETTINGS)).unwrap();
        assert!(page == settings(&defaults), "run `cargo xtask docs` and commit {SETTINGS}");
    }

    #[test]
    fn no_link_is_broken() {
        assert_eq!(broken_links(root(), &tidy::tracked(root()).unwrap()), [""; 0]);
    }

    #[test]
    fn every_page_is_in_the_summary() {
        let files = tidy::tracked(root()).unwrap();
        let summary = files.iter().find(|file| file.path == "docs/SUMMARY.md").unwrap();
        let listed: Vec<&str> = targets(&summary.text).collect();
        for file in &files {
            let page = file.path.strip_prefix("docs/").filter(|page| page.ends_with(".md"));
            if let Some(page) = page.filter(|page| *page != "SUMMARY.md") {
                assert!(listed.contains(&page), "docs/SUMMARY.md does not list {page}");
            }
        }
    }

    #[test]
    fn every_rpc_is_documented() {
        let files = tidy::tracked(root()).unwrap();
        let page = files.iter().find(|file| file.path == "docs/clients.md").unwrap();
        let contract = files.iter().filter(|file| file.path.ends_with(".proto"));
        let calls = contract
            .flat_map(|file| file.text.lines().filter_map(|line| line.trim().strip_prefix("rpc ")));
        for call in calls.filter_map(|line| line.split('(').next()) {
            assert!(
                page.text.contains(&format!("`{call}`")),
                "docs/clients.md does not mention {call}"
            );
        }
    }

    #[test]
    fn every_reason_of_an_error_is_documented() {
        let files = tidy::tracked(root()).unwrap();
        let page = files.iter().find(|file| file.path == "docs/clients.md").unwrap();
        let statuses = files.iter().find(|file| file.path == "crates/daemon/src/status.rs");
        let is_reason = |text: &&str| {
            text.len() > 3 && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
        };
        let reasons: Vec<&str> = statuses.unwrap().text.split('"').filter(is_reason).collect();
        assert!(reasons.contains(&"UNKNOWN_NOTE"), "{reasons:?}");
        for reason in reasons {
            let is_documented = page.text.contains(&format!("`{reason}`"));
            assert!(is_documented, "docs/clients.md does not mention the reason {reason}");
        }
    }

    #[test]
    fn broken_links_outside_of_code_are_reported() {
        let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
        let page = "[a](../Cargo.toml) [b](other.md#two-words) ![c](none.svg)\n```\n[d](none)\n```\n\
            [e](https://example.com) [f](other.md#three) [g](#here) `[h](none)` [`i`](none.md)\n## Here";
        let files = [file("docs/page.md", page), file("docs/other.md", "# Two words\n")];
        let expected = ["none.svg", "other.md#three", "none.md"]
            .map(|target| format!("docs/page.md: the link to `{target}` is broken"));
        assert_eq!(broken_links(root(), &files), expected);
    }

    #[test]
    fn settings_page_keeps_comments() {
        let defaults = "# The file.\n\n# One,\n# and two.\n#\n#     [[x]]\n#     a = 1\nx = [\n  1,\n]\n\n[part]\n# Three.\ny = 2\n# Four.\n# z = 3\n";
        let page = settings(defaults);
        let entries = page.split_once("bound.\n").unwrap().1;
        assert_eq!(
            entries,
            "\n**`x = [1,]`**\n\nOne,\nand two.\n\n```toml\n[[x]]\na = 1\n```\n\
             \n## part\n\n**`y = 2`**\n\nThree.\n\n**`z = 3`**, not set by default\n\nFour.\n"
        );
    }
}
