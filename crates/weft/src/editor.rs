//! Command lines that open a file at a line in the usual editors.

use std::path::{Path, PathBuf};

use weft_daemon::Environment;
use weft_daemon::config::{OpenSettings, command_words};

/// Position in a file to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EditTarget {
    /// Absolute path of the file.
    pub(crate) file: String,
    /// Line, from 1.
    pub(crate) line: u32,
    /// Column in characters, from 1.
    pub(crate) column: u32,
    /// Uri of the note.
    pub(crate) uri: String,
}

/// Syntax in which an editor expects the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineSyntax {
    /// `+LINE FILE`.
    Plus,
    /// `FILE:LINE:COLUMN`.
    Suffix,
    /// `--goto FILE:LINE:COLUMN`.
    Goto,
    /// `FLAG LINE FILE`.
    Flag(&'static str),
    /// `-nLINE FILE`.
    Joined,
    /// The file only.
    Unknown,
}

/// Syntax by the name of the program, without its extension.
const SYNTAXES: &[(LineSyntax, &[&str])] = &[
    (
        LineSyntax::Plus,
        &[
            "bbedit",
            "e3",
            "elvis",
            "emacs",
            "emacsclient",
            "ex",
            "gedit",
            "gvim",
            "jed",
            "joe",
            "jove",
            "jmacs",
            "kak",
            "mcedit",
            "mg",
            "micro",
            "mvim",
            "nano",
            "ne",
            "neovide",
            "nvi",
            "nvim",
            "nvim-qt",
            "pico",
            "pluma",
            "rnano",
            "rview",
            "rvim",
            "tilde",
            "vi",
            "view",
            "vile",
            "vim",
            "vim.basic",
            "vim.tiny",
            "vimx",
            "vis",
            "xed",
            "xemacs",
            "zile",
        ],
    ),
    (LineSyntax::Suffix, &["helix", "hx", "lapce", "subl", "sublime_text", "zed", "zeditor"]),
    (
        LineSyntax::Goto,
        &[
            "code",
            "code-insiders",
            "code-oss",
            "codium",
            "cursor",
            "positron",
            "vscodium",
            "windsurf",
        ],
    ),
    (
        LineSyntax::Flag("--line"),
        &[
            "clion",
            "clion64",
            "geany",
            "goland",
            "goland64",
            "idea",
            "idea64",
            "kate",
            "kwrite",
            "phpstorm",
            "phpstorm64",
            "pycharm",
            "pycharm64",
            "rubymine",
            "rustrover",
            "rustrover64",
            "webstorm",
            "webstorm64",
        ],
    ),
    (LineSyntax::Flag("-l"), &["mate"]),
    (LineSyntax::Joined, &["notepad++"]),
];

impl LineSyntax {
    /// Returns the syntax of the program at `path`.
    fn of(path: &str) -> Self {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path).to_lowercase();
        let endings = [".exe", ".cmd", ".bat"];
        let bare = endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
        let known = SYNTAXES.iter().find(|(_, names)| names.contains(&bare));
        known.map_or(Self::Unknown, |(syntax, _)| *syntax)
    }

    /// Returns the arguments that open `target`.
    fn arguments(self, target: &EditTarget) -> Vec<String> {
        let EditTarget { file, line, column, uri: _ } = target;
        match self {
            Self::Plus => vec![format!("+{line}"), file.clone()],
            Self::Suffix => vec![format!("{file}:{line}:{column}")],
            Self::Goto => vec!["--goto".to_owned(), format!("{file}:{line}:{column}")],
            Self::Flag(flag) => vec![flag.to_owned(), line.to_string(), file.clone()],
            Self::Joined => vec![format!("-n{line}"), file.clone()],
            Self::Unknown => vec![file.clone()],
        }
    }
}

/// Returns the command line that opens `target` with a command: its placeholders are replaced, or, if it does not name the file, the file and line follow in the syntax of the editor.
pub(crate) fn command_line(command: &[String], target: &EditTarget) -> Vec<String> {
    let EditTarget { file, line, column, uri } = target;
    let values = [file.clone(), line.to_string(), column.to_string(), uri.clone()];
    let names_file = command.iter().any(|word| word.contains(OpenSettings::PLACEHOLDERS[0]));
    let mut words: Vec<String> = command.iter().map(|word| filled(word, &values)).collect();
    if !names_file {
        let program = command.first().map(String::as_str).unwrap_or_default();
        words.extend(LineSyntax::of(program).arguments(target));
    }
    words
}

/// Replaces the placeholders of a word by `values` in one pass, so that a file name cannot contain a placeholder.
fn filled(word: &str, values: &[String; OpenSettings::PLACEHOLDERS.len()]) -> String {
    let mut out = String::new();
    let mut rest = word;
    while let Some(start) = rest.find('{') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let found = OpenSettings::PLACEHOLDERS.iter().zip(values);
        let found = { found }.find(|(placeholder, _)| rest.starts_with(**placeholder));
        let (value, length) = found.map_or(("{", 1), |(name, value)| (value, name.len()));
        out.push_str(value);
        rest = &rest[length..];
    }
    out + rest
}

