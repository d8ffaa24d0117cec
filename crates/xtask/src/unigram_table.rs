//! Builds the compact table of a unigram tokenizer from its `tokenizer.json`.
//!
//! The table is read in place, without a copy, by `crates/indexer/src/embed/unigram_tokenizer.rs`, which describes the format.

use std::path::Path;

use anyhow::{Context as _, ensure};
use base64::Engine as _;
use serde::Deserialize;
use serde_json::Value;

/// First bytes of a table, which state its format.
const MAGIC: &[u8; 16] = b"weft-unigram-1\0\0";

/// Marks a unit that holds the number of a piece; no label has this bit.
const VALUE: u32 = 1 << 31;

/// Marks a unit whose node ends a piece.
const ENDS_PIECE: u32 = 1 << 8;

/// Number of bits below the base of a unit: the label and [`ENDS_PIECE`].
const BASE_SHIFT: u32 = 9;

/// Units that share all higher bits of their position; a node and its siblings stay in one block.
const BLOCK: usize = 256;

/// Number of last blocks in which room is searched. Earlier ones are nearly full, and searching them takes quadratic time.
const OPEN_BLOCKS: usize = 32;

/// The parts of a `tokenizer.json` that the table holds or that the reader assumes.
#[derive(Deserialize)]
struct TokenizerFile {
    added_tokens: Vec<AddedToken>,
    normalizer: Value,
    pre_tokenizer: Value,
    model: UnigramModel,
}

#[derive(Deserialize)]
struct AddedToken {
    id: u32,
    content: String,
}

#[derive(Deserialize)]
struct UnigramModel {
    #[serde(rename = "type")]
    kind: String,
    unk_id: u32,
    byte_fallback: bool,
    vocab: Vec<(String, f64)>,
}

/// Reads the `tokenizer.json` at `source` and writes its table to `target`.
pub(crate) fn write(source: &Path, target: &Path) -> anyhow::Result<()> {
    let json =
        std::fs::read(source).with_context(|| format!("cannot read {}", source.display()))?;
    let file: TokenizerFile = serde_json::from_slice(&json)
        .with_context(|| format!("{} is not a unigram tokenizer", source.display()))?;
    let table = table(&file).with_context(|| source.display().to_string())?;
    println!("{} pieces, {} bytes", file.model.vocab.len(), table.len());
    std::fs::write(target, table).with_context(|| format!("cannot write {}", target.display()))
}

/// Returns the table: header, units of the double array, scores, and the character map of the normalizer.
fn table(file: &TokenizerFile) -> anyhow::Result<Vec<u8>> {
    let TokenizerFile { added_tokens, normalizer, pre_tokenizer, model } = file;
    let added: Vec<(u32, &str)> =
        added_tokens.iter().map(|token| (token.id, token.content.as_str())).collect();
    let expected = [(0, "<s>"), (1, "<pad>"), (2, "</s>"), (3, "<unk>")];
    ensure!(added == expected, "its added tokens are not those of XLM-R: {added:?}");
    ensure!(model.kind == "Unigram" && model.unk_id == 3 && !model.byte_fallback, "unknown model");
    ensure!(
        pre_tokenizer["type"] == "Metaspace"
            && pre_tokenizer["prepend_scheme"] == "always"
            && pre_tokenizer["split"] == true,
        "its words are not split at spaces: {pre_tokenizer}"
    );
    let steps = normalizer["normalizers"].as_array().context("its normalizer is no sequence")?;
    let [map, collapse] = steps.as_slice() else { anyhow::bail!("its normalizer is unknown") };
    ensure!(
        collapse["pattern"]["Regex"] == " {2,}" && collapse["content"] == " ",
        "it does not collapse spaces: {collapse}"
    );
    let map = map["precompiled_charsmap"].as_str().context("it has no character map")?;
    let map = base64::engine::general_purpose::STANDARD.decode(map)?;

    let mut pieces = Vec::with_capacity(model.vocab.len());
    let mut scores = Vec::with_capacity(4 * model.vocab.len());
    for (id, (piece, score)) in model.vocab.iter().enumerate() {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the next line ensures that it is exact"
        )]
        let single = *score as f32;
        ensure!(f64::from(single).total_cmp(score).is_eq(), "the score of {piece} is not single");
        ensure!(!piece.is_empty() && !piece.contains('\0'), "the piece {id} cannot be stored");
        scores.extend_from_slice(&single.to_le_bytes());
        pieces.push((piece.as_bytes(), u32::try_from(id)?));
    }
    pieces.sort_unstable();
    ensure!(pieces.windows(2).all(|two| two[0].0 != two[1].0), "two pieces are equal");
    let units = DoubleArray::build(&pieces)?;

    let mut table = MAGIC.to_vec();
    for length in [units.len(), pieces.len(), map.len()] {
        table.extend_from_slice(&u32::try_from(length)?.to_le_bytes());
    }
    table.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
    table.extend(scores);
    table.extend(map);
    Ok(table)
}

