//! Profile `bridge`: what links and shared words do for the notes around the best hits.

use std::collections::HashSet;

use weft_gars::bridge::{self, Direction, Kinship, Remainder, WordsOf};
use weft_model::{NoteId, NoteMap, Stop};

use super::links::{Link, around};
use super::question::{Candidate, Pool, Question};
use super::topics::Topics;
use super::{Connection, Lift, Lifts, Seed, Without};
use crate::{EngineError, EngineSettings};

/// What joins a hit and a note.
#[derive(Clone, Copy, Debug, Default)]
struct Joint {
    link: Option<Link>,
    kinship: Kinship,
    /// The sibling score, where they share a topic and topics count.
    topic: f64,
}

/// What a joint is worth.
struct Strength {
    link: f64,
    words: f64,
    topic: f64,
}

impl Strength {
    fn new(joint: &Joint, remainder: f64, degree: u32, words: WordsOf) -> Self {
        let link = joint.link.map_or(0.0, |link| {
            let direction = if link.forward { Direction::Link } else { Direction::Backlink };
            bridge::link(remainder, direction, degree)
        });
        Self { link, words: words.strength(joint.kinship, remainder), topic: joint.topic }
    }

    fn total(&self) -> f64 {
        bridge::either(bridge::either(self.link, self.words), self.topic)
    }

    /// What contributes most; of equals, the more explicit.
    fn kind(&self, joint: &Joint) -> Connection {
        if self.link > 0.0 && self.link >= self.words.max(self.topic) {
            match joint.link {
                Some(Link { forward: false, .. }) => Connection::Backlink,
                Some(_) | None => Connection::Link,
            }
        } else if self.words >= self.topic {
            Connection::SharedWords
        } else {
            Connection::Topic
        }
    }
}

/// The activation of every note around the best hits. Notes that anything leads to enter the pool.
///
/// Cost: bounded by the constants of the recipe and the fan-out, whatever the size of the vault and the degree of its hubs.
pub(super) fn lifts(
    question: &Question<'_>,
    pool: &mut Pool,
    settings: &EngineSettings,
    without: &Without,
    stop: &Stop,
) -> Result<Lifts, EngineError> {
    let is_head = |candidate: &Candidate| candidate.similarity > 0.0;
    let heads = pool.hits(question.snapshot, is_head, bridge::LINK_HEADS);
    let graph = question.snapshot.notes.graph();
    let mut joints: Vec<(NoteMap<Joint>, WordsOf)> = Vec::with_capacity(heads.len());
    let (mut seeds, mut capped) = (Vec::with_capacity(heads.len()), Vec::new());
    let mut by_topics = Vec::new();
    if settings.topics.siblings_activate && !without.links {
        by_topics = joined_by_topics(question, pool, &heads, settings, &mut capped);
    }
    let mut by_topics = by_topics.into_iter();
    for (rank, head) in heads.iter().enumerate() {
        stop.check()?;
        let (mut own, mut words) = (by_topics.next().unwrap_or_default(), WordsOf::default());
        let mut seed = Seed::new(question.snapshot, pool, *head);
        if !without.links {
            let around = around(question, pool, *head, settings.fanout);
            seed.is_cut = around.is_cut;
            capped.extend(around.is_cut.then_some(*head));
            for (id, link) in around.notes {
                own.entry(id).or_default().link = Some(link);
            }
        }
        if rank < bridge::WORD_HEADS && settings.bridge.shared_words && !without.shared_words {
            (seed.words, words) = kinships(question, *head, &mut own)?;
        }
        seeds.push(seed);
        joints.push((own, words));
    }

    let joined = joints.iter().flat_map(|(own, _)| own.keys().copied());
    let mut ids: Vec<NoteId> = heads.iter().copied().chain(joined).collect();
    ids.sort_unstable();
    ids.dedup();
    stop.check()?;
    let covers = Covers::new(question, ids)?;
    let weights: Vec<f64> = question.words.terms().iter().map(|term| term.weight()).collect();
    let mut strengths: Vec<(usize, NoteId, f64, f64, Connection)> = Vec::new();
    for (at, (head, (joints, words))) in heads.iter().zip(&joints).enumerate() {
        let rest = Remainder::new(&weights, covers.of(*head));
        let degree = graph.degrees(*head).both;
        for (id, joint) in joints {
            let remainder = rest.answered(covers.of(*id));
            let strength = Strength::new(joint, remainder, degree, *words);
            let total = strength.total();
            if total > 0.0 {
                seeds[at].n_reached += 1;
                strengths.push((at, *id, total, remainder, strength.kind(joint)));
            }
        }
    }
    question.expand(pool, strengths.iter().map(|(_, id, ..)| *id))?;

    // By the rank of the head, so that of equal lifts the better hit's is kept.
    strengths.sort_unstable_by_key(|(at, id, ..)| (*at, *id));
    let mut by_note: NoteMap<Lift> = NoteMap::default();
    by_note.reserve(strengths.len());
    for (at, id, strength, remainder, kind) in strengths {
        let from = heads[at];
        let activation = bridge::closed_gap(strength, pool.similarity(from), pool.similarity(id));
        if activation > by_note.get(&id).map_or(0.0, |lift| lift.activation) {
            let lift = Lift { activation, from, kind, strength, remainder };
            by_note.insert(id, lift);
        }
    }
    Ok(Lifts { by_note, seeds, capped, ..Lifts::default() })
}

