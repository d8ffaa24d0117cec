//! Search: candidates from the keyword and vector indexes, signals from the graph, and one score that is the sum of its parts.
//!
//! A [`PreparedQuery`](prepared_query::PreparedQuery) is a request resolved against one snapshot.
//! It yields a pool of candidates, each with its exact keyword and vector scores. A profile ([`bridge`] or [`classic`]) computes how connections lift candidates and adds the notes that connections reach. Then all candidates are ranked alike.

mod bridge;
mod classic;
pub(crate) mod evidence;
mod explain;
mod hit_links;
mod messages;
mod passage_evidence;
mod prepared_query;
mod rerank;
pub(crate) mod topics;
mod why_not;

use std::cmp::Ordering;

use weft_accordion::CandidatePassage;
use weft_gars::{Gars, Signals, Weights, WeightsError};
use weft_graph::centrality::Centrality;
use weft_index::embedder::{Embedder, ReadableText};
use weft_index::keyword::{
    KeywordQuery, Language, MAX_PHRASES, MAX_PREFIX_TERMS, MAX_QUERY_BYTES, MAX_TYPO_WORDS,
    Mentions, PassageWords, QueryOptions, QueryTruncation, is_english, names, operator_reading,
    plain_words,
};
use weft_index::{Snapshot, Vectors};
use weft_model::{NoteId, NoteMap, NoteSet, Span, Uri};

use crate::settings::MAX_SNIPPETS;
use crate::snippet::Cutter;
use crate::{Engine, EngineError, Profile, Warning, WarningCode};
pub use weft_index::embedder::Calibration;

use crate::best_first::best_first;
use explain::{Seed, Stages, explanation};
pub use messages::{
    Connection, DisabledSignals, ExplainedCandidate, ExplainedReranking, ExplainedSeed,
    ExplainedWord, Explanation, Hit, Origin, RawSignals, SearchAnswer, SearchMode, SearchRequest,
    Via,
};
use prepared_query::{CandidatePool, CandidateScores, PreparedQuery};
use rerank::RerankOutcome;
pub(crate) use rerank::Reranking;
pub use why_not::{MissReason, WhyNotAnswer, WhyNotRequest};

/// Maximum number of hits per answer.
pub(crate) const MAX_LIMIT: usize = 1000;

/// Effects of connections on the notes around the best hits.
#[derive(Debug, Default)]
struct Lifts {
    by_note: NoteMap<Lift>,
    seeds: Vec<Seed>,
    /// Hits and topics whose links were followed only in part; may contain repeats.
    fanout_limited: Vec<NoteId>,
    n_omitted: usize,
    /// Factor of the strength of all connections; `None` if it is 1.
    weight: Option<f64>,
    /// Minimum similarity of a hit that activates others, and of a hit whose neighbors are ranked; 0 without a floor.
    floors: (f64, f64),
}

/// Effect of connections on one note.
#[derive(Clone, Debug)]
struct Lift {
    activation: f64,
    /// The hit that contributes most.
    from: NoteId,
    connection: Connection,
    strength: f64,
    remainder: f64,
    /// Strength of the connection with each passage of a long note; empty if unknown.
    passages: Vec<f64>,
}

/// A candidate with its score.
struct Ranked {
    id: NoteId,
    found: CandidateScores,
    gars: Gars,
}

impl Ranked {
    /// Orders by score, best first, ties by uri.
    fn order(snapshot: &Snapshot) -> impl Fn(&Self, &Self) -> Ordering {
        let graph = snapshot.notes.graph();
        |a, b| {
            let by_score = b.gars.score.total_cmp(&a.gars.score);
            by_score.then_with(|| graph.uri(a.id).cmp(graph.uri(b.id)))
        }
    }
}

/// The ranked candidates of a request, and everything that led to their order.
pub(crate) struct Ranking<'s> {
    profile: Profile,
    reranked: RerankOutcome,
    query: PreparedQuery<'s>,
    pool: CandidatePool,
    lifts: Lifts,
    /// Best first.
    ranked: Vec<Ranked>,
    pub(crate) truncated: bool,
    pub(crate) warnings: Vec<Warning>,
    stages: Stages,
}

