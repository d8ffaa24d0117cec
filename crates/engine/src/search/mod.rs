//! Search: candidates from words and vectors, signals from the graph, one score whose parts add up.
//!
//! A [`Question`](question::Question) is the request read against one snapshot.
//! It gives a pool of candidates, each with its exact scores of both legs; a profile ([`bridge`] or [`classic`]) tells how connections lift them, and lets those in that connections lead to; then all are ranked alike.

mod answer;
mod bridge;
mod classic;
mod explain;
mod links;
mod question;
pub(crate) mod topics;
mod why_not;

use std::cmp::Ordering;

use weft_gars::{Gars, Signals, Weights, WeightsError};
use weft_index::keyword::{
    Language, MAX_MISTYPED, MAX_PHRASES, MAX_QUERY_BYTES, QueryOptions, Unread, plain_words,
};
use weft_index::{Snapshot, Vectors};
use weft_model::{NoteId, NoteMap, NoteSet, Span};

use crate::snippet::Cutter;
use crate::{Engine, EngineError, Profile};
use answer::NO_VECTOR_YET;
pub use answer::{
    Connection, Hit, Origin, Raw, SearchAnswer, SearchMode, SearchRequest, Via, Without,
};
pub use explain::{ExplainedCandidate, ExplainedSeed, ExplainedWord, Explanation};
use explain::{Seed, Stages, explanation};
use question::{Candidate, Pool, Question};
pub use why_not::{Loss, WhyNotAnswer, WhyNotRequest};

/// Hits of one answer at most.
pub(crate) const MAX_LIMIT: usize = 1000;

/// Snippets of one hit at most.
pub const MAX_SNIPPETS: usize = 100;

/// What connections do for the notes around the best hits.
#[derive(Debug, Default)]
struct Lifts {
    by_note: NoteMap<Lift>,
    seeds: Vec<Seed>,
    /// Hits and topics of which only some links were followed, some perhaps more than once.
    capped: Vec<NoteId>,
    n_left_out: usize,
    /// The least similarities of a hit that activates others, and of one whose neighbours are ranked; 0 where there is no floor.
    floors: (f64, f64),
}

/// What connections do for one note.
#[derive(Clone, Copy, Debug)]
struct Lift {
    activation: f64,
    /// The hit from which the most came, and how it is connected.
    from: NoteId,
    kind: Connection,
    strength: f64,
    remainder: f64,
}

/// A candidate with its score.
struct Ranked {
    id: NoteId,
    found: Candidate,
    gars: Gars,
}

impl Ranked {
    /// The best first, ties by uri.
    fn order(snapshot: &Snapshot) -> impl Fn(&Self, &Self) -> Ordering {
        let graph = snapshot.notes.graph();
        |a, b| {
            let by_score = b.gars.score.total_cmp(&a.gars.score);
            by_score.then_with(|| graph.uri(a.id).cmp(graph.uri(b.id)))
        }
    }
}

/// The first `n` of `items` by `order`, and in it.
fn best_first<T>(mut items: Vec<T>, n: usize, order: impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    if items.len() > n {
        items.select_nth_unstable_by(n, &order);
        items.truncate(n);
    }
    items.sort_unstable_by(order);
    items
}

impl Engine {
    /// Finds notes.
    ///
    /// Both legs bring candidates, and connections with the best of them bring more; each gets its exact scores of both legs.
    /// Deterministic: equal questions on one generation give equal answers, but for the times in an explanation.
    pub fn search(&self, request: &SearchRequest) -> Result<SearchAnswer, EngineError> {
        self.search_in(&self.snapshot(), request)
    }

    /// The same over a snapshot that other parts of the question hold too.
    pub(crate) fn search_in(
        &self,
        snapshot: &Snapshot,
        request: &SearchRequest,
    ) -> Result<SearchAnswer, EngineError> {
        let (profile, weights) = self.ranking_of(request)?;
        let mut degraded = Vec::new();
        degraded.extend(missing_files(snapshot));
        let mut stages = Stages::start();
        let question = self.question(snapshot, request, profile, &mut degraded)?;
        stages.end("question");
        let (pool, lifts) =
            self.rankable(&question, request, profile, None, &mut degraded, &mut stages)?;
        let (ranked, n_answering) = self.ranked(snapshot, &pool, &lifts, &weights, request.limit);
        let truncated = n_answering > request.limit;
        stages.end("ranking");
        let cutter = self.cutter(&question, request);
        let mut hits: Vec<Hit> = Vec::with_capacity(ranked.len());
        for ranked in ranked {
            self.stop.check()?;
            hits.extend(Self::hit(&question, &lifts, ranked, &cutter)?);
        }
        stages.end("snippets");
        let graph = snapshot.notes.graph();
        let mut capped: Vec<_> = lifts.capped.iter().map(|id| graph.uri(*id).clone()).collect();
        capped.sort_unstable();
        capped.dedup();
        let explanation = request
            .explain
            .then(|| explanation(&question, &pool, &lifts, profile, weights, stages));
        Ok(SearchAnswer {
            hits,
            generation: snapshot.generation,
            truncated,
            degraded,
            capped,
            explanation,
        })
    }

