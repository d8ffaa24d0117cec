//! Lines of a page: where the glyphs that a page shows begin a new word, line or paragraph.

/// Distance between two strings on a line from which they are separate words, as a share of the font's size.
///
/// Spaces of most fonts are a quarter wide, and letters that are moved closer or apart differ by less than a tenth.
const WORD_GAP: f64 = 0.15;

/// Distance between two baselines from which they are separate lines: more than that of a raised number.
const LINE_GAP: f64 = 0.5;

/// Distance between two baselines from which they are separate paragraphs.
const PARAGRAPH_GAP: f64 = 1.9;

/// A string on a page.
pub(super) struct Glyphs<'t> {
    pub(super) text: &'t str,
    pub(super) start: (f64, f64),
    pub(super) end: (f64, f64),
    /// Direction of writing, of any length.
    pub(super) direction: (f64, f64),
    /// Size of the font on the page.
    pub(super) size: f64,
}

/// Collects the text of a page in the order in which it is shown.
pub(super) struct PageLayout {
    text: String,
    max_bytes: usize,
    last: Option<LastGlyphs>,
}

struct LastGlyphs {
    text: String,
    start: (f64, f64),
    end: (f64, f64),
    direction: (f64, f64),
}

impl PageLayout {
    pub(super) const fn new(max_bytes: usize) -> Self {
        Self { text: String::new(), max_bytes, last: None }
    }

    /// Returns true if the text has reached its maximum length.
    pub(super) const fn is_full(&self) -> bool {
        self.text.len() >= self.max_bytes
    }

    /// Adds a string.
    pub(super) fn add(&mut self, glyphs: &Glyphs<'_>) {
        let Glyphs { text, start, end, direction, size } = *glyphs;
        let length = direction.0.hypot(direction.1);
        if text.is_empty() || self.is_full() || !length.is_normal() {
            return;
        }
        let direction = (direction.0 / length, direction.1 / length);
        // A font of size 0 is invisible; its strings still follow each other.
        let size = if size.is_normal() { size } else { 1.0 };
        if let Some(last) = &self.last {
            let moved = |from: (f64, f64)| (start.0 - from.0, start.1 - from.1);
            let is_near = |from: (f64, f64)| moved(from).0.hypot(moved(from).1) < WORD_GAP * size;
            // Some programs print a string twice, a little apart, to make it bold.
            if last.text == text && is_near(last.start) {
                return;
            }
            let (x, y) = moved(last.end);
            let along = x * direction.0 + y * direction.1;
            let across = (y * direction.0 - x * direction.1).abs();
            let turn = last.direction.0 * direction.0 + last.direction.1 * direction.1;
            if turn < 0.9 || across > PARAGRAPH_GAP * size {
                self.separate("\n\n");
            } else if across > LINE_GAP * size || along < -2.0 * size {
                self.separate("\n");
            } else if along > WORD_GAP * size {
                self.separate(" ");
            }
        }
        self.text.push_str(text);
        self.last = Some(LastGlyphs { text: text.to_owned(), start, end, direction });
    }

    fn separate(&mut self, separator: &str) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
        self.text.push_str(separator);
    }

    /// Returns the text of the page.
    pub(super) fn finish(self) -> String {
        let mut text = clean(&self.text);
        text.truncate(text.floor_char_boundary(self.max_bytes));
        text
    }
}

/// Returns the text without control characters, with words that were divided at the end of a line put together, single spaces, and at most one empty line in a row.
fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut n_empty = 0;
    for line in text.lines() {
        let words: Vec<String> = line.split_whitespace().map(plain_word).collect();
        let line = words.join(" ");
        let line = line.trim();
        if line.is_empty() {
            n_empty += 1;
            continue;
        }
        if !out.is_empty() {
            let divided = out.strip_suffix(['-', '\u{2010}', '\u{ad}']).filter(|before| {
                let is_word = before.ends_with(char::is_alphabetic);
                n_empty == 0 && is_word && line.starts_with(char::is_lowercase)
            });
            match divided.map(str::len) {
                Some(length) => out.truncate(length),
                None => out.push_str(if n_empty == 0 { "\n" } else { "\n\n" }),
            }
        }
        n_empty = 0;
        out.push_str(line);
    }
    out.replace('\u{ad}', "")
}

/// Returns a word with letters for ligatures, without control characters.
fn plain_word(word: &str) -> String {
    let mut plain = String::with_capacity(word.len());
    for c in word.chars() {
        match c {
            '\u{fb00}' => plain.push_str("ff"),
            '\u{fb01}' => plain.push_str("fi"),
            '\u{fb02}' => plain.push_str("fl"),
            '\u{fb03}' => plain.push_str("ffi"),
            '\u{fb04}' => plain.push_str("ffl"),
            '\u{fb05}' | '\u{fb06}' => plain.push_str("st"),
            c if c.is_control() => {}
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lays out strings of size 10 at their positions; each letter is 5 wide.
    fn layout(strings: &[(&str, f64, f64)]) -> String {
        let mut layout = PageLayout::new(10_000);
        for (text, x, y) in strings {
            let width = 5.0 * text.chars().map(|_| 1.0).sum::<f64>();
            layout.add(&Glyphs {
                text,
                start: (*x, *y),
                end: (x + width, *y),
                direction: (1.0, 0.0),
                size: 10.0,
            });
        }
        layout.finish()
    }

    #[test]
    fn positions_become_words_and_lines() {
        type Strings<'t> = &'t [(&'t str, f64, f64)];
        let cases: &[(&str, Strings<'_>, &str)] = &[
            ("parts of a word", &[("mo", 0.0, 0.0), ("ss", 10.5, 0.0)], "moss"),
            ("two words", &[("soft", 0.0, 0.0), ("moss", 22.5, 0.0)], "soft moss"),
            ("two lines", &[("soft", 0.0, 0.0), ("moss", 0.0, -12.0)], "soft\nmoss"),
            ("two paragraphs", &[("soft", 0.0, 0.0), ("moss", 0.0, -30.0)], "soft\n\nmoss"),
            ("raised number", &[("moss", 0.0, 0.0), ("2", 20.0, 4.0)], "moss2"),
            ("second column", &[("soft", 0.0, 0.0), ("moss", 300.0, 500.0)], "soft\n\nmoss"),
            ("bold by printing twice", &[("moss", 0.0, 0.0), ("moss", 0.3, 0.0)], "moss"),
            ("repeated word", &[("la", 0.0, 0.0), ("la", 12.5, 0.0)], "la la"),
            ("divided word", &[("mos-", 0.0, 0.0), ("ses", 0.0, -12.0)], "mosses"),
            ("no divided word", &[("A-", 0.0, 0.0), ("B", 0.0, -12.0)], "A-\nB"),
            ("spaces of its own", &[("soft ", 0.0, 0.0), (" moss", 30.0, 0.0)], "soft moss"),
            ("ligature", &[("\u{fb01}n\u{0}", 0.0, 0.0)], "fin"),
            ("nothing", &[("", 0.0, 0.0)], ""),
        ];
        for (name, strings, expected) in cases {
            assert_eq!(layout(strings), *expected, "{name}");
        }
    }

    #[test]
    fn text_is_bounded() {
        let mut layout = PageLayout::new(10);
        for at in 0..100 {
            layout.add(&Glyphs {
                text: "größe",
                start: (f64::from(at) * 100.0, 0.0),
                end: (f64::from(at) * 100.0 + 1.0, 0.0),
                direction: (1.0, 0.0),
                size: f64::NAN,
            });
        }
        let text = layout.finish();
        assert!(text.len() <= 10 && text.starts_with("größe"), "{text}");
    }
}
