//! The living index, from files to answers.

mod durable;
mod fake;
mod hostile;
mod living;
mod looks;
mod notebooks;
mod writes;
