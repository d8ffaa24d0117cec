//! How notes are opened for editing.

use serde::{Deserialize, Serialize};
use weft_model::settings::Problems;

/// How notes are opened for editing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OpenSettings {
    /// `editor`, `vscode`, `obsidian`, or a command.
    pub with: String,
}

/// Program that opens a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoteOpener {
    /// The editor of the environment.
    Editor,
    /// Visual Studio Code.
    VsCode,
    /// Obsidian.
    Obsidian,
    /// A command, as words, with placeholders such as `{file}`.
    Command(Vec<String>),
}

impl Default for OpenSettings {
    fn default() -> Self {
        Self { with: "editor".to_owned() }
    }
}

impl OpenSettings {
    /// Placeholders of a command.
    pub const PLACEHOLDERS: [&str; 4] = ["{file}", "{line}", "{column}", "{uri}"];

    /// Returns the program to open notes with; fails if the command is invalid.
    pub fn opener(&self) -> Result<NoteOpener, String> {
        match self.with.trim() {
            "editor" => Ok(NoteOpener::Editor),
            "vscode" => Ok(NoteOpener::VsCode),
            "obsidian" => Ok(NoteOpener::Obsidian),
            "" => Err("must be \"editor\", \"vscode\", \"obsidian\" or a command".to_owned()),
            command => command_words(command).map(NoteOpener::Command),
        }
    }

    /// Returns the invalid values.
    pub(super) fn problems(&self) -> Problems {
        let mut problems = Problems::default();
        problems.read("with", self.opener());
        problems
    }
}

/// Splits a command into words as a shell does: at white space outside quotes. A backslash escapes a quote, white space or a backslash, and is itself otherwise, as in Windows paths. Nothing is expanded.
///
/// Fails on an unclosed quote and on a command without words.
pub fn command_words(command: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        let is_escape = |next: &char| matches!(next, '"' | '\'' | '\\') || next.is_whitespace();
        match (c, quote) {
            ('\\', None | Some('"')) => {
                let escaped = chars.next_if(is_escape).unwrap_or(c);
                word.get_or_insert_default().push(escaped);
            }
            (c, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    if let Some(quote) = quote {
        return Err(format!("the command `{command}` has an unclosed {quote}"));
    }
    words.extend(word);
    if words.is_empty() { Err("the command is empty".to_owned()) } else { Ok(words) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_split_like_a_shell_does() {
        for (command, expected) in [
            ("code --wait", Some(&["code", "--wait"][..])),
            ("  hx  {file}:{line} ", Some(&["hx", "{file}:{line}"])),
            ("'/opt/my editor/bin' +{line}", Some(&["/opt/my editor/bin", "+{line}"])),
            (r"/opt/my\ editor", Some(&["/opt/my editor"])),
            (r#""C:\Program Files\x.exe" a"#, Some(&[r"C:\Program Files\x.exe", "a"])),
            (r#"a "" b"#, Some(&["a", "", "b"])),
            ("a '$HOME'", Some(&["a", "$HOME"])),
            ("a 'b", None),
            ("  ", None),
        ] {
            let words = command_words(command).ok();
            let expected = expected.map(|it| it.iter().map(ToString::to_string).collect());
            assert_eq!(words, expected, "{command}");
        }
    }

    #[test]
    fn setting_names_a_program_or_a_command() {
        let opener = |with: &str| OpenSettings { with: with.to_owned() }.opener();
        assert_eq!(opener("editor"), Ok(NoteOpener::Editor));
        assert_eq!(opener("vscode"), Ok(NoteOpener::VsCode));
        assert_eq!(opener("obsidian"), Ok(NoteOpener::Obsidian));
        assert_eq!(
            opener("hx {file}"),
            Ok(NoteOpener::Command(vec!["hx".into(), "{file}".into()]))
        );
        assert!(opener(" ").is_err() && opener("\"x").is_err());
    }
}