/// A double array under construction: a trie in which the child of a node by byte `b` is the unit at `base ^ b`.
///
/// Source: Aoe, "An Efficient Digital Search Algorithm by Using a Double-Array Structure", 1989, in the compact form of Yata's darts-clone, where a unit states only its label: no two nodes have the same base.
struct DoubleArray {
    units: Vec<u32>,
    is_taken: Vec<bool>,
    is_base: Vec<bool>,
}

impl DoubleArray {
    /// Returns the units of the trie over sorted, distinct `pieces`.
    fn build(pieces: &[(&[u8], u32)]) -> anyhow::Result<Vec<u32>> {
        let mut array = Self { units: Vec::new(), is_taken: Vec::new(), is_base: Vec::new() };
        array.grow();
        array.is_taken[0] = true;
        array.place(pieces, 0, 0)?;
        Ok(array.units)
    }

    fn grow(&mut self) {
        let n = self.units.len() + BLOCK;
        self.units.resize(n, 0);
        self.is_taken.resize(n, false);
        self.is_base.resize(n, false);
    }

    /// Places the children of the node at `node`, whose `pieces` share their first `depth` bytes.
    fn place(&mut self, pieces: &[(&[u8], u32)], depth: usize, node: usize) -> anyhow::Result<()> {
        // A piece that ends here sorts first; its number is the child by byte 0, which no piece contains.
        let label = |piece: &[u8]| piece.get(depth).copied().unwrap_or(0);
        let groups: Vec<&[(&[u8], u32)]> =
            pieces.chunk_by(|one, other| label(one.0) == label(other.0)).collect();
        let labels: Vec<u8> = groups.iter().map(|group| label(group[0].0)).collect();
        let base = self.room(&labels);
        self.is_base[base] = true;
        let ends = if labels[0] == 0 { ENDS_PIECE } else { 0 };
        let stored = u32::try_from(base)?;
        ensure!(stored < 1 << (31 - BASE_SHIFT), "the vocabulary is too large");
        self.units[node] |= stored << BASE_SHIFT | ends;
        for label in &labels {
            let at = base ^ usize::from(*label);
            self.is_taken[at] = true;
            self.units[at] = u32::from(*label);
        }
        for (label, group) in labels.into_iter().zip(groups) {
            let at = base ^ usize::from(label);
            if label == 0 {
                self.units[at] = VALUE | group[0].1;
            } else {
                self.place(group, depth + 1, at)?;
            }
        }
        Ok(())
    }

    /// Returns the first unused base whose children by `labels` are all free.
    fn room(&mut self, labels: &[u8]) -> usize {
        let first = self.units.len().saturating_sub(BLOCK * OPEN_BLOCKS);
        let is_room = |base: &usize| {
            !self.is_base[*base]
                && labels.iter().all(|label| !self.is_taken[base ^ usize::from(*label)])
        };
        if let Some(base) = (first..self.units.len()).find(is_room) {
            return base;
        }
        let base = self.units.len();
        self.grow();
        base
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the numbers of the pieces that are prefixes of `text`, shortest first.
    fn prefixes(units: &[u32], text: &[u8]) -> Vec<u32> {
        let base = |unit: u32| ((unit & !VALUE) >> BASE_SHIFT) as usize;
        let (mut unit, mut found) = (units[0], Vec::new());
        for byte in text {
            unit = units[base(unit) ^ usize::from(*byte)];
            if unit & (VALUE | 0xff) != u32::from(*byte) {
                break;
            }
            if unit & ENDS_PIECE != 0 {
                found.push(units[base(unit)] & !VALUE);
            }
        }
        found
    }

    #[test]
    fn trie_finds_every_prefix_and_nothing_else() {
        let pieces: Vec<String> =
            (1..4000_u32).map(|n| format!("{:x}", n * 7919 % 65_537)).collect();
        let mut sorted: Vec<(&[u8], u32)> =
            (0..).zip(&pieces).map(|(id, piece)| (piece.as_bytes(), id)).collect();
        sorted.sort_unstable();
        let units = DoubleArray::build(&sorted).unwrap();
        for text in (0..70_000_u32).map(|n| format!("{n:x}")) {
            let mut expected: Vec<(usize, u32)> = (1..=text.len())
                .filter_map(|end| {
                    let at = sorted.binary_search_by_key(&&text.as_bytes()[..end], |one| one.0);
                    at.ok().map(|at| (end, sorted[at].1))
                })
                .collect();
            expected.sort_unstable();
            let expected: Vec<u32> = expected.into_iter().map(|(_, id)| id).collect();
            assert_eq!(prefixes(&units, text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn foreign_tokenizer_is_refused() {
        let json = r#"{"added_tokens": [], "normalizer": null, "pre_tokenizer": null, "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": false, "vocab": []}}"#;
        let file: TokenizerFile = serde_json::from_str(json).unwrap();
        assert!(table(&file).unwrap_err().to_string().contains("added tokens"));
    }
}
