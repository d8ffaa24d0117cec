//! Suggested links: mentions of a title or another name in plain text that are not links yet.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use weft_index::Snapshot;
use weft_index::notes::VaultId;
use weft_model::text::byte_of_char;
use weft_model::{NoteId, NoteKind, Span, TextHash, fold};

use super::linkable_text::linkable_ranges;
use super::{
    BodyPlaces, RankedPage, check_now_and_then, excerpt, filter_warnings, note_ref, passing_notes,
};
use crate::{Engine, EngineError, Filter, NoteRef, Warning, resolve_note};

/// Least number of characters of a name: shorter ones are mentioned by chance.
const MIN_NAME_CHARS: usize = 3;

/// Maximum number of words of a name.
const MAX_NAME_WORDS: usize = 10;

/// Share of the notes that may mention a name; beyond it, and beyond [`MIN_COMMON_NOTES`], the name is a common word.
const MAX_MENTIONING_SHARE: f64 = 0.1;

/// Number of notes that may mention any name, however small the vault.
const MIN_COMMON_NOTES: usize = 10;

/// Characters shown before and after a mention.
const CONTEXT_CHARS: usize = 60;

/// Maximum number of mentions that one request turns into links.
const MAX_LINKED_MENTIONS: usize = 1000;

/// Requests a page of suggested links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SuggestedLinksRequest {
    /// Name of the only note whose text is read; `None` for all notes.
    pub note: Option<String>,
    /// Restricts the notes whose texts are read. Any note may be the target of a link.
    pub filter: Filter,
    /// Links per page, 1 to 1,000; 0 means 100.
    pub page_size: usize,
    /// Token of the previous page; empty for the first page.
    pub page_token: String,
}

/// A page of suggested links.
#[derive(Clone, Debug, PartialEq)]
pub struct SuggestedLinksAnswer {
    /// Names of several words first, then names that few notes mention; the links of a single note in the order of its text.
    pub links: Vec<SuggestedLink>,
    /// Token of the next page; empty on the last page.
    pub next_page_token: String,
    /// Number of links on all pages.
    pub total: usize,
    /// Ambiguous names and filter conditions that no note matches.
    pub warnings: Vec<Warning>,
    /// Generation of the snapshot.
    pub generation: u64,
}

/// The first mention of a note in the text of another that does not link to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuggestedLink {
    /// The note that mentions the other.
    pub note: NoteRef,
    /// Hash of its file, which a request to write the link must name.
    pub hash: TextHash,
    /// The mentioned note.
    pub target: NoteRef,
    /// The mention, as written.
    pub text: String,
    /// Place of the mention in the body, in characters.
    pub span: Span,
    /// Line of the body, from 1.
    pub line: u32,
    /// The mention with the text around it, on one line.
    pub excerpt: String,
    /// The link to write in its place.
    pub link: String,
    /// Number of mentions in the note.
    pub n_mentions: usize,
    /// Number of notes that mention this name without a link.
    pub n_mentioning: usize,
}

/// A mention that becomes a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MentionToLink {
    /// Place in the body, in characters.
    pub span: Span,
    /// Name of the note to link to.
    pub target: String,
}

/// The text of a note with further links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedText {
    /// Vault of the note.
    pub vault: String,
    /// Path of the note.
    pub path: String,
    /// Body with the links.
    pub body: String,
    /// The written links, in the order of the text.
    pub links: Vec<String>,
}

/// A mention found by the pass over all texts.
pub(super) struct FoundMention {
    note: NoteId,
    target: NoteId,
    bytes: Range<usize>,
    /// The mentioned name, folded.
    name: Arc<str>,
    n_mentions: usize,
    n_mentioning: usize,
}

/// Names of notes by their vault.
struct MentionNames {
    by_vault: HashMap<VaultId, NamesOfVault>,
}

/// Names of the notes of one vault. A text is looked up in each form that a name may have, whatever the number of names that begin with its word.
#[derive(Default)]
struct NamesOfVault {
    by_folded: HashMap<Arc<str>, MentionName>,
    /// Forms of the names that begin with each folded word, in the order in which they are tried.
    forms: HashMap<String, Vec<NameForm>>,
}

/// Extent of a name in a text; most words first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct NameForm {
    n_words: Reverse<usize>,
    /// Number of characters of a name that ends in a sign, such as `C++`; any other name ends with its last word.
    n_chars: Option<usize>,
}

