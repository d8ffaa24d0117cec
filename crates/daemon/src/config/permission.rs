//! Permissions that the settings grant.

use serde::{Deserialize, Serialize};

/// Permission of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Permission {
    /// Search, follow links and read notes.
    Read,
    /// Everything of `Read`, change notes, and call the AdminService.
    Write,
}

/// Permission of a client certificate without a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CertificatePermission {
    /// Nothing: a token is required as well.
    None,
    /// Read only.
    #[default]
    Read,
    /// Everything.
    Write,
}

impl CertificatePermission {
    pub(crate) const fn permission(self) -> Option<Permission> {
        match self {
            Self::None => None,
            Self::Read => Some(Permission::Read),
            Self::Write => Some(Permission::Write),
        }
    }
}
