//! The living index, from files to answers.

mod diff;
mod durable;
mod fake;
mod fuse;
mod hostile;
mod living;
mod looks;
mod meddled;
mod models;
mod notebooks;
mod sequences;
mod story;
mod trouble;
mod writes;
