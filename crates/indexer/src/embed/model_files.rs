//! The files of a model, wherever they come from, and the identity derived from them.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde_json::Value;
use weft_index::embedder::ModelIdentity;

use super::model_error::ModelError;
use super::model_families::{self, Prefixes};
use super::model_tokenizer::ModelTokenizer;
use super::pooling::Pooling;

/// Paths of the graph in a model folder; the first one present is used.
const GRAPHS: &[&str] = &["model.onnx", "onnx/model.onnx"];

/// Hexadecimal digits of the digest in a model's name: 64 bits, enough to distinguish models, not to resist forgery.
const DIGEST_DIGITS: usize = 16;

/// The supported pipeline modules; a model with any other would get wrong vectors.
const PIPELINE: &[&str] = &["Transformer", "Pooling", "Normalize"];

/// Architectures that number positions starting after the padding token.
const POSITIONS_AFTER_PADDING: &[&str] = &["roberta", "xlm-roberta", "camembert", "mpnet"];

/// Everything needed to run a model the way it was trained.
#[derive(Clone)]
pub(crate) struct ModelFiles {
    pub(crate) name: String,
    pub(crate) weights: ModelWeights,
    /// Contents of `tokenizer.json`, or the table of a bundled model's tokenizer.
    pub(crate) tokenizer: Cow<'static, [u8]>,
    /// Including special tokens and prefix.
    pub(crate) max_tokens: usize,
    pub(crate) pooling: Pooling,
    pub(crate) prefixes: Prefixes,
    /// Digest of weights and tokenizer, see [`digest`].
    pub(crate) digest: String,
}

/// An ONNX graph with its external data.
#[derive(Clone)]
pub(crate) enum ModelWeights {
    /// Compiled into the program.
    Bundled(&'static [u8]),
    /// On disk: the graph, and the external data files beside it.
    File { graph: PathBuf, external_data: Vec<PathBuf> },
}

impl ModelFiles {
    /// Reads the model folder `folder`; prefixes and pooling come from its files, else from its family.
    pub(crate) fn read(folder: &Path, max_tokens: usize) -> Result<Self, ModelError> {
        let graph = GRAPHS.iter().map(|graph| folder.join(graph)).find(|graph| graph.is_file());
        let graph = graph.ok_or_else(|| ModelError::NoModelFolder {
            folder: folder.to_owned(),
            file: GRAPHS.join(" or "),
        })?;
        Self::read_graph(folder, &folder_name(folder), &graph, max_tokens)
    }

    /// Reads the model `name` in `folder`, with the given graph.
    pub(crate) fn read_graph(
        folder: &Path,
        name: &str,
        graph: &Path,
        max_tokens: usize,
    ) -> Result<Self, ModelError> {
        let tokenizer = folder.join("tokenizer.json");
        if !tokenizer.is_file() {
            return Err(ModelError::NoModelFolder {
                folder: folder.to_owned(),
                file: "tokenizer.json".to_owned(),
            });
        }
        let tokenizer = read(&tokenizer)?;
        let weights = ModelWeights::File {
            graph: graph.to_owned(),
            external_data: external_data_files(graph)?,
        };
        let (prefixes, pooling) = model_families::lookup(name);
        let unsupported = |reason| ModelError::Unsupported { model: name.to_owned(), reason };
        if let Some(part) = foreign_part(&json(folder, "modules.json")?) {
            return Err(unsupported(format!(
                "its pipeline has a `{part}` module, which is not supported"
            )));
        }
        let stated = stated_pooling(&json(folder, "1_Pooling/config.json")?);
        Ok(Self {
            name: name.to_owned(),
            digest: digest(&weights, &tokenizer)?,
            weights,
            tokenizer: tokenizer.into(),
            max_tokens: stated_limit(folder)?.map_or(max_tokens, |limit| limit.min(max_tokens)),
            pooling: stated.unwrap_or(Ok(pooling)).map_err(unsupported)?,
            prefixes: stated_prefixes(&json(folder, "config_sentence_transformers.json")?)
                .unwrap_or(prefixes),
        })
    }

    /// Returns the tokens available for a text after special tokens and the longer prefix; at least one.
    pub(crate) fn window(&self, tokenizer: &ModelTokenizer) -> usize {
        let prefixes = [&self.prefixes.query, &self.prefixes.document];
        let prefix =
            prefixes.map(|prefix| if prefix.is_empty() { 0 } else { tokenizer.n_tokens(prefix) });
        let taken = tokenizer.n_special() + prefix.into_iter().max().unwrap_or_default();
        self.max_tokens.saturating_sub(taken).max(1)
    }