/// A name by which exactly one note is found.
struct MentionName {
    folded: Arc<str>,
    form: NameForm,
    note: NoteId,
    /// The only spelling that counts, for a single word.
    exact: Option<String>,
}

impl MentionNames {
    fn of(snapshot: &Snapshot) -> Self {
        let notes = &snapshot.notes;
        let titles = notes.summaries().map(|(id, summary)| (fold(summary.title), id));
        let others = notes.link_names().map(|(name, id)| (name.to_owned(), id));
        let vault = |id| notes.summary(id).map(|summary| summary.vault);
        let named = titles.chain(others).filter_map(|(name, id)| Some((vault(id)?, name, id)));
        let mut named: Vec<(VaultId, String, NoteId)> = named.collect();
        named.sort_unstable();
        named.dedup();
        let mut by_vault: HashMap<VaultId, NamesOfVault> = HashMap::new();
        for same in named.chunk_by(|a, b| (a.0, &a.1) == (b.0, &b.1)) {
            if let [(vault, name, note)] = same
                && let Some(name) = MentionName::new(snapshot, name, *note)
            {
                by_vault.entry(*vault).or_default().insert(name);
            }
        }
        Self { by_vault }
    }

    /// Returns the mentions in a body, in order; of overlapping ones, the first, and of those the longest.
    fn mentions<'n>(&'n self, vault: VaultId, body: &str) -> Vec<NameInText<'n>> {
        let mut found = Vec::new();
        let Some(names) = self.by_vault.get(&vault) else { return found };
        let mut folded = String::new();
        for range in linkable_ranges(body) {
            let text = &body[range.clone()];
            let words: Vec<Range<usize>> = words(text).collect();
            let mut at = 0;
            while at < words.len() {
                let Some((name, length)) = names.at(text, &words[at..], &mut folded) else {
                    at += 1;
                    continue;
                };
                let start = range.start + words[at].start;
                let bytes = start..start + length;
                let spelling = name.spelling(body, &bytes);
                found.push(NameInText { bytes, name, spelling });
                at += name.form.n_words.0;
            }
        }
        found
    }
}

impl NamesOfVault {
    fn insert(&mut self, name: MentionName) {
        let first = words(&name.folded).next().map(|word| name.folded[word].to_owned());
        let forms = self.forms.entry(first.unwrap_or_default()).or_default();
        if let Err(at) = forms.binary_search(&name.form) {
            forms.insert(at, name.form);
        }
        self.by_folded.insert(Arc::clone(&name.folded), name);
    }

    /// Returns the name that begins with the first of `words` of a text, and its length in bytes. `folded` is a buffer.
    fn at(
        &self,
        text: &str,
        words: &[Range<usize>],
        folded: &mut String,
    ) -> Option<(&MentionName, usize)> {
        let first = words.first()?;
        fold_into(&text[first.clone()], folded);
        self.forms.get(folded.as_str())?.iter().find_map(|form| {
            let last = words.get(form.n_words.0 - 1)?;
            let rest = &text[first.start..];
            let to_last = last.end - first.start;
            let length = form.n_chars.map_or(to_last, |n_chars| byte_of_char(rest, n_chars));
            fold_into(rest.get(..length)?, folded);
            let name = self.by_folded.get(folded.as_str()).filter(|name| name.form == *form)?;
            Some((name, length))
        })
    }
}

/// A name in a text.
struct NameInText<'n> {
    bytes: Range<usize>,
    name: &'n MentionName,
    spelling: Spelling,
}

/// Meaning of the spelling of a name in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    /// The note is meant.
    Name,
    /// A single word, whose capital may be that of a sentence.
    AtSentenceStart,
    /// A single word that is written otherwise than in the title: `tasks`, and a note `Tasks`.
    OrdinaryWord,
    /// A single word of a longer name: `Second World War`, and a note `Second`.
    PartOfName,
}

