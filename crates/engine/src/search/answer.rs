//! What a search asks and answers.

use weft_gars::{Signals, Weights};
use weft_model::{Span, Uri};

use super::Explanation;
use crate::settings::Profile;
use crate::{Filter, Snippet};

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
    /// What is asked, in words, with `"phrases"`, and `+must` and `-not`, past which no way leads.
    pub query: String,
    /// Hits at most, 1 to 1,000.
    pub limit: usize,
    /// The legs.
    pub mode: SearchMode,
    /// Which notes may be hits.
    pub filter: Filter,
    /// What the signals are made of; where it is not given, as the settings say.
    pub profile: Option<Profile>,
    /// What each signal counts; where it is not given, as the profile says.
    pub weights: Option<Weights>,
    /// Parts that are left out.
    pub without: Without,
    /// Whether a word that no note holds stands for words one edit away; where it is not given, as the settings say.
    pub typos: Option<bool>,
    /// Whether the answer tells how it came about.
    pub explain: bool,
    /// Snippets of a hit at most, 0 to [`MAX_SNIPPETS`](crate::MAX_SNIPPETS); where it is not given, as the settings say.
    pub snippets: Option<usize>,
}

impl SearchRequest {
    /// Whether notes are looked for by meaning, alone or beside words, unless the query then names nothing to look for.
    #[must_use]
    pub fn searches_by_meaning(&self) -> bool {
        self.mode != SearchMode::Keyword && !self.query.trim().is_empty()
    }
}

/// Parts of the ranking that a search does without: to see what they are worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Without {
    /// No graph at all: the score is the similarity.
    pub graph: bool,
    /// No names: a note that the query calls by name counts as any other.
    pub names: bool,
    /// No links.
    pub links: bool,
    /// No words that notes share.
    pub shared_words: bool,
    /// The similarity counts nothing.
    pub similarity: bool,
    /// The centrality counts nothing.
    pub centrality: bool,
    /// The activation counts nothing.
    pub activation: bool,
}

/// How a hit came up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Among the best by vector only.
    Vector,
    /// Among the best by word only, or called by name.
    Keyword,
    /// Among the best by both.
    Both,
    /// Connected with a hit.
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

/// How a note is connected with the hit that lifts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// The hit links to the note.
    Link,
    /// The note links to the hit.
    Backlink,
    /// Both hold words that few notes hold.
    SharedWords,
    /// Both link to a topic.
    Topic,
}

/// What lifted a hit.
#[derive(Clone, Debug, PartialEq)]
pub struct Via {
    /// The hit from which the most came.
    pub uri: Uri,
    /// How the two are connected.
    pub kind: Connection,
    /// How strongly, in `0.0..=1.0`.
    pub strength: f64,
    /// The share that the note answers of what the hit leaves unanswered, in `0.0..=1.0`; 0 in profile `classic`, which does not ask.
    pub remainder: f64,
}

/// What signals are made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Raw {
    /// The similarity before names count, in `0.0..=1.0`.
    pub base: f64,
    /// Distinct neighbours.
    pub degree: u32,
    /// The strength of the connection that lifts it most, in `0.0..=1.0`; 0 where nothing does.
    pub strength: f64,
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
    /// The share of the query that is its name, in `0.0..=1.0`.
    pub name_score: f64,
    /// How it came up.
    pub origin: Origin,
    /// What lifted it.
    pub via: Option<Via>,
    /// Whether all its vectors are there.
    pub fresh: bool,
    /// What the signals were made of.
    pub raw: Raw,
    /// The parts before weighing.
    pub signals: Signals,
    /// The parts after weighing.
    pub contributions: Signals,
    /// The parts of its body that answer.
    pub snippets: Vec<Snippet>,
    /// The chunk that is most like the query, where vectors were asked.
    pub best_chunk: Option<Span>,
}

/// How the line ends that tells of vectors on their way.
pub(super) const NO_VECTOR_YET: &str = "no vector yet";

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
    /// Hits and topics of which only some links were followed, by uri.
    pub capped: Vec<Uri>,
    /// How the answer came about, where that was asked.
    pub explanation: Option<Explanation>,
}

impl SearchAnswer {
    /// The lines of what was left out, and whether vectors were on their way, which is told apart: that passes with every saved note, whichever it is.
    #[must_use]
    pub fn left_out(&self) -> (Vec<&str>, bool) {
        let lines = self.degraded.iter().map(String::as_str);
        let (pending, lasting): (Vec<&str>, Vec<&str>) =
            lines.partition(|line| line.ends_with(NO_VECTOR_YET));
        (lasting, !pending.is_empty())
    }
}
