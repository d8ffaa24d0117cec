//! Fields of the contract by the flags that fill them.

use std::borrow::Cow;

use weft_proto::with_own_names;

/// Fields and what fills them, the longer ones first where one begins another.
const FLAGS: [(&str, &str); 62] = [
    ("as_of", "--as-of"),
    ("min_generation", "--min-generation"),
    ("filter.paths", "--path"),
    ("filter.tags", "--tag"),
    ("filter.types", "--note-type"),
    ("filter.properties", "--where"),
    ("filter.after", "--after"),
    ("filter.before", "--before"),
    ("filter.linked_to", "--linked-to"),
    ("filter.linked_from", "--linked-from"),
    ("filter.within.hops", "--within"),
    ("filter.within.note", "--within"),
    ("filter.excluded", "--exclude"),
    ("query", "QUERY"),
    ("limit", "--limit"),
    ("mode", "--mode"),
    ("profile", "--profile"),
    ("weights", "--weights"),
    ("snippets", "--snippets"),
    ("page_size", "--limit"),
    ("page_token", "--page-token"),
    ("max_links", "--max-links"),
    ("budget", "--budget"),
    ("budget_chars", "--budget-chars"),
    ("window", "--window"),
    ("estimator", "--estimator"),
    ("rendering", "--rendering"),
    ("order", "--order"),
    ("resume_token", "--resume"),
    ("limits.bands.full", "--with bands.full"),
    ("limits.bands.snippet", "--with bands.snippet"),
    ("limits.bands.structural", "--with bands.structural"),
    ("limits.bands", "--with bands"),
    ("limits.soft_ratio", "--with soft_ratio"),
    ("limits.block_chars", "--with block_chars"),
    ("limits.structural_cap", "--with structural_cap"),
    ("limits.outline_depth", "--with outline_depth"),
    ("focus.note", "--focus"),
    ("focus", "NOTE"),
    ("notes.name", "--note"),
    ("notes.score", "--note"),
    ("notes", "NOTE"),
    ("note", "NOTE"),
    ("name", "NOTE"),
    ("walk.roots", "--walk"),
    ("roots", "NOTE"),
    ("from", "FROM"),
    ("to", "TO"),
    ("target", "TARGET"),
    ("direction", "--direction"),
    ("edges.types", "--types"),
    ("edges.exclude_types", "--exclude-types"),
    ("edges.typed_only", "--typed-only"),
    ("max_hops", "--max-hops"),
    ("max_nodes", "--max-nodes"),
    ("max_edges", "--max-edges"),
    ("max_length", "--max-length"),
    ("max_cycles", "--max-cycles"),
    ("path", "PATH"),
    ("vault", "--into"),
    ("expected_hash", "--expect"),
    ("body", "--body"),
];

/// Requests within others, of whose fields the flags are those of a request alone.
const INNER: [&str; 2] = ["search", "walk"];

/// `said`, with the flag for the field that it begins with.
pub(crate) fn in_flags(said: &str) -> Cow<'_, str> {
    let renamed = with_own_names(said, &FLAGS);
    if renamed != said {
        return renamed;
    }
    let inner = INNER.iter().find_map(|outer| said.strip_prefix(&format!("`{outer}.")));
    let Some(field) = inner else { return renamed };
    let alone = format!("`{field}");
    match with_own_names(&alone, &FLAGS) {
        Cow::Owned(renamed) => Cow::Owned(renamed),
        Cow::Borrowed(_) => said.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn an_error_names_the_flag() {
        for (said, expected) in [
            ("`page_size`: a page has at least 1 note", "`--limit`: a page has at least 1 note"),
            ("`filter.after`: `x` is no date", "`--after`: `x` is no date"),
            ("`walk.roots`: none", "`--walk`: none"),
            ("`walk.max_nodes`: 0", "`--max-nodes`: 0"),
            ("`search.limit`: 0", "`--limit`: 0"),
            ("`limits.bands.full`: 2", "`--with bands.full`: 2"),
            ("`notes.score`: NaN", "`--note`: NaN"),
            ("`search.unheard`: of", "`search.unheard`: of"),
            ("`unheard`: of", "`unheard`: of"),
            ("no note is named `limit`", "no note is named `limit`"),
        ] {
            assert_eq!(in_flags(said), expected);
        }
    }

    #[test]
    fn each_flag_is_one() {
        let root = Cli::command();
        let flags: HashSet<String> = root
            .get_subcommands()
            .chain([&root])
            .flat_map(|command| command.get_arguments())
            .filter_map(|argument| Some(format!("--{}", argument.get_long()?)))
            .collect();
        for (field, flag) in FLAGS {
            let flag = flag.split(' ').next().unwrap_or_default();
            assert!(!flag.starts_with("--") || flags.contains(flag), "{field}: {flag}");
        }
    }
}
