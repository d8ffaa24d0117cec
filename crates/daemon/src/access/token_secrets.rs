//! Loading of tokens from files and variables.

use weft_indexer::read_secret_file;

use crate::config::AccessToken;
use crate::paths::Environment;

/// Minimum length of a token in characters, so that it cannot be guessed.
const MIN_TOKEN_CHARS: usize = 16;

/// Loads the secrets of one entry of `access.tokens`: one per line, so that an old token stays valid during rotation.
///
/// Empty lines and lines that begin with `#` are ignored.
/// Fails with a message that names the entry and never contains a secret.
pub(super) fn read(source: &AccessToken, environment: &Environment) -> Result<Vec<String>, String> {
    let AccessToken { name, permission: _, collections: _, file, env } = source;
    let text = match (file, env) {
        (Some(path), None) => read_secret_file(path).map_err(|error| {
            format!("cannot read the token `{name}` from {}: {error}", path.display())
        })?,
        (None, Some(variable)) => environment
            .get(variable)
            .ok_or_else(|| {
                format!("the token `{name}` is read from the variable {variable}, which is not set")
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
    if secrets.iter().any(|secret| secret.len() < MIN_TOKEN_CHARS) {
        return Err(format!(
            "the token `{name}` has less than {MIN_TOKEN_CHARS} characters; create one with `openssl rand -hex 32`"
        ));
    }
    if secrets.iter().any(|secret| !secret.chars().all(|c| c.is_ascii_graphic())) {
        return Err(format!("the token `{name}` may contain only visible ASCII characters"));
    }
    Ok(secrets)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::config::Permission;

    #[test]
    fn tokens_are_loaded_from_files_and_variables() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let environment = Environment::from_pairs(&[("GOOD", "0123456789abcdef")]);
        let source = |file: Option<PathBuf>, env: Option<&str>| AccessToken {
            name: "x".into(),
            permission: Permission::Read,
            collections: None,
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
            (source(Some("/no/such/file".into()), None), "cannot read"),
            (source(Some(folder.path().into()), None), "not a regular file"),
            (source(Some("/dev/zero".into()), None), "not a regular file"),
        ] {
            assert!(read(&source, &environment).unwrap_err().contains(part), "{source:?}");
        }
    }
}
