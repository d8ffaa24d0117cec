//! Ways to count tokens, by the names that requests use.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_accordion::Meter;
use weft_model::Estimator;
use weft_model::tokens::{Bytes, Characters, Unit};

use crate::EngineError;

/// Ways to count tokens, by name.
///
/// `chars` and `bytes` go by length, `unit` counts every text as one; tokenizers are added by who can read their files.
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
    /// The name of the estimator by characters.
    pub const CHARS: &'static str = "chars";

    /// Those that need no file, at so many characters or bytes a token.
    #[must_use]
    pub fn by_length(characters: Characters) -> Self {
        let bytes = Bytes { per_token: characters.per_token };
        let no_others =
            Self { characters, others: BTreeMap::new(), default: Self::CHARS.to_owned() };
        no_others.with("bytes", Arc::new(bytes)).with("unit", Arc::new(Unit))
    }

    /// The same with one more, which takes the place of another of its name.
    #[must_use]
    pub fn with(mut self, name: &str, estimator: Arc<dyn Estimator>) -> Self {
        self.others.insert(name.to_owned(), estimator);
        self
    }

    /// The same with this one where the caller names none.
    ///
    /// Fails where there is none of this name.
    pub fn with_default(mut self, name: &str) -> Result<Self, EngineError> {
        self.find(Some(name))?;
        name.clone_into(&mut self.default);
        Ok(self)
    }

    /// The names, those that need no file first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(Self::CHARS).chain(self.others.keys().map(String::as_str))
    }

    /// The name asked for, or that of the default.
    pub(crate) fn name<'n>(&'n self, asked: Option<&'n str>) -> &'n str {
        asked.unwrap_or(&self.default)
    }

    /// The estimator of this name, or the default.
    ///
    /// Fails on the field `estimator` and lists the names there are.
    pub fn find(&self, name: Option<&str>) -> Result<&dyn Estimator, EngineError> {
        let name = self.name(name);
        if name == Self::CHARS {
            return Ok(&self.characters);
        }
        self.others.get(name).map(|found| &**found).ok_or_else(|| {
            let known: Vec<&str> = self.names().collect();
            let reason = format!("`{name}` is no estimator; there are {}", known.join(", "));
            EngineError::InvalidArgument { field: "estimator", reason }
        })
    }

    /// The same for the accordion, whose arithmetic runs in characters where they are what counts.
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
            "`estimator`: `gpt` is no estimator; there are chars, bytes, unit, words"
        );
        let by_bytes = estimators.with_default("bytes").unwrap();
        assert_eq!(by_bytes.find(None).unwrap().estimate("é").get(), 1);
        assert!(matches!(by_bytes.meter(None), Ok(Meter::Estimator(_))));
    }
}
