//! The choice between the bundled models, made once for each index.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weft_index::Disk;

use super::bundled_model::{BundledModel, ENGLISH, MULTILINGUAL};
use super::{AUTO, EmbeddingSettings};

/// Share of text that is not English above which the multilingual model is chosen.
///
/// Text in other languages is found by words alone with the English model, so little of it justifies the other one.
/// In English, the English model is twice as fast and better on abstracts: by 4 and 12 points of nDCG@10 on two collections.
pub const MULTILINGUAL_ABOVE: f64 = 0.1;

/// Factor beyond the bound from which a choice counts as outgrown, so that a vault near the bound is not reported with every other edit.
const OUTGROWN: f64 = 1.5;

/// The bundled model that was chosen for the vaults of an index, and what decided.
///
/// It stays until another is asked for: a change would embed all notes again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelChoice {
    /// Name of the model.
    pub model: String,
    /// Share of the text that was not English, in `0.0..=1.0`, by letters without code and tags.
    pub not_english: f64,
}

impl ModelChoice {
    /// Chooses the model for a share of text that is not English.
    #[must_use]
    pub fn of_share(not_english: f64) -> Self {
        let is_built_in = BundledModel::named(MULTILINGUAL).is_some();
        let model =
            if not_english > MULTILINGUAL_ABOVE && is_built_in { MULTILINGUAL } else { ENGLISH };
        Self { model: model.to_owned(), not_english }
    }

    /// Reads the choice of the store; `None` if none was made, or if this build lacks the model.
    pub(crate) fn read(store: &Path) -> Option<Self> {
        let stored: Self = serde_json::from_slice(&std::fs::read(path(store)).ok()?).ok()?;
        BundledModel::named(&stored.model).map(|_| stored)
    }

    /// Stores the choice; without one, removes an earlier one, so that a later `auto` chooses again.
    pub(crate) fn record(choice: Option<&Self>, disk: &Disk, store: &Path) -> std::io::Result<()> {
        let path = path(store);
        let Some(choice) = choice else {
            return if path.is_file() { disk.remove_file(&path) } else { Ok(()) };
        };
        if Self::read(store).as_ref() == Some(choice) {
            return Ok(());
        }
        disk.replace(&path, &serde_json::to_vec_pretty(choice)?)
    }

    /// Describes the choice for users.
    #[must_use]
    pub fn line(&self) -> String {
        let Self { model, not_english } = self;
        let share = percent(*not_english);
        let kind = if model == MULTILINGUAL { "multilingual" } else { "English" };
        format!(
            "{share} of the text is not English, so the {kind} model was chosen (`{model}`); set `embedding.model` to use another."
        )
    }

    /// Describes what to do if the text of the vaults has changed so much that the other model would be chosen; `None` while the choice fits.
    #[must_use]
    pub fn outgrown_line(&self, not_english: f64) -> Option<String> {
        let beyond = if self.model == MULTILINGUAL {
            MULTILINGUAL_ABOVE / OUTGROWN
        } else {
            MULTILINGUAL_ABOVE * OUTGROWN
        };
        let is_multilingual = not_english > beyond;
        let next = Self::of_share(if is_multilingual { 1.0 } else { 0.0 });
        (next.model != self.model).then(|| {
            format!(
                "{} of the text is not English, {} when `{}` was chosen; `weft reindex --model auto` switches to `{}` and embeds all notes again.",
                percent(not_english),
                percent(self.not_english),
                self.model,
                next.model,
            )
        })
    }
}

/// Replaces the model `auto` in `settings` by the stored choice, or by one made now with the share of text that is not English, as `measure` finds it.
///
/// A vault without text gets the English model, and no choice is stored for it.
pub(crate) fn resolve(
    settings: EmbeddingSettings,
    store: &Path,
    measure: impl FnOnce() -> Option<f64>,
) -> (EmbeddingSettings, Option<ModelChoice>) {
    if settings.model != AUTO {
        return (settings, None);
    }
    let choice = ModelChoice::read(store).or_else(|| measure().map(ModelChoice::of_share));
    let model = choice.as_ref().map_or(ENGLISH, |choice| &choice.model).to_owned();
    (EmbeddingSettings { model, ..settings }, choice)
}

fn path(store: &Path) -> PathBuf {
    store.join(weft_index::MODEL_CHOICE_FILE)
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 1.0 {
        "less than 1 %".to_owned()
    } else {
        format!("{percent:.0} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(feature = "multilingual")]
    fn share_of_foreign_text_decides_and_growth_is_reported() {
        for (share, model) in
            [(0.0, ENGLISH), (0.1, ENGLISH), (0.11, MULTILINGUAL), (1.0, MULTILINGUAL)]
        {
            let choice = ModelChoice::of_share(share);
            assert_eq!(choice.model, model, "{share}");
            assert_eq!(choice.outgrown_line(share), None, "{share}");
        }
        let english = ModelChoice::of_share(0.02);
        assert_eq!(english.outgrown_line(0.14), None);
        let line = english.outgrown_line(0.4).unwrap();
        assert!(
            line.contains("40 %") && line.contains("2 %") && line.contains(MULTILINGUAL),
            "{line}"
        );
        let multilingual = ModelChoice::of_share(0.5);
        assert_eq!(multilingual.outgrown_line(0.08), None);
        assert!(multilingual.outgrown_line(0.01).unwrap().contains(ENGLISH));
    }

    #[test]
    fn choice_is_stored_until_another_model_is_set() {
        let store = tempfile::tempdir().unwrap();
        let settings = |model: &str| EmbeddingSettings {
            model: model.to_owned(),
            ..EmbeddingSettings::default()
        };
        let never = || -> Option<f64> { panic!("the stored choice was ignored") };
        let (_, none) = resolve(settings(AUTO), store.path(), || None);
        assert_eq!(none, None, "nothing to decide by");
        let choice = ModelChoice::of_share(0.05);
        ModelChoice::record(Some(&choice), &Disk::default(), store.path()).unwrap();
        let (resolved, known) = resolve(settings(AUTO), store.path(), never);
        assert_eq!((resolved.model.as_str(), known), (ENGLISH, Some(choice)));
        let (explicit, none) = resolve(settings("other"), store.path(), never);
        assert_eq!((explicit.model.as_str(), none.as_ref()), ("other", None));
        ModelChoice::record(None, &Disk::default(), store.path()).unwrap();
        assert_eq!(ModelChoice::read(store.path()), None);
    }
}
