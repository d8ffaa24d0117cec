//! Compares the index with plain arithmetic.

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use weft_model::{NoteBits, NoteId, NoteSet};

use super::vector_file::BLOCK_ROWS;
use super::*;
use crate::disk::Disk;

/// A seeded generator (SplitMix64), for reproducible vectors.
struct Seeded(u64);

impl Seeded {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Uniform in `-1.0..1.0`.
    fn component(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1_u32 << 23) as f32 - 1.0
    }

    fn vector(&mut self, dimension: usize) -> Vec<f32> {
        (0..dimension).map(|_| self.component()).collect()
    }
}

fn unit(vector: &[f32]) -> Vec<f32> {
    let norm = vector.iter().map(|value| value * value).sum::<f32>().sqrt().max(1e-9);
    vector.iter().map(|value| value / norm).collect()
}

/// `n` unit vectors around `n_clusters` centers; the same centers for every `seed`.
fn clustered(n: usize, dimension: usize, n_clusters: usize, seed: u64) -> Vec<Vec<f32>> {
    let mut random = Seeded(1);
    let centers: Vec<Vec<f32>> = (0..n_clusters).map(|_| random.vector(dimension)).collect();
    let mut random = Seeded(seed);
    (0..n)
        .map(|_| {
            let center = &centers[usize::try_from(random.next() % n_clusters as u64).unwrap()];
            let noisy: Vec<f32> = center.iter().map(|value| value + random.component()).collect();
            unit(&noisy)
        })
        .collect()
}

/// Three rows per note.
fn note_of(row: usize) -> NoteId {
    NoteId::new(u32::try_from(row / 3).unwrap())
}

fn filled(vectors: &[Vec<f32>], params: VectorParams) -> VectorWriter {
    let mut writer = VectorWriter::in_memory(vectors[0].len(), params).unwrap();
    append(&mut writer, vectors);
    writer
}

fn append(writer: &mut VectorWriter, vectors: &[Vec<f32>]) -> Vec<RowId> {
    let first = writer.publish().n_rows();
    let rows: Vec<_> = (first..).map(note_of).zip(vectors.iter().map(Vec::as_slice)).collect();
    writer.append(&rows).unwrap()
}

fn row(index: usize) -> RowId {
    RowId::new(u32::try_from(index).unwrap())
}

/// The best `k` in 64-bit arithmetic among all live rows that pass.
fn naive(index: &VectorIndex, query: &[f32], k: usize, filter: &NoteSet) -> Vec<(RowId, f64)> {
    let mut scored: Vec<(RowId, f64)> = (0..index.n_rows())
        .map(row)
        .filter(|&row| index.owner(row).is_some_and(|note| filter.contains(note)))
        .map(|row| {
            let vector = index.vector(row).unwrap();
            (
                row,
                vector
                    .iter()
                    .zip(query)
                    .map(|(&left, &right)| f64::from(left) * f64::from(right))
                    .sum(),
            )
        })
        .collect();
    scored.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
    scored.truncate(k);
    scored
}

/// Scores, order and owners must match up to rounding; rows may differ only for scores that are equal up to rounding.
fn assert_exact(index: &VectorIndex, query: &[f32], k: usize, filter: &NoteSet) {
    let hits = index.nearest(query, k, filter).unwrap();
    let expected = naive(index, query, k, filter);
    assert_eq!(hits.len(), expected.len());
    for (hit, (row, score)) in hits.iter().zip(&expected) {
        assert!((f64::from(hit.score) - score).abs() < 1e-5, "{hit:?} instead of {row:?} {score}");
        assert_eq!(index.owner(hit.row), Some(hit.note));
        assert!(filter.contains(hit.note));
    }
    let in_order = |pair: &[ChunkHit]| {
        pair[0].score > pair[1].score
            || (pair[0].score >= pair[1].score && pair[0].row < pair[1].row)
    };
    assert!(hits.windows(2).all(in_order), "{hits:?}");
}

/// Walks the graph for any number of rows.
fn walking(ef: usize) -> VectorParams {
    VectorParams {
        exact_below: 0,
        exact_filter: 0,
        ef,
        graph: GraphParams { ef_construction: 40, ..GraphParams::default() },
    }
}

