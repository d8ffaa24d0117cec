//! The index as readers see it: searches, and what they know of each row.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use weft_model::settings::Problems;
use weft_model::{NoteId, NoteSet};

use super::block::{self, BLOCK_ROWS, Block, Coded, Codes, Plane, RowBits, positions};
use super::build::{self, GraphParams};
use super::file::to_u32;
use super::graph::FrozenGraph;
use super::shortlist::{Shortlist, fetched, row_of, score_of};
use super::simd::{self, HalfLane, Kernel, LANE, Lane};
use super::{ChunkHit, MAX_NORM, RowId, VectorError, VectorSearch, walk};

/// What a step of a walk costs, in rows of a scan.
///
/// Measured at 100,000 rows of 384 dimensions, beside filters that let 5 to 60 of 100 pass: a walk to 10 or to 200 rows costs what a scan does where between 15 and 20, or 25 and 30, pass.
const STEP_IN_ROWS: usize = 20;

/// Rows for each one that is wanted, at least, for half-codes to be looked at first: of fewer, too many would be looked at again.
///
/// Measured over texts of 384 dimensions: where 1, 2, 3 and 6 of 100 are wanted, 7, 13, 20 and 34 of 100 may be among them by their half-codes.
const SKIMMED_FOR_ONE: usize = 32;

/// Of so many upper bounds one is looked at to guess which rows are likeliest to be among the best.
const SAMPLED: usize = 16;

/// Places further down the sample than twice as many as are wanted would be, so that a small one does not guess too high.
const MORE_SAMPLED: usize = 4;

/// Rows that are looked at together.
const HANDFUL: usize = 8;

/// How vectors are searched.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VectorParams {
    /// Up to this many living rows every search scans them all and is exact: a third of a millisecond to a whole one at 384 dimensions, by machine.
    pub exact_below: usize,
    /// Up to this many rows that pass a filter are scanned and the answer is exact.
    pub exact_filter: usize,
    /// Rows that a walk through the graph keeps in sight, at least 1, before deleted and filtered ones are allowed for: more finds more and takes longer.
    pub ef: usize,
    /// How the graph is built.
    pub graph: GraphParams,
}

impl Default for VectorParams {
    fn default() -> Self {
        Self { exact_below: 50_000, exact_filter: 10_000, ef: 128, graph: GraphParams::default() }
    }
}

impl VectorParams {
    /// What of it cannot be used.
    #[must_use]
    pub fn problems(&self) -> Problems {
        let Self { exact_below: _, exact_filter: _, ef, graph } = *self;
        let mut problems = Problems::default();
        problems.at_least("ef", ef, 1);
        problems.section("graph", graph.problems());
        problems
    }
}

/// One published state of the vectors. Never changes; cloning shares everything.
#[derive(Clone, Debug)]
pub struct VectorIndex {
    pub(super) dimension: usize,
    pub(super) n_rows: usize,
    pub(super) n_live: usize,
    pub(super) blocks: Arc<[Block]>,
    pub(super) graph: Option<Arc<FrozenGraph>>,
    pub(super) params: VectorParams,
    pub(super) kernel: Kernel,
}

/// A query as vector and as codes.
struct Query<'q> {
    floats: &'q [f32],
    lanes: Vec<Lane>,
    coded: Coded,
    /// What a score may be off beside what the row's error adds.
    bound: f32,
    /// How much of a row's error a score may be off.
    bound_factor: f32,
}

impl<'q> Query<'q> {
    /// Codes `floats`.
    ///
    /// With `q̂`, `x̂` the codes of query and row: `|q·x − q̂·x̂| ≤ |q|·|x − x̂| + |q − q̂|·(|x| + |x − x̂|)`, and a little for rounding.
    fn new(kernel: Kernel, floats: &'q [f32]) -> Option<Self> {
        let mut lanes = vec![Lane::ZERO; floats.len().div_ceil(LANE)];
        let coded = block::encode(kernel, floats, &mut lanes)?;
        // Sums of n/32 products in each of 32 places, then five more: errors add up to less than half of this.
        let rounding = (floats.len() as f32 / 16.0 + 16.0) * f32::EPSILON * coded.norm;
        let bound = coded.error * MAX_NORM + rounding;
        Some(Self { floats, lanes, coded, bound, bound_factor: coded.norm + coded.error })
    }