/// The mentions of one note in the text of another, apart by what they say.
struct MentionedNote<'n> {
    note: NoteId,
    target: NoteId,
    /// The first mention and the number of mentions.
    named: Option<(NameInText<'n>, usize)>,
    /// The same at the beginning of sentences.
    at_sentence_start: Option<(NameInText<'n>, usize)>,
}

impl<'n> MentionedNote<'n> {
    fn add(&mut self, mention: NameInText<'n>) {
        let side = match mention.spelling {
            Spelling::Name => &mut self.named,
            Spelling::AtSentenceStart => &mut self.at_sentence_start,
            Spelling::OrdinaryWord | Spelling::PartOfName => return,
        };
        side.get_or_insert((mention, 0)).1 += 1;
    }

    /// Returns the first mention and their number, without words at the beginning of a sentence that are `ordinary` elsewhere.
    fn first(self, ordinary: &HashSet<&str>) -> Option<FoundMention> {
        let Self { note, target, named, at_sentence_start } = self;
        let initial = at_sentence_start.filter(|(it, _)| !ordinary.contains(&*it.name.folded));
        let n_mentions = [&named, &initial].into_iter().flatten().map(|(_, n)| n).sum();
        let both = named.into_iter().chain(initial);
        let (first, _) = both.min_by_key(|(mention, _)| mention.bytes.start)?;
        let name = Arc::clone(&first.name.folded);
        Some(FoundMention { note, target, bytes: first.bytes, name, n_mentions, n_mentioning: 0 })
    }
}

impl MentionName {
    /// Returns the name of a note as it is looked for in texts; `None` if a mention of it would say little, or could not be a link.
    fn new(snapshot: &Snapshot, name: &str, note: NoteId) -> Option<Self> {
        let cannot_be_linked = |text: &str| text.contains(['[', ']', '|', '#', '^', '\n']);
        let path = snapshot.notes.summary(note)?.path;
        let n_words = words(name).count();
        let is_number = name.chars().all(|c| c.is_numeric() || c.is_ascii_punctuation());
        let is_usable = !is_number
            && (1..=MAX_NAME_WORDS).contains(&n_words)
            && name.chars().count() >= MIN_NAME_CHARS
            && !name.contains('/')
            && !cannot_be_linked(name)
            && !cannot_be_linked(path)
            && words(name).next().is_some_and(|first| first.start == 0);
        // A single word in another case is an ordinary word: `Tasks`, the note, and tasks.
        let title = snapshot.notes.title(note);
        let spelled = if fold(title) == name { title } else { name };
        let is_plain_word = n_words == 1 && name.chars().all(char::is_alphabetic);
        if !is_usable || (is_plain_word && spelled.chars().all(char::is_lowercase)) {
            return None;
        }
        let exact = is_plain_word.then(|| spelled.to_owned());
        let ends_in_sign = name.chars().next_back().is_some_and(|c| !c.is_alphanumeric());
        let n_chars = ends_in_sign.then(|| name.chars().count());
        let form = NameForm { n_words: Reverse(n_words), n_chars };
        Some(Self { folded: name.into(), form, note, exact })
    }

    /// Returns the meaning of the spelling of the name in `bytes` of `body`.
    fn spelling(&self, body: &str, bytes: &Range<usize>) -> Spelling {
        match &self.exact {
            None => Spelling::Name,
            Some(exact) if body[bytes.clone()] != **exact => Spelling::OrdinaryWord,
            Some(_) if is_part_of_name(body, bytes) => Spelling::PartOfName,
            Some(_) if begins_sentence(&body[..bytes.start]) => Spelling::AtSentenceStart,
            Some(_) => Spelling::Name,
        }
    }
}

/// Returns true if the word beside `bytes` has a capital that no sentence gives it.
fn is_part_of_name(body: &str, bytes: &Range<usize>) -> bool {
    let is_capitalized = |word: &str| word.chars().next().is_some_and(char::is_uppercase);
    let before = body[..bytes.start].strip_suffix(' ').is_some_and(|before| {
        let word = before.trim_end_matches(char::is_alphanumeric).len();
        is_capitalized(&before[word..]) && !begins_sentence(&before[..word])
    });
    before || body[bytes.end..].strip_prefix(' ').is_some_and(is_capitalized)
}

/// Returns true if a sentence or an item of a list begins after `before`.
fn begins_sentence(before: &str) -> bool {
    let before = before.trim_end_matches([' ', '\t', '*', '_', '>', '-', '+']);
    before.chars().next_back().is_none_or(|c| ".!?:;\n]…。！？".contains(c))
}

/// Writes a text in its folded form; without an allocation if it is ASCII, as most are.
fn fold_into(text: &str, folded: &mut String) {
    folded.clear();
    if text.is_ascii() {
        folded.push_str(text);
        folded.make_ascii_lowercase();
    } else {
        folded.push_str(&fold(text));
    }
}

/// Returns the words of a text as bytes: runs of letters and digits.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut letters = text.char_indices().peekable();
    std::iter::from_fn(move || {
        let (start, first) = letters.find(|(_, c)| c.is_alphanumeric())?;
        let mut end = start + first.len_utf8();
        while let Some((at, c)) = letters.next_if(|(_, c)| c.is_alphanumeric()) {
            end = at + c.len_utf8();
        }
        Some(start..end)
    })
}

