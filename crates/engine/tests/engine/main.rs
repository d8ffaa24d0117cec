//! Questions over vaults in memory.

mod bridge;
mod oracle;
mod vault;
