//! Words: the analyzer, and the word index with its statistics.
//!
//! A [`KeywordWriter`] takes notes and commits them; each commit gives a [`KeywordReader`].
//! A reader parses what people type into a [`KeywordQuery`], finds notes by it, scores given notes exactly as a search would, and answers how often which terms occur where.
//!
//! Scores and counts depend on the live notes alone: deleted ones leave no trace in them, and neither does the way the index is cut into segments.
//! The library keeps postings, positions and deletions; frequencies, lengths and scores are counted here.

mod admit;
mod alphabet;
mod analyzer;
mod compared;
mod directory;
mod doubt;
mod encoded;
mod error;
mod gathered;
mod known;
mod language;
mod merges;
mod names;
mod phrase;
mod query;
mod queue;
mod reader;
mod schema;
mod score;
mod segment;
mod sought;
mod spelling;
mod stopwords;
mod syntax;
mod typo;
mod words;
mod writer;

#[cfg(test)]
mod tests;

pub use analyzer::{Analyzer, PlainForm, Token, TokenKind};
pub use encoded::EncodedNote;
pub use error::KeywordError;
pub use language::{Language, LanguageChoice};
pub use names::Mention;
pub use query::{
    KeywordQuery, MAX_MISTYPED, MAX_PHRASES, MAX_QUERY_BYTES, QueryOptions, QueryTerm, Unread,
};
pub use reader::{KeywordReader, OwnTerm, Scoring, TermFrequencies};
pub use schema::{KeywordDocument, KeywordEncoder};
pub use score::KeywordHit;
pub use sought::Sought;
pub use syntax::plain_words;
pub use writer::{KeywordSettings, KeywordWriter};
