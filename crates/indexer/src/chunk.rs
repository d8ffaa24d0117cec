//! Cuts a note into chunks that fit the model, each with a line of context.
//!
//! Cuts fall at headings, then at blank lines, then between sentences, then between words, and inside a word only if the word alone is too long for the model.
//! Short sections are joined up to the window, so a short note is one chunk whose embedded text is its title and its text.
//! The whole note is covered, however long: every character except whitespace is in some chunk. Lists of links are the exception, unless a note has no other text: their words are names of other notes, which a vector of this note should not stand for.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation as _};
use weft_index::embedder::Embedder;
use weft_model::text::sentences;
use weft_model::{Chunk, LinkPlaces, Note, Span, TextHash};

use crate::char_offsets::CharOffsets;
use crate::content_hash::hash_of;
use crate::plain_text::plain;

/// Maximum number of characters of title and headings before a chunk's text.
///
/// A few dozen tokens, so that they never displace the text that follows.
const MAX_CONTEXT_CHARS: usize = 96;

/// Separator between the title and the headings of the context line.
const SEPARATOR: &str = " > ";

/// Bytes per token of room above which a text counts as too long without being tokenized.
///
/// Words of real text take 2 to 6 bytes per token; only a single enormous word takes more.
const MAX_BYTES_PER_TOKEN: usize = 16;

/// Length in tokens from which two sections are not joined: one vector for two subjects finds neither well.
const STANDALONE_TOKENS: usize = 32;

/// Minimum share of the window reserved for the text, as a divisor, however long the context line is.
const MIN_ROOM_SHARE: usize = 4;

/// Limits on the size of chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChunkLimits {
    /// Maximum number of tokens of an embedded text, including the context line but not the special tokens.
    pub max_tokens: usize,
    /// Number of tokens that a chunk repeats from the end of the previous one when a section is cut; 0 disables overlap.
    pub overlap_tokens: usize,
}

impl ChunkLimits {
    /// Returns these limits capped to the model's window.
    #[must_use]
    pub fn for_model(self, embedder: &dyn Embedder) -> Self {
        let max_tokens = self.max_tokens.min(embedder.window());
        Self { max_tokens, overlap_tokens: self.overlap_tokens.min(max_tokens / 2) }
    }
}

impl Default for ChunkLimits {
    /// The window of all-MiniLM-L6-v2 (256 tokens) without its two special tokens, and an eighth of it as overlap.
    fn default() -> Self {
        Self { max_tokens: 254, overlap_tokens: 32 }
    }
}

/// Cuts a note into chunks.
///
/// `count` returns the number of the model's tokens in a text; it is called with short texts only.
/// Chunks ascend by start; a note without text has one chunk with an empty span.
/// `O(bytes)`, with at most about two calls of `count` per sentence.
#[must_use]
pub fn chunks(note: &Note, count: &dyn Fn(&str) -> usize, limits: &ChunkLimits) -> Vec<Chunk> {
    let offsets = CharOffsets::new(&note.body);
    let mut packer =
        ChunkPacker { note, count, limits, offsets: &offsets, open: None, done: Vec::new() };
    for section in sections(note, &offsets) {
        packer.add(&section);
    }
    packer.close();
    let mut chunks = packer.done;
    drop_link_lists(note, &offsets, &mut chunks);
    if chunks.is_empty() {
        chunks.push(Chunk { span: Span::new(0, 0), heading_path: Vec::new(), hash: TextHash(0) });
    }
    let hashes =
        embedded_texts(note, &chunks).map(|text| hash_of(text.as_bytes())).collect::<Vec<_>>();
    for (chunk, hash) in chunks.iter_mut().zip(hashes) {
        chunk.hash = hash;
    }
    chunks
}

/// Removes the chunks that only list links, unless all chunks do.
fn drop_link_lists(note: &Note, offsets: &CharOffsets<'_>, chunks: &mut Vec<Chunk>) {
    if note.links.is_empty() || chunks.len() < 2 {
        return;
    }
    let places = LinkPlaces::new(&note.body, &note.links);
    let is_list = |chunk: &Chunk| {
        let first = note.headings.partition_point(|heading| heading.span.start < chunk.span.start);
        let heading =
            note.headings.get(first).filter(|heading| heading.span.start == chunk.span.start);
        let start = heading.map_or(chunk.span.start, |heading| heading.span.end);
        places.is_list(&note.body, offsets.bytes(Span::new(start, chunk.span.end)))
    };
    if !chunks.iter().all(is_list) {
        chunks.retain(|chunk| !is_list(chunk));
    }
}

