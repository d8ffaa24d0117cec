//! Word splitter: splits a text into words, and words into parts.

use super::script::{CharClass, Script, continues_syllable};
use super::token_cache::ShortWord;

/// Range of text that is one word, or one run of a script without spaces.
pub(super) struct RawWord {
    pub(super) start: usize,
    pub(super) end: usize,
    /// `None` for numbers and pictographs.
    pub(super) script: Option<Script>,
    pub(super) is_compound: bool,
}

/// Short word of unaccented Latin letters, or of digits.
#[derive(Clone, Copy, Default)]
pub(super) struct AsciiWord {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) short: ShortWord,
}

/// Splits a text into words.
pub(super) struct WordSplitter<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
}

impl WordSplitter<'_> {
    /// Fills `run` with the ASCII words that follow and returns their number. It is less than the capacity only before another kind of word or at the end of the text.
    pub(super) fn ascii_run(&mut self, run: &mut [AsciiWord]) -> usize {
        let mut n = 0;
        while let Some(slot) = run.get_mut(n)
            && let Some(word) = self.next_ascii()
        {
            *slot = word;
            n += 1;
        }
        n
    }

    /// Returns the next word if it is short, consists of lowercase letters, uppercase letters, an uppercase letter followed by lowercase ones (all unaccented), or digits, and is followed by a byte that ends a word of its kind. Most words of most texts qualify.
    ///
    /// Skips the ASCII marks and spaces before the next word in any case.
    #[inline]
    pub(super) fn next_ascii(&mut self) -> Option<AsciiWord> {
        let rest = &self.text.as_bytes()[self.at..];
        let n_gap = rest.iter().take_while(|byte| MARKS[usize::from(**byte)] & GAP != 0).count();
        self.at += n_gap;
        let rest = &rest[n_gap..];
        let block =
            rest.first_chunk().map_or_else(|| tail(rest), |block| u128::from_le_bytes(*block));
        let [first, second, ..] = block.to_le_bytes();
        let (n_bytes, ends) = match first {
            b'0'..=b'9' => (n_within(block, b'0', b'9', 0), ENDS_DIGITS),
            b'A'..=b'Z' if second.is_ascii_uppercase() => {
                (n_within(block, b'A', b'Z', 1), ENDS_LETTERS)
            }
            b'A'..=b'Z' | b'a'..=b'z' => (n_within(block, b'a', b'z', 1), ENDS_LETTERS),
            _ => return None,
        };
        let short = ShortWord::of(block, n_bytes)?;
        let end = block.to_le_bytes()[n_bytes];
        if MARKS[usize::from(end)] & ends == 0 {
            return None;
        }
        let start = self.at;
        self.at += n_bytes;
        Some(AsciiWord { start, end: self.at, short })
    }

    /// Returns the next word of any kind.
    pub(super) fn next_word(&mut self) -> Option<RawWord> {
        let (start, first) = loop {
            let start = self.at;
            let c = char_at(self.text, start)?;
            self.at += c.len_utf8();
            match CharClass::of(c) {
                CharClass::Letter(_) | CharClass::Digit | CharClass::Pictograph => {
                    break (start, c);
                }
                CharClass::Extend | CharClass::Break => {}
            }
        };
        let (mut script, is_pictograph) = match CharClass::of(first) {
            CharClass::Letter(script) => (Some(script), false),
            CharClass::Digit | CharClass::Extend | CharClass::Break => (None, false),
            CharClass::Pictograph => (None, true),
        };
        let mut previous = first;
        let mut is_compound = false;
        let mut has_inner_capital = false;
        while let Some(c) = char_at(self.text, self.at) {
            let n_bytes = match CharClass::of(c) {
                CharClass::Extend => c.len_utf8(),
                _ if is_pictograph => break,
                CharClass::Letter(own) if fits(script, own) => {
                    script = Some(own);
                    c.len_utf8()
                }
                CharClass::Digit if !script.is_some_and(Script::is_unspaced) => c.len_utf8(),
                CharClass::Break => match self.connector(c, previous, script) {
                    Some(n_bytes) => {
                        is_compound = true;
                        n_bytes
                    }
                    None => break,
                },
                CharClass::Letter(_) | CharClass::Digit | CharClass::Pictograph => break,
            };
            has_inner_capital |= c.is_uppercase();
            self.at += n_bytes;
            previous = c;
        }
        // Only a capital after other letters can split the word.
        if has_inner_capital && script.is_some_and(Script::is_cased) {
            is_compound |= CompoundParts::new(&self.text[start..self.at]).nth(1).is_some();
        }
        self.at += self.sign(start, script);
        Some(RawWord { start, end: self.at, script, is_compound })
    }

    /// Returns the number of bytes from `connector` to the next letter or digit, if it joins them into one word.
    fn connector(&self, connector: char, previous: char, script: Option<Script>) -> Option<usize> {
        let rest = &self.text[self.at..];
        match connector {
            '_' => {
                let n_bytes = rest.len() - rest.trim_start_matches('_').len();
                let joins = match CharClass::of(char_at(rest, n_bytes)?) {
                    CharClass::Letter(own) => fits(script, own),
                    CharClass::Digit => !script.is_some_and(Script::is_unspaced),
                    CharClass::Extend | CharClass::Pictograph | CharClass::Break => false,
                };
                joins.then_some(n_bytes)
            }
            '.' if previous.is_ascii_digit() => {
                rest[1..].starts_with(|c: char| c.is_ascii_digit()).then_some(1)
            }
            // A thousands separator; other commas separate words.
            ',' if previous.is_ascii_digit() => {
                let n_digits = rest[1..].bytes().take(4).take_while(u8::is_ascii_digit).count();
                (n_digits == 3).then_some(1)
            }
            _ => None,
        }
    }

    /// Returns the number of bytes of the signs that belong to a name such as `C++` or `F#`.
    fn sign(&self, start: usize, script: Option<Script>) -> usize {
        if script != Some(Script::Latin) || self.at - start > 2 {
            return 0;
        }
        let rest = &self.text[self.at..];
        let n_bytes = if rest.starts_with("++") {
            2
        } else if rest.starts_with('#') {
            1
        } else {
            return 0;
        };
        if rest[n_bytes..].starts_with(char::is_alphanumeric) { 0 } else { n_bytes }
    }
}

