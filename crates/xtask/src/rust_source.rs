//! Rust files of the library crates as plain text, without comments, literals and tests.

use crate::tidy::File;

/// Crates that are not part of the product.
const TOOLS: &[&str] = &["testkit", "xtask"];

/// The code of one Rust file in a crate's `src`.
pub(crate) struct Source {
    /// The folder of its crate below `crates/`.
    pub(crate) krate: String,
    /// Its path below the crate's `src`.
    pub(crate) path: String,
    /// Its text without comments, literals and the module of unit tests at its end.
    pub(crate) code: String,
}

/// Returns the code of the product's crates, by path; files of tests are left out.
pub(crate) fn sources(files: &[File]) -> Vec<Source> {
    let sources = files.iter().filter_map(|file| {
        let (krate, path) = file.path.strip_prefix("crates/")?.split_once("/src/")?;
        let is_test = path.split('/').any(|part| part == "tests.rs" || part == "tests");
        (path.ends_with(".rs") && !is_test && !TOOLS.contains(&krate)).then(|| Source {
            krate: krate.to_owned(),
            path: path.to_owned(),
            code: code(&file.text),
        })
    });
    sources.collect()
}

/// Returns `text` up to its unit tests, with a space for each comment and literal.
fn code(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let mut rest = &text[..end];
    let mut code = String::with_capacity(end);
    while let Some(c) = rest.chars().next() {
        let n_skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if c == '"' {
            string_len(rest)
        } else if let Some(raw) = rest.strip_prefix("r#\"") {
            raw.find("\"#").map_or(rest.len(), |at| at + 5)
        } else if c == '\'' {
            char_len(rest)
        } else {
            0
        };
        if n_skipped > 0 {
            code.push(' ');
            rest = &rest[n_skipped..];
        } else {
            code.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    code
}

/// Returns the length of the string literal that `text` starts with.
fn string_len(text: &str) -> usize {
    let mut escaped = true;
    for (at, c) in text.char_indices() {
        match c {
            '"' if !escaped => return at + 1,
            '\\' if !escaped => escaped = true,
            _ => escaped = false,
        }
    }
    text.len()
}

/// Returns the length of the character literal that `text` starts with, 0 for a lifetime.
fn char_len(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some((at, c))) => {
            let start = at + c.len_utf8();
            text[start..].find('\'').map_or(text.len(), |end| start + end + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_literals_and_tests_are_left_out() {
        let text = "use a::b; // c::d\nfn f<'x>() { g(\"e \\\"::f\", '\\'', '\"', r#\"h\"#); }\n#[cfg(test)]\nmod tests {}\n";
        let code: String = code(text).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(code, "use a::b; fn f<'x>() { g( , , , ); }");
    }

    #[test]
    fn only_the_product_is_listed() {
        let paths = [
            "crates/a/src/b.rs",
            "crates/a/src/b/tests.rs",
            "crates/xtask/src/c.rs",
            "crates/a/tests/d.rs",
        ];
        let files = paths.map(|path| File { path: path.to_owned(), text: String::new() });
        let listed: Vec<_> =
            sources(&files).into_iter().map(|source| (source.krate, source.path)).collect();
        assert_eq!(listed, [("a".to_owned(), "b.rs".to_owned())]);
    }
}
