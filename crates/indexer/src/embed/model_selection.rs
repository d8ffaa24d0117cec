//! Selects the model that serves and the one that replaces it, from the settings and the store's record.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weft_index::Disk;
use weft_index::embedder::{EmbedError, Embedder, ModelIdentity, Role};
use weft_model::redact_urls;

use super::text_tokenizer::TextTokenizer;
use super::{
    AUTO, EmbeddingSettings, ModelChoice, ModelError, OpenedEmbedder, bundled_model, model_choice,
    open_known,
};
use crate::IndexSettings;
use crate::vault_languages::LanguageShare;

/// An embedding model, and its settings if they are known.
#[derive(Clone)]
pub struct Model {
    /// Computes the vectors.
    pub embedder: Arc<dyn Embedder>,
    /// Settings to open it again; `None` for a model that is not stored.
    pub settings: Option<EmbeddingSettings>,
}

/// Opens a model, or returns why it is not available yet.
pub type ModelOpener = Box<dyn FnMut() -> Result<Model, String> + Send>;

/// The models of an index.
pub struct ModelSelection {
    /// The model whose vectors serve queries; `None` for search by keywords and links only.
    pub serving: Option<Model>,
    /// The model whose vectors are computed in the background, and that then replaces the serving one.
    pub next: Option<ModelOpener>,
    /// The configured model, whether or not it serves; token budgets that name no tokenizer count its tokens.
    pub configured: Option<Arc<dyn Embedder>>,
    /// The choice between the bundled models; `None` if the settings name a model.
    pub auto: Option<AutoModel>,
}

/// A choice between the bundled models.
#[derive(Clone, Debug)]
pub struct AutoModel {
    /// The choice; `None` if the notes had no text to choose by.
    pub choice: Option<ModelChoice>,
    /// Settings with which the chosen model was opened.
    pub settings: EmbeddingSettings,
}

impl AutoModel {
    /// Returns the choice for a share of text that is not English, and what opens its model.
    pub(crate) fn choose(&mut self, not_english: f64) -> (ModelChoice, ModelOpener) {
        let choice = ModelChoice::of_share(not_english);
        self.settings.model.clone_from(&choice.model);
        self.choice = Some(choice.clone());
        let settings = self.settings.clone();
        let open = move || match super::open(&settings) {
            Ok(OpenedEmbedder { embedder: Some(embedder), notes: _ }) => {
                Ok(Model { embedder, settings: Some(settings.clone()) })
            }
            Ok(OpenedEmbedder { embedder: None, notes }) => Err(notes.join(" ")),
            Err(error) => Err(error.to_string()),
        };
        (choice, Box::new(open))
    }
}

impl From<Option<Arc<dyn Embedder>>> for ModelSelection {
    fn from(embedder: Option<Arc<dyn Embedder>>) -> Self {
        let configured = embedder.clone();
        Self {
            serving: embedder.map(|embedder| Model { embedder, settings: None }),
            next: None,
            configured,
            auto: None,
        }
    }
}

/// The store's record of the model whose vectors serve. It contains no key, and no secret of the endpoint's address.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct ModelRecord {
    identity: ModelIdentity,
    settings: EmbeddingSettings,
}

/// Records in the store which model's vectors serve from now on.
pub(crate) fn record_serving_model(
    disk: &Disk,
    store: &Path,
    model: &Model,
) -> std::io::Result<()> {
    let Some(settings) = model.settings.as_ref().map(without_secrets) else { return Ok(()) };
    let record = ModelRecord { identity: model.embedder.identity().clone(), settings };
    if ModelRecord::read(store).is_some_and(|known| known.is_of(&record)) {
        return Ok(());
    }
    disk.replace(&path(store), &serde_json::to_vec_pretty(&record)?)
}

fn path(store: &Path) -> PathBuf {
    store.join(weft_index::MODEL_SETTINGS_FILE)
}

impl ModelRecord {
    /// Reads the record; `None` if it cannot be read.
    fn read(store: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(path(store)).ok()?).ok()
    }

    fn is_of(&self, other: &Self) -> bool {
        self.identity == other.identity
            && without_secrets(&self.settings) == without_secrets(&other.settings)
    }
}

/// Returns the settings without the key and without the secrets of the address, which the settings in force supply again.
fn without_secrets(settings: &EmbeddingSettings) -> EmbeddingSettings {
    let mut settings = settings.clone();
    settings.remote.key = None;
    settings.remote.url = settings.remote.url.map(|url| redact_urls(&url).into_owned());
    settings
}

