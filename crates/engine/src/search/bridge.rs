//! Profile `bridge`: the effect of links and shared words on the notes around the best hits.

use std::collections::HashSet;

use weft_gars::bridge::{self, Kinship, LinkDirection, Remainder, SharedWordStats};
use weft_model::{NoteId, NoteMap, Stop};

use super::hit_links::{HitLink, around};
use super::prepared_query::{CandidatePool, CandidateScores, PreparedQuery};
use super::topics::Topics;
use super::{Connection, DisabledSignals, Lift, Lifts, Seed};
use crate::{EngineError, EngineSettings};

/// The connections between a seed and a note.
#[derive(Clone, Copy, Debug, Default)]
struct Joint {
    link: Option<HitLink>,
    kinship: Kinship,
    /// The topic sibling score, if the two share a topic and topics count.
    topic: f64,
}

/// Strength of each connection.
struct Strength {
    link: f64,
    words: f64,
    topic: f64,
}

impl Strength {
    fn new(joint: &Joint, remainder: f64, degree: u32, words: SharedWordStats) -> Self {
        let link = joint.link.map_or(0.0, |link| {
            let direction =
                if link.forward { LinkDirection::Link } else { LinkDirection::Backlink };
            bridge::link(remainder, direction, degree)
        });
        Self { link, words: words.strength(joint.kinship, remainder), topic: joint.topic }
    }

    fn total(&self) -> f64 {
        bridge::combined(bridge::combined(self.link, self.words), self.topic)
    }

    /// Returns the strongest connection; of equals, the more explicit one.
    fn kind(&self, joint: &Joint) -> Connection {
        if self.link > 0.0 && self.link >= self.words.max(self.topic) {
            match joint.link {
                Some(HitLink { forward: false, .. }) => Connection::Backlink,
                Some(_) | None => Connection::Link,
            }
        } else if self.words >= self.topic {
            Connection::SharedWords
        } else {
            Connection::Topic
        }
    }
}

