//! Profile `bridge`: a connection lifts a note by a part of its distance to a better hit.
//!
//! Words are weighed by `w(t) = count of t in the query · idf(t)`; how far a note has a word is its saturation, 0 to 1.
//! Source of every formula and constant: ranking recipe, but for how shared words fade ([`WordsOf::strength`]) and for words in titles, aliases and headings, which count more in the score by word; its surface is flat, so none of the constants is a setting.

/// Hits whose links are followed: the best by similarity.
pub const LINK_HEADS: usize = 5;

/// Hits whose rare words are followed.
pub const WORD_HEADS: usize = 3;

/// Rare words of one hit that are followed: those that tell most of it.
pub const WORDS_PER_HEAD: usize = 20;

/// The least notes that hold a word worth following: a word of one note leads nowhere.
pub const MIN_NOTES_WITH_WORD: u32 = 2;

/// Kinship up to which two notes are strangers.
const MIN_KINSHIP: f64 = 0.02;

/// What one shared word proves at most.
const MAX_PROOF: f64 = 0.99;

/// The strength of a connection stays below 1, so that nobody overtakes the hit that lifts it.
const MAX_STRENGTH: f64 = 0.95;

/// Of a link, what counts although the linked note answers nothing of the rest.
const UNASKED: f64 = 0.4;

/// What a link counts against its direction.
const BACKWARDS: f64 = 0.7;

const LINK_GAIN: f64 = 2.0;
const KINSHIP_GAIN: f64 = 2.5;
const COVER_GAIN: f64 = 2.0;

/// How fast shared words fade with those that notes share by chance.
///
/// Chosen by the hidden links of four vaults and two sets of questions (`docs/ranking.md`); 1 and 4 rank close by.
const CHANCE_FADE: f64 = 2.0;

/// Weights of unanswered words below this sum are rounding.
const NOTHING_LEFT: f64 = 1e-6;

/// The most notes that may hold a word worth following, among `n_notes`: `max(3, min(30, 0.02·n))`.
#[must_use]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it lies in 3 to 30")]
pub fn max_notes_with_word(n_notes: usize) -> u32 {
    (0.02 * n_notes as f64).clamp(3.0, 30.0) as u32
}

/// The similarity of a note: what its text answers, raised by the share of the query that is the note's name.
///
/// `base + mention·(1 − base)`: a query that is exactly a note's name gives that note 1.
#[must_use]
pub fn similarity(base: f64, mention: f64) -> f64 {
    base + mention * (1.0 - base)
}

/// How far a note answers a word that it has with this saturation.
#[must_use]
pub fn cover(saturation: f64) -> f64 {
    (COVER_GAIN * saturation).min(1.0)
}

/// What a hit leaves unanswered of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Remainder {
    left: Vec<f64>,
    sum: f64,
}

impl Remainder {
    /// What a hit with these [`cover`]s leaves of words with these weights; both in the order of the query's words.
    #[must_use]
    pub fn new(weights: &[f64], covers: &[f64]) -> Self {
        let left: Vec<f64> =
            weights.iter().zip(covers).map(|(weight, cover)| weight * (1.0 - cover)).collect();
        let sum = left.iter().sum();
        Self { left, sum }
    }

    /// The share of it that another note with these covers answers, in `0.0..=1.0`; 0 where nothing is left.
    #[must_use]
    pub fn answered(&self, covers: &[f64]) -> f64 {
        if self.sum <= NOTHING_LEFT {
            return 0.0;
        }
        let answered: f64 = self.left.iter().zip(covers).map(|(left, cover)| left * cover).sum();
        (answered / self.sum).min(1.0)
    }
}

/// Which way a link leads from a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The hit links to the note.
    Link,
    /// Only the note links to the hit.
    Backlink,
}

/// The strength of a link from a hit with `degree` distinct neighbours, in `0.0..1.0`.
///
/// `min(0.95, 2·min(1, 0.4 + remainder)·d / log₂(2 + degree))`: what leads to everything says little.
#[must_use]
pub fn link(remainder: f64, direction: Direction, degree: u32) -> f64 {
    let direction = match direction {
        Direction::Link => 1.0,
        Direction::Backlink => BACKWARDS,
    };
    let worth = (UNASKED + remainder).min(1.0) * direction;
    (LINK_GAIN * worth / (2.0 + f64::from(degree)).log2()).min(MAX_STRENGTH)
}

/// How surely two notes speak of the same, by rare words they share: `1 − Π (1 − proof)`.
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
    /// Takes in a shared word: how far the other note has it, and what share of the most it tells.
    pub fn share(&mut self, saturation: f64, telling: f64) {
        self.doubt *= 1.0 - (saturation * telling).min(MAX_PROOF);
    }

    /// The kinship, 0 to 1.
    #[must_use]
    pub fn value(self) -> f64 {
        1.0 - self.doubt
    }
}

