//! Shared test support: notebooks from a drawing or a seed, a model of Doughnut, an HTTP server, and a disk that fails.
#![forbid(unsafe_code)]

pub mod doughnut_model;
mod failing_disk;
pub mod http_stub;
pub mod notebook;
mod random;

pub use failing_disk::FailingDisk;
pub use notebook::{Notebook, NotebookEntry};
pub use random::Random;
