//! Progress on standard error: a bar on a terminal, an occasional line elsewhere.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use weft_daemon::IndexStatus;
use weft_proto::noteweft::v1::{Phase, ReindexResponse, StatusResponse};

/// Interval between lines without a terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Delay before a bar is shown.
const BAR_DELAY: Duration = Duration::from_millis(300);

/// Progress of the writer at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct WriterProgress {
    phase: Phase,
    n_done: u64,
    n_total: u64,
    n_pending: u64,
    n_chunks: u64,
    per_second: f64,
    seconds_left: Option<f64>,
}

impl From<IndexStatus> for WriterProgress {
    fn from(status: IndexStatus) -> Self {
        // During a model migration, progress is that of the new model's vectors.
        let next = status.next.as_ref();
        Self {
            phase: match status.phase {
                weft_daemon::Phase::Opening => Phase::Opening,
                weft_daemon::Phase::Scanning => Phase::Scanning,
                weft_daemon::Phase::Indexing => Phase::Indexing,
                weft_daemon::Phase::Embedding => Phase::Embedding,
                weft_daemon::Phase::Ready if next.is_some() => Phase::Embedding,
                weft_daemon::Phase::Ready => Phase::Ready,
            },
            n_done: status.n_files_done as u64,
            n_total: status.n_files_total as u64,
            n_pending: (status.n_vectors_pending + next.map_or(0, |next| next.n_pending)) as u64,
            n_chunks: status.n_chunks as u64,
            per_second: status.vectors_per_second,
            seconds_left: status.seconds_left,
        }
    }
}

impl From<&StatusResponse> for WriterProgress {
    fn from(status: &StatusResponse) -> Self {
        Self {
            phase: status.phase(),
            n_done: status.processed_file_count,
            n_total: status.total_file_count,
            n_pending: status.pending_vector_count,
            n_chunks: status.chunk_count,
            per_second: status.vectors_per_second,
            seconds_left: status.estimated_seconds_left,
        }
    }
}

impl From<&ReindexResponse> for WriterProgress {
    fn from(message: &ReindexResponse) -> Self {
        Self {
            phase: message.phase(),
            n_done: message.processed_file_count,
            n_total: message.total_file_count,
            n_pending: message.pending_vector_count,
            ..Self::default()
        }
    }
}

impl WriterProgress {
    /// Returns done, total and a label; `None` if there is no work to wait for.
    fn measure(&self) -> Option<(u64, u64, &'static str)> {
        match self.phase {
            Phase::Opening => Some((0, 0, "opening the index")),
            Phase::Scanning => Some((self.n_done, self.n_total, "scanning files")),
            Phase::Indexing => Some((self.n_done, self.n_total, "indexing notes")),
            Phase::Embedding => {
                let done = self.n_chunks.saturating_sub(self.n_pending);
                Some((done, self.n_chunks, "embedding chunks"))
            }
            Phase::Ready | Phase::Unspecified => None,
        }
    }

    /// Returns the rate and the time left, as far as known.
    fn pace(&self) -> String {
        let mut pace = String::new();
        if self.per_second > 0.0 {
            pace = format!("{:.0}/s", self.per_second);
        }
        if let Some(seconds) = self.seconds_left {
            if !pace.is_empty() {
                pace.push_str(", ");
            }
            pace.push_str(&format!("{} left", duration(seconds)));
        }
        pace
    }
}

/// Formats `seconds` in the largest two units.
fn duration(seconds: f64) -> String {
    match seconds.max(0.0).ceil() {
        s if s < 60.0 => format!("{s:.0} s"),
        s if s < 3600.0 => format!("{:.0} min {:.0} s", (s / 60.0).floor(), s % 60.0),
        s => format!("{:.0} h {:.0} min", (s / 3600.0).floor(), (s % 3600.0 / 60.0).floor()),
    }
}

/// Shows progress as it is reported.
pub(crate) struct Progress {
    started: Instant,
    bar: Option<ProgressBar>,
    is_terminal: bool,
    last_line: Instant,
}

impl Progress {
    /// Starts without showing anything.
    pub(crate) fn new() -> Self {
        let now = Instant::now();
        Self {
            started: now,
            bar: None,
            is_terminal: std::io::stderr().is_terminal(),
            last_line: now,
        }
    }

    /// Replaces the shown progress by `progress`.
    pub(crate) fn show(&mut self, progress: &WriterProgress) {
        let Some((done, total, what)) = progress.measure() else { return };
        if self.started.elapsed() < BAR_DELAY {
            return;
        }
        if self.is_terminal {
            let bar = self.bar.get_or_insert_with(bar);
            bar.set_length(total);
            bar.set_position(done);
            bar.set_prefix(what);
            bar.set_message(progress.pace());
        } else if self.last_line.elapsed() >= LINE_INTERVAL {
            self.last_line = Instant::now();
            let pace = progress.pace();
            let pace = if pace.is_empty() { pace } else { format!(" ({pace})") };
            // A closed standard error must not end the work.
            drop(writeln!(std::io::stderr(), "{what}: {done} of {total}{pace}"));
        }
    }

    /// Shows the progress of `what`, on a terminal only.
    pub(crate) fn count(&mut self, what: &'static str, done: u64, total: u64) {
        if self.is_terminal && self.started.elapsed() >= BAR_DELAY {
            let bar = self.bar.get_or_insert_with(bar);
            bar.set_length(total);
            bar.set_position(done);
            bar.set_prefix(what);
        }
    }

    /// Removes the bar.
    pub(crate) fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("  {prefix} {bar:24.cyan/dim} {pos}/{len} {msg:.dim}");
    ProgressBar::no_length()
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━━─"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_use_two_largest_units() {
        for (seconds, expected) in
            [(0.2, "1 s"), (59.5, "1 min 0 s"), (61.0, "1 min 1 s"), (3700.0, "1 h 1 min")]
        {
            assert_eq!(duration(seconds), expected);
        }
    }

    #[test]
    fn embedding_progress_shows_rate_and_time_left() {
        let progress = WriterProgress {
            phase: Phase::Embedding,
            n_pending: 30,
            n_chunks: 100,
            per_second: 12.4,
            seconds_left: Some(2.4),
            ..WriterProgress::default()
        };
        assert_eq!(progress.measure(), Some((70, 100, "embedding chunks")));
        assert_eq!(progress.pace(), "12/s, 3 s left");
    }
}
