//! A second implementation of the ranking recipe, in plain loops over whole notes: the expected results of profile `bridge`.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use weft_index::embedder::{Embedder as _, Role};
use weft_index::keyword::{Analyzer, Language};
use weft_index::vector::{RowId, VectorSearch as _};

use crate::vault::{Directions, Vault};

/// Expected values of a note.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    pub(crate) similarity: f64,
    pub(crate) activation: f64,
}

struct Doc {
    words: BTreeMap<String, f64>,
    length: f64,
    names: Vec<Vec<String>>,
    body: Vec<String>,
    outgoing: BTreeSet<String>,
    /// The cosines of its chunks as computed by the index: other rounding would reorder ties.
    cosines: Vec<f32>,
}

/// Returns the similarity and activation of every note, by uri.
pub(crate) fn recipe(vault: &Vault, query: &str) -> BTreeMap<String, Expected> {
    let mut analyzer = Analyzer::new();
    let mut words = |text: &str| analyzer.words(text, Language::English);
    let notes = &vault.snapshot.notes;
    let graph = notes.graph();
    let embedded =
        Directions::new().embed(&[query], Role::Query).expect("it never fails").remove(0);
    let mut docs: BTreeMap<String, Doc> = BTreeMap::new();
    for (id, entry) in notes.by_path() {
        let mut all = words(&entry.note.title);
        for alias in &entry.note.aliases {
            all.extend(words(alias));
        }
        let body = words(&entry.body);
        all.extend(body.iter().cloned());
        let length = all.len() as f64;
        let others = entry.other_names();
        for name in &others {
            all.extend(words(name));
        }
        let mut counts: BTreeMap<String, f64> = BTreeMap::new();
        for word in &all {
            *counts.entry(word.clone()).or_default() += 1.0;
        }
        let title = entry.note.title.split(" (").next().unwrap_or_default();
        let names =
            [title].into_iter().chain(entry.note.aliases.iter().map(String::as_str)).chain(others);
        let cosines = vault.snapshot.vectors.iter().flat_map(|vectors| {
            let rows: Vec<RowId> = vectors.rows.of(id).iter().flatten().copied().collect();
            vectors.index.similarities(&embedded, &rows).expect("they are its rows")
        });
        let doc = Doc {
            length,
            words: counts,
            body,
            names: names.map(&mut words).filter(|name| !name.is_empty()).collect(),
            outgoing: graph
                .outgoing(id)
                .iter()
                .map(|half| graph.uri(half.other).to_string())
                .collect(),
            cosines: cosines.collect(),
        };
        docs.insert(graph.uri(id).to_string(), doc);
    }

    let n = docs.len() as f64;
    let average = docs.values().map(|doc| doc.length).sum::<f64>() / n;
    let df = |word: &str| docs.values().filter(|doc| doc.words.contains_key(word)).count() as f64;
    let idf = |word: &str| (1.0 + (n - df(word) + 0.5) / (df(word) + 0.5)).ln();
    let greatest = (1.0 + (n + 0.5) / 0.5).ln();
    let sat = |doc: &Doc, word: &str| {
        let tf = doc.words.get(word).copied().unwrap_or(0.0);
        tf / (tf + 1.2 * (0.25 + 0.75 * doc.length / average))
    };

    let asked = words(query);
    let distinct: BTreeSet<&String> = asked.iter().collect();
    let mut weights: BTreeMap<&str, f64> = BTreeMap::new();
    for word in asked.iter().filter(|word| df(word) > 0.0) {
        *weights.entry(word).or_default() += idf(word);
    }
    let attainable: f64 = weights.values().sum();

    // The runs of words that are names, longest first, with the notes of that name.
    let named = |words: &[String]| {
        let mut found: Vec<(Vec<String>, Vec<&String>)> = Vec::new();
        let mut used = vec![false; words.len()];
        for len in (1..=words.len()).rev() {
            for start in 0..=words.len() - len {
                let run = &words[start..start + len];
                let has_name = |doc: &Doc| doc.names.iter().any(|name| name == run);
                let notes = docs.iter().filter(|(_, doc)| has_name(doc)).map(|(uri, _)| uri);
                let notes: Vec<&String> = notes.collect();
                if !notes.is_empty() && !used[start..start + len].contains(&true) {
                    used[start..start + len].fill(true);
                    found.push((run.to_vec(), notes));
                }
            }
        }
        found
    };
    let mut mentions: HashMap<&String, f64> = HashMap::new();
    for (run, notes) in named(&asked) {
        let telling = |word: &&String| if df(word) > 0.0 { idf(word) } else { greatest };
        let own: BTreeSet<&String> = run.iter().collect();
        let share =
            own.iter().map(telling).sum::<f64>() / distinct.iter().map(telling).sum::<f64>();
        for uri in notes {
            let known = mentions.entry(uri).or_default();
            *known = known.max(share);
        }
    }

    let similarity: BTreeMap<&String, f64> = docs
        .iter()
        .map(|(uri, doc)| {
            let lex = weights.iter().map(|(word, weight)| weight * sat(doc, word)).sum::<f64>();
            let lex = if attainable > 0.0 { lex / attainable } else { 0.0 };
            let vec = doc.cosines.iter().copied().map(f64::from).fold(0.0, f64::max);
            let base = 0.5 * lex + 0.5 * vec;
            (uri, base + mentions.get(uri).unwrap_or(&0.0) * (1.0 - base))
        })
        .collect();
    let mut heads: Vec<&String> = docs.keys().filter(|uri| similarity[uri] > 0.0).collect();
    heads.sort_by(|a, b| similarity[b].total_cmp(&similarity[a]).then(a.cmp(b)));
    let cover = |doc: &Doc, word: &str| (2.0 * sat(doc, word)).min(1.0);
    let remainder = |u: &Doc, x: &Doc| {
        let left: f64 = weights.iter().map(|(word, weight)| weight * (1.0 - cover(u, word))).sum();
        let answered: f64 = weights
            .iter()
            .map(|(word, weight)| weight * (1.0 - cover(u, word)) * cover(x, word))
            .sum();
        if left > 1e-6 { answered / left } else { 0.0 }
    };

    let mut expected: BTreeMap<String, Expected> = similarity
        .iter()
        .map(|(uri, similarity)| {
            ((*uri).clone(), Expected { similarity: *similarity, activation: 0.0 })
        })
        .collect();
    for (rank, u) in heads.iter().take(5).enumerate() {
        let head = &docs[*u];
        let mut neighbors: BTreeSet<&String> = head.outgoing.iter().collect();
        neighbors
            .extend(docs.iter().filter(|(_, doc)| doc.outgoing.contains(*u)).map(|(uri, _)| uri));
        neighbors.remove(*u);
        let cap = (0.02 * n).clamp(3.0, 30.0);
        let mut telling: Vec<&String> = head
            .words
            .keys()
            .filter(|word| !distinct.contains(word) && (2.0..=cap).contains(&df(word)))
            .collect();
        telling.sort_by(|a, b| {
            (sat(head, b) * idf(b)).total_cmp(&(sat(head, a) * idf(a))).then(a.cmp(b))
        });
        telling.truncate(20);
        let kin = |x: &String, doc: &Doc| {
            let shared = telling.iter().filter(|_| x != *u && rank < 3);
            let doubt = shared.map(|word| 1.0 - (sat(doc, word) * idf(word) / greatest).min(0.99));
            1.0 - doubt.product::<f64>()
        };
        let greatest_kin = docs.iter().map(|(x, doc)| kin(x, doc)).fold(0.0, f64::max);
        let by_chance = telling.iter().map(|word| df(word) - 1.0).sum::<f64>() / (n - 1.0).max(1.0);
        let mut names = if rank < 3 { named(&head.body) } else { Vec::new() };
        names.iter_mut().for_each(|(_, notes)| notes.retain(|uri| uri != u));
        names.retain(|(_, notes)| !notes.is_empty());
        for (x, doc) in docs.iter().filter(|(x, _)| x != u) {
            let rest = remainder(head, doc);
            let worth = 2.0 * (0.4 + rest).min(1.0);
            let of_name = |(run, notes): &(Vec<String>, Vec<&String>)| {
                let telling = run.iter().map(|word| idf(word)).sum::<f64>() / greatest;
                let n_named = (names.len() - 1 + notes.len()) as f64;
                (worth * telling.min(1.0) / (2.0 + n_named).log2()).min(0.95)
            };
            let names = names.iter().filter(|(_, notes)| notes.contains(&x)).map(of_name);
            let mut link = names.fold(0.0, f64::max);
            if neighbors.contains(x) {
                let d = if head.outgoing.contains(x) { 1.0 } else { 0.7 };
                let degree = neighbors.len() as f64;
                link = link.max((worth * d / (2.0 + degree).log2()).min(0.95));
            }
            let mut keep = 1.0 - link;
            let kin = kin(x, doc).powi(2) / greatest_kin.max(1e-300);
            if kin > 0.02 {
                keep *= 1.0 - (2.5 * (-2.0 * by_chance).exp() * kin * rest).min(0.95);
            }
            let gap = (similarity[*u] - similarity[x]).max(0.0);
            if let Some(expected) = expected.get_mut(x) {
                expected.activation = expected.activation.max((1.0 - keep) * gap);
            }
        }
    }
    expected
}
