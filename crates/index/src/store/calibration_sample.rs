//! Measures the calibration of a model on the vectors of a vault.

use weft_model::{NoteSet, TextHash};

use crate::calibration::Calibration;
use crate::vector::{RowId, VectorIndex, VectorSearch as _};

/// Number of chunks in the sample. Twice as many change the result by less than the cosines of the sample vary.
pub(super) const SAMPLE: usize = 256;

/// Minimum number of chunks for a measurement.
pub(super) const MIN_CHUNKS: usize = 64;

/// Number of nearest chunks among which one of another note is searched.
const NEAREST: usize = 32;

/// Returns the calibration by the chunks of `index` with the lowest text hashes, a random sample that does not depend on the history of the index.
///
/// `None` if there are too few chunks, or if their cosines do not tell texts apart.
pub(super) fn measure(index: &VectorIndex, texts: &[TextHash]) -> Option<Calibration> {
    let rows = (0..).map(RowId::new).zip(texts);
    let mut sample: Vec<(TextHash, RowId)> = rows
        .filter(|(row, _)| index.owner(*row).is_some())
        .map(|(row, text)| (*text, row))
        .collect();
    sample.sort_unstable();
    sample.dedup_by_key(|(text, _)| *text);
    if sample.len() < MIN_CHUNKS {
        return None;
    }
    sample.truncate(SAMPLE);
    let rows: Vec<RowId> = sample.into_iter().map(|(_, row)| row).collect();
    let (mut random, mut nearest) = (CosineMean::default(), CosineMean::default());
    for (row, next) in rows.iter().zip(rows.iter().cycle().skip(1)) {
        let (Some(vector), Some(own)) = (index.vector(*row), index.owner(*row)) else { continue };
        if index.owner(*next) != Some(own) {
            for cosine in index.similarities(vector, &[*next]).ok()? {
                random.add(cosine);
            }
        }
        let hits = index.nearest(vector, NEAREST, &NoteSet::All).ok()?;
        if let Some(hit) = hits.into_iter().find(|hit| hit.note != own) {
            nearest.add(hit.score);
        }
    }
    Calibration::of_chunks(random.value()?, nearest.value()?)
}

/// The mean of some cosines.
#[derive(Default)]
struct CosineMean {
    sum: f64,
    n: u32,
}

impl CosineMean {
    fn add(&mut self, cosine: f32) {
        self.sum += f64::from(cosine);
        self.n += 1;
    }

    fn value(&self) -> Option<f64> {
        (self.n > 0).then(|| self.sum / f64::from(self.n))
    }
}
