//! Profile `bridge`: the effect of links, names and shared words on the notes around the best hits.

use std::collections::{HashMap, HashSet};

use weft_gars::bridge::{self, Kinship, LinkDirection, Remainder, SharedWordStats};
use weft_index::keyword::{Language, NamedInText, NoteTerm, NoteWithTerm};
use weft_model::{NoteId, NoteMap, Stop};

use super::evidence::is_below;
use super::hit_links::{HitLink, around};
use super::passage_evidence::{NoteEvidence, covers};
use super::prepared_query::{CandidatePool, CandidateScores, PreparedQuery};
use super::topics::Topics;
use super::{Connection, DisabledSignals, Lift, Lifts, Seed};
use crate::analyzer_pool::AnalyzerPool;
use crate::best_first::best_first;
use crate::{EngineError, EngineSettings};

/// The connections between a seed and a note.
#[derive(Clone, Copy, Debug, Default)]
struct Joint {
    link: Option<HitLink>,
    /// The most telling name of the note in the text of the seed.
    name: Name,
    /// The most telling name of a section of the note in the text of the seed.
    section: Name,
    kinship: Kinship,
    /// The topic sibling score, if the two share a topic and topics count.
    topic: f64,
}

/// A name in the text of a seed.
#[derive(Clone, Copy, Debug, Default)]
struct Name {
    /// How telling it is, 0 for no name.
    telling: f64,
    /// Number of other names in the text, and of notes and sections with this name.
    n_named: u32,
}

impl Name {
    fn strength(self, remainder: f64) -> f64 {
        bridge::name(remainder, self.telling, self.n_named)
    }

    /// Returns the stronger of two names.
    fn or(self, other: Self) -> Self {
        if other.strength(1.0) > self.strength(1.0) { other } else { self }
    }
}