impl Engine {
    /// Returns the mentions of notes in plain text that are not links yet: of each mentioned note the first mention, unless the note links to it anywhere.
    ///
    /// Names are titles, aliases and file names by which links find exactly one note. A single word counts only as it is written in the title, and a name that more than a tenth of the notes mention is a common word.
    /// Cost: reads every body once per generation and filter.
    /// Fails on an unknown note, an invalid filter and a token of another request.
    pub fn suggested_links(
        &self,
        request: &SuggestedLinksRequest,
    ) -> Result<SuggestedLinksAnswer, EngineError> {
        let SuggestedLinksRequest { note, filter, page_size, page_token } = request;
        let page = RankedPage::of(&("links", note, filter), *page_size, page_token)?;
        let snapshot = self.snapshot();
        let mut warnings = Vec::new();
        let only = note.as_deref().map(|name| resolve_note(&snapshot, name, &mut warnings));
        let only = only.transpose()?;
        let passing = self.filter_matches(&snapshot, filter)?;
        warnings.extend(filter_warnings(&snapshot, &passing, &self.stop)?);
        let key = format!("{filter:?}");
        let cache = &self.hygiene.suggestions;
        let found = match cache.get(snapshot.generation, &key) {
            Some(found) => found,
            None => {
                // Links can be written into Markdown files only.
                let is_markdown = |id: &NoteId| {
                    let summary = snapshot.notes.summary(*id);
                    summary.is_some_and(|it| NoteKind::of(it.path) == Some(NoteKind::Markdown))
                };
                let ids = passing_notes(&snapshot, &passing).filter(is_markdown);
                let ids: Vec<NoteId> = ids.collect();
                let found = Arc::new(self.find_mentions(&snapshot, &ids)?);
                cache.insert(snapshot.generation, key, Arc::clone(&found));
                found
            }
        };
        let mut all: Vec<&FoundMention> =
            found.iter().filter(|it| only.is_none_or(|only| it.note == only)).collect();
        if only.is_some() {
            all.sort_by_key(|mention| mention.bytes.start);
        }
        let (links, next_page_token) = page.cut(&all);
        Ok(SuggestedLinksAnswer {
            links: links.iter().filter_map(|mention| view(&snapshot, mention)).collect(),
            next_page_token,
            total: all.len(),
            warnings,
            generation: snapshot.generation,
        })
    }

    /// Finds the mentions in the texts of `ids`, which are in order of uri, and ranks them.
    fn find_mentions(
        &self,
        snapshot: &Snapshot,
        ids: &[NoteId],
    ) -> Result<Vec<FoundMention>, EngineError> {
        let names = MentionNames::of(snapshot);
        let graph = snapshot.notes.graph();
        let mut mentioned: Vec<MentionedNote<'_>> = Vec::new();
        let mut ordinary: HashSet<&str> = HashSet::new();
        for (at, id) in ids.iter().enumerate() {
            check_now_and_then(&self.stop, at)?;
            let linked: HashSet<NoteId> =
                graph.outgoing(*id).iter().map(|half| half.other).chain([*id]).collect();
            let Some(vault) = snapshot.notes.summary(*id).map(|summary| summary.vault) else {
                continue;
            };
            let body = snapshot.notes.body(*id).unwrap_or_default();
            let mut place_of: HashMap<NoteId, usize> = HashMap::new();
            for mention in names.mentions(vault, body) {
                if mention.spelling == Spelling::OrdinaryWord {
                    ordinary.insert(&mention.name.folded);
                } else if mention.spelling != Spelling::PartOfName
                    && !linked.contains(&mention.name.note)
                {
                    let target = mention.name.note;
                    let place = *place_of.entry(target).or_insert(mentioned.len());
                    if place == mentioned.len() {
                        let (named, at_sentence_start) = (None, None);
                        mentioned.push(MentionedNote {
                            note: *id,
                            target,
                            named,
                            at_sentence_start,
                        });
                    }
                    mentioned[place].add(mention);
                }
            }
        }
        let mut found: Vec<FoundMention> =
            mentioned.into_iter().filter_map(|it| it.first(&ordinary)).collect();
        let mut n_mentioning: HashMap<Arc<str>, usize> = HashMap::new();
        for mention in &found {
            *n_mentioning.entry(Arc::clone(&mention.name)).or_default() += 1;
        }
        for mention in &mut found {
            mention.n_mentioning = n_mentioning[&mention.name];
        }
        let n_common = common_from(snapshot.notes.n_notes());
        found.retain(|mention| mention.n_mentioning <= n_common);
        // Stable: the mentions of a name remain in order of uri.
        found.sort_by(|a, b| {
            let key = |it: &FoundMention| (words(&it.name).count() == 1, it.n_mentioning);
            key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
        });
        Ok(found)
    }

