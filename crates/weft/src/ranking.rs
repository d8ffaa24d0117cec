//! How a search ranks: flags to a request.

use clap::{Args, ValueEnum};
use weft_proto::noteweft::v1::{Profile, SearchRequest, Weights, Without};

/// How hits are ranked.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Ranking")]
pub(crate) struct RankingArgs {
    /// What the signals are made of, instead of what is configured.
    #[arg(long, value_enum)]
    pub(crate) profile: Option<RankingProfile>,
    /// What similarity, centrality and activation count, such as 0.6,0.2,0.2; only proportions matter.
    #[arg(long, value_name = "S,C,A", value_parser = weights)]
    pub(crate) weights: Option<Weights>,
    /// Rank by similarity alone, without links and shared words.
    #[arg(long)]
    pub(crate) no_graph: bool,
    /// Leave out a part of the ranking, to see what it is worth; may be given several times.
    #[arg(long, value_enum, value_name = "PART", value_delimiter = ',')]
    pub(crate) without: Vec<RankingPart>,
    /// Let a word that no note holds stand for words one letter away.
    #[arg(long, overrides_with = "no_typos")]
    pub(crate) typos: bool,
    /// Take every word as typed, where the settings let others stand for it.
    #[arg(long, overrides_with = "typos")]
    pub(crate) no_typos: bool,
}

impl RankingArgs {
    /// The first of these flags that is given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let Self { profile, weights, no_graph, without, typos, no_typos } = self;
        let flags = [
            ("--profile", profile.is_some()),
            ("--weights", weights.is_some()),
            ("--no-graph", *no_graph),
            ("--without", !without.is_empty()),
            ("--typos", *typos),
            ("--no-typos", *no_typos),
        ];
        flags.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag))
    }
}

impl From<RankingArgs> for SearchRequest {
    /// A request for nothing yet, ranked so.
    fn from(args: RankingArgs) -> Self {
        let RankingArgs { profile, weights, no_graph, without, typos, no_typos } = args;
        let profile = match profile {
            None => Profile::Unspecified,
            Some(RankingProfile::Bridge) => Profile::Bridge,
            Some(RankingProfile::Classic) => Profile::Classic,
        };
        Self {
            profile: profile.into(),
            weights,
            no_graph,
            without: Some(Without {
                names: without.contains(&RankingPart::Names),
                links: without.contains(&RankingPart::Links),
                shared_words: without.contains(&RankingPart::SharedWords),
                similarity: without.contains(&RankingPart::Similarity),
                centrality: without.contains(&RankingPart::Centrality),
                activation: without.contains(&RankingPart::Activation),
            }),
            typos: (typos || no_typos).then_some(typos),
            ..Self::default()
        }
    }
}

/// What the signals are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RankingProfile {
    /// A connection lifts a note towards a better hit.
    Bridge,
    /// Linked hits activate each other.
    Classic,
}

/// A part of the ranking that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RankingPart {
    /// Notes that the query calls by name.
    Names,
    /// Links and topics.
    Links,
    /// Rare words that notes share.
    SharedWords,
    /// What a note's own text and name answer.
    Similarity,
    /// How connected a note is.
    Centrality,
    /// What connections to better hits add.
    Activation,
}

fn weights(text: &str) -> Result<Weights, String> {
    let numbers: Vec<f64> = text
        .split(',')
        .map(|number| number.trim().parse().map_err(|_| format!("`{number}` is no number")))
        .collect::<Result<_, _>>()?;
    let [similarity, centrality, activation] = numbers[..] else {
        return Err("it is not three numbers such as 0.6,0.2,0.2".to_owned());
    };
    Ok(Weights { similarity, centrality, activation })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A command with nothing but these flags.
    #[derive(clap::Parser)]
    struct Alone {
        #[command(flatten)]
        ranking: RankingArgs,
    }

    #[test]
    fn the_last_word_on_typos_counts() {
        let cases: [(&[&str], Option<bool>); 4] = [
            (&[], None),
            (&["--typos"], Some(true)),
            (&["--no-typos"], Some(false)),
            (&["--no-typos", "--typos"], Some(true)),
        ];
        for (flags, expected) in cases {
            let Alone { ranking } = clap::Parser::parse_from([&["weft"], flags].concat());
            assert_eq!(SearchRequest::from(ranking).typos, expected, "{flags:?}");
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