fn recall(index: &VectorIndex, queries: &[Vec<f32>], filter: &NoteSet) -> f64 {
    let (mut n_found, mut n_wanted) = (0, 0);
    for query in queries {
        let hits = index.nearest(query, 10, filter).unwrap();
        let expected = naive(index, query, 10, filter);
        n_wanted += expected.len();
        n_found +=
            expected.iter().filter(|(row, _)| hits.iter().any(|hit| hit.row == *row)).count();
    }
    n_found as f64 / n_wanted as f64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn small_indexes_are_exact(
        seed in any::<u64>(),
        n in 1_usize..1_800,
        dimension in 1_usize..140,
        n_clusters in 1_usize..9,
        k in 0_usize..40,
        keep in 1_u64..4,
    ) {
        let mut vectors = clustered(n, dimension, n_clusters, seed);
        // Equal rows, a zero row, and one with an outlier component.
        vectors[n / 2] = vectors[0].clone();
        vectors[n / 3] = vec![0.0; dimension];
        vectors[n / 4] = unit(&(0..dimension).map(|at| if at == 0 { 1.0 } else { 1e-3 }).collect::<Vec<_>>());
        let mut writer = filled(&vectors, VectorParams::default());
        let mut random = Seeded(seed);
        let deleted: Vec<RowId> = (0..n).map(row).filter(|_| random.next() % 4 >= keep).collect();
        assert_eq!(writer.delete(&deleted).unwrap(), deleted.len());
        let index = writer.publish();
        prop_assert_eq!(index.n_live(), n - deleted.len());
        let some: NoteSet = (0..n / 3 + 1).map(|note| note_of(note * 3)).filter(|_| random.next().is_multiple_of(2)).collect();
        for query in clustered(3, dimension, n_clusters, seed ^ 1).iter().chain(vectors.first()) {
            assert_exact(&index, query, k, &NoteSet::All);
            assert_exact(&index, query, k, &some);
        }
    }
}

#[test]
fn five_thousand_rows_are_exact() {
    let vectors = clustered(5_000, 96, 40, 2);
    let index = filled(&vectors, VectorParams::default()).publish();
    let few: NoteSet = [3, 4, 900].map(NoteId::new).into_iter().collect();
    for query in &clustered(12, 96, 40, 3) {
        assert_exact(&index, query, 10, &NoteSet::All);
        assert_exact(&index, query, 300, &NoteSet::All);
        assert_exact(&index, query, 10, &few);
    }
}

#[test]
fn rows_added_after_the_graph_are_searched_exactly() {
    let (n_graph, n_tail) = (700, 900);
    let vectors = clustered(n_graph + n_tail, 100, 12, 21);
    let (before, tail) = vectors.split_at(n_graph);
    let mut writer = filled(before, walking(1_000));
    writer.attach(Arc::new(writer.publish().build_graph())).unwrap();
    append(&mut writer, tail);
    // Most of the first rows of the tail are deleted, so that the sample is mostly dead rows.
    let deleted = (n_graph..n_graph + 300).filter(|at| at % 5 != 0).map(row).collect::<Vec<_>>();
    writer.delete(&deleted).unwrap();
    let index = writer.publish();
    let notes = |passes: &dyn Fn(usize) -> bool| -> NoteSet {
        (0..vectors.len()).filter(|at| passes(at / 3)).map(note_of).collect()
    };
    let filters = [
        ("all", NoteSet::All),
        ("two thirds", notes(&|note| note % 3 != 0)),
        ("none of the tail", notes(&|note| note < 200)),
        ("the tail alone", notes(&|note| note > 240)),
    ];
    for (name, filter) in &filters {
        for query in &clustered(6, 100, 12, 22) {
            for k in [1, 2, 20, 28, 200] {
                let hits = index.nearest(query, k, filter).unwrap();
                let of_tail = |row: &RowId| row.index() >= n_graph;
                let found: Vec<RowId> = hits.iter().map(|hit| hit.row).filter(of_tail).collect();
                let expected = naive(&index, query, k, filter).into_iter().map(|(row, _)| row);
                let expected: Vec<RowId> = expected.filter(of_tail).collect();
                let missing = expected.iter().filter(|row| !found.contains(row)).count();
                assert_eq!((hits.len(), missing), (k, 0), "{name}, {k}");
            }
        }
    }
}

