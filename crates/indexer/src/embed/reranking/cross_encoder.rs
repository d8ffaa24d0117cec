//! Judges texts with a cross-encoder, whatever runs it.

use std::time::Instant;

use weft_index::reranker::RerankError;

use super::super::worker_pool::WorkerPool;

/// Returns the relevance of each of `texts`: the logistic function of the logit that `judge` returns for it.
///
/// Each text has its own run, because padding and, in dynamically quantized models, rounding would make its relevance depend on the others.
/// The texts that are not begun by `until` are left out, which fails.
pub(super) fn relevances_of<W: Send>(
    model: &str,
    workers: &WorkerPool<W>,
    texts: &[&str],
    until: Option<Instant>,
    make: &(impl Fn() -> Result<W, String> + Sync),
    judge: &(impl Fn(&mut W, &str) -> Result<f32, String> + Sync),
) -> Result<Vec<f64>, RerankError> {
    let judged = workers.map(texts, make, &|worker, text| {
        if until.is_some_and(|until| Instant::now() >= until) {
            return Ok(None);
        }
        let relevance = relevance(f64::from(judge(worker, text)?));
        relevance.map(Some).ok_or_else(|| "it returned a score that is not a number".to_owned())
    });
    let judged =
        judged.map_err(|reason| RerankError::Failed { model: model.to_owned(), reason })?;
    let relevances: Vec<f64> = judged.into_iter().flatten().collect();
    if relevances.len() == texts.len() {
        return Ok(relevances);
    }
    let (n_done, n_texts) = (relevances.len(), texts.len());
    Err(RerankError::Late { model: model.to_owned(), n_done, n_texts })
}

/// Returns the logistic function of a logit; `None` if it is not a number.
pub(super) fn relevance(logit: f64) -> Option<f64> {
    (!logit.is_nan()).then(|| 1.0 / (1.0 + (-logit).exp()))
}
