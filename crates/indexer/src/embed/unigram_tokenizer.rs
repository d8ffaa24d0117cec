//! A unigram tokenizer over a compact table, which is read in place.
//!
//! Its tokens are those of the `tokenizers` library with the same vocabulary, which needs 167 MB for the 180,000 pieces of the bundled multilingual model; the table has 4 MB and stays in the program's file.
//! Source: Kudo, "Subword Regularization", 2018: the pieces of a word are the sequence with the highest sum of scores.
//!
//! The table is made by `cargo xtask unigram-table`: a header (16 bytes that state the format, then the numbers of units and of pieces and the bytes of the character map), the units of a double array over the pieces, the score of each piece, and the character map of the normalizer (itself a double array and the texts it leads to). Numbers have 32 bits, the least significant byte first.

use unicode_segmentation::UnicodeSegmentation as _;

/// First bytes of a table, which state its format.
const MAGIC: &[u8; 16] = b"weft-unigram-1\0\0";

/// Tokens that are matched in the text as written, before it is normalized, by their numbers.
const ADDED: [&str; 4] = ["<s>", "<pad>", "</s>", "<unk>"];

/// Number of the token with which a text begins.
const BEGIN: u32 = 0;

/// Number of the token with which a text ends.
const END: u32 = 2;

/// Number of the token of unknown characters.
const UNKNOWN: u32 = 3;

/// Score of an unknown character below the lowest score of a piece. Source: sentencepiece, `kUnkPenalty`.
const UNKNOWN_PENALTY: f64 = 10.0;

/// Marks the beginning of a word, in place of the space before it. Source: sentencepiece.
const WORD_START: char = '▁';

/// Maximum length of a grapheme that is normalized as a whole, in bytes. Source: the `tokenizers` library.
const MAX_GRAPHEME: usize = 5;

/// Marks a unit that holds a value; no label has this bit.
const VALUE: u32 = 1 << 31;

/// The units of a double array, or the scores: 32-bit numbers in bytes of any alignment.
#[derive(Clone, Copy)]
struct Numbers<'t>(&'t [u8]);

impl Numbers<'_> {
    fn get(self, at: usize) -> Option<u32> {
        let bytes = self.0.get(4 * at..4 * at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }
}

/// A tokenizer over a table.
pub(crate) struct UnigramTokenizer {
    pieces: Numbers<'static>,
    scores: Numbers<'static>,
    map: CharacterMap,
    unknown_score: f64,
}

/// Buffers of one text, reused from word to word.
#[derive(Default)]
struct Scratch {
    normalized: String,
    best: Vec<BestPiece>,
    reversed: Vec<u32>,
}

/// The last piece of the best sequence that ends at a position.
#[derive(Clone, Copy)]
struct BestPiece {
    score: f64,
    /// Position where the piece starts; `usize::MAX` if no sequence ends here.
    start: usize,
    id: u32,
}

impl UnigramTokenizer {
    /// Reads the header of `table`; the rest is read as needed.
    pub(crate) fn new(table: &'static [u8]) -> Result<Self, String> {
        let cut = || "the table of the tokenizer is incomplete".to_owned();
        let rest = table.strip_prefix(MAGIC).ok_or("the table of the tokenizer is unknown")?;
        let (header, rest) = rest.split_at_checked(12).ok_or_else(cut)?;
        let length = |at: usize| Numbers(header).get(at).and_then(|n| usize::try_from(n).ok());
        let [Some(n_units), Some(n_pieces), Some(n_map)] = [0, 1, 2].map(length) else {
            return Err(cut());
        };
        let (units, rest) = rest.split_at_checked(4 * n_units).ok_or_else(cut)?;
        let (scores, map) = rest.split_at_checked(4 * n_pieces).ok_or_else(cut)?;
        if map.len() != n_map {
            return Err(cut());
        }
        let (pieces, scores) = (Numbers(units), Numbers(scores));
        let least = (0..n_pieces).map(|at| score(scores, at)).fold(f64::INFINITY, f64::min);
        let map = CharacterMap::new(map).ok_or_else(cut)?;
        Ok(Self { pieces, scores, map, unknown_score: least - UNKNOWN_PENALTY })
    }

    /// Returns the number of tokens added to every text.
    pub(crate) const fn n_special() -> usize {
        2
    }

