//! Questions over vaults in memory.

mod bridge;
mod classic;
mod odd;
mod operators;
mod oracle;
mod siblings;
mod vault;
mod why_not;
