//! Tokens as they lie in files and variables.

use crate::config::AccessToken;
use crate::paths::Environment;

/// Characters that a token has at least: enough that nobody guesses one.
const SHORTEST: usize = 16;

/// The secrets of one entry of `access.tokens`: one a line, so that an old one can go on while a new one is handed out.
///
/// Empty lines and those that begin with `#` are none.
/// Fails with a sentence that names the entry, and never with a secret in it.
pub(super) fn read(source: &AccessToken, environment: &Environment) -> Result<Vec<String>, String> {
    let AccessToken { name, right: _, file, env } = source;
    let text = match (file, env) {
        (Some(path), None) => std::fs::read_to_string(path).map_err(|error| {
            format!("the token `{name}` cannot be read from {}: {error}", path.display())
        })?,
        (None, Some(variable)) => environment
            .get(variable)
            .ok_or_else(|| {
                format!("the token `{name}` should be in the variable {variable}, which is not set")
            })?
            .to_owned(),
        (Some(_), Some(_)) | (None, None) => {
            return Err(format!("the token `{name}` needs either `file` or `env`"));
        }
    };
    let secrets: Vec<String> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect();
    if secrets.is_empty() {
        return Err(format!("the token `{name}` is empty"));
    }
    if secrets.iter().any(|secret| secret.len() < SHORTEST) {
        return Err(format!(
            "the token `{name}` has less than {SHORTEST} characters; `openssl rand -hex 32` makes a good one"
        ));
    }
    if secrets.iter().any(|secret| !secret.chars().all(|c| c.is_ascii_graphic())) {
        return Err(format!(
            "the token `{name}` may hold letters, digits and signs of ASCII alone"
        ));
    }
    Ok(secrets)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::access::Right;

    #[test]
    fn secrets_are_read_from_files_and_variables() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let environment = Environment::from_pairs(&[("GOOD", "0123456789abcdef")]);
        let source = |file: Option<PathBuf>, env: Option<&str>| AccessToken {
            name: "x".into(),
            right: Right::Read,
            file,
            env: env.map(str::to_owned),
        };
        let good = read(&source(None, Some("GOOD")), &environment).unwrap();
        assert_eq!(good, ["0123456789abcdef"]);
        for (name, text, expected) in [
            (
                "two, for rotation",
                "# the new one\n0123456789abcdef\n\n fedcba9876543210 \r\n",
                Ok(2),
            ),
            ("nothing", "\n# none\n", Err("is empty")),
            ("too short", "0123456789abcde\n", Err("less than 16")),
            ("a space inside", "0123456789 abcdef\n", Err("ASCII")),
            ("no ASCII", "0123456789abcdefé\n", Err("ASCII")),
        ] {
            std::fs::write(&path, text).unwrap();
            let outcome = read(&source(Some(path.clone()), None), &environment);
            match (outcome, expected) {
                (Ok(secrets), Ok(n)) => assert_eq!(secrets.len(), n, "{name}"),
                (Err(reason), Err(part)) => {
                    assert!(reason.contains(part) && !reason.contains("0123"), "{name}: {reason}");
                }
                (outcome, _) => panic!("{name}: {outcome:?}"),
            }
        }
        for (source, part) in [
            (source(None, Some("MISSING")), "MISSING"),
            (source(None, None), "either"),
            (source(Some(path), Some("GOOD")), "either"),
            (source(Some("/no/such/file".into()), None), "cannot be read"),
        ] {
            assert!(read(&source, &environment).unwrap_err().contains(part), "{source:?}");
        }
    }
}
