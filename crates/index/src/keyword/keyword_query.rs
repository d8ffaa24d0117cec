//! Queries: query text parsed and looked up in one commit of the index.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tantivy::DocId;
use tantivy::postings::TermInfo;
use weft_model::{NoteId, NoteSet};

use super::analyzer::{Analyzer, TokenKind};
use super::boolean_filter::admitted_notes;
use super::document_matcher::{DocumentMatcher, WeightedMatcher, total_weight};
use super::exact_form::exact_forms;
use super::index_schema::EXACT;
use super::keyword_error::KeywordError;
use super::keyword_reader::{CommitView, KeywordReader};
use super::language::Language;
use super::phrase_match::phrase_hits;
use super::prefix_expansion::prefix_expansion;
use super::query_syntax::{Clause, Occurrence, clauses};
use super::query_word::QueryWord;
use super::segment_reader::PostingList;
use super::term_matcher::TermMatcher;
use super::typo_expansion::typo_expansions;

/// Maximum length of a query in bytes; the rest is ignored. People and programs paste whole pages.
pub const MAX_QUERY_BYTES: usize = 1 << 16;

/// Maximum number of distinct words of a query that are looked up.
const MAX_LOOKED_UP: usize = 1024;

/// Maximum number of phrases of a query matched as phrases; the words of further ones are searched separately.
pub const MAX_PHRASES: usize = 16;

/// Maximum number of words of a query expanded to terms one edit away. Each takes thousands of lookups.
pub const MAX_TYPO_WORDS: usize = 16;

/// Minimum number of stop words of a language that identify the query as being in it if most notes are in another language. A single one may be a content word there.
const MIN_STOP_WORDS: usize = 2;

/// Returns the weight of a word as typed, relative to the word in any spelling, in a query of `n_terms` words.
///
/// One or two words typed with their accents or signs mean this spelling, as the words of phrases and required words do. In a question, the other words say more: at full weight, German questions of XQuAD lose .008 nDCG@10.
fn exact_weight(n_terms: usize) -> f64 {
    1.0 / (n_terms.saturating_sub(1).max(1) as f64).powi(2)
}

/// Options for parsing a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryOptions {
    /// Maximum number of distinct words searched, at least 1. Longer queries keep the words of highest weight.
    pub max_terms: usize,
    /// True if a word that no note contains is expanded to terms one edit away.
    pub typo_tolerance: bool,
    /// Maximum number of such terms per word, those of most notes first.
    pub max_expansions: usize,
    /// True if the last word is still being typed, so that it stands for all terms that begin with it.
    pub prefix_last_word: bool,
}

impl Default for QueryOptions {
    fn default() -> Self {
        Self { max_terms: 64, typo_tolerance: false, max_expansions: 16, prefix_last_word: false }
    }
}

/// Parts of a query that were ignored because of a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueryTruncation {
    /// Text beyond [`MAX_QUERY_BYTES`].
    pub text: bool,
    /// Words of lower weight than the ones searched.
    pub words: bool,
    /// Excluded words and phrases beyond [`max_terms`](QueryOptions::max_terms).
    pub exclusions: bool,
    /// Phrases beyond the first [`MAX_PHRASES`]; their words were searched separately.
    pub phrases: bool,
    /// Terms that a `word*` stands for, beyond the first [`MAX_PREFIX_TERMS`](super::MAX_PREFIX_TERMS).
    pub prefixes: bool,
    /// Words that no note contains, beyond the first [`MAX_TYPO_WORDS`]; they were not expanded.
    pub mistyped: bool,
}

/// Word of a query.
#[derive(Clone, Debug)]
pub struct QueryTerm {
    /// Word as typed at its first occurrence.
    pub surface: String,
    /// Terms it is searched as: its stem in each language of the notes, with and without diacritics. Occurrences of all of them count as occurrences of one term.
    pub alternatives: Vec<String>,
    /// Those of the alternatives that begin with the word, or are one edit away from it.
    pub expansions: Vec<String>,
    /// Number of occurrences in the query.
    pub count: u32,
    /// Number of notes that contain it: the sum over its alternatives, at most all notes.
    pub n_notes: u32,
    /// Inverse document frequency; the maximum if no note contains the word.
    pub idf: f64,
    postings: Vec<Vec<PostingList>>,
}

