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
    /// Everything, with the best hits reranked.
    Rerank,
    /// Everything except reranking.
    WithoutRerank,
}

impl RankingVariant {
    pub(super) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    pub(super) fn request(self) -> SearchRequest {
        let mut request = SearchRequest::default();
        let mut disabled_signals = DisabledSignals::default();
        // A variant that names its parts has only these, whatever is configured.
        let names_parts =
            matches!(self, Self::Keyword | Self::Vector | Self::Hybrid | Self::NoGraph);
        request.rerank = names_parts.then_some(false);
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
            Self::Rerank => request.rerank = Some(true),
            Self::WithoutRerank => request.rerank = Some(false),
        }
        SearchRequest { disabled_signals: Some(disabled_signals), ..request }
    }
}

/// Returns all variants that the models in use allow: those of vectors need an embedding model, and those of reranking a reranker.
pub(super) async fn default_variants(client: &Client) -> Result<Vec<RankingVariant>, Failure> {
    let mut variants = RankingVariant::value_variants().to_vec();
    let status = client.admin().status(StatusRequest {}).await?.into_inner();
    // With a reranker, the first variant reranks already.
    let n_rerank = if status.reranker.is_some() { 1 } else { 2 };
    let needs_reranker = [RankingVariant::Rerank, RankingVariant::WithoutRerank];
    variants.retain(|variant| !needs_reranker[..n_rerank].contains(variant));
    if status.model.is_none() {
        let needs_vectors =
            [RankingVariant::Vector, RankingVariant::Hybrid, RankingVariant::WithoutVectors];
        variants.retain(|variant| !needs_vectors.contains(variant));
    }
    Ok(variants)
}
