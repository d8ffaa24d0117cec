//! The share of a vault's text that is not English, by which the bundled model is chosen.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use weft_index::Snapshot;
use weft_index::keyword::is_english;
use weft_model::NoteKind;

use crate::parse::ParseOptions;
use crate::scan::{self, ScanArea, ScanOptions, ScannedFile};
use crate::{VaultSettings, nesting_limit, parse};

/// Maximum number of notes that are read, evenly spaced in the order of paths; the share of any part of a vault is off by two points at most in nineteen of twenty vaults.
const SAMPLE: usize = 2048;

/// Maximum number of bytes of a note that are read: prose does not change its language often.
const SAMPLE_BYTES: usize = 16 * 1024;

/// How much of some notes is not in English, weighted by letters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LanguageShare {
    n_letters: u64,
    n_foreign: u64,
}

impl LanguageShare {
    /// Reads a sample of the notes in `vaults`. Files that cannot be read are left out: the scan that follows reports them.
    pub(crate) fn of_vaults(
        vaults: &[VaultSettings],
        scan: &ScanOptions,
        parse: &ParseOptions,
    ) -> Self {
        let mut files = Vec::new();
        for VaultSettings { root, name: _ } in vaults {
            let found = scan::scan(root, scan, &ScanArea::WHOLE).map(|scanned| scanned.found);
            // The text of PDF files takes too long to extract for a sample.
            let found = found.unwrap_or_default().into_iter();
            let found = found.filter(|file| file.path.kind() != NoteKind::Pdf);
            files.extend(found.map(|file| (root, file)));
        }
        let mut share = Self::default();
        for (root, ScannedFile { file, path, .. }) in spaced(files) {
            let Ok(bytes) = scan::read(root, &file, scan.max_file_bytes) else { continue };
            let (note, _) = parse::parse(&path, &bytes, parse);
            if !parse::is_excluded(&note) {
                share.add(&note.body);
            }
        }
        share
    }

    /// Reads a sample of the notes of a snapshot.
    pub(crate) fn of_snapshot(snapshot: &Snapshot) -> Self {
        let mut share = Self::default();
        for (_, entry) in spaced(snapshot.notes.by_path().collect()) {
            share.add(&entry.body);
        }
        share
    }

    fn add(&mut self, markdown: &str) {
        let text = prose(&markdown[..markdown.floor_char_boundary(SAMPLE_BYTES)]);
        let n_letters = text.chars().filter(|c| c.is_alphabetic()).count() as u64;
        self.n_letters += n_letters;
        if !is_english(&text) {
            self.n_foreign += n_letters;
        }
    }

    /// Returns the share that is not in English, in `0.0..=1.0`; `None` without any letters.
    #[expect(clippy::cast_precision_loss, reason = "a share needs few digits")]
    pub(crate) fn not_english(self) -> Option<f64> {
        (self.n_letters > 0).then(|| self.n_foreign as f64 / self.n_letters as f64)
    }
}

/// Returns at most [`SAMPLE`] of `all`, evenly spaced.
fn spaced<T>(all: Vec<T>) -> impl Iterator<Item = T> {
    let step = all.len().div_ceil(SAMPLE).max(1);
    all.into_iter().step_by(step)
}

/// Returns the words of a Markdown text as written by a person: without code, mathematics, HTML, addresses and tags.
fn prose(markdown: &str) -> String {
    let markdown = nesting_limit::bounded(markdown);
    let mut text = String::with_capacity(markdown.len());
    let mut n_code_blocks = 0_u32;
    for event in Parser::new_ext(&markdown, Options::ENABLE_WIKILINKS | Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => n_code_blocks += 1,
            Event::End(TagEnd::CodeBlock) => n_code_blocks = n_code_blocks.saturating_sub(1),
            Event::Text(words) if n_code_blocks == 0 => {
                for word in words.split_whitespace().filter(|word| !is_mark(word)) {
                    text.push_str(word);
                    text.push(' ');
                }
            }
            Event::Start(_)
            | Event::End(_)
            | Event::Text(_)
            | Event::Code(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::Html(_)
            | Event::InlineHtml(_)
            | Event::FootnoteReference(_)
            | Event::SoftBreak
            | Event::HardBreak
            | Event::Rule
            | Event::TaskListMarker(_) => {}
        }
    }
    text
}

/// Returns true for a tag or an address.
fn is_mark(word: &str) -> bool {
    word.starts_with('#') || word.contains("://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_text_without_code_tags_and_addresses() {
        let text = prose(
            "# Farne #garten\n\nWo [sie](https://example.org) wachsen: `let x` und [[Moos|im Moos]], https://example.org.\n\n```\nthe code of the loop\n```\n",
        );
        assert_eq!(
            text.split_whitespace().collect::<Vec<_>>().join(" "),
            "Farne Wo sie wachsen: und im Moos ,"
        );
    }

    #[test]
    fn share_is_weighted_by_letters() {
        let english = "The ferns that grow in the shade of the wall were there before we came. ";
        let german = "Die Farne, die im Schatten der Mauer wachsen, waren schon vor uns da. ";
        let of = |notes: &[(&str, usize)]| {
            let mut share = LanguageShare::default();
            for (text, n) in notes {
                share.add(&text.repeat(*n));
            }
            share
        };
        assert_eq!((of(&[]).not_english(), of(&[("1234", 3)]).not_english()), (None, None));
        assert!(of(&[(english, 4)]).not_english().unwrap() < f64::EPSILON);
        let mixed = of(&[(english, 9), (german, 1)]).not_english().unwrap();
        assert!((0.08..0.12).contains(&mixed), "{mixed}");
        let code = of(&[(english, 1), (&format!("```\n{}\n```\n", german.repeat(50)), 1)]);
        assert!(code.not_english().unwrap() < f64::EPSILON);
    }
}