impl QueryTerm {
    /// Returns the maximum it adds to a score: `count · idf`, or 0 if no note contains it.
    #[must_use]
    pub fn weight(&self) -> f64 {
        if self.n_notes == 0 { 0.0 } else { f64::from(self.count) * self.idf }
    }
}

/// Word of a query as typed, which ranks notes that contain it in this form above others.
#[derive(Clone, Debug)]
pub struct ExactForm {
    /// The word with its accents, its capitals, or the sign before it.
    pub form: String,
    /// Number of occurrences in the query.
    pub count: u32,
    /// Number of notes that contain it.
    pub n_notes: u32,
    /// Inverse document frequency.
    pub idf: f64,
    /// The word as names are compared, in each language.
    pub(super) words: Vec<String>,
    /// Maximum it adds to a score.
    pub(super) weight: f64,
    /// By segment.
    pub(super) postings: Vec<Vec<PostingList>>,
}

/// Query parsed against one commit of the index.
#[derive(Clone)]
pub struct KeywordQuery {
    view: Arc<CommitView>,
    terms: Vec<QueryTerm>,
    exact_forms: Vec<ExactForm>,
    /// Sorted by descending weight; among equals words before phrases, each in query order. Sums are taken in this order.
    pub(super) matchers: Vec<WeightedMatcher>,
    pub(super) admitted: NoteSet,
    /// Its words in order without the excluded ones, once for each language that yields different terms.
    pub(super) name_words: Vec<Vec<String>>,
    n_missing_phrases: usize,
    truncation: QueryTruncation,
}

impl std::fmt::Debug for KeywordQuery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeywordQuery")
            .field("terms", &self.terms)
            .field("truncation", &self.truncation)
            .finish()
    }
}

impl KeywordQuery {
    /// Returns its distinct words in order of first occurrence, including those of phrases and without excluded ones.
    ///
    /// Stop words are left out unless the query has no other words.
    #[must_use]
    pub fn terms(&self) -> &[QueryTerm] {
        &self.terms
    }

    /// Returns the forms of its words that notes contain as typed, in order of first occurrence.
    #[must_use]
    pub fn exact_forms(&self) -> &[ExactForm] {
        &self.exact_forms
    }

    /// Returns the upper bound of a note's score; 0 for a query that matches nothing.
    ///
    /// A note's score divided by this is in `0.0..1.0` and does not depend on the other hits.
    #[must_use]
    pub fn max_score(&self) -> f64 {
        total_weight(&self.matchers)
    }

    /// Returns the share of its [terms](Self::terms) that notes contain, weighted by count and idf, in `0.0..=1.0`; 1 for a query without terms.
    ///
    /// A question in another language than all notes has a share near 0, apart from names.
    #[must_use]
    pub fn known_share(&self) -> f64 {
        let total: f64 = self.terms.iter().map(|term| f64::from(term.count) * term.idf).sum();
        let known: f64 = self.terms.iter().map(QueryTerm::weight).sum();
        if total > 0.0 { (known / total).clamp(0.0, 1.0) } else { 1.0 }
    }

