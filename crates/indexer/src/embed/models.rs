//! Which model serves and which is to take its place, by what the settings want and what a store remembers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weft_index::Disk;
use weft_index::embedder::{EmbedError, Embedder, ModelIdentity, Role};

use super::tokens::TextTokenizer;
use super::{EmbeddingSettings, OpenError, Opened, bundled, open_known};
use crate::succession::Model;

/// Opens a model, or says why it cannot be had yet.
pub type Opener = Box<dyn FnMut() -> Result<Model, String> + Send>;

/// Who makes vectors.
pub struct Models {
    /// The model whose vectors serve; nothing for words and links alone.
    pub now: Option<Model>,
    /// The one that makes vectors in the background and then takes its place.
    pub next: Option<Opener>,
    /// What the settings want, whichever serves: its tokens are what a budget in its tokens means.
    pub wanted: Option<Arc<dyn Embedder>>,
}

/// What a store remembers of the model whose vectors serve. No key is in it.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Record {
    identity: ModelIdentity,
    settings: EmbeddingSettings,
}

/// Remembers whose vectors serve from now on.
pub(crate) fn remember(disk: &Disk, store: &Path, model: &Model) -> std::io::Result<()> {
    let Some(settings) = model.settings.clone() else { return Ok(()) };
    let record = Record { identity: model.embedder.identity().clone(), settings };
    if Record::read(store).is_some_and(|known| known.is_of(&record)) {
        return Ok(());
    }
    disk.replace(&path(store), &serde_json::to_vec_pretty(&record)?)
}

fn path(store: &Path) -> PathBuf {
    store.join(weft_index::MODEL)
}

impl Record {
    /// What was remembered; nothing where that cannot be read.
    fn read(store: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(path(store)).ok()?).ok()
    }

    fn is_of(&self, other: &Self) -> bool {
        self.identity == other.identity && keyless(&self.settings) == keyless(&other.settings)
    }
}

fn keyless(settings: &EmbeddingSettings) -> EmbeddingSettings {
    let mut settings = settings.clone();
    settings.remote.key = None;
    settings
}

/// The model that `wanted` names, or the one that the store has vectors of until it is there; with a line for a person for each thing that is not as asked for.
///
/// `keyed` puts the key into settings that the store remembers.
/// Fails as [`open`](super::open) does, but for an endpoint that is away: it takes over when it comes.
pub fn models(
    store: &Path,
    wanted: &EmbeddingSettings,
    keyed: impl Fn(EmbeddingSettings) -> EmbeddingSettings,
) -> Result<(Models, Vec<String>), OpenError> {
    let record = Record::read(store);
    let same = record.as_ref().filter(|record| keyless(&record.settings) == keyless(wanted));
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
        Ok(Opened { embedder: None, notes }) => Ok((Models::from(None), notes)),
        Ok(Opened { embedder: Some(embedder), notes }) => {
            let earlier = earlier(Some(embedder.identity()));
            let model = Model { embedder: Arc::clone(&embedder), settings: Some(wanted.clone()) };
            let (now, next): (_, Option<Opener>) = match earlier {
                None => (model, None),
                Some(earlier) => (earlier, Some(Box::new(move || Ok(model.clone())))),
            };
            Ok((Models { now: Some(now), next, wanted: Some(embedder) }, notes))
        }
        Err(OpenError::Unreachable { model, .. }) => {
            let wanted = wanted.clone();
            let stopgap: Arc<dyn Embedder> = Arc::new(Unopened::new(&model, &wanted));
            let now = earlier(None)
                .unwrap_or_else(|| Model { embedder: Arc::clone(&stopgap), settings: None });
            let open = move || match open_known(&wanted, None) {
                Ok(Opened { embedder: Some(embedder), notes: _ }) => {
                    Ok(Model { embedder, settings: Some(wanted.clone()) })
                }
                Ok(Opened { embedder: None, notes }) => Err(notes.join(" ")),
                Err(error) => Err(error.to_string()),
            };
            let (next, wanted): (Option<Opener>, _) = (Some(Box::new(open)), Some(stopgap));
            Ok((Models { now: Some(now), next, wanted }, Vec::new()))
        }
        Err(error) => Err(error),
    }
}

/// What runs a model that was never reached.
const NOBODY: &str = "none";

/// Whether it stands for a model that was never reached, so that nothing is known of it but its name.
pub(crate) fn is_unopened(identity: &ModelIdentity) -> bool {
    identity.runner == NOBODY
}

/// Stands for an endpoint that was never reached: nobody knows how long its vectors are.
struct Unopened {
    identity: ModelIdentity,
    window: usize,
    tokenizer: Arc<TextTokenizer>,
}

impl Unopened {
    fn new(model: &str, settings: &EmbeddingSettings) -> Self {
        let identity = ModelIdentity {
            model: model.to_owned(),
            dimension: 1,
            runner: NOBODY.to_owned(),
            pooling: NOBODY.to_owned(),
        };
        Self { identity, window: settings.max_tokens.get(), tokenizer: bundled::tokenizer() }
    }
}

impl Embedder for Unopened {
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
        let reason = "its endpoint did not answer yet".to_owned();
        Err(EmbedError::Unavailable { model: self.identity.model.clone(), reason })
    }
}
