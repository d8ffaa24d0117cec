//! A line of text that is edited by keys.

use ratatui_crossterm::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_segmentation::UnicodeSegmentation as _;

/// Maximum length of the text in bytes, far above what a query means.
const MAX_BYTES: usize = 1000;

/// A line of text with a cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LineEditor {
    text: String,
    /// Byte of the text before which the cursor stands; a grapheme boundary.
    cursor: usize,
}

impl LineEditor {
    /// Creates a line with the cursor at its end.
    pub(super) fn new(text: &str) -> Self {
        let mut line = Self::default();
        line.insert(text);
        line
    }

    /// Returns the text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text before the cursor.
    pub(super) fn before_cursor(&self) -> &str {
        &self.text[..self.cursor]
    }

    /// Inserts a text at the cursor. Control characters become spaces, so that the text stays one line.
    pub(super) fn insert(&mut self, text: &str) {
        let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let room = MAX_BYTES.saturating_sub(self.text.len());
        let fits = clean.grapheme_indices(true).map(|(at, part)| at + part.len());
        let end = fits.take_while(|end| *end <= room).last().unwrap_or(0);
        self.text.insert_str(self.cursor, &clean[..end]);
        self.cursor += end;
    }

    /// Applies a key; returns true if the text changed, false if only the cursor moved, `None` if the key does not edit a line.
    #[expect(clippy::wildcard_enum_match_arm, reason = "all other keys are treated alike")]
    pub(super) fn apply(&mut self, key: KeyEvent) -> Option<bool> {
        let before = self.text.len();
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            KeyCode::Char(c) if !control && !alt => self.insert(c.encode_utf8(&mut [0; 4])),
            KeyCode::Backspace if alt || control => self.delete_from(self.word_start()),
            KeyCode::Char('w' | 'h') if control => self.delete_from(self.word_start()),
            KeyCode::Backspace => self.delete_from(self.previous()),
            KeyCode::Char('u') if control => self.delete_from(0),
            KeyCode::Char('k') if control => self.text.truncate(self.cursor),
            KeyCode::Delete => drop(self.text.drain(self.cursor..self.next())),
            KeyCode::Left if control || alt => self.cursor = self.word_start(),
            KeyCode::Right if control || alt => self.cursor = self.word_end(),
            KeyCode::Char('b') if alt => self.cursor = self.word_start(),
            KeyCode::Char('f') if alt => self.cursor = self.word_end(),
            KeyCode::Left => self.cursor = self.previous(),
            KeyCode::Right => self.cursor = self.next(),
            KeyCode::Char('a') if control => self.cursor = 0,
            KeyCode::Char('e') if control => self.cursor = self.text.len(),
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = self.text.len(),
            _ => return None,
        }
        Some(self.text.len() != before)
    }

    fn delete_from(&mut self, start: usize) {
        self.text.drain(start..self.cursor);
        self.cursor = start;
    }

    fn previous(&self) -> usize {
        self.before_cursor().grapheme_indices(true).next_back().map_or(0, |(at, _)| at)
    }

    fn next(&self) -> usize {
        let next = self.text[self.cursor..].graphemes(true).next();
        self.cursor + next.map_or(0, str::len)
    }

    /// Returns the start of the word before the cursor.
    fn word_start(&self) -> usize {
        let word = self.before_cursor().trim_end();
        word.rfind(char::is_whitespace)
            .map_or(0, |at| at + word[at..].chars().next().map_or(0, char::len_utf8))
    }

    /// Returns the end of the word after the cursor.
    fn word_end(&self) -> usize {
        let after = &self.text[self.cursor..];
        let word = after.trim_start();
        let skipped = after.len() - word.len();
        self.cursor + skipped + word.find(char::is_whitespace).unwrap_or(word.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(line: &mut LineEditor, code: KeyCode, modifiers: KeyModifiers) -> Option<bool> {
        line.apply(KeyEvent::new(code, modifiers))
    }

    #[test]
    fn keys_edit_the_line() {
        const NONE: KeyModifiers = KeyModifiers::NONE;
        const CONTROL: KeyModifiers = KeyModifiers::CONTROL;
        for (start, keys, expected) in [
            ("leap", &[(KeyCode::Char('s'), NONE)][..], "leaps|"),
            ("leap", &[(KeyCode::Left, NONE), (KeyCode::Char('x'), NONE)], "leax|p"),
            ("leap second", &[(KeyCode::Char('w'), CONTROL)], "leap |"),
            ("leap  ", &[(KeyCode::Char('w'), CONTROL)], "|"),
            ("leap second", &[(KeyCode::Char('u'), CONTROL)], "|"),
            ("leap second", &[(KeyCode::Left, CONTROL), (KeyCode::Char('k'), CONTROL)], "leap |"),
            ("a", &[(KeyCode::Home, NONE), (KeyCode::Delete, NONE)], "|"),
            ("a", &[(KeyCode::Delete, NONE), (KeyCode::Right, NONE)], "a|"),
            ("e\u{301}", &[(KeyCode::Backspace, NONE)], "|"),
            ("👩‍🌾x", &[(KeyCode::Left, NONE), (KeyCode::Left, NONE)], "|👩‍🌾x"),
            ("", &[(KeyCode::Backspace, NONE), (KeyCode::Char('w'), CONTROL)], "|"),
            ("日本 語", &[(KeyCode::Char('w'), CONTROL)], "日本 |"),
        ] {
            let mut line = LineEditor::new(start);
            for (code, modifiers) in keys {
                press(&mut line, *code, *modifiers);
            }
            let before = line.before_cursor().len();
            let shown = format!("{}|{}", line.before_cursor(), &line.text()[before..]);
            assert_eq!(shown, expected, "{start} {keys:?}");
        }
    }

    #[test]
    fn change_of_the_text_is_reported() {
        let mut line = LineEditor::new("a");
        assert_eq!(press(&mut line, KeyCode::Left, KeyModifiers::NONE), Some(false));
        assert_eq!(press(&mut line, KeyCode::Delete, KeyModifiers::NONE), Some(true));
        assert_eq!(press(&mut line, KeyCode::Enter, KeyModifiers::NONE), None);
        assert_eq!(press(&mut line, KeyCode::Char('t'), KeyModifiers::CONTROL), None);
    }

    #[test]
    fn pasted_text_stays_one_short_line() {
        let line = LineEditor::new("a\nb\u{1b}[31m");
        assert_eq!(line.text(), "a b [31m");
        let long = LineEditor::new(&"ä".repeat(MAX_BYTES));
        assert_eq!(long.text().len(), MAX_BYTES);
    }
}