/// A row whose score is entirely in the error of its half-codes is found after others that score higher by half-codes.
#[test]
fn half_code_error_is_within_the_bound() {
    let dimension = 384;
    let mut random = Seeded(11);
    let best = unit(&random.vector(dimension));
    // Half-codes as in `row_block`, in plain arithmetic.
    let step = 0.3352 / (dimension as f32).sqrt();
    let left_out = |value: &f32| {
        let code = (value / step + 7.5).round().clamp(0.0, 15.0);
        value - (code - 7.5) * step
    };
    let query = unit(&best.iter().map(left_out).collect::<Vec<_>>());
    let dot = |left: &[f32], right: &[f32]| left.iter().zip(right).map(|(l, r)| l * r).sum::<f32>();
    let score = dot(&best, &query);
    let mut with_score = |score: f32| {
        let other = random.vector(dimension);
        let along = dot(&other, &query);
        let beside: Vec<f32> =
            other.iter().zip(&query).map(|(value, query)| value - along * query).collect();
        let beside = unit(&beside).into_iter().zip(&query);
        let part = (1.0 - score * score).sqrt();
        unit(&beside.map(|(beside, query)| beside * part + query * score).collect::<Vec<_>>())
    };
    let mut vectors: Vec<_> = (0..600).map(|_| with_score(score - 0.04)).collect();
    vectors[7] = with_score(score - 0.003);
    vectors[300] = best;
    let index = filled(&vectors, VectorParams::default()).publish();
    let hits = index.nearest(&query, 1, &NoteSet::All).unwrap();
    assert_eq!(hits.iter().map(|hit| hit.row).collect::<Vec<_>>(), [row(300)]);
}

