//! Settings: every one has a default, and knows where its value came from.

mod load;
mod settings;

pub use load::{Config, ConfigError, Origin, Problem, Sources};
pub(crate) use settings::refusal_to_open;
pub use settings::{
    AccessSettings, AccessToken, LogFormat, LogSettings, ServerSettings, Settings, StoreSettings,
    TlsSettings, TokenSettings, TraceSettings, Vault,
};

pub use crate::access::{CertificateRight, Right};

/// The annotated defaults, as embedded: a start for a file of one's own.
pub const DEFAULT_TOML: &str = include_str!("../../../../config/default.toml");
