//! Styles, columns and line breaks of terminal output.

use anstyle::{AnsiColor, Effects, Style};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};
use weft_model::escape;

pub(super) const STRONG: Style = Style::new().effects(Effects::BOLD);
pub(super) const DIM: Style = Style::new().effects(Effects::DIMMED);
pub(super) const FAINT_TITLE: Style = AnsiColor::Cyan.on_default();
pub(super) const MATCH: Style = AnsiColor::Yellow.on_default().effects(Effects::BOLD);
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
pub(super) const NOTICE: Style = AnsiColor::Yellow.on_default();
pub(super) const BAD: Style = AnsiColor::Red.on_default().effects(Effects::BOLD);

/// Maximum columns of a line, and the default if the terminal width is unknown; longer lines are hard to read.
const MAX_COLUMNS: usize = 100;

/// Applies `style` to `text`.
pub(super) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Pads `text` with spaces to `columns`.
pub(super) fn padded(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(missing))
}

/// Returns the number of columns to use.
pub(super) fn columns() -> usize {
    let width = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    width.unwrap_or(MAX_COLUMNS).clamp(40, MAX_COLUMNS)
}

/// Returns the columns of the terminal; `None` if the output is not a terminal and lines need no wrapping.
pub(super) fn terminal_columns() -> Option<usize> {
    terminal_size::terminal_size().map(|_| columns())
}

/// Returns the columns that `text` occupies.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// Cuts `text` to `columns`, with an ellipsis if something is missing.
pub(super) fn fitted(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let kept = text.chars().take_while(|c| {
        let width = c.width().unwrap_or(0);
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    });
    kept.chain(['…']).collect()
}

/// Converts prose to one line. Inner spaces are kept, so that a printed path can be pasted.
pub(super) fn one_line(text: &str) -> String {
    let lines = text.split(['\n', '\r', '\t']).map(str::trim).filter(|line| !line.is_empty());
    harmless(&lines.collect::<Vec<_>>().join(" "))
}

/// Draws a bar of ten cells for a share in `0.0..=1.0`, with a resolution of an eighth of a cell.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the share is clamped, so the eighths are 0 to 80"
)]
pub(super) fn bar(share: f64) -> String {
    const PARTS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = (share.clamp(0.0, 1.0) * 80.0).round() as usize;
    let mut bar: String = "█".repeat(eighths / 8);
    if let part @ 1.. = eighths % 8 {
        bar.push(PARTS[part]);
    }
    padded(&bar, 10)
}

/// Cuts `text` to `columns`, with an ellipsis in the last column.
pub(super) fn shortened(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used < columns
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// Formats `n` with thousands separators.
pub(super) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats `n` bytes in the largest decimal unit that is not above it.
pub(super) fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = usize::from(unit > 0 && value < 10.0);
    format!("{value:.digits$} {}", UNITS[unit])
}

/// Formats `n` with the singular or plural noun.
pub(crate) fn counted(n: u64, one: &str, several: &str) -> String {
    format!("{} {}", grouped(n), if n == 1 { one } else { several })
}

