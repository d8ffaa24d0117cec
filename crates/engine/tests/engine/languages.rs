//! The shares of vectors and keywords by what the model and the notes know of a query.

use std::sync::Arc;

use weft_index::embedder::{Calibration, EmbedError, Embedder, ModelIdentity, ReadableText, Role};

use super::vault::{Directions, vault};

/// Vectors of [`Directions`], by a model that reads some languages.
struct Reads(Directions, ReadableText);

impl Embedder for Reads {
    fn identity(&self) -> &ModelIdentity {
        self.0.identity()
    }

    fn window(&self) -> usize {
        self.0.window()
    }

    fn n_tokens(&self, text: &str) -> usize {
        self.0.n_tokens(text)
    }

    fn calibration(&self) -> Option<Calibration> {
        self.0.calibration()
    }

    fn readable_text(&self) -> ReadableText {
        self.1
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.0.embed(texts, role)
    }
}

#[test]
fn keywords_count_by_the_share_of_the_query_that_notes_contain() {
    let mut vault = vault(&[
        ("moss.md", "Moss grows in the shade."),
        ("fern.md", "The fern grows beside moss."),
        ("stone.md", "A stone has no roots."),
    ]);
    let known = "moss beside stone";
    let few = "moss zwischen feuchten alten Mauern";
    let unknown = "zwischen feuchten alten Mauern";
    let german = "Wo sucht man bei einem Erdbeben Schutz?";
    for (reads, query, weight, share) in [
        (ReadableText::EveryLanguage, known, Some(1.0), Some(0.5)),
        (ReadableText::EveryLanguage, few, None, None),
        (ReadableText::EveryLanguage, unknown, Some(0.0), Some(1.0)),
        (ReadableText::EveryLanguage, german, Some(0.0), Some(1.0)),
        (ReadableText::English, known, Some(1.0), Some(0.5)),
        (ReadableText::English, "moss zyzzyva quux", Some(1.0), Some(0.5)),
        (ReadableText::English, german, Some(1.0), Some(0.0)),
        (ReadableText::Unknown, few, Some(1.0), Some(0.5)),
    ] {
        let vectors = vault.snapshot.vectors.as_mut().unwrap();
        vectors.embedder = Arc::new(Reads(Directions::new(), reads));
        let answer = vault.search(query);
        let explanation = answer.explanation.unwrap();
        let name = format!("{reads:?}: {query}");
        let (found, by_vector) = (explanation.keyword_weight, explanation.vector_share);
        assert!(weight.is_none_or(|weight| (found - weight).abs() < 1e-12), "{name}: {found}");
        assert!(share.is_none_or(|share| (by_vector - share).abs() < 1e-12), "{name}: {by_vector}");
        if weight.is_none() {
            let idf = |word: &str| {
                let words = explanation.words.iter();
                words.filter(|known| known.word == word).map(|known| known.idf).sum::<f64>()
            };
            let all: f64 = explanation.words.iter().map(|word| word.idf).sum();
            let expected = 2.0 * idf("moss") / all;
            assert!(expected < 1.0 && (found - expected).abs() < 1e-12, "{name}: {found}");
            assert!((by_vector - (1.0 - 0.5 * found)).abs() < 1e-12, "{name}: {by_vector}");
        }
        for hit in answer.hits {
            let base = by_vector * hit.vector_score + (1.0 - by_vector) * hit.keyword_score;
            assert!((hit.raw.base - base).abs() < 1e-9, "{name}: {}", hit.uri);
        }
    }
}
