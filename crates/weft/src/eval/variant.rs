//! Ways to rank that are compared.

use clap::ValueEnum;
use weft_proto::noteweft::v1::{Profile, SearchMode, SearchRequest, StatusRequest, Without};

use crate::asker::Asker;
use crate::failure::Failure;

/// A way to rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Variant {
    /// As the daemon is configured.
    Configured,
    /// Words alone.
    Keyword,
    /// Vectors alone.
    Vector,
    /// Words and vectors, without names and graph.
    Hybrid,
    /// The same with names: all of it without the graph.
    NoGraph,
    /// All of it but vectors.
    WithoutVectors,
    /// All of it but names.
    WithoutNames,
    /// All of it but links.
    WithoutLinks,
    /// All of it but shared words.
    WithoutSharedWords,
    /// All of it, but the similarity counts nothing.
    WithoutSimilarity,
    /// All of it, but the centrality counts nothing.
    WithoutCentrality,
    /// All of it, but the activation counts nothing.
    WithoutActivation,
    /// The profile `bridge`.
    Bridge,
    /// The profile `classic`.
    Classic,
}

impl Variant {
    pub(super) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    pub(super) fn request(self) -> SearchRequest {
        let mut request = SearchRequest::default();
        let mut without = Without::default();
        match self {
            Self::Configured => {}
            Self::Keyword => {
                request.mode = SearchMode::Keyword.into();
                (request.no_graph, without.names) = (true, true);
            }
            Self::Vector => {
                request.mode = SearchMode::Vector.into();
                request.no_graph = true;
            }
            Self::Hybrid => (request.no_graph, without.names) = (true, true),
            Self::NoGraph => request.no_graph = true,
            Self::WithoutVectors => request.mode = SearchMode::Keyword.into(),
            Self::WithoutNames => without.names = true,
            Self::WithoutLinks => without.links = true,
            Self::WithoutSharedWords => without.shared_words = true,
            Self::WithoutSimilarity => without.similarity = true,
            Self::WithoutCentrality => without.centrality = true,
            Self::WithoutActivation => without.activation = true,
            Self::Bridge => request.profile = Profile::Bridge.into(),
            Self::Classic => request.profile = Profile::Classic.into(),
        }
        SearchRequest { without: Some(without), ..request }
    }
}

/// All variants; without a model those that vectors do not make another of.
pub(super) async fn usual(asker: &Asker) -> Result<Vec<Variant>, Failure> {
    let mut variants = Variant::value_variants().to_vec();
    if asker.admin().status(StatusRequest {}).await?.into_inner().model.is_none() {
        let needs_vectors = [Variant::Vector, Variant::Hybrid, Variant::WithoutVectors];
        variants.retain(|variant| !needs_vectors.contains(variant));
    }
    Ok(variants)
}
