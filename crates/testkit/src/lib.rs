//! What tests of several crates share: notebooks from a drawing or a seed, and a model to compare answers with.
#![forbid(unsafe_code)]

pub mod doughnut_model;
pub mod endpoint;
pub mod notebook;
mod random;

pub use notebook::{Entry, Notebook};
pub use random::Random;
