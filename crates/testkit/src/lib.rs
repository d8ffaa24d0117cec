//! What tests of several crates share: notebooks from a drawing or a seed, a model to compare answers with, and a disk that fails.
#![forbid(unsafe_code)]

pub mod doughnut_model;
pub mod endpoint;
mod failing;
pub mod notebook;
mod random;

pub use failing::FailingDisk;
pub use notebook::{Entry, Notebook};
pub use random::Random;
