//! The immutable index: searches and row data.

use std::cmp::Ordering;
use std::sync::Arc;

use imbl::OrdSet;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use weft_model::settings::Problems;
use weft_model::{NoteId, NoteSet};

use super::frozen_graph::FrozenGraph;
use super::graph_params::GraphParams;
use super::row_block::{
    self, BlockCodes, CodePlane, Quantization, RowBits, RowBlock, RowCodes, positions,
};
use super::shortlist::{Shortlist, row_of, score_of, with_prefetch};
use super::simd::{self, HalfLane, Kernel, LANE, Lane};
use super::vector_file::{BLOCK_ROWS, to_u32};
use super::{ChunkHit, MAX_NORM, RowId, VectorError, VectorSearch, graph_search};

use crate::truncated_maps::{TruncatedFile, TruncationFlag};

/// Cost of a step of a graph walk, in scanned rows.
///
/// Measured at 100,000 rows of 384 dimensions, with filters that pass 5 to 60 %: a walk to 10 or to 200 rows costs as much as a scan if 15 to 20 %, or 25 to 30 %, pass.
const ROWS_PER_STEP: usize = 20;

/// Minimum rows per requested hit for which half-codes are scanned first: with fewer, too many rows would be read again.
///
/// Measured over texts of 384 dimensions: if 1, 2, 3 and 6 % of the rows are requested, half-codes leave 7, 13, 20 and 34 % as candidates.
const MIN_ROWS_PER_HIT: usize = 32;

/// One in this many upper bounds is sampled to estimate a threshold for the likely best rows.
const SAMPLE_INTERVAL: usize = 16;

/// Extra positions in the sample beyond twice the requested share, so that a small sample does not set the threshold too high.
const SAMPLE_MARGIN: usize = 4;

/// Rows scored per batch.
const BATCH_ROWS: usize = 8;

/// Parameters of vector searches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VectorParams {
    /// Maximum live rows for which every search is an exact scan: a third of a millisecond to one millisecond at 384 dimensions, depending on the machine.
    pub exact_below: usize,
    /// Maximum rows passing a filter for which the search is an exact scan.
    pub exact_filter: usize,
    /// Candidate list size of a graph walk, at least 1, before the allowance for deleted and filtered rows: a larger one finds more and takes longer.
    pub ef: usize,
    /// Parameters of the graph build.
    pub graph: GraphParams,
}

impl Default for VectorParams {
    fn default() -> Self {
        Self { exact_below: 50_000, exact_filter: 10_000, ef: 128, graph: GraphParams::default() }
    }
}

impl VectorParams {
    /// Returns the parameters that are out of range.
    #[must_use]
    pub fn problems(&self) -> Problems {
        let Self { exact_below: _, exact_filter: _, ef, graph } = *self;
        let mut problems = Problems::default();
        problems.at_least("ef", ef, 1);
        problems.section("graph", graph.problems());
        problems
    }
}

/// A published state of the vectors. Immutable; cloning shares everything.
#[derive(Clone, Debug)]
pub struct VectorIndex {
    pub(super) dimension: usize,
    pub(super) n_rows: usize,
    pub(super) n_live: usize,
    pub(super) blocks: Arc<[RowBlock]>,
    pub(super) graph: Option<Arc<FrozenGraph>>,
    /// Rows after those of a shared graph whose texts are in it: (row of the graph, that row).
    pub(super) copies: OrdSet<(u32, u32)>,
    pub(super) params: VectorParams,
    pub(super) kernel: Kernel,
    /// Raised once a missing part of the truncated file of the vectors is read.
    pub(super) truncation: TruncationFlag,
}

/// A query as floats and as codes.
struct EncodedQuery<'q> {
    floats: &'q [f32],
    lanes: Vec<Lane>,
    coded: Quantization,
    /// Error bound of a score, apart from the row's error.
    bound: f32,
    /// Factor of the row's error in the error bound.
    bound_factor: f32,
}