#[test]
fn equal_scores_are_ordered_by_row() {
    let vectors = vec![unit(&[1.0, 2.0, 3.0]); 1_200];
    let index = filled(&vectors, VectorParams::default()).publish();
    let hits = index.nearest(&vectors[0], 5, &NoteSet::All).unwrap();
    assert_eq!(hits.iter().map(|hit| hit.row.get()).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}

#[test]
fn invalid_vectors_and_rows_are_refused() {
    let mut writer = filled(&clustered(10, 8, 2, 1), VectorParams::default());
    let index = writer.publish();
    let nearest = |query: &[f32]| index.nearest(query, 3, &NoteSet::All);
    assert!(matches!(nearest(&[1.0; 7]), Err(VectorError::Dimension { expected: 8, got: 7 })));
    for wrong in [f32::NAN, f32::INFINITY, f32::MAX] {
        assert!(matches!(nearest(&[wrong; 8]), Err(VectorError::QueryNotFinite)));
    }
    assert!(matches!(
        index.similarities(&[0.1; 8], &[row(3), row(10)]),
        Err(VectorError::UnknownRow { row: 10, n_rows: 10 })
    ));
    let (good, note) = (unit(&[1.0; 8]), NoteId::new(7));
    for wrong in [vec![0.5; 8], vec![f32::NAN; 8]] {
        let result = writer.append(&[(note, &good), (note, &wrong)]);
        assert!(matches!(result, Err(VectorError::InvalidNorm { at: 1, .. })));
    }
    assert!(matches!(writer.append(&[(note, &good[1..])]), Err(VectorError::Dimension { .. })));
    assert!(matches!(writer.delete(&[row(0), row(10)]), Err(VectorError::UnknownRow { .. })));
    assert!(matches!(
        VectorWriter::in_memory(0, VectorParams::default()),
        Err(VectorError::UnsupportedDimension { .. })
    ));
    assert_eq!((writer.publish().n_rows(), writer.publish().n_live()), (10, 10));
    assert!(
        VectorWriter::in_memory(4, VectorParams::default())
            .unwrap()
            .publish()
            .nearest(&[0.5; 4], 9, &NoteSet::All)
            .unwrap()
            .is_empty()
    );
}

#[test]
fn similarities_equal_search_scores() {
    let vectors = clustered(600, 33, 4, 5);
    let mut writer = filled(&vectors, VectorParams::default());
    let hits = writer.publish().nearest(&vectors[9], 20, &NoteSet::All).unwrap();
    let rows: Vec<RowId> = hits.iter().map(|hit| hit.row).collect();
    writer.delete(&rows[..3]).unwrap();
    let scores = writer.publish().similarities(&vectors[9], &rows).unwrap();
    assert_eq!(scores, hits.iter().map(|hit| hit.score).collect::<Vec<_>>());
}

#[test]
fn published_states_are_immutable_and_share_blocks() {
    let vectors = clustered(BLOCK_ROWS * 4 + 100, 24, 6, 7);
    let (first, rest) = vectors.split_at(BLOCK_ROWS * 3 + 10);
    let mut writer = filled(first, VectorParams::default());
    let before = writer.publish();
    let answer = before.nearest(&vectors[0], 50, &NoteSet::All).unwrap();
    append(&mut writer, &rest[..1]);
    writer.delete(&[row(BLOCK_ROWS), row(BLOCK_ROWS), answer[0].row]).unwrap();
    let after = writer.publish();
    for block in 0..3 {
        assert!(Arc::ptr_eq(&before.blocks[block].codes, &after.blocks[block].codes), "{block}");
    }
    assert!(!Arc::ptr_eq(&before.blocks[3].codes, &after.blocks[3].codes));
    append(&mut writer, &rest[1..]);
    let last = writer.publish();
    assert!(Arc::ptr_eq(&after.blocks[2].codes, &last.blocks[2].codes));
    assert_eq!(before.nearest(&vectors[0], 50, &NoteSet::All).unwrap(), answer);
    assert_eq!(
        [before.n_live(), after.n_live(), last.n_live()],
        [first.len(), first.len() - 1, vectors.len() - 2]
    );
    assert_eq!(
        (before.owner(row(BLOCK_ROWS)), after.owner(row(BLOCK_ROWS))),
        (Some(note_of(BLOCK_ROWS)), None)
    );
}

#[test]
fn reopened_index_gives_the_same_results() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vec.f32");
    let vectors = clustered(1_400, 40, 5, 8);
    let mut writer =
        VectorWriter::create(&Disk::default(), &path, 40, VectorParams::default()).unwrap();
    append(&mut writer, &vectors[..1_300]);
    writer.delete(&[row(3), row(700)]).unwrap();
    writer.sync().unwrap();
    let published = writer.publish();
    // Appended but never published, so not valid after reopening.
    append(&mut writer, &vectors[1_300..]);
    drop(writer);

    let open = |n_rows, owners: Vec<Option<NoteId>>| {
        VectorWriter::open(&Disk::default(), &path, 40, n_rows, owners, VectorParams::default())
    };
    let owners: Vec<_> = published.owners().collect();
    let mut writer = open(1_300, owners.clone()).unwrap();
    let (reopened, query) = (writer.publish(), &vectors[1_350]);
    let nearest = |index: &VectorIndex| index.nearest(query, 30, &NoteSet::All).unwrap();
    assert_eq!(nearest(&reopened), nearest(&published));
    assert_eq!(reopened.owners().collect::<Vec<_>>(), owners);
    assert_eq!(append(&mut writer, &vectors[1_300..1_301]), [row(1_300)]);
    assert_eq!(writer.publish().vector(row(1_300)).unwrap(), vectors[1_300]);
    assert_eq!(nearest(&published), nearest(&reopened));

    assert!(matches!(
        open(1_300, owners[1..].to_vec()),
        Err(VectorError::OwnerCount { expected: 1_300, got: 1_299 })
    ));
    assert!(matches!(
        open(1_299, owners.clone()),
        Err(VectorError::OwnerCount { expected: 1_299, got: 1_300 })
    ));
    corrupt(&path, 700 * 192);
    assert!(open(1_300, owners.clone()).is_ok(), "row 700 is deleted");
    corrupt(&path, 701 * 192);
    assert!(matches!(open(1_300, owners), Err(VectorError::DamagedRow { row: 701, .. })));
}