/// Strength of each connection.
#[derive(Clone, Copy)]
struct Strength {
    /// Connection with the note as a whole: a link, or its name.
    link: f64,
    /// Connection with a passage: shared words, or the name of its section.
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
        // The text of a link is often the name of its target.
        let link = link.max(joint.name.strength(remainder));
        let words = words.strength(joint.kinship, remainder);
        let words = bridge::combined(words, joint.section.strength(remainder));
        Self { link, words, topic: joint.topic }
    }

    fn total(&self) -> f64 {
        bridge::combined(bridge::combined(self.link, self.words), self.topic)
    }

    /// Returns this strength with every connection weakened by a factor.
    fn times(self, factor: f64) -> Self {
        let Self { link, words, topic } = self;
        Self { link: link * factor, words: words * factor, topic: topic * factor }
    }

    /// Returns the strength for a passage besides the best one: a link to its note counts only by what the passage answers.
    fn answering(self, remainder: f64) -> Self {
        Self { link: self.link * bridge::answering_share(remainder), topic: 0.0, ..self }
    }

    /// Returns the strongest connection; of equals, the more explicit one.
    fn kind(&self, joint: &Joint) -> Connection {
        if self.link > 0.0 && self.link >= self.words.max(self.topic) {
            match joint.link {
                Some(HitLink { forward: false, .. }) => Connection::Backlink,
                Some(_) => Connection::Link,
                None => Connection::SharedWords,
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
    let mut joints: Vec<NoteMap<Joint>> = Vec::with_capacity(seed_ids.len());
    let mut shared_words: Vec<SharedWords> = Vec::with_capacity(seed_ids.len());
    let (mut seeds, mut fanout_limited) = (Vec::with_capacity(seed_ids.len()), Vec::new());
    let mut by_topics = Vec::new();
    if settings.topics.siblings_activate && !disabled_signals.links {
        by_topics = topic_connections(query, pool, seed_ids, settings, &mut fanout_limited);
    }
    query.read_best_passages(pool, seed_ids)?;
    let follows_words = settings.bridge.shared_words && !disabled_signals.shared_words;
    let n_word_seeds = if follows_words { bridge::WORD_SEEDS } else { 0 };
    let word_seeds = &seed_ids[..seed_ids.len().min(n_word_seeds)];
    let words_of_seeds = seed_words(query, pool, word_seeds, (analyzers, stop))?;
    let notes_with_words = notes_with_words(query, &words_of_seeds)?;
    let mut words_of_seeds = words_of_seeds.iter();
    let mut by_topics = by_topics.into_iter();
    for seed_id in seed_ids {
        stop.check()?;
        let (mut own, mut words) = (by_topics.next().unwrap_or_default(), SharedWords::default());
        let mut seed = Seed::new(query.snapshot, pool, *seed_id);
        if !disabled_signals.links {
            let around = around(query, pool, *seed_id, settings.fanout);
            seed.is_cut = around.is_cut;
            fanout_limited.extend(around.is_cut.then_some(*seed_id));
            for (id, link) in around.notes {
                own.entry(id).or_default().link = Some(link);
            }
        }
        if let Some(SeedWords { rare, names }) = words_of_seeds.next() {
            words = kinships(query, *seed_id, rare, &notes_with_words, &mut own);
            words.sections = named(query, *seed_id, names, &mut own)?;
        }
        seed.words.clone_from(&words.terms);
        seeds.push(seed);
        joints.push(own);
        shared_words.push(words);
    }

    let joined = joints.iter().flat_map(|own| own.keys().copied());
    let mut ids: Vec<NoteId> = seed_ids.iter().copied().chain(joined).collect();
    ids.sort_unstable();
    ids.dedup();
    stop.check()?;
    let covers = Covers::new(query, ids)?;
    let weights: Vec<f64> = query.words.terms().iter().map(|term| term.weight()).collect();
    let sources = seed_ids.iter().zip(shared_words).map(|(id, words)| {
        let passage = pool.best_passage(*id).map(|passage| &*passage.covers);
        let remainder = Remainder::new(&weights, passage.unwrap_or_else(|| covers.of(*id)));
        let (similarity, degree) = (pool.similarity(*id), graph.degrees(*id).both);
        Source { id: *id, similarity, degree, weight, remainder, words }
    });
    let sources: Vec<Source> = sources.collect();
    let mut reached: Vec<Reached> = Vec::new();
    for (seed_idx, own) in joints.iter().enumerate() {
        for (id, joint) in own {
            let source = &sources[seed_idx];
            let remainder = source.remainder.answered(covers.of(*id));
            let strength = source.strength(joint, remainder, source.words.stats);
            if strength.total() > 0.0 {
                seeds[seed_idx].n_reached += 1;
                let joint = *joint;
                reached.push(Reached { seed_idx, id: *id, joint, remainder, strength, best: None });
            }
        }
    }
    stop.check()?;
    read_passages(query, pool, &sources, &mut reached)?;
    query.expand(pool, reached.iter().map(|reached| reached.id))?;

    // In the order of the seeds, so that of equal lifts the one from the better hit is kept.
    reached.sort_unstable_by_key(|reached| (reached.seed_idx, reached.id));
    let mut by_note: NoteMap<Lift> = NoteMap::default();
    by_note.reserve(reached.len());
    for Reached { seed_idx, id, joint, remainder, strength: by_kind, best } in reached {
        let Source { id: from, similarity, .. } = sources[seed_idx];
        let (own, strength) = (pool.similarity(id), by_kind.total());
        let (activation, passages) = match best {
            Some(best) => {
                let by_link = bridge::closed_gap(best.link, similarity, own);
                (by_link.max(best.lifted - own), best.strengths)
            }
            None => (bridge::closed_gap(strength, similarity, own), Vec::new()),
        };
        if activation > by_note.get(&id).map_or(0.0, |lift| lift.activation) {
            let connection = by_kind.kind(&joint);
            let lift = Lift { activation, from, connection, strength, remainder, passages };
            by_note.insert(id, lift);
        }
    }
    // A note of one passage is as strongly connected as its passage.
    for (id, lift) in &mut by_note {
        if query.snapshot.keyword.n_passages(*id) == 1 {
            lift.passages = vec![lift.strength];
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

/// A hit whose connections are followed.
struct Source {
    id: NoteId,
    similarity: f64,
    degree: u32,
    /// Factor of its connections.
    weight: f64,
    remainder: Remainder,
    words: SharedWords,
}

impl Source {
    fn strength(&self, joint: &Joint, remainder: f64, words: SharedWordStats) -> Strength {
        Strength::new(joint, remainder, self.degree, words).times(self.weight)
    }
}

/// The rare words of a hit that are followed.
#[derive(Default)]
struct SharedWords {
    /// Rarest first.
    terms: Vec<String>,
    /// How telling each of them is, relative to the rarest possible word.
    telling: Vec<f64>,
    stats: SharedWordStats,
    /// The sections of each note that the hit names, each with the passage with which it begins.
    sections: NoteMap<Vec<(usize, Name)>>,
}

/// A note that a connection reaches from a seed.
struct Reached {
    seed_idx: usize,
    id: NoteId,
    joint: Joint,
    /// Share of the seed's remainder that the note answers.
    remainder: f64,
    strength: Strength,
    /// The passage that the connection lifts highest, if the passages of the note were read.
    best: Option<LiftedPassage>,
}

/// The passage of a long note that a connection lifts highest.
struct LiftedPassage {
    /// Its similarity and its activation together.
    lifted: f64,
    /// Strength of the link to the note, which connects the note as a whole: its passage that answers most counts.
    link: f64,
    /// Strength of the connection with each passage of the note.
    strengths: Vec<f64>,
}

/// Reads the passages of the long notes among those most strongly reached: each shares words and answers the remainder on its own, because another may be about something else.
fn read_passages(
    query: &PreparedQuery<'_>,
    pool: &mut CandidatePool,
    sources: &[Source],
    reached: &mut [Reached],
) -> Result<(), EngineError> {
    let keyword = &query.snapshot.keyword;
    let long = reached.iter().enumerate().filter(|(_, reached)| keyword.n_passages(reached.id) > 1);
    let long = long.map(|(at, it)| (it.strength.total(), it.id, (it.seed_idx, at))).collect();
    let best = best_first(query.snapshot.notes.graph(), long, query.n_passage_notes);
    let mut read: Vec<usize> = best.into_iter().map(|(_, _, (_, at))| at).collect();
    read.sort_unstable_by_key(|at| (reached[*at].seed_idx, reached[*at].id));
    let mut ids: Vec<NoteId> = read.iter().map(|at| reached[*at].id).collect();
    ids.sort_unstable();
    ids.dedup();
    let known = query.own_evidence(&ids)?;
    pool.add_best_passages(&known);
    for (seed_idx, source) in sources.iter().enumerate() {
        let of_seed = read.iter().copied().filter(|at| reached[*at].seed_idx == seed_idx);
        let of_seed: Vec<usize> = of_seed.collect();
        let ids: Vec<NoteId> = of_seed.iter().map(|at| reached[*at].id).collect();
        let kinships = passage_kinships(query, &source.words, &ids)?;
        let all = kinships.iter().flatten().map(|kinship| kinship.value());
        let stats = SharedWordStats { greatest: all.fold(0.0, f64::max), ..source.words.stats };
        for (at, kinships) in of_seed.into_iter().zip(kinships) {
            if let Some(evidence) = known.get(&reached[at].id) {
                lift_best(source, stats, evidence, &kinships, &mut reached[at]);
            }
        }
    }
    Ok(())
}

/// Returns the kinship of each passage of each of `ids` with the hit that has these words.
fn passage_kinships(
    query: &PreparedQuery<'_>,
    words: &SharedWords,
    ids: &[NoteId],
) -> Result<Vec<Vec<Kinship>>, EngineError> {
    let SharedWords { terms, telling, .. } = words;
    if terms.is_empty() {
        return Ok(vec![Vec::new(); ids.len()]);
    }
    let terms: Vec<&str> = terms.iter().map(String::as_str).collect();
    let saturations = query.snapshot.keyword.passage_saturations(&terms, ids)?;
    let kinship = |row: &[f64]| {
        let mut kinship = Kinship::default();
        let shared = row.iter().zip(telling).filter(|(saturation, _)| **saturation > 0.0);
        shared.for_each(|(saturation, telling)| kinship.share(*saturation, *telling));
        kinship
    };
    Ok(saturations.iter().map(|rows| rows.chunks(telling.len()).map(kinship).collect()).collect())
}

/// Finds the passage of a long note that a connection lifts highest.
fn lift_best(
    source: &Source,
    words: SharedWordStats,
    evidence: &NoteEvidence,
    kinships: &[Kinship],
    reached: &mut Reached,
) {
    let joint = reached.joint;
    let named = source.words.sections.get(&reached.id).map_or(&[][..], |named| named);
    let mut strengths = Vec::with_capacity(evidence.passages.len());
    let (mut best, mut link): (Option<(f64, usize)>, f64) = (None, 0.0);
    for (at, (passage, own)) in evidence.passages.iter().zip(&evidence.own).enumerate() {
        let around = named.iter().filter(|(first, _)| is_below(&evidence.passages, at, *first));
        let section = around.fold(Name::default(), |best, (_, name)| best.or(*name));
        let kinship = kinships.get(at).copied().unwrap_or_default();
        let joint = Joint { kinship, section, ..joint };
        let remainder = source.remainder.answered(&covers(passage));
        let strength = source.strength(&joint, remainder, words);
        strengths.push(strength.answering(remainder).total());
        link = link.max(strength.link);
        let lifted = own + bridge::closed_gap(strength.total(), source.similarity, *own);
        if !passage.is_bare && best.is_none_or(|(most, _)| lifted > most) {
            best = Some((lifted, at));
            (reached.remainder, reached.strength) = (remainder, strength);
        }
    }
    if let Some((lifted, at)) = best {
        strengths[at] = reached.strength.total();
        reached.best = Some(LiftedPassage { lifted, link, strengths });
    }
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

/// A rare word of a hit.
struct RareWord {
    term: String,
    /// Its inverse document frequency, divided by that of a word in no note.
    relative_idf: f64,
    n_notes: u32,
}

/// The words of a hit that are followed.
struct SeedWords {
    /// Highest weight in the hit first.
    rare: Vec<RareWord>,
    /// All words, in the form in which names are compared.
    names: Vec<String>,
}

/// Returns the words of each of `seed_ids` that are followed.
///
/// Those of a long note come from its best passage, because its other passages may be about something else.
fn seed_words(
    query: &PreparedQuery<'_>,
    pool: &CandidatePool,
    seed_ids: &[NoteId],
    (analyzers, stop): (&AnalyzerPool, &Stop),
) -> Result<Vec<SeedWords>, EngineError> {
    let keyword = &query.snapshot.keyword;
    let max_notes = bridge::max_notes_with_word(keyword.n_passages_in_all());
    let (lengths, languages) = (keyword.lengths(seed_ids), keyword.languages_of(seed_ids)?);
    let mut words = Vec::with_capacity(seed_ids.len());
    for ((id, length), language) in seed_ids.iter().zip(lengths).zip(languages) {
        stop.check()?;
        let language = language.unwrap_or(Language::English);
        let (terms, names) = match pool.best_passage(*id) {
            Some(passage) => {
                let of_passage = query.part_words(*id, Some(passage.span), language, analyzers);
                (keyword.rare_terms_of(&of_passage.terms, max_notes)?, of_passage.names)
            }
            None if keyword.n_passages(*id) > 1 => {
                (keyword.rare_terms(*id, max_notes)?, Vec::new())
            }
            None => {
                let of_note = query.part_words(*id, None, language, analyzers);
                (keyword.rare_terms(*id, max_notes)?, of_note.names)
            }
        };
        words.push(SeedWords { rare: rare_words(query, terms, length), names });
    }
    Ok(words)
}

/// Returns the words with the highest weight among `terms`, which are words of a hit of `length` words; those of the query are left out.
fn rare_words(query: &PreparedQuery<'_>, terms: Vec<NoteTerm>, length: u32) -> Vec<RareWord> {
    let keyword = &query.snapshot.keyword;
    let asked: HashSet<&str> =
        query.words.terms().iter().flat_map(|term| &term.alternatives).map(|t| &**t).collect();
    let greatest = keyword.idf(0);
    let mut words: Vec<(f64, RareWord)> = terms
        .into_iter()
        .filter(|own| own.n_notes >= bridge::MIN_NOTES_WITH_WORD && !asked.contains(&*own.term))
        .map(|NoteTerm { term, frequency, n_notes }| {
            let idf = keyword.idf(n_notes);
            let weight = keyword.saturation(f64::from(frequency), length) * idf;
            (weight, RareWord { term, relative_idf: idf / greatest, n_notes })
        })
        .collect();
    words.sort_unstable_by(|(a, one), (b, other)| {
        b.total_cmp(a).then_with(|| one.term.cmp(&other.term))
    });
    words.truncate(bridge::WORDS_PER_SEED);
    words.into_iter().map(|(_, word)| word).collect()
}

/// Returns the notes that contain each of the rare words of `seeds`.
fn notes_with_words<'w>(
    query: &PreparedQuery<'_>,
    seeds: &'w [SeedWords],
) -> Result<HashMap<&'w str, Vec<NoteWithTerm>>, EngineError> {
    let words = seeds.iter().flat_map(|seed| &seed.rare).map(|word| &*word.term);
    let mut terms: Vec<&str> = words.collect();
    if terms.is_empty() {
        return Ok(HashMap::new());
    }
    terms.sort_unstable();
    terms.dedup();
    let notes = query.snapshot.keyword.notes_with(&terms)?;
    Ok(terms.into_iter().zip(notes).collect())
}

/// Adds the kinship of `seed_id` with every note that contains one of `words`, which are words of its text.
fn kinships(
    query: &PreparedQuery<'_>,
    seed_id: NoteId,
    words: &[RareWord],
    notes: &HashMap<&str, Vec<NoteWithTerm>>,
    joints: &mut NoteMap<Joint>,
) -> SharedWords {
    let keyword = &query.snapshot.keyword;
    let n_others = keyword.n_passages_in_all().saturating_sub(1).max(1);
    let n_shared: u32 = words.iter().map(|word| word.n_notes - 1).sum();
    joints.reserve(n_shared as usize);
    for RareWord { term, relative_idf, .. } in words {
        for NoteWithTerm { note, frequency, length } in notes.get(&**term).into_iter().flatten() {
            if *note != seed_id && query.passes(*note) {
                let saturation = keyword.saturation(f64::from(*frequency), *length);
                joints.entry(*note).or_default().kinship.share(saturation, *relative_idf);
            }
        }
    }
    let kinships = joints.values().map(|joint| joint.kinship.value());
    let stats = SharedWordStats {
        greatest: kinships.fold(0.0, f64::max),
        by_chance: f64::from(n_shared) / n_others as f64,
    };
    let (terms, telling) = words.iter().map(|word| (word.term.clone(), word.relative_idf)).unzip();
    SharedWords { terms, telling, stats, ..SharedWords::default() }
}

/// Adds every note with a name among `words`, which are those of a text of `seed_id`; returns the sections with such a name.
fn named(
    query: &PreparedQuery<'_>,
    seed_id: NoteId,
    words: &[String],
    joints: &mut NoteMap<Joint>,
) -> Result<NoteMap<Vec<(usize, Name)>>, EngineError> {
    let mut named_sections: NoteMap<Vec<(usize, Name)>> = NoteMap::default();
    let mut found = query.snapshot.keyword.named_in_text(words)?;
    for named in &mut found {
        named.notes.retain(|id| *id != seed_id && query.passes(*id));
        named.sections.retain(|(id, _)| *id != seed_id && query.passes(*id));
    }
    found.retain(|named| !named.notes.is_empty() || !named.sections.is_empty());
    let n_others = found.len().saturating_sub(1);
    for NamedInText { notes, sections, telling } in found {
        let n_named = n_others + notes.len() + sections.len();
        let name = Name { telling, n_named: u32::try_from(n_named).unwrap_or(u32::MAX) };
        for id in notes {
            let joint = joints.entry(id).or_default();
            joint.name = joint.name.or(name);
        }
        for (id, first) in sections {
            let joint = joints.entry(id).or_default();
            joint.section = joint.section.or(name);
            named_sections.entry(id).or_default().push((first, name));
        }
    }
    Ok(named_sections)
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
        for (at, length) in keyword.lengths(&ids).into_iter().enumerate() {
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