/// A note of a ranking.
pub(crate) struct RankedNote<'s> {
    pub(crate) id: NoteId,
    pub(crate) score: f64,
    /// The hit that lifts the note most.
    pub(crate) via: Option<&'s Uri>,
}

impl<'s> Ranking<'s> {
    /// Returns the ranked notes, best first.
    pub(crate) fn notes(&self) -> impl Iterator<Item = RankedNote<'s>> {
        let graph = self.query.snapshot.notes.graph();
        self.ranked.iter().map(move |ranked| {
            let via = self.lifts.by_note.get(&ranked.id).map(|lift| graph.uri(lift.from));
            RankedNote { id: ranked.id, score: ranked.gars.score, via }
        })
    }

    /// True if a note is among the ranked ones.
    pub(crate) fn contains(&self, id: NoteId) -> bool {
        self.ranked.iter().any(|ranked| ranked.id == id)
    }

    /// Returns the passages of each of `notes` with their evidence for the query.
    pub(crate) fn evidence(
        &self,
        notes: &[NoteId],
    ) -> Result<NoteMap<Vec<CandidatePassage>>, EngineError> {
        self.query.evidence(notes, &self.pool, &self.lifts)
    }

    /// Returns the chunk of each of `notes` that is most similar to the query; `None` without vectors.
    pub(crate) fn best_chunks(&self, notes: &[NoteId]) -> Result<Vec<Option<Span>>, EngineError> {
        self.query.best_chunks(notes)
    }
}

/// Source of the snippets of one hit.
struct Excerpts<'a> {
    cutter: &'a Cutter<'a>,
    words: &'a [PassageWords],
    best_chunk: Option<Span>,
    language: Language,
}

impl Engine {
    /// Finds notes.
    ///
    /// Both retrievers find candidates, and connections with the best of them add more. Each candidate gets its exact keyword and vector scores. A reranker, if there is one, judges the best of them again.
    /// Deterministic: equal requests on one generation give equal answers, except for the times in an explanation, and unless a deadline or a remote model interferes.
    pub fn search(&self, request: &SearchRequest) -> Result<SearchAnswer, EngineError> {
        self.search_in(&self.snapshot(), request)
    }

    /// Searches a given snapshot.
    pub(crate) fn search_in(
        &self,
        snapshot: &Snapshot,
        request: &SearchRequest,
    ) -> Result<SearchAnswer, EngineError> {
        let Ranking {
            profile,
            reranked,
            query,
            pool,
            lifts,
            ranked,
            truncated,
            warnings,
            mut stages,
        } = self.rank(snapshot, request)?;
        let hits = self.hits(&query, &lifts, ranked, request)?;
        stages.end("snippets");
        let graph = snapshot.notes.graph();
        let mut fanout_limited: Vec<_> =
            lifts.fanout_limited.iter().map(|id| graph.uri(*id).clone()).collect();
        fanout_limited.sort_unstable();
        fanout_limited.dedup();
        let explanation =
            request.explain.then(|| explanation(&query, &pool, &lifts, profile, reranked, stages));
        Ok(SearchAnswer {
            hits,
            generation: snapshot.generation,
            truncated,
            warnings,
            fanout_limited,
            explanation,
        })
    }