/// What each head shares a topic with: every such member of the pool, and those that its topics lead to. Topics that are cut join `capped`.
fn joined_by_topics(
    question: &Question<'_>,
    pool: &Pool,
    heads: &[NoteId],
    settings: &EngineSettings,
    capped: &mut Vec<NoteId>,
) -> Vec<NoteMap<Joint>> {
    let topics = Topics::around(question.snapshot, heads, settings);
    let mut joints: Vec<NoteMap<Joint>> = Vec::with_capacity(heads.len());
    for at in 0..heads.len() {
        let siblings = topics.siblings(at, question);
        capped.extend(siblings.capped);
        let joint = |topic: f64| Joint { topic, ..Joint::default() };
        joints.push(siblings.notes.into_iter().map(|(id, score)| (id, joint(score))).collect());
    }
    for (id, _) in pool.iter() {
        for (at, score) in topics.shared_with(id) {
            joints[at].entry(id).or_default().topic = score;
        }
    }
    joints
}

/// Adds the kinship of `head` with every note that shares its most telling rare words; gives those words, most telling first, and what they say.
fn kinships(
    question: &Question<'_>,
    head: NoteId,
    joints: &mut NoteMap<Joint>,
) -> Result<(Vec<String>, WordsOf), EngineError> {
    let keyword = &question.snapshot.keyword;
    let asked: HashSet<&str> =
        question.words.terms().iter().flat_map(|term| &term.alternatives).map(|t| &**t).collect();
    let max_notes = bridge::max_notes_with_word(keyword.n_notes());
    let length = keyword.length(head).unwrap_or(0);
    let greatest = keyword.idf(0);
    let mut own: Vec<(f64, f64, u32, String)> = keyword
        .rare_terms(head, max_notes)?
        .into_iter()
        .filter(|own| own.n_notes >= bridge::MIN_NOTES_WITH_WORD && !asked.contains(&*own.term))
        .map(|own| {
            let idf = keyword.idf(own.n_notes);
            let telling = keyword.saturation(f64::from(own.frequency), length) * idf;
            (telling, idf / greatest, own.n_notes, own.term)
        })
        .collect();
    own.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.3.cmp(&b.3)));
    own.truncate(bridge::WORDS_PER_HEAD);
    let n_others = keyword.n_notes().saturating_sub(1).max(1);
    let n_shared: u32 = own.iter().map(|(_, _, n_notes, _)| n_notes - 1).sum();
    joints.reserve(n_shared as usize);
    for (_, telling, _, term) in &own {
        for (id, frequency) in keyword.notes_with(term)? {
            if id != head && question.passes(id) {
                let length = keyword.length(id).unwrap_or(0);
                let saturation = keyword.saturation(f64::from(frequency), length);
                joints.entry(id).or_default().kinship.share(saturation, *telling);
            }
        }
    }
    let kinships = joints.values().map(|joint| joint.kinship.value());
    let words = WordsOf {
        greatest: kinships.fold(0.0, f64::max),
        by_chance: f64::from(n_shared) / n_others as f64,
    };
    Ok((own.into_iter().map(|(_, _, _, term)| term).collect(), words))
}

/// How far each of some notes answers each word of the query.
struct Covers {
    at: NoteMap<usize>,
    n_terms: usize,
    covers: Vec<f64>,
}

impl Covers {
    fn new(question: &Question<'_>, ids: Vec<NoteId>) -> Result<Self, EngineError> {
        let keyword = &question.snapshot.keyword;
        let frequencies = keyword.term_frequencies(&question.words, &ids)?;
        let n_terms = question.words.terms().len();
        let mut covers = Vec::with_capacity(ids.len() * n_terms);
        for (at, id) in ids.iter().enumerate() {
            let length = keyword.length(*id).unwrap_or(0);
            covers.extend(
                frequencies.of(at).iter().map(|frequency| {
                    bridge::cover(keyword.saturation(f64::from(*frequency), length))
                }),
            );
        }
        let at = ids.into_iter().zip(0..).collect();
        Ok(Self { at, n_terms, covers })
    }

    fn of(&self, id: NoteId) -> &[f64] {
        self.at.get(&id).map_or(&[], |at| &self.covers[at * self.n_terms..][..self.n_terms])
    }
}
