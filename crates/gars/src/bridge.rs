//! Profile `bridge`: a connection lifts a note by a part of its distance to a better hit.
//!
//! Words have the weight `w(t) = count of t in the query · idf(t)`. The saturation of a word in a note lies between 0 and 1.
//! Source of every formula and constant: ranking recipe, except for the fading of shared words ([`SharedWordStats::strength`]) and the greater keyword weight of titles, aliases and headings. The results are insensitive to the constants, so none of them is a setting.

/// Number of hits whose links are followed: the most similar ones.
pub const LINK_SEEDS: usize = 5;

/// Number of hits whose rare words are followed.
pub const WORD_SEEDS: usize = 3;

/// Maximum number of rare words followed from one hit: those with the highest weight.
pub const WORDS_PER_SEED: usize = 20;

/// Minimum number of notes that contain a followed word: a word of one note leads nowhere.
pub const MIN_NOTES_WITH_WORD: u32 = 2;

/// Kinship up to which two notes count as unrelated.
const MIN_KINSHIP: f64 = 0.02;

/// Maximum evidence of one shared word.
const MAX_PROOF: f64 = 0.99;

/// Maximum strength of a connection. Below 1, so that no note overtakes the hit that lifts it.
const MAX_STRENGTH: f64 = 0.95;

/// Base value of a link, even if the linked note answers nothing of the remainder.
const BASE_LINK_WORTH: f64 = 0.4;

/// Value of a link followed against its direction.
const BACKLINK_FACTOR: f64 = 0.7;

const LINK_GAIN: f64 = 2.0;
const KINSHIP_GAIN: f64 = 2.5;
const COVER_GAIN: f64 = 2.0;

/// How fast shared words lose value with the number of words that notes share by chance.
///
/// Chosen on hidden links of four vaults and two query sets (`docs/ranking.md`); 1 and 4 rank similarly.
const CHANCE_FADE: f64 = 2.0;

/// Share of the best hit's similarity from which on a hit counts as similar to it.
pub const SIMILAR_SHARE: f64 = 0.5;

/// Maximum number of hits counted as similar to the best one.
pub const MAX_SIMILAR_HITS: usize = 200;

/// A smaller sum of unanswered weights is rounding error.
const NEGLIGIBLE_WEIGHT: f64 = 1e-6;

/// Maximum number of notes that contain a followed word, among `n_notes`: `max(3, min(30, 0.02·n))`.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is clamped to 3..=30"
)]
pub fn max_notes_with_word(n_notes: usize) -> u32 {
    (0.02 * n_notes as f64).clamp(3.0, 30.0) as u32
}

/// Returns the similarity of a note: the score of its text, raised by the share of the query that is the note's name.
///
/// `base + mention·(1 − base)`: a query that is exactly a note's name gives that note 1.
#[must_use]
pub fn similarity(base: f64, mention: f64) -> f64 {
    base + mention * (1.0 - base)
}

/// Returns how far a note answers a word that it contains with this saturation.
#[must_use]
pub fn coverage(saturation: f64) -> f64 {
    (COVER_GAIN * saturation).min(1.0)
}

/// The part of a query that a hit leaves unanswered.
#[derive(Clone, Debug, PartialEq)]
pub struct Remainder {
    left: Vec<f64>,
    sum: f64,
}

impl Remainder {
    /// Computes the remainder of words with `weights` after a hit with `covers`, its [`coverage`] of each word; both in the order of the query's words.
    #[must_use]
    pub fn new(weights: &[f64], covers: &[f64]) -> Self {
        let left: Vec<f64> = weights
            .iter()
            .zip(covers)
            .map(|(weight, coverage)| weight * (1.0 - coverage))
            .collect();
        let sum = left.iter().sum();
        Self { left, sum }
    }

    /// Returns the share of the remainder that a note with these covers answers, in `0.0..=1.0`; 0 if nothing remains.
    #[must_use]
    pub fn answered(&self, covers: &[f64]) -> f64 {
        if self.sum <= NEGLIGIBLE_WEIGHT {
            return 0.0;
        }
        let answered: f64 =
            self.left.iter().zip(covers).map(|(left, coverage)| left * coverage).sum();
        (answered / self.sum).min(1.0)
    }
}

/// Direction of a link relative to a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkDirection {
    /// The hit links to the note.
    Link,
    /// Only the note links to the hit.
    Backlink,
}