    /// Everything that is ranked, and what connections do for it; `guest` is ranked whoever brings it.
    fn rankable(
        &self,
        question: &Question<'_>,
        request: &SearchRequest,
        profile: Profile,
        guest: Option<NoteId>,
        degraded: &mut Vec<String>,
        stages: &mut Stages,
    ) -> Result<(Pool, Lifts), EngineError> {
        let SearchRequest { mode, without, limit, .. } = request;
        let with_words = *mode != SearchMode::Vector || question.vector.is_none();
        // One more than is asked for shows whether there are more.
        let k = self.settings.candidates_per_leg.max(limit + 1);
        let mut pool = question.pool(k, with_words, &self.stop)?;
        question.expand(&mut pool, guest.into_iter())?;
        let n_named = question.n_named();
        if n_named > k {
            degraded.push(format!(
                "names: the query calls {n_named} notes by name; of these, the {k} that answer best by word were ranked"
            ));
        }
        stages.end("candidates");
        let lifts = if without.graph {
            Lifts::default()
        } else if self.stop.is_near() {
            degraded.push("expansion: the deadline was too near to follow links".to_owned());
            Lifts::default()
        } else {
            match profile {
                Profile::Bridge => {
                    bridge::lifts(question, &mut pool, &self.settings, without, &self.stop)?
                }
                Profile::Classic => {
                    classic::lifts(question, &mut pool, &self.settings, without, &self.stop)?
                }
            }
        };
        if lifts.n_left_out > 0 {
            let (n_left_out, n_seeds) = (lifts.n_left_out, lifts.seeds.len());
            degraded.push(format!(
                "expansion: the neighbours of the {n_seeds} most similar hits were ranked, too; {n_left_out} more are above search.classic.expansion_floor"
            ));
        }
        stages.end("connections");
        Ok((pool, lifts))
    }