    /// Returns the body of a note in which mentions are replaced by links. Writes nothing.
    ///
    /// Fails if the note's file does not have the hash `expected`, if a mention is not plain text, overlaps another one, or if no link would lead to its target.
    pub fn linked_text(
        &self,
        note: &str,
        expected: TextHash,
        mentions: &[MentionToLink],
    ) -> Result<LinkedText, EngineError> {
        let invalid = |reason: String| EngineError::InvalidArgument { field: "mentions", reason };
        if mentions.is_empty() || mentions.len() > MAX_LINKED_MENTIONS {
            return Err(invalid(format!(
                "{} mentions are not between 1 and {MAX_LINKED_MENTIONS}",
                mentions.len()
            )));
        }
        let snapshot = self.snapshot();
        let id = resolve_note(&snapshot, note, &mut Vec::new())?;
        let Some(entry) = snapshot.notes.entry(id) else {
            return Err(EngineError::UnknownNote {
                name: note.to_owned(),
                suggestions: Vec::new(),
            });
        };
        if entry.file.hash != expected {
            return Err(EngineError::Changed {
                path: entry.note.path.as_str().to_owned(),
                actual: entry.file.hash,
            });
        }
        let body: &str = &entry.body;
        let plain = linkable_ranges(body);
        let mut sorted: Vec<&MentionToLink> = mentions.iter().collect();
        sorted.sort_by_key(|mention| (mention.span.start, mention.span.end));
        let (mut text, mut written, mut links) = (String::with_capacity(body.len()), 0, Vec::new());
        for MentionToLink { span, target } in sorted {
            let start = byte_of_char(body, span.start as usize);
            let end = byte_of_char(body, span.end as usize);
            let place = format!("characters {} to {}", span.start, span.end);
            if start >= end || start < written {
                return Err(invalid(format!("{place} are empty or overlap another mention")));
            }
            if !plain.iter().any(|range| range.start <= start && end <= range.end) {
                return Err(invalid(format!("{place} are not plain text in one line")));
            }
            let target_id = resolve_note(&snapshot, target, &mut Vec::new())?;
            let mention = &body[start..end];
            let Some(link) = link_to(&snapshot, id, target_id, mention) else {
                return Err(invalid(format!("no link written as {mention:?} leads to `{target}`")));
            };
            text.push_str(&body[written..start]);
            text.push_str(&link);
            written = end;
            links.push(link);
        }
        text.push_str(&body[written..]);
        Ok(LinkedText {
            vault: crate::notes::vault_of(&snapshot, id),
            path: entry.note.path.as_str().to_owned(),
            body: text,
            links,
        })
    }
}

/// Returns the number of notes beyond which a mentioned name is a common word.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of a number of notes is a number of notes"
)]
fn common_from(n_notes: usize) -> usize {
    ((n_notes as f64 * MAX_MENTIONING_SHARE) as usize).max(MIN_COMMON_NOTES)
}

