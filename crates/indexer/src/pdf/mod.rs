//! PDF files as notes: their text comes from a child process with limits, one section for each page.

mod extraction;
mod page_layout;
mod page_text;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use weft_model::settings::Problems;
use weft_model::{Diagnostic, Heading, Note, NotePath, Span, Value};

use crate::parse::{code, diagnostic};
use extraction::{Extraction, ExtractionError, ExtractionLimits};

/// First argument of the program that makes it the child process, followed by the limits.
const CHILD_ARGUMENT: &str = "extract-pdf";

/// Interval at which an unfinished child process is checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(2);

/// Limits of the extraction of text from PDF files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PdfSettings {
    /// Maximum time for one file, in milliseconds.
    pub timeout_ms: u64,
    /// Maximum memory for one file, in bytes.
    pub max_memory_bytes: u64,
    /// Maximum number of pages of one file.
    pub max_pages: usize,
    /// Maximum size of the text of one file, in bytes.
    pub max_text_bytes: usize,
}

impl Default for PdfSettings {
    fn default() -> Self {
        Self {
            timeout_ms: 20_000,
            max_memory_bytes: 1 << 29,
            max_pages: 5000,
            max_text_bytes: 16 << 20,
        }
    }
}

impl PdfSettings {
    /// Returns the invalid values.
    #[must_use]
    pub fn problems(&self) -> Problems {
        let Self { timeout_ms, max_memory_bytes, max_pages, max_text_bytes } = self;
        let mut problems = Problems::default();
        problems.within("timeout_ms", *timeout_ms, 100..=3_600_000);
        problems.within("max_memory_bytes", *max_memory_bytes, 32 << 20..=1 << 40);
        problems.within("max_pages", *max_pages, 1..=1_000_000);
        problems.within("max_text_bytes", *max_text_bytes, 1024..=1 << 30);
        problems
    }

    fn limits(&self) -> ExtractionLimits {
        ExtractionLimits {
            cpu_seconds: self.timeout_ms.div_ceil(1000),
            memory_bytes: self.max_memory_bytes,
            pages: self.max_pages,
            text_bytes: self.max_text_bytes,
        }
    }

    /// Returns the maximum size of the child's answer: text whose characters are escaped, and the rest.
    fn max_answer_bytes(&self) -> u64 {
        let text = (self.max_text_bytes as u64).saturating_mul(2);
        text.saturating_add(self.max_pages as u64 * 8).saturating_add(1 << 16)
    }
}

/// Runs this process as the child that extracts the text of a PDF file, if its arguments say so; returns whether it did, and then whether it succeeded.
///
/// The first argument is that after the name of the program. To be called before anything else: threads and memory of the program would count.
#[must_use]
pub fn run_as_child(mut arguments: impl Iterator<Item = OsString>) -> Option<bool> {
    if arguments.next()? != CHILD_ARGUMENT {
        return None;
    }
    let limits = arguments.next()?.into_string().ok()?;
    Some(extraction::run(&limits).is_some())
}

/// A PDF file with the only word `fern`.
const FERN: &[u8] = include_bytes!("fern.pdf");

/// Extracts the text of a small PDF file, as of any other; fails with the reason if that does not work on this system.
pub fn check_extraction(settings: &PdfSettings) -> Result<(), String> {
    match extract_in_child(FERN, settings)? {
        ExtractionOutcome::Text(found) if found.pages == ["fern"] => Ok(()),
        ExtractionOutcome::Text(_) | ExtractionOutcome::Failed(_) => {
            Err("the process that extracts text did not find the word of a small PDF file".into())
        }
        ExtractionOutcome::Limit(limit) => {
            Err(format!("extracting the text of a small PDF file {limit}"))
        }
    }
}

/// Reads a PDF file with these bytes; a damaged file is a note without text, and a diagnostic.
///
/// Fails if the text could not be extracted for a reason that is not in the file.
pub(crate) fn read(
    path: &NotePath,
    bytes: &[u8],
    settings: &PdfSettings,
) -> Result<(Note, Vec<Diagnostic>), String> {
    let outcome = extract_in_child(bytes, settings)?;
    Ok(note_of(path, outcome, settings))
}

/// How an extraction ended.
enum ExtractionOutcome {
    Text(Extraction),
    Failed(ExtractionError),
    /// The child process was stopped; the limit that it exceeded.
    Limit(String),
}