    /// The score by codes of the row at `at`, whose product with the query's is `dot`, and how far it may be from its exact score.
    fn scored(&self, dot: i32, codes: &Codes, at: usize) -> (f32, f32) {
        (self.score(dot, codes.whole.scales[at]), self.bound(codes.whole.errors[at]))
    }

    /// The score by codes of a row of this scale, whose product with the query's is `dot`.
    fn score(&self, dot: i32, row_scale: f32) -> f32 {
        dot as f32 * (row_scale * self.coded.scale)
    }

    /// What rows score at most whose products with the query's codes are `dots`, into `uppers`.
    fn fill_uppers<L>(&self, dots: &[i32], plane: &Plane<L>, uppers: &mut [f32]) {
        // Without a branch: several at once.
        let known = dots.iter().zip(&plane.scales).zip(&plane.errors);
        for (upper, ((dot, scale), error)) in uppers.iter_mut().zip(known) {
            *upper = self.score(*dot, *scale) + self.bound(*error);
        }
    }

    /// How far the score by codes of a row with this error may be from its exact score.
    fn bound(&self, row_error: f32) -> f32 {
        row_error * self.bound_factor + self.bound
    }
}

/// The rows that a search may answer with.
enum Admitted {
    /// Every living row.
    Live,
    /// These rows, by block.
    Only(Vec<RowBits>),
}

impl VectorIndex {
    /// Floats per vector.
    #[must_use]
    pub const fn dimension(&self) -> usize {
        self.dimension
    }

    /// Rows, deleted ones included.
    #[must_use]
    pub const fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Rows that are not deleted.
    #[must_use]
    pub const fn n_live(&self) -> usize {
        self.n_live
    }

    /// How it is searched.
    #[must_use]
    pub const fn params(&self) -> &VectorParams {
        &self.params
    }

    /// This index, searched as `params` say.
    #[must_use]
    pub fn with_params(&self, params: VectorParams) -> Self {
        Self { params, ..self.clone() }
    }

    /// The graph that searches walk, if one is attached.
    #[must_use]
    pub const fn graph(&self) -> Option<&Arc<FrozenGraph>> {
        self.graph.as_ref()
    }

    /// The vector of `row`, deleted or not; nothing when there is no such row.
    #[must_use]
    pub fn vector(&self, row: RowId) -> Option<&[f32]> {
        (row.index() < self.n_rows).then(|| self.floats(row.get()))
    }

    /// The note that owns `row`; nothing when it is deleted or there is no such row.
    #[must_use]
    pub fn owner(&self, row: RowId) -> Option<NoteId> {
        let (block, at) = (row.index() / BLOCK_ROWS, row.index() % BLOCK_ROWS);
        let block = self.blocks.get(block)?;
        block::is_set(&block.live, at).then(|| block.codes.owners[at])
    }

