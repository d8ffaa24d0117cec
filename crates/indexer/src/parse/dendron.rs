//! What Dendron writes differently: dots in file names for folders, and wikilinks with the label before the target.
//!
//! | written | target | fragment | shown |
//! |---|---|---|---|
//! | `[[a.b]]` | `a.b` | | |
//! | `[[a label\|a.b#heading]]` | `a.b` | `heading` | a label |
//! | `![[a.b#first,1:#last]]` | `a.b` | `first` | |
//! | `[[dendron://vault/a.b]]` | `a.b` in that vault if one of this name is served, else in the note's own; kept as `vault:a.b` | | |
//!
//! Which note is above which is told where all are known, in the index.

use weft_model::text::nfc;

use super::target::{self, Destination, Look};

/// Begins a target that names its vault.
const SCHEME: &str = "dendron://";

/// Between the first heading and the last of a reference to what stands between them.
const TO_LAST: &str = ":#";

/// The last segment of a dotted name; all of it where that is blank.
pub(super) fn last_name(stem: &str) -> &str {
    stem.rsplit_once('.')
        .map(|(_, last)| last)
        .filter(|last| !last.trim().is_empty())
        .unwrap_or(stem)
}

/// The destination of `[[written]]`, without its label.
///
/// What ends like a file's name may be a note's, but is no link unless there is one.
pub(crate) fn destination(written: &str) -> Option<Destination> {
    let written = written.trim();
    let (vault, name) = match written.strip_prefix(SCHEME) {
        Some(rest) => rest.split_once('/').filter(|(vault, _)| !vault.is_empty())?,
        None => ("", written),
    };
    let Destination { name, fragment, look } = target::wikilink(name)?;
    let fragment = fragment.as_deref().and_then(first_heading).map(str::to_owned);
    if !vault.is_empty() {
        let name = format!("{}:{name}", nfc(vault));
        return Some(Destination { name, fragment, look: Look::NoteInVault });
    }
    let look = if look == Look::File { Look::Uncertain } else { look };
    Some(Destination { name, fragment, look })
}

/// How `name` is written where `old` stands now; nothing where it would lose its vault.
pub(crate) fn rewritten(old: &str, name: &str) -> Option<String> {
    if !old.starts_with(SCHEME) {
        return Some(name.to_owned());
    }
    let (vault, name) = name.split_once(':')?;
    Some(format!("{SCHEME}{vault}/{name}"))
}

/// What stands between `[[` and `]]` without its label: from which byte on.
pub(crate) fn target_start(inner: &str) -> usize {
    inner.find('|').map_or(0, |bar| bar + 1)
}

/// The heading at which a fragment begins: of `first,2:#last` `first`.
fn first_heading(fragment: &str) -> Option<&str> {
    let first = fragment.split_once(TO_LAST).map_or(fragment, |(first, _)| first);
    let bare = first
        .rsplit_once(',')
        .filter(|(_, lines)| !lines.is_empty() && lines.bytes().all(|byte| byte.is_ascii_digit()));
    let bare = bare.map_or(first, |(bare, _)| bare).trim();
    (!bare.is_empty()).then_some(bare)
}
