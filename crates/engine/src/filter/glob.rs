//! Globs over paths, by characters: the globs of common libraries count bytes, so that `?` is no `é`.

use std::iter::Peekable;
use std::str::Chars;

use regex::Regex;

/// A pattern over whole paths.
///
/// `*` is any part of a segment, `?` one character of it, `[a-c]` one of these and `[!a-c]` one of the others; `**` as a segment is any number of segments, elsewhere it is `*`.
/// `{a,b}` is either, and may hold all of these; `\` takes a sign as it stands.
pub(super) struct Glob(Regex);

impl Glob {
    /// Fails with the reason.
    pub(super) fn new(pattern: &str) -> Result<Self, String> {
        let regex =
            Reader { rest: pattern.chars().peekable(), out: String::from("(?s)^"), depth: 0 };
        Regex::new(&regex.read()?)
            .map(Self)
            .map_err(|_| "it is too long, or nests too deep".to_owned())
    }

    /// Takes time linear in the path.
    pub(super) fn is_match(&self, path: &str) -> bool {
        self.0.is_match(path)
    }
}

/// Rewrites a glob as a regular expression.
struct Reader<'p> {
    rest: Peekable<Chars<'p>>,
    out: String,
    /// Braces that are open.
    depth: usize,
}

impl Reader<'_> {
    fn read(mut self) -> Result<String, &'static str> {
        // Whether a segment may begin here.
        let mut at_start = true;
        while let Some(c) = self.rest.next() {
            let begins = std::mem::replace(&mut at_start, false);
            match c {
                '*' => at_start = self.stars(begins),
                '?' => self.out.push_str("[^/]"),
                '[' => self.class()?,
                '{' => {
                    self.depth += 1;
                    self.out.push_str("(?:");
                    at_start = begins;
                }
                ',' if self.depth > 0 => {
                    self.out.push('|');
                    at_start = true;
                }
                '}' if self.depth > 0 => {
                    self.depth -= 1;
                    self.out.push(')');
                }
                '\\' => {
                    let quoted = self.rest.next().ok_or("nothing comes after the last `\\`")?;
                    self.literal(quoted);
                }
                _ => {
                    self.literal(c);
                    at_start = c == '/';
                }
            }
        }
        if self.depth > 0 {
            return Err("a `{` is never closed");
        }
        self.out.push('$');
        Ok(self.out)
    }

    /// What begins with a star; whether a segment begins after it.
    fn stars(&mut self, begins: bool) -> bool {
        let mut n = 1;
        while self.rest.next_if_eq(&'*').is_some() {
            n += 1;
        }
        let ends = match self.rest.peek() {
            None | Some('/') => true,
            Some(',' | '}') => self.depth > 0,
            Some(_) => false,
        };
        if n != 2 || !begins || !ends {
            self.out.push_str("[^/]*");
            return false;
        }
        let is_folder = self.rest.next_if_eq(&'/').is_some();
        self.out.push_str(if is_folder { "(?:.*/)?" } else { ".*" });
        is_folder
    }

    /// What stands between brackets.
    fn class(&mut self) -> Result<(), &'static str> {
        const OPEN: &str = "a `[` is never closed";
        let is_other = self.rest.next_if(|c| matches!(c, '!' | '^')).is_some();
        self.out.push_str(if is_other { "[^/" } else { "[" });
        let mut is_first = true;
        loop {
            let from = self.rest.next().ok_or(OPEN)?;
            if from == ']' && !is_first {
                break;
            }
            is_first = false;
            let mut ahead = self.rest.clone();
            let is_range = ahead.next() == Some('-') && ahead.next().is_some_and(|c| c != ']');
            let to = if is_range {
                self.rest.next();
                self.rest.next().ok_or(OPEN)?
            } else {
                from
            };
            if from > to {
                return Err("a range between brackets runs backwards");
            }
            let range = format!("\\x{{{:x}}}-\\x{{{:x}}}", u32::from(from), u32::from(to));
            self.out.push_str(&range);
        }
        self.out.push_str(if is_other { "]" } else { "&&[^/]]" });
        Ok(())
    }

    fn literal(&mut self, c: char) {
        self.out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each row: a glob, paths that match, paths that do not.
    #[test]
    fn globs_match_by_characters_and_segments() {
        let rows: [(&str, &[&str], &[&str]); 23] = [
            ("*", &["a", "é.md"], &["a/b"]),
            ("?/n", &["a/n", "é/n", "細/n", "😀/n"], &["/n", "ab/n", "éé/n"]),
            ("[é]/n", &["é/n"], &["e/n", "a/n"]),
            ("[a細]x", &["ax", "細x"], &["bx", "x"]),
            ("[а-я]*", &["ж", "да"], &["a", "é"]),
            ("[!a]x", &["bx", "éx"], &["ax", "/x", "x"]),
            ("[^a]x", &["bx"], &["ax"]),
            ("[]x]", &["]", "x"], &["["]),
            ("[a-]", &["a", "-"], &["b"]),
            ("[&&[]", &["&", "["], &["a"]),
            ("a[--0]b", &["a.b", "a-b"], &["a/b"]),
            ("**", &["a", "a/b", ""], &[]),
            ("**/x", &["x", "a/x", "a/b/x"], &["ax", "a/xb"]),
            ("a/**", &["a/b", "a/b/c"], &["a", "ab/c"]),
            ("a/**/b", &["a/b", "a/x/b", "a/x/y/b"], &["ab", "a/xb"]),
            ("a**b", &["ab", "axb"], &["a/b"]),
            ("a***", &["a", "abc"], &["a/b"]),
            ("{a,b}/*.md", &["a/x.md", "b/y.md"], &["c/x.md", "a/x"]),
            ("{**/x,y{1,2}}", &["x", "a/x", "y1", "y2"], &["y", "z/y1"]),
            ("x/{**,y}", &["x/a/b", "x/y"], &["x"]),
            ("a.(b)+|$,}", &["a.(b)+|$,}"], &["axbb+|$"]),
            (r"\*\[a\]", &["*[a]"], &["b[a]", "*a"]),
            ("a\n?", &["a\nb"], &["a\n"]),
        ];
        for (glob, matching, others) in rows {
            let read = Glob::new(glob).unwrap();
            for path in matching {
                assert!(read.is_match(path), "{glob} is {path}");
            }
            for path in others {
                assert!(!read.is_match(path), "{glob} is not {path}");
            }
        }
    }

    #[test]
    fn what_is_no_glob_says_why() {
        for (glob, reason) in [
            ("[a", "a `[` is never closed"),
            ("[]", "a `[` is never closed"),
            ("[!", "a `[` is never closed"),
            ("{a,b", "a `{` is never closed"),
            ("[b-a]", "a range between brackets runs backwards"),
            ("a\\", "nothing comes after the last `\\`"),
        ] {
            assert_eq!(Glob::new(glob).err().as_deref(), Some(reason), "{glob}");
        }
        assert_eq!(
            Glob::new(&"{a?,".repeat(200_000)).err().as_deref(),
            Some("a `{` is never closed")
        );
        let nested = format!("{}{}", "{a".repeat(5_000), "}".repeat(5_000));
        assert_eq!(Glob::new(&nested).err().as_deref(), Some("it is too long, or nests too deep"));
    }
}