/// Returns the wikilink in `from` that shows `mention` and leads to `target`, if one exists.
fn link_to(snapshot: &Snapshot, from: NoteId, target: NoteId, mention: &str) -> Option<String> {
    let notes = &snapshot.notes;
    if mention.contains(['[', ']', '|', '\n']) {
        return None;
    }
    let leads_there = |name: &str| {
        !name.contains(['[', ']', '|', '#', '^'])
            && notes.find_from(name, from).note == Some(target)
    };
    if leads_there(mention) {
        return Some(format!("[[{mention}]]"));
    }
    let title = notes.title(target);
    let uri = notes.graph().uri(target).as_str();
    let path = notes.summary(target)?.path;
    let names = [title, uri, weft_model::id::without_markdown_extension(path)];
    names.into_iter().find(|name| leads_there(name)).map(|name| format!("[[{name}|{mention}]]"))
}

fn view(snapshot: &Snapshot, found: &FoundMention) -> Option<SuggestedLink> {
    let FoundMention { note, target, bytes, name: _, n_mentions, n_mentioning } = found;
    let body = snapshot.notes.body(*note)?;
    let (span, line) = BodyPlaces::of(body).span(bytes);
    let text = &body[bytes.clone()];
    Some(SuggestedLink {
        note: note_ref(snapshot, *note),
        hash: snapshot.notes.summary(*note)?.file.hash,
        target: note_ref(snapshot, *target),
        text: text.to_owned(),
        span,
        line,
        excerpt: line_around(body, bytes),
        link: link_to(snapshot, *note, *target, text)?,
        n_mentions: *n_mentions,
        n_mentioning: *n_mentioning,
    })
}

/// Returns the line of a mention, with up to [`CONTEXT_CHARS`] before and after it, cut between words.
fn line_around(body: &str, bytes: &Range<usize>) -> String {
    let start = body[..bytes.start].rfind('\n').map_or(0, |at| at + 1);
    let end = body[bytes.end..].find('\n').map_or(body.len(), |at| bytes.end + at);
    let (before, after) = (&body[start..bytes.start], &body[bytes.end..end]);
    let before = match before.char_indices().rev().nth(CONTEXT_CHARS) {
        None => before.to_owned(),
        Some((cut, _)) => {
            let word = before[cut..].find(' ').map_or(before.len(), |at| cut + at + 1);
            format!("…{}", &before[word..])
        }
    };
    let after = match after.char_indices().nth(CONTEXT_CHARS) {
        None => after.to_owned(),
        Some((cut, ' ')) => format!("{}…", &after[..cut]),
        Some((cut, _)) => format!("{}…", &after[..after[..cut].rfind(' ').unwrap_or_default()]),
    };
    excerpt(&format!("{before}{}{after}", &body[bytes.clone()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mention_is_shown_with_whole_words_of_its_line() {
        let words = "word ".repeat(20);
        for (before, after, expected) in [
            ("", "", "name"),
            ("other line\na ", " b\nother line", "a name b"),
            (&*words, "", &*format!("…{}name", "word ".repeat(12))),
            ("", &*format!(" {words}"), &*format!("name {}…", "word ".repeat(12).trim_end())),
            (&*"ö".repeat(99), &*"ö".repeat(99), "…name…"),
        ] {
            let body = format!("{before}name{after}");
            let shown = line_around(&body, &(before.len()..before.len() + 4));
            assert_eq!(shown, expected, "{body}");
        }
    }

    #[test]
    fn capitals_beside_a_word_make_it_part_of_a_name() {
        for (body, is_part) in [
            ("By the Second World War", true),
            ("At Logseq Second", true),
            ("The Second.", false),
            ("a Second of time", false),
            ("Second", false),
            ("the Second, Third", false),
        ] {
            let start = body.find("Second").unwrap();
            assert_eq!(is_part_of_name(body, &(start..start + 6)), is_part, "{body}");
        }
    }

    #[test]
    fn words_are_folded_alike_in_ascii_and_beyond() {
        let mut folded = String::new();
        for word in ["Moss", "MOSS9", "Über", "STRASSE", "ſ"] {
            fold_into(word, &mut folded);
            assert_eq!(folded, fold(word));
        }
    }

    #[test]
    fn sentences_and_items_begin_with_capitals() {
        for (before, begins) in [
            ("", true),
            ("- ", true),
            ("- [ ] ", true),
            ("End. ", true),
            ("1. **", true),
            ("the ", false),
            ("(", false),
            ("\"", false),
        ] {
            assert_eq!(begins_sentence(before), begins, "{before:?}");
        }
    }
}
