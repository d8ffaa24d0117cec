//! Finds, checks and loads the ONNX Runtime library, once per process.
//!
//! The binding panics if it is used before a library is loaded, so nothing else of it is called before [`load`] has succeeded.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ort::environment::Environment;

use super::model_error::ModelError;
#[cfg(feature = "onnx-dynamic")]
use super::worker_pool::panic_message;

/// A loaded ONNX Runtime. Clones share it.
#[derive(Clone)]
pub(crate) struct Runtime {
    pub(crate) environment: Environment,
    /// Path of the loaded library; `None` if it is linked in.
    pub(crate) library: Option<PathBuf>,
}

/// The runtime of this process; a loaded library cannot be unloaded.
static LOADED: Mutex<Option<Runtime>> = Mutex::new(None);

/// Loads ONNX Runtime, or returns the one already loaded in this process, wherever it came from.
///
/// `library` is a file, or a folder that contains it; by default the usual places are searched, and the first library that works is used.
/// Fails in either case if `library` does not exist.
pub(crate) fn load(library: Option<&Path>) -> Result<Runtime, ModelError> {
    if let Some(path) = library.filter(|path| !path.exists()) {
        return Err(ModelError::Library { reason: format!("{} does not exist", path.display()) });
    }
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(runtime) = loaded.as_ref() {
        return Ok(runtime.clone());
    }
    let runtime = start(library).map_err(|reason| ModelError::Library { reason })?;
    Ok(loaded.insert(runtime).clone())
}

#[cfg(not(feature = "onnx-dynamic"))]
fn start(_library: Option<&Path>) -> Result<Runtime, String> {
    Ok(Runtime { environment: environment(ort::init())?, library: None })
}

#[cfg(feature = "onnx-dynamic")]
fn start(library: Option<&Path>) -> Result<Runtime, String> {
    let candidates = match library {
        Some(folder) if folder.is_dir() => libraries_in(folder),
        Some(file) => vec![file.to_owned()],
        None => usual_folders().iter().flat_map(|folder| libraries_in(folder)).collect(),
    };
    let mut reasons = Vec::new();
    for candidate in &candidates {
        match start_one(candidate) {
            Ok(runtime) => return Ok(runtime),
            Err(reason) => reasons.push(reason),
        }
    }
    let searched = match library {
        Some(folder) => format!("no library found in {}", folder.display()),
        None => {
            "no library found in the usual places; set embedding.library to its path".to_owned()
        }
    };
    Err(if reasons.is_empty() { searched } else { reasons.join("; ") })
}

#[cfg(feature = "onnx-dynamic")]
fn start_one(library: &Path) -> Result<Runtime, String> {
    let shown = library.display();
    // The binding resolves a relative path against the executable's folder.
    let path = std::path::absolute(library).map_err(|error| format!("{shown}: {error}"))?;
    // A file that is not a library can trip assertions in the binding.
    let started = std::panic::catch_unwind(|| {
        let builder = ort::init_from(&path).map_err(|error| load_error(&error))?;
        environment(builder)
    });
    let environment =
        started.unwrap_or_else(|panic| Err(format!("{shown}: {}", panic_message(&*panic))))?;
    Ok(Runtime { environment, library: Some(path) })
}

#[cfg(feature = "onnx-dynamic")]
fn load_error(error: &ort::LoadDynamicError) -> String {
    use ort::LoadDynamicError as Load;
    match error {
        Load::Dlopen { error, path } => format!("{} cannot be loaded: {error}", path.display()),
        Load::MissingApi { path } => format!("{} is not ONNX Runtime", path.display()),
        Load::InvalidVersionString => "the library does not state its version".to_owned(),
        Load::BadVersion { version_str, path } => format!(
            "{} is version {version_str}; version 1.{} or newer is required",
            path.display(),
            ort::MINOR_VERSION
        ),
    }
}

fn environment(builder: ort::environment::EnvironmentBuilder) -> Result<Environment, String> {
    let logger =
        |level: ort::logging::LogLevel, category: &str, _: &str, _: &str, message: &str| {
            use ort::logging::LogLevel;
            match level {
                LogLevel::Verbose | LogLevel::Info => tracing::trace!(category, "{message}"),
                LogLevel::Warning => tracing::debug!(category, "{message}"),
                LogLevel::Error | LogLevel::Fatal => tracing::warn!(category, "{message}"),
            }
        };
    let builder = builder.with_name("noteweft").with_telemetry(false);
    builder.with_logger(std::sync::Arc::new(logger)).build().map_err(|error| error.to_string())
}

/// Returns the folders to search, nearest first: beside the program, then where package managers install libraries.
#[cfg(feature = "onnx-dynamic")]
fn usual_folders() -> Vec<PathBuf> {
    let program = std::env::current_exe().ok();
    let beside = program.as_deref().and_then(Path::parent);
    let mut folders: Vec<PathBuf> =
        beside.into_iter().flat_map(|folder| [folder.to_owned(), folder.join("../lib")]).collect();
    if cfg!(unix) {
        let multiarch = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
        let homebrew = ["/opt/homebrew/lib", "/home/linuxbrew/.linuxbrew/lib"];
        let system = ["/usr/local/lib", "/usr/lib", "/usr/lib64", &multiarch];
        folders.extend(system.into_iter().chain(homebrew).map(PathBuf::from));
    }
    folders
}

/// Returns the ONNX Runtime libraries in `folder`: the unversioned name first, then by descending version.
#[cfg(feature = "onnx-dynamic")]
fn libraries_in(folder: &Path) -> Vec<PathBuf> {
    use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
    let stem = format!("{DLL_PREFIX}onnxruntime");
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<(Vec<u32>, PathBuf)> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_name()?.to_str()?;
            // `libonnxruntime.so.1.24.2` and `libonnxruntime.1.24.2.dylib`, but not `libonnxruntime_providers_shared.so`.
            let version = name.strip_prefix(&stem)?.replacen(DLL_SUFFIX, "", 1);
            let has_suffix = name.contains(DLL_SUFFIX);
            let numbers =
                version.split('.').skip(1).map(|part| part.parse().ok()).collect::<Option<_>>()?;
            (has_suffix && (version.is_empty() || version.starts_with('.')))
                .then_some((numbers, path))
        })
        .collect();
    found.sort_by(|(left, _), (right, _)| {
        left.is_empty().cmp(&right.is_empty()).then_with(|| left.cmp(right)).reverse()
    });
    found.into_iter().map(|(_, path)| path).collect()
}

#[cfg(all(test, feature = "onnx-dynamic"))]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn unversioned_library_comes_first_then_newest() {
        let folder = tempfile::tempdir().unwrap();
        let names = [
            "libonnxruntime.so.1.9.0",
            "libonnxruntime.so.1.24.2",
            "libonnxruntime.so",
            "libonnxruntime_providers_shared.so",
            "libonnxruntime.so.old",
        ];
        for name in names {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let found = libraries_in(folder.path());
        let found: Vec<_> =
            found.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(
            found,
            ["libonnxruntime.so", "libonnxruntime.so.1.24.2", "libonnxruntime.so.1.9.0"]
        );
    }
}