/// Editors that are looked for if the environment names none.
const FALLBACKS: &[&str] = if cfg!(windows) { &["notepad"] } else { &["editor", "vi", "nano"] };

/// Returns the command of the environment's editor: `VISUAL`, else `EDITOR`, else the first of the usual ones that is installed. `None` if there is no editor.
///
/// Fails if the variable is not a command.
pub(crate) fn of_environment(environment: &Environment) -> Result<Option<Vec<String>>, String> {
    for name in ["VISUAL", "EDITOR"] {
        if let Some(command) = environment.get(name).filter(|it| !it.trim().is_empty()) {
            let words = command_words(command).map_err(|error| format!("{name}: {error}"));
            return words.map(Some);
        }
    }
    let installed = FALLBACKS.iter().find_map(|name| {
        let path = find_program(name, environment)?;
        // Debian's `editor` is a link to an editor, whose name decides the syntax of lines.
        let real = path.canonicalize().unwrap_or(path);
        Some(vec![real.to_string_lossy().into_owned()])
    });
    Ok(installed)
}

/// Returns the path of a program in the folders of `PATH`.
pub(crate) fn find_program(name: &str, environment: &Environment) -> Option<PathBuf> {
    let endings: &[&str] = if cfg!(windows) { &[".exe", ".cmd", ".bat"] } else { &[""] };
    let folders = std::env::split_paths(environment.get("PATH")?);
    let mut all = folders.flat_map(|folder| {
        endings.iter().map(move |ending| folder.join(format!("{name}{ending}")))
    });
    all.find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        path.metadata()
            .is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target() -> EditTarget {
        EditTarget { file: "/n/a b.md".into(), line: 12, column: 3, uri: "a b".into() }
    }

    #[test]
    fn line_is_given_in_the_syntax_of_the_editor() {
        for (command, expected) in [
            ("vim", &["vim", "+12", "/n/a b.md"][..]),
            ("/usr/bin/nvim -R", &["/usr/bin/nvim", "-R", "+12", "/n/a b.md"]),
            ("emacsclient -nw", &["emacsclient", "-nw", "+12", "/n/a b.md"]),
            ("nano", &["nano", "+12", "/n/a b.md"]),
            ("kak", &["kak", "+12", "/n/a b.md"]),
            ("hx", &["hx", "/n/a b.md:12:3"]),
            ("zed --wait", &["zed", "--wait", "/n/a b.md:12:3"]),
            ("subl -w", &["subl", "-w", "/n/a b.md:12:3"]),
            ("code --wait", &["code", "--wait", "--goto", "/n/a b.md:12:3"]),
            (r"C:\bin\Code.cmd", &[r"C:\bin\Code.cmd", "--goto", "/n/a b.md:12:3"]),
            ("idea", &["idea", "--line", "12", "/n/a b.md"]),
            ("mate -w", &["mate", "-w", "-l", "12", "/n/a b.md"]),
            ("notepad++.exe", &["notepad++.exe", "-n12", "/n/a b.md"]),
            ("my-editor", &["my-editor", "/n/a b.md"]),
            ("wez -- hx {file}:{line}", &["wez", "--", "hx", "/n/a b.md:12"]),
            ("x {column} {uri} {file} {none}", &["x", "3", "a b", "/n/a b.md", "{none}"]),
        ] {
            let words = command_words(command).unwrap();
            assert_eq!(command_line(&words, &target()), expected, "{command}");
        }
    }

    #[test]
    fn file_name_is_not_searched_for_placeholders() {
        let target = EditTarget { file: "/n/{line}.md".into(), ..target() };
        let words = command_words("x {file} {line}").unwrap();
        assert_eq!(command_line(&words, &target), ["x", "/n/{line}.md", "12"]);
    }

    #[test]
    fn names_of_editors_are_distinct() {
        let mut names: Vec<&str> = SYNTAXES.iter().flat_map(|(_, names)| *names).copied().collect();
        let n = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), n);
    }

    #[test]
    fn visual_precedes_editor() {
        let editor = |pairs: &[(&str, &str)]| of_environment(&Environment::from_pairs(pairs));
        let words = |text: &str| Ok(Some(command_words(text).unwrap()));
        assert_eq!(editor(&[("VISUAL", "code -w"), ("EDITOR", "vi")]), words("code -w"));
        assert_eq!(editor(&[("VISUAL", " "), ("EDITOR", "vi")]), words("vi"));
        assert_eq!(editor(&[("PATH", "/nowhere")]), Ok(None));
        assert!(editor(&[("EDITOR", "'vi")]).unwrap_err().starts_with("EDITOR: "));
    }
}