/// What the rare words of one hit say, by all notes that they lead to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WordsOf {
    /// The kinship with the note that shares most of them, 0 to 1.
    pub greatest: f64,
    /// How many of them any note of the vault holds in the mean.
    pub by_chance: f64,
}

impl WordsOf {
    /// The strength of shared words, in `0.0..1.0`: `min(0.95, 2.5·e^(−2·by_chance)·kin·remainder)` with `kin = kinship² / greatest`, 0 for strangers.
    ///
    /// Kinship counts as far as it stands out among the notes that the same words lead to, and less where any two notes share such words by chance, as in small vaults and long technical texts.
    /// The recipe has `2.5·kinship·remainder`; where names make the words rare, both rank nearly alike.
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

/// The strength of two connections between the same notes.
#[must_use]
pub fn either(left: f64, right: f64) -> f64 {
    1.0 - (1.0 - left) * (1.0 - right)
}

/// The activation that a connection gives a note: the part of the distance to the better hit that it closes.
///
/// Not negative, and below the distance itself.
#[must_use]
pub fn closed_gap(strength: f64, hit: f64, own: f64) -> f64 {
    strength * (hit - own).max(0.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_example_of_the_recipe() {
        let strength = link(0.3, Direction::Link, 4);
        let activation = closed_gap(strength, 0.62, 0.21);
        assert!((strength - 0.542).abs() < 5e-4, "{strength}");
        assert!((activation - 0.222).abs() < 5e-4, "{activation}");
    }

    #[test]
    fn links_by_remainder_direction_and_degree() {
        let cases = [
            ("all of the rest, to a lone neighbour", 1.0, Direction::Link, 1, 0.95),
            ("nothing of the rest", 0.0, Direction::Link, 2, 0.4),
            ("backwards", 0.0, Direction::Backlink, 2, 0.28),
            ("from a hub", 0.6, Direction::Link, 1022, 0.2),
        ];
        for (name, remainder, direction, degree, expected) in cases {
            let strength = link(remainder, direction, degree);
            assert!((strength - expected).abs() < 1e-12, "{name}: {strength}");
        }
    }

    #[test]
    fn the_rest_is_what_the_hit_does_not_cover() {
        let rest = Remainder::new(&[2.0, 1.0, 1.0], &[1.0, 0.5, 0.0]);
        assert!((rest.answered(&[1.0, 0.0, 1.0]) - 2.0 / 3.0).abs() < 1e-12);
        assert!((rest.answered(&[1.0, 1.0, 1.0]) - 1.0).abs() < 1e-12);
        let nothing_left = Remainder::new(&[2.0], &[1.0]);
        assert!(nothing_left.answered(&[1.0]).abs() < f64::EPSILON);
        assert!(Remainder::new(&[], &[]).answered(&[]).abs() < f64::EPSILON);
    }

    #[test]
    fn words_worth_following_by_size_of_the_vault() {
        for (n_notes, expected) in [(0, 3), (100, 3), (400, 8), (1_890, 30), (1_000_000, 30)] {
            assert_eq!(max_notes_with_word(n_notes), expected, "{n_notes}");
        }
    }

    #[test]
    fn strangers_share_next_to_nothing() {
        let mut kinship = Kinship::default();
        kinship.share(0.1, 0.1);
        let words = |greatest, by_chance| WordsOf { greatest, by_chance };
        assert!(words(0.01, 0.0).strength(kinship, 1.0).abs() < f64::EPSILON, "0.01 is chance");
        assert!(WordsOf::default().strength(Kinship::default(), 1.0).abs() < f64::EPSILON);
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
        fn nobody_overtakes_the_hit_that_lifts_it(
            hit in 0.0..=1.0_f64,
            own in 0.0..=1.0_f64,
            (remainder, kinship, degree) in (0.0..=1.0_f64, 0.0..=1.0_f64, 1_u32..10_000),
        ) {
            let mut kin = Kinship::default();
            kin.share(kinship, 1.0);
            let strength = either(
                link(remainder, Direction::Link, degree),
                WordsOf { greatest: kin.value(), by_chance: 0.0 }.strength(kin, remainder),
            );
            prop_assert!((0.0..1.0).contains(&strength));
            let activation = closed_gap(strength, hit, own);
            prop_assert!((0.0..=1.0).contains(&activation));
            prop_assert!(own + activation <= hit.max(own) + 1e-15);
        }
    }
}