    /// Returns a matcher that finds its [terms](Self::terms) in texts. It reports a word by its index among them.
    #[must_use]
    pub fn term_matcher(&self) -> TermMatcher<'_> {
        let forms = self.terms.iter().zip(0..);
        TermMatcher::new(forms.flat_map(|(term, term_idx)| {
            term.alternatives.iter().map(move |alternative| (&**alternative, term_idx))
        }))
    }

    /// Reports the parts that were ignored because of a limit.
    #[must_use]
    pub const fn truncation(&self) -> QueryTruncation {
        self.truncation
    }

    /// Returns the number of phrases if the query consists of phrases that no note contains together, so that none is required; otherwise 0.
    #[must_use]
    pub const fn n_missing_phrases(&self) -> usize {
        self.n_missing_phrases
    }

    /// Returns the notes that contain all required parts and no excluded one; all notes if the query has neither.
    #[must_use]
    pub const fn admitted(&self) -> &NoteSet {
        &self.admitted
    }

    /// Admits `note` as a hit even if it lacks required parts or contains excluded ones.
    pub fn admit(&mut self, note: NoteId) {
        self.admitted.insert(note);
    }

    pub(super) const fn view(&self) -> &Arc<CommitView> {
        &self.view
    }

    /// Returns the posting lists of each term in one segment.
    pub(super) fn postings(
        &self,
        segment_idx: usize,
    ) -> impl ExactSizeIterator<Item = &[PostingList]> {
        self.terms.iter().map(move |term| &*term.postings[segment_idx])
    }
}

impl KeywordReader {
    /// Parses a query. Every text is a valid query.
    ///
    /// - Words are alternatives: a note needs one of them. Stop words of the query's language are left out if there are other words.
    /// - A `"phrase"` matches its words in sequence. Phrases that are the whole query, apart from exclusions, are required if a note contains all of them. A phrase that no note contains is searched as separate words.
    /// - `word*` stands for the terms that begin with it.
    /// - Notes that contain a word with the accents, the sign or the capitals it is typed with rank above others.
    /// - `AND`, `OR` and `NOT` in capitals between words are operators; see [`operator_reading`](super::operator_reading).
    /// - `+` before a word or phrase makes it required, `-` excludes it; a word of several tokens (`-e-mail`) counts as a phrase there. A query with only exclusions matches nothing.
    ///
    /// Fails only if the index cannot be read.
    pub fn parse(&self, text: &str, options: &QueryOptions) -> Result<KeywordQuery, KeywordError> {
        self.read(|| {
            self.check_loaded()?;
            let cut = text.floor_char_boundary(MAX_QUERY_BYTES);
            let mut builder = QueryBuilder {
                reader: self,
                options,
                analyzer: Analyzer::new(),
                languages: self.query_languages(),
                terms: Vec::new(),
                by_alternatives: HashMap::new(),
                exact: Vec::new(),
                phrases: Vec::new(),
                n_phrases: 0,
                has_only_phrases: false,
                n_lone_phrases: 0,
                lone_phrases: Vec::new(),
                is_phrase_missing: false,
                n_typo_words: 0,
                required: Vec::new(),
                excluded: Vec::new(),
                truncation: QueryTruncation {
                    text: cut < text.len(),
                    ..QueryTruncation::default()
                },
            };
            let clauses = clauses(&text[..cut]);
            let mut analyzed: Vec<(Clause<'_>, Vec<QueryWord>)> =
                clauses.into_iter().map(|clause| (clause, builder.words(&clause))).collect();
            if options.prefix_last_word
                && let Some((clause, words)) = analyzed.last_mut()
                && let Some(word) = words.iter_mut().rfind(|word| word.kind != TokenKind::Character)
            {
                word.is_prefix |= !clause.is_phrase && clause.text.ends_with(&*word.surface);
            }
            let language_idx = builder.language_of(analyzed.iter().flat_map(|(_, words)| words));
            for word in analyzed.iter_mut().flat_map(|(_, words)| words) {
                word.read_in(language_idx);
            }
            let has_content = analyzed
                .iter()
                .filter(|(clause, _)| clause.occurrence != Occurrence::MustNot)
                .any(|(_, words)| words.iter().any(|word| word.kind != TokenKind::Stop));
            let mut included = analyzed.iter().filter(|(clause, words)| {
                clause.occurrence != Occurrence::MustNot && !words.is_empty()
            });
            builder.has_only_phrases = included
                .all(|(clause, _)| clause.is_phrase && clause.occurrence == Occurrence::May);
            for (clause, words) in &analyzed {
                builder.add_clause(clause, words, has_content)?;
            }
            let name_words = builder.name_words(analyzed.iter().map(|(clause, _)| clause));
            builder.finish(name_words)
        })
    }

    /// Fails if `query` was parsed by another commit's reader.
    pub(super) fn check(&self, query: &KeywordQuery) -> Result<(), KeywordError> {
        if Arc::ptr_eq(&self.0, query.view()) {
            return Ok(());
        }
        Err(KeywordError::ForeignQuery { query: query.view().generation, index: self.0.generation })
    }

    /// Returns the languages a query is analyzed in: those of the notes, or the fallback for an index without notes.
    fn query_languages(&self) -> Vec<Language> {
        let mut languages = self.languages().to_vec();
        if languages.is_empty() {
            languages.push(self.0.fallback);
        }
        languages
    }
}

struct QueryBuilder<'r> {
    reader: &'r KeywordReader,
    options: &'r QueryOptions,
    analyzer: Analyzer,
    languages: Vec<Language>,
    terms: Vec<TermDraft>,
    /// By alternatives, and whether these are only the beginning of terms.
    by_alternatives: HashMap<(Vec<String>, bool), usize>,
    exact: Vec<TypedForm>,
    phrases: Vec<PhraseDraft>,
    /// Number of phrases looked up.
    n_phrases: usize,
    /// The query consists of phrases, apart from exclusions.
    has_only_phrases: bool,
    /// Number of such phrases.
    n_lone_phrases: usize,
    /// Notes with each such phrase of several words.
    lone_phrases: Vec<DocumentMatcher>,
    /// No note contains one of those phrases.
    is_phrase_missing: bool,
    /// Number of words expanded to terms one edit away.
    n_typo_words: usize,
    required: Vec<DocumentMatcher>,
    excluded: Vec<DocumentMatcher>,
    truncation: QueryTruncation,
}

