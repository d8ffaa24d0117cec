//! Walks: every rule of theirs, alone in a table and together against oracles on random graphs.

mod centrality;
mod cycles;
mod export;
mod lists;
mod oracle;
mod outline;
mod path;
mod random;
mod records;
mod topics;
mod tree;
mod tree_properties;
mod vault;