impl<'q> EncodedQuery<'q> {
    /// Quantizes `floats`.
    ///
    /// With `q̂`, `x̂` the codes of query and row: `|q·x − q̂·x̂| ≤ |q|·|x − x̂| + |q − q̂|·(|x| + |x − x̂|)`, plus a margin for rounding.
    fn new(kernel: Kernel, floats: &'q [f32]) -> Option<Self> {
        let mut lanes = vec![Lane::ZERO; floats.len().div_ceil(LANE)];
        let coded = row_block::encode(kernel, floats, &mut lanes)?;
        // Sums of n/32 products in each of 32 lanes, then five more additions: the errors add up to less than half of this.
        let rounding = (floats.len() as f32 / 16.0 + 16.0) * f32::EPSILON * coded.norm;
        let bound = coded.error * MAX_NORM + rounding;
        Some(Self { floats, lanes, coded, bound, bound_factor: coded.norm + coded.error })
    }

    /// Returns the approximate score of the row at `at`, whose product with the query's codes is `dot`, and its error bound.
    fn scored(&self, dot: i32, codes: &BlockCodes, at: usize) -> (f32, f32) {
        (self.score(dot, codes.whole.scales[at]), self.bound(codes.whole.errors[at]))
    }

    /// Returns the approximate score of a row of this scale, whose product with the query's codes is `dot`.
    fn score(&self, dot: i32, row_scale: f32) -> f32 {
        dot as f32 * (row_scale * self.coded.scale)
    }

    /// Writes to `uppers` the upper bounds of the scores of rows whose products with the query's codes are `dots`.
    fn fill_uppers<L>(&self, dots: &[i32], plane: &CodePlane<L>, uppers: &mut [f32]) {
        // Branch-free, so that it vectorizes.
        let known = dots.iter().zip(&plane.scales).zip(&plane.errors);
        for (upper, ((dot, scale), error)) in uppers.iter_mut().zip(known) {
            *upper = self.score(*dot, *scale) + self.bound(*error);
        }
    }

    /// Returns the error bound of the approximate score of a row with this error.
    fn bound(&self, row_error: f32) -> f32 {
        row_error * self.bound_factor + self.bound
    }
}

/// Rows that a search may return.
enum RowFilter {
    /// Every live row.
    AllLive,
    /// These rows, by block.
    Only(Vec<RowBits>),
}

impl VectorIndex {
    /// Fails if a missing part of the truncated file of the vectors was read.
    pub(crate) fn check_truncation(&self) -> Result<(), TruncatedFile> {
        self.truncation.check()
    }

    /// Returns the number of floats per vector.
    #[must_use]
    pub const fn dimension(&self) -> usize {
        self.dimension
    }

    /// Returns the number of rows, deleted ones included.
    #[must_use]
    pub const fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Returns the number of live rows.
    #[must_use]
    pub const fn n_live(&self) -> usize {
        self.n_live
    }

    /// Returns the search parameters.
    #[must_use]
    pub const fn params(&self) -> &VectorParams {
        &self.params
    }

    /// Returns this index with other search parameters.
    #[must_use]
    pub fn with_params(&self, params: VectorParams) -> Self {
        Self { params, ..self.clone() }
    }

    /// Returns the attached graph.
    #[must_use]
    pub const fn graph(&self) -> Option<&Arc<FrozenGraph>> {
        self.graph.as_ref()
    }

    /// Returns the vector of `row`, deleted or not; `None` if the row does not exist.
    #[must_use]
    pub fn vector(&self, row: RowId) -> Option<&[f32]> {
        (row.index() < self.n_rows).then(|| self.floats(row.get()))
    }

    /// Returns the note that owns `row`; `None` if the row is deleted or does not exist.
    #[must_use]
    pub fn owner(&self, row: RowId) -> Option<NoteId> {
        let (block, at) = (row.index() / BLOCK_ROWS, row.index() % BLOCK_ROWS);
        let block = self.blocks.get(block)?;
        row_block::is_set(&block.live, at).then(|| block.codes.owners[at])
    }

