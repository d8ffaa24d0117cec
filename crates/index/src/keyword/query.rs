//! Queries: what was typed, looked up in one commit of the index.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tantivy::DocId;
use tantivy::postings::TermInfo;
use weft_model::{NoteId, NoteSet};

use super::error::KeywordError;
use super::phrase::phrase_hits;
use super::reader::{KeywordReader, View};
use super::segment::Source;
use super::sought::Sought;
use super::syntax::{Clause, Occurrence, clauses};
use super::typo::neighbours;
use super::{Analyzer, Language, TokenKind};

/// Bytes of a query that are read; people and programs paste whole pages.
pub const MAX_QUERY_BYTES: usize = 1 << 16;

/// Distinct words of a query that are looked up at all.
const MAX_LOOKED_UP: usize = 1024;

/// Phrases of a query that are matched as such; words of further ones are searched one by one.
pub const MAX_PHRASES: usize = 16;

/// Words of a query that no note holds and that are looked for with a letter changed, each of which takes thousands of look-ups.
pub const MAX_MISTYPED: usize = 16;

/// Function words of a language, at least, by which a query shows to be in it where most notes are in another: of one, it may well be another word there.
const MIN_FUNCTION_WORDS: usize = 2;

/// How a query is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryOptions {
    /// Distinct words that are searched for, at least 1; of more, those that tell most.
    pub max_terms: usize,
    /// Whether a word no note holds stands for words one edit away.
    pub typo_tolerance: bool,
    /// Such words per mistyped word, those of most notes first.
    pub max_expansions: usize,
}

impl Default for QueryOptions {
    fn default() -> Self {
        Self { max_terms: 64, typo_tolerance: false, max_expansions: 16 }
    }
}

/// What was not read of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// The text beyond [`MAX_QUERY_BYTES`].
    pub text: bool,
    /// Words that tell less than those that were looked for.
    pub words: bool,
    /// Words and phrases to leave out, beyond as many as words are searched for.
    pub exclusions: bool,
    /// Phrases beyond the first [`MAX_PHRASES`]: their words were searched one by one.
    pub phrases: bool,
    /// Words that no note holds, beyond the first [`MAX_MISTYPED`]: they were not taken for mistyped.
    pub mistyped: bool,
}

/// One word of a query.
#[derive(Clone, Debug)]
pub struct QueryTerm {
    /// The word as typed, where it first stands.
    pub surface: String,
    /// The terms it is searched as: its stem in each language of the notes, with its diacritics and without. Occurrences of all of them count as one term's.
    pub alternatives: Vec<String>,
    /// How often it stands in the query.
    pub count: u32,
    /// The notes that hold it: the sum over its alternatives, at most all notes.
    pub n_notes: u32,
    /// How much it tells; the most any word can tell where no note holds it.
    pub idf: f64,
    sources: Vec<Vec<Source>>,
}

impl QueryTerm {
    /// What it adds at most: `count · idf`, or nothing where no note holds it.
    #[must_use]
    pub fn weight(&self) -> f64 {
        if self.n_notes == 0 { 0.0 } else { f64::from(self.count) * self.idf }
    }
}

/// A query read against one commit of the index.
#[derive(Clone)]
pub struct KeywordQuery {
    view: Arc<View>,
    terms: Vec<QueryTerm>,
    /// The heaviest first, of equals words before phrases, each as they stand: sums are taken so.
    pub(super) scored: Vec<Scored>,
    pub(super) admitted: NoteSet,
    /// Its words as they stand, excluded ones left out, once for each language that makes other terms of them.
    pub(super) spoken: Vec<Vec<String>>,
    unread: Unread,
}

/// A part of a query that adds to the score.
#[derive(Clone, Debug)]
pub(super) struct Scored {
    pub(super) matcher: Matcher,
    pub(super) weight: f64,
}

/// Finds documents, per segment.
#[derive(Clone, Debug)]
pub(super) enum Matcher {
    /// Those with any of these entries.
    Term(Vec<Vec<Source>>),
    /// Those found already, ascending, with how often.
    Found(Vec<Vec<(DocId, u32)>>),
}

impl std::fmt::Debug for KeywordQuery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeywordQuery")
            .field("terms", &self.terms)
            .field("unread", &self.unread)
            .finish()
    }
}

