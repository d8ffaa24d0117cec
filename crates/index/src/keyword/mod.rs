//! Keyword index: the analyzer, and an inverted index with exact statistics.
//!
//! A [`KeywordWriter`] accepts notes and commits them; each commit yields a [`KeywordReader`].
//! A reader parses query text into a [`KeywordQuery`], finds notes with it, scores given notes exactly as a search does, and reports term frequencies.
//!
//! Scores and counts depend only on the live notes: neither deleted notes nor the division into segments affects them.
//! Tantivy stores postings, positions and deletions; frequencies, lengths and scores are computed here.

mod analyzer;
mod bm25;
mod boolean_filter;
mod checksum_cache;
mod corruption_flag;
mod document_matcher;
mod encoded_note;
mod exact_form;
mod index_directory;
mod index_schema;
mod indexing_queue;
mod keyword_encoder;
mod keyword_error;
mod keyword_query;
mod keyword_reader;
mod keyword_settings;
mod keyword_writer;
mod language;
mod language_detection;
mod mentions;
mod merge_policy;
mod name_filter;
mod name_terms;
mod passage_list;
mod passage_scores;
mod phrase_match;
mod prefix_expansion;
mod query_syntax;
mod query_word;
mod said_text;
mod score_buffers;
mod script;
mod segment_reader;
mod stopwords;
mod term_buffer;
mod term_frequencies;
mod term_hash;
mod term_list;
mod term_matcher;
mod token_cache;
mod top_k_search;
mod typo_expansion;
mod word_folding;
mod word_splitter;

#[cfg(test)]
mod tests;

pub use analyzer::{Analyzer, Token, TokenKind};
pub use bm25::Scoring;
pub use encoded_note::EncodedNote;
pub use keyword_encoder::{KeywordDocument, KeywordEncoder};
pub use keyword_error::KeywordError;
pub use keyword_query::{
    ExactForm, KeywordQuery, MAX_PHRASES, MAX_QUERY_BYTES, MAX_TYPO_WORDS, QueryOptions, QueryTerm,
    QueryTruncation,
};
pub use keyword_reader::{KeywordReader, NoteTerm, NoteWithTerm};
pub use keyword_settings::KeywordSettings;
pub use keyword_writer::KeywordWriter;
pub use language::Language;
pub use language_detection::{LanguageChoice, is_english};
pub use mentions::{Mention, Mentions, NamedInText, SectionMention};
pub use name_terms::names;
pub use passage_scores::{NotePassages, PassageWords, Saturations, ScoredPassage};
pub use prefix_expansion::MAX_PREFIX_TERMS;
pub use query_syntax::{operator_reading, plain_words};
pub use term_frequencies::TermFrequencies;
pub use term_matcher::TermMatcher;
pub use top_k_search::KeywordHit;
