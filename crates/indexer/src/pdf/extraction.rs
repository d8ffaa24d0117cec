//! Extracts the text of a PDF file. Runs in a child process, since no parser of such files is free of bugs.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};

use lopdf::{Document, LoadOptions, Object, ObjectId};
use serde::{Deserialize, Serialize};

use super::page_text::PageReader;

/// Limits of an extraction; the parent process hands them to the child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ExtractionLimits {
    /// Maximum time of computation, in seconds.
    pub(super) cpu_seconds: u64,
    /// Maximum memory that the extraction may allocate, in bytes.
    pub(super) memory_bytes: u64,
    /// Maximum number of pages.
    pub(super) pages: usize,
    /// Maximum size of the text, in bytes.
    pub(super) text_bytes: usize,
}

/// Text of a PDF file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Extraction {
    /// Text of each page.
    pub(super) pages: Vec<String>,
    /// Number of pages of the file.
    pub(super) n_pages: usize,
    /// Number of pages whose content cannot be read.
    pub(super) n_unreadable: usize,
    /// True if pages or text are missing because of a limit.
    pub(super) truncated: bool,
    /// Entries of the document's information: title, author, subject, keywords, created.
    pub(super) properties: BTreeMap<String, String>,
}

/// Reason why a file has no text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ExtractionError {
    /// The file is damaged, or not a PDF file; the reason in a few words.
    Broken(String),
    /// The file needs a password.
    Encrypted,
}

/// Entries of the document's information, with the names of the properties that they become.
const INFORMATION: [(&[u8], &str); 5] = [
    (b"Title", "title"),
    (b"Author", "author"),
    (b"Subject", "subject"),
    (b"Keywords", "keywords"),
    (b"CreationDate", "created"),
];

/// Maximum length of an entry of the document's information, in characters.
const MAX_ENTRY_CHARS: usize = 1000;

/// Size of a decoded stream, as a share of the memory: parsing it takes several times its size.
const STREAMS_PER_MEMORY: u64 = 8;

/// Extracts the text of the file with these bytes.
pub(super) fn extract(
    bytes: &[u8],
    limits: &ExtractionLimits,
) -> Result<Extraction, ExtractionError> {
    let max_stream =
        usize::try_from(limits.memory_bytes / STREAMS_PER_MEMORY).unwrap_or(usize::MAX);
    let options = LoadOptions::with_max_decompressed_size(max_stream);
    let mut document =
        Document::load_mem_with_options(bytes, options).map_err(|error| load_error(&error))?;
    if document.trailer.has(b"Encrypt") {
        return Err(ExtractionError::Encrypted);
    }
    prefer_unicode(&mut document);
    let pages: Vec<ObjectId> = document.page_iter().take(limits.pages.saturating_add(1)).collect();
    if pages.is_empty() {
        return Err(ExtractionError::Broken("it has no pages".to_owned()));
    }
    let mut found = Extraction {
        n_pages: pages.len(),
        truncated: pages.len() > limits.pages,
        properties: properties(&document),
        ..Extraction::default()
    };
    if found.truncated {
        found.n_pages = document.page_iter().count();
    }
    let mut reader = PageReader::new(&document, max_stream);
    let mut room = limits.text_bytes;
    for page in pages.into_iter().take(limits.pages) {
        let text = reader.text(page, room).unwrap_or_else(|_| {
            found.n_unreadable += 1;
            String::new()
        });
        room = room.saturating_sub(text.len());
        found.pages.push(text);
        if room == 0 {
            found.truncated = true;
            break;
        }
    }
    Ok(found)
}

fn load_error(error: &lopdf::Error) -> ExtractionError {
    let needs_password = matches!(
        error,
        lopdf::Error::InvalidPassword
            | lopdf::Error::Decryption(_)
            | lopdf::Error::UnsupportedSecurityHandler(_)
    );
    if needs_password {
        ExtractionError::Encrypted
    } else {
        ExtractionError::Broken(error.to_string())
    }
}

/// Removes the glyph names of fonts that also map their glyphs to characters: the map is exact, and the names may be those of the program that made the file.
fn prefer_unicode(document: &mut Document) {
    for object in document.objects.values_mut() {
        let Object::Dictionary(font) = object else { continue };
        let has_map = font.get(b"ToUnicode").is_ok_and(|map| map.as_reference().is_ok());
        if has_map && font.has_type(b"Font") {
            font.remove(b"Encoding");
        }
    }
}

fn properties(document: &Document) -> BTreeMap<String, String> {
    let information = document.trailer.get_deref(b"Info", document).and_then(Object::as_dict);
    let Ok(information) = information else { return BTreeMap::new() };
    let entry = |(key, name): (&[u8], &str)| {
        let text = lopdf::decode_text_string(information.get_deref(key, document).ok()?).ok()?;
        let words: Vec<&str> = text.split_whitespace().collect();
        let text: String = words.join(" ").chars().filter(|c| !c.is_control()).collect();
        let text = if name == "created" { date(&text)? } else { text };
        let text: String = text.chars().take(MAX_ENTRY_CHARS).collect();
        (!text.is_empty()).then(|| (name.to_owned(), text))
    };
    INFORMATION.into_iter().filter_map(entry).collect()
}

/// Returns the day of `D:20240310120000Z` as `2024-03-10`.
fn date(text: &str) -> Option<String> {
    let digits = text.strip_prefix("D:").unwrap_or(text).get(..8)?;
    let is_date = digits.bytes().all(|byte| byte.is_ascii_digit());
    is_date.then(|| format!("{}-{}-{}", &digits[..4], &digits[4..6], &digits[6..]))
}

/// Reads a file from standard input and writes its text to standard output, within the given limits.
///
/// `None` if the limits are invalid or a stream is closed.
pub(super) fn run(limits: &str) -> Option<()> {
    let limits: ExtractionLimits = serde_json::from_str(limits).ok()?;
    limit_process(&limits);
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes).ok()?;
    let found = extract(&bytes, &limits);
    let answer = serde_json::to_vec(&found).ok()?;
    let mut out = std::io::stdout().lock();
    out.write_all(&answer).ok()?;
    out.flush().ok()
}

/// Bounds memory and time of this process, and forbids it to write files and to leave a core dump.
#[cfg(target_os = "linux")]
fn limit_process(limits: &ExtractionLimits) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    // The program itself, with the models that it contains, is mapped too.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mapped = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
    let mapped = mapped.and_then(|size| size.trim().strip_suffix("kB")?.trim().parse().ok());
    let mapped_bytes = mapped.map_or(0, |kilobytes: u64| kilobytes << 10);
    for (resource, limit) in [
        (Resource::As, mapped_bytes.saturating_add(limits.memory_bytes)),
        (Resource::Cpu, limits.cpu_seconds),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
    ] {
        // A lower limit of the user or the service manager stays.
        let limit = getrlimit(resource).maximum.map_or(limit, |maximum| maximum.min(limit));
        // Where it cannot be set, the parent process still bounds the time.
        let _ = setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) });
    }
}

#[cfg(not(target_os = "linux"))]
fn limit_process(_limits: &ExtractionLimits) {}

#[cfg(test)]
mod tests;