/// Returns the text that the model embeds for one chunk of `note`. `O(bytes before the chunk's end)`.
#[must_use]
pub fn embedded_text(note: &Note, chunk: &Chunk) -> String {
    text_of(note, &chunk.heading_path, chunk.span.slice(&note.body))
}

/// Returns the texts that the model embeds for chunks of `note`, in order. `O(bytes)` in total.
pub fn embedded_texts<'n>(
    note: &'n Note,
    chunks: &'n [Chunk],
) -> impl Iterator<Item = String> + 'n {
    let offsets = CharOffsets::new(&note.body);
    chunks
        .iter()
        .map(move |chunk| text_of(note, &chunk.heading_path, &note.body[offsets.bytes(chunk.span)]))
}

/// Returns the text that the model embeds for `markdown` below `heading_path` of `note`.
pub(crate) fn text_of(note: &Note, heading_path: &[String], markdown: &str) -> String {
    let Note { title, dendron, .. } = note;
    let mut text = context_line(title, heading_path.iter().map(String::as_str));
    let body = plain(markdown, *dendron);
    // A first heading that repeats the title adds nothing.
    let (first, rest) = body.split_once('\n').unwrap_or((&body, ""));
    let repeats = first.trim() == title || first.trim() == plain(title, *dendron);
    let body = if repeats { rest } else { &body };
    if !body.is_empty() {
        text.push('\n');
        text.push_str(body);
    }
    text
}

/// Joins the title and as many headings as fit, keeping the innermost.
fn context_line<'h>(title: &str, headings: impl DoubleEndedIterator<Item = &'h str>) -> String {
    let title = shortened(title);
    let mut left = MAX_CONTEXT_CHARS - title.chars().count();
    let mut kept = Vec::new();
    for heading in headings.rev().filter(|heading| !heading.is_empty() && *heading != title) {
        let Some(rest) = left.checked_sub(SEPARATOR.len() + heading.chars().count()) else { break };
        left = rest;
        kept.push(heading);
    }
    let mut line = title.to_owned();
    for heading in kept.into_iter().rev() {
        line.push_str(SEPARATOR);
        line.push_str(heading);
    }
    line
}

/// Cuts `title` between two words to at most [`MAX_CONTEXT_CHARS`].
fn shortened(title: &str) -> &str {
    let Some((end, _)) = title.char_indices().nth(MAX_CONTEXT_CHARS) else { return title };
    let cut = &title[..end];
    cut.rfind(char::is_whitespace).map_or(cut, |space| cut[..space].trim_end())
}

/// A heading with the text that follows it, or the text before the first heading.
struct Section<'n> {
    bytes: Range<usize>,
    /// The headings above it and its own, outermost first, each with its level.
    path: Vec<(u8, &'n str)>,
}

