//! Errors that begin with the field they are about, in the words of whoever filled it.

use std::borrow::Cow;

/// `said`, with the own name for a field of the contract, or for what it is a part of, at its beginning: `renamed` holds theirs and its own, the longer ones first.
#[must_use]
pub fn with_own_names<'a>(said: &'a str, renamed: &[(&str, &str)]) -> Cow<'a, str> {
    let Some(field) = said.strip_prefix('`') else { return said.into() };
    let rest = |(theirs, own): &(&str, &str)| {
        let rest = field.strip_prefix(theirs)?;
        rest.starts_with(['`', '.', '[']).then(|| format!("`{own}{rest}"))
    };
    renamed.iter().find_map(rest).map_or(said.into(), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_has_the_name_of_its_argument() {
        let renamed = [("resume_token", "resume"), ("focus", "around")];
        for (said, expected) in [
            ("`resume_token`: it is none", "`resume`: it is none"),
            ("`focus.note`: it is empty", "`around.note`: it is empty"),
            ("`focussed`: it is none", "`focussed`: it is none"),
            ("no note is named `focus`", "no note is named `focus`"),
        ] {
            assert_eq!(with_own_names(said, &renamed), expected);
        }
    }
}