    /// Returns the owner of every row in order, `None` for deleted ones, as needed to reopen the index.
    pub fn owners(&self) -> impl Iterator<Item = Option<NoteId>> + '_ {
        (0..to_u32(self.n_rows)).map(|row| self.owner(RowId::new(row)))
    }

    /// True if every search scans all rows, so that its result is exact; otherwise it is exact if its filter passes few rows.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.walkable_graph().is_none()
    }

    /// Returns the graph if there are enough rows to walk it; a filter may still leave so few that they are scanned.
    fn walkable_graph(&self) -> Option<&FrozenGraph> {
        self.graph.as_deref().filter(|_| self.n_live > self.params.exact_below)
    }

    /// True if a graph, or a new one, would make searches faster.
    ///
    /// True if there are too many rows to scan and no graph, if the graph's links per row differ from the parameters, if more than 5,000 rows and more than a tenth of all were added since, or if three tenths of its rows are deleted.
    #[must_use]
    pub fn needs_rebuild(&self) -> bool {
        if self.n_live <= self.params.exact_below {
            return false;
        }
        let Some(graph) = &self.graph else { return true };
        let tail = self.n_rows - graph.n_rows() - self.copies.len();
        let living = self.n_live - self.n_live_from(graph.n_rows());
        graph.degree() != self.params.graph.links_per_row()
            || tail > (self.n_rows / 10).max(5_000)
            || (graph.n_live_at_build() - living) * 10 >= graph.n_live_at_build() * 3
    }

    /// Returns this index with `graph`, which must have been built from it or from an earlier version.
    pub fn with_graph(&self, graph: Arc<FrozenGraph>) -> Result<Self, VectorError> {
        self.check_graph(&graph)?;
        let blocks = self.blocks.iter().cloned();
        let blocks = blocks.map(|block| RowBlock { copies: RowBits::default(), ..block }).collect();
        Ok(Self { graph: Some(graph), copies: OrdSet::new(), blocks, ..self.clone() })
    }

    /// Fails unless `graph` was built from these rows and links to all live ones. `O(rows)`, eight bytes each.
    pub(super) fn check_graph(&self, graph: &FrozenGraph) -> Result<(), VectorError> {
        if graph.n_rows() > self.n_rows || graph.fingerprint() != self.fingerprint(graph.n_rows()) {
            return Err(VectorError::GraphMismatch);
        }
        // A note restored after the graph was built without it may own its former rows.
        let unlinked = graph.unlinked();
        let is_led_to = |row: u32| graph.links(row).next().is_some() || unlinked.contains(&row);
        let rows = self
            .blocks
            .iter()
            .zip((0..).step_by(BLOCK_ROWS))
            .flat_map(|(block, first)| positions(&block.live).map(move |at| first + at));
        let mut known = rows.take_while(|row| *row < graph.n_rows());
        let leads_to_all = known.all(|row| is_led_to(to_u32(row)));
        if leads_to_all { Ok(()) } else { Err(VectorError::GraphMismatch) }
    }

    /// Returns a checksum over the scales of the first `n_rows` rows' codes, which identifies a set of rows.
    pub(super) fn fingerprint(&self, n_rows: usize) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        for (block, first) in self.blocks.iter().zip((0..n_rows).step_by(BLOCK_ROWS)) {
            let scales = &block.codes.whole.scales[..BLOCK_ROWS.min(n_rows - first)];
            let bytes: Vec<u8> = scales.iter().flat_map(|scale| scale.to_le_bytes()).collect();
            hasher.update(&bytes);
        }
        hasher.finalize()
    }

    /// Returns the codes and the scale of a row.
    pub(super) fn codes(&self, row: u32) -> (&[Lane], f32) {
        self.row_codes().row(row)
    }

    /// Returns the codes of all rows.
    pub(super) fn row_codes(&self) -> RowCodes<'_> {
        RowCodes { blocks: &self.blocks, kernel: self.kernel }
    }

    /// Returns the number of live rows from row `first` on.
    fn n_live_from(&self, first: usize) -> usize {
        let blocks = first / BLOCK_ROWS..self.blocks.len();
        blocks.map(|at| row_block::count(&bits_from(&self.blocks[at].live, at, first))).sum()
    }

    fn query<'q>(&self, floats: &'q [f32]) -> Result<EncodedQuery<'q>, VectorError> {
        if floats.len() != self.dimension {
            return Err(VectorError::Dimension { expected: self.dimension, got: floats.len() });
        }
        EncodedQuery::new(self.kernel, floats).ok_or(VectorError::QueryNotFinite)
    }

    /// Returns the live rows that pass `filter`, and their number. `O(live rows)`, about 1 ns each; `O(1)` without a filter.
    fn eligible(&self, filter: &NoteSet) -> (RowFilter, usize) {
        let notes = match filter {
            NoteSet::All => return (RowFilter::AllLive, self.n_live),
            NoteSet::Only(notes) => notes,
        };
        let passing = |block: &RowBlock| {
            let mut bits = RowBits::default();
            for at in positions(&block.live).filter(|&at| notes.contains(block.codes.owners[at])) {
                bits[at / 64] |= 1 << (at % 64);
            }
            bits
        };
        let rows: Vec<RowBits> = self.blocks.iter().map(passing).collect();
        let n = rows.iter().map(row_block::count).sum();
        (RowFilter::Only(rows), n)
    }

    fn bits(&self, eligible: &RowFilter, block: usize) -> RowBits {
        match eligible {
            RowFilter::AllLive => self.blocks[block].live,
            RowFilter::Only(rows) => rows[block],
        }
    }

    /// Returns the graph if walking it to the best `n_wanted` rows is cheaper than scanning the `n` eligible ones.
    ///
    /// A walk takes `ef · rows / n` steps, a scan `n`: the costs are equal at `n² = ef · rows ·` [`ROWS_PER_STEP`].
    fn graph_for(&self, n: usize, n_wanted: usize) -> Option<&FrozenGraph> {
        let graph = self.walkable_graph()?;
        let filtered = n < self.n_live;
        let scan = filtered
            && (n <= self.params.exact_filter
                || n.saturating_mul(n) <= self.ef(n_wanted) * graph.n_rows() * ROWS_PER_STEP);
        (!scan).then_some(graph)
    }

    /// Returns the candidate list size of a walk to the best `n_wanted` rows if all are eligible.
    fn ef(&self, n_wanted: usize) -> usize {
        self.params.ef.max(2 * n_wanted)
    }

    /// Adds the results of a walk to the shortlist; returns false if these are fewer than `n_wanted` rows.
    fn walk(
        &self,
        graph: &FrozenGraph,
        query: &EncodedQuery<'_>,
        eligible: (&RowFilter, usize),
        n_wanted: usize,
        list: &mut Shortlist,
    ) -> bool {
        let (rows, n) = eligible;
        let ef = self.ef(n_wanted).saturating_mul(graph.n_rows()).div_ceil(n);
        let mut n_found = 0;
        for rank in
            graph_search::nearest(self.row_codes(), graph, &query.lanes, ef.min(graph.n_rows()))
        {
            let score = score_of(rank) * query.coded.scale;
            for row in self.rows_at(graph, row_of(rank)) {
                let (block, at) = (row as usize / BLOCK_ROWS, row as usize % BLOCK_ROWS);
                if row_block::is_set(&self.bits(rows, block), at) {
                    list.add(row, score, query.bound(self.blocks[block].codes.whole.errors[at]));
                    n_found += 1;
                }
            }
        }
        n_found >= n_wanted
    }

    /// Returns the rows that a walk finds at `row`: itself and its copies.
    fn rows_at(&self, graph: &FrozenGraph, row: u32) -> impl Iterator<Item = u32> {
        // A graph of this index alone has none.
        let copies = Some(&self.copies).filter(|copies| !copies.is_empty());
        graph.with_copies(row).flat_map(move |row| {
            let range = (row, 0)..=(row, u32::MAX);
            let later = copies.map(|copies| copies.range(range)).into_iter().flatten();
            std::iter::once(row).chain(later.map(|(_, copy)| *copy))
        })
    }

    /// Returns the eligible rows of a block that are scanned: all from row `first` on, and if that is not 0, none that a walk finds.
    fn scanned_bits(&self, eligible: &RowFilter, block: usize, first: usize) -> RowBits {
        let bits = bits_from(&self.bits(eligible, block), block, first);
        if first == 0 {
            return bits;
        }
        let copies = &self.blocks[block].copies;
        std::array::from_fn(|word| bits[word] & !copies[word])
    }

    /// Adds every eligible row from row `first` on that may be among the best to the shortlist; if that is not 0, none that a walk finds.
    fn scan(
        &self,
        query: &EncodedQuery<'_>,
        (rows, n): (&RowFilter, usize),
        first: usize,
        list: &mut Shortlist,
    ) {
        // Half-codes are read for all rows, so this pays off only if most of them are eligible.
        if n * 2 >= self.n_rows && list.k() * MIN_ROWS_PER_HIT <= self.n_rows - first {
            return self.scan_half_codes(query, rows, first, list);
        }
        let mut scanner = BlockScanner::default();
        for block in first / BLOCK_ROWS..self.blocks.len() {
            let rows = self.scanned_bits(rows, block, first);
            let codes = &self.blocks[block].codes;
            scanner.scan(self.kernel, query, codes, &rows);
            for at in positions(&rows_in_range(&rows, &scanner.uppers, list.floor(), f32::INFINITY))
            {
                // Rows added since may have raised the floor.
                if scanner.uppers[at] >= list.floor() {
                    let (score, bound) = query.scored(scanner.dots[at], codes, at);
                    list.add(to_u32(block * BLOCK_ROWS + at), score, bound);
                }
            }
        }
    }

    /// Scans like [`scan`](Self::scan) if few of many rows are requested: half-codes, half the memory to read, rule out most rows.
    ///
    /// The likely best rows are scored first, so that the others are compared with a high floor.
    fn scan_half_codes(
        &self,
        query: &EncodedQuery<'_>,
        rows: &RowFilter,
        first: usize,
        list: &mut Shortlist,
    ) {
        let half = HalfCodeQuery::new(&query.lanes);
        let blocks = first / BLOCK_ROWS..self.blocks.len();
        let bits = |block: usize| self.scanned_bits(rows, block, first);
        let mut uppers = vec![[f32::NEG_INFINITY; BLOCK_ROWS]; blocks.len()];
        for (block, uppers) in blocks.clone().zip(&mut uppers) {
            let (end, codes) = (row_block::end(&bits(block)), &self.blocks[block].codes.half);
            half.fill_uppers(self.kernel, query, codes, &mut uppers[..end]);
        }
        let mut sample: Vec<f32> =
            uppers.as_flattened().iter().copied().step_by(SAMPLE_INTERVAL).collect();
        let nth = (list.k() * 2 / SAMPLE_INTERVAL + SAMPLE_MARGIN).min(sample.len() - 1);
        let by_most = |left: &f32, right: &f32| right.total_cmp(left);
        let likely = *sample.select_nth_unstable_by(nth, by_most).1;
        let mut found = Vec::with_capacity((nth + 1) * SAMPLE_INTERVAL);
        let mut score_range = |from: f32, below: f32, list: &mut Shortlist| {
            found.clear();
            for (block, uppers) in blocks.clone().zip(&uppers) {
                let within = rows_in_range(&bits(block), uppers, from, below);
                found.extend(positions(&within).map(|at| to_u32(block * BLOCK_ROWS + at)));
            }
            self.score_rows(query, &found, list);
        };
        score_range(likely, f32::INFINITY, list);
        list.cut();
        score_range(list.floor(), likely, list);
    }

    /// Adds those of `rows` that may be among the best to the shortlist.
    fn score_rows(&self, query: &EncodedQuery<'_>, rows: &[u32], list: &mut Shortlist) {
        let mut dots = [0; BATCH_ROWS];
        let fetch = |rows: &[u32]| rows.iter().for_each(|row| simd::prefetch(self.codes(*row).0));
        for rows in with_prefetch(rows.chunks(BATCH_ROWS), fetch) {
            let lanes: SmallVec<[&[Lane]; BATCH_ROWS]> =
                rows.iter().map(|row| self.codes(*row).0).collect();
            self.kernel.dots_of(&query.lanes, &lanes, &mut dots[..rows.len()]);
            for (row, dot) in rows.iter().zip(dots) {
                let (block, at) = (*row as usize / BLOCK_ROWS, *row as usize % BLOCK_ROWS);
                let (score, bound) = query.scored(dot, &self.blocks[block].codes, at);
                if score + bound >= list.floor() {
                    list.add(*row, score, bound);
                }
            }
        }
    }

    fn score(&self, query: &EncodedQuery<'_>, row: u32) -> f32 {
        self.kernel.dot_f32(query.floats, self.floats(row))
    }

    fn floats(&self, row: u32) -> &[f32] {
        let (block, at) = (row as usize / BLOCK_ROWS, row as usize % BLOCK_ROWS);
        self.blocks[block].floats.row(at, self.dimension)
    }

    /// Prefetches the vector of `row`.
    fn fetch(&self, row: u32) {
        simd::prefetch(self.floats(row));
    }
}