    /// The owner of every row in order, nothing for deleted ones: what reopening asks for.
    pub fn owners(&self) -> impl Iterator<Item = Option<NoteId>> + '_ {
        (0..to_u32(self.n_rows)).map(|row| self.owner(RowId::new(row)))
    }

    /// Whether every search looks at all rows, so that its answer is exact; otherwise it is where its filter leaves few rows.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.walked().is_none()
    }

    /// The graph, where there are rows enough to walk it; a filter may leave so few that they are scanned all the same.
    fn walked(&self) -> Option<&FrozenGraph> {
        self.graph.as_deref().filter(|_| self.n_live > self.params.exact_below)
    }

    /// Whether a graph, or a new one, would make searches faster.
    ///
    /// True when there are too many rows to scan and no graph, when the graph has fewer or more links per row than its parameters ask for, when 5,000 rows and a tenth of all came after it was built, or when three tenths of its rows are deleted.
    #[must_use]
    pub fn needs_rebuild(&self) -> bool {
        if self.n_live <= self.params.exact_below {
            return false;
        }
        let Some(graph) = &self.graph else { return true };
        let tail = self.n_rows - graph.n_rows();
        let living = self.n_live - self.n_live_from(graph.n_rows());
        graph.degree() != self.params.graph.links_per_row()
            || tail > (self.n_rows / 10).max(5_000)
            || (graph.n_known() - living) * 10 >= graph.n_known() * 3
    }

    /// Builds a graph of the living rows.
    ///
    /// Pure; takes one core more than a minute for 100,000 rows, so it is called on a thread of its own and attached to whatever index is then current.
    /// Equal rows and parameters give an equal graph unless [`GraphParams::parallel`] is set.
    #[must_use]
    pub fn build_graph(&self) -> FrozenGraph {
        build::build(self, &self.params.graph)
    }

    /// This index with `graph`, which was built from this one or an earlier one of the same rows.
    pub fn with_graph(&self, graph: Arc<FrozenGraph>) -> Result<Self, VectorError> {
        self.check_graph(&graph)?;
        Ok(Self { graph: Some(graph), ..self.clone() })
    }

    /// Fails unless `graph` was built from these rows, and leads to all of them that live. `O(rows)`, eight bytes of each.
    pub(super) fn check_graph(&self, graph: &FrozenGraph) -> Result<(), VectorError> {
        if graph.n_rows() > self.n_rows || graph.fingerprint() != self.fingerprint(graph.n_rows()) {
            return Err(VectorError::ForeignGraph);
        }
        // A note that is back after the graph was built without it may have the rows it had.
        let unlinked = graph.unlinked();
        let is_led_to = |row: u32| graph.links(row).next().is_some() || unlinked.contains(&row);
        let rows = self
            .blocks
            .iter()
            .zip((0..).step_by(BLOCK_ROWS))
            .flat_map(|(block, first)| positions(&block.live).map(move |at| first + at));
        let mut known = rows.take_while(|row| *row < graph.n_rows());
        let leads_to_all = known.all(|row| is_led_to(to_u32(row)));
        if leads_to_all { Ok(()) } else { Err(VectorError::ForeignGraph) }
    }

    /// A checksum over the scales of the first `n_rows` rows' codes, which tells one set of rows from another.
    pub(super) fn fingerprint(&self, n_rows: usize) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        for (block, first) in self.blocks.iter().zip((0..n_rows).step_by(BLOCK_ROWS)) {
            let scales = &block.codes.whole.scales[..BLOCK_ROWS.min(n_rows - first)];
            let bytes: Vec<u8> = scales.iter().flat_map(|scale| scale.to_le_bytes()).collect();
            hasher.update(&bytes);
        }
        hasher.finalize()
    }

    /// The codes and the scale of a row.
    pub(super) fn codes(&self, row: u32) -> (&[Lane], f32) {
        let (block, at) = (row as usize / BLOCK_ROWS, row as usize % BLOCK_ROWS);
        let codes = &self.blocks[block].codes.whole;
        (codes.row(at), codes.scales[at])
    }

    /// Living rows from row `first` on.
    fn n_live_from(&self, first: usize) -> usize {
        let blocks = first / BLOCK_ROWS..self.blocks.len();
        blocks.map(|at| block::count(&from(&self.blocks[at].live, at, first))).sum()
    }

    fn query<'q>(&self, floats: &'q [f32]) -> Result<Query<'q>, VectorError> {
        if floats.len() != self.dimension {
            return Err(VectorError::Dimension { expected: self.dimension, got: floats.len() });
        }
        Query::new(self.kernel, floats).ok_or(VectorError::QueryNotFinite)
    }

    /// The living rows that pass `filter`, and how many they are. `O(living rows)`, about 1 ns each; `O(1)` for no filter.
    fn admitted(&self, filter: &NoteSet) -> (Admitted, usize) {
        let notes = match filter {
            NoteSet::All => return (Admitted::Live, self.n_live),
            NoteSet::Only(notes) => notes,
        };
        let passing = |block: &Block| {
            let mut bits = RowBits::default();
            for at in positions(&block.live).filter(|&at| notes.contains(block.codes.owners[at])) {
                bits[at / 64] |= 1 << (at % 64);
            }
            bits
        };
        let rows: Vec<RowBits> = self.blocks.iter().map(passing).collect();
        let n = rows.iter().map(block::count).sum();
        (Admitted::Only(rows), n)
    }

    fn bits(&self, admitted: &Admitted, block: usize) -> RowBits {
        match admitted {
            Admitted::Live => self.blocks[block].live,
            Admitted::Only(rows) => rows[block],
        }
    }

    /// The graph, when walking it to the best `wanted` beats scanning the `n` rows admitted.
    ///
    /// A walk takes `ef · rows / n` steps, a scan `n`: they cost the same at `n² = ef · rows ·` [`STEP_IN_ROWS`].
    fn graph_for(&self, n: usize, wanted: usize) -> Option<&FrozenGraph> {
        let graph = self.walked()?;
        let filtered = n < self.n_live;
        let scan = filtered
            && (n <= self.params.exact_filter
                || n.saturating_mul(n) <= self.ef(wanted) * graph.n_rows() * STEP_IN_ROWS);
        (!scan).then_some(graph)
    }

    /// Rows that a walk to the best `wanted` keeps in sight where all are admitted.
    fn ef(&self, wanted: usize) -> usize {
        self.params.ef.max(2 * wanted)
    }

    /// Offers what a walk finds; returns false when that is fewer than `wanted` rows.
    fn walk(
        &self,
        graph: &FrozenGraph,
        query: &Query<'_>,
        admitted: (&Admitted, usize),
        wanted: usize,
        list: &mut Shortlist,
    ) -> bool {
        let (rows, n) = admitted;
        let ef = self.ef(wanted).saturating_mul(graph.n_rows()).div_ceil(n);
        let mut n_found = 0;
        for rank in walk::nearest(self, graph, &query.lanes, ef.min(graph.n_rows())) {
            let score = score_of(rank) * query.coded.scale;
            for row in graph.with_copies(row_of(rank)) {
                let (block, at) = (row as usize / BLOCK_ROWS, row as usize % BLOCK_ROWS);
                if block::is_set(&self.bits(rows, block), at) {
                    list.offer(row, score, query.bound(self.blocks[block].codes.whole.errors[at]));
                    n_found += 1;
                }
            }
        }
        n_found >= wanted
    }

    /// Offers every admitted row from row `first` on that could be among the best.
    fn scan(
        &self,
        query: &Query<'_>,
        (rows, n): (&Admitted, usize),
        first: usize,
        list: &mut Shortlist,
    ) {
        // Half-codes are read of all rows, so most of them must count.
        if n * 2 >= self.n_rows && list.k() * SKIMMED_FOR_ONE <= self.n_rows - first {
            return self.skim(query, rows, first, list);
        }
        let mut scanner = Scanner::default();
        for block in first / BLOCK_ROWS..self.blocks.len() {
            let rows = from(&self.bits(rows, block), block, first);
            let codes = &self.blocks[block].codes;
            scanner.scan(self.kernel, query, codes, &rows);
            for at in positions(&reaching(&rows, &scanner.uppers, list.floor(), f32::INFINITY)) {
                // What was offered since may have raised it.
                if scanner.uppers[at] >= list.floor() {
                    let (score, bound) = query.scored(scanner.dots[at], codes, at);
                    list.offer(to_u32(block * BLOCK_ROWS + at), score, bound);
                }
            }
        }
    }

    /// The same for many rows of which few are wanted: half-codes, which are half as much to read, tell which of them to look at.
    ///
    /// The likeliest are looked at first, so that the others are held against the best.
    fn skim(&self, query: &Query<'_>, rows: &Admitted, first: usize, list: &mut Shortlist) {
        let half = HalfQuery::new(&query.lanes);
        let blocks = first / BLOCK_ROWS..self.blocks.len();
        let bits = |block: usize| from(&self.bits(rows, block), block, first);
        let mut uppers = vec![[f32::NEG_INFINITY; BLOCK_ROWS]; blocks.len()];
        for (block, uppers) in blocks.clone().zip(&mut uppers) {
            let (end, codes) = (block::end(&bits(block)), &self.blocks[block].codes.half);
            half.fill_uppers(self.kernel, query, codes, &mut uppers[..end]);
        }
        let mut sample: Vec<f32> = uppers.as_flattened().iter().copied().step_by(SAMPLED).collect();
        let nth = (list.k() * 2 / SAMPLED + MORE_SAMPLED).min(sample.len() - 1);
        let by_most = |left: &f32, right: &f32| right.total_cmp(left);
        let likely = *sample.select_nth_unstable_by(nth, by_most).1;
        let mut found = Vec::with_capacity((nth + 1) * SAMPLED);
        let mut offer = |from: f32, below: f32, list: &mut Shortlist| {
            found.clear();
            for (block, uppers) in blocks.clone().zip(&uppers) {
                let within = reaching(&bits(block), uppers, from, below);
                found.extend(positions(&within).map(|at| to_u32(block * BLOCK_ROWS + at)));
            }
            self.offer(query, &found, list);
        };
        offer(likely, f32::INFINITY, list);
        list.cut();
        offer(list.floor(), likely, list);
    }

    /// Offers those of `rows` that could be among the best.
    fn offer(&self, query: &Query<'_>, rows: &[u32], list: &mut Shortlist) {
        let mut dots = [0; HANDFUL];
        let fetch = |rows: &[u32]| rows.iter().for_each(|row| simd::prefetch(self.codes(*row).0));
        for rows in fetched(rows.chunks(HANDFUL), fetch) {
            let lanes: SmallVec<[&[Lane]; HANDFUL]> =
                rows.iter().map(|row| self.codes(*row).0).collect();
            self.kernel.dots_of(&query.lanes, &lanes, &mut dots[..rows.len()]);
            for (row, dot) in rows.iter().zip(dots) {
                let (block, at) = (*row as usize / BLOCK_ROWS, *row as usize % BLOCK_ROWS);
                let (score, bound) = query.scored(dot, &self.blocks[block].codes, at);
                if score + bound >= list.floor() {
                    list.offer(*row, score, bound);
                }
            }
        }
    }

    fn score(&self, query: &Query<'_>, row: u32) -> f32 {
        self.kernel.dot_f32(query.floats, self.floats(row))
    }

    fn floats(&self, row: u32) -> &[f32] {
        let (block, at) = (row as usize / BLOCK_ROWS, row as usize % BLOCK_ROWS);
        self.blocks[block].floats.row(at, self.dimension)
    }

    /// Asks for the vector of `row` ahead of its use.
    fn fetch(&self, row: u32) {
        simd::prefetch(self.floats(row));
    }
}