impl KeywordQuery {
    /// Its distinct words in the order they first stand, those of phrases included, excluded ones not.
    ///
    /// Function words are left out unless the query has nothing else.
    #[must_use]
    pub fn terms(&self) -> &[QueryTerm] {
        &self.terms
    }

    /// The score a note could have at most; 0 for a query that can find nothing.
    ///
    /// A note's score over this is its share of what the query asks, in `0.0..1.0`, whatever else was found.
    #[must_use]
    pub fn attainable(&self) -> f64 {
        self.scored.iter().map(|scored| scored.weight).sum()
    }

    /// Its [terms](Self::terms) as what is looked for in texts: whatever answers a word is told by the word's place among them.
    #[must_use]
    pub fn sought(&self) -> Sought<'_> {
        let forms = self.terms.iter().zip(0..);
        Sought::new(forms.flat_map(|(term, place)| {
            term.alternatives.iter().map(move |alternative| (&**alternative, place))
        }))
    }

    /// What was not read because there was too much.
    #[must_use]
    pub const fn unread(&self) -> Unread {
        self.unread
    }

    /// The notes that hold all it requires and nothing it excludes; no restriction where it does neither.
    #[must_use]
    pub const fn admitted(&self) -> &NoteSet {
        &self.admitted
    }

    /// Lets `note` answer whatever it lacks or holds.
    pub fn admit(&mut self, note: NoteId) {
        self.admitted.insert(note);
    }

    pub(super) const fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// The entries of each term in one segment.
    pub(super) fn sources(&self, segment_idx: usize) -> impl Iterator<Item = &[Source]> {
        self.terms.iter().map(move |term| &*term.sources[segment_idx])
    }
}

/// A word of the query before it is looked up: its terms by language, and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Word {
    pub(super) surface: String,
    pub(super) alternatives: Vec<String>,
    pub(super) position: u32,
    kind: TokenKind,
    /// The languages of the notes in which it is a function word: a bit for each, by its place among them.
    stop_in: u32,
}

impl Word {
    /// Makes it what it is in a query in the language at a place.
    fn read_in(&mut self, language_idx: usize) {
        if matches!(self.kind, TokenKind::Word | TokenKind::Stop) {
            let is_stop = self.stop_in & 1 << language_idx != 0;
            self.kind = if is_stop { TokenKind::Stop } else { TokenKind::Word };
        }
    }
}

impl KeywordReader {
    /// Reads what somebody typed. Any text is a query; what cannot be found counts as a word no note holds.
    ///
    /// - Words are alternatives: a note needs one of them. Function words of the query's language are left out where there are others.
    /// - A `"phrase"` must stand word by word. A phrase nobody wrote is taken as its words.
    /// - `+` before a word or phrase makes it necessary, `-` excludes it; a word that consists of several (`-e-mail`) is a phrase there. A query of exclusions only finds nothing.
    ///
    /// Fails only when the index cannot be read.
    pub fn parse(&self, text: &str, options: &QueryOptions) -> Result<KeywordQuery, KeywordError> {
        self.read(|| {
            self.check_held()?;
            let cut = text.floor_char_boundary(MAX_QUERY_BYTES);
            let mut builder = Builder {
                reader: self,
                options,
                analyzer: Analyzer::new(),
                languages: self.query_languages(),
                terms: Vec::new(),
                by_alternatives: HashMap::new(),
                phrases: Vec::new(),
                n_phrases: 0,
                n_mistyped: 0,
                required: Vec::new(),
                excluded: Vec::new(),
                unread: Unread { text: cut < text.len(), ..Unread::default() },
            };
            let clauses = clauses(&text[..cut]);
            let mut analysed: Vec<(Clause<'_>, Vec<Word>)> =
                clauses.into_iter().map(|clause| (clause, builder.words(clause.text))).collect();
            let language_idx = builder.language_of(analysed.iter().flat_map(|(_, words)| words));
            for word in analysed.iter_mut().flat_map(|(_, words)| words) {
                word.read_in(language_idx);
            }
            let has_content = analysed
                .iter()
                .filter(|(clause, _)| clause.occurrence != Occurrence::MustNot)
                .any(|(_, words)| words.iter().any(|word| word.kind != TokenKind::Stop));
            for (clause, words) in &analysed {
                builder.add(clause, words, has_content)?;
            }
            let spoken = builder.spoken(analysed.iter().map(|(clause, _)| clause));
            builder.finish(spoken)
        })
    }

    /// The languages a query is read in: those of the notes, or the usual one where there are none.
    fn query_languages(&self) -> Vec<Language> {
        let mut languages = self.languages().to_vec();
        if languages.is_empty() {
            languages.push(self.0.fallback);
        }
        languages
    }
}

struct Builder<'r> {
    reader: &'r KeywordReader,
    options: &'r QueryOptions,
    analyzer: Analyzer,
    languages: Vec<Language>,
    terms: Vec<Draft>,
    by_alternatives: HashMap<Vec<String>, usize>,
    phrases: Vec<Phrase>,
    /// Phrases that were looked up, whatever became of them.
    n_phrases: usize,
    /// Words that were taken for mistyped.
    n_mistyped: usize,
    required: Vec<Matcher>,
    excluded: Vec<Matcher>,
    unread: Unread,
}

