//! The delay before something that failed is tried again.

use std::time::Duration;

/// Delay before retrying an unreachable model, a full disk or a missing vault.
pub(crate) const RETRY: Duration = Duration::from_secs(5);