impl VectorSearch for VectorIndex {
    fn nearest(
        &self,
        query: &[f32],
        k: usize,
        filter: &NoteSet,
    ) -> Result<Vec<ChunkHit>, VectorError> {
        let query = self.query(query)?;
        let (admitted, n) = self.admitted(filter);
        let k = k.min(n);
        if k == 0 {
            return Ok(Vec::new());
        }
        let mut list = Shortlist::new(k, n);
        let graph = self.graph_for(n, k);
        let n_walked = graph.map_or(0, FrozenGraph::n_rows);
        self.scan(&query, (&admitted, n), n_walked, &mut list);
        if let Some(graph) = graph {
            let wanted = k.min(n - self.n_admitted_from(&admitted, n_walked));
            if wanted > 0 && !self.walk(graph, &query, (&admitted, n), wanted, &mut list) {
                // The filter's rows lie far from the query: look at each of them.
                list = Shortlist::new(k, n);
                self.scan(&query, (&admitted, n), 0, &mut list);
            }
        }
        let best = list.best(|row| self.fetch(row), |row| self.score(&query, row));
        Ok(best
            .into_iter()
            .map(|(row, score)| {
                let (block, at) = (row as usize / BLOCK_ROWS, row as usize % BLOCK_ROWS);
                ChunkHit { row: RowId::new(row), note: self.blocks[block].codes.owners[at], score }
            })
            .collect())
    }