/// Exact form of a word of the query.
struct TypedForm {
    form: String,
    /// The word as names are compared, in each language.
    words: Vec<String>,
    /// Number of its occurrences.
    count: u32,
    /// True if one of them is in a phrase or a required word.
    is_required: bool,
}

/// Term of the query under construction.
struct TermDraft {
    term: QueryTerm,
    /// Postings of each alternative in the text, by segment.
    infos: Vec<Vec<Option<TermInfo>>>,
    /// Number of occurrences outside phrases, which are counted separately.
    n_outside_phrases: u32,
    is_required: bool,
    /// It is a phrase of one word in a query of phrases.
    is_lone_phrase: bool,
}

/// Phrase of the query under construction.
struct PhraseDraft {
    hits: Vec<Vec<(DocId, u32)>>,
    term_idxs: Vec<usize>,
}

impl QueryBuilder<'_> {
    /// Analyzes a clause in all languages at once, and collects its exact forms.
    fn words(&mut self, clause: &Clause<'_>) -> Vec<QueryWord> {
        let text = clause.text;
        let is_required = clause.is_phrase || clause.occurrence == Occurrence::Must;
        let mut words: Vec<QueryWord> = Vec::new();
        for (language_idx, language) in self.languages.iter().enumerate() {
            let mut at = 0;
            let stop_in = |kind| u32::from(kind == TokenKind::Stop) << language_idx;
            self.analyzer.analyze(text, *language, |token| {
                if clause.occurrence != Occurrence::MustNot {
                    // A form is counted once and has a word in each language.
                    let n = u32::from(language_idx == 0);
                    exact_forms(text, &token, |form| {
                        add_form(&mut self.exact, form, n, token.unaccented(), is_required);
                    });
                }
                if language_idx == 0 {
                    words.push(QueryWord {
                        surface: text[token.start..token.end].to_owned(),
                        alternatives: Vec::new(),
                        position: token.position,
                        kind: token.kind,
                        is_prefix: !clause.is_phrase && is_starred(text, token.start, token.end),
                        stop_in: 0,
                    });
                }
                if let Some(word) = words.get_mut(at) {
                    word.stop_in |= stop_in(token.kind);
                    for form in token.terms() {
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

    /// Returns the index of the query's language, by its stop words: the most frequent language of the notes, unless the query has more stop words of another.
    ///
    /// A stop word of one language can be a content word in another: `car`, `war`, `die`, `son`.
    fn language_of<'w>(&self, words: impl Iterator<Item = &'w QueryWord>) -> usize {
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
        shown.filter(|_| most >= MIN_STOP_WORDS).unwrap_or_default()
    }

    /// Returns the words of the clauses in order, in each language, in the form in which names are compared.
    fn name_words<'q>(
        &mut self,
        clauses: impl Iterator<Item = &'q Clause<'q>>,
    ) -> Vec<Vec<String>> {
        let texts: Vec<&str> = clauses
            .filter(|clause| clause.occurrence != Occurrence::MustNot)
            .map(|clause| clause.text)
            .collect();
        let mut name_words = Vec::new();
        for language in &self.languages {
            let words = self.analyzer.name_words(&texts, *language);
            if !name_words.contains(&words) {
                name_words.push(words);
            }
        }
        name_words
    }

    fn add_clause(
        &mut self,
        clause: &Clause<'_>,
        words: &[QueryWord],
        has_content: bool,
    ) -> Result<(), KeywordError> {
        let mut whole: Vec<&QueryWord> = words
            .iter()
            .filter(|word| matches!(word.kind, TokenKind::Word | TokenKind::Stop))
            .collect();
        let is_phrase = clause.is_phrase || clause.occurrence != Occurrence::May;
        if is_phrase && whole.len() > 1 {
            self.truncation.words |= whole.len() > MAX_LOOKED_UP;
            whole.truncate(MAX_LOOKED_UP);
            if clause.occurrence == Occurrence::MustNot {
                return self.exclude(|builder| {
                    Ok(DocumentMatcher::Hits(phrase_hits(builder.reader, &whole)?))
                });
            }
            if self.n_phrases < MAX_PHRASES {
                self.n_phrases += 1;
                let is_required = clause.occurrence == Occurrence::Must;
                return self.add_phrase(is_required, &whole, has_content);
            }
            self.truncation.phrases = true;
        }
        for (word_idx, word) in words.iter().enumerate() {
            match (word.kind, clause.occurrence) {
                (TokenKind::Character | TokenKind::Part, _) => {}
                // Stop words count if the query has no other words, or if they are required.
                (TokenKind::Stop, Occurrence::May) if has_content => {}
                (TokenKind::Word | TokenKind::Stop, Occurrence::MustNot) => {
                    // Exclude the word itself: no typo expansion, no compound parts.
                    self.exclude(|builder| {
                        let draft = builder.look_up(word, false)?;
                        Ok(DocumentMatcher::Postings(builder.text_postings(&draft)))
                    })?;
                }
                (TokenKind::Word | TokenKind::Stop, occurrence) => {
                    for word in self.indexed_or_parts(word, &words[word_idx + 1..])? {
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
        whole: &[&QueryWord],
        has_content: bool,
    ) -> Result<(), KeywordError> {
        let hits = phrase_hits(self.reader, whole)?;
        let is_found = hits.iter().any(|hits| !hits.is_empty());
        if is_required {
            self.required.push(DocumentMatcher::Hits(hits.clone()));
        } else if self.has_only_phrases {
            self.n_lone_phrases += 1;
            self.is_phrase_missing |= !is_found;
            self.lone_phrases.push(DocumentMatcher::Hits(hits.clone()));
        }
        let mut term_idxs = Vec::new();
        for word in whole.iter().filter(|word| word.kind == TokenKind::Word || !has_content) {
            let Some(term_idx) = self.term(word)? else { continue };
            self.terms[term_idx].term.count += 1;
            term_idxs.push(term_idx);
        }
        if is_found {
            self.phrases.push(PhraseDraft { hits, term_idxs });
        } else {
            for term_idx in term_idxs {
                self.terms[term_idx].n_outside_phrases += 1;
            }
        }
        Ok(())
    }

    /// Returns the word, or its parts if it is a compound that no note contains.
    fn indexed_or_parts<'w>(
        &self,
        word: &'w QueryWord,
        following: &'w [QueryWord],
    ) -> Result<Vec<&'w QueryWord>, KeywordError> {
        let parts: Vec<&QueryWord> =
            following.iter().take_while(|next| next.kind == TokenKind::Part).collect();
        let mut is_indexed = parts.is_empty();
        for alternative in &word.alternatives {
            is_indexed = is_indexed || self.reader.lookup(alternative)?.1 > 0;
        }
        Ok(if is_indexed { vec![word] } else { parts })
    }

    fn add_word(&mut self, word: &QueryWord, is_required: bool) -> Result<(), KeywordError> {
        let Some(term_idx) = self.term(word)? else { return Ok(()) };
        let draft = &mut self.terms[term_idx];
        draft.term.count += 1;
        draft.n_outside_phrases += 1;
        draft.is_required |= is_required;
        draft.is_lone_phrase |= self.has_only_phrases;
        if self.has_only_phrases {
            self.n_lone_phrases += 1;
            self.is_phrase_missing |= draft.term.n_notes == 0;
        }
        Ok(())
    }

    /// Adds an exclusion, unless the limit is reached.
    fn exclude(
        &mut self,
        matcher: impl FnOnce(&mut Self) -> Result<DocumentMatcher, KeywordError>,
    ) -> Result<(), KeywordError> {
        if self.excluded.len() < self.options.max_terms {
            let matcher = matcher(self)?;
            self.excluded.push(matcher);
        } else {
            self.truncation.exclusions = true;
        }
        Ok(())
    }

    /// Returns the index of the word's term, which is looked up at its first occurrence; `None` if the limit is reached.
    fn term(&mut self, word: &QueryWord) -> Result<Option<usize>, KeywordError> {
        let key = (word.alternatives.clone(), word.is_prefix);
        if let Some(term_idx) = self.by_alternatives.get(&key) {
            return Ok(Some(*term_idx));
        }
        if self.terms.len() == MAX_LOOKED_UP {
            self.truncation.words = true;
            return Ok(None);
        }
        let draft = self.look_up(word, self.options.typo_tolerance)?;
        self.by_alternatives.insert(key, self.terms.len());
        self.terms.push(draft);
        Ok(Some(self.terms.len() - 1))
    }

    fn look_up(&mut self, word: &QueryWord, with_typos: bool) -> Result<TermDraft, KeywordError> {
        let mut expansions = Vec::new();
        if word.is_prefix {
            let found = prefix_expansion(self.reader, word)?;
            self.truncation.prefixes |= found.is_cut && !self.options.prefix_last_word;
            expansions = found.terms;
        }
        let is_found = |term: &String| Ok(self.reader.lookup(term)?.1 > 0);
        let is_unknown = expansions.is_empty()
            && !word
                .alternatives
                .iter()
                .map(is_found)
                .collect::<Result<Vec<_>, _>>()?
                .contains(&true);
        if is_unknown && with_typos && self.n_typo_words == MAX_TYPO_WORDS {
            self.truncation.mistyped = true;
        } else if is_unknown && with_typos {
            self.n_typo_words += 1;
            let limit = self.options.max_expansions;
            expansions =
                typo_expansions(self.reader, word, &self.languages, &mut self.analyzer, limit)?;
        }
        expansions.retain(|term| !word.alternatives.contains(term));
        let alternatives: Vec<String> =
            word.alternatives.iter().chain(&expansions).cloned().collect();
        let (mut infos, mut n_notes) = (Vec::new(), 0_u32);
        for alternative in &alternatives {
            let (info, n) = self.reader.lookup(alternative)?;
            infos.push(info);
            n_notes = n_notes.saturating_add(n);
        }
        let n_notes = n_notes.min(u32::try_from(self.reader.n_notes()).unwrap_or(u32::MAX));
        let idf = self.reader.idf(n_notes);
        let term = QueryTerm {
            surface: word.surface.clone(),
            alternatives,
            expansions,
            count: 0,
            n_notes,
            idf,
            postings: Vec::new(),
        };
        let (is_required, is_lone_phrase) = (false, false);
        Ok(TermDraft { term, infos, n_outside_phrases: 0, is_required, is_lone_phrase })
    }

    /// Returns the posting lists of a term in the text, by segment.
    fn text_postings(&self, draft: &TermDraft) -> Vec<Vec<PostingList>> {
        let of_segment = |segment_idx: usize| {
            let infos = draft.infos.iter().filter_map(|infos| infos[segment_idx].clone());
            infos.map(|info| PostingList { repeated_idx: None, weight: 1.0, info }).collect()
        };
        (0..self.reader.0.segments.len()).map(of_segment).collect()
    }

    /// Returns all posting lists of a term, by segment: first those of the text, then those of boosted fields with a nonzero extra weight.
    fn postings(&self, draft: &TermDraft) -> Result<Vec<Vec<PostingList>>, KeywordError> {
        let mut postings = self.text_postings(draft);
        for (segment, lists) in self.reader.0.segments.iter().zip(&mut postings) {
            for alternative in
                draft.term.alternatives.iter().filter(|_| !lists.is_empty()).collect::<Vec<_>>()
            {
                for (boosted_idx, weight) in
                    self.reader.0.scoring.field_boosts().into_iter().enumerate()
                {
                    if weight != 0.0
                        && let Some(info) = segment.lookup_repeated(boosted_idx, alternative)?
                    {
                        lists.push(PostingList { repeated_idx: Some(boosted_idx), weight, info });
                    }
                }
            }
        }
        Ok(postings)
    }

    /// Looks up the exact forms. Those that no note contains are left out.
    fn found_exact_forms(&self, n_terms: usize) -> Result<Vec<ExactForm>, KeywordError> {
        let mut found = Vec::new();
        let typed = self.exact.iter().take(self.options.max_terms);
        for TypedForm { form, words, count, is_required } in typed {
            let (mut postings, mut n_notes) = (Vec::new(), 0);
            for segment in &self.reader.0.segments {
                let info = segment.lookup_repeated(EXACT, form)?;
                let list =
                    info.map(|info| PostingList { repeated_idx: Some(EXACT), weight: 1.0, info });
                let lists = Vec::from_iter(list);
                for list in &lists {
                    n_notes += segment.n_live(list)?;
                }
                postings.push(lists);
            }
            if n_notes > 0 {
                let (form, words) = (form.clone(), words.clone());
                let (count, idf) = (*count, self.reader.idf(n_notes));
                let relative = if *is_required { 1.0 } else { exact_weight(n_terms) };
                let weight = relative * f64::from(count) * idf;
                found.push(ExactForm { form, count, n_notes, idf, words, weight, postings });
            }
        }
        Ok(found)
    }

    fn finish(mut self, name_words: Vec<Vec<String>>) -> Result<KeywordQuery, KeywordError> {
        let max_terms = self.options.max_terms.max(1);
        let mut by_weight: Vec<usize> = (0..self.terms.len()).collect();
        by_weight.sort_by(|left, right| {
            let (left, right) = (&self.terms[*left], &self.terms[*right]);
            let kept_first = |draft: &TermDraft| draft.is_required || draft.is_lone_phrase;
            let required = kept_first(right).cmp(&kept_first(left));
            required.then(right.term.weight().total_cmp(&left.term.weight()))
        });
        let mut is_kept = vec![false; self.terms.len()];
        for term_idx in by_weight.iter().take(max_terms) {
            is_kept[*term_idx] = true;
        }
        self.truncation.words |= self.terms.len() > max_terms;

        let (mut terms, mut matchers) = (Vec::new(), Vec::new());
        for draft in
            self.terms.iter().zip(&is_kept).filter_map(|(draft, is_kept)| is_kept.then_some(draft))
        {
            let postings = self.postings(draft)?;
            if draft.n_outside_phrases > 0 && draft.term.n_notes > 0 {
                let weight = f64::from(draft.n_outside_phrases) * draft.term.idf;
                matchers.push(WeightedMatcher {
                    matcher: DocumentMatcher::Postings(postings.clone()),
                    weight,
                });
            }
            terms.push(QueryTerm { postings, ..draft.term.clone() });
        }
        for phrase in std::mem::take(&mut self.phrases) {
            let weight =
                phrase.term_idxs.iter().map(|term_idx| self.terms[*term_idx].term.idf).sum();
            matchers.push(WeightedMatcher { matcher: DocumentMatcher::Hits(phrase.hits), weight });
        }
        let exact_forms = self.found_exact_forms(terms.len())?;
        matchers.extend(exact_forms.iter().map(|exact| WeightedMatcher {
            matcher: DocumentMatcher::Postings(exact.postings.clone()),
            weight: exact.weight,
        }));
        matchers.sort_by(|left, right| right.weight.total_cmp(&left.weight));
        let words = self.terms.iter().filter(|draft| draft.is_required);
        let words: Vec<DocumentMatcher> =
            words.map(|draft| DocumentMatcher::Postings(self.text_postings(draft))).collect();
        self.required.extend(words);
        let is_missing = self.n_lone_phrases > 0 && !self.require_lone_phrases()?;
        let n_missing_phrases = if is_missing { self.n_lone_phrases } else { 0 };
        let admitted = admitted_notes(self.reader, &self.required, &self.excluded)?;
        Ok(KeywordQuery {
            view: Arc::clone(&self.reader.0),
            terms,
            exact_forms,
            matchers,
            admitted,
            name_words,
            n_missing_phrases,
            truncation: self.truncation,
        })
    }
}

impl QueryBuilder<'_> {
    /// Requires the phrases of a query that has only phrases, if a note contains all of them. Returns true if so.
    fn require_lone_phrases(&mut self) -> Result<bool, KeywordError> {
        if self.is_phrase_missing {
            return Ok(false);
        }
        let words = self.terms.iter().filter(|draft| draft.is_lone_phrase);
        let words = words.map(|draft| DocumentMatcher::Postings(self.text_postings(draft)));
        let mut phrases: Vec<DocumentMatcher> = words.collect();
        phrases.append(&mut self.lone_phrases);
        let are_found =
            phrases.len() == 1 || admitted_notes(self.reader, &phrases, &[])?.len() != Some(0);
        if are_found {
            self.required.append(&mut phrases);
        }
        Ok(are_found)
    }
}

/// Counts one more occurrence of `form`.
/// Adds `n` occurrences of a form of `word`.
fn add_form(forms: &mut Vec<TypedForm>, form: &str, n: u32, word: &str, is_required: bool) {
    match forms.iter_mut().find(|known| known.form == form) {
        Some(known) => {
            known.count += n;
            known.is_required |= is_required;
            if !known.words.iter().any(|known| known == word) {
                known.words.push(word.to_owned());
            }
        }
        None => {
            let (form, words) = (form.to_owned(), vec![word.to_owned()]);
            forms.push(TypedForm { form, words, count: n, is_required });
        }
    }
}

/// Returns true if the word from `start` to `end` is followed by a `*` that is not a mark of emphasis or multiplication.
fn is_starred(text: &str, start: usize, end: usize) -> bool {
    let after = text[end..].strip_prefix('*');
    after.is_some_and(|after| !after.starts_with(|c: char| c == '*' || c.is_alphanumeric()))
        && !text[..start].ends_with('*')
}
