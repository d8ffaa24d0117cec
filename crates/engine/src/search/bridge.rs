//! Profile `bridge`: the effect of links and shared words on the notes around the best hits.

use std::collections::HashSet;

use weft_gars::bridge::{self, Kinship, LinkDirection, Remainder, SharedWordStats};
use weft_model::{NoteId, NoteMap, Stop};

use super::evidence::{BestPassage, covers};
use super::hit_links::{HitLink, around};
use super::prepared_query::{CandidatePool, CandidateScores, PreparedQuery};
use super::topics::Topics;
use super::{Connection, DisabledSignals, Lift, Lifts, Seed, best_first};
use crate::analyzer_pool::AnalyzerPool;
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
#[derive(Clone, Copy)]
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

    /// Returns this strength with every connection weakened by a factor.
    fn times(self, factor: f64) -> Self {
        let Self { link, words, topic } = self;
        Self { link: link * factor, words: words * factor, topic: topic * factor }
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
    (analyzers, stop): (&AnalyzerPool, &Stop),
) -> Result<Lifts, EngineError> {
    let is_hit = |candidate: &CandidateScores| candidate.similarity > 0.0;
    let hits = pool.hits(query.snapshot, is_hit, bridge::MAX_SIMILAR_HITS);
    let weight = connection_weight(pool, &hits, settings);
    let seed_ids = &hits[..hits.len().min(bridge::LINK_SEEDS)];
    let graph = query.snapshot.notes.graph();
    let mut joints: Vec<(NoteMap<Joint>, SharedWordStats)> = Vec::with_capacity(seed_ids.len());
    let (mut seeds, mut fanout_limited) = (Vec::with_capacity(seed_ids.len()), Vec::new());
    let mut by_topics = Vec::new();
    if settings.topics.siblings_activate && !disabled_signals.links {
        by_topics = topic_connections(query, pool, seed_ids, settings, &mut fanout_limited);
    }
    let best_passages = query.best_passages(seed_ids)?;
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
            let passage = best_passages.get(seed_id);
            (seed.words, words) = kinships(query, *seed_id, passage, analyzers, &mut own)?;
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
    let strength = |seed_idx: usize, joint: &Joint, remainder: f64| {
        let degree = graph.degrees(seed_ids[seed_idx]).both;
        Strength::new(joint, remainder, degree, joints[seed_idx].1).times(weight)
    };
    let rests: Vec<Remainder> = seed_ids
        .iter()
        .map(|id| {
            let passage = best_passages.get(id).map(|passage| &*passage.covers);
            Remainder::new(&weights, passage.unwrap_or_else(|| covers.of(*id)))
        })
        .collect();
    let mut reached: Vec<Reached> = Vec::new();
    for (seed_idx, (own, _)) in joints.iter().enumerate() {
        for (id, joint) in own {
            let remainder = rests[seed_idx].answered(covers.of(*id));
            let strength = strength(seed_idx, joint, remainder);
            if strength.total() > 0.0 {
                seeds[seed_idx].n_reached += 1;
                reached.push(Reached { seed_idx, id: *id, remainder, strength });
            }
        }
    }
    stop.check()?;
    // Different passages of a note may answer different words, so the best of them decides.
    for (at, remainder) in best_answers(query, &rests, &reached)? {
        let Reached { seed_idx, id, .. } = reached[at];
        let strength = strength(seed_idx, &joints[seed_idx].0[&id], remainder);
        reached[at] = Reached { seed_idx, id, remainder, strength };
    }
    query.expand(pool, reached.iter().map(|reached| reached.id))?;

    // In the order of the seeds, so that of equal lifts the one from the better hit is kept.
    reached.sort_unstable_by_key(|reached| (reached.seed_idx, reached.id));
    let mut by_note: NoteMap<Lift> = NoteMap::default();
    by_note.reserve(reached.len());
    for Reached { seed_idx, id, remainder, strength: by_kind } in reached {
        let (from, strength) = (seed_ids[seed_idx], by_kind.total());
        let activation = bridge::closed_gap(strength, pool.similarity(from), pool.similarity(id));
        if activation > by_note.get(&id).map_or(0.0, |lift| lift.activation) {
            let connection = by_kind.kind(&joints[seed_idx].0[&id]);
            by_note.insert(id, Lift { activation, from, connection, strength, remainder });
        }
    }
    Ok(Lifts { by_note, seeds, fanout_limited, weight: Some(weight), ..Lifts::default() })
}

