//! Who answers to a name, and who asked for it.

use smallvec::SmallVec;
use weft_model::{NoteId, Target, TargetSyntax, fold};

use super::directory::{self, Directory, Notes, text_of, within};
use super::resolve::{below, is_relative};
use super::{NoteEntry, NoteTable, VaultId};

/// A folded name within a vault, without leading `/`.
pub(super) type Key = (VaultId, String);

/// The key of a name.
pub(super) fn key(vault: VaultId, name: &str) -> Key {
    (vault, fold(name.trim_start_matches('/')))
}

/// Names in both directions: the notes that answer to one, and the notes whose links look it up.
///
/// A target is looked up under the whole of it and under last segments; a note answers under its uri, its `id`, its last path segment and its aliases.
/// So whatever a link can resolve to is among the answers to its keys, and a change of names re-resolves only those who asked.
/// What is told counts once the directories are settled.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub(super) answers: Directory,
    pub(super) asked: Directory,
    /// By a vault's name, as links write it, and a name in that vault; the vault need not be served.
    pub(super) asked_abroad: Directory,
}

/// A name that a link looks up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// In the vault of the linking note.
    Here(Key),
    /// In the vault of this name.
    Abroad(String, String),
}

impl Names {
    pub(super) fn answer(&mut self, key: &Key, note: NoteId) {
        self.answers.stage(name(key), note, true);
    }

    pub(super) fn silence(&mut self, key: &Key, note: NoteId) {
        self.answers.stage(name(key), note, false);
    }

    /// The notes that answer to `key`, in no order that means anything.
    pub(super) fn answering(&self, key: &Key) -> Notes {
        self.answers.at(&name(key))
    }

    pub(super) fn ask(&mut self, asked: &Asked, note: NoteId) {
        self.set_asked(asked, note, true);
    }

    pub(super) fn unask(&mut self, asked: &Asked, note: NoteId) {
        self.set_asked(asked, note, false);
    }

    fn set_asked(&mut self, asked: &Asked, note: NoteId, is_asked: bool) {
        match asked {
            Asked::Here(key) => self.asked.stage(name(key), note, is_asked),
            Asked::Abroad(vault, text) => {
                self.asked_abroad.stage(abroad(vault, text), note, is_asked);
            }
        }
    }

    /// All names with the notes that answer to them; names are folded.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, NoteId)> {
        self.answers.from(&[]).map(|(name, note)| (text_of(name), note))
    }

    /// The notes whose links look up `key`, in its vault or, where that is called `vault`, from others.
    pub(super) fn askers(&self, key: &Key, vault: Option<&str>) -> impl Iterator<Item = NoteId> {
        let here = self.asked.at(&name(key));
        let abroad = vault.map(|vault| self.asked_abroad.at(&abroad(vault, &key.1)));
        here.into_iter().chain(abroad.into_iter().flatten())
    }

    /// The notes whose links name a vault called `vault`.
    pub(super) fn askers_of_vault(&self, vault: &str) -> impl Iterator<Item = NoteId> {
        self.asked_abroad.below(&abroad(vault, "")).map(|(_, note)| note)
    }
}

fn name((vault, text): &Key) -> Vec<u8> {
    within(*vault, text)
}

fn abroad(vault: &str, text: &str) -> Vec<u8> {
    directory::joined(vault.as_bytes().to_vec(), text)
}

/// The keys under which a link of `entry` looks for `target`.
pub(super) fn asked(entry: &NoteEntry, target: &Target) -> impl Iterator<Item = Asked> {
    let vault = entry.vault;
    let (folder, name) = (entry.note.path.folder(), name_here(target));
    let less = less(name, target.syntax).into_iter().flat_map(move |name| lookups(folder, name));
    let here = lookups(folder, name).into_iter().chain(less);
    let abroad = split_vault(&target.name).into_iter().flat_map(|(vault, name)| {
        lookups("", name).into_iter().map(|key| Asked::Abroad(vault.to_owned(), key))
    });
    here.map(move |key| Asked::Here((vault, key))).chain(abroad)
}

/// The folded names of which a note that `target` means, seen from `folder`, answers to at least one.
fn lookups(folder: &str, target: &str) -> SmallVec<[String; 3]> {
    let beside = below(folder, target);
    let beside = beside.map(|parts| fold(parts.last().copied().unwrap_or_default()));
    if is_relative(target) {
        // Where it leads out of the vault nothing answers, but the vault may be called otherwise one day.
        return [beside.unwrap_or_else(|| fold(target))].into_iter().collect();
    }
    let whole = target.trim_start_matches('/');
    let mut keys: SmallVec<[String; 3]> = SmallVec::new();
    for key in [fold(whole), fold(last_segment(whole))].into_iter().chain(beside) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

/// What `name` means where nothing answers to all of it: without a `#` at its end, at which a heading was to follow, or the time alone at its front, to the minute at least, by which notes are numbered (`202401021200 Title`).
///
/// A Markdown link names a file, and nothing less.
pub(super) fn less(name: &str, syntax: TargetSyntax) -> Option<&str> {
    const MINUTE: usize = "202401021200".len();
    if syntax.is_markdown() {
        return None;
    }
    if let Some(bare) = name.strip_suffix('#') {
        return Some(bare.trim_end()).filter(|bare| !bare.is_empty());
    }
    let (number, title) = name.split_once(' ')?;
    let is_number = number.len() >= MINUTE && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !title.trim().is_empty()).then_some(number)
}

/// The name that `target` has in the vault of the linking note.
pub(super) fn name_here(target: &Target) -> &str {
    let in_vault = target.syntax == TargetSyntax::WikilinkInVault;
    let named = split_vault(&target.name).filter(|_| in_vault);
    named.map_or(&target.name, |(_, name)| name)
}

/// `vault:name` in its parts, whether such a vault is served or not. A title such as `Dune: Part Two` names no vault.
pub(super) fn split_vault(target: &str) -> Option<(&str, &str)> {
    let (vault, name) = target.split_once(':')?;
    let names_both = !vault.is_empty() && !name.is_empty() && !is_relative(vault);
    (names_both && !name.starts_with(char::is_whitespace)).then_some((vault, name))
}

/// The names a note answers to besides its uri: its `id`, its last path segment, its aliases, and the name of the folder it stands for.
pub(super) fn own_keys(entry: &NoteEntry) -> impl Iterator<Item = Key> + '_ {
    let names = std::iter::once(entry.note.path.stem())
        .chain(entry.written_id())
        .chain(entry.note.aliases.iter().map(String::as_str))
        .chain(NoteTable::folder_named_by(&entry.note.path));
    names.map(|name| key(entry.vault, name))
}

/// Whether two versions of a note are found under the same names, and give others their places likewise.
pub(super) fn same_names(old: &NoteEntry, new: &NoteEntry) -> bool {
    let names = |entry: &'_ NoteEntry| {
        (entry.vault, entry.note.path.clone(), entry.note.claimed_uri.clone(), entry.note.dendron)
    };
    names(old) == names(new)
        && old.written_id() == new.written_id()
        && old.note.aliases == new.note.aliases
}

pub(super) fn last_segment(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, last)| last)
}