    /// Ranks notes for a request.
    pub(crate) fn rank<'s>(
        &self,
        snapshot: &'s Snapshot,
        request: &SearchRequest,
    ) -> Result<Ranking<'s>, EngineError> {
        let (profile, weights) = self.ranking_of(request)?;
        let mut warnings = Vec::new();
        warnings.extend(missing_files(snapshot));
        let mut stages = Stages::start();
        let query = self.prepare(snapshot, request, profile, &mut warnings)?;
        stages.end("query");
        let (pool, lifts) =
            self.candidates(&query, request, profile, None, &mut warnings, &mut stages)?;
        let limit = request.limit;
        let stage = self.rerank_stage(request, &mut warnings);
        let n_ranked = stage.map_or(limit, |stage| stage.n_ranked(limit));
        let (mut ranked, n_matching) = self.ranked(snapshot, &pool, &lifts, &weights, n_ranked);
        let truncated = n_matching > limit;
        stages.end("ranking");
        let mut reranked = RerankOutcome::none(weights);
        if let Some(stage) = stage {
            let found = (&pool, &lifts);
            reranked = stage.rerank(&query, found, weights, &mut ranked, &mut warnings)?;
            ranked.truncate(limit);
            stages.end("reranking");
        }
        Ok(Ranking { profile, reranked, query, pool, lifts, ranked, truncated, warnings, stages })
    }

    /// Resolves a request without looking for candidates, so that given notes can be read for it.
    pub(crate) fn ranking_for<'s>(
        &self,
        snapshot: &'s Snapshot,
        request: &SearchRequest,
    ) -> Result<Ranking<'s>, EngineError> {
        let (profile, weights) = self.ranking_of(request)?;
        let mut warnings = Vec::new();
        let stages = Stages::start();
        let query = self.prepare(snapshot, request, profile, &mut warnings)?;
        let (pool, lifts, ranked) = Default::default();
        let (truncated, reranked) = (false, RerankOutcome::none(weights));
        Ok(Ranking { profile, reranked, query, pool, lifts, ranked, truncated, warnings, stages })
    }

    /// Returns all candidates and the effects of connections on them. `guest` becomes a candidate even if nothing finds it.
    fn candidates(
        &self,
        query: &PreparedQuery<'_>,
        request: &SearchRequest,
        profile: Profile,
        guest: Option<NoteId>,
        warnings: &mut Vec<Warning>,
        stages: &mut Stages,
    ) -> Result<(CandidatePool, Lifts), EngineError> {
        let SearchRequest { mode, disabled_signals, limit, .. } = request;
        let use_keywords = *mode != SearchMode::Vector || query.vector.is_none();
        // One more than requested, to know whether there are more.
        let k = self.settings.candidates_per_retriever.max(limit + 1);
        let mut pool = query.pool(k, use_keywords, &self.stop)?;
        query.expand(&mut pool, guest.into_iter())?;
        let n_named = query.n_named();
        if n_named > k {
            let message = format!(
                "the query names {n_named} notes; only the {k} with the best keyword scores were ranked"
            );
            warnings.push(Warning::new(WarningCode::CandidatesLimited, message));
        }
        stages.end("candidates");
        let lifts = if disabled_signals.graph {
            Lifts::default()
        } else if self.stop.is_past_soft_deadline() {
            let message = "links were not followed because the deadline was too close";
            warnings.push(Warning::new(WarningCode::StageSkipped, message));
            Lifts::default()
        } else {
            match profile {
                Profile::Bridge => {
                    let tools = (&self.analyzers, &self.stop);
                    bridge::lifts(query, &mut pool, &self.settings, disabled_signals, tools)?
                }
                Profile::Classic => {
                    classic::lifts(query, &mut pool, &self.settings, disabled_signals, &self.stop)?
                }
            }
        };
        if lifts.n_omitted > 0 {
            let (n_omitted, n_seeds) = (lifts.n_omitted, lifts.seeds.len());
            let message = format!(
                "only the neighbors of the {n_seeds} most similar hits were ranked; {n_omitted} more hits are above search.classic.expansion_floor"
            );
            warnings.push(Warning::new(WarningCode::CandidatesLimited, message));
        }
        stages.end("connections");
        Ok((pool, lifts))
    }

    /// Returns the profile and the normalized weights of a request. Fails if a number of the request is out of range.
    pub(crate) fn ranking_of(
        &self,
        request: &SearchRequest,
    ) -> Result<(Profile, Weights), EngineError> {
        let limit = request.limit;
        if !(1..=MAX_LIMIT).contains(&limit) {
            let reason = format!("{limit} is not between 1 and {MAX_LIMIT}");
            return Err(EngineError::InvalidArgument { field: "limit", reason });
        }
        if let Some(snippets) = request.snippets.filter(|snippets| *snippets > MAX_SNIPPETS) {
            let reason = format!("{snippets} is not between 0 and {MAX_SNIPPETS}");
            return Err(EngineError::InvalidArgument { field: "snippets", reason });
        }
        let invalid = |error: WeightsError| EngineError::InvalidArgument {
            field: "weights",
            reason: error.to_string(),
        };
        // Validated even if the graph is disabled and they have no effect.
        request
            .weights
            .map_or(Ok(Weights::SIMILARITY), |weights| weights.shares())
            .map_err(invalid)?;
        let profile = request.profile.unwrap_or(self.settings.profile);
        let mut weights = match (request.weights, profile) {
            _ if request.disabled_signals.graph => Weights::SIMILARITY,
            (Some(weights), _) => weights,
            (None, Profile::Bridge) => self.settings.bridge.weights,
            (None, Profile::Classic) => self.settings.classic.weights,
        };
        let Weights { similarity, centrality, activation } = &mut weights;
        for (weight, is_disabled) in [
            (similarity, request.disabled_signals.similarity),
            (centrality, request.disabled_signals.centrality),
            (activation, request.disabled_signals.activation),
        ] {
            if is_disabled {
                *weight = 0.0;
            }
        }
        weights.shares().map(|shares| (profile, shares)).map_err(invalid)
    }

    /// Resolves a request against a snapshot: its terms, its vector, its filter, and the notes named in it.
    fn prepare<'s>(
        &self,
        snapshot: &'s Snapshot,
        request: &SearchRequest,
        profile: Profile,
        warnings: &mut Vec<Warning>,
    ) -> Result<PreparedQuery<'s>, EngineError> {
        let SearchRequest {
            query,
            mode,
            filter,
            disabled_signals,
            typo_tolerance,
            prefix_last_word,
            ..
        } = request;
        let filtered = self.filter_matches(snapshot, filter)?;
        warnings.extend_from_slice(filtered.warnings(snapshot, &self.stop)?);
        let typo_tolerance = typo_tolerance.unwrap_or(self.settings.typo_tolerance);
        let options = QueryOptions {
            typo_tolerance,
            prefix_last_word: *prefix_last_word,
            ..QueryOptions::default()
        };
        let words = snapshot.keyword.parse(query, &options)?;
        let passing = filtered.notes.clone().intersection(words.admitted().clone());
        if let Some(reading) = operator_reading(query) {
            let message = format!(
                "`AND`, `OR` and `NOT` in capitals are operators: the query was read as `{reading}`; write them in small letters to search for the words"
            );
            warnings.push(Warning::new(WarningCode::QueryOperators, message));
        }
        let text = plain_words(query);
        if text.trim().is_empty() && !query.trim().is_empty() {
            let excludes = !matches!(words.admitted(), NoteSet::All);
            warnings.push(if excludes {
                let message = "the query only excludes; add a term to search for";
                Warning::new(WarningCode::QueryEmpty, message)
            } else {
                no_words()
            });
        }
        let missing = match words.n_missing_phrases() {
            0 => None,
            1 => Some(format!("no note contains the phrase `{text}`; its words were searched")),
            n => Some(format!(
                "no note contains all {n} phrases of the query; notes with any of them, or with their words, were searched"
            )),
        };
        warnings.extend(missing.map(|message| Warning::new(WarningCode::PhraseNotFound, message)));
        let unread_words = words.truncation().words && *mode != SearchMode::Vector;
        let what = QueryTruncation { words: unread_words, ..words.truncation() };
        warnings.extend(unread(what, options.max_terms));
        let vectors = snapshot.vectors.as_ref().filter(|_| *mode != SearchMode::Keyword);
        let has_text = !text.trim().is_empty();
        let vectors = vectors.map(|vectors| {
            if has_text { vectors.wait_loaded(self.stop.soft_deadline()) } else { vectors }
        });
        if let (None, Some(why)) = (vectors, self.no_model.as_ref().filter(|_| has_text))
            && *mode == SearchMode::Hybrid
        {
            let message = format!("the vector retriever was skipped: {why}");
            warnings.push(Warning::new(WarningCode::ModelUnavailable, message));
        }
        let n_waiting = match vectors {
            Some(vectors) if has_text && vectors.loading.is_some() => {
                snapshot.notes.total().n_chunks
            }
            Some(vectors) => vectors.n_waiting,
            None => 0,
        };
        if n_waiting > 0 {
            let chunks = if n_waiting == 1 { "chunk has" } else { "chunks have" };
            let message = format!("{n_waiting} {chunks} no vector yet");
            warnings.push(Warning::new(WarningCode::VectorsPending, message));
        }
        let vector = match vectors {
            Some(vectors) => self.query_vector(vectors, &text, *mode, warnings)?,
            None if *mode == SearchMode::Vector && has_text => {
                return Err(EngineError::NoVectors);
            }
            None => None,
        };
        let (readable, keyword_weight) = match (vectors, &vector) {
            (Some(vectors), Some(_)) => {
                let embedder = &*vectors.embedder;
                (readable_share(embedder, &text), keyword_weight(embedder, &words))
            }
            (Some(_) | None, _) => (1.0, 1.0),
        };
        let share = match (mode, &vector) {
            (SearchMode::Hybrid, Some(_)) => {
                1.0 - (1.0 - self.settings.vector_share * readable) * keyword_weight
            }
            (SearchMode::Vector, Some(_)) => 1.0,
            (SearchMode::Hybrid | SearchMode::Vector | SearchMode::Keyword, _) => 0.0,
        };
        let with_names = profile == Profile::Bridge
            && self.settings.bridge.names
            && !disabled_signals.names
            && *mode != SearchMode::Vector;
        let mentions =
            if with_names { snapshot.keyword.mentions(&words)? } else { Mentions::default() };
        let has_only_punctuation = !text.trim().is_empty() && words.terms().is_empty();
        if has_only_punctuation && vector.is_none() && mentions.notes.is_empty() {
            warnings.push(no_words());
        }
        Ok(PreparedQuery {
            snapshot,
            text,
            words,
            vectors,
            vector,
            share,
            calibration: vectors.map(|vectors| vectors.calibration).unwrap_or_default(),
            readable,
            keyword_weight,
            passing,
            mentions,
            n_passage_notes: self.settings.passage_notes,
        })
    }

    /// Embeds the query; returns `None` and adds a warning if that is not possible.
    fn query_vector(
        &self,
        vectors: &Vectors,
        text: &str,
        mode: SearchMode,
        warnings: &mut Vec<Warning>,
    ) -> Result<Option<Vec<f32>>, EngineError> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        if self.stop.is_past_soft_deadline() {
            let message = "the query was not embedded because the deadline was too close";
            warnings.push(Warning::new(WarningCode::StageSkipped, message));
            return Ok(None);
        }
        match vectors.embedder.embed_query(text, self.stop.soft_deadline()) {
            Ok(vector) => Ok(Some(vector)),
            Err(error) if mode == SearchMode::Vector => Err(error.into()),
            Err(error) => {
                let message = format!("the vector retriever was skipped: {error}");
                warnings.push(Warning::new(WarningCode::ModelUnavailable, message));
                Ok(None)
            }
        }
    }

    /// Returns the best `n` matching candidates, best first, and the number of matching candidates. A candidate matches if a term, its vector or a connection matches, not by centrality alone.
    fn ranked(
        &self,
        snapshot: &Snapshot,
        pool: &CandidatePool,
        lifts: &Lifts,
        weights: &Weights,
        n: usize,
    ) -> (Vec<Ranked>, usize) {
        let graph = snapshot.notes.graph();
        let measure = self.settings.centrality;
        let compute = || Centrality::new(graph, measure);
        let centrality = self.centrality.get_or_insert_with(snapshot.generation, (), compute);
        let scored = |signals: Signals, centrality: f64| {
            Gars::new(Signals { centrality, ..signals }, weights)
        };
        let mut matching: Vec<(f64, NoteId, Signals)> = Vec::with_capacity(pool.len());
        for (id, found) in pool.iter() {
            let lift = lifts.by_note.get(&id);
            let activation = lift.map_or(0.0, |lift| lift.activation);
            let signals =
                Signals { similarity: found.similarity, activation, ..Signals::default() };
            let least = scored(signals, 0.0).score;
            let is_central = || scored(signals, centrality.of(graph, id)).score > 0.0;
            let answers = found.similarity > 0.0 || lift.is_some();
            if least > 0.0 || answers && is_central() {
                matching.push((least, id, signals));
            }
        }
        let n_matching = matching.len();
        if n_matching > n {
            // Centrality is read only where it can change the result, because each read may miss the processor's cache.
            matching.select_nth_unstable_by(n - 1, |a, b| b.0.total_cmp(&a.0));
            let (floor, most) = (matching[n - 1].0, centrality.upper_bound(graph));
            matching.retain(|(_, _, signals)| scored(*signals, most).score >= floor);
        }
        let gars = |at: usize| {
            let (_, id, signals) = matching[at];
            scored(signals, centrality.of(graph, id))
        };
        let scores = (0..matching.len()).map(|at| (gars(at).score, matching[at].1, at)).collect();
        let best = best_first(graph, scores, n)
            .into_iter()
            .filter_map(|(_, id, at)| Some(Ranked { id, found: *pool.get(id)?, gars: gars(at) }));
        (best.collect(), n_matching)
    }

    /// Converts ranked notes to hits with the snippets that `request` asks for.
    fn hits(
        &self,
        query: &PreparedQuery<'_>,
        lifts: &Lifts,
        ranked: Vec<Ranked>,
        request: &SearchRequest,
    ) -> Result<Vec<Hit>, EngineError> {
        let n = request.snippets.unwrap_or(self.settings.snippets);
        let chars = self.settings.snippet_chars;
        let cutter = Cutter::new(&query.words, &self.analyzers, n, chars, &self.stop);
        let ids: Vec<NoteId> = ranked.iter().map(|ranked| ranked.id).collect();
        let words = cutter.words(&query.snapshot.keyword, &ids)?;
        let best_chunks = query.best_chunks(&ids)?;
        let languages = query.snapshot.keyword.languages_of(&ids)?;
        let mut hits: Vec<Hit> = Vec::with_capacity(ranked.len());
        for (at, (ranked, words)) in ranked.into_iter().zip(words).enumerate() {
            self.stop.check()?;
            // A past generation has no words.
            let language = languages[at].unwrap_or(Language::English);
            let excerpts =
                Excerpts { cutter: &cutter, words: &words, best_chunk: best_chunks[at], language };
            hits.extend(self.hit(query, lifts, ranked, excerpts));
        }
        Ok(hits)
    }

    fn hit(
        &self,
        query: &PreparedQuery<'_>,
        lifts: &Lifts,
        ranked: Ranked,
        excerpts: Excerpts<'_>,
    ) -> Option<Hit> {
        let Ranked { id, found, gars: Gars { signals, contributions, score } } = ranked;
        let snapshot = query.snapshot;
        let graph = snapshot.notes.graph();
        let entry = snapshot.notes.entry(id)?;
        let Excerpts { cutter, words, best_chunk, language } = excerpts;
        let aliases = entry.note.aliases.iter().map(String::as_str);
        let other_names: Vec<&str> = aliases.chain(entry.other_names()).collect();
        let names = names(&entry.note.title, &other_names, entry.note.path.without_extension());
        let names = names.chain(entry.note.headings.iter().map(|heading| &*heading.text));
        let name = if found.mention > 0.0 {
            let named = |analyzer: &mut _| query.words.mentioned_name(analyzer, language, names);
            self.analyzers.with(named).map(str::to_owned)
        } else {
            None
        };
        let via = lifts.by_note.get(&id).map(|lift| {
            let &Lift { activation: _, from, connection, strength, remainder, passages: _ } = lift;
            Via { uri: graph.uri(from).clone(), connection, strength, remainder }
        });
        Some(Hit {
            uri: graph.uri(id).clone(),
            path: entry.note.path.as_str().to_owned(),
            vault: crate::notes::vault_of(snapshot, id),
            title: entry.note.title.clone(),
            score,
            vector_score: query.vector_score(found.vector),
            keyword_score: found.keyword,
            name_score: found.mention,
            name,
            origin: found.origin(),
            embedding_current: snapshot.is_embedding_current(id),
            raw: RawSignals {
                base: query.base(found.vector, found.keyword),
                cosine: found.vector.map_or(0.0, f64::from),
                degree: graph.degrees(id).both,
                connection_strength: via.as_ref().map_or(0.0, |via| via.strength),
            },
            via,
            signals,
            contributions,
            snippets: cutter.snippets(entry, language, best_chunk, words),
            best_chunk,
        })
    }
}