    /// The profile and the weights that a request means. Fails where a number of the request is out of its range.
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
        // Also where the graph is left out and they count nothing.
        request
            .weights
            .map_or(Ok(Weights::SIMILARITY), |weights| weights.shares())
            .map_err(invalid)?;
        let profile = request.profile.unwrap_or(self.settings.profile);
        let mut weights = match (request.weights, profile) {
            _ if request.without.graph => Weights::SIMILARITY,
            (Some(weights), _) => weights,
            (None, Profile::Bridge) => self.settings.bridge.weights,
            (None, Profile::Classic) => self.settings.classic.weights,
        };
        let Weights { similarity, centrality, activation } = &mut weights;
        for (weight, is_left_out) in [
            (similarity, request.without.similarity),
            (centrality, request.without.centrality),
            (activation, request.without.activation),
        ] {
            if is_left_out {
                *weight = 0.0;
            }
        }
        weights.shares().map(|shares| (profile, shares)).map_err(invalid)
    }

    /// Reads the request against the snapshot: its words, its vector, its filter, and who is called by name.
    fn question<'s>(
        &self,
        snapshot: &'s Snapshot,
        request: &SearchRequest,
        profile: Profile,
        degraded: &mut Vec<String>,
    ) -> Result<Question<'s>, EngineError> {
        let SearchRequest { query, mode, filter, without, typos, .. } = request;
        let filtered = self.passing(snapshot, filter)?;
        degraded.extend_from_slice(filtered.unmet(snapshot, &self.stop)?);
        let typo_tolerance = typos.unwrap_or(self.settings.typos);
        let options = QueryOptions { typo_tolerance, ..QueryOptions::default() };
        let words = snapshot.keyword.parse(query, &options)?;
        let passing = filtered.notes.clone().intersection(words.admitted().clone());
        let wanted = plain_words(query);
        if wanted.trim().is_empty() && !query.trim().is_empty() {
            let excludes = !matches!(words.admitted(), NoteSet::All);
            let what = if excludes {
                "it names nothing to look for; add words that need no `-`"
            } else {
                "it holds no word to look for"
            };
            degraded.push(format!("query: {what}"));
        }
        let unread_words = words.unread().words && *mode != SearchMode::Vector;
        let what = Unread { words: unread_words, ..words.unread() };
        degraded.extend(unread(what, options.max_terms));
        let vectors = snapshot.vectors.as_ref().filter(|_| *mode != SearchMode::Keyword);
        let with_meaning = !wanted.trim().is_empty();
        let vectors =
            vectors.map(
                |vectors| if with_meaning { vectors.read_back(self.stop.near()) } else { vectors },
            );
        if let (None, Some(why)) = (vectors, self.no_model.as_ref().filter(|_| with_meaning))
            && *mode == SearchMode::Hybrid
        {
            degraded.push(format!("vector: {why}"));
        }
        let n_waiting = match vectors {
            Some(vectors) if with_meaning && vectors.awaited.is_some() => {
                snapshot.notes.total().n_chunks
            }
            Some(vectors) => vectors.n_waiting,
            None => 0,
        };
        if n_waiting > 0 {
            let passages = if n_waiting == 1 { "passage has" } else { "passages have" };
            degraded.push(format!("vector: {n_waiting} {passages} {NO_VECTOR_YET}"));
        }
        let vector = match vectors {
            Some(vectors) => self.query_vector(vectors, &wanted, *mode, degraded)?,
            None if *mode == SearchMode::Vector && with_meaning => {
                return Err(EngineError::NoVectors);
            }
            None => None,
        };
        let expressed = match (vectors, &vector) {
            (Some(vectors), Some(_)) => vectors.embedder.expressed(&wanted),
            (Some(_) | None, _) => 1.0,
        };
        let share = match (mode, &vector) {
            (SearchMode::Hybrid, Some(_)) => self.settings.vector_share * expressed,
            (SearchMode::Vector, Some(_)) => 1.0,
            (SearchMode::Hybrid | SearchMode::Vector | SearchMode::Keyword, _) => 0.0,
        };
        let with_names = profile == Profile::Bridge
            && self.settings.bridge.names
            && !without.names
            && *mode != SearchMode::Vector;
        let mentions = if with_names { snapshot.keyword.mentions(&words)? } else { Vec::new() };
        let has_marks_alone = !wanted.trim().is_empty() && words.terms().is_empty();
        if has_marks_alone && vector.is_none() && mentions.is_empty() {
            degraded.push("query: it holds no word to look for".to_owned());
        }
        Ok(Question { snapshot, words, vectors, vector, share, expressed, passing, mentions })
    }

    /// The query as a vector; nothing, and a line in `degraded`, where it cannot be had.
    fn query_vector(
        &self,
        vectors: &Vectors,
        text: &str,
        mode: SearchMode,
        degraded: &mut Vec<String>,
    ) -> Result<Option<Vec<f32>>, EngineError> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        if self.stop.is_near() {
            degraded.push("vector: the deadline was too near to embed the query".to_owned());
            return Ok(None);
        }
        match vectors.embedder.embed_query(text, self.stop.near()) {
            Ok(vector) => Ok(Some(vector)),
            Err(error) if mode == SearchMode::Vector => Err(error.into()),
            Err(error) => {
                degraded.push(format!("vector: {error}"));
                Ok(None)
            }
        }
    }

    /// The best `n` of everything that answers, best first, and how many answer. What no word, no meaning and no connection brought answers nothing, however central it is.
    fn ranked(
        &self,
        snapshot: &Snapshot,
        pool: &Pool,
        lifts: &Lifts,
        weights: &Weights,
        n: usize,
    ) -> (Vec<Ranked>, usize) {
        let graph = snapshot.notes.graph();
        let centrality = self.centrality.of(snapshot, self.settings.centrality);
        let scored = |signals: Signals, centrality: f64| {
            Gars::new(Signals { centrality, ..signals }, weights)
        };
        let mut answering: Vec<(f64, NoteId, Signals)> = Vec::with_capacity(pool.len());
        for (id, found) in pool.iter() {
            let lift = lifts.by_note.get(&id);
            let activation = lift.map_or(0.0, |lift| lift.activation);
            let signals = Signals { similarity: found.similarity, centrality: 0.0, activation };
            let least = scored(signals, 0.0).score;
            let is_central = || scored(signals, centrality.of(graph, id)).score > 0.0;
            let answers = found.similarity > 0.0 || lift.is_some();
            if least > 0.0 || answers && is_central() {
                answering.push((least, id, signals));
            }
        }
        let n_answering = answering.len();
        if n_answering > n {
            // The centrality is asked for where it can matter: each waits for memory.
            answering.select_nth_unstable_by(n - 1, |a, b| b.0.total_cmp(&a.0));
            let (floor, most) = (answering[n - 1].0, centrality.at_most(graph));
            answering.retain(|(_, _, signals)| scored(*signals, most).score >= floor);
        }
        let ranked = answering.into_iter().filter_map(|(_, id, signals)| {
            let gars = scored(signals, centrality.of(graph, id));
            Some(Ranked { id, found: *pool.get(id)?, gars })
        });
        (best_first(ranked.collect(), n, Ranked::order(snapshot)), n_answering)
    }

    /// Cuts the snippets of the hits of `question`, as many as `request` means.
    fn cutter<'q>(&'q self, question: &'q Question<'_>, request: &SearchRequest) -> Cutter<'q> {
        let n = request.snippets.unwrap_or(self.settings.snippets);
        let chars = self.settings.snippet_chars;
        Cutter::new(&question.words, &self.analyzers, n, chars, &self.stop)
    }

    fn hit(
        question: &Question<'_>,
        lifts: &Lifts,
        ranked: Ranked,
        cutter: &Cutter<'_>,
    ) -> Result<Option<Hit>, EngineError> {
        let Ranked { id, found, gars: Gars { signals, contributions, score } } = ranked;
        let snapshot = question.snapshot;
        let graph = snapshot.notes.graph();
        let Some(entry) = snapshot.notes.entry(id) else { return Ok(None) };
        let best_chunk: Option<Span> =
            question.best_chunk(id)?.and_then(|at| Some(entry.chunks.get(at)?.span));
        let language = snapshot.keyword.language(id).ok().flatten().unwrap_or(Language::English);
        let via = lifts.by_note.get(&id).map(|lift| {
            let Lift { activation: _, from, kind, strength, remainder } = *lift;
            Via { uri: graph.uri(from).clone(), kind, strength, remainder }
        });
        Ok(Some(Hit {
            uri: graph.uri(id).clone(),
            path: entry.note.path.as_str().to_owned(),
            vault: crate::notes::vault_of(snapshot, id),
            title: entry.note.title.clone(),
            score,
            vector_score: found.vector.unwrap_or(0.0),
            keyword_score: found.keyword,
            name_score: found.mention,
            origin: found.origin(),
            fresh: snapshot.is_fresh(id),
            raw: Raw {
                base: found.base(question.share),
                degree: graph.degrees(id).both,
                strength: via.as_ref().map_or(0.0, |via| via.strength),
            },
            via,
            signals,
            contributions,
            snippets: cutter.snippets(entry, language, best_chunk),
            best_chunk,
        }))
    }
}

