//! Shared parts of the benches: a seeded corpus, and clocks.
//!
//! Ids have the form `stage/operation/n_notes`. Each bench checks its result once before it measures.
//!
//! ```text
//! cargo xtask bench                        all of them
//! cargo xtask bench -- graph               one stage
//! cargo xtask bench -- graph/edit          one operation
//! cargo xtask bench -- graph/edit/20000    of one size
//! ```
#![forbid(unsafe_code)]

pub mod clock;
pub mod vault;

use std::sync::Arc;

use weft_graph::{NodeSpec, NoteGraph};
use weft_model::{LinkSource, NoteId};
use weft_testkit::Random;

/// Sizes of the corpora, smallest first.
pub const SIZES: [usize; 4] = [1_000, 10_000, 20_000, 100_000];

/// Number of links of a note.
const LINKS_PER_NOTE: usize = 6;

/// Number of children of a note in a corpus's hierarchy.
const CHILDREN_PER_NOTE: usize = 8;

/// Number of distinct words of a corpus. The first are the most frequent: each of the first ten is in most notes.
const VOCABULARY: usize = 20_000;

/// Flatness of the word frequencies: Mandelbrot's constant for English.
const WORD_FLATNESS: f64 = 2.7;

/// Flatness of the in-degrees: the first note has links from every fortieth note.
const LINK_FLATNESS: f64 = 30.0;

/// Returns the name of the benches to run: a stage, an operation, or one size of it; `None` for all.
///
/// It is the first argument that neither is an option nor follows one, whose value it may be.
#[must_use]
pub fn selected_bench() -> Option<String> {
    let arguments: Vec<String> = std::env::args().collect();
    let is_option = |argument: &str| argument.starts_with('-');
    let has_value = |option: &str| is_option(option) && option != "--bench";
    let mut pairs = arguments.windows(2);
    let named = pairs.find(|pair| !has_value(&pair[0]) && !is_option(&pair[1]));
    named.map(|pair| pair[1].clone())
}

/// Returns the sizes of `all` to measure: the one named by the argument, or all; only the smallest if nothing is measured.
#[must_use]
pub fn sizes(all: &[usize]) -> Vec<usize> {
    if !is_measured() {
        return all[..1].to_vec();
    }
    let named = selected_bench().and_then(|name| name.rsplit_once('/')?.1.parse().ok());
    named.filter(|size| all.contains(size)).map_or(all.to_vec(), |size| vec![size])
}

/// Returns true if the benches are measured instead of tested.
#[must_use]
pub fn is_measured() -> bool {
    std::env::args().any(|argument| argument == "--bench")
}

/// Returns the id of the note at `position`.
///
/// # Panics
///
/// Panics if a corpus had 2³² notes.
#[must_use]
pub fn note(position: usize) -> NoteId {
    NoteId::new(u32::try_from(position).expect("a corpus has fewer than 2^32 notes"))
}

/// Returns the nodes of a corpus: a hierarchy, and links with a skewed distribution of in-degrees.
pub fn nodes(n_notes: usize) -> impl Iterator<Item = (NoteId, NodeSpec)> {
    linked(n_notes, LINKS_PER_NOTE)
}

/// Returns the nodes of a corpus with `n_links` links per note.
fn linked(n_notes: usize, n_links: usize) -> impl Iterator<Item = (NoteId, NodeSpec)> {
    let mut random = Random::new(7);
    let kinds: [(Arc<str>, LinkSource); 2] =
        [("related".into(), LinkSource::Inline), ("supports".into(), LinkSource::Typed)];
    (0..n_notes).map(move |at| {
        let links = (0..n_links).map(|link| {
            let (kind, source) = kinds[usize::from(link == 0)].clone();
            (note(skewed(&mut random, n_notes, LINK_FLATNESS)), kind, source)
        });
        let links = links.collect();
        let parent = (at > 0).then(|| note((at - 1) / CHILDREN_PER_NOTE));
        (note(at), NodeSpec { parent, links, ..NodeSpec::note(&format!("note-{at:06}")) })
    })
}

/// Returns the graph of a corpus.
#[must_use]
pub fn graph(n_notes: usize) -> NoteGraph {
    NoteGraph::build(nodes(n_notes))
}

/// Number of links of a note of [`dense_graph`].
const DENSE_LINKS_PER_NOTE: usize = 10;

/// Returns the graph of a corpus with ten links per note: a million for 100,000 notes, minus a few duplicates.
#[must_use]
pub fn dense_graph(n_notes: usize) -> NoteGraph {
    NoteGraph::build(linked(n_notes, DENSE_LINKS_PER_NOTE))
}

/// Returns a text of `n_words` words, frequent ones more often.
pub fn text(random: &mut Random, n_words: usize) -> String {
    let words: Vec<String> =
        (0..n_words).map(|_| word(skewed(random, VOCABULARY, WORD_FLATNESS))).collect();
    words.join(" ")
}

/// Returns the word of the given rank: one or more syllables, unique by rank.
#[must_use]
pub fn word(mut rank: usize) -> String {
    const CONSONANTS: [&str; 10] = ["b", "d", "f", "g", "k", "l", "m", "p", "t", "v"];
    const VOWELS: [&str; 5] = ["a", "e", "i", "o", "u"];
    let mut word = String::new();
    loop {
        word.push_str(CONSONANTS[rank % 10]);
        word.push_str(VOWELS[rank / 10 % 5]);
        rank /= 50;
        if rank == 0 {
            // Ends with a letter that starts no syllable, so that no stemming rule applies.
            return word + "x";
        }
    }
}

/// Returns a number below `end` with a Zipf–Mandelbrot distribution: its frequency is proportional to 1 / (number + `flat`), so a larger `flat` makes the first numbers more equal.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is between 0 and `end`"
)]
fn skewed(random: &mut Random, end: usize, flat: f64) -> usize {
    let even = random.below(1 << 24) as f64 / f64::from(1 << 24);
    let number = flat * ((end as f64 + flat) / flat).powf(even) - flat;
    (number as usize).min(end - 1)
}

/// Returns `n` unit vectors of `dimension` around a few dozen centers, like texts on a few dozen subjects.
pub fn vectors(random: &mut Random, n: usize, dimension: usize) -> Vec<Vec<f32>> {
    let centers = Centers::new(random, dimension);
    (0..n).map(|_| centers.near(random)).collect()
}

/// Centers of clusters of vectors.
#[derive(Clone, Debug)]
pub struct Centers(Vec<Vec<f32>>);

impl Centers {
    /// Returns a few dozen centers of `dimension` floats.
    pub fn new(random: &mut Random, dimension: usize) -> Self {
        Self((0..48).map(|_| vector(random, dimension)).collect())
    }

    /// Returns a unit vector near one of them.
    pub fn near(&self, random: &mut Random) -> Vec<f32> {
        let centre = &self.0[random.below(self.0.len())];
        let noise = vector(random, centre.len());
        unit(&centre.iter().zip(noise).map(|(a, b)| a + b).collect::<Vec<f32>>())
    }
}

/// Returns a vector of components distributed uniformly in -1 to 1.
fn vector(random: &mut Random, dimension: usize) -> Vec<f32> {
    (0..dimension).map(|_| random.below(2_001) as f32 / 1_000.0 - 1.0).collect()
}

fn unit(vector: &[f32]) -> Vec<f32> {
    let norm = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.iter().map(|value| value / norm).collect()
}