fn sections<'n>(note: &'n Note, offsets: &CharOffsets<'_>) -> Vec<Section<'n>> {
    let mut sections = Vec::with_capacity(note.headings.len() + 1);
    let mut path: Vec<(u8, &'n str)> = Vec::new();
    let mut start = 0;
    for heading in &note.headings {
        let next = offsets.byte_at(heading.span.start);
        if next > start {
            sections.push(Section { bytes: start..next, path: path.clone() });
        }
        start = next;
        path.retain(|(level, _)| *level < heading.level);
        path.push((heading.level, &heading.text));
    }
    sections.push(Section { bytes: start..note.body.len(), path });
    sections
}

/// A range of the body that is not cut further.
struct TextSegment {
    bytes: Range<usize>,
    n_tokens: usize,
}

/// A chunk that may still grow.
struct OpenChunk<'n> {
    bytes: Range<usize>,
    n_tokens: usize,
    /// Tokens available for its text.
    room: usize,
    path: Vec<(u8, &'n str)>,
}

struct ChunkPacker<'a, 'n> {
    note: &'n Note,
    count: &'a dyn Fn(&str) -> usize,
    limits: &'a ChunkLimits,
    offsets: &'a CharOffsets<'n>,
    open: Option<OpenChunk<'n>>,
    done: Vec<Chunk>,
}

impl<'n> ChunkPacker<'_, 'n> {
    /// Adds a section to the open chunk if all of it fits and either is short; otherwise begins a new chunk with it.
    fn add(&mut self, section: &Section<'n>) {
        let room = self.room(&section.path);
        let segments = self.segments(section.bytes.clone(), room);
        let n_tokens = segments.iter().map(|segment| segment.n_tokens).sum::<usize>();
        let level = section.path.last().map_or(0, |(level, _)| *level);
        if let Some(open) = &mut self.open
            && open.n_tokens + n_tokens <= open.room
            && open.n_tokens.min(n_tokens) < STANDALONE_TOKENS
        {
            open.bytes.end = section.bytes.end;
            open.n_tokens += n_tokens;
            // The context line names only the headings above the whole chunk.
            open.path.retain(|(above, _)| *above < level);
            return;
        }
        self.close();
        let above = &section.path[..section.path.len().saturating_sub(1)];
        let start = section.bytes.start;
        let mut open = OpenChunk { bytes: start..start, n_tokens: 0, room, path: above.to_vec() };
        for segment in segments {
            if open.n_tokens + segment.n_tokens > room && !open.bytes.is_empty() {
                let (full, start) = (open.bytes.clone(), segment.bytes.start);
                let path = section.path.clone();
                let next = OpenChunk { bytes: start..start, n_tokens: 0, room, path };
                self.open = Some(std::mem::replace(&mut open, next));
                if self.close() {
                    let left = room - segment.n_tokens.min(room);
                    (open.bytes.start, open.n_tokens) = self.overlap(&full, left);
                }
            }
            open.bytes.end = segment.bytes.end;
            open.n_tokens += segment.n_tokens;
        }
        self.open = Some(open);
    }

    /// Ends the open chunk; returns whether it stayed whole.
    fn close(&mut self) -> bool {
        let Some(OpenChunk { bytes, path, .. }) = self.open.take() else { return false };
        let room = self.room(&path);
        if self.fits(&bytes, room).is_some() {
            self.finish(&bytes, &path);
            return true;
        }
        // A segment may be markup on its own (`1.` is a list) but text in context, or the context line has changed.
        let mut segments = Vec::new();
        self.runs(bytes, room, room, &mut segments);
        for segment in segments {
            self.finish(&segment.bytes, &path);
        }
        false
    }

    /// Adds the chunk that covers `bytes`, unless it has no text.
    fn finish(&mut self, bytes: &Range<usize>, path: &[(u8, &str)]) {
        let text = &self.note.body[bytes.clone()];
        let start = bytes.end - text.trim_start().len();
        let end = bytes.start + text.trim_end().len();
        if start < end {
            self.done.push(Chunk {
                span: self.offsets.span(start..end),
                heading_path: path.iter().map(|(_, text)| (*text).to_owned()).collect(),
                hash: TextHash(0),
            });
        }
    }

    /// Returns the tokens available for the text of a chunk below the headings `path`.
    fn room(&self, path: &[(u8, &str)]) -> usize {
        let line = context_line(&self.note.title, path.iter().map(|(_, text)| *text));
        let max = self.limits.max_tokens;
        max.saturating_sub((self.count)(&line)).max(max / MIN_ROOM_SHARE).max(1)
    }

    /// Counts the tokens that the model would see for `bytes`; `None` if more than `room`.
    fn fits(&self, bytes: &Range<usize>, room: usize) -> Option<usize> {
        let text = plain(&self.note.body[bytes.clone()], self.note.dendron);
        if text.len() > room.saturating_mul(MAX_BYTES_PER_TOKEN) {
            return None;
        }
        Some((self.count)(&text)).filter(|&n_tokens| n_tokens <= room)
    }

    /// Splits `bytes` into segments of at most `room` tokens: paragraphs if they fit, else sentences, else runs of words.
    fn segments(&self, bytes: Range<usize>, room: usize) -> Vec<TextSegment> {
        let mut segments = Vec::new();
        for paragraph in paragraphs(&self.note.body, bytes) {
            if let Some(n_tokens) = self.fits(&paragraph, room) {
                segments.push(TextSegment { bytes: paragraph, n_tokens });
                continue;
            }
            for (at, sentence) in sentences(&self.note.body[paragraph.clone()]) {
                let start = paragraph.start + at;
                let bytes = start..start + sentence.len();
                match self.fits(&bytes, room) {
                    Some(n_tokens) => segments.push(TextSegment { bytes, n_tokens }),
                    None => self.runs(bytes, room, room, &mut segments),
                }
            }
        }
        segments
    }

    /// Splits `bytes` into runs of words of about `size` bytes, halving those that do not fit.
    fn runs(&self, bytes: Range<usize>, room: usize, size: usize, segments: &mut Vec<TextSegment>) {
        let mut start = bytes.start;
        while start < bytes.end {
            let len = run_length(&self.note.body[start..bytes.end], size);
            let run = start..start + len;
            start = run.end;
            match self.fits(&run, room) {
                Some(n_tokens) => segments.push(TextSegment { bytes: run, n_tokens }),
                None if size > 1 && len > 1 => self.runs(run, room, size.min(len) / 2, segments),
                // A single character that takes more tokens than fit.
                None => segments.push(TextSegment { bytes: run, n_tokens: room }),
            }
        }
    }

    /// Returns the start of the text that the chunk after `bytes` repeats, and its tokens: whole sentences, else words.
    fn overlap(&self, bytes: &Range<usize>, room: usize) -> (usize, usize) {
        let max = self.limits.overlap_tokens.min(room);
        let none = (bytes.end, 0);
        if max == 0 {
            return none;
        }
        let text = &self.note.body[bytes.clone()];
        let tail = text.len() - run_tail(text, max.saturating_mul(MAX_BYTES_PER_TOKEN / 2));
        let starts = sentences(&text[tail..]).map(|(at, _)| at);
        let words = text[tail..].split_word_bound_indices().map(|(at, _)| at);
        let fitting = |starts: Vec<usize>| {
            // A word or sentence at the start of the tail may be cut.
            let starts = starts.into_iter().filter(|&at| at > 0).map(|at| bytes.start + tail + at);
            let starts = starts.collect::<Vec<_>>();
            let first = starts.partition_point(|&at| self.fits(&(at..bytes.end), max).is_none());
            let start = *starts.get(first)?;
            let n_tokens = self.fits(&(start..bytes.end), max)?;
            // Repeating an entire chunk would only lengthen it.
            let is_part = !self.note.body[bytes.start..start].trim().is_empty();
            (n_tokens > 0 && is_part).then_some((start, n_tokens))
        };
        fitting(starts.collect()).or_else(|| fitting(words.collect())).unwrap_or(none)
    }
}