/// Extracts text in a child process.
fn extract_in_child(bytes: &[u8], settings: &PdfSettings) -> Result<ExtractionOutcome, String> {
    let failed = |error: std::io::Error| {
        format!("the process that extracts its text cannot be run: {error}")
    };
    let limits = serde_json::to_string(&settings.limits()).map_err(|error| error.to_string())?;
    let mut child = Command::new(program().map_err(failed)?)
        .arg(CHILD_ARGUMENT)
        .arg(limits)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let max_answer = settings.max_answer_bytes();
    let deadline = Instant::now() + Duration::from_millis(settings.timeout_ms);
    let (answer, status) = std::thread::scope(|scope| {
        // A child that ends early does not read the rest.
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(bytes)));
        let (send, received) = crossbeam_channel::bounded(1);
        scope.spawn(move || {
            let mut answer = Vec::new();
            let read = stdout.map(|out| out.take(max_answer + 1).read_to_end(&mut answer));
            let _ = send.send(read.is_some_and(|read| read.is_ok()).then_some(answer));
        });
        let answer = received.recv_deadline(deadline).ok().flatten();
        // A child that writes more than it may is not read any further.
        let is_too_long = answer.as_ref().is_some_and(|answer| answer.len() as u64 > max_answer);
        let deadline = if is_too_long { Instant::now() } else { deadline };
        (answer, wait(&mut child, deadline))
    });
    let status = status.map_err(failed)?;
    let answer = answer.filter(|answer| answer.len() as u64 <= max_answer);
    let Some(status) = status else {
        let limit = settings.timeout_ms;
        return Ok(ExtractionOutcome::Limit(format!(
            "took longer than `pdf.timeout_ms` = {limit}"
        )));
    };
    if !status.success() {
        let memory = settings.max_memory_bytes;
        return Ok(ExtractionOutcome::Limit(format!(
            "ended early ({status}), most likely because of `pdf.max_memory_bytes` = {memory}"
        )));
    }
    let answer = answer.and_then(|answer| serde_json::from_slice(&answer).ok());
    match answer.ok_or("the process that extracts its text gave no valid answer")? {
        Ok(text) => Ok(ExtractionOutcome::Text(text)),
        Err(error) => Ok(ExtractionOutcome::Failed(error)),
    }
}

