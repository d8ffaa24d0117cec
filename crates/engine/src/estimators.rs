//! Token estimators by the names that requests use.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_accordion::Meter;
use weft_model::Estimator;
use weft_model::tokens::{Bytes, Characters, Unit};

use crate::EngineError;

/// Token estimators by name.
///
/// `chars` and `bytes` estimate by length, `unit` counts every text as one token. Tokenizers are added by code that can read their files.
#[derive(Clone)]
pub struct Estimators {
    characters: Characters,
    others: BTreeMap<String, Arc<dyn Estimator>>,
    default: String,
}

impl Default for Estimators {
    fn default() -> Self {
        Self::by_length(Characters::default())
    }
}

impl Estimators {
    /// Name of the estimator by characters.
    pub const CHARS: &'static str = "chars";

    /// Creates the estimators that need no file, with the given characters or bytes per token.
    #[must_use]
    pub fn by_length(characters: Characters) -> Self {
        let bytes = Bytes { per_token: characters.per_token };
        let no_others =
            Self { characters, others: BTreeMap::new(), default: Self::CHARS.to_owned() };
        no_others.with("bytes", Arc::new(bytes)).with("unit", Arc::new(Unit))
    }

    /// Adds an estimator, in place of one with the same name.
    #[must_use]
    pub fn with(mut self, name: &str, estimator: Arc<dyn Estimator>) -> Self {
        self.others.insert(name.to_owned(), estimator);
        self
    }

    /// Sets the default estimator.
    ///
    /// Fails if none has this name.
    pub fn with_default(mut self, name: &str) -> Result<Self, EngineError> {
        self.find(Some(name))?;
        name.clone_into(&mut self.default);
        Ok(self)
    }

    /// Returns the names, those that need no file first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(Self::CHARS).chain(self.others.keys().map(String::as_str))
    }

    /// Returns the requested name, or the default.
    pub(crate) fn name<'n>(&'n self, requested: Option<&'n str>) -> &'n str {
        requested.unwrap_or(&self.default)
    }

    /// Returns the estimator of this name, or the default.
    ///
    /// Fails on the field `estimator` and lists the known names.
    pub fn find(&self, name: Option<&str>) -> Result<&dyn Estimator, EngineError> {
        let name = self.name(name);
        if name == Self::CHARS {
            return Ok(&self.characters);
        }
        self.others.get(name).map(|found| &**found).ok_or_else(|| {
            let known: Vec<&str> = self.names().collect();
            let reason =
                format!("unknown estimator `{name}`; known estimators: {}", known.join(", "));
            EngineError::InvalidArgument { field: "estimator", reason }
        })
    }

    /// Returns the estimator as a [`Meter`], which counts in characters where an estimator does.
    pub(crate) fn meter(&self, name: Option<&str>) -> Result<Meter<'_>, EngineError> {
        if self.name(name) == Self::CHARS {
            return Ok(Meter::Characters(self.characters));
        }
        self.find(name).map(Meter::Estimator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimators_are_found_by_name() {
        let estimators = Estimators::by_length(Characters { per_token: 2.0 });
        let estimators = estimators.with("words", Arc::new(Unit));
        for (name, expected) in [("chars", 3), ("bytes", 4), ("unit", 1), ("words", 1)] {
            assert_eq!(
                estimators.find(Some(name)).unwrap().estimate("fünf é").get(),
                expected,
                "{name}"
            );
        }
        assert!(matches!(estimators.meter(Some("chars")), Ok(Meter::Characters(_))));
        assert!(matches!(estimators.meter(None), Ok(Meter::Characters(_))));
        assert!(matches!(estimators.meter(Some("bytes")), Ok(Meter::Estimator(_))));
        let error = estimators.clone().with_default("gpt").err().unwrap().to_string();
        assert_eq!(
            error,
            "`estimator`: unknown estimator `gpt`; known estimators: chars, bytes, unit, words"
        );
        let by_bytes = estimators.with_default("bytes").unwrap();
        assert_eq!(by_bytes.find(None).unwrap().estimate("é").get(), 1);
        assert!(matches!(by_bytes.meter(None), Ok(Meter::Estimator(_))));
    }
}