/// A term on its way into the query.
struct Draft {
    term: QueryTerm,
    /// Where the text lists each of its alternatives, by segment.
    infos: Vec<Vec<Option<TermInfo>>>,
    /// How often it stands outside phrases, which count for themselves.
    n_plain: u32,
    is_required: bool,
}

/// A phrase on its way into the query.
struct Phrase {
    hits: Vec<Vec<(DocId, u32)>>,
    term_idxs: Vec<usize>,
}

impl Builder<'_> {
    /// The tokens of `text` in every language at once.
    fn words(&mut self, text: &str) -> Vec<Word> {
        let mut words: Vec<Word> = Vec::new();
        for (language_idx, language) in self.languages.iter().enumerate() {
            let mut at = 0;
            let stop_in = |kind| u32::from(kind == TokenKind::Stop) << language_idx;
            self.analyzer.analyze(text, *language, |token| {
                if language_idx == 0 {
                    words.push(Word {
                        surface: text[token.start..token.end].to_owned(),
                        alternatives: Vec::new(),
                        position: token.position,
                        kind: token.kind,
                        stop_in: 0,
                    });
                }
                if let Some(word) = words.get_mut(at) {
                    word.stop_in |= stop_in(token.kind);
                    for form in [token.term].into_iter().chain(token.plain.map(|plain| plain.term))
                    {
                        if !word.alternatives.iter().any(|known| known == form) {
                            word.alternatives.push(form.to_owned());
                        }
                    }
                }
                at += 1;
            });
        }
        words
    }

    /// The place of the language in whose function words a query speaks: the notes' most usual one, unless it has more of another.
    ///
    /// What is a function word in one language tells in another: `car`, `war`, `die`, `son`.
    fn language_of<'w>(&self, words: impl Iterator<Item = &'w Word>) -> usize {
        let mut counts = vec![0; self.languages.len()];
        let mut seen = HashSet::new();
        for word in words.filter(|word| word.stop_in != 0) {
            if seen.insert(&word.alternatives) {
                for (language_idx, count) in counts.iter_mut().enumerate() {
                    *count += usize::from(word.stop_in & 1 << language_idx != 0);
                }
            }
        }
        let most = counts.iter().copied().max().unwrap_or_default();
        let shown = counts.iter().position(|count| *count == most);
        shown.filter(|_| most >= MIN_FUNCTION_WORDS).unwrap_or_default()
    }

    /// The words of the clauses in order, in each language, as names are compared.
    fn spoken<'q>(&mut self, clauses: impl Iterator<Item = &'q Clause<'q>>) -> Vec<Vec<String>> {
        let wanted: Vec<&str> = clauses
            .filter(|clause| clause.occurrence != Occurrence::MustNot)
            .map(|clause| clause.text)
            .collect();
        let mut spoken = Vec::new();
        for language in &self.languages {
            let words = self.analyzer.name_words(&wanted, *language);
            if !spoken.contains(&words) {
                spoken.push(words);
            }
        }
        spoken
    }

    fn add(
        &mut self,
        clause: &Clause<'_>,
        words: &[Word],
        has_content: bool,
    ) -> Result<(), KeywordError> {
        let mut whole: Vec<&Word> = words
            .iter()
            .filter(|word| matches!(word.kind, TokenKind::Word | TokenKind::Stop))
            .collect();
        let is_phrase = clause.is_phrase || clause.occurrence != Occurrence::May;
        if is_phrase && whole.len() > 1 {
            self.unread.words |= whole.len() > MAX_LOOKED_UP;
            whole.truncate(MAX_LOOKED_UP);
            if clause.occurrence == Occurrence::MustNot {
                return self
                    .exclude(|builder| Ok(Matcher::Found(phrase_hits(builder.reader, &whole)?)));
            }
            if self.n_phrases < MAX_PHRASES {
                self.n_phrases += 1;
                let is_required = clause.occurrence == Occurrence::Must;
                return self.add_phrase(is_required, &whole, has_content);
            }
            self.unread.phrases = true;
        }
        for (word_idx, word) in words.iter().enumerate() {
            match (word.kind, clause.occurrence) {
                (TokenKind::Character | TokenKind::Part, _) => {}
                // Function words count where there is nothing else, or where they are asked for.
                (TokenKind::Stop, Occurrence::May) if has_content => {}
                (TokenKind::Word | TokenKind::Stop, Occurrence::MustNot) => {
                    // The word itself: no word like it, and no part of it.
                    self.exclude(|builder| {
                        let draft = builder.look_up(word, false)?;
                        Ok(Matcher::Term(builder.text_sources(&draft)))
                    })?;
                }
                (TokenKind::Word | TokenKind::Stop, occurrence) => {
                    for word in self.known_or_parts(word, &words[word_idx + 1..])? {
                        self.add_word(word, occurrence == Occurrence::Must)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn add_phrase(
        &mut self,
        is_required: bool,
        whole: &[&Word],
        has_content: bool,
    ) -> Result<(), KeywordError> {
        let hits = phrase_hits(self.reader, whole)?;
        if is_required {
            self.required.push(Matcher::Found(hits.clone()));
        }
        let is_found = hits.iter().any(|hits| !hits.is_empty());
        let mut term_idxs = Vec::new();
        for word in whole.iter().filter(|word| word.kind == TokenKind::Word || !has_content) {
            let Some(term_idx) = self.term(word)? else { continue };
            self.terms[term_idx].term.count += 1;
            term_idxs.push(term_idx);
        }
        if is_found {
            self.phrases.push(Phrase { hits, term_idxs });
        } else {
            for term_idx in term_idxs {
                self.terms[term_idx].n_plain += 1;
            }
        }
        Ok(())
    }

    /// A compound that no note holds is searched as its parts.
    fn known_or_parts<'w>(
        &self,
        word: &'w Word,
        following: &'w [Word],
    ) -> Result<Vec<&'w Word>, KeywordError> {
        let parts: Vec<&Word> =
            following.iter().take_while(|next| next.kind == TokenKind::Part).collect();
        let mut is_known = parts.is_empty();
        for alternative in &word.alternatives {
            is_known = is_known || self.reader.lookup(alternative)?.1 > 0;
        }
        Ok(if is_known { vec![word] } else { parts })
    }

    fn add_word(&mut self, word: &Word, is_required: bool) -> Result<(), KeywordError> {
        let Some(term_idx) = self.term(word)? else { return Ok(()) };
        let draft = &mut self.terms[term_idx];
        draft.term.count += 1;
        draft.n_plain += 1;
        draft.is_required |= is_required;
        Ok(())
    }

    /// Excludes what `matcher` finds, unless there is too much of that.
    fn exclude(
        &mut self,
        matcher: impl FnOnce(&mut Self) -> Result<Matcher, KeywordError>,
    ) -> Result<(), KeywordError> {
        if self.excluded.len() < self.options.max_terms {
            let matcher = matcher(self)?;
            self.excluded.push(matcher);
        } else {
            self.unread.exclusions = true;
        }
        Ok(())
    }

    /// The place of the word's term among the query's, looked up at its first appearance; nothing when there are too many.
    fn term(&mut self, word: &Word) -> Result<Option<usize>, KeywordError> {
        if let Some(term_idx) = self.by_alternatives.get(&word.alternatives) {
            return Ok(Some(*term_idx));
        }
        if self.terms.len() == MAX_LOOKED_UP {
            self.unread.words = true;
            return Ok(None);
        }
        let draft = self.look_up(word, self.options.typo_tolerance)?;
        self.by_alternatives.insert(word.alternatives.clone(), self.terms.len());
        self.terms.push(draft);
        Ok(Some(self.terms.len() - 1))
    }

    fn look_up(&mut self, word: &Word, with_typos: bool) -> Result<Draft, KeywordError> {
        let mut alternatives = word.alternatives.clone();
        let (mut infos, mut n_notes) = (Vec::new(), 0);
        for alternative in &alternatives {
            let (info, n) = self.reader.lookup(alternative)?;
            infos.push(info);
            n_notes += n;
        }
        if n_notes == 0 && with_typos && self.n_mistyped == MAX_MISTYPED {
            self.unread.mistyped = true;
        } else if n_notes == 0 && with_typos {
            self.n_mistyped += 1;
            let limit = self.options.max_expansions;
            for neighbour in
                neighbours(self.reader, word, &self.languages, &mut self.analyzer, limit)?
            {
                let (info, n) = self.reader.lookup(&neighbour)?;
                infos.push(info);
                n_notes += n;
                alternatives.push(neighbour);
            }
        }
        let n_notes = n_notes.min(u32::try_from(self.reader.n_notes()).unwrap_or(u32::MAX));
        let idf = self.reader.idf(n_notes);
        let term = QueryTerm {
            surface: word.surface.clone(),
            alternatives,
            count: 0,
            n_notes,
            idf,
            sources: Vec::new(),
        };
        Ok(Draft { term, infos, n_plain: 0, is_required: false })
    }

    /// The entries of a term in the text, by segment.
    fn text_sources(&self, draft: &Draft) -> Vec<Vec<Source>> {
        let of_segment = |segment_idx: usize| {
            let infos = draft.infos.iter().filter_map(|infos| infos[segment_idx].clone());
            infos.map(|info| Source { place_idx: None, weight: 1.0, info }).collect()
        };
        (0..self.reader.0.segments.len()).map(of_segment).collect()
    }

    /// All entries of a term, by segment: the text's, then those of prominent places that weigh more.
    fn sources(&self, draft: &Draft) -> Result<Vec<Vec<Source>>, KeywordError> {
        let mut sources = self.text_sources(draft);
        for (segment, sources) in self.reader.0.segments.iter().zip(&mut sources) {
            for alternative in
                draft.term.alternatives.iter().filter(|_| !sources.is_empty()).collect::<Vec<_>>()
            {
                for (place_idx, weight) in self.reader.0.scoring.extra().into_iter().enumerate() {
                    if weight != 0.0
                        && let Some(info) = segment.lookup_prominent(place_idx, alternative)?
                    {
                        sources.push(Source { place_idx: Some(place_idx), weight, info });
                    }
                }
            }
        }
        Ok(sources)
    }

    fn finish(mut self, spoken: Vec<Vec<String>>) -> Result<KeywordQuery, KeywordError> {
        let max_terms = self.options.max_terms.max(1);
        let mut by_weight: Vec<usize> = (0..self.terms.len()).collect();
        by_weight.sort_by(|left, right| {
            let (left, right) = (&self.terms[*left], &self.terms[*right]);
            let required = right.is_required.cmp(&left.is_required);
            required.then(right.term.weight().total_cmp(&left.term.weight()))
        });
        let mut is_kept = vec![false; self.terms.len()];
        for term_idx in by_weight.iter().take(max_terms) {
            is_kept[*term_idx] = true;
        }
        self.unread.words |= self.terms.len() > max_terms;

        let (mut terms, mut scored) = (Vec::new(), Vec::new());
        for draft in
            self.terms.iter().zip(&is_kept).filter_map(|(draft, is_kept)| is_kept.then_some(draft))
        {
            let sources = self.sources(draft)?;
            if draft.n_plain > 0 && draft.term.n_notes > 0 {
                let weight = f64::from(draft.n_plain) * draft.term.idf;
                scored.push(Scored { matcher: Matcher::Term(sources.clone()), weight });
            }
            terms.push(QueryTerm { sources, ..draft.term.clone() });
        }
        for phrase in std::mem::take(&mut self.phrases) {
            let weight =
                phrase.term_idxs.iter().map(|term_idx| self.terms[*term_idx].term.idf).sum();
            scored.push(Scored { matcher: Matcher::Found(phrase.hits), weight });
        }
        scored.sort_by(|left, right| right.weight.total_cmp(&left.weight));
        let words = self.terms.iter().filter(|draft| draft.is_required);
        let words: Vec<Matcher> =
            words.map(|draft| Matcher::Term(self.text_sources(draft))).collect();
        self.required.extend(words);
        let admitted = self.reader.admitted(&self.required, &self.excluded)?;
        Ok(KeywordQuery {
            view: Arc::clone(&self.reader.0),
            terms,
            scored,
            admitted,
            spoken,
            unread: self.unread,
        })
    }
}