/// Returns the share of a query that the model can read, in `0.0..=1.0`.
///
/// A query in a language that the model does not know has a vector that means little, so keywords answer alone.
fn readable_share(embedder: &dyn Embedder, text: &str) -> f64 {
    match embedder.readable_text() {
        ReadableText::EveryLanguage => 1.0,
        ReadableText::English if is_english(text) => 1.0,
        ReadableText::English => 0.0,
        ReadableText::Unknown => embedder.vocabulary_coverage(text),
    }
}

/// Returns the factor of the share of keywords in a similarity, in `0.0..=1.0`.
///
/// If a model knows every language and notes contain less than half of a query's words, the query is probably in another language than its answers, and the few words that match do so by chance.
fn keyword_weight(embedder: &dyn Embedder, words: &KeywordQuery) -> f64 {
    match embedder.readable_text() {
        ReadableText::EveryLanguage => (2.0 * words.known_share()).min(1.0),
        ReadableText::English | ReadableText::Unknown => 1.0,
    }
}

/// Returns the warning that a query has no word to search for.
fn no_words() -> Warning {
    Warning::new(WarningCode::QueryEmpty, "the query has no word to search for")
}

/// Returns a warning for each part of a query that was ignored.
fn unread(unread: QueryTruncation, max_terms: usize) -> impl Iterator<Item = Warning> {
    let QueryTruncation { text, words, exclusions, phrases, prefixes, mistyped } = unread;
    let kib = MAX_QUERY_BYTES >> 10;
    let parts = [
        (text, format!("the query is too long; only its first {kib} KiB were read")),
        (
            words,
            format!(
                "the query has too many words; only the {max_terms} most selective were searched"
            ),
        ),
        (
            exclusions,
            format!("the query excludes too many words; only the first {max_terms} were excluded"),
        ),
        (
            phrases,
            format!("the query has too many phrases; only the first {MAX_PHRASES} were matched"),
        ),
        (
            prefixes,
            format!(
                "a word that ends in `*` begins too many terms; only the {MAX_PREFIX_TERMS} of most notes were searched"
            ),
        ),
        (
            mistyped,
            format!(
                "the query has too many unknown words; only the first {MAX_TYPO_WORDS} were corrected"
            ),
        ),
    ];
    let ignored = parts.into_iter().filter(|(is_ignored, _)| *is_ignored);
    ignored.map(|(_, message)| Warning::new(WarningCode::QueryTruncated, message))
}

/// Returns a warning for each vault with notes whose files are missing.
fn missing_files(snapshot: &Snapshot) -> impl Iterator<Item = Warning> {
    let missing = snapshot.notes.vaults().filter(|(_, info)| info.n_missing > 0);
    missing.map(|(_, info)| {
        let (name, n) = (&info.name, info.n_missing);
        let message = format!(
            "{n} notes of vault `{name}` have no file on disk; their last indexed versions are used"
        );
        Warning::new(WarningCode::FilesMissing, message)
    })
}
