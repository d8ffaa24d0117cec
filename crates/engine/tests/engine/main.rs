//! Questions over vaults in memory.

mod bridge;
mod classic;
mod notes;
mod odd;
mod operators;
mod oracle;
mod siblings;
mod unread;
mod vault;
mod why_not;
