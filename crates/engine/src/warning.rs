//! Warnings: conditions that make an answer incomplete, or possibly not what the client meant.

use std::fmt;

/// A condition that makes an answer incomplete, or possibly not what the client meant. The answer itself is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Machine-readable kind of the condition.
    pub code: WarningCode,
    /// Description of the condition for people, without a final period. Its wording may change.
    pub message: String,
}

impl Warning {
    /// Creates a warning.
    #[must_use]
    pub fn new(code: WarningCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Kind of a [`Warning`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WarningCode {
    /// The deadline left too little time for a stage, such as embedding the query or following links.
    StageSkipped,
    /// The query could not be embedded, so the vector retriever was skipped.
    ModelUnavailable,
    /// The hits were not reranked although the settings or the request ask for it, because the reranker failed, is missing, or could not finish in time.
    RerankSkipped,
    /// Some chunks have no vector yet.
    VectorsPending,
    /// No note matches one condition of the filter, such as a tag or a path.
    FilterMatchesNothing,
    /// No link has a requested type.
    UnknownLinkType,
    /// A name matches several notes or headings, of which one was used.
    AmbiguousName,
    /// A name contains a heading or block that the note does not have, so the whole note was used.
    UnknownFragment,
    /// A filter names a heading or block of a note; filters apply to whole notes.
    FragmentIgnored,
    /// Part of the query exceeds a limit and was ignored.
    QueryTruncated,
    /// Words of the query in capitals were read as operators.
    QueryOperators,
    /// The query has no term to search for.
    QueryEmpty,
    /// The query is a phrase that no note contains, so its words were searched separately.
    PhraseNotFound,
    /// More notes qualify as candidates than were ranked.
    CandidatesLimited,
    /// Notes are served although their files are missing.
    FilesMissing,
    /// The first scan of a vault is still running.
    ScanIncomplete,
    /// The index was restored from an older state, and its files are being scanned again.
    IndexRecovering,
    /// This node has not applied the newest commits of its collection, or does not know them.
    NodeLags,
}

impl WarningCode {
    /// Every code.
    pub const ALL: [Self; 18] = [
        Self::StageSkipped,
        Self::ModelUnavailable,
        Self::RerankSkipped,
        Self::VectorsPending,
        Self::FilterMatchesNothing,
        Self::UnknownLinkType,
        Self::AmbiguousName,
        Self::UnknownFragment,
        Self::FragmentIgnored,
        Self::QueryTruncated,
        Self::QueryOperators,
        Self::QueryEmpty,
        Self::PhraseNotFound,
        Self::CandidatesLimited,
        Self::FilesMissing,
        Self::ScanIncomplete,
        Self::IndexRecovering,
        Self::NodeLags,
    ];

    /// Returns the stable snake_case name used in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::StageSkipped => "stage_skipped",
            Self::ModelUnavailable => "model_unavailable",
            Self::RerankSkipped => "rerank_skipped",
            Self::VectorsPending => "vectors_pending",
            Self::FilterMatchesNothing => "filter_matches_nothing",
            Self::UnknownLinkType => "unknown_link_type",
            Self::AmbiguousName => "ambiguous_name",
            Self::UnknownFragment => "unknown_fragment",
            Self::FragmentIgnored => "fragment_ignored",
            Self::QueryTruncated => "query_truncated",
            Self::QueryOperators => "query_operators",
            Self::QueryEmpty => "query_empty",
            Self::PhraseNotFound => "phrase_not_found",
            Self::CandidatesLimited => "candidates_limited",
            Self::FilesMissing => "files_missing",
            Self::ScanIncomplete => "scan_incomplete",
            Self::IndexRecovering => "index_recovering",
            Self::NodeLags => "node_lags",
        }
    }
}