impl VectorSearch for VectorIndex {
    fn nearest_by(
        &self,
        query: &[f32],
        k: usize,
        filter: &NoteSet,
        tie: &dyn Fn(NoteId, NoteId) -> Ordering,
    ) -> Result<Vec<ChunkHit>, VectorError> {
        let query = self.query(query)?;
        let (eligible, n) = self.eligible(filter);
        let k = k.min(n);
        if k == 0 {
            return Ok(Vec::new());
        }
        let mut list = Shortlist::new(k, n);
        let graph = self.graph_for(n, k);
        let n_walked = graph.map_or(0, FrozenGraph::n_rows);
        self.scan(&query, (&eligible, n), n_walked, &mut list);
        if let Some(graph) = graph {
            let n_wanted = k.min(n - self.n_scanned(&eligible, n_walked));
            if n_wanted > 0 && !self.walk(graph, &query, (&eligible, n), n_wanted, &mut list) {
                // The eligible rows are far from the query: scan all of them.
                list = Shortlist::new(k, n);
                self.scan(&query, (&eligible, n), 0, &mut list);
            }
        }
        let note = |row: u32| {
            self.blocks[row as usize / BLOCK_ROWS].codes.owners[row as usize % BLOCK_ROWS]
        };
        let best = list.best(
            |row| self.fetch(row),
            |row| self.score(&query, row),
            |left, right| tie(note(left), note(right)),
        );
        let hit = |(row, score)| ChunkHit { row: RowId::new(row), note: note(row), score };
        Ok(best.into_iter().map(hit).collect())
    }