/// Bit of [`MARKS`]: an ASCII byte other than a letter or digit.
const GAP: u8 = 1;

/// Bit of [`MARKS`]: a gap that ends a word of letters.
const ENDS_LETTERS: u8 = 2;

/// Bit of [`MARKS`]: a gap that ends a number.
const ENDS_DIGITS: u8 = 4;

/// Class bits of each byte value. Read twice for every word of every text.
const MARKS: [u8; 256] = {
    let mut signs = [0; 256];
    let mut byte = 0_u8;
    while byte.is_ascii() {
        signs[byte as usize] = match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => 0,
            b'_' => GAP,
            b'+' | b'#' => GAP | ENDS_DIGITS,
            b'.' | b',' => GAP | ENDS_LETTERS,
            _ => GAP | ENDS_LETTERS | ENDS_DIGITS,
        };
        byte += 1;
    }
    signs
};

/// Returns the last bytes of a text, fewer than 16, padded with zeros.
#[cold]
fn tail(rest: &[u8]) -> u128 {
    rest.iter().rev().fold(0, |block, byte| block << 8 | u128::from(*byte))
}

/// Returns the number of leading bytes of `block` in the ASCII range `first..=last`, where the first `from` bytes count in any case.
#[inline]
fn n_within(block: u128, first: u8, last: u8, from: u32) -> usize {
    const HIGHEST: u128 = u128::from_le_bytes([0x80; 16]);
    // In each byte, the highest bit reports whether the lower seven are at least `least`; no sum carries over.
    let at_least = |least: u8| (block & !HIGHEST) + u128::from_le_bytes([0x80 - least; 16]);
    let outside = !at_least(first) | at_least(last + 1) | block;
    ((outside & HIGHEST & u128::MAX << (8 * from)).trailing_zeros() / 8) as usize
}

/// Reports whether a letter of `own` continues a word in `script` (`None`: only digits so far).
fn fits(script: Option<Script>, own: Script) -> bool {
    script.map_or(!own.is_unspaced(), |script| script == own)
}

fn char_at(text: &str, at: usize) -> Option<char> {
    text[at..].chars().next()
}

/// Splits a compound at underscores, dots and capitals.
pub(super) struct CompoundParts<'t> {
    raw: &'t str,
    at: usize,
}

impl<'t> CompoundParts<'t> {
    pub(super) const fn new(raw: &'t str) -> Self {
        Self { raw, at: 0 }
    }
}

impl Iterator for CompoundParts<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        let is_joint = |c: char| c == '_' || c == '.';
        let start = self.at + self.raw[self.at..].find(|c| !is_joint(c))?;
        let mut previous = char_at(self.raw, start)?;
        let mut end = start + previous.len_utf8();
        while let Some(c) = char_at(self.raw, end) {
            // `fooBar`, and the last capital of `HTTPServer`, but not that of `PDFs`.
            let begins_word = c.is_uppercase()
                && (previous.is_lowercase()
                    || previous.is_uppercase()
                        && self.raw[end + c.len_utf8()..]
                            .chars()
                            .take(2)
                            .filter(|c| c.is_lowercase())
                            .count()
                            == 2);
            if is_joint(c) || begins_word {
                break;
            }
            previous = c;
            end += c.len_utf8();
        }
        self.at = end;
        Some((start, end))
    }
}

/// Splits a run of a script without spaces into characters with their marks.
pub(super) struct CharacterUnits<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) end: usize,
}

impl Iterator for CharacterUnits<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        let start = self.at;
        let run = &self.text[..self.end];
        let mut previous = char_at(run, start)?;
        self.at += previous.len_utf8();
        while let Some(c) = char_at(run, self.at) {
            if CharClass::of(c) != CharClass::Extend && !continues_syllable(previous, c) {
                break;
            }
            self.at += c.len_utf8();
            previous = c;
        }
        Some((start, self.at))
    }
}