    fn similarities(&self, query: &[f32], rows: &[RowId]) -> Result<Vec<f32>, VectorError> {
        let query = self.query(query)?;
        if let Some(row) = rows.iter().find(|row| row.index() >= self.n_rows) {
            return Err(VectorError::UnknownRow { row: row.get(), n_rows: self.n_rows });
        }
        let rows = rows.iter().map(|row| row.get());
        Ok(fetched(rows, |row| self.fetch(row)).map(|row| self.score(&query, row)).collect())
    }
}

impl VectorIndex {
    /// Admitted rows from row `first` on.
    fn n_admitted_from(&self, admitted: &Admitted, first: usize) -> usize {
        let blocks = first / BLOCK_ROWS..self.blocks.len();
        blocks.map(|at| block::count(&from(&self.bits(admitted, at), at, first))).sum()
    }
}

/// The `bits` of block `block` that stand for row `first` or later ones.
fn from(bits: &RowBits, block: usize, first: usize) -> RowBits {
    let skipped = first.saturating_sub(block * BLOCK_ROWS);
    std::array::from_fn(|word| match skipped.saturating_sub(word * 64) {
        0 => bits[word],
        skip @ 1..64 => bits[word] >> skip << skip,
        _ => 0,
    })
}

/// Room for one block.
struct Scanner {
    dots: [i32; BLOCK_ROWS],
    /// What each score is at most.
    uppers: [f32; BLOCK_ROWS],
}