    fn similarities(&self, query: &[f32], rows: &[RowId]) -> Result<Vec<f32>, VectorError> {
        let query = self.query(query)?;
        if let Some(row) = rows.iter().find(|row| row.index() >= self.n_rows) {
            return Err(VectorError::UnknownRow { row: row.get(), n_rows: self.n_rows });
        }
        let rows = rows.iter().map(|row| row.get());
        Ok(with_prefetch(rows, |row| self.fetch(row)).map(|row| self.score(&query, row)).collect())
    }
}

impl VectorIndex {
    /// Returns the number of eligible rows that are scanned from row `first` on.
    fn n_scanned(&self, eligible: &RowFilter, first: usize) -> usize {
        let blocks = first / BLOCK_ROWS..self.blocks.len();
        blocks.map(|at| row_block::count(&self.scanned_bits(eligible, at, first))).sum()
    }
}

/// Returns the `bits` of block `block` for row `first` and later ones.
fn bits_from(bits: &RowBits, block: usize, first: usize) -> RowBits {
    let skipped = first.saturating_sub(block * BLOCK_ROWS);
    std::array::from_fn(|word| match skipped.saturating_sub(word * 64) {
        0 => bits[word],
        skip @ 1..64 => bits[word] >> skip << skip,
        _ => 0,
    })
}