    /// Counts the tokens of `text`, without special ones.
    pub(crate) fn n_tokens(&self, text: &str) -> usize {
        let mut n = 0;
        self.tokenize(text, &mut |ids| {
            n += ids.len();
            true
        });
        n
    }

    /// Returns the tokens of `text`, at most `max_tokens` including the two special ones; later ones are cut off.
    pub(crate) fn encode(&self, text: &str, max_tokens: usize) -> Vec<u32> {
        let room = max_tokens.saturating_sub(Self::n_special()).max(1);
        let mut all = vec![BEGIN];
        self.tokenize(text, &mut |ids| {
            all.extend(ids.iter().rev());
            all.len() <= room
        });
        all.truncate(room + 1);
        all.push(END);
        all
    }

    /// Passes the tokens of `text` to `add`, word by word and each word's in reverse order, until it returns false.
    fn tokenize(&self, text: &str, add: &mut impl FnMut(&[u32]) -> bool) {
        let mut scratch = Scratch::default();
        let mut rest = text;
        loop {
            let (before, added) = split_at_added(rest);
            if !self.tokenize_plain(before, &mut scratch, add) {
                return;
            }
            let Some((id, after)) = added else { return };
            if !add(&[id]) {
                return;
            }
            rest = after;
        }
    }

    /// Tokenizes a text without added tokens; returns false if `add` did.
    fn tokenize_plain(
        &self,
        text: &str,
        scratch: &mut Scratch,
        add: &mut impl FnMut(&[u32]) -> bool,
    ) -> bool {
        let Scratch { normalized, best, reversed } = scratch;
        self.map.normalize(text, normalized);
        if normalized.is_empty() {
            return true;
        }
        let mut words = normalized.as_str();
        while let Some(first) = words.chars().next() {
            let after_mark = if first == WORD_START { first.len_utf8() } else { 0 };
            let end =
                words[after_mark..].find(WORD_START).map_or(words.len(), |at| at + after_mark);
            let (word, rest) = words.split_at(end);
            reversed.clear();
            self.best_pieces(word, best, reversed);
            if !add(reversed) {
                return false;
            }
            words = rest;
        }
        true
    }

    /// Appends the pieces of the best sequence for `word`, the last one first. Adjacent unknown characters are one token.
    fn best_pieces(&self, word: &str, best: &mut Vec<BestPiece>, reversed: &mut Vec<u32>) {
        let unset = BestPiece { score: 0.0, start: usize::MAX, id: UNKNOWN };
        best.clear();
        best.resize(word.len() + 1, unset);
        let bytes = word.as_bytes();
        let improve = |best: &mut [BestPiece], end: usize, piece: BestPiece| {
            if best[end].start == usize::MAX || piece.score > best[end].score {
                best[end] = piece;
            }
        };
        for (start, c) in word.char_indices() {
            let score_here = best[start].score;
            let mut is_known = false;
            walk(self.pieces, &bytes[start..], &mut |length, id| {
                let score = score_here + score(self.scores, id as usize);
                improve(best, start + length, BestPiece { score, start, id });
                is_known |= length == c.len_utf8();
            });
            if !is_known {
                let score = score_here + self.unknown_score;
                improve(best, start + c.len_utf8(), BestPiece { score, start, id: UNKNOWN });
            }
        }
        let mut end = word.len();
        while end > 0 {
            let BestPiece { start, id, score: _ } = best[end];
            if id != UNKNOWN || reversed.last() != Some(&UNKNOWN) {
                reversed.push(id);
            }
            end = start;
        }
    }
}

/// Returns the score of a piece; the lowest possible one if the table has none.
fn score(scores: Numbers<'_>, at: usize) -> f64 {
    scores.get(at).map_or(f64::NEG_INFINITY, |bits| f64::from(f32::from_bits(bits)))
}

/// Calls `found` with the length and number of each piece that is a prefix of `text`, shortest first.
fn walk(units: Numbers<'_>, text: &[u8], found: &mut impl FnMut(usize, u32)) {
    const ENDS_PIECE: u32 = 1 << 8;
    let base = |unit: u32| ((unit & !VALUE) >> 9) as usize;
    let Some(mut unit) = units.get(0) else { return };
    for (at, byte) in text.iter().enumerate() {
        let child = units.get(base(unit) ^ usize::from(*byte));
        let Some(child) = child.filter(|child| child & (VALUE | 0xff) == u32::from(*byte)) else {
            return;
        };
        unit = child;
        // The child by byte 0 holds the number of a piece, and no piece contains that byte.
        if *byte == 0 {
            return;
        }
        if unit & ENDS_PIECE != 0
            && let Some(value) = units.get(base(unit))
        {
            found(at + 1, value & !VALUE);
        }
    }
}

