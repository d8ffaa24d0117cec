//! Search: candidates from words and vectors, one absolute score.

use std::collections::HashMap;
use std::time::Instant;

use weft_index::Snapshot;
use weft_index::embedder::Role;
use weft_index::keyword::{KeywordQuery, Language, QueryOptions};
use weft_index::vector::VectorSearch as _;
use weft_model::{NoteId, NoteSet, Span, Uri};

use crate::snippet::{Snippet, snippets};
use crate::{Engine, EngineError, Filter};

/// Which legs a search stands on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchMode {
    /// Words and vectors.
    #[default]
    Hybrid,
    /// Vectors alone.
    Vector,
    /// Words alone.
    Keyword,
}

/// A search.
#[derive(Clone, Debug, Default)]
pub struct SearchRequest {
    /// What is asked, in words, with `"phrases"`, `+must` and `-not`.
    pub query: String,
    /// Hits at most, 1 to 1,000.
    pub limit: usize,
    /// The legs.
    pub mode: SearchMode,
    /// Which notes may be hits.
    pub filter: Filter,
    /// When the caller stops waiting; past it nothing is embedded any more.
    pub deadline: Option<Instant>,
}

/// How a hit came up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Among the best by vector only.
    Vector,
    /// Among the best by word only.
    Keyword,
    /// Among the best by both.
    Both,
    /// Linked with a hit.
    Expanded,
}

impl Origin {
    /// The name that answers use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vector => "vector",
            Self::Keyword => "keyword",
            Self::Both => "both",
            Self::Expanded => "expanded",
        }
    }
}

/// The parts of a score, each in `0.0..=1.0`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signals {
    /// How well the text answers.
    pub similarity: f64,
    /// How central the note is.
    pub centrality: f64,
    /// How its links to other hits lift it.
    pub activation: f64,
}

/// One found note.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Its uri.
    pub uri: Uri,
    /// Its path.
    pub path: String,
    /// Its vault.
    pub vault: String,
    /// Its title.
    pub title: String,
    /// The sum of the contributions, in `0.0..=1.0`.
    pub score: f64,
    /// The greatest cosine of its chunks with the query, at least 0; 0 while it has no vector.
    pub vector_score: f64,
    /// Its share of what the words of the query could attain at most, in `0.0..=1.0`.
    pub keyword_score: f64,
    /// How it came up.
    pub origin: Origin,
    /// The hit that lifted it.
    pub via: Option<String>,
    /// Whether all its vectors are there.
    pub fresh: bool,
    /// The parts before weighing.
    pub signals: Signals,
    /// The parts after weighing.
    pub contributions: Signals,
    /// The parts of its body that answer.
    pub snippets: Vec<Snippet>,
    /// The chunk that is most like the query, where vectors were asked.
    pub best_chunk: Option<Span>,
}

/// Found notes, best first, ties by the lower uri.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchAnswer {
    /// The hits.
    pub hits: Vec<Hit>,
    /// The snapshot's generation.
    pub generation: u64,
    /// Whether there were more candidates than asked for.
    pub truncated: bool,
    /// Stages that were left out, and why: `vector: …`.
    pub degraded: Vec<String>,
}

/// Hits of one answer at most.
pub(crate) const MAX_LIMIT: usize = 1000;

/// Chunks looked for per wanted note: long notes have several among the nearest.
const CHUNKS_PER_NOTE: usize = 2;

/// What is known of a candidate.
#[derive(Clone, Copy, Debug, Default)]
struct Candidate {
    vector: f64,
    keyword: f64,
    /// Its best chunk, by position.
    best_chunk: Option<usize>,
    by_vector: bool,
    by_keyword: bool,
}