    /// Returns the identity that vectors depend on when `runner` computes them: the digest in the name covers files, window and prefixes.
    pub(crate) fn identity(&self, runner: &str, dimension: usize) -> ModelIdentity {
        let Self { name, weights: _, tokenizer: _, max_tokens, pooling, prefixes, digest } = self;
        let mut recipe = blake3::Hasher::new();
        recipe.update(digest.as_bytes()).update(&(*max_tokens as u64).to_le_bytes());
        for prefix in [&prefixes.query, &prefixes.document] {
            recipe.update(&(prefix.len() as u64).to_le_bytes()).update(prefix.as_bytes());
        }
        let digits = recipe.finalize().to_hex();
        ModelIdentity {
            model: format!("{name}@{}", &digits[..DIGEST_DIGITS]),
            dimension,
            runner: runner.to_owned(),
            pooling: pooling.name().to_owned(),
        }
    }

    /// Returns the name of a reranker: scores depend on its files and on the token limit.
    pub(crate) fn rerank_name(&self) -> String {
        let mut recipe = blake3::Hasher::new();
        recipe.update(self.digest.as_bytes()).update(&(self.max_tokens as u64).to_le_bytes());
        format!("{}@{}", self.name, &recipe.finalize().to_hex()[..DIGEST_DIGITS])
    }
}

/// An external data file: the name by which the graph refers to it, and its bytes.
pub(crate) type ExternalData = (String, Vec<u8>);

impl ModelWeights {
    /// Reads the graph and its external data.
    pub(crate) fn read(&self) -> Result<(Cow<'static, [u8]>, Vec<ExternalData>), ModelError> {
        match self {
            Self::Bundled(graph) => Ok((Cow::Borrowed(graph), Vec::new())),
            Self::File { graph, external_data } => {
                let read_external = |path: &PathBuf| Ok((file_name(path), read(path)?));
                Ok((
                    read(graph)?.into(),
                    external_data.iter().map(read_external).collect::<Result<_, _>>()?,
                ))
            }
        }
    }
}

/// Returns the BLAKE3 hash of graph, external data and tokenizer, each preceded by its length, in hexadecimal.
pub(crate) fn digest(weights: &ModelWeights, tokenizer: &[u8]) -> Result<String, ModelError> {
    let (graph, external_data) = weights.read()?;
    Ok(digest_of(&graph, &external_data, tokenizer))
}

pub(crate) fn digest_of(graph: &[u8], external_data: &[ExternalData], tokenizer: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new();
    let external_data = external_data.iter().map(|(_, bytes)| &bytes[..]);
    for part in [graph].into_iter().chain(external_data).chain([tokenizer]) {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    hasher.finalize().to_hex().to_string()
}

/// Returns the model's name for `folder`: its last component, or `owner/name` inside a hub cache.
fn folder_name(folder: &Path) -> String {
    let in_cache = folder.ancestors().find_map(|part| {
        let name = part.file_name()?.to_str()?.strip_prefix("models--")?;
        Some(name.replacen("--", "/", 1))
    });
    in_cache.unwrap_or_else(|| file_name(folder))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_else(|| OsStr::new("model")).to_string_lossy().into_owned()
}

/// Returns `model.onnx_data`, `model.onnx_data_1`, `model.onnx.data`, …, sorted.
fn external_data_files(graph: &Path) -> Result<Vec<PathBuf>, ModelError> {
    let folder = graph.parent().unwrap_or(Path::new("."));
    let failed = |source| ModelError::Read { path: folder.to_owned(), source };
    let graph = file_name(graph);
    let mut external_data = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = file_name(&path);
        let rest = name.strip_prefix(&graph).unwrap_or_default();
        if rest.starts_with("_data") || rest.starts_with(".data") {
            external_data.push(path);
        }
    }
    external_data.sort();
    Ok(external_data)
}

fn read(path: &Path) -> Result<Vec<u8>, ModelError> {
    std::fs::read(path).map_err(|source| ModelError::Read { path: path.to_owned(), source })
}

/// Reads the JSON file `name` in `folder`; `Null` if it does not exist.
fn json(folder: &Path, name: &str) -> Result<Value, ModelError> {
    let path = folder.join(name);
    if !path.is_file() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(&read(&path)?)
        .map_err(|error| ModelError::Malformed { path, reason: error.to_string() })
}

/// Returns the first unsupported module of a pipeline.
fn foreign_part(modules: &Value) -> Option<&str> {
    let types = modules.as_array()?.iter().filter_map(|module| module["type"].as_str());
    types.filter_map(|path| path.rsplit('.').next()).find(|part| !PIPELINE.contains(part))
}

/// Returns the pooling stated by a folder: an error if it is unsupported, `None` if none is stated.
fn stated_pooling(config: &Value) -> Option<Result<Pooling, String>> {
    let flags = config.as_object()?.iter().filter_map(|(key, value)| {
        let flag = key.strip_prefix("pooling_mode_").filter(|_| value == &Value::Bool(true));
        flag.or_else(|| value.as_str().filter(|_| key == "pooling_mode"))
    });
    let stated: Vec<&str> = flags.collect();
    match stated[..] {
        [] => None,
        ["mean_tokens" | "mean"] => Some(Ok(Pooling::Mean)),
        ["cls_token" | "cls"] => Some(Ok(Pooling::Cls)),
        [..] => Some(Err(format!(
            "it pools by {}, but only mean and CLS pooling are supported",
            stated.join(" and ")
        ))),
    }
}

/// Returns the prefixes stated by a folder; `None` if the folder states no prefix or only empty ones.
fn stated_prefixes(config: &Value) -> Option<Prefixes> {
    let prompts = config["prompts"].as_object()?;
    let prompt = |names: &[&str]| {
        let found = names.iter().find_map(|name| prompts.get(*name)?.as_str());
        found.unwrap_or_default().to_owned()
    };
    let prefixes = Prefixes {
        query: prompt(&["query", "search_query"]),
        document: prompt(&["document", "passage", "search_document"]),
    };
    (!prefixes.is_empty()).then_some(prefixes)
}

/// Returns the lowest token limit stated by a folder's files.
fn stated_limit(folder: &Path) -> Result<Option<usize>, ModelError> {
    let config = json(folder, "config.json")?;
    let offset = match config["model_type"].as_str() {
        Some(kind) if POSITIONS_AFTER_PADDING.contains(&kind) => {
            config["pad_token_id"].as_u64().unwrap_or_default() + 1
        }
        Some(_) | None => 0,
    };
    let positions = config["max_position_embeddings"].as_u64().map(|n| n.saturating_sub(offset));
    let sentence = json(folder, "sentence_bert_config.json")?["max_seq_length"].as_u64();
    // Tokenizers without a limit state a number beyond any integer, which is ignored here.
    let tokenizer = json(folder, "tokenizer_config.json")?["model_max_length"].as_u64();
    let limits = [positions, sentence, tokenizer].into_iter().flatten().filter(|&limit| limit > 0);
    Ok(limits.min().and_then(|limit| usize::try_from(limit).ok()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pooling_is_read_from_folder() {
        let cases = [
            ("nothing", Value::Null, None),
            (
                "mean",
                json!({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": false}),
                Some(Ok(Pooling::Mean)),
            ),
            ("cls", json!({"pooling_mode_cls_token": true}), Some(Ok(Pooling::Cls))),
            ("one word", json!({"pooling_mode": "cls"}), Some(Ok(Pooling::Cls))),
            ("no flag set", json!({"word_embedding_dimension": 3}), None),
        ];
        for (name, config, expected) in cases {
            assert_eq!(stated_pooling(&config), expected, "{name}");
        }
        let last = stated_pooling(&json!({"pooling_mode_lasttoken": true})).unwrap().unwrap_err();
        assert!(last.contains("lasttoken"), "{last}");
    }

    #[test]
    fn prefixes_are_read_from_folder() {
        let stated = json!({"prompts": {"query": "q: ", "passage": "p: "}});
        let expected = Prefixes { query: "q: ".to_owned(), document: "p: ".to_owned() };
        assert_eq!(stated_prefixes(&stated), Some(expected));
        for unstated in [json!({}), json!({"prompts": {"query": "", "document": ""}})] {
            assert_eq!(stated_prefixes(&unstated), None, "{unstated}");
        }
    }

    #[test]
    fn lowest_token_limit_applies() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, value: Value| {
            std::fs::write(folder.path().join(name), value.to_string()).unwrap()
        };
        assert_eq!(stated_limit(folder.path()).unwrap(), None);
        write("tokenizer_config.json", json!({"model_max_length": 1e30}));
        assert_eq!(stated_limit(folder.path()).unwrap(), None);
        write(
            "config.json",
            json!({"model_type": "xlm-roberta", "max_position_embeddings": 514, "pad_token_id": 1}),
        );
        assert_eq!(stated_limit(folder.path()).unwrap(), Some(512));
        write("sentence_bert_config.json", json!({"max_seq_length": 128}));
        assert_eq!(stated_limit(folder.path()).unwrap(), Some(128));
    }

    #[test]
    fn cached_model_is_named_after_its_repository() {
        for (folder, name) in [
            ("/srv/models/bge-small-en-v1.5", "bge-small-en-v1.5"),
            ("/cache/models--BAAI--bge-m3/snapshots/5617", "BAAI/bge-m3"),
            ("/", "model"),
        ] {
            assert_eq!(folder_name(Path::new(folder)), name);
        }
    }

    #[test]
    fn unsupported_pipeline_modules_are_found() {
        let modules = |kind: &str| json!([{"type": "sentence_transformers.models.Transformer"}, {"type": kind}]);
        assert_eq!(foreign_part(&modules("sentence_transformers.models.Normalize")), None);
        assert_eq!(foreign_part(&modules("sentence_transformers.models.Dense")), Some("Dense"));
        assert_eq!(foreign_part(&Value::Null), None);
    }
}