/// Splits `text` before its first added token; returns the text before it, and the token's number with the text after it.
fn split_at_added(text: &str) -> (&str, Option<(u32, &str)>) {
    for at in memchr::memchr_iter(b'<', text.as_bytes()) {
        for (id, added) in (0..).zip(ADDED) {
            if let Some(after) = text[at..].strip_prefix(added) {
                return (&text[..at], Some((id, after)));
            }
        }
    }
    (text, None)
}

/// The character map of a normalizer: a double array from characters to the texts that replace them.
///
/// Source: sentencepiece, `nmt_nfkc`, as read by the `tokenizers` library.
struct CharacterMap {
    units: Numbers<'static>,
    texts: &'static str,
    /// ASCII characters that stay as they are if the next character is ASCII too.
    is_plain: [bool; 128],
}

impl CharacterMap {
    fn new(map: &'static [u8]) -> Option<Self> {
        let (length, rest) = map.split_at_checked(4)?;
        let (units, texts) =
            rest.split_at_checked(usize::try_from(Numbers(length).get(0)?).ok()?)?;
        let texts = str::from_utf8(texts).ok()?;
        let mut found = Self { units: Numbers(units), texts, is_plain: [false; 128] };
        let is_plain = |byte: u8| byte != b'\r' && found.replacement(&[byte]).is_none();
        found.is_plain = std::array::from_fn(|at| u8::try_from(at).is_ok_and(is_plain));
        Some(found)
    }

    /// Returns the text that replaces the shortest mapped prefix of `text`, and thereby all of it.
    fn replacement(&self, text: &[u8]) -> Option<&'static str> {
        let offset = |unit: u32| (unit >> 10) << ((unit & 1 << 9) >> 6);
        let mut at = offset(self.units.get(0)?) as usize;
        for byte in text.iter().take_while(|byte| **byte != 0) {
            at ^= usize::from(*byte);
            let unit = self.units.get(at)?;
            if unit & (VALUE | 0xff) != u32::from(*byte) {
                return None;
            }
            at ^= offset(unit) as usize;
            if unit >> 8 & 1 == 1 {
                let start = usize::try_from(self.units.get(at)? & !VALUE).ok()?;
                let text = self.texts.get(start..)?;
                return Some(text.split('\0').next().unwrap_or(text));
            }
        }
        None
    }

    /// Writes the normalized `text` to `out`: characters replaced, one mark for each run of spaces, and one before the first word.
    fn normalize(&self, text: &str, out: &mut String) {
        out.clear();
        let mut writer = WordWriter { out, is_after_space: false };
        let mut rest = text;
        loop {
            let bytes = rest.as_bytes();
            let is_plain = |at: usize| {
                let byte = bytes[at];
                byte.is_ascii()
                    && self.is_plain[usize::from(byte)]
                    && bytes.get(at + 1).is_none_or(u8::is_ascii)
            };
            let n_plain = (0..bytes.len()).find(|at| !is_plain(*at)).unwrap_or(bytes.len());
            let (plain, other) = rest.split_at(n_plain);
            writer.push(plain);
            // Graphemes up to the next one that is plain.
            let mut n_read = 0;
            for grapheme in other.graphemes(true) {
                if n_read > 0 && is_plain(n_plain + n_read) {
                    break;
                }
                n_read += grapheme.len();
                let whole = (grapheme.len() <= MAX_GRAPHEME)
                    .then(|| self.replacement(grapheme.as_bytes()))
                    .flatten();
                if let Some(text) = whole {
                    writer.push(text);
                    continue;
                }
                for (at, c) in grapheme.char_indices() {
                    let own = &grapheme[at..at + c.len_utf8()];
                    writer.push(self.replacement(own.as_bytes()).unwrap_or(own));
                }
            }
            rest = &other[n_read..];
            if rest.is_empty() {
                return;
            }
        }
    }
}

/// Writes words with the mark of their beginning in place of spaces.
struct WordWriter<'o> {
    out: &'o mut String,
    is_after_space: bool,
}

