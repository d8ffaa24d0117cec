//! Field names at the start of error messages, replaced by those of a user interface.

use std::borrow::Cow;

/// Returns `message` with the field at its start renamed, or the field that contains it.
///
/// `renamed` holds pairs of the name in the contract and its replacement, longer names first.
#[must_use]
pub fn rename_field<'a>(message: &'a str, renamed: &[(&str, &str)]) -> Cow<'a, str> {
    let Some(field) = message.strip_prefix('`') else { return message.into() };
    let rest = |(contract_name, name): &(&str, &str)| {
        let rest = field.strip_prefix(contract_name)?;
        rest.starts_with(['`', '.', '[']).then(|| format!("`{name}{rest}"))
    };
    renamed.iter().find_map(rest).map_or(message.into(), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_is_replaced_by_its_argument() {
        let renamed = [("resume_token", "resume"), ("focus", "around")];
        for (message, expected) in [
            ("`resume_token`: is invalid", "`resume`: is invalid"),
            ("`focus.note`: must not be empty", "`around.note`: must not be empty"),
            ("`focussed`: is invalid", "`focussed`: is invalid"),
            ("no note is named `focus`", "no note is named `focus`"),
        ] {
            assert_eq!(rename_field(message, &renamed), expected);
        }
    }
}