/// A line for each part of a query that was not read.
fn unread(unread: Unread, max_terms: usize) -> impl Iterator<Item = String> {
    let Unread { text, words, exclusions, phrases, mistyped } = unread;
    let kib = MAX_QUERY_BYTES >> 10;
    let lines = [
        (text, format!("words: the query is long; its first {kib} KiB were read")),
        (
            words,
            format!("words: of those asked for, the {max_terms} that tell most were looked for"),
        ),
        (exclusions, format!("words: of those to leave out, the first {max_terms} were left out")),
        (phrases, format!("words: the first {MAX_PHRASES} phrases were looked for as such")),
        (
            mistyped,
            format!(
                "words: of those that no note holds, the first {MAX_MISTYPED} were taken for mistyped"
            ),
        ),
    ];
    lines.into_iter().filter_map(|(is_so, line)| is_so.then_some(line))
}

/// A line for each vault of which notes are shown although their files are missing.
fn missing_files(snapshot: &Snapshot) -> impl Iterator<Item = String> {
    let missing = snapshot.notes.vaults().filter(|(_, info)| info.n_missing > 0);
    missing.map(|(_, info)| {
        let (name, n) = (&info.name, info.n_missing);
        format!(
            "files: {n} notes of `{name}` have no file any more and are found as they last were"
        )
    })
}
