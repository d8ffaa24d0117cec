//! Shared test support: notebooks from a drawing or a seed, a model of Doughnut, a tiny cross-encoder, an HTTP server, a PostgreSQL server, a disk that fails, PDF files, and notes that forge output.
#![forbid(unsafe_code)]

mod cross_encoder;
pub mod doughnut_model;
mod failing_disk;
pub mod forged_lines;
pub mod http_stub;
pub mod notebook;
mod pdf_file;
#[cfg(unix)]
mod postgres;
mod random;

pub use cross_encoder::write_cross_encoder;
pub use failing_disk::FailingDisk;
pub use notebook::{Notebook, NotebookEntry};
pub use pdf_file::{PdfFile, endless_pdf};
#[cfg(unix)]
pub use postgres::Postgres;
pub use random::Random;
