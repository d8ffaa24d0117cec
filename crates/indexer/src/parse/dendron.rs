//! Dendron syntax: dots in file names instead of folders, and wikilinks with the label before the target.
//!
//! | written | target | fragment | shown |
//! |---|---|---|---|
//! | `[[a.b]]` | `a.b` | | |
//! | `[[a label\|a.b#heading]]` | `a.b` | `heading` | a label |
//! | `![[a.b#first,1:#last]]` | `a.b` | `first` | |
//! | `[[dendron://vault/a.b]]` | `a.b` in that vault if it is served, else in the note's own vault; stored as `vault:a.b` | | |
//!
//! The hierarchy is resolved in the index, where all notes are known.

use weft_model::text::nfc;

use super::link_target::{self, Destination, TargetKind};

/// Prefix of a target that names its vault.
const SCHEME: &str = "dendron://";

/// Separator between the first and the last heading of a range reference.
const TO_LAST: &str = ":#";

/// Returns the last segment of a dotted name; the whole name if that segment is blank.
pub(super) fn last_name(stem: &str) -> &str {
    stem.rsplit_once('.')
        .map(|(_, last)| last)
        .filter(|last| !last.trim().is_empty())
        .unwrap_or(stem)
}

/// Returns the destination of `[[written]]` without its label.
///
/// A target that ends like a file name may be a note, but is a link only if such a note exists.
pub(crate) fn destination(written: &str) -> Option<Destination> {
    let written = written.trim();
    let (vault, name) = match written.strip_prefix(SCHEME) {
        Some(rest) => rest.split_once('/').filter(|(vault, _)| !vault.is_empty())?,
        None => ("", written),
    };
    let Destination { name, fragment, kind } = link_target::wikilink(name)?;
    let fragment = fragment.as_deref().and_then(first_heading).map(str::to_owned);
    if !vault.is_empty() {
        let name = format!("{}:{name}", nfc(vault));
        return Some(Destination { name, fragment, kind: TargetKind::NoteInVault });
    }
    let kind = if kind == TargetKind::File { TargetKind::Uncertain } else { kind };
    Some(Destination { name, fragment, kind })
}

/// Returns how to write `name` in place of `old`; `None` if the vault would be lost.
pub(crate) fn rewritten(old: &str, name: &str) -> Option<String> {
    if !old.starts_with(SCHEME) {
        return Some(name.to_owned());
    }
    let (vault, name) = name.split_once(':')?;
    Some(format!("{SCHEME}{vault}/{name}"))
}

/// Returns the byte at which the target begins between `[[` and `]]`, after the label.
pub(crate) fn target_start(inner: &str) -> usize {
    inner.find('|').map_or(0, |bar| bar + 1)
}

/// Returns the first heading of a fragment: `first` for `first,2:#last`.
fn first_heading(fragment: &str) -> Option<&str> {
    let first = fragment.split_once(TO_LAST).map_or(fragment, |(first, _)| first);
    let bare = first
        .rsplit_once(',')
        .filter(|(_, lines)| !lines.is_empty() && lines.bytes().all(|byte| byte.is_ascii_digit()));
    let bare = bare.map_or(first, |(bare, _)| bare).trim();
    (!bare.is_empty()).then_some(bare)
}
