//! Notes whose words are most similar to those of a note.

use weft_index::Snapshot;
use weft_index::keyword::{NoteTerm, NoteWithTerm};
use weft_model::id::folder_of;
use weft_model::{NoteId, NoteMap, NoteSet, Stop};

use crate::EngineError;
use crate::analyzer_pool::AnalyzerPool;
use crate::best_first::best_first;

/// Maximum number of words of the note that are looked up, those with the most weight.
const MAX_WORDS: usize = 40;

/// Number of words whose notes are read at once.
const WORDS_AT_ONCE: usize = 8;

/// Number of notes above which a word is too frequent for the list of its notes to be read.
const MAX_NOTES_WITH_WORD: u32 = 2000;

/// Minimum number of words assumed for a note, so that a stub is not similar to every note that has its few words.
const MIN_WORDS: u32 = 20;

/// Returns up to `max_notes` other notes of `passing` that share the words of `note` with the most weight, most similar first, ties by uri.
///
/// The similarity estimates the cosine of the tf-idf weights `(1 + ln tf) · idf` of all words of both notes: only the 40 words of `note` with most weight are looked up, and the length of another note's vector is that of `note` times the square root of the ratio of their numbers of words. Words in more than a third of all notes, or in more than 2,000, do not count, nor do those of the folder's path. A past generation has no words, so the list is empty.
pub(crate) fn nearest_by_words(
    snapshot: &Snapshot,
    note: NoteId,
    passing: &NoteSet,
    max_notes: usize,
    (analyzers, stop): (&AnalyzerPool, &Stop),
) -> Result<Vec<(NoteId, f64)>, EngineError> {
    let keyword = &snapshot.keyword;
    let n_notes = u32::try_from(keyword.n_notes()).unwrap_or(u32::MAX);
    if !keyword.is_loaded() {
        return Ok(Vec::new());
    }
    let words = keyword.rare_terms(note, MAX_NOTES_WITH_WORD.min(n_notes / 3))?;
    let weight =
        |frequency: u32, n_notes: u32| (1.0 + f64::from(frequency).ln()) * keyword.idf(n_notes);
    let root_of_words = |length: u32| f64::from(length.max(MIN_WORDS)).sqrt();
    let of_folder = folder_words(snapshot, note, analyzers)?;
    let in_text = words.into_iter().filter(|word| !of_folder.contains(&word.term));
    let mut words: Vec<(f64, NoteTerm)> =
        in_text.map(|word| (weight(word.frequency, word.n_notes), word)).collect();
    let own = words.iter().map(|(weight, _)| weight * weight).sum::<f64>()
        / root_of_words(keyword.lengths(&[note])[0]);
    // Stable: equal weights remain in the order of the words.
    words.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    words.truncate(MAX_WORDS);
    let mut products: NoteMap<(f64, u32)> = NoteMap::default();
    for words in words.chunks(WORDS_AT_ONCE) {
        stop.check()?;
        let terms: Vec<&str> = words.iter().map(|(_, word)| &*word.term).collect();
        for ((own_weight, word), notes) in words.iter().zip(keyword.notes_with(&terms)?) {
            for NoteWithTerm { note: other, frequency, length } in notes {
                let (product, _) = products.entry(other).or_insert((0.0, length));
                *product += own_weight * weight(frequency, word.n_notes);
            }
        }
    }
    let others =
        products.into_iter().filter(|(other, _)| *other != note && passing.contains(*other));
    let similarity = |(other, (product, length)): (NoteId, (f64, u32))| {
        ((product / root_of_words(length) / own).min(1.0), other, ())
    };
    let others = others.map(similarity).collect();
    let nearest = best_first(snapshot.notes.graph(), others, max_notes);
    Ok(nearest.into_iter().map(|(similarity, other, ())| (other, similarity)).collect())
}

/// Returns the words of the path of a note's folder: all its siblings have them, and links within the folder often show them.
fn folder_words(
    snapshot: &Snapshot,
    note: NoteId,
    analyzers: &AnalyzerPool,
) -> Result<Vec<String>, EngineError> {
    let entry = snapshot.notes.entry(note);
    let folder = entry.as_ref().map_or("", |entry| folder_of(entry.note.path.as_str()));
    let languages = snapshot.keyword.languages_of(&[note])?;
    let Some(language) = languages[0] else { return Ok(Vec::new()) };
    Ok(analyzers.with(|analyzer| analyzer.words(folder, language)))
}
