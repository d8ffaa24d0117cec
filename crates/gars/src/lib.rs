//! Named signals and weights to one score whose parts add up, and the arithmetic of the signals.
//!
//! A [`Gars`] keeps what it was made of: each signal, and what it adds.
//! [`bridge`] and [`classic`] hold the formulas of the two profiles as functions of numbers; who is linked with whom, and who holds which word, is found elsewhere.
//!
//! ```
//! use weft_gars::{Gars, Signals, Weights, bridge};
//!
//! let hit = Signals { similarity: 0.62, ..Signals::default() };
//! let link = bridge::link(0.3, bridge::Direction::Link, 4);
//! let activation = bridge::closed_gap(link, hit.similarity, 0.21);
//! let neighbour = Signals { similarity: 0.21, activation, ..Signals::default() };
//!
//! let weights = Weights { similarity: 1.0, centrality: 0.0, activation: 1.0 }.shares()?;
//! let (hit, neighbour) = (Gars::new(hit, &weights), Gars::new(neighbour, &weights));
//! assert!((neighbour.score - 0.216).abs() < 1e-3 && hit.score > neighbour.score);
//! # Ok::<(), weft_gars::WeightsError>(())
//! ```
#![forbid(unsafe_code)]

pub mod bridge;
pub mod classic;
mod score;

pub use score::{Gars, Signals, Weights, WeightsError};
