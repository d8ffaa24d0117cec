//! Ranking flags and their request.

use clap::{Args, ValueEnum};
use weft_proto::noteweft::v1::{DisabledSignals, Profile, SearchRequest, Weights};

/// Ranking flags.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Ranking")]
pub(crate) struct RankingArgs {
    /// Formulas of the signals [default: the setting search.profile].
    #[arg(long, value_enum)]
    pub(crate) profile: Option<RankingProfile>,
    /// Weights of similarity, centrality and activation, such as 0.6,0.2,0.2; only proportions matter.
    #[arg(long, value_name = "S,C,A", value_parser = weights)]
    pub(crate) weights: Option<Weights>,
    /// Rank by similarity alone, without links and shared words.
    #[arg(long)]
    pub(crate) no_graph: bool,
    /// Disable a part of the ranking, to see its effect; repeatable.
    #[arg(long, value_enum, value_name = "PART", value_delimiter = ',')]
    pub(crate) disable: Vec<RankingPart>,
    /// Let a term that occurs in no note match terms at edit distance 1.
    #[arg(long, overrides_with = "no_typo_tolerance")]
    pub(crate) typo_tolerance: bool,
    /// Match every term as typed, even if the settings enable typo tolerance.
    #[arg(long, overrides_with = "typo_tolerance")]
    pub(crate) no_typo_tolerance: bool,
    /// Let the reranker judge the best hits again [default: if one is configured].
    #[arg(long, overrides_with = "no_rerank")]
    pub(crate) rerank: bool,
    /// Do not rerank the hits.
    #[arg(long, overrides_with = "rerank")]
    pub(crate) no_rerank: bool,
}

impl RankingArgs {
    /// Returns the first of these flags that is given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let Self {
            profile,
            weights,
            no_graph,
            disable,
            typo_tolerance,
            no_typo_tolerance,
            rerank,
            no_rerank,
        } = self;
        let flags = [
            ("--profile", profile.is_some()),
            ("--weights", weights.is_some()),
            ("--no-graph", *no_graph),
            ("--disable", !disable.is_empty()),
            ("--typo-tolerance", *typo_tolerance),
            ("--no-typo-tolerance", *no_typo_tolerance),
            ("--rerank", *rerank),
            ("--no-rerank", *no_rerank),
        ];
        flags.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag))
    }
}

impl From<RankingArgs> for SearchRequest {
    /// Builds a request without a query that ranks as these flags say.
    fn from(args: RankingArgs) -> Self {
        let RankingArgs {
            profile,
            weights,
            no_graph,
            disable,
            typo_tolerance,
            no_typo_tolerance,
            rerank,
            no_rerank,
        } = args;
        let profile = match profile {
            None => Profile::Unspecified,
            Some(RankingProfile::Bridge) => Profile::Bridge,
            Some(RankingProfile::Classic) => Profile::Classic,
        };
        Self {
            profile: profile.into(),
            weights,
            no_graph,
            disabled_signals: Some(DisabledSignals {
                names: disable.contains(&RankingPart::Names),
                links: disable.contains(&RankingPart::Links),
                shared_words: disable.contains(&RankingPart::SharedWords),
                similarity: disable.contains(&RankingPart::Similarity),
                centrality: disable.contains(&RankingPart::Centrality),
                activation: disable.contains(&RankingPart::Activation),
            }),
            typo_tolerance: (typo_tolerance || no_typo_tolerance).then_some(typo_tolerance),
            rerank: (rerank || no_rerank).then_some(rerank),
            ..Self::default()
        }
    }
}

/// Formulas of the signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RankingProfile {
    /// A connection raises a note towards a better hit.
    Bridge,
    /// Linked hits activate each other.
    Classic,
}

/// A part of the ranking that can be disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RankingPart {
    /// Notes named in the query.
    Names,
    /// Links and topics.
    Links,
    /// Rare words that notes share.
    SharedWords,
    /// Similarity of the note's own text and name.
    Similarity,
    /// Number of connections of the note.
    Centrality,
    /// Contribution of connections to better hits.
    Activation,
}

fn weights(text: &str) -> Result<Weights, String> {
    let numbers: Vec<f64> = text
        .split(',')
        .map(|number| number.trim().parse().map_err(|_| format!("`{number}` is not a number")))
        .collect::<Result<_, _>>()?;
    let [similarity, centrality, activation] = numbers[..] else {
        return Err("expected three numbers such as 0.6,0.2,0.2".to_owned());
    };
    Ok(Weights { similarity, centrality, activation })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A command with only these flags.
    #[derive(clap::Parser)]
    struct Alone {
        #[command(flatten)]
        ranking: RankingArgs,
    }

    #[test]
    fn last_flag_of_a_switch_wins() {
        let request = |flags: &[&str]| {
            let Alone { ranking } = clap::Parser::parse_from([&["weft"], flags].concat());
            SearchRequest::from(ranking)
        };
        let cases: [(&[&str], Option<bool>); 4] = [
            (&[], None),
            (&["--typo-tolerance"], Some(true)),
            (&["--no-typo-tolerance"], Some(false)),
            (&["--no-typo-tolerance", "--typo-tolerance"], Some(true)),
        ];
        for (flags, expected) in cases {
            assert_eq!(request(flags).typo_tolerance, expected, "{flags:?}");
        }
        let cases: [(&[&str], Option<bool>); 4] = [
            (&[], None),
            (&["--rerank"], Some(true)),
            (&["--no-rerank"], Some(false)),
            (&["--rerank", "--no-rerank"], Some(false)),
        ];
        for (flags, expected) in cases {
            assert_eq!(request(flags).rerank, expected, "{flags:?}");
        }
    }

    #[test]
    fn weights_are_three_numbers() {
        let read = |text| weights(text).map(|w| [w.similarity, w.centrality, w.activation]);
        assert_eq!(read("0.6, 0.2,0.2"), Ok([0.6, 0.2, 0.2]));
        for wrong in ["0.6,0.4", "1,2,3,4", "a,b,c", ""] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