/// Buffers for scanning one block.
struct BlockScanner {
    dots: [i32; BLOCK_ROWS],
    /// Upper bound of each score.
    uppers: [f32; BLOCK_ROWS],
}

impl Default for BlockScanner {
    fn default() -> Self {
        Self { dots: [0; BLOCK_ROWS], uppers: [0.0; BLOCK_ROWS] }
    }
}

impl BlockScanner {
    /// Computes the scores of `rows`; those of other rows are undefined.
    fn scan(
        &mut self,
        kernel: Kernel,
        query: &EncodedQuery<'_>,
        codes: &BlockCodes,
        rows: &RowBits,
    ) {
        let (n, end) = (row_block::count(rows), row_block::end(rows));
        // Reading sequentially is cheaper than picking rows if at least half of them are needed.
        if n * 2 >= end {
            kernel.dots(&query.lanes, codes.whole.rows(end), &mut self.dots[..end]);
        } else {
            let chosen: Vec<&[Lane]> = positions(rows).map(|at| codes.whole.row(at)).collect();
            let mut dots = vec![0; n];
            kernel.dots_of(&query.lanes, &chosen, &mut dots);
            for (at, dot) in positions(rows).zip(dots) {
                self.dots[at] = dot;
            }
        }
        query.fill_uppers(&self.dots[..end], &codes.whole, &mut self.uppers[..end]);
    }
}

