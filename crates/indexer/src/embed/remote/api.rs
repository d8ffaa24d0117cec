//! What is said to an endpoint and what it says back, as values: two ways of asking, and how an answer is read.

use std::time::Duration;

use serde_json::{Value, json};

use super::Secret;

/// The longest reason of an endpoint that is repeated, in characters.
const MAX_REASON: usize = 160;

/// A way of asking for vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Api {
    /// `POST /embeddings`. Source: OpenAI's API reference, "Create embeddings".
    OpenAi,
    /// `POST /api/embed`. Source: Ollama's API documentation, "Generate embeddings".
    Ollama,
}

/// What came of one request.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    /// One vector per text, in order, as the endpoint gave them.
    Vectors(Vec<Vec<f64>>),
    /// Asking again may help, not before this time where it says so.
    Later { reason: String, after: Option<Duration> },
    /// Asking again helps when a person has changed something: the key, the model, the endpoint.
    Refused { reason: String },
    /// These texts are what is wrong.
    Texts { reason: String },
}

/// An answer over HTTP.
#[derive(Clone, Debug, Default)]
pub(super) struct Reply {
    pub(super) status: u16,
    /// What `retry-after` says, where it is a number of seconds.
    pub(super) retry_after: Option<Duration>,
    pub(super) body: Vec<u8>,
}

impl Api {
    /// What vectors say of who made them.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Ollama => "ollama",
        }
    }

    /// Where it answers if nothing else is said.
    pub(super) const fn usual_url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Ollama => "http://127.0.0.1:11434",
        }
    }

    /// The address of the call below `url`.
    pub(super) fn address(self, url: &str) -> String {
        let path = match self {
            Self::OpenAi => "embeddings",
            Self::Ollama => "api/embed",
        };
        format!("{}/{path}", url.trim_end_matches('/'))
    }

    /// The body of a request; `dimension` asks for shorter vectors than the model's own.
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

    /// Reads an answer for `n_texts` texts.
    pub(super) fn read(self, reply: &Reply, n_texts: usize) -> Outcome {
        let Reply { status, retry_after, body } = reply;
        let said = || self.reason(body).map_or_else(String::new, |reason| format!(": {reason}"));
        match status {
            200..=299 => match self.vectors(body, n_texts) {
                Ok(vectors) => Outcome::Vectors(vectors),
                Err(reason) => Outcome::Later { reason, after: *retry_after },
            },
            // What is said about a key may hold a part of it.
            401 | 403 => {
                Outcome::Refused { reason: format!("the endpoint refuses the key ({status})") }
            }
            408 | 425 | 429 | 500..=599 => Outcome::Later {
                reason: format!("the endpoint answers {status}{}", said()),
                after: *retry_after,
            },
            // What is said about a text may hold a part of it.
            400 | 413 | 422 => {
                Outcome::Texts { reason: format!("the endpoint refuses the texts ({status})") }
            }
            _ => Outcome::Refused { reason: format!("the endpoint answers {status}{}", said()) },
        }
    }

    fn vectors(self, body: &[u8], n_texts: usize) -> Result<Vec<Vec<f64>>, String> {
        let garbled = || "the endpoint's answer is not what was agreed on".to_owned();
        let answer: Value = serde_json::from_slice(body).map_err(|_| garbled())?;
        let vectors = match self {
            Self::OpenAi => {
                let data = answer["data"].as_array().ok_or_else(garbled)?;
                let mut placed = vec![None; data.len()];
                for (at, item) in data.iter().enumerate() {
                    let index =
                        item["index"].as_u64().map_or(Some(at), |n| usize::try_from(n).ok());
                    let place =
                        index.and_then(|index| placed.get_mut(index)).ok_or_else(garbled)?;
                    *place = floats(&item["embedding"]);
                }
                placed.into_iter().collect::<Option<Vec<_>>>()
            }
            Self::Ollama => {
                let all = answer["embeddings"].as_array().ok_or_else(garbled)?;
                all.iter().map(floats).collect()
            }
        };
        let vectors = vectors.ok_or_else(garbled)?;
        if vectors.len() == n_texts {
            return Ok(vectors);
        }
        Err(format!("the endpoint gave {} vectors for {n_texts} texts", vectors.len()))
    }

    /// Why, in the endpoint's own words.
    fn reason(self, body: &[u8]) -> Option<String> {
        let answer: Value = serde_json::from_slice(body).ok()?;
        let said = match self {
            Self::OpenAi => answer["error"]["message"].as_str().or(answer["error"].as_str()),
            Self::Ollama => answer["error"].as_str(),
        };
        let line = said?.lines().next().unwrap_or_default();
        let line: String = line.chars().filter(|c| !c.is_control()).take(MAX_REASON).collect();
        Some(line).filter(|line| !line.is_empty())
    }
}

/// The value of the header that shows a key.
pub(super) fn authorization(key: &Secret) -> String {
    format!("Bearer {}", key.reveal())
}

/// An array of numbers, all of them finite: JSON has no others.
fn floats(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(Value::as_f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(status: u16, body: &str) -> Reply {
        Reply { status, retry_after: None, body: body.as_bytes().to_vec() }
    }

    #[test]
    fn answers_are_read_in_the_order_of_the_texts() {
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
            assert_eq!(api.read(&reply(200, body), 2), Outcome::Vectors(both.clone()), "{name}");
        }
    }

    #[test]
    fn what_is_no_answer_says_whether_to_ask_again() {
        #[derive(Debug, PartialEq)]
        enum Again {
            Later,
            Refused,
            Texts,
        }
        for (name, status, body, expected, part) in [
            ("no JSON", 200, "<html>", Again::Later, "agreed on"),
            ("another shape", 200, "{}", Again::Later, "agreed on"),
            ("too few", 200, r#"{"data": [{"embedding": [1]}]}"#, Again::Later, "1 vectors for 2"),
            (
                "not finite",
                200,
                r#"{"data": [{"embedding": [1e999]}, {"embedding": [1]}]}"#,
                Again::Later,
                "agreed on",
            ),
            (
                "twice the same place",
                200,
                r#"{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}"#,
                Again::Later,
                "agreed on",
            ),
            (
                "a far place",
                200,
                r#"{"data": [{"index": 9, "embedding": [1]}, {"index": 0, "embedding": [1]}]}"#,
                Again::Later,
                "agreed on",
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
                "the key (401)",
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
            let (again, reason) = match Api::OpenAi.read(&reply(status, body), 2) {
                Outcome::Later { reason, .. } => (Again::Later, reason),
                Outcome::Refused { reason } => (Again::Refused, reason),
                Outcome::Texts { reason } => (Again::Texts, reason),
                Outcome::Vectors(_) => panic!("{name} gave vectors"),
            };
            assert_eq!(again, expected, "{name}: {reason}");
            assert!(reason.contains(part) && !reason.contains("secret"), "{name}: {reason}");
        }
    }

    #[test]
    fn requests_name_the_model_and_the_texts() {
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
