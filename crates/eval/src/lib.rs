//! Judgements in, measures with intervals out: what a ranking is worth, and what each part of it.
//!
//! Pure: rankings come from elsewhere, as lists of document names.
//!
//! ```
//! use weft_eval::{Judgements, Measures};
//!
//! let judgements = Judgements::read("q1\tfern\t1\nq1\tmoss\t1\n")?;
//! let ranking = ["stone", "fern"].map(str::to_owned);
//! let measures = Measures::of(&judgements.of("q1"), &ranking);
//! assert_eq!(measures.value("recall@5"), Some(0.5));
//! assert_eq!(measures.value("MRR"), Some(0.5));
//! # Ok::<(), weft_eval::ReadError>(())
//! ```
#![forbid(unsafe_code)]

mod column;
mod compare;
mod draw;
mod held;
mod hidden;
mod judgements;
mod measures;
mod run;
mod tune;

pub use column::{column, name_of};
pub use compare::{Comparison, Mean, compare};
pub use held::Held;
pub use hidden::{HiddenLinks, LinkSpan, drawn, hide_links};
pub use judgements::{Grades, Judgements, Query, ReadError, read_queries};
pub use measures::{MEASURES, Measures};
pub use run::run_lines;
pub use tune::{Candidates, N_SIGNALS, halves, measured, tuned};