/// Returns those of `rows` whose upper bounds are at least `from` and less than `below`.
fn rows_in_range(rows: &RowBits, uppers: &[f32; BLOCK_ROWS], from: f32, below: f32) -> RowBits {
    let mut rows_in_range = *rows;
    let words = rows_in_range.iter_mut().zip(uppers.chunks_exact(64));
    for (bits, uppers) in words.filter(|(bits, _)| **bits != 0) {
        let reach = |bits, (at, upper): (usize, &f32)| {
            bits | u64::from((*upper >= from) & (*upper < below)) << at
        };
        *bits &= uppers.iter().enumerate().fold(0, reach);
    }
    rows_in_range
}

/// A query prepared for products with half-codes.
struct HalfCodeQuery {
    pairs: Vec<[Lane; 2]>,
    /// Twice its product with the half-codes of a zero vector.
    zero: i32,
}

impl HalfCodeQuery {
    fn new(lanes: &[Lane]) -> Self {
        let sum: i32 = lanes.iter().flat_map(|lane| lane.0).map(i32::from).sum();
        Self { pairs: simd::pairs(lanes), zero: sum * i32::from(simd::MAX_HALF) }
    }

    /// Writes to `uppers` the upper bounds of the scores of the first rows of `plane`.
    fn fill_uppers(
        &self,
        kernel: Kernel,
        query: &EncodedQuery<'_>,
        plane: &CodePlane<HalfLane>,
        uppers: &mut [f32],
    ) {
        let mut dots = [0; BLOCK_ROWS];
        let dots = &mut dots[..uppers.len()];
        kernel.half_dots(&self.pairs, plane.rows(uppers.len()), dots);
        dots.iter_mut().for_each(|dot| *dot = 2 * *dot - self.zero);
        query.fill_uppers(dots, plane, uppers);
    }
}

/// Incremental checksum of rows: crc32 over the floats, little-endian, without padding.
///
/// Covers rows added since the last call; it reads all vectors, so large indexes are checked on a separate thread.
#[derive(Clone, Debug, Default)]
pub struct RowChecksum {
    hasher: crc32fast::Hasher,
    n_rows: usize,
}

impl RowChecksum {
    /// Returns the checksum of the first `n_rows` rows of `index`, clamped to its rows.
    ///
    /// `index` must contain the rows checked so far; asking for fewer restarts from the front.
    pub fn extend(&mut self, index: &VectorIndex, n_rows: usize) -> u32 {
        let n_rows = n_rows.min(index.n_rows);
        if n_rows < self.n_rows {
            *self = Self::default();
        }
        let mut bytes = vec![0; index.dimension * size_of::<f32>()];
        for row in self.n_rows..n_rows {
            let vector =
                index.blocks[row / BLOCK_ROWS].floats.row(row % BLOCK_ROWS, index.dimension);
            for (bytes, value) in bytes.as_chunks_mut().0.iter_mut().zip(vector) {
                *bytes = value.to_le_bytes();
            }
            self.hasher.update(&bytes);
        }
        self.n_rows = n_rows;
        self.hasher.clone().finalize()
    }
}