/// Overwrites the float at offset `at` after the header with NaN.
fn corrupt(path: &Path, at: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[64 + at..64 + at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn row_checksum_extends_over_new_rows_and_detects_changes() {
    let vectors = clustered(700, 10, 3, 9);
    let mut writer = filled(&vectors[..600], VectorParams::default());
    let mut running = RowChecksum::default();
    let first = running.extend(&writer.publish(), 600);
    append(&mut writer, &vectors[600..]);
    let index = writer.publish();
    let all = running.extend(&index, 700);
    assert_eq!(all, RowChecksum::default().extend(&index, 700));
    assert_eq!(
        [running.extend(&index, 600), RowChecksum::default().extend(&index, 600)],
        [first; 2]
    );
    let bytes: Vec<u8> = vectors.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(all, crc32fast::hash(&bytes));
    let mut changed = vectors;
    changed[650][3] += 1e-6;
    let changed = filled(&changed, VectorParams::default()).publish();
    assert_ne!(all, RowChecksum::default().extend(&changed, 700));
}

#[test]
fn compaction_keeps_live_rows_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let vectors = clustered(1_200, 16, 4, 10);
    let mut writer = filled(&vectors, VectorParams::default());
    let deleted: Vec<RowId> =
        (0..1_200).filter(|at| at % 5 == 0 || (512..900).contains(at)).map(row).collect();
    writer.delete(&deleted).unwrap();
    let old = writer.publish();
    let (disk, path) = (Disk::default(), folder.path().join("vec.f32"));
    for file in [None, Some((&disk, path.as_path()))] {
        let (compacted, map) = writer.reorder(&writer.live_rows(), file).unwrap();
        let new = compacted.publish();
        assert_eq!((new.n_rows(), new.n_live()), (old.n_live(), old.n_live()));
        assert!(map.iter().flatten().is_sorted());
        for (at, to) in map.iter().enumerate() {
            assert_eq!(old.owner(row(at)), to.and_then(|to| new.owner(to)), "{at}");
            assert!(to.is_none_or(|to| new.vector(to) == old.vector(row(at))), "{at}");
        }
        let scores = |index: &VectorIndex| -> Vec<f32> {
            index
                .nearest(&vectors[1], 20, &NoteSet::All)
                .unwrap()
                .iter()
                .map(|hit| hit.score)
                .collect()
        };
        assert_eq!(scores(&new), scores(&old));
    }
}

#[test]
fn graph_walks_have_high_recall_and_are_deterministic() {
    const RECALL_FLOOR: f64 = 0.97;
    let vectors = clustered(3_000, 48, 30, 11);
    let queries = clustered(60, 48, 30, 12);
    let mut writer = filled(&vectors, walking(64));
    let before = writer.publish();
    assert!(before.needs_rebuild());
    let graph = Arc::new(before.build_graph());
    assert_eq!(*graph, before.build_graph(), "a rebuild gives the same graph");
    writer.attach(Arc::clone(&graph)).unwrap();
    let index = writer.publish();
    assert!(!index.needs_rebuild());
    assert!(before.is_exact() && !index.is_exact());
    let found = recall(&index, &queries, &NoteSet::All);
    assert!(found >= RECALL_FLOOR, "recall {found}");

    // Half of the notes, with a quarter of the rows deleted.
    let half: NoteSet = (0..3_000).step_by(6).map(note_of).collect();
    writer.delete(&(0..3_000).filter(|at| at % 4 == 1).map(row).collect::<Vec<_>>()).unwrap();
    let thinned = writer.publish();
    for filter in [&NoteSet::All, &half] {
        let found = recall(&thinned, &queries, filter);
        assert!(found >= RECALL_FLOOR, "recall {found} among {:?}", filter.len());
    }
    assert!(!thinned.needs_rebuild());

    // Rows added after the build are found exactly, together with those of the graph.
    append(&mut writer, &queries);
    let grown = writer.publish();
    for (query, at) in queries.iter().zip(3_000..) {
        let hits = grown.nearest(query, 10, &NoteSet::All).unwrap();
        assert_eq!(hits[0].row, row(at));
        assert!(hits.len() == 10 && hits.iter().all(|hit| grown.owner(hit.row).is_some()));
    }
    let answer = |index: &VectorIndex| index.nearest(&queries[5], 20, &half).unwrap();
    let expected = answer(&grown);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert_eq!(answer(&grown), expected));
        }
    });
    writer.delete(&(0..3_000).filter(|at| at % 7 == 0).map(row).collect::<Vec<_>>()).unwrap();
    assert!(writer.publish().needs_rebuild(), "more than three tenths are deleted");
}

#[test]
fn filter_far_from_the_query_falls_back_to_a_scan() {
    // Two clusters on opposite sides; the filter passes the one without the query.
    let mut random = Seeded(3);
    let vectors: Vec<Vec<f32>> = (0..3_000)
        .map(|at| {
            let mut vector = random.vector(16);
            vector[0] = if at < 1_500 { 9.0 } else { -9.0 };
            unit(&vector)
        })
        .collect();
    let mut writer = filled(&vectors, walking(8));
    let graph = Arc::new(writer.publish().build_graph());
    writer.attach(graph).unwrap();
    let far: NoteSet = NoteSet::Only((1_500..3_000).map(note_of).collect::<NoteBits>());
    assert_exact(&writer.publish(), &vectors[0], 10, &far);
}