/// Splits `bytes` into paragraphs: a run of lines and the blank lines after it.
fn paragraphs(body: &str, bytes: Range<usize>) -> Vec<Range<usize>> {
    let mut paragraphs = Vec::new();
    let (mut start, mut at, mut after_blank) = (bytes.start, bytes.start, false);
    for line in body[bytes.clone()].split_inclusive('\n') {
        let blank = line.trim().is_empty();
        if after_blank && !blank && at > start {
            paragraphs.push(start..at);
            start = at;
        }
        after_blank = blank;
        at += line.len();
    }
    if start < bytes.end {
        paragraphs.push(start..bytes.end);
    }
    paragraphs
}

/// Returns the length of a run of about `size` bytes at the start of `text`, at least one character: up to the last space, else whole graphemes.
fn run_length(text: &str, size: usize) -> usize {
    let size = size.max(1);
    if text.len() <= size {
        return text.len();
    }
    let window = &text[..text.ceil_char_boundary(size)];
    if let Some((at, space)) = window.char_indices().rev().find(|(_, c)| c.is_whitespace()) {
        return at + space.len_utf8();
    }
    // A little more than the window shows whether its last grapheme continues; scanning all of a huge text would be slow.
    let around = &text[..text.ceil_char_boundary(2 * size)];
    let mut cursor = GraphemeCursor::new(window.len(), around.len(), true);
    match cursor.is_boundary(around, 0) {
        Ok(true) => window.len(),
        Ok(false) => match cursor.prev_boundary(around, 0) {
            Ok(Some(at)) if at > 0 => at,
            Ok(_) | Err(_) => window.len(),
        },
        Err(_) => window.len(),
    }
}