impl Engine {
    /// Finds notes.
    ///
    /// Both legs bring candidates; each candidate then gets the exact score of the leg that did not bring it.
    /// Deterministic: equal questions on one generation give equal answers.
    pub fn search(&self, request: &SearchRequest) -> Result<SearchAnswer, EngineError> {
        let SearchRequest { query: text, limit, mode, filter, deadline } = request;
        if !(1..=MAX_LIMIT).contains(limit) {
            let reason = format!("{limit} is not between 1 and {MAX_LIMIT}");
            return Err(EngineError::InvalidArgument { field: "limit", reason });
        }
        let snapshot = self.snapshot();
        let passing = filter.notes(&snapshot)?;
        let mut degraded = Vec::new();
        let with_words = *mode != SearchMode::Vector;
        let with_vectors = *mode != SearchMode::Keyword
            && (snapshot.vectors.is_some() || *mode == SearchMode::Vector);
        let vector = if with_vectors {
            self.query_vector(text, *mode, *deadline, &mut degraded)?
        } else {
            None
        };

        let query = snapshot.keyword.parse(text, &QueryOptions::default())?;
        let mut pool: HashMap<NoteId, Candidate> = HashMap::new();
        if with_words || vector.is_none() {
            self.keyword_leg(&snapshot, &query, &passing, &mut pool)?;
        }
        if let Some(vector) = &vector {
            self.vector_leg(&snapshot, vector, &passing, &mut pool)?;
            complete_vectors(&snapshot, vector, &mut pool)?;
        }
        complete_words(&snapshot, &query, &mut pool)?;

        let share = match (mode, &vector) {
            (SearchMode::Hybrid, Some(_)) => self.settings.vector_share,
            (SearchMode::Vector, Some(_)) => 1.0,
            (SearchMode::Hybrid | SearchMode::Vector | SearchMode::Keyword, _) => 0.0,
        };
        let mut ranked: Vec<(f64, NoteId, Candidate)> = pool
            .into_iter()
            .map(|(id, found)| (share * found.vector + (1.0 - share) * found.keyword, id, found))
            .filter(|(score, _, _)| *score > 0.0)
            .collect();
        let graph = snapshot.notes.graph();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| graph.uri(a.1).cmp(graph.uri(b.1))));
        let truncated = ranked.len() > *limit;
        ranked.truncate(*limit);
        let hits = ranked
            .into_iter()
            .filter_map(|(score, id, found)| self.hit(&snapshot, &query, score, id, found));
        Ok(SearchAnswer {
            hits: hits.collect(),
            generation: snapshot.generation,
            truncated,
            degraded,
        })
    }

    /// The query as a vector; nothing, and a line in `degraded`, where it cannot be had.
    fn query_vector(
        &self,
        text: &str,
        mode: SearchMode,
        deadline: Option<Instant>,
        degraded: &mut Vec<String>,
    ) -> Result<Option<Vec<f32>>, EngineError> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        let Some(embedder) = &self.embedder else { return Err(EngineError::NoVectors) };
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            degraded.push("vector: the deadline was too near to embed the query".to_owned());
            return Ok(None);
        }
        match embedder.embed(&[text], Role::Query) {
            Ok(vectors) => Ok(vectors.into_iter().next()),
            Err(error) if mode == SearchMode::Vector => Err(error.into()),
            Err(error) => {
                degraded.push(format!("vector: {error}"));
                Ok(None)
            }
        }
    }

    fn keyword_leg(
        &self,
        snapshot: &Snapshot,
        query: &KeywordQuery,
        passing: &NoteSet,
        pool: &mut HashMap<NoteId, Candidate>,
    ) -> Result<(), EngineError> {
        for hit in snapshot.keyword.search(query, self.settings.candidates_per_leg, passing)? {
            pool.entry(hit.note).or_default().by_keyword = true;
        }
        Ok(())
    }

    fn vector_leg(
        &self,
        snapshot: &Snapshot,
        vector: &[f32],
        passing: &NoteSet,
        pool: &mut HashMap<NoteId, Candidate>,
    ) -> Result<(), EngineError> {
        let Some(vectors) = &snapshot.vectors else { return Ok(()) };
        let k = self.settings.candidates_per_leg * CHUNKS_PER_NOTE;
        for hit in vectors.index.nearest(vector, k, passing)? {
            pool.entry(hit.note).or_default().by_vector = true;
        }
        Ok(())
    }

    fn hit(
        &self,
        snapshot: &Snapshot,
        query: &KeywordQuery,
        score: f64,
        id: NoteId,
        found: Candidate,
    ) -> Option<Hit> {
        let entry = snapshot.notes.entry(id)?;
        let Candidate { vector, keyword, best_chunk, by_vector, by_keyword } = found;
        let best_chunk: Option<Span> = best_chunk.and_then(|at| Some(entry.chunks.get(at)?.span));
        let language = snapshot.keyword.language(id).ok().flatten().unwrap_or(Language::English);
        let parts = Signals { similarity: score, ..Signals::default() };
        Some(Hit {
            uri: snapshot.notes.graph().uri(id).clone(),
            path: entry.note.path.as_str().to_owned(),
            vault: crate::notes::vault_of(snapshot, id),
            title: entry.note.title.clone(),
            score,
            vector_score: vector,
            keyword_score: keyword,
            origin: match (by_vector, by_keyword) {
                (true, true) => Origin::Both,
                (true, false) => Origin::Vector,
                (false, true) => Origin::Keyword,
                (false, false) => Origin::Expanded,
            },
            via: None,
            fresh: snapshot.is_fresh(id),
            signals: parts,
            contributions: parts,
            snippets: snippets(
                entry,
                query,
                language,
                best_chunk,
                self.settings.snippets,
                self.settings.snippet_chars,
            ),
            best_chunk,
        })
    }
}

/// Gives every candidate the exact cosine of its best chunk.
fn complete_vectors(
    snapshot: &Snapshot,
    vector: &[f32],
    pool: &mut HashMap<NoteId, Candidate>,
) -> Result<(), EngineError> {
    let Some(vectors) = &snapshot.vectors else { return Ok(()) };
    for (id, candidate) in pool {
        let rows: Vec<(usize, _)> =
            vectors.rows_of(*id).enumerate().filter_map(|(at, row)| Some((at, row?))).collect();
        let own: Vec<_> = rows.iter().map(|(_, row)| *row).collect();
        let scores = vectors.index.similarities(vector, &own)?;
        for ((at, _), score) in rows.iter().zip(scores) {
            let score = f64::from(score).clamp(0.0, 1.0);
            if candidate.best_chunk.is_none() || score > candidate.vector {
                (candidate.vector, candidate.best_chunk) = (score, Some(*at));
            }
        }
    }
    Ok(())
}

/// Gives every candidate its exact share of what the words of the query could attain.
fn complete_words(
    snapshot: &Snapshot,
    query: &KeywordQuery,
    pool: &mut HashMap<NoteId, Candidate>,
) -> Result<(), EngineError> {
    let attainable = query.attainable();
    if attainable <= 0.0 {
        return Ok(());
    }
    let mut ids: Vec<NoteId> = pool.keys().copied().collect();
    ids.sort_unstable();
    let scores = snapshot.keyword.scores(query, &ids)?;
    for (id, score) in ids.into_iter().zip(scores) {
        if let Some(candidate) = pool.get_mut(&id) {
            candidate.keyword = (score / attainable).clamp(0.0, 1.0);
        }
    }
    Ok(())
}
