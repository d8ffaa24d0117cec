//! Index state that a request asks for: the newest, one at or after a generation, or a past one.

use weft_proto::noteweft::v1 as wire;

/// Selects the index state that answers a request; the newest by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RequestedState {
    /// The state must include this generation.
    pub(super) min_generation: Option<u64>,
    /// The state must be exactly this past generation.
    pub(super) as_of: Option<u64>,
}

/// A request that selects an index state.
pub(super) trait HasRequestedState {
    /// Returns the requested state.
    fn requested_state(&self) -> RequestedState;
}

macro_rules! has_requested_state {
    ($($request:ident),+ $(,)?) => {$(
        impl HasRequestedState for wire::$request {
            fn requested_state(&self) -> RequestedState {
                RequestedState { min_generation: self.min_generation, as_of: self.as_of }
            }
        }
    )+};
}

has_requested_state! {
    AssembleRequest, BrokenLinksRequest, CyclesRequest, DiffRequest, DuplicatesRequest,
    ExportRequest, FacetsRequest, GetNoteRequest, ListNotesRequest, NeighborsRequest,
    OrphansRequest, PathRequest, RelatedRequest, ResolveLinkRequest, SearchRequest,
    StaleNotesRequest, SubgraphRequest, SuggestedLinksRequest, TopicSiblingsRequest,
    TreeRequest, UnresolvedRequest,
}
