//! Maps fields of requests to the flags that set them.

use std::borrow::Cow;

use weft_proto::rename_field;

/// Fields and the flags that set them; if one field is a prefix of another, the longer one comes first.
const FLAGS: [(&str, &str); 64] = [
    ("as_of", "--as-of"),
    ("min_generation", "--min-generation"),
    ("filter.paths", "--path"),
    ("filter.tags", "--tag"),
    ("filter.types", "--note-type"),
    ("filter.kinds", "--kind"),
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
    ("max_values", "--limit"),
    ("budget", "--budget"),
    ("budget_chars", "--budget-chars"),
    ("total_budget", "--total-budget"),
    ("estimator", "--estimator"),
    ("rendering", "--rendering"),
    ("order", "--order"),
    ("resume_token", "--resume"),
    ("limits.bands.full", "--limits bands.full"),
    ("limits.bands.snippet", "--limits bands.snippet"),
    ("limits.bands.structural", "--limits bands.structural"),
    ("limits.bands", "--limits bands"),
    ("limits.per_note_share", "--limits per_note_share"),
    ("limits.block_chars", "--limits block_chars"),
    ("limits.structural_cap", "--limits structural_cap"),
    ("limits.outline_depth", "--limits outline_depth"),
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

/// Nested requests whose fields use the flags of the same request on its own.
const INNER: [&str; 2] = ["search", "walk"];

/// Replaces the field at the start of `message` by its flag.
pub(crate) fn in_flags(message: &str) -> Cow<'_, str> {
    let renamed = rename_field(message, &FLAGS);
    if renamed != message {
        return renamed;
    }
    let inner = INNER.iter().find_map(|outer| message.strip_prefix(&format!("`{outer}.")));
    let Some(field) = inner else { return renamed };
    let alone = format!("`{field}");
    match rename_field(&alone, &FLAGS) {
        Cow::Owned(renamed) => Cow::Owned(renamed),
        Cow::Borrowed(_) => message.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn error_names_the_flag() {
        for (message, expected) in [
            ("`page_size`: a page has at least 1 note", "`--limit`: a page has at least 1 note"),
            ("`filter.after`: `x` is not a date", "`--after`: `x` is not a date"),
            ("`walk.roots`: none", "`--walk`: none"),
            ("`walk.max_nodes`: 0", "`--max-nodes`: 0"),
            ("`search.limit`: 0", "`--limit`: 0"),
            ("`limits.bands.full`: 2", "`--limits bands.full`: 2"),
            ("`notes.score`: NaN", "`--note`: NaN"),
            ("`search.unknown`: of", "`search.unknown`: of"),
            ("`unknown`: of", "`unknown`: of"),
            ("no note is named `limit`", "no note is named `limit`"),
        ] {
            assert_eq!(in_flags(message), expected);
        }
    }

    #[test]
    fn mapped_flags_exist() {
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
