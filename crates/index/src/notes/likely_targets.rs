//! Likely targets: the notes that a broken link most likely means.

use weft_model::id::without_markdown_extension;
use weft_model::{NoteId, fold, similar_names};

use super::NoteTable;
use super::path_segments::last_segment;

/// Least similarity of a name: a link that needs more changes rather means a note that was never written.
const MIN_SIMILARITY: f64 = 0.85;

/// Least share of a name that remains if it is edited into the other: a longer name with the same beginning is another one.
const MIN_EDIT_SIMILARITY: f64 = 0.7;

/// Maximum number of bytes of a name that is compared: a longer one is not a misspelling.
const MAX_NAME_BYTES: usize = 200;

/// Maximum number of likely targets of one link.
const MAX_TARGETS: usize = 5;

/// The names of all notes, prepared for many look-ups.
#[derive(Debug)]
pub struct LikelyTargets<'t> {
    table: &'t NoteTable,
    names: Vec<ComparedName>,
}

/// A name with what rules out most comparisons.
#[derive(Debug)]
struct ComparedName {
    folded: String,
    n_chars: usize,
    /// One bit for each letter that occurs, by its code.
    letters: u64,
    digits: String,
    note: NoteId,
}

impl ComparedName {
    fn new(folded: String, note: NoteId) -> Self {
        let letters = folded.chars().fold(0, |bits, c| bits | 1 << (u32::from(c) % 64));
        let digits = folded.chars().filter(char::is_ascii_digit).collect();
        Self { n_chars: folded.chars().count(), folded, letters, digits, note }
    }

    /// Returns an upper bound of the similarity to another name.
    ///
    /// A letter that only one name has matches nothing. The Jaro similarity is at most a third of the shares that match plus one; a common prefix raises it by up to 0.4 of what is missing.
    #[expect(clippy::cast_precision_loss, reason = "a name has few letters")]
    fn bound(&self, other: &Self) -> f64 {
        let only = |a: &Self, b: &Self| (a.letters & !b.letters).count_ones() as usize;
        let most = |a: &Self, b: &Self| a.n_chars.saturating_sub(only(a, b));
        let matching = most(self, other).min(most(other, self)) as f64;
        let shares = matching / self.n_chars.max(1) as f64 + matching / other.n_chars.max(1) as f64;
        let jaro = (shares + 1.0) / 3.0;
        jaro + 0.4 * (1.0 - jaro)
    }
}

/// A note that a link may mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LikelyTarget {
    /// The note.
    pub note: NoteId,
    /// Similarity of its closest name to the link, at least 0.85; 1 if they are equal.
    pub similarity: f64,
    /// True if its file or title has the name of the link, in another folder or spelling.
    pub same_name: bool,
}

impl<'t> LikelyTargets<'t> {
    /// Reads the names of all notes. `O(names)`.
    #[must_use]
    pub fn of(table: &'t NoteTable) -> Self {
        let mut names: Vec<ComparedName> = Vec::new();
        let mut add = |folded: String, note| {
            if !folded.is_empty() && folded.len() <= MAX_NAME_BYTES {
                names.push(ComparedName::new(folded, note));
            }
        };
        for (id, summary) in table.summaries() {
            let path = without_markdown_extension(summary.path);
            add(comparable(last_segment(path)), id);
            add(comparable(summary.title), id);
        }
        table.link_names().for_each(|(name, id)| add(comparable(last_segment(name)), id));
        names.sort_by(|a, b| (&a.folded, a.note).cmp(&(&b.folded, b.note)));
        names.dedup_by(|a, b| a.folded == b.folded && a.note == b.note);
        Self { table, names }
    }

    /// Returns the notes that a link to the uri `target` most likely means, best first, ties by uri: of the vault that the uri names, or of all. `O(names)`.
    ///
    /// Compares the last segment of the target with file names, titles and aliases, ignoring case and whether words are separated by spaces, hyphens or underscores.
    #[must_use]
    pub fn find(&self, target: &str) -> Vec<LikelyTarget> {
        // Uris of a single vault do not name it.
        let named = self.table.cross_vault_target(target);
        let (vault, target) = named.map_or((None, target), |(vault, name)| (Some(vault), name));
        let wanted = comparable(last_segment(without_markdown_extension(target.trim())));
        if wanted.is_empty() || wanted.len() > MAX_NAME_BYTES {
            return Vec::new();
        }
        let wanted = ComparedName::new(wanted, NoteId::new(0));
        let mut found: Vec<LikelyTarget> = Vec::new();
        for name in &self.names {
            // Another number is another note: `eip-1559` is not a misspelling of `eip-1558`.
            if wanted.digits != name.digits || wanted.bound(name) < MIN_SIMILARITY {
                continue;
            }
            let similarity = similar_names::similarity(&wanted.folded, &name.folded);
            if similarity < MIN_SIMILARITY
                || similar_names::edit_similarity(&wanted.folded, &name.folded)
                    < MIN_EDIT_SIMILARITY
            {
                continue;
            }
            let is_elsewhere =
                |vault| self.table.summary(name.note).is_none_or(|it| it.vault != vault);
            if vault.is_some_and(is_elsewhere) {
                continue;
            }
            let same_name = wanted.folded == name.folded;
            match found.iter_mut().find(|known| known.note == name.note) {
                Some(known) => {
                    known.similarity = known.similarity.max(similarity);
                    known.same_name |= same_name;
                }
                None => found.push(LikelyTarget { note: name.note, similarity, same_name }),
            }
        }
        let uri = |target: &LikelyTarget| self.table.graph().uri(target.note);
        found
            .sort_by(|a, b| b.similarity.total_cmp(&a.similarity).then_with(|| uri(a).cmp(uri(b))));
        found.truncate(MAX_TARGETS);
        found
    }
}

/// Returns a name in the form in which names are compared: folded, with single spaces between words.
fn comparable(name: &str) -> String {
    let folded = fold(name);
    let words = folded.split(|c: char| c.is_whitespace() || c == '-' || c == '_' || c == '.');
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bound_is_never_below_the_similarity() {
        let names = [
            "a",
            "moss",
            "mosses",
            "sommer",
            "pendulum clock",
            "pendulm clock",
            "ümläut",
            "clock pendulum",
        ];
        for a in names {
            for b in names {
                let [x, y] = [a, b].map(|name| ComparedName::new(name.to_owned(), NoteId::new(0)));
                let similarity = similar_names::similarity(a, b);
                assert!(x.bound(&y) >= similarity, "{a} {b}: {} < {similarity}", x.bound(&y));
            }
        }
    }

    #[test]
    fn spellings_of_words_are_compared_as_one() {
        for name in ["Pendulum Clock", "pendulum-clock", "pendulum_clock", " Pendulum  clock"] {
            assert_eq!(comparable(name), "pendulum clock", "{name}");
        }
    }
}
