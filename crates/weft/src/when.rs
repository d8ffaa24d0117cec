//! The flags that say which state of the index answers, put into requests.

use weft_proto::noteweft::v1::{
    AssembleRequest, CyclesRequest, DiffRequest, ExportRequest, GetNoteRequest, ListNotesRequest,
    NeighborsRequest, OrphansRequest, PathRequest, RelatedRequest, ResolveLinkRequest,
    SearchRequest, SubgraphRequest, TopicSiblingsRequest, TreeRequest, UnresolvedRequest,
};

use crate::cli::Global;

/// A request that says which state answers.
pub(crate) trait Timed: Sized {
    /// The same, answered by the state that the flags name.
    fn when(self, global: &Global) -> Self;
}

macro_rules! timed {
    ($($request:ident),+ $(,)?) => {$(
        impl Timed for $request {
            fn when(self, global: &Global) -> Self {
                Self { min_generation: global.min_generation, as_of: global.as_of, ..self }
            }
        }
    )+};
}

timed! {
    AssembleRequest, CyclesRequest, DiffRequest, ExportRequest, GetNoteRequest, ListNotesRequest, NeighborsRequest,
    OrphansRequest, PathRequest, RelatedRequest, ResolveLinkRequest, SearchRequest, SubgraphRequest,
    TopicSiblingsRequest, TreeRequest, UnresolvedRequest,
}
