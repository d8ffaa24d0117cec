//! Evaluation of rankings: relevance judgments in, measures with confidence intervals out.
//!
//! Pure: rankings are given as lists of document names.
//!
//! ```
//! use weft_eval::{Judgments, Measures};
//!
//! let judgments = Judgments::read("q1\tfern\t1\nq1\tmoss\t1\n")?;
//! let ranking = ["stone", "fern"].map(str::to_owned);
//! let measures = Measures::of(&judgments.of("q1"), &ranking);
//! assert_eq!(measures.value("recall@5"), Some(0.5));
//! assert_eq!(measures.value("MRR"), Some(0.5));
//! # Ok::<(), weft_eval::ReadError>(())
//! ```
#![forbid(unsafe_code)]

mod compare;
mod context_recall;
mod context_text;
mod hidden_links;
mod judgments;
mod measures;
mod run_lines;
mod seeded_random;
mod trec_column;
mod weight_tuning;

pub use compare::{Mean, PairedComparison, compare};
pub use context_recall::ContextRecall;
pub use context_text::ContextText;
pub use hidden_links::{HiddenLinks, LinkSpan, hide_links, shuffled};
pub use judgments::{EvalQuery, Grades, Judgments, ReadError, read_queries};
pub use measures::{MEASURES, Measures};
pub use run_lines::run_lines;
pub use trec_column::{decode_column, encode_column};
pub use weight_tuning::{Candidates, N_SIGNALS, measure_all, split_halves, tuned};
