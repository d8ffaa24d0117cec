//! The terminal of the interactive search, restored however the search ends.

use std::io::{self, BufWriter, IsTerminal as _, Stderr, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::CrosstermBackend;
use ratatui_crossterm::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use ratatui_crossterm::crossterm::execute;
use ratatui_crossterm::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use weft_daemon::Environment;

use crate::failure::Failure;

/// True while the alternate screen is shown and keys are read unbuffered.
static IS_OPEN: AtomicBool = AtomicBool::new(false);

/// The alternate screen, drawn on standard error, so that standard output can be a pipe. Dropping it restores the terminal.
pub(super) struct AlternateScreenGuard {
    pub(super) terminal: Terminal<CrosstermBackend<BufWriter<Stderr>>>,
}

impl AlternateScreenGuard {
    /// Checks that a person can use the terminal.
    pub(super) fn check(environment: &Environment) -> Result<(), Failure> {
        let is_dumb = environment.get("TERM") == Some("dumb");
        let is_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
        if is_terminal && !is_dumb {
            return Ok(());
        }
        let reason = if is_dumb {
            "this terminal cannot move its cursor (TERM=dumb)"
        } else {
            "standard input and standard error are not a terminal"
        };
        Err(Failure::usage(format!("--interactive needs a terminal: {reason}"))
            .hint("omit --interactive; `weft search QUERY` prints the hits"))
    }

    /// Opens the alternate screen. A panic restores the terminal before it is reported.
    pub(super) fn open() -> io::Result<Self> {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            previous(panic);
        }));
        enter()?;
        let backend = CrosstermBackend::new(BufWriter::new(io::stderr()));
        Ok(Self { terminal: Terminal::new(backend)? })
    }

    /// Restores the terminal while `work` uses it, and draws everything again afterwards.
    pub(super) fn lend<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<T> {
        restore();
        let done = work();
        enter()?;
        self.terminal.clear()?;
        Ok(done)
    }

    /// Copies a text to the clipboard through the terminal, if it allows that (OSC 52).
    pub(super) fn copy(&self, text: &str) -> io::Result<()> {
        let mut out = io::stderr().lock();
        write!(out, "\u{1b}]52;c;{}\u{7}", STANDARD.encode(text))?;
        out.flush()
    }
}

impl Drop for AlternateScreenGuard {
    fn drop(&mut self) {
        restore();
    }
}

fn enter() -> io::Result<()> {
    IS_OPEN.store(true, Ordering::SeqCst);
    enable_raw_mode()?;
    execute!(io::stderr(), EnterAlternateScreen, EnableBracketedPaste)
}

/// Restores the terminal once.
fn restore() {
    use ratatui_crossterm::crossterm::cursor::Show;
    if IS_OPEN.swap(false, Ordering::SeqCst) {
        // There is no other place to report a failure to.
        let _ = execute!(io::stderr(), DisableBracketedPaste, LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
}
