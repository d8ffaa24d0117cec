//! GARS: the score of a note as the weighted sum of its signals similarity, centrality and activation, and the formulas of these signals.
//!
//! A [`Gars`] keeps each signal and its contribution. A reranker may add one more, the relevance.
//! [`bridge`] and [`classic`] contain the formulas of the two profiles as functions of numbers. The engine finds out which notes are linked and which contain which word.
//!
//! ```
//! use weft_gars::{Gars, Signals, Weights, bridge};
//!
//! let hit = Signals { similarity: 0.62, ..Signals::default() };
//! let link = bridge::link(0.3, bridge::LinkDirection::Link, 4);
//! let activation = bridge::closed_gap(link, hit.similarity, 0.21);
//! let neighbor = Signals { similarity: 0.21, activation, ..Signals::default() };
//!
//! let weights = Weights { similarity: 1.0, centrality: 0.0, activation: 1.0 }.shares()?;
//! let (hit, neighbor) = (Gars::new(hit, &weights), Gars::new(neighbor, &weights));
//! assert!((neighbor.score - 0.216).abs() < 1e-3 && hit.score > neighbor.score);
//! # Ok::<(), weft_gars::WeightsError>(())
//! ```
#![forbid(unsafe_code)]

pub mod bridge;
pub mod classic;
mod score;

pub use score::{Gars, ScoreWeights, Signals, Weights, WeightsError};
