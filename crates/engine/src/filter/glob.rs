//! Globs over paths, matched by characters: common glob libraries count bytes, so that `?` does not match `é`.

use std::iter::Peekable;
use std::str::Chars;

use regex::{Regex, RegexBuilder};

/// Maximum length of a glob, in characters.
const LONGEST: usize = 4096;

/// Maximum size of a compiled glob, in bytes: the cost of matching grows with it.
const MAX_BYTES: usize = 1 << 18;

/// A pattern over whole paths, ignoring case.
///
/// `*` matches any part of a segment, `?` one character, `[a-c]` one of these characters and `[!a-c]` any other one. `**` as a whole segment matches any number of segments, elsewhere it equals `*`.
/// `{a,b}` matches either alternative and may contain all of these; `\` escapes the next character.
pub(super) struct Glob(Regex);

impl Glob {
    /// Compiles a glob. Fails with the reason.
    pub(super) fn new(pattern: &str) -> Result<Self, String> {
        if pattern.chars().nth(LONGEST).is_some() {
            return Err(format!("it is longer than {LONGEST} characters"));
        }
        let reader =
            GlobCompiler { rest: pattern.chars().peekable(), out: "^".into(), open: Vec::new() };
        let mut regex = RegexBuilder::new(&reader.read()?);
        let regex = regex.case_insensitive(true).dot_matches_new_line(true).size_limit(MAX_BYTES);
        regex.build().map(Self).map_err(|_| "it is too complex".to_owned())
    }

    /// True if `path` matches. Linear in the path.
    pub(super) fn is_match(&self, path: &str) -> bool {
        self.0.is_match(path)
    }
}

/// Translates a glob into a regular expression.
struct GlobCompiler<'p> {
    rest: Peekable<Chars<'p>>,
    out: String,
    /// For each open brace, whether it starts a segment.
    open: Vec<bool>,
}

impl GlobCompiler<'_> {
    fn read(mut self) -> Result<String, &'static str> {
        // True if a segment starts here.
        let mut at_start = true;
        while let Some(c) = self.rest.next() {
            let begins = std::mem::replace(&mut at_start, false);
            match (c, self.open.last()) {
                ('*', _) => at_start = self.stars(begins),
                ('?', _) => self.out.push_str("[^/]"),
                ('[', _) => self.class()?,
                ('{', _) => {
                    self.open.push(begins);
                    self.out.push_str("(?:");
                    at_start = begins;
                }
                (',', Some(begins)) => {
                    at_start = *begins;
                    self.out.push('|');
                }
                ('}', Some(_)) => {
                    self.open.pop();
                    self.out.push(')');
                }
                ('\\', _) => {
                    let quoted = self.rest.next().ok_or("the last `\\` escapes nothing")?;
                    self.literal(quoted);
                }
                (_, _) => {
                    self.literal(c);
                    at_start = c == '/';
                }
            }
        }
        if !self.open.is_empty() {
            return Err("a `{` is not closed");
        }
        self.out.push('$');
        Ok(self.out)
    }

    /// Translates `*` and `**`; returns whether a segment starts after them.
    fn stars(&mut self, begins: bool) -> bool {
        let mut n = 1;
        while self.rest.next_if_eq(&'*').is_some() {
            n += 1;
        }
        if n != 2 || !begins || !ends_segment(self.rest.clone(), self.open.len()) {
            self.out.push_str("[^/]*");
            return false;
        }
        let is_folder = self.rest.next_if_eq(&'/').is_some();
        self.out.push_str(if is_folder { "(?:.*/)?" } else { ".*" });
        is_folder
    }

    /// Translates a character class.
    fn class(&mut self) -> Result<(), &'static str> {
        const OPEN: &str = "a `[` is not closed";
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
                return Err("a character range is reversed");
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

/// True if a segment ends before `rest`, inside `n_open` braces: the text after the alternatives decides.
fn ends_segment(mut rest: Peekable<Chars<'_>>, n_open: usize) -> bool {
    for _ in 0..n_open {
        if rest.peek().is_none_or(|c| !matches!(c, ',' | '}')) {
            break;
        }
        let mut n_closed = 0;
        while n_closed < 1 {
            match rest.next() {
                Some('{') => n_closed -= 1,
                Some('}') => n_closed += 1,
                Some('\\') => drop(rest.next()),
                Some(_) => {}
                None => return false,
            }
        }
    }
    rest.peek().is_none_or(|c| *c == '/')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each row: a glob, paths that match, paths that do not match.
    #[test]
    fn globs_match_by_characters_and_segments() {
        let rows: [(&str, &[&str], &[&str]); 31] = [
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
            ("Stra?e.md", &["Straße.md", "STRAßE.MD"], &["Strasse.md"]),
            ("Stra[ß]e", &["straße"], &["strase"]),
            ("[İ]x", &["İX"], &["ax"]),
            ("[A-_]*", &["b", "_a", "Z"], &["é"]),
            ("x{y.md,**}", &["xy.md", "xa"], &["xa/b.md"]),
            ("{a/**}c", &["a/kc"], &["a/k/bc"]),
            ("{a,**}/{**,b}", &["a/b", "x/y/b", "x/y/z"], &["x"]),
            ("**/**/**/x", &["x", "a/x", "a/b/x"], &["ax"]),
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
            ("[a", "a `[` is not closed"),
            ("[]", "a `[` is not closed"),
            ("[!", "a `[` is not closed"),
            ("{a,b", "a `{` is not closed"),
            ("[b-a]", "a character range is reversed"),
            ("a\\", "the last `\\` escapes nothing"),
        ] {
            assert_eq!(Glob::new(glob).err().as_deref(), Some(reason), "{glob}");
        }
        for glob in ["a".repeat(4097), "**/".repeat(5000)] {
            let reason = "it is longer than 4096 characters";
            assert_eq!(Glob::new(&glob).err().as_deref(), Some(reason));
        }
        for glob in ["{*,**/}x".repeat(500), format!("{}{}", "{a".repeat(1_000), "}".repeat(1_000))]
        {
            let reason = "it is too complex";
            assert_eq!(Glob::new(&glob).err().as_deref(), Some(reason));
        }
    }
}
