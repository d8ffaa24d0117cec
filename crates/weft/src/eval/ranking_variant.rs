//! Ranking variants to compare.

use clap::ValueEnum;
use weft_proto::noteweft::v1::{
    DisabledSignals, Profile, SearchMode, SearchRequest, StatusRequest,
};

use crate::client::Client;
use crate::failure::Failure;

/// A ranking variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum RankingVariant {
    /// As configured in the daemon.
    Configured,
    /// Keyword retriever only.
    Keyword,
    /// Vector retriever only.
    Vector,
    /// Both retrievers, without names and graph.
    Hybrid,
    /// Everything except the graph.
    NoGraph,
    /// Everything except vectors.
    WithoutVectors,
    /// Everything except names.
    WithoutNames,
    /// Everything except links.
    WithoutLinks,
    /// Everything except shared words.
    WithoutSharedWords,
    /// Everything, with zero weight for the similarity.
    WithoutSimilarity,
    /// Everything, with zero weight for the centrality.
    WithoutCentrality,
    /// Everything, with zero weight for the activation.
    WithoutActivation,
    /// The profile `bridge`.
    Bridge,
    /// The profile `classic`.
    Classic,
}

impl RankingVariant {
    pub(super) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    pub(super) fn request(self) -> SearchRequest {
        let mut request = SearchRequest::default();
        let mut disabled_signals = DisabledSignals::default();
        match self {
            Self::Configured => {}
            Self::Keyword => {
                request.mode = SearchMode::Keyword.into();
                (request.no_graph, disabled_signals.names) = (true, true);
            }
            Self::Vector => {
                request.mode = SearchMode::Vector.into();
                request.no_graph = true;
            }
            Self::Hybrid => (request.no_graph, disabled_signals.names) = (true, true),
            Self::NoGraph => request.no_graph = true,
            Self::WithoutVectors => request.mode = SearchMode::Keyword.into(),
            Self::WithoutNames => disabled_signals.names = true,
            Self::WithoutLinks => disabled_signals.links = true,
            Self::WithoutSharedWords => disabled_signals.shared_words = true,
            Self::WithoutSimilarity => disabled_signals.similarity = true,
            Self::WithoutCentrality => disabled_signals.centrality = true,
            Self::WithoutActivation => disabled_signals.activation = true,
            Self::Bridge => request.profile = Profile::Bridge.into(),
            Self::Classic => request.profile = Profile::Classic.into(),
        }
        SearchRequest { disabled_signals: Some(disabled_signals), ..request }
    }
}

/// Returns all variants; without a model, those that do not need vectors.
pub(super) async fn default_variants(client: &Client) -> Result<Vec<RankingVariant>, Failure> {
    let mut variants = RankingVariant::value_variants().to_vec();
    if client.admin().status(StatusRequest {}).await?.into_inner().model.is_none() {
        let needs_vectors =
            [RankingVariant::Vector, RankingVariant::Hybrid, RankingVariant::WithoutVectors];
        variants.retain(|variant| !needs_vectors.contains(variant));
    }
    Ok(variants)
}
