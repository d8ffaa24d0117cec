//! Requests over vaults in memory.

mod bridge;
mod classic;
mod edge_cases;
mod languages;
mod notes;
mod operators;
mod oracle;
mod pending_vectors;
mod rerank;
mod siblings;
mod vault;
mod why_not;
