//! Settings with their defaults, layers and origins.

mod load;
mod open_settings;
mod permission;
mod problem;
mod settings;

pub use load::{Config, RELOADABLE, Sources};
pub use open_settings::{NoteOpener, OpenSettings, command_words};
pub use permission::{CertificatePermission, Permission};
pub use problem::{ConfigError, Problem, SettingOrigin};
pub(crate) use settings::refusal_to_open;
pub use settings::{
    AccessSettings, AccessToken, ClusterSettings, LogFormat, LogSettings, RerankSection,
    ServerSettings, Settings, StoreSettings, TlsSettings, TokenSettings, TraceSettings, Vault,
};

/// The annotated defaults, embedded; a template for a configuration file.
pub const DEFAULT_TOML: &str = include_str!("../../../../config/default.toml");