/// Selects the `wanted` model, or the model of the stored vectors until `wanted` is available. Also returns one line for the user about each deviation from the settings.
///
/// The first time, `auto` reads a sample of the notes of `index` to choose between the bundled models.
/// `keyed` adds the key and the secrets of the address to settings from the store's record.
/// Fails like [`open`](super::open), except for an unreachable endpoint, which replaces the serving model once it responds.
pub fn select_models(
    index: &IndexSettings,
    wanted: &EmbeddingSettings,
    keyed: impl Fn(EmbeddingSettings) -> EmbeddingSettings,
) -> Result<(ModelSelection, Vec<String>), ModelError> {
    let IndexSettings { store, vaults, scan, parse, .. } = index;
    let measure = || LanguageShare::of_vaults(vaults, scan, parse).not_english();
    let is_auto = wanted.model == AUTO;
    let (wanted, choice) = model_choice::resolve(wanted.clone(), store, measure);
    let (models, notes) = select_resolved(store, &wanted, keyed)?;
    let auto = is_auto.then_some(AutoModel { choice, settings: wanted });
    Ok((ModelSelection { auto, ..models }, notes))
}

fn select_resolved(
    store: &Path,
    wanted: &EmbeddingSettings,
    keyed: impl Fn(EmbeddingSettings) -> EmbeddingSettings,
) -> Result<(ModelSelection, Vec<String>), ModelError> {
    let record = ModelRecord::read(store);
    let same = record
        .as_ref()
        .filter(|record| without_secrets(&record.settings) == without_secrets(wanted));
    let known = same.map(|record| record.identity.dimension);
    let earlier = |not: Option<&ModelIdentity>| {
        let record = record.as_ref().filter(|record| Some(&record.identity) != not)?;
        let settings = keyed(record.settings.clone());
        let opened = open_known(&settings, Some(record.identity.dimension)).ok()?;
        let embedder = opened.embedder?;
        let is_it = *embedder.identity() == record.identity;
        is_it.then_some(Model { embedder, settings: Some(settings) })
    };
    match open_known(wanted, known) {
        Ok(OpenedEmbedder { embedder: None, notes }) => Ok((ModelSelection::from(None), notes)),
        Ok(OpenedEmbedder { embedder: Some(embedder), notes }) => {
            let earlier = earlier(Some(embedder.identity()));
            let model = Model { embedder: Arc::clone(&embedder), settings: Some(wanted.clone()) };
            let (serving, next): (_, Option<ModelOpener>) = match earlier {
                None => (model, None),
                Some(earlier) => (earlier, Some(Box::new(move || Ok(model.clone())))),
            };
            let configured = Some(embedder);
            Ok((ModelSelection { serving: Some(serving), next, configured, auto: None }, notes))
        }
        Err(ModelError::Unreachable { model, .. }) => {
            let wanted = wanted.clone();
            let pending: Arc<dyn Embedder> = Arc::new(PendingEmbedder::new(&model, &wanted));
            let serving = earlier(None)
                .unwrap_or_else(|| Model { embedder: Arc::clone(&pending), settings: None });
            let open = move || match open_known(&wanted, None) {
                Ok(OpenedEmbedder { embedder: Some(embedder), notes: _ }) => {
                    Ok(Model { embedder, settings: Some(wanted.clone()) })
                }
                Ok(OpenedEmbedder { embedder: None, notes }) => Err(notes.join(" ")),
                Err(error) => Err(error.to_string()),
            };
            let (next, configured): (Option<ModelOpener>, _) =
                (Some(Box::new(open)), Some(pending));
            let serving = Some(serving);
            Ok((ModelSelection { serving, next, configured, auto: None }, Vec::new()))
        }
        Err(error) => Err(error),
    }
}

/// The runner of a model that was never reached.
const UNREACHED: &str = "none";

/// Returns true for the placeholder of a model that was never reached, of which only the name is known.
#[must_use]
pub fn is_pending(identity: &ModelIdentity) -> bool {
    identity.runner == UNREACHED
}

/// Placeholder for an endpoint that was never reached, so its dimension is unknown.
struct PendingEmbedder {
    identity: ModelIdentity,
    window: usize,
    tokenizer: Arc<TextTokenizer>,
}

impl PendingEmbedder {
    fn new(model: &str, settings: &EmbeddingSettings) -> Self {
        let identity = ModelIdentity {
            model: model.to_owned(),
            dimension: 1,
            runner: UNREACHED.to_owned(),
            pooling: UNREACHED.to_owned(),
        };
        Self {
            identity,
            window: settings.max_tokens.get(),
            tokenizer: bundled_model::english_tokenizer(),
        }
    }
}

impl Embedder for PendingEmbedder {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn window(&self) -> usize {
        self.window
    }

    fn n_tokens(&self, text: &str) -> usize {
        self.tokenizer.n_tokens(text)
    }

    fn embed(&self, _: &[&str], _: Role) -> Result<Vec<Vec<f32>>, EmbedError> {
        let reason = "its endpoint has not responded yet".to_owned();
        Err(EmbedError::Unavailable { model: self.identity.model.clone(), reason })
    }
}