impl Default for Scanner {
    fn default() -> Self {
        Self { dots: [0; BLOCK_ROWS], uppers: [0.0; BLOCK_ROWS] }
    }
}

impl Scanner {
    /// Fills in what is known of `rows`; of other rows it may be anything.
    fn scan(&mut self, kernel: Kernel, query: &Query<'_>, codes: &Codes, rows: &RowBits) {
        let (n, end) = (block::count(rows), block::end(rows));
        // Reading on is cheaper than choosing while half of what is read counts.
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

/// Those of `rows` whose scores are at most `from` or more, and less than `below`.
fn reaching(rows: &RowBits, uppers: &[f32; BLOCK_ROWS], from: f32, below: f32) -> RowBits {
    let mut reaching = *rows;
    let words = reaching.iter_mut().zip(uppers.chunks_exact(64));
    for (bits, uppers) in words.filter(|(bits, _)| **bits != 0) {
        let reach = |bits, (at, upper): (usize, &f32)| {
            bits | u64::from((*upper >= from) & (*upper < below)) << at
        };
        *bits &= uppers.iter().enumerate().fold(0, reach);
    }
    reaching
}

/// A query to be multiplied with half-codes.
struct HalfQuery {
    pairs: Vec<[Lane; 2]>,
    /// Twice its product with half-codes that stand for zeros.
    zero: i32,
}

impl HalfQuery {
    fn new(lanes: &[Lane]) -> Self {
        let sum: i32 = lanes.iter().flat_map(|lane| lane.0).map(i32::from).sum();
        Self { pairs: simd::pairs(lanes), zero: sum * i32::from(simd::MAX_HALF) }
    }

    /// What the first rows of `plane` score at most, into `uppers`.
    fn fill_uppers(
        &self,
        kernel: Kernel,
        query: &Query<'_>,
        plane: &Plane<HalfLane>,
        uppers: &mut [f32],
    ) {
        let mut dots = [0; BLOCK_ROWS];
        let dots = &mut dots[..uppers.len()];
        kernel.half_dots(&self.pairs, plane.rows(uppers.len()), dots);
        dots.iter_mut().for_each(|dot| *dot = 2 * *dot - self.zero);
        query.fill_uppers(dots, plane, uppers);
    }
}

/// A running checksum of rows: crc32 over the floats, little-endian, without padding.
///
/// Extends over the rows that were added since; reads vectors, so large ones are checked on a thread of their own.
#[derive(Clone, Debug, Default)]
pub struct RowChecksum {
    hasher: crc32fast::Hasher,
    n_rows: usize,
}

impl RowChecksum {
    /// The checksum of the first `n_rows` rows of `index`, cut to what is there.
    ///
    /// `index` holds the rows seen so far and more; asking for fewer than seen so far starts again from the front.
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
