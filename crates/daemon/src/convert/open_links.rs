//! Links that open a file of a vault in a program.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Characters of a path that are encoded in a link.
const ENCODED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'/').remove(b'_').remove(b'~');

/// The same in a parameter of a link.
const ENCODED_PARAMETER: &AsciiSet = &ENCODED.add(b'/');

/// Returns the link that opens `file`, an absolute path, at a position in Visual Studio Code.
pub(super) fn vscode(file: &str, line: u32, column: u32) -> String {
    // A path of Windows begins with its drive.
    let file = file.replace('\\', "/");
    let root = if file.starts_with('/') { "" } else { "/" };
    let file = utf8_percent_encode(&file, ENCODED);
    format!("vscode://file{root}{file}:{line}:{column}")
}

/// Returns the link that opens `file`, an absolute path, in Obsidian, at the heading or block `fragment`.
///
/// Obsidian selects the vault that contains the file, whatever its name is.
pub(super) fn obsidian(file: &str, fragment: Option<&str>) -> String {
    let part = fragment.map(|fragment| format!("#{fragment}")).unwrap_or_default();
    let target = format!("{file}{part}");
    format!("obsidian://open?path={}", utf8_percent_encode(&target, ENCODED_PARAMETER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_encode_the_path() {
        assert_eq!(vscode("/n/a.md", 3, 1), "vscode://file/n/a.md:3:1");
        assert_eq!(vscode("/n/a b#%?é.md", 1, 2), "vscode://file/n/a%20b%23%25%3F%C3%A9.md:1:2");
        assert_eq!(vscode("C:\\n\\a.md", 1, 1), "vscode://file/C%3A/n/a.md:1:1");
        assert_eq!(obsidian("/n/a b.md", None), "obsidian://open?path=%2Fn%2Fa%20b.md");
        let part = obsidian("/n/a.md", Some("^id"));
        assert_eq!(part, "obsidian://open?path=%2Fn%2Fa.md%23%5Eid");
        let injected = obsidian("/n/a&vault=x\n.md", None);
        assert!(!injected.contains(['&', '\n']) && injected.matches('=').count() == 1);
    }
}