impl WordWriter<'_> {
    fn push(&mut self, text: &str) {
        for (at, part) in text.split(' ').enumerate() {
            if at > 0 && !self.is_after_space {
                self.out.push(WORD_START);
                self.is_after_space = true;
            }
            if !part.is_empty() {
                if self.out.is_empty() && !part.starts_with(WORD_START) {
                    self.out.push(WORD_START);
                }
                self.out.push_str(part);
                self.is_after_space = false;
            }
        }
    }
}

#[cfg(all(test, feature = "multilingual"))]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

    use std::path::{Path, PathBuf};
    use std::sync::LazyLock;

    use proptest::prelude::*;
    use tokenizers::models::unigram::Unigram;
    use tokenizers::normalizers::replace::ReplacePattern;
    use tokenizers::normalizers::{Precompiled, Replace, Sequence};
    use tokenizers::pre_tokenizers::metaspace::{Metaspace, PrependScheme};
    use tokenizers::{AddedToken, NormalizerWrapper, Tokenizer};

    use super::*;

    static TABLE: &[u8] = include_bytes!("../../models/multilingual/e5-small-180k.unigram");

    static OURS: LazyLock<UnigramTokenizer> =
        LazyLock::new(|| UnigramTokenizer::new(TABLE).unwrap());

    /// The library's tokenizer with the pieces, scores and character map of the table.
    static LIBRARY: LazyLock<Tokenizer> = LazyLock::new(|| {
        let mut pieces = vec![(String::new(), 0.0); OURS.scores.0.len() / 4];
        collect(OURS.pieces, 0, &mut Vec::new(), &mut |piece, id| {
            pieces[id as usize] = (piece.to_owned(), score(OURS.scores, id as usize));
        });
        assert!(pieces.iter().all(|(piece, _)| !piece.is_empty()), "every number has a piece");
        let mut library = Tokenizer::new(Unigram::from(pieces, Some(3), false).unwrap());
        let n_map = OURS.map.units.0.len() + OURS.map.texts.len() + 4;
        let map = Precompiled::from(&TABLE[TABLE.len() - n_map..]).unwrap();
        let spaces = Replace::new(ReplacePattern::Regex(" {2,}".to_owned()), " ").unwrap();
        let steps = [NormalizerWrapper::Precompiled(map), NormalizerWrapper::Replace(spaces)];
        library.with_normalizer(Some(Sequence::new(steps.into()))).unwrap();
        library.with_pre_tokenizer(Some(Metaspace::new(WORD_START, PrependScheme::Always, true)));
        let added = ADDED.map(|token| AddedToken::from(token, true).normalized(false));
        library.add_special_tokens(added).unwrap();
        library
    });

    /// Passes every piece with its number to `found`.
    fn collect(
        units: Numbers<'_>,
        node: usize,
        prefix: &mut Vec<u8>,
        found: &mut impl FnMut(&str, u32),
    ) {
        let unit = units.get(node).unwrap();
        let base = ((unit & !VALUE) >> 9) as usize;
        if unit & 1 << 8 != 0 {
            found(str::from_utf8(prefix).unwrap(), units.get(base).unwrap() & !VALUE);
        }
        for byte in 1..=u8::MAX {
            let child = base ^ usize::from(byte);
            if units.get(child).is_some_and(|unit| unit & (VALUE | 0xff) == u32::from(byte)) {
                prefix.push(byte);
                collect(units, child, prefix, found);
                prefix.pop();
            }
        }
    }

    fn library_ids(text: &str) -> Vec<u32> {
        LIBRARY.encode_fast(text, false).unwrap().get_ids().to_vec()
    }

    /// Returns the tokens of `text` without the special ones around it.
    fn own_ids(text: &str) -> Vec<u32> {
        let ids = OURS.encode(text, usize::MAX);
        ids[1..ids.len() - 1].to_vec()
    }

    #[track_caller]
    fn assert_same(text: &str) {
        assert_eq!(own_ids(text), library_ids(text), "{text:?}");
        assert_eq!(OURS.n_tokens(text), own_ids(text).len(), "{text:?}");
    }

    /// Returns a file of the data for development, which is not part of the project; `None` if it is absent.
    fn shared(path: &str) -> Option<PathBuf> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3)?;
        Some(root.join("shared").join(path)).filter(|path| path.exists())
    }

    #[test]
    fn tokens_of_chosen_texts_are_those_of_the_library() {
        for text in [
            "",
            " ",
            "  \t\n ",
            "a",
            " a  b ",
            "Hello, world!\r\nNext line\rand\u{b}more",
            "▁",
            "▁▁ a ▁b▁",
            "a<s>b</s> <pad><unk>c <mask>",
            "<<s>> < s>",
            "＜s＞ ＜unk＞x",
            "e\u{301}te\u{301} ﬁn ™ ① ㌀ ｶﾞ",
            "Å\u{301}\u{323}",
            "नमस्ते दुनिया क्षत्रिय",
            "สวัสดีชาวโลก ภาษาไทย",
            "机器学习是人工智能的一个分支。",
            "機械学習は人工知能の一分野である。",
            "مرحبا بالعالم لله",
            "👩‍👩‍👧 🇩🇪 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🧑🏽‍🚀",
            "\u{0}a\u{0} \u{1}\u{7f}\u{200b}\u{feff}x\u{ad}y",
            "\u{600}a \u{600}1\u{601}",
            "𐍈𐌰 \u{10ffff}\u{e000}x\u{f8ff}",
            "\u{3000}全角　スペース\u{a0}nbsp\u{2003}em",
            "ﷺ ﷻ",
        ] {
            assert_same(text);
        }
        let long = "Donaudampfschifffahrtsgesellschaft 漢字🌿 ".repeat(400);
        assert_same(&long);
        assert_same(&long.replace(' ', ""));
    }

    #[test]
    fn every_character_has_the_tokens_of_the_library() {
        // Characters in groups, between letters, so that one comparison covers many.
        let chars: Vec<char> = ('\u{0}'..='\u{33ff}')
            .chain('\u{a000}'..='\u{abff}')
            .chain('\u{f900}'..='\u{ffff}')
            .chain('\u{1d400}'..='\u{1d7ff}')
            .chain('\u{1f000}'..='\u{1faff}')
            .chain(('\u{3400}'..='\u{9fff}').step_by(7))
            .chain(('\u{ac00}'..='\u{d7a3}').step_by(7))
            .collect();
        for group in chars.chunks(64) {
            let text: String = group.iter().flat_map(|c| [*c, 'x', ' ']).collect();
            assert_same(&text);
            assert_same(&group.iter().collect::<String>());
        }
    }

    #[test]
    fn encoding_is_cut_to_the_window() {
        let text = "one two three four five six";
        let whole = OURS.encode(text, usize::MAX);
        for max in 1..12 {
            let cut = OURS.encode(text, max);
            let room = max.saturating_sub(2).max(1).min(whole.len() - 2);
            let expected = [&whole[..=room], &[END]].concat();
            assert_eq!(cut, expected, "{max}");
        }
    }

    #[test]
    fn incomplete_table_is_refused() {
        for table in [&TABLE[..0], &TABLE[..20], &TABLE[..40_000], &TABLE[..TABLE.len() - 1], b"{}"]
        {
            assert!(UnigramTokenizer::new(table).is_err());
        }
    }

    #[test]
    fn tokens_of_shared_sets_are_those_of_the_library() {
        let Some(sets) = shared("data/sets") else {
            println!("skipped: no shared data");
            return;
        };
        for set in ["xquad-zh", "xquad-de", "musique-train100"] {
            for file in ["corpus.jsonl", "queries.jsonl"] {
                let lines = std::fs::read_to_string(sets.join(set).join(file)).unwrap();
                for line in lines.lines() {
                    let record: serde_json::Value = serde_json::from_str(line).unwrap();
                    assert_same(record["text"].as_str().unwrap());
                }
            }
        }
    }

    #[test]
    fn table_holds_the_published_vocabulary() {
        let Some(file) = shared("models/multilingual/tokenizer.json") else {
            println!("skipped: no shared data");
            return;
        };
        let published = Tokenizer::from_file(file).unwrap();
        let (published, ours) = (published.get_vocab(false), LIBRARY.get_vocab(false));
        assert_eq!(published.len(), 180_000);
        assert!(published == ours);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn tokens_of_any_text_are_those_of_the_library(
            text in prop_oneof![
                "\\PC{0,40}",
                ".{0,40}",
                "[ a-zäöüß▁<s>/\u{300}-\u{330}가-힣一-丏\u{600}\u{200d}]{0,60}",
                "(<s>|</s>|<pad>|<unk>|<|>| |a|▁|\r|\n|é|e\u{301}|漢|ﬁ){0,24}",
            ],
        ) {
            prop_assert_eq!(own_ids(&text), library_ids(&text));
        }
    }
}
