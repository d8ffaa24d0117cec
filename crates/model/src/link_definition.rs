//! Link reference definitions: lines that give links their addresses, and that no reader sees.

/// True if a line is a link reference definition, such as `[moss]: plants/moss.md "Moss"`. A footnote is not.
///
/// Definitions of several lines are not found. Source: CommonMark, "Link reference definitions".
#[must_use]
pub fn is_link_definition(line: &str) -> bool {
    const MAX_INDENTATION: usize = 3;
    let line = line.trim_end();
    let text = line.trim_start_matches(' ');
    let Some((label, rest)) = text.strip_prefix('[').and_then(|text| text.split_once("]:")) else {
        return false;
    };
    let is_label = !label.trim().is_empty() && !label.starts_with('^');
    if line.len() - text.len() > MAX_INDENTATION || !is_label || label.contains(['[', ']']) {
        return false;
    }
    let rest = rest.trim_start();
    let (address, title) = match rest.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        Some(parts) => parts,
        None => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
    };
    (!address.is_empty() || rest.starts_with('<')) && is_title(title.trim_start())
}

/// True for the title of a definition, and for none.
fn is_title(text: &str) -> bool {
    let closing = match text.chars().next() {
        None => return true,
        Some('(') => ')',
        Some(quote @ ('"' | '\'')) => quote,
        Some(_) => return false,
    };
    text.len() > 1 && text.ends_with(closing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_differ_from_text() {
        for (line, expected) in [
            ("[moss]: plants/moss.md", true),
            ("  [a moss]:\tplants/moss.md 'Moss' \r\n", true),
            ("[//begin]: # \"Links for other programs\"", true),
            ("[moss]: <a b.md> (Moss)", true),
            ("[moss]: <>", true),
            ("[moss]:", false),
            ("[moss]: grows in the shade", false),
            ("[moss]: a.md \"Moss", false),
            ("[^1]: note", false),
            ("[ ]: a.md", false),
            ("[a [b]]: c.md", false),
            ("    [moss]: a.md", false),
            ("- [moss]: a.md", false),
            ("see [moss]: a.md", false),
            ("[moss](a.md): b", false),
            ("", false),
        ] {
            assert_eq!(is_link_definition(line), expected, "{line:?}");
        }
    }
}
