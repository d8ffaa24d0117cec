//! Suggested next commands, ready to be pasted into a shell.

use std::path::{Path, PathBuf};

use weft_daemon::Environment;
use weft_model::escape::is_hidden_control;
use weft_model::redact_urls;

use crate::client::SET;
use crate::connection::is_connection_setting;

/// How this process was called, from which next commands to the same target are built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hint {
    program: String,
    target: String,
    /// True if a daemon answers, with its own settings.
    uses_daemon: bool,
    /// Arguments of this process.
    words: Vec<String>,
}

/// Name of the program.
const PROGRAM: &str = "weft";

/// Returns whether a shell finds this program by its name, however it was started.
fn is_on_path() -> bool {
    let environment = Environment::read();
    let path = environment.get("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(path).map(|folder| folder.join(PROGRAM));
    let first = found.find(|file| file.is_file()).and_then(|file| file.canonicalize().ok());
    first.is_some() && first == std::env::current_exe().and_then(|it| it.canonicalize()).ok()
}

/// Flags that next commands must repeat to use the same settings, credentials and generation.
const INHERITED_FLAGS: [&str; 8] = [
    "--config",
    SET,
    "--as-of",
    "--token-file",
    "--tls-ca",
    "--tls-name",
    "--tls-cert",
    "--tls-key",
];

impl Hint {
    fn new(target: String, uses_daemon: bool) -> Self {
        let mut words = std::env::args();
        let program = words.next().unwrap_or_else(|| PROGRAM.to_owned());
        let program = if is_on_path() { PROGRAM.to_owned() } else { quoted(&program) };
        Self { program, target, uses_daemon, words: words.collect() }
    }

    /// Targets the daemon at `address`, or the default one.
    pub(crate) fn daemon(address: Option<&str>) -> Self {
        let target = address.map(|address| format!(" --addr {}", quoted(address)));
        Self::new(target.unwrap_or_default(), true)
    }

    /// Targets these vaults, with the index in `store` if it is not in the default folder.
    pub(crate) fn vaults(vaults: &[PathBuf], store: Option<&Path>) -> Self {
        let flag = |flag: &str, path: &Path| format!(" {flag} {}", quoted(&path.to_string_lossy()));
        let vaults = vaults.iter().map(|path| flag("--vault", path));
        Self::new(vaults.chain(store.map(|path| flag("--store", path))).collect(), false)
    }

    /// Formats a command with these names of notes and further flags, quoted for a shell.
    ///
    /// A name that begins with `-` follows `--`, so that it is not a flag.
    pub(crate) fn command(&self, command: &str, names: &[&str], flags: &[&str]) -> String {
        let words = |words: &[&str]| -> String {
            words.iter().map(|word| format!(" {}", quoted(word))).collect()
        };
        let inherited = self.inherited().map(|(flag, value)| {
            // A setting may be an address with a password.
            format!(" {flag} {}", quoted(&redact_urls(value)))
        });
        let inherited: String = inherited.collect();
        let flags = format!("{}{}{inherited}", words(flags), self.target);
        let names_or_flags = if names.iter().any(|name| name.starts_with('-')) {
            format!("{flags} --{}", words(names))
        } else {
            format!("{}{flags}", words(names))
        };
        format!("{} {command}{names_or_flags}", self.program)
    }

    /// Formats the search that is suggested first.
    pub(crate) fn first_search(&self) -> String {
        self.command("search", &["a question in your own words"], &[])
    }

    /// Returns the given flags of [`INHERITED_FLAGS`] with their values, except settings that a daemon would ignore.
    fn inherited(&self) -> impl Iterator<Item = (&str, &str)> {
        let flags = self.words.iter().take_while(|word| *word != "--").enumerate();
        flags.filter_map(|(at, word)| {
            let (flag, value) = match word.split_once('=') {
                Some((flag, value)) => (flag, Some(value)),
                None => (word.as_str(), self.words.get(at + 1).map(String::as_str)),
            };
            let value = value.filter(|_| INHERITED_FLAGS.contains(&flag))?;
            let key = value.split_once('=').map_or(value, |(key, _)| key);
            (flag != SET || !self.uses_daemon || is_connection_setting(key))
                .then_some((flag, value))
        })
    }
}

impl Hint {
    /// Formats the current command again, with `value` for `flag`.
    pub(crate) fn again(&self, flag: &str, value: &str) -> String {
        let mut words = Vec::new();
        let mut rest = self.words.iter().map(String::as_str);
        while let Some(word) = rest.next() {
            let with_value = word.strip_prefix(flag).is_some_and(|rest| rest.starts_with('='));
            if word == flag {
                rest.next();
            } else if !with_value {
                words.push(word);
            }
        }
        // Everything after `--` is an argument.
        let at = words.iter().position(|word| *word == "--").unwrap_or(words.len());
        words.splice(at..at, [flag, value]);
        let words: Vec<String> = words.into_iter().map(|word| quoted(&redact_urls(word))).collect();
        format!("{} {}", self.program, words.join(" "))
    }
}

/// Quotes a word for a shell. Hidden controls are escaped in `$'…'`, so that the command remains one line.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:=@%+,".contains(c);
    if word.contains(is_hidden_control) {
        return format!("$'{}'", word.chars().map(escaped).collect::<String>());
    }
    // Zsh replaces `=name` by the path of a command.
    if !word.is_empty() && !word.starts_with('=') && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Escapes a character for `$'…'`: hidden controls as octal bytes, which no digit after them can extend.
fn escaped(c: char) -> String {
    match c {
        '\'' | '\\' => format!("\\{c}"),
        c if is_hidden_control(c) => {
            let mut bytes = [0; 4];
            c.encode_utf8(&mut bytes).bytes().map(|byte| format!("\\{byte:03o}")).collect()
        }
        c => c.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        for (word, expected) in [
            ("a/b.md", "a/b.md"),
            ("why do", "'why do'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
            ("$(rm -r .); `x`", "'$(rm -r .); `x`'"),
            ("=ls", "'=ls'"),
            ("~", "'~'"),
            ("a\nit's\\", r"$'a\012it\'s\\'"),
            ("a\u{202e}1", r"$'a\342\200\2561'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
        let words = ["related", "a b", "--resume=x", "--budget", "9", "--resume", "y", "--", "-c"];
        let folders = Hint::vaults(&["my notes".into()], Some(Path::new("/s")));
        let get = folders.command("get", &["x"], &[]);
        assert!(get.ends_with(" get x --vault 'my notes' --store /s"), "{get}");
        let dash = folders.command("related", &["-dash", "x"], &["--body-links"]);
        let expected = " related --body-links --vault 'my notes' --store /s -- -dash x";
        assert!(dash.ends_with(expected), "{dash}");
        let hint = Hint {
            program: "weft".into(),
            target: " --vault 'my notes'".into(),
            uses_daemon: false,
            words: words.map(String::from).to_vec(),
        };
        assert_eq!(hint.command("get", &["a b"], &[]), "weft get 'a b' --vault 'my notes'");
        assert_eq!(hint.again("--resume", "z"), "weft related 'a b' --budget 9 --resume z -- -c");
        let words =
            ["get", "--as-of=3", "--set", "embedding.model=none", "--limit", "5", "--", "--set"];
        let hint = Hint { words: words.map(String::from).to_vec(), ..hint };
        assert_eq!(
            hint.command("list", &[], &[]),
            "weft list --vault 'my notes' --as-of 3 --set embedding.model=none"
        );
        let words = ["serve", "--set=search.snippets=0", "--set", "server.address=127.0.0.1:7"];
        let hint = Hint { uses_daemon: true, words: words.map(String::from).to_vec(), ..hint };
        let command = hint.command("list", &[], &[]);
        assert_eq!(command, "weft list --vault 'my notes' --set server.address=127.0.0.1:7");
        let words = ["search", "--set", "trace.endpoint=http://me:hush@h:1/x"];
        let words = words.map(String::from).to_vec();
        let hint = Hint { uses_daemon: false, words, ..hint };
        for command in [hint.command("list", &[], &[]), hint.again("--resume", "z")] {
            assert!(command.contains("@h:1/x") && !command.contains("hush"), "{command}");
        }
    }
}