#[test]
fn duplicate_vectors_do_not_disconnect_the_graph() {
    let mut vectors = clustered(600, 16, 3, 13);
    for copies in vectors.chunks_mut(200) {
        let first = copies[0].clone();
        copies[..150].fill(first);
    }
    let mut writer = filled(&vectors, walking(32));
    let graph = Arc::new(writer.publish().build_graph());
    writer.attach(graph).unwrap();
    let index = writer.publish();
    for (at, vector) in vectors.iter().enumerate() {
        let best = index.nearest(vector, 1, &NoteSet::All).unwrap()[0];
        assert!((best.score - 1.0).abs() < 1e-5, "{at}: {best:?}");
    }
}

#[test]
fn graph_of_other_rows_is_refused() {
    let vectors = clustered(300, 16, 3, 14);
    let index = filled(&vectors, walking(32)).publish();
    let graph = Arc::new(index.build_graph());
    assert!(index.with_graph(Arc::clone(&graph)).is_ok());
    let mut other = vectors.clone();
    other.swap(3, 200);
    for vectors in [&other, &vectors[..299].to_vec()] {
        let result = filled(vectors, walking(32)).attach(Arc::clone(&graph));
        assert!(matches!(result, Err(VectorError::GraphMismatch)));
    }
}

#[test]
fn copy_deleted_at_build_time_is_found() {
    let mut rows = clustered(60, 16, 3, 17);
    rows[40] = rows[3].clone();
    let dead = |row: u32| {
        let mut writer = filled(&rows, walking(32));
        writer.delete(&[RowId::new(row)]).unwrap();
        writer.publish()
    };
    let graph = Arc::new(dead(40).build_graph());
    assert_eq!(graph.n_live_at_build(), 59, "those alive");
    for (row, left) in [(40, 3), (3, 40)] {
        let index = dead(row).with_graph(Arc::clone(&graph)).unwrap();
        let hits = index.nearest(&rows[3], 1, &NoteSet::All).unwrap();
        assert_eq!(hits[0].row, RowId::new(left));
    }
}

/// A note deleted and restored between graph builds has its former row.
#[test]
fn graph_without_a_live_row_is_refused() {
    let rows = clustered(60, 16, 3, 17);
    let mut writer = filled(&rows, walking(32));
    let whole = writer.publish();
    writer.delete(&[RowId::new(7)]).unwrap();
    let graph = Arc::new(writer.publish().build_graph());
    assert!(matches!(whole.with_graph(Arc::clone(&graph)), Err(VectorError::GraphMismatch)));
    writer.attach(graph).unwrap();
    let graph = Arc::new(whole.build_graph());
    writer.attach(graph).unwrap();
}

#[test]
fn graph_with_other_links_per_row_needs_rebuild() {
    let index = filled(&clustered(100, 16, 3, 17), walking(32)).publish();
    let index = index.with_graph(Arc::new(index.build_graph())).unwrap();
    for (degree, expected) in [(GraphParams::default().degree, false), (40, true), (3, true)] {
        let graph = GraphParams { degree, ..walking(32).graph };
        let index = index.with_params(VectorParams { graph, ..walking(32) });
        assert_eq!(index.needs_rebuild(), expected, "{degree}");
    }
    // The minimum degree is used for any smaller parameter.
    let few = VectorParams { graph: GraphParams { degree: 3, ..walking(32).graph }, ..walking(32) };
    let index = index.with_params(few);
    let index = index.with_graph(Arc::new(index.build_graph())).unwrap();
    assert!(!index.needs_rebuild());
}

#[test]
fn small_and_empty_graphs_work() {
    for n in [1_usize, 2, 3, 20] {
        let vectors = clustered(n, 8, 2, 15);
        let mut writer = filled(&vectors, walking(4));
        writer.attach(Arc::new(writer.publish().build_graph())).unwrap();
        assert_exact(&writer.publish(), &vectors[0], n, &NoteSet::All);
        writer.delete(&(0..n).map(row).collect::<Vec<_>>()).unwrap();
        let empty = writer.publish();
        assert!(empty.nearest(&vectors[0], 3, &NoteSet::All).unwrap().is_empty());
        assert_eq!(empty.build_graph().n_live_at_build(), 0);
    }
    let parallel =
        VectorParams { graph: GraphParams { parallel: true, ..walking(32).graph }, ..walking(32) };
    let vectors = clustered(500, 16, 3, 16);
    let mut writer = filled(&vectors, parallel);
    writer.attach(Arc::new(writer.publish().build_graph())).unwrap();
    assert!(recall(&writer.publish(), &vectors[..50], &NoteSet::All) > 0.9);
}