/// Returns the strength of a link from a hit with `degree` distinct neighbors, in `0.0..1.0`.
///
/// `min(0.95, 2·min(1, 0.4 + remainder)·d / log₂(2 + degree))`: a link from a hub means little.
#[must_use]
pub fn link(remainder: f64, direction: LinkDirection, degree: u32) -> f64 {
    let direction = match direction {
        LinkDirection::Link => 1.0,
        LinkDirection::Backlink => BACKLINK_FACTOR,
    };
    explicit(remainder, direction, degree)
}

/// Returns the strength of a name that occurs in the text of a hit and that is as `telling` as that, in `0.0..1.0`: a link that was not written.
///
/// `min(0.95, 2·min(1, 0.4 + remainder)·telling / log₂(2 + n_named))`, with the number of other names in the text and of notes and sections with this name: a text that names much, or a name of many, means little.
#[must_use]
pub fn name(remainder: f64, telling: f64, n_named: u32) -> f64 {
    explicit(remainder, telling, n_named)
}

/// Returns the strength of a connection that is written out, one of `degree` of its kind.
fn explicit(remainder: f64, share: f64, degree: u32) -> f64 {
    let worth = (BASE_LINK_WORTH + remainder).min(1.0) * share;
    (LINK_GAIN * worth / (2.0 + f64::from(degree)).log2()).min(MAX_STRENGTH)
}

/// Returns the share of a link's value that is due to what the linked text answers, in `0.0..=1.0`.
#[must_use]
pub fn answering_share(remainder: f64) -> f64 {
    remainder / (BASE_LINK_WORTH + remainder)
}

/// Evidence that two notes concern the same subject, from the rare words they share: `1 − Π (1 − proof)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kinship {
    doubt: f64,
}

impl Default for Kinship {
    fn default() -> Self {
        Self { doubt: 1.0 }
    }
}

impl Kinship {
    /// Adds a shared word: its saturation in the other note, and its weight relative to the greatest one.
    pub fn share(&mut self, saturation: f64, telling: f64) {
        self.doubt *= 1.0 - (saturation * telling).min(MAX_PROOF);
    }

    /// Returns the kinship, 0 to 1.
    #[must_use]
    pub fn value(self) -> f64 {
        1.0 - self.doubt
    }
}

/// Statistics of the rare words of one hit over all notes that they lead to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SharedWordStats {
    /// Kinship with the note that shares most of them, 0 to 1.
    pub greatest: f64,
    /// Mean number of these words in a note of the vault.
    pub by_chance: f64,
}

impl SharedWordStats {
    /// Returns the strength of shared words, in `0.0..1.0`: `min(0.95, 2.5·e^(−2·by_chance)·kin·remainder)` with `kin = kinship² / greatest`; 0 for unrelated notes.
    ///
    /// Kinship counts less if another note reached by the same words has a greater one, and less again if any two notes are likely to share such words by chance, as in small vaults and long technical texts.
    /// The recipe has `2.5·kinship·remainder`. If names make words rare, both rank nearly alike.
    #[must_use]
    pub fn strength(self, kinship: Kinship, remainder: f64) -> f64 {
        let Self { greatest, by_chance } = self;
        let kinship = kinship.value();
        let standing_out = kinship * kinship / greatest.max(kinship);
        if standing_out > MIN_KINSHIP {
            let telling = KINSHIP_GAIN * (-CHANCE_FADE * by_chance).exp();
            (telling * standing_out * remainder).min(MAX_STRENGTH)
        } else {
            0.0
        }
    }
}

/// Returns the factor of all connections of a query with `n_similar` hits at least half as similar as the best one: `min(1, (limit / n_similar)²)`.
///
/// If one note in hundreds answers about as well as the best, as with a long topic over a collection of abstracts, a hit hardly proves anything about the notes that it is connected with.
#[must_use]
pub fn connection_weight(n_similar: usize, limit: usize) -> f64 {
    if n_similar <= limit { 1.0 } else { (limit as f64 / n_similar as f64).powi(2) }
}

/// Returns the strength of two connections between the same notes.
#[must_use]
pub fn combined(left: f64, right: f64) -> f64 {
    1.0 - (1.0 - left) * (1.0 - right)
}

