//! A text cut into words, and words into parts.

use super::alphabet::{Alphabet, Class, continues_syllable};
use super::known::ShortWord;

/// A stretch of text that is one word, or one run of a script without spaces.
pub(super) struct RawWord {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Nothing for numbers and pictographs.
    pub(super) alphabet: Option<Alphabet>,
    pub(super) is_compound: bool,
}

/// A short word of Latin letters without accents, or of digits.
#[derive(Clone, Copy, Default)]
pub(super) struct PlainWord {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) short: ShortWord,
}

/// Cuts a text into words.
pub(super) struct Words<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
}

impl Words<'_> {
    /// Fills `run` with the plain words that follow, and says how many they are: fewer only where another or nothing comes next.
    pub(super) fn plain_run(&mut self, run: &mut [PlainWord]) -> usize {
        let mut n = 0;
        while let Some(place) = run.get_mut(n)
            && let Some(word) = self.plain()
        {
            *place = word;
            n += 1;
        }
        n
    }

    /// The next word if it is short, and small letters, capitals, or a capital and small letters, all without accents, or digits, and then something that ends a word of its kind: most words of most texts.
    ///
    /// Passes over the ASCII marks and spaces before the next word, whether it is such a one or not.
    #[inline]
    pub(super) fn plain(&mut self) -> Option<PlainWord> {
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
        Some(PlainWord { start, end: self.at, short })
    }

    /// The next word, whatever it is made of.
    pub(super) fn any(&mut self) -> Option<RawWord> {
        let (start, first) = loop {
            let start = self.at;
            let c = char_at(self.text, start)?;
            self.at += c.len_utf8();
            match Class::of(c) {
                Class::Letter(_) | Class::Digit | Class::Pictograph => break (start, c),
                Class::Extend | Class::Break => {}
            }
        };
        let (mut alphabet, is_pictograph) = match Class::of(first) {
            Class::Letter(alphabet) => (Some(alphabet), false),
            Class::Digit | Class::Extend | Class::Break => (None, false),
            Class::Pictograph => (None, true),
        };
        let mut previous = first;
        let mut is_compound = false;
        let mut has_inner_capital = false;
        while let Some(c) = char_at(self.text, self.at) {
            let n_bytes = match Class::of(c) {
                Class::Extend => c.len_utf8(),
                _ if is_pictograph => break,
                Class::Letter(own) if fits(alphabet, own) => {
                    alphabet = Some(own);
                    c.len_utf8()
                }
                Class::Digit if !alphabet.is_some_and(Alphabet::is_unspaced) => c.len_utf8(),
                Class::Break => match self.connector(c, previous, alphabet) {
                    Some(n_bytes) => {
                        is_compound = true;
                        n_bytes
                    }
                    None => break,
                },
                Class::Letter(_) | Class::Digit | Class::Pictograph => break,
            };
            has_inner_capital |= c.is_uppercase();
            self.at += n_bytes;
            previous = c;
        }
        // Only a capital after other letters makes the capitals worth a closer look.
        if has_inner_capital && alphabet.is_some_and(Alphabet::is_cased) {
            is_compound |= Parts::new(&self.text[start..self.at]).nth(1).is_some();
        }
        self.at += self.sign(start, alphabet);
        Some(RawWord { start, end: self.at, alphabet, is_compound })
    }

    /// The bytes from `connector` to the next letter or digit, if it holds the word together.
    fn connector(
        &self,
        connector: char,
        previous: char,
        alphabet: Option<Alphabet>,
    ) -> Option<usize> {
        let rest = &self.text[self.at..];
        match connector {
            '_' => {
                let n_bytes = rest.len() - rest.trim_start_matches('_').len();
                let joins = match Class::of(char_at(rest, n_bytes)?) {
                    Class::Letter(own) => fits(alphabet, own),
                    Class::Digit => !alphabet.is_some_and(Alphabet::is_unspaced),
                    Class::Extend | Class::Pictograph | Class::Break => false,
                };
                joins.then_some(n_bytes)
            }
            '.' if previous.is_ascii_digit() => {
                rest[1..].starts_with(|c: char| c.is_ascii_digit()).then_some(1)
            }
            // A comma between thousands; other commas separate.
            ',' if previous.is_ascii_digit() => {
                let n_digits = rest[1..].bytes().take(4).take_while(u8::is_ascii_digit).count();
                (n_digits == 3).then_some(1)
            }
            _ => None,
        }
    }

    /// The bytes of the signs that belong to a name such as `C++` or `F#`.
    fn sign(&self, start: usize, alphabet: Option<Alphabet>) -> usize {
        if alphabet != Some(Alphabet::Latin) || self.at - start > 2 {
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

/// What a byte is between words, as bits of [`MARKS`]: ASCII, and no letter or digit.
const GAP: u8 = 1;

/// A gap that no word of letters goes on behind.
const ENDS_LETTERS: u8 = 2;

/// A gap that no number goes on behind.
const ENDS_DIGITS: u8 = 4;

/// What each byte is, by its value: asked for twice a word of every text.
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

/// The last bytes of a text, fewer than 16, and zeros.
#[cold]
fn tail(rest: &[u8]) -> u128 {
    rest.iter().rev().fold(0, |block, byte| block << 8 | u128::from(*byte))
}

/// How many bytes of `block` from the `from`-th on lie from `first` to `last`, which are ASCII, and the `from` before them.
#[inline]
fn n_within(block: u128, first: u8, last: u8, from: u32) -> usize {
    const HIGHEST: u128 = u128::from_le_bytes([0x80; 16]);
    // In each byte, the highest bit says whether the lower seven are at least so much: no sum of them carries.
    let at_least = |least: u8| (block & !HIGHEST) + u128::from_le_bytes([0x80 - least; 16]);
    let outside = !at_least(first) | at_least(last + 1) | block;
    ((outside & HIGHEST & u128::MAX << (8 * from)).trailing_zeros() / 8) as usize
}

/// Whether a letter of `own` continues a word in `alphabet` (nothing: digits so far).
fn fits(alphabet: Option<Alphabet>, own: Alphabet) -> bool {
    alphabet.map_or(!own.is_unspaced(), |alphabet| alphabet == own)
}

fn char_at(text: &str, at: usize) -> Option<char> {
    text[at..].chars().next()
}

/// Cuts a compound at underscores, dots and capitals.
pub(super) struct Parts<'t> {
    raw: &'t str,
    at: usize,
}

impl<'t> Parts<'t> {
    pub(super) const fn new(raw: &'t str) -> Self {
        Self { raw, at: 0 }
    }
}

impl Iterator for Parts<'_> {
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

/// Cuts a run of a script without spaces into characters with their marks.
pub(super) struct Units<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) end: usize,
}

impl Iterator for Units<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        let start = self.at;
        let run = &self.text[..self.end];
        let mut previous = char_at(run, start)?;
        self.at += previous.len_utf8();
        while let Some(c) = char_at(run, self.at) {
            if Class::of(c) != Class::Extend && !continues_syllable(previous, c) {
                break;
            }
            self.at += c.len_utf8();
            previous = c;
        }
        Some((start, self.at))
    }
}
