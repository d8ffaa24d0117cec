//! The named models of fastembed, kept in a cache folder in the layout of the Hugging Face tools.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use fastembed::{EmbeddingModel, ModelInfo, QuantizationMode, TextEmbedding};

use super::model_error::ModelError;
use super::model_files::ModelFiles;
#[cfg(feature = "hub")]
use super::onnx_runtime;
use super::pooling::Pooling;

/// Returns the names of all known models, sorted; each is also available by its hub name, `owner/name`.
#[must_use]
pub fn known_models() -> Vec<String> {
    let mut names: Vec<String> =
        TextEmbedding::list_supported_models().iter().map(|info| info.model.to_string()).collect();
    names.sort();
    names
}

/// Finds the model called `name`, in fastembed's spelling or the hub's, ignoring case.
///
/// If a full and a quantized form share a hub name, returns the full one.
pub(crate) fn find(name: &str) -> Option<ModelInfo<EmbeddingModel>> {
    let mut models = TextEmbedding::list_supported_models();
    models.sort_by_key(|info| {
        let quantized = TextEmbedding::get_quantization_mode(&info.model) != QuantizationMode::None;
        (quantized, info.model.to_string())
    });
    let spelled =
        |info: &ModelInfo<EmbeddingModel>| info.model.to_string().eq_ignore_ascii_case(name);
    let on_hub = |info: &ModelInfo<EmbeddingModel>| info.model_code.eq_ignore_ascii_case(name);
    models
        .iter()
        .find(|info| spelled(info))
        .or_else(|| models.iter().find(|info| on_hub(info)))
        .cloned()
}

/// Returns at most five known names that share words with `name`, those that share most first.
pub(crate) fn near(name: &str) -> Vec<String> {
    let name = name.to_lowercase();
    let words: Vec<&str> =
        name.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2).collect();
    let n_shared = |known: &String| {
        let known = known.to_lowercase();
        words.iter().filter(|word| known.contains(**word)).count()
    };
    let mut near = known_models();
    near.retain(|known| n_shared(known) > 0);
    near.sort_by_key(|known| Reverse(n_shared(known)));
    near.truncate(5);
    near
}

/// Returns the files of `model` in `cache`, downloading them first if necessary and if this build supports it.
pub(crate) fn files(
    model: &ModelInfo<EmbeddingModel>,
    cache: &Path,
    max_tokens: usize,
    library: Option<&Path>,
) -> Result<ModelFiles, ModelError> {
    let snapshot = match snapshot(model, cache) {
        Some(snapshot) => snapshot,
        None => fetch(model, cache, library)?,
    };
    let graph = snapshot.join(&model.model_file);
    let mut files = ModelFiles::read_graph(&snapshot, &model.model_code, &graph, max_tokens)?;
    files.pooling = match TextEmbedding::get_default_pooling_method(&model.model) {
        Some(fastembed::Pooling::Mean) => Pooling::Mean,
        Some(fastembed::Pooling::Cls) => Pooling::Cls,
        None => files.pooling,
    };
    Ok(files)
}

/// Returns the folder of the newest downloaded revision that contains the model's graph.
fn snapshot(model: &ModelInfo<EmbeddingModel>, cache: &Path) -> Option<PathBuf> {
    let home = cache.join(format!("models--{}", model.model_code.replace('/', "--")));
    let revision = std::fs::read_to_string(home.join("refs/main")).ok()?;
    let snapshot = home.join("snapshots").join(revision.trim());
    snapshot.join(&model.model_file).is_file().then_some(snapshot)
}

fn not_fetched(model: &ModelInfo<EmbeddingModel>, cache: &Path, reason: String) -> ModelError {
    ModelError::NotFetched { model: model.model_code.clone(), cache: cache.to_owned(), reason }
}

#[cfg(not(feature = "hub"))]
fn fetch(
    model: &ModelInfo<EmbeddingModel>,
    cache: &Path,
    _library: Option<&Path>,
) -> Result<PathBuf, ModelError> {
    let reason = "this build cannot download models (its cargo feature `hub` is off); \
                  download the model's files and set embedding.model to their folder";
    Err(not_fetched(model, cache, reason.to_owned()))
}

#[cfg(feature = "hub")]
fn fetch(
    model: &ModelInfo<EmbeddingModel>,
    cache: &Path,
    library: Option<&Path>,
) -> Result<PathBuf, ModelError> {
    let options = fastembed::TextInitOptions::new(model.model.clone())
        .with_environment(onnx_runtime::load(library)?.environment)
        .with_cache_dir(cache.to_owned())
        .with_intra_threads(1)
        .with_show_download_progress(false);
    TextEmbedding::try_new(options).map_err(|error| {
        let cause = std::error::Error::source(&error)
            .map_or_else(String::new, |cause| format!(": {cause}"));
        not_fetched(
            model,
            cache,
            format!("{error}{cause}; alternatively, download its files and set embedding.model to their folder"),
        )
    })?;
    snapshot(model, cache).ok_or_else(|| {
        not_fetched(
            model,
            cache,
            "it was downloaded to another folder; if HF_HOME is set, point it to the cache folder"
                .to_owned(),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_is_found_by_both_names() {
        for (name, expected) in [
            ("BGESmallENV15", Some(EmbeddingModel::BGESmallENV15)),
            ("bgesmallenv15q", Some(EmbeddingModel::BGESmallENV15Q)),
            ("xenova/bge-small-en-v1.5", Some(EmbeddingModel::BGESmallENV15)),
            ("nomic-ai/nomic-embed-text-v1.5", Some(EmbeddingModel::NomicEmbedTextV15)),
            ("no/such-model", None),
        ] {
            assert_eq!(find(name).map(|info| info.model), expected, "{name}");
        }
    }

    #[test]
    fn misspelled_model_gets_suggestions() {
        assert_eq!(near("bge-smal-en")[0], "BGESmallENV15");
        assert!(
            near("e5/Nomic").iter().all(|name| name.starts_with("Nomic")),
            "{:?}",
            near("e5/Nomic")
        );
        assert!(near("zzz").is_empty());
    }

    #[test]
    fn downloaded_model_is_found_by_main_revision() {
        let cache = tempfile::tempdir().unwrap();
        let model = find("Xenova/bge-small-en-v1.5").unwrap();
        assert_eq!(snapshot(&model, cache.path()), None);
        let home = cache.path().join("models--Xenova--bge-small-en-v1.5");
        std::fs::create_dir_all(home.join("refs")).unwrap();
        std::fs::create_dir_all(home.join("snapshots/abc/onnx")).unwrap();
        std::fs::write(home.join("refs/main"), "abc\n").unwrap();
        assert_eq!(snapshot(&model, cache.path()), None);
        std::fs::write(home.join("snapshots/abc/onnx/model.onnx"), "").unwrap();
        assert_eq!(snapshot(&model, cache.path()), Some(home.join("snapshots/abc")));
    }
}