/// Computes the activation of every note around the best hits. Notes reached by a connection enter the pool.
///
/// Cost: bounded by the constants of the recipe and the fan-out limit, whatever the size of the vault and the degree of its hubs.
pub(super) fn lifts(
    query: &PreparedQuery<'_>,
    pool: &mut CandidatePool,
    settings: &EngineSettings,
    disabled_signals: &DisabledSignals,
    stop: &Stop,
) -> Result<Lifts, EngineError> {
    let is_seed = |candidate: &CandidateScores| candidate.similarity > 0.0;
    let seed_ids = pool.hits(query.snapshot, is_seed, bridge::LINK_SEEDS);
    let graph = query.snapshot.notes.graph();
    let mut joints: Vec<(NoteMap<Joint>, SharedWordStats)> = Vec::with_capacity(seed_ids.len());
    let (mut seeds, mut fanout_limited) = (Vec::with_capacity(seed_ids.len()), Vec::new());
    let mut by_topics = Vec::new();
    if settings.topics.siblings_activate && !disabled_signals.links {
        by_topics = topic_connections(query, pool, &seed_ids, settings, &mut fanout_limited);
    }
    let mut by_topics = by_topics.into_iter();
    for (rank, seed_id) in seed_ids.iter().enumerate() {
        stop.check()?;
        let (mut own, mut words) =
            (by_topics.next().unwrap_or_default(), SharedWordStats::default());
        let mut seed = Seed::new(query.snapshot, pool, *seed_id);
        if !disabled_signals.links {
            let around = around(query, pool, *seed_id, settings.fanout);
            seed.is_cut = around.is_cut;
            fanout_limited.extend(around.is_cut.then_some(*seed_id));
            for (id, link) in around.notes {
                own.entry(id).or_default().link = Some(link);
            }
        }
        if rank < bridge::WORD_SEEDS
            && settings.bridge.shared_words
            && !disabled_signals.shared_words
        {
            (seed.words, words) = kinships(query, *seed_id, &mut own)?;
        }
        seeds.push(seed);
        joints.push((own, words));
    }

    let joined = joints.iter().flat_map(|(own, _)| own.keys().copied());
    let mut ids: Vec<NoteId> = seed_ids.iter().copied().chain(joined).collect();
    ids.sort_unstable();
    ids.dedup();
    stop.check()?;
    let covers = Covers::new(query, ids)?;
    let weights: Vec<f64> = query.words.terms().iter().map(|term| term.weight()).collect();
    let mut strengths: Vec<(usize, NoteId, f64, f64, Connection)> = Vec::new();
    for (at, (seed_id, (joints, words))) in seed_ids.iter().zip(&joints).enumerate() {
        let rest = Remainder::new(&weights, covers.of(*seed_id));
        let degree = graph.degrees(*seed_id).both;
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
    query.expand(pool, strengths.iter().map(|(_, id, ..)| *id))?;

    // In the order of the seeds, so that of equal lifts the one from the better hit is kept.
    strengths.sort_unstable_by_key(|(at, id, ..)| (*at, *id));
    let mut by_note: NoteMap<Lift> = NoteMap::default();
    by_note.reserve(strengths.len());
    for (at, id, strength, remainder, connection) in strengths {
        let from = seed_ids[at];
        let activation = bridge::closed_gap(strength, pool.similarity(from), pool.similarity(id));
        if activation > by_note.get(&id).map_or(0.0, |lift| lift.activation) {
            let lift = Lift { activation, from, connection, strength, remainder };
            by_note.insert(id, lift);
        }
    }
    Ok(Lifts { by_note, seeds, fanout_limited, ..Lifts::default() })
}

/// Returns the notes that share a topic with each seed: members of the pool, and the notes its topics lead to. Limited topics are added to `fanout_limited`.
fn topic_connections(
    query: &PreparedQuery<'_>,
    pool: &CandidatePool,
    seed_ids: &[NoteId],
    settings: &EngineSettings,
    fanout_limited: &mut Vec<NoteId>,
) -> Vec<NoteMap<Joint>> {
    let topics = Topics::around(query.snapshot, seed_ids, settings);
    let mut joints: Vec<NoteMap<Joint>> = Vec::with_capacity(seed_ids.len());
    for at in 0..seed_ids.len() {
        let siblings = topics.siblings(at, query);
        fanout_limited.extend(siblings.fanout_limited);
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

/// Adds the kinship of `seed_id` with every note that shares its rarest words; returns those words, rarest first, and their statistics.
fn kinships(
    query: &PreparedQuery<'_>,
    seed_id: NoteId,
    joints: &mut NoteMap<Joint>,
) -> Result<(Vec<String>, SharedWordStats), EngineError> {
    let keyword = &query.snapshot.keyword;
    let asked: HashSet<&str> =
        query.words.terms().iter().flat_map(|term| &term.alternatives).map(|t| &**t).collect();
    let max_notes = bridge::max_notes_with_word(keyword.n_notes());
    let length = keyword.length(seed_id).unwrap_or(0);
    let greatest = keyword.idf(0);
    let mut own: Vec<(f64, f64, u32, String)> = keyword
        .rare_terms(seed_id, max_notes)?
        .into_iter()
        .filter(|own| own.n_notes >= bridge::MIN_NOTES_WITH_WORD && !asked.contains(&*own.term))
        .map(|own| {
            let idf = keyword.idf(own.n_notes);
            let telling = keyword.saturation(f64::from(own.frequency), length) * idf;
            (telling, idf / greatest, own.n_notes, own.term)
        })
        .collect();
    own.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.3.cmp(&b.3)));
    own.truncate(bridge::WORDS_PER_SEED);
    let n_others = keyword.n_notes().saturating_sub(1).max(1);
    let n_shared: u32 = own.iter().map(|(_, _, n_notes, _)| n_notes - 1).sum();
    joints.reserve(n_shared as usize);
    for (_, telling, _, term) in &own {
        for (id, frequency) in keyword.notes_with(term)? {
            if id != seed_id && query.passes(id) {
                let length = keyword.length(id).unwrap_or(0);
                let saturation = keyword.saturation(f64::from(frequency), length);
                joints.entry(id).or_default().kinship.share(saturation, *telling);
            }
        }
    }
    let kinships = joints.values().map(|joint| joint.kinship.value());
    let words = SharedWordStats {
        greatest: kinships.fold(0.0, f64::max),
        by_chance: f64::from(n_shared) / n_others as f64,
    };
    Ok((own.into_iter().map(|(_, _, _, term)| term).collect(), words))
}

/// How far each note answers each word of the query.
struct Covers {
    at: NoteMap<usize>,
    n_terms: usize,
    covers: Vec<f64>,
}

impl Covers {
    fn new(query: &PreparedQuery<'_>, ids: Vec<NoteId>) -> Result<Self, EngineError> {
        let keyword = &query.snapshot.keyword;
        let frequencies = keyword.term_frequencies(&query.words, &ids)?;
        let n_terms = query.words.terms().len();
        let mut covers = Vec::with_capacity(ids.len() * n_terms);
        for (at, id) in ids.iter().enumerate() {
            let length = keyword.length(*id).unwrap_or(0);
            covers.extend(frequencies.of(at).iter().map(|frequency| {
                bridge::coverage(keyword.saturation(f64::from(*frequency), length))
            }));
        }
        let at = ids.into_iter().zip(0..).collect();
        Ok(Self { at, n_terms, covers })
    }

    fn of(&self, id: NoteId) -> &[f64] {
        self.at.get(&id).map_or(&[], |at| &self.covers[at * self.n_terms..][..self.n_terms])
    }
}