/// Returns the activation of a note by a connection: the closed part of its distance to the better hit.
///
/// Not negative, and less than the distance itself.
#[must_use]
pub fn closed_gap(strength: f64, hit: f64, own: f64) -> f64 {
    strength * (hit - own).max(0.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn example_of_the_recipe() {
        let strength = link(0.3, LinkDirection::Link, 4);
        let activation = closed_gap(strength, 0.62, 0.21);
        assert!((strength - 0.542).abs() < 5e-4, "{strength}");
        assert!((activation - 0.222).abs() < 5e-4, "{activation}");
    }

    #[test]
    fn link_strength_by_remainder_direction_and_degree() {
        let cases = [
            ("whole remainder, single neighbor", 1.0, LinkDirection::Link, 1, 0.95),
            ("no remainder", 0.0, LinkDirection::Link, 2, 0.4),
            ("backwards", 0.0, LinkDirection::Backlink, 2, 0.28),
            ("from a hub", 0.6, LinkDirection::Link, 1022, 0.2),
        ];
        for (name, remainder, direction, degree, expected) in cases {
            let strength = link(remainder, direction, degree);
            assert!((strength - expected).abs() < 1e-12, "{name}: {strength}");
        }
    }

    #[test]
    fn remainder_is_what_the_hit_does_not_cover() {
        let rest = Remainder::new(&[2.0, 1.0, 1.0], &[1.0, 0.5, 0.0]);
        assert!((rest.answered(&[1.0, 0.0, 1.0]) - 2.0 / 3.0).abs() < 1e-12);
        assert!((rest.answered(&[1.0, 1.0, 1.0]) - 1.0).abs() < 1e-12);
        let nothing_left = Remainder::new(&[2.0], &[1.0]);
        assert!(nothing_left.answered(&[1.0]).abs() < f64::EPSILON);
        assert!(Remainder::new(&[], &[]).answered(&[]).abs() < f64::EPSILON);
    }

    #[test]
    fn connections_weigh_less_among_many_similar_hits() {
        let cases = [(0, 1.0), (1, 1.0), (50, 1.0), (100, 0.25), (200, 0.0625)];
        for (n_similar, expected) in cases {
            let weight = connection_weight(n_similar, 50);
            assert!((weight - expected).abs() < 1e-12, "{n_similar}: {weight}");
        }
        assert!(connection_weight(200, 0).abs() < f64::EPSILON);
    }

    #[test]
    fn followed_words_by_size_of_the_vault() {
        for (n_notes, expected) in [(0, 3), (100, 3), (400, 8), (1_890, 30), (1_000_000, 30)] {
            assert_eq!(max_notes_with_word(n_notes), expected, "{n_notes}");
        }
    }

    #[test]
    fn unrelated_notes_have_no_strength() {
        let mut kinship = Kinship::default();
        kinship.share(0.1, 0.1);
        let words = |greatest, by_chance| SharedWordStats { greatest, by_chance };
        assert!(words(0.01, 0.0).strength(kinship, 1.0).abs() < f64::EPSILON, "0.01 is chance");
        assert!(SharedWordStats::default().strength(Kinship::default(), 1.0).abs() < f64::EPSILON);
        kinship.share(0.5, 0.8);
        let kin = 1.0 - 0.99 * 0.6;
        assert!((kinship.value() - kin).abs() < 1e-12);
        let cases = [
            ("the nearest, where nothing is shared by chance", kin, 0.0, 2.5 * kin * 0.5),
            ("another is twice as near", 2.0 * kin, 0.0, 2.5 * kin / 2.0 * 0.5),
            ("every other note shares one", kin, 0.5, 2.5 * kin * 0.5 / std::f64::consts::E),
        ];
        for (name, greatest, by_chance, expected) in cases {
            let strength = words(greatest, by_chance).strength(kinship, 0.5);
            assert!((strength - expected).abs() < 1e-12, "{name}: {strength}");
        }
    }

    proptest! {
        #[test]
        fn no_note_overtakes_the_hit_that_lifts_it(
            hit in 0.0..=1.0_f64,
            own in 0.0..=1.0_f64,
            (remainder, kinship, degree) in (0.0..=1.0_f64, 0.0..=1.0_f64, 1_u32..10_000),
        ) {
            let mut kin = Kinship::default();
            kin.share(kinship, 1.0);
            let strength = combined(
                link(remainder, LinkDirection::Link, degree),
                SharedWordStats { greatest: kin.value(), by_chance: 0.0 }.strength(kin, remainder),
            );
            prop_assert!((0.0..1.0).contains(&strength));
            let activation = closed_gap(strength, hit, own);
            prop_assert!((0.0..=1.0).contains(&activation));
            prop_assert!(own + activation <= hit.max(own) + 1e-15);
        }
    }
}
