//! Builds requests to embedding endpoints and parses their results, for both supported APIs.

use serde_json::{Value, json};

/// An embeddings API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Api {
    /// `POST /embeddings`. Source: OpenAI's API reference, "Create embeddings".
    OpenAi,
    /// `POST /api/embed`. Source: Ollama's API documentation, "Generate embeddings".
    Ollama,
}

impl Api {
    /// Returns the name used in a model's identity.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Ollama => "ollama",
        }
    }

    /// Returns the default base address.
    pub(super) const fn default_url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Ollama => "http://127.0.0.1:11434",
        }
    }

    /// Returns the address of the embeddings method below `url`.
    pub(super) fn address(self, url: &str) -> String {
        let path = match self {
            Self::OpenAi => "embeddings",
            Self::Ollama => "api/embed",
        };
        format!("{}/{path}", url.trim_end_matches('/'))
    }

    /// Builds the body of a request; `dimension` asks for vectors shorter than the model's own.
    pub(super) fn body(self, model: &str, texts: &[String], dimension: Option<usize>) -> Vec<u8> {
        let mut body = match self {
            Self::OpenAi => json!({ "model": model, "input": texts, "encoding_format": "float" }),
            Self::Ollama => json!({ "model": model, "input": texts }),
        };
        if let Some(dimension) = dimension {
            body["dimensions"] = dimension.into();
        }
        body.to_string().into_bytes()
    }

    /// Parses the vectors of `n_texts` texts, in order, as returned by the endpoint.
    pub(super) fn vectors(self, body: &[u8], n_texts: usize) -> Result<Vec<Vec<f64>>, String> {
        let malformed = || {
            "the endpoint's response is not a list of embeddings; check embedding.remote.url and embedding.runner".to_owned()
        };
        let answer: Value = serde_json::from_slice(body).map_err(|_| malformed())?;
        let vectors = match self {
            Self::OpenAi => {
                let data = answer["data"].as_array().ok_or_else(malformed)?;
                let mut ordered = vec![None; data.len()];
                for (at, item) in data.iter().enumerate() {
                    let index =
                        item["index"].as_u64().map_or(Some(at), |n| usize::try_from(n).ok());
                    let place =
                        index.and_then(|index| ordered.get_mut(index)).ok_or_else(malformed)?;
                    *place = floats(&item["embedding"]);
                }
                ordered.into_iter().collect::<Option<Vec<_>>>()
            }
            Self::Ollama => {
                let all = answer["embeddings"].as_array().ok_or_else(malformed)?;
                all.iter().map(floats).collect()
            }
        };
        let vectors = vectors.ok_or_else(malformed)?;
        if vectors.len() == n_texts {
            return Ok(vectors);
        }
        Err(format!("the endpoint returned {} vectors for {n_texts} texts", vectors.len()))
    }
}

/// Parses an array of numbers.
fn floats(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(Value::as_f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::http_endpoint::{ApiOutcome, HttpReply, outcome};

    fn read(api: Api, status: u16, body: &str) -> ApiOutcome<Vec<Vec<f64>>> {
        let reply = HttpReply { status, retry_after: None, body: body.as_bytes().to_vec() };
        outcome(&reply, "embedding.remote", |body| api.vectors(body, 2))
    }

    #[test]
    fn vectors_are_returned_in_order_of_texts() {
        let both = vec![vec![1.0, 0.0], vec![0.0, 1.0]];
        for (name, api, body) in [
            ("ollama", Api::Ollama, r#"{"embeddings": [[1, 0], [0, 1.0]]}"#),
            (
                "openai",
                Api::OpenAi,
                r#"{"data": [{"index": 0, "embedding": [1, 0]}, {"index": 1, "embedding": [0, 1]}]}"#,
            ),
            (
                "out of order",
                Api::OpenAi,
                r#"{"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0]}]}"#,
            ),
            (
                "without an index",
                Api::OpenAi,
                r#"{"data": [{"embedding": [1, 0]}, {"embedding": [0, 1]}]}"#,
            ),
        ] {
            assert_eq!(read(api, 200, body), ApiOutcome::Results(both.clone()), "{name}");
        }
    }

    #[test]
    fn error_responses_state_whether_to_retry() {
        #[derive(Debug, PartialEq)]
        enum Again {
            Later,
            Refused,
            Texts,
        }
        for (name, status, body, expected, part) in [
            ("no JSON", 200, "<html>", Again::Later, "not a list of embeddings"),
            ("another shape", 200, "{}", Again::Later, "not a list of embeddings"),
            ("too few", 200, r#"{"data": [{"embedding": [1]}]}"#, Again::Later, "1 vectors for 2"),
            (
                "not finite",
                200,
                r#"{"data": [{"embedding": [1e999]}, {"embedding": [1]}]}"#,
                Again::Later,
                "not a list of embeddings",
            ),
            (
                "twice the same place",
                200,
                r#"{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}"#,
                Again::Later,
                "not a list of embeddings",
            ),
            (
                "a far place",
                200,
                r#"{"data": [{"index": 9, "embedding": [1]}, {"index": 0, "embedding": [1]}]}"#,
                Again::Later,
                "not a list of embeddings",
            ),
            (
                "too many requests",
                429,
                r#"{"error": {"message": "slow down"}}"#,
                Again::Later,
                "429: slow down",
            ),
            ("broken", 503, "", Again::Later, "503"),
            (
                "the key",
                401,
                r#"{"error": {"message": "sk-secret is wrong"}}"#,
                Again::Refused,
                "the API key (401)",
            ),
            (
                "no such model",
                404,
                r#"{"error": {"message": "no model x"}}"#,
                Again::Refused,
                "404: no model x",
            ),
            ("moved", 302, "", Again::Refused, "302"),
            (
                "too long",
                400,
                r#"{"error": {"message": "the text 'my secret' is too long"}}"#,
                Again::Texts,
                "the texts (400)",
            ),
        ] {
            let (again, reason) = match read(Api::OpenAi, status, body) {
                ApiOutcome::RetryLater { reason, .. } => (Again::Later, reason),
                ApiOutcome::Rejected { reason } => (Again::Refused, reason),
                ApiOutcome::InvalidTexts { reason } => (Again::Texts, reason),
                ApiOutcome::Results(_) => panic!("{name} gave vectors"),
            };
            assert_eq!(again, expected, "{name}: {reason}");
            assert!(reason.contains(part) && !reason.contains("secret"), "{name}: {reason}");
        }
    }

    #[test]
    fn requests_contain_model_and_texts() {
        let texts = ["a".to_owned(), "b".to_owned()];
        let body = |api: Api, dimension| -> Value {
            serde_json::from_slice(&api.body("m", &texts, dimension)).unwrap()
        };
        let expected =
            json!({"model": "m", "input": ["a", "b"], "encoding_format": "float", "dimensions": 8});
        assert_eq!(body(Api::OpenAi, Some(8)), expected);
        assert_eq!(body(Api::Ollama, None), json!({"model": "m", "input": ["a", "b"]}));
        assert_eq!(Api::OpenAi.address("http://x/v1/"), "http://x/v1/embeddings");
        assert_eq!(Api::Ollama.address("http://x"), "http://x/api/embed");
    }
}