/// Returns the factor of all connections: lower if many of `hits`, most similar first, are about as similar as the best.
fn connection_weight(pool: &CandidatePool, hits: &[NoteId], settings: &EngineSettings) -> f64 {
    let Some(best) = hits.first() else { return 1.0 };
    let least = bridge::SIMILAR_SHARE * pool.similarity(*best);
    let n_similar = hits.partition_point(|id| pool.similarity(*id) >= least);
    bridge::connection_weight(n_similar, settings.bridge.similar_hits)
}

/// A note that a connection reaches from a seed.
struct Reached {
    seed_idx: usize,
    id: NoteId,
    /// Share of the seed's remainder that the note answers.
    remainder: f64,
    strength: Strength,
}

/// Returns the share of the remainder that the best passage answers, for the long notes among those most strongly reached.
fn best_answers(
    query: &PreparedQuery<'_>,
    rests: &[Remainder],
    reached: &[Reached],
) -> Result<Vec<(usize, f64)>, EngineError> {
    let keyword = &query.snapshot.keyword;
    let graph = query.snapshot.notes.graph();
    let long = (0..reached.len()).filter(|at| keyword.n_passages(reached[*at].id) > 1);
    let order = |left: &usize, right: &usize| {
        let (left, right) = (&reached[*left], &reached[*right]);
        let by_strength = right.strength.total().total_cmp(&left.strength.total());
        let by_uri = || graph.uri(left.id).cmp(graph.uri(right.id));
        by_strength.then_with(by_uri).then(left.seed_idx.cmp(&right.seed_idx))
    };
    let read = best_first(long.collect(), query.n_passage_notes, order);
    let mut ids: Vec<NoteId> = read.iter().map(|at| reached[*at].id).collect();
    ids.sort_unstable();
    ids.dedup();
    let passages = keyword.passages(&query.words, &ids)?;
    let best = read.into_iter().filter_map(|at| {
        let of_note = &passages[ids.binary_search(&reached[at].id).ok()?].passages;
        let rest = &rests[reached[at].seed_idx];
        let answered = of_note.iter().map(|passage| rest.answered(&covers(passage)));
        Some((at, answered.fold(0.0, f64::max)))
    });
    Ok(best.collect())
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
///
/// Only words of `passage` count, if it is given: the other passages of a note may be about something else.
fn kinships(
    query: &PreparedQuery<'_>,
    seed_id: NoteId,
    passage: Option<&BestPassage>,
    analyzers: &AnalyzerPool,
    joints: &mut NoteMap<Joint>,
) -> Result<(Vec<String>, SharedWordStats), EngineError> {
    let keyword = &query.snapshot.keyword;
    let asked: HashSet<&str> =
        query.words.terms().iter().flat_map(|term| &term.alternatives).map(|t| &**t).collect();
    let max_notes = bridge::max_notes_with_word(keyword.n_passages_in_all());
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
    if let Some(passage) = passage {
        let words = query.words_of(seed_id, passage.span, analyzers);
        own.retain(|(.., term)| words.contains(term));
    }
    own.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.3.cmp(&b.3)));
    own.truncate(bridge::WORDS_PER_SEED);
    let n_others = keyword.n_passages_in_all().saturating_sub(1).max(1);
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
            covers.extend(
                frequencies
                    .of(at)
                    .iter()
                    .map(|frequency| bridge::coverage(keyword.saturation(*frequency, length))),
            );
        }
        let at = ids.into_iter().zip(0..).collect();
        Ok(Self { at, n_terms, covers })
    }

    fn of(&self, id: NoteId) -> &[f64] {
        self.at.get(&id).map_or(&[], |at| &self.covers[at * self.n_terms..][..self.n_terms])
    }
}
