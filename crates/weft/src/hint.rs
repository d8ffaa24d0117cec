//! The next command to try, written so that it can be pasted.

use std::path::PathBuf;

/// How this process was called, and how a next one asks the same place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hint {
    program: String,
    place: String,
}

impl Hint {
    fn new(place: String) -> Self {
        let program = std::env::args().next().unwrap_or_else(|| "weft".to_owned());
        Self { program: quoted(&program), place }
    }

    /// Asks the daemon at `address`, or the usual one.
    pub(crate) fn daemon(address: Option<&str>) -> Self {
        Self::new(address.map(|address| format!(" --addr {}", quoted(address))).unwrap_or_default())
    }

    /// Answers from these folders.
    pub(crate) fn vaults(vaults: &[PathBuf]) -> Self {
        let place =
            vaults.iter().map(|path| format!(" --vault {}", quoted(&path.to_string_lossy())));
        Self::new(place.collect())
    }

    /// The command with these words, quoted for a shell.
    pub(crate) fn command(&self, words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        format!("{} {}{}", self.program, words.join(" "), self.place)
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        for (word, expected) in
            [("a/b.md", "a/b.md"), ("why do", "'why do'"), ("it's", r"'it'\''s'"), ("", "''")]
        {
            assert_eq!(quoted(word), expected);
        }
        let hint = Hint { program: "weft".into(), place: " --vault 'my notes'".into() };
        assert_eq!(hint.command(&["get", "a b"]), "weft get 'a b' --vault 'my notes'");
    }
}