/// Wraps characters into lines of at most `columns`, each after `indent`, and styles the marked ones.
///
/// Runs of white space become one space. Lines break at white space, and inside a word only if it is wider than a line, as in scripts without spaces.
pub(super) fn wrap(marked: &[(char, bool)], columns: usize, indent: &str) -> String {
    let room = columns.saturating_sub(indent.width()).max(10);
    let mut lines: Vec<Vec<(char, bool)>> = vec![Vec::new()];
    let mut used = 0;
    let words = marked.split(|(c, _)| c.is_whitespace()).filter(|word| !word.is_empty());
    for word in words {
        let width: usize = word.iter().map(|(c, _)| c.width().unwrap_or(0)).sum();
        if used > 0 && used + 1 + width > room {
            if width <= room {
                lines.push(Vec::new());
                used = 0;
            } else if let Some(line) = lines.last_mut() {
                line.push((' ', false));
                used += 1;
            }
        } else if used > 0
            && let Some(line) = lines.last_mut()
        {
            // A space between two marked words is marked too.
            let both = line.last().is_some_and(|(_, mark)| *mark) && word[0].1;
            line.push((' ', both));
            used += 1;
        }
        for &(c, mark) in word {
            let width = c.width().unwrap_or(0);
            if used + width > room {
                lines.push(Vec::new());
                used = 0;
            }
            if let Some(line) = lines.last_mut() {
                line.push((c, mark));
            }
            used += width;
        }
    }
    let mut out = String::new();
    for line in lines.iter().filter(|line| !line.is_empty()) {
        out.push_str(indent);
        for run in line.chunk_by(|a, b| a.1 == b.1) {
            let text: String =
                run.iter().map(|(c, _)| *c).filter(|c| !escape::is_hidden_in_text(*c)).collect();
            out.push_str(&if run[0].1 { paint(MATCH, &text) } else { text });
        }
        out.push('\n');
    }
    out
}

/// Wraps `text` with a hanging indent of `indent` columns; a single line if the output is not a terminal.
pub(super) fn hanging(text: &str, indent: usize) -> String {
    let Some(columns) = terminal_columns() else { return one_line(text) };
    let plain: Vec<(char, bool)> = text.chars().map(|c| (c, false)).collect();
    wrap(&plain, columns, &" ".repeat(indent)).trim().to_owned()
}

/// Converts a name, tag, key or type to one line whose control characters are visible.
pub(crate) fn harmless(text: &str) -> String {
    escape::one_line(text).into_owned()
}

/// Converts a text of several lines, whose control characters become visible.
pub(crate) fn harmless_lines(text: &str) -> String {
    escape::lines(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Vec<(char, bool)> {
        text.chars().map(|c| (c, false)).collect()
    }

    #[test]
    fn lines_break_between_words_and_inside_long_words() {
        for (text, expected) in [
            ("one two three four", "  one two\n  three four\n"),
            ("  spaces \n fold ", "  spaces\n  fold\n"),
            ("时间是什么呢谁知道", "  时间是什么\n  呢谁知道\n"),
            ("", ""),
        ] {
            assert_eq!(wrap(&plain(text), 12, "  "), expected, "{text}");
        }
    }

    #[test]
    fn marks_are_styled_and_control_characters_harmless() {
        let marked = [('a', true), ('b', true), ('\u{1b}', false), ('c', false)];
        assert_eq!(wrap(&marked, 40, ""), format!("{MATCH}ab{MATCH:#}c\n"));
        assert_eq!(harmless("a\u{1b}[31mb\n"), "a\\u{1b}[31mb\\n");
        assert_eq!(harmless_lines("a\u{1b}[31m\tb\n"), "a\\u{1b}[31m\tb\n");
    }

    #[test]
    fn cut_text_ends_in_ellipsis() {
        for (text, columns, expected) in [
            ("moss", 4, "moss"),
            ("mosses", 4, "mos…"),
            ("时间是什么", 5, "时间…"),
            ("时间", 1, "…"),
        ] {
            assert_eq!(fitted(text, columns), expected, "{text}");
            assert!(width(expected) <= columns, "{text}");
        }
        assert_eq!(one_line(" two\nlines\u{7} "), "two lines\\u{7}");
    }

    #[test]
    fn bars_and_counts_are_formatted() {
        assert_eq!(bar(1.0), "██████████");
        assert_eq!(bar(0.55), "█████▌    ");
        assert_eq!(bar(0.0), "          ");
        assert_eq!(counted(1_234_567, "note", "notes"), "1,234,567 notes");
        assert_eq!(counted(1, "note", "notes"), "1 note");
        for (text, columns, expected) in
            [("moss", 4, "moss"), ("mosses", 4, "mos…"), ("时间是", 4, "时…"), ("", 0, "")]
        {
            assert_eq!(shortened(text, columns), expected, "{text}");
        }
    }
}