/// Returns the length of about `size` bytes at the end of `text`, on a character boundary.
fn run_tail(text: &str, size: usize) -> usize {
    text.len() - text.floor_char_boundary(text.len().saturating_sub(size))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weft_model::NotePath;

    use super::*;
    use crate::parse::{ParseOptions, parse};

    fn note(body: &str) -> Note {
        let text = format!("---\ntitle: Moss\n---\n{body}");
        parse(&NotePath::new("moss.md"), text.as_bytes(), &ParseOptions::default()).0
    }

    /// Stand-in for a tokenizer: one token per word and per six letters of a word.
    fn words(text: &str) -> usize {
        text.split_whitespace().map(|word| 1 + word.chars().count() / 6).sum()
    }

    fn cut(note: &Note, max_tokens: usize, overlap_tokens: usize) -> Vec<Chunk> {
        chunks(note, &words, &ChunkLimits { max_tokens, overlap_tokens })
    }

    #[test]
    fn short_note_is_one_chunk_of_title_and_text() {
        let cases = [
            ("text only", "soft and green\n", "Moss\nsoft and green"),
            ("the title again as heading", "\n# Moss\n\nsoft\n", "Moss\nsoft"),
            ("small sections", "# Moss\n\na\n\n## Soil\n\nb [[x|y]]\n", "Moss\na\nSoil\nb y"),
            ("another heading", "# Fern\n\na", "Moss\nFern\na"),
            ("nothing", "", "Moss"),
            ("blank", " \n\n", "Moss"),
            ("the title, marks and all", "# *Moss*\n\nsoft", "Moss\nsoft"),
            ("the title alone", "# Moss\n", "Moss"),
            ("a comment alone", "<!-- nothing -->\n", "Moss"),
        ];
        for (name, body, expected) in cases {
            let note = note(body);
            let chunks = cut(&note, 254, 32);
            assert_eq!(chunks.len(), 1, "{name}");
            assert_eq!(embedded_text(&note, &chunks[0]), expected, "{name}");
            assert!(chunks[0].heading_path.is_empty(), "{name}");
        }
    }

    #[test]
    fn lists_of_links_have_no_chunk_beside_other_text() {
        let text = "word ".repeat(20);
        let list = "- [[soil and shade]]\n".repeat(40);
        let with_list = note(&format!("{text}\n\n## Related\n\n{list}"));
        let found = cut(&with_list, 60, 0);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].span.slice(&with_list.body), text.trim_end());
        let list_only = note(&format!("# Map\n\n{list}{list}"));
        assert!(cut(&list_only, 60, 0).len() > 1, "a map of links keeps its chunks");
    }

    #[test]
    fn embedded_text_contains_link_labels() {
        let options = ParseOptions { dendron: true, ..ParseOptions::default() };
        let text = "# [[Moss|a.moss]]\nsee [[the fern|plant.fern#soil]] and [[a.b]]\n";
        let (note, _) = parse(&NotePath::new("a.moss.md"), text.as_bytes(), &options);
        let chunks = cut(&note, 254, 32);
        assert_eq!(embedded_text(&note, &chunks[0]), "Moss\nsee the fern and a.b");
    }

    #[test]
    fn chunks_are_cut_at_headings_and_name_them() {
        let text = "word ".repeat(20);
        let note = note(&format!(
            "# Moss\n{text}\n## Soil\n{text}\n### Depth\n{text}\n## Light\n{text}\n"
        ));
        let chunks = cut(&note, 30, 0);
        let starts = chunks.iter().map(|chunk| chunk.span.slice(&note.body).lines().next());
        let expected = ["# Moss", "## Soil", "### Depth", "## Light"].map(Some);
        assert_eq!(starts.collect::<Vec<_>>(), expected);
        assert_eq!(chunks[2].heading_path, ["Moss", "Soil"]);
        let third = embedded_text(&note, &chunks[2]);
        assert!(third.starts_with("Moss > Soil\nDepth\nword word"), "{third}");
    }

    #[test]
    fn long_section_overlaps_previous_chunk() {
        let sentences =
            (0..40).map(|n| format!("Sentence number {n} is here. ")).collect::<String>();
        let note = note(&sentences);
        let plain = cut(&note, 40, 0);
        assert!(plain.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start));
        let chunks = cut(&note, 40, 12);
        for pair in chunks.windows(2) {
            let shared = Span::new(pair[1].span.start, pair[0].span.end);
            assert!(pair[1].span.start < pair[0].span.end, "nothing is repeated");
            assert!(words(shared.slice(&note.body)) <= 12);
            assert!(shared.slice(&note.body).starts_with("Sentence"));
        }
    }

    #[test]
    fn long_title_leaves_room_for_text() {
        let title = "long ".repeat(200);
        let text = format!("---\ntitle: {title}\n---\n# One\n{}", "word ".repeat(50));
        let (note, _) = parse(&NotePath::new("a.md"), text.as_bytes(), &ParseOptions::default());
        let chunks = cut(&note, 60, 0);
        for chunk in &chunks {
            assert!(
                embedded_text(&note, chunk).lines().next().is_some_and(|line| line.len() < 100)
            );
        }
        assert!(chunks.len() < 5, "{}", chunks.len());
    }

    #[test]
    fn equal_texts_have_equal_hashes() {
        let (one, two) = (note("# Soil\ndeep"), note("# Soil\n\n\n**deep**\n"));
        let hash_of = |note: &Note| cut(note, 254, 0)[0].hash;
        assert_eq!(hash_of(&one), hash_of(&two));
        assert_ne!(hash_of(&one), hash_of(&note("# Soil\ndeeper")));
        let digest = blake3::hash(b"Moss\nSoil\ndeep").to_hex();
        assert_eq!(format!("{:?}", hash_of(&one)), digest[..32]);
    }

    #[test]
    fn split_markup_cannot_exceed_window() {
        // Each `1.` alone is an empty list; together they are text.
        let note = note(&". 1".repeat(5000));
        let chunks = cut(&note, 60, 8);
        assert!(chunks.iter().all(|chunk| words(&embedded_text(&note, chunk)) <= 61));
    }

    fn markdown() -> impl Strategy<Value = String> {
        let word = prop_oneof![
            "[a-z]{1,9}",
            "[漢字仮名]{1,40}",
            Just("**bold**".to_owned()),
            Just("[[note|shown]]".to_owned()),
            Just("🌿👩‍🌾".to_owned()),
            "[a-z]{200}",
        ];
        let end = prop::sample::select(vec![
            " ", " ", ". ", "\n", "\n\n", "\n# ", "\n## ", "\n- ", "\n```\n",
        ]);
        prop::collection::vec((word, end), 0..120)
            .prop_map(|parts| parts.into_iter().map(|(word, end)| word + end).collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn all_text_is_covered_and_fits(body in markdown(), max_tokens in 12_usize..80, overlap in 0_usize..12) {
            let mut note = note(&body);
            // Lists of links are not covered.
            note.links.clear();
            let chunks = cut(&note, max_tokens, overlap);
            let covered = |at: u32| chunks.iter().any(|chunk| chunk.span.start <= at && at < chunk.span.end);
            for (at, c) in (0_u32..).zip(note.body.chars()) {
                prop_assert!(c.is_whitespace() || covered(at), "{c:?} at {at}");
            }
            prop_assert!(chunks.windows(2).all(|pair| pair[0].span.start < pair[1].span.start));
            let texts = embedded_texts(&note, &chunks).collect::<Vec<_>>();
            for (chunk, text) in chunks.iter().zip(&texts) {
                prop_assert_eq!(text, &embedded_text(&note, chunk));
                prop_assert_eq!(hash_of(text.as_bytes()), chunk.hash);
                // A long context line may take slightly more than its share of such a small window.
                let context = words(text.lines().next().unwrap_or_default());
                prop_assert!(words(text) <= max_tokens.max(context + max_tokens / MIN_ROOM_SHARE + 1), "{}", text);
            }
            prop_assert_eq!(&chunks, &cut(&note, max_tokens, overlap));
        }

        #[test]
        fn any_text_can_be_cut(body in any::<String>(), max_tokens in 0_usize..10) {
            let note = note(&body);
            prop_assert!(!cut(&note, max_tokens, 3).is_empty());
        }
    }
}
