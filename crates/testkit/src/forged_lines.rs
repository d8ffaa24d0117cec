//! Notes whose names and metadata try to forge lines of output, and a check that none does.

use crate::Random;

/// Text that begins a forged line.
pub const FORGED: &str = "FORGED";

/// Characters that end a line for some reader.
const LINE_ENDS: [char; 7] = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];

/// Characters that hide text or change its order.
const MARKS: [char; 6] = ['\u{1b}', '\u{202e}', '\u{2066}', '\u{200f}', '\u{7f}', '\u{9b}'];

/// Returns `n` notes, as file names and texts, that are linked in a ring. Their file names, titles, aliases, tags, types, property names and link types contain line ends followed by [`FORGED`].
#[must_use]
pub fn notes(random: &mut Random, n: usize) -> Vec<(String, String)> {
    let mut forged = |kind: &str| {
        let n_ends = 1 + random.below(2);
        let ends: String = (0..n_ends).map(|_| LINE_ENDS[random.below(LINE_ENDS.len())]).collect();
        format!("{kind} {}{ends}{FORGED}", MARKS[random.below(MARKS.len())])
    };
    let names: Vec<String> = (0..n).map(|at| forged(&format!("file {at}")) + ".md").collect();
    let note = |at: usize, forged: &mut dyn FnMut(&str) -> String| {
        let mut text = String::from("---\n");
        let link = format!("[[alias {}]]", (at + 1) % n);
        for (key, value) in [
            ("title".to_owned(), forged("title")),
            ("type".to_owned(), forged("type")),
            (forged("key"), forged("value")),
            (forged("link type"), link.clone()),
        ] {
            text += &format!("{}: {}\n", quoted(&key), quoted(&value));
        }
        let aliases = [format!("alias {at}"), forged("alias")].map(|alias| quoted(&alias));
        let tags = [forged("tag"), forged("tag")].map(|tag| quoted(&tag));
        text += &format!("aliases: [{}]\ntags: [{}]\n---\n", aliases.join(", "), tags.join(", "));
        text + &format!("# Heading\n\na word, see {link}\n")
    };
    let texts: Vec<String> = (0..n).map(|at| note(at, &mut forged)).collect();
    names.into_iter().zip(texts).collect()
}

/// Returns the text of a note that tries to end the fence around it, and to forge lines after it.
#[must_use]
pub fn body(random: &mut Random) -> String {
    let mut text = String::from("# word\n");
    for _ in 0..4 {
        let fence = "`".repeat(3 + random.below(4));
        let end = LINE_ENDS[random.below(LINE_ENDS.len())];
        // U+200F is written in Hebrew and Arabic texts.
        let mark = Some(MARKS[random.below(MARKS.len())]).filter(|mark| *mark != '\u{200f}');
        let mark = mark.map_or_else(String::new, String::from);
        text += &format!("{fence}\n{FORGED} word {mark}{end}{FORGED}\n## word {end}{FORGED}\n\n");
    }
    text
}

/// Quotes text for YAML, with an escape for every character that could end a line.
fn quoted(text: &str) -> String {
    let escaped = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_ascii_graphic() || c == ' ' => c.to_string(),
        c => format!("\\u{:04x}", u32::from(c)),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

/// Returns the lines of `output` outside code fences that begin with [`FORGED`] or contain a mark that changes how the line is shown.
#[must_use]
pub fn forged_lines(output: &str) -> Vec<&str> {
    let mut fence: Option<&str> = None;
    let mut forged = Vec::new();
    for line in output.split(LINE_ENDS) {
        let ticks = &line[..line.len() - line.trim_start_matches('`').len()];
        match fence {
            Some(open) if line == open => fence = None,
            Some(_) => {}
            None if ticks.len() >= "```".len() => fence = Some(ticks),
            None if line.trim_start().starts_with(FORGED) || line.contains(MARKS) => {
                forged.push(line);
            }
            None => {}
        }
    }
    forged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forged_lines_are_those_outside_of_fences() {
        for (output, n) in [
            ("a FORGED", 0),
            ("FORGED", 1),
            ("a\u{2028} FORGED\rFORGED", 2),
            ("a\u{202e}b", 1),
            ("```\nFORGED\n```\nFORGED", 1),
            ("````markdown\n```\nFORGED\n````\n", 0),
        ] {
            assert_eq!(forged_lines(output).len(), n, "{output:?}");
        }
        let notes = notes(&mut Random::new(1), 3);
        assert!(notes.iter().all(|(name, _)| !forged_lines(name).is_empty()));
        assert!(notes.iter().all(|(_, text)| forged_lines(text).is_empty()), "it is escaped");
        assert!((1..9).any(|seed| {
            !forged_lines(&format!("```\n{}```\n", body(&mut Random::new(seed)))).is_empty()
        }));
    }
}