/// Waits for the child until `deadline`; kills it then, and returns `None`.
fn wait(child: &mut Child, deadline: Instant) -> std::io::Result<Option<ExitStatus>> {
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(CHECK_INTERVAL);
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

/// Returns the running program, also if its file was replaced by an update.
#[cfg(target_os = "linux")]
fn program() -> std::io::Result<PathBuf> {
    Ok("/proc/self/exe".into())
}

#[cfg(not(target_os = "linux"))]
fn program() -> std::io::Result<PathBuf> {
    std::env::current_exe()
}

/// Builds the note: a heading for each page, with the text of the page below it.
fn note_of(
    path: &NotePath,
    outcome: ExtractionOutcome,
    settings: &PdfSettings,
) -> (Note, Vec<Diagnostic>) {
    let name = path.bare_name().to_owned();
    let without_text = |code, message: String| {
        let note = Note::plain(path.clone(), name.clone(), String::new());
        (note, vec![diagnostic(code, message, None)])
    };
    let found = match outcome {
        ExtractionOutcome::Text(found) => found,
        ExtractionOutcome::Failed(ExtractionError::Encrypted) => {
            let message =
                "The PDF file needs a password, so it has no text; save a copy without a password.";
            return without_text(code::PDF_ENCRYPTED, message.to_owned());
        }
        ExtractionOutcome::Failed(ExtractionError::Broken(reason)) => {
            let message = format!(
                "The PDF file is damaged, so it has no text: {reason}. Open it in a viewer and save it again."
            );
            return without_text(code::PDF_BROKEN, message);
        }
        ExtractionOutcome::Limit(limit) => {
            let message = format!(
                "Extracting the text of the PDF file {limit}, so it has no text; raise the limit, or exclude the file."
            );
            return without_text(code::PDF_LIMIT, message);
        }
    };
    let Extraction { pages, n_pages, n_unreadable, truncated, properties } = found;
    let mut diagnostics = Vec::new();
    if n_unreadable > 0 {
        let message = format!(
            "The text of {n_unreadable} of {n_pages} pages cannot be read; open the PDF file in a viewer and save it again."
        );
        diagnostics.push(diagnostic(code::PDF_PAGES, message, None));
    }
    if truncated {
        let message = format!(
            "The PDF file exceeds `pdf.max_pages` = {} or `pdf.max_text_bytes` = {}; the text of its first {} of {n_pages} pages was read.",
            settings.max_pages,
            settings.max_text_bytes,
            pages.len()
        );
        diagnostics.push(diagnostic(code::PDF_TRUNCATED, message, None));
    }
    let has_text = pages.iter().any(|text| !text.is_empty());
    if !has_text && n_unreadable < n_pages {
        let message = "The pages of the PDF file contain no text, only images or drawings; recognize their text (OCR) and save it in the file.";
        diagnostics.push(diagnostic(code::PDF_WITHOUT_TEXT, message, None));
    }
    let (body, headings) = if has_text { sections(&pages) } else { Default::default() };
    let searched = properties.iter().filter(|(key, _)| *key != "created");
    let searched_texts = searched.map(|(_, text)| text.clone()).collect();
    let mut properties: BTreeMap<String, Value> =
        properties.into_iter().map(|(key, text)| (key, Value::Text(text))).collect();
    #[expect(clippy::cast_precision_loss, reason = "no file has so many pages")]
    let count = Value::Number { text: n_pages.to_string(), value: n_pages as f64 };
    properties.insert("pages".to_owned(), count);
    let note =
        Note { properties, searched_texts, headings, ..Note::plain(path.clone(), name, body) };
    (note, diagnostics)
}

/// Returns the text of all pages, each below its heading, and the headings.
fn sections(pages: &[String]) -> (String, Vec<Heading>) {
    let (mut body, mut headings, mut n_chars) = (String::new(), Vec::new(), 0_u32);
    let count = |text: &str| u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
    for (number, page) in (1_usize..).zip(pages) {
        let text = format!("Page {number}");
        let line = format!("## {text}");
        let span = Span::new(n_chars, n_chars.saturating_add(count(&line)));
        headings.push(Heading { level: 2, text, span });
        let start = body.len();
        let _ = writeln!(body, "{line}\n");
        if !page.is_empty() {
            let _ = writeln!(body, "{page}\n");
        }
        n_chars = n_chars.saturating_add(count(&body[start..]));
    }
    body.truncate(body.trim_end().len());
    body.push('\n');
    (body, headings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(outcome: ExtractionOutcome) -> (Note, Vec<String>) {
        let settings = PdfSettings::default();
        let (note, diagnostics) = note_of(&NotePath::new("a/paper.pdf"), outcome, &settings);
        (note, diagnostics.into_iter().map(|diagnostic| diagnostic.code).collect())
    }

    #[test]
    fn each_page_is_a_section() {
        let pages = ["Größe", "", "moss\n\nfern"].map(str::to_owned);
        let found = Extraction {
            pages: pages.into(),
            n_pages: 3,
            properties: [("title", "Plants"), ("created", "2024-03-10")]
                .map(|(key, text)| (key.to_owned(), text.to_owned()))
                .into(),
            ..Extraction::default()
        };
        let (note, codes) = note(ExtractionOutcome::Text(found));
        assert_eq!(note.body, "## Page 1\n\nGröße\n\n## Page 2\n\n## Page 3\n\nmoss\n\nfern\n");
        let lines: Vec<&str> =
            note.headings.iter().map(|heading| heading.span.slice(&note.body)).collect();
        assert_eq!(lines, ["## Page 1", "## Page 2", "## Page 3"]);
        assert_eq!((note.title.as_str(), codes), ("paper", Vec::new()));
        assert_eq!(note.properties["pages"].as_written(), Some("3"));
        assert_eq!(note.searched_texts, ["Plants"]);
    }

    #[test]
    fn problems_are_diagnostics() {
        let text = |pages: &[&str], n_pages, n_unreadable, truncated| {
            ExtractionOutcome::Text(Extraction {
                pages: pages.iter().map(ToString::to_string).collect(),
                n_pages,
                n_unreadable,
                truncated,
                ..Extraction::default()
            })
        };
        let cases: Vec<(ExtractionOutcome, &[&str])> = vec![
            (ExtractionOutcome::Failed(ExtractionError::Encrypted), &["pdf-encrypted"]),
            (ExtractionOutcome::Failed(ExtractionError::Broken("x".into())), &["pdf-broken"]),
            (ExtractionOutcome::Limit("took".into()), &["pdf-limit"]),
            (text(&["", ""], 2, 0, false), &["pdf-without-text"]),
            (text(&["moss", ""], 2, 1, false), &["pdf-pages"]),
            (text(&[""], 1, 1, false), &["pdf-pages"]),
            (text(&["moss"], 9, 0, true), &["pdf-truncated"]),
        ];
        for (outcome, expected) in cases {
            assert_eq!(note(outcome).1, expected);
        }
    }

    #[test]
    fn other_arguments_are_left_to_the_program() {
        let run = |arguments: &[&str]| run_as_child(arguments.iter().map(OsString::from));
        assert_eq!([run(&[]), run(&["serve"]), run(&["extract-pdf"])], [None; 3]);
        assert_eq!(run(&["extract-pdf", "{}"]), Some(false), "invalid limits");
    }
}
