//! The names of notes, and the links that look them up.

use smallvec::SmallVec;
use weft_model::id::{is_uuid, split_query, without_markdown_extension};
use weft_model::{NoteId, Target, TargetSyntax, fold};

use super::name_index::{self, NameIndex, NoteIds, key_text, vault_key};
use super::path_segments::{folder_named_by, is_relative, last_segment, resolve_segments};
use super::{NoteEntry, VaultId};

/// A case-folded name within a vault, without leading `/`.
pub(super) type Key = (VaultId, String);

/// Returns the key of a name.
pub(super) fn key(vault: VaultId, name: &str) -> Key {
    (vault, fold(name.trim_start_matches('/')))
}

/// Names in both directions: the notes that have a name, and the notes whose links look it up.
///
/// A target is looked up as a whole and by its last segments; a note is found under its uri and [its other names](keys_of).
/// So every note that a link can resolve to is found under one of the link's keys, and a change of names re-resolves only the links that look them up.
/// Changes take effect once the name indexes have [applied them](NameIndex::apply_staged).
#[derive(Clone, Debug, Default)]
pub(super) struct LinkNames {
    pub(super) named: NameIndex,
    pub(super) lookups: NameIndex,
    /// By a vault's name, as written in links, and a name in that vault; the vault may not be served.
    pub(super) cross_vault_lookups: NameIndex,
}

/// A name looked up by a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    /// In the vault of the linking note.
    Local(Key),
    /// In the vault with this name.
    OtherVault(String, String),
}

impl LinkNames {
    pub(super) fn add_name(&mut self, key: &Key, note: NoteId) {
        self.named.stage(name_key(key), note, true);
    }

    pub(super) fn remove_name(&mut self, key: &Key, note: NoteId) {
        self.named.stage(name_key(key), note, false);
    }

    /// Returns the notes named `key`, in no particular order.
    pub(super) fn notes_named(&self, key: &Key) -> NoteIds {
        self.named.at(&name_key(key))
    }

    pub(super) fn add_lookup(&mut self, lookup: &Lookup, note: NoteId) {
        self.set_lookup(lookup, note, true);
    }

    pub(super) fn remove_lookup(&mut self, lookup: &Lookup, note: NoteId) {
        self.set_lookup(lookup, note, false);
    }

    fn set_lookup(&mut self, lookup: &Lookup, note: NoteId, is_present: bool) {
        match lookup {
            Lookup::Local(key) => self.lookups.stage(name_key(key), note, is_present),
            Lookup::OtherVault(vault, text) => {
                self.cross_vault_lookups.stage(other_vault_key(vault, text), note, is_present);
            }
        }
    }

    /// Returns all folded names with their notes.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, NoteId)> {
        self.named.iter_from(&[]).map(|(name, note)| (key_text(name), note))
    }

    /// Returns the notes whose links look up `key` within its vault or, if that is called `vault`, from other vaults.
    pub(super) fn notes_looking_up(
        &self,
        key: &Key,
        vault: Option<&str>,
    ) -> impl Iterator<Item = NoteId> {
        let here = self.lookups.at(&name_key(key));
        let cross_vault =
            vault.map(|vault| self.cross_vault_lookups.at(&other_vault_key(vault, &key.1)));
        here.into_iter().chain(cross_vault.into_iter().flatten())
    }

    /// Returns the notes whose links refer to a vault called `vault`.
    pub(super) fn notes_linking_to_vault(&self, vault: &str) -> impl Iterator<Item = NoteId> {
        self.cross_vault_lookups.with_prefix(&other_vault_key(vault, "")).map(|(_, note)| note)
    }
}

fn name_key((vault, text): &Key) -> Vec<u8> {
    vault_key(*vault, text)
}

fn other_vault_key(vault: &str, text: &str) -> Vec<u8> {
    name_index::compound_key(vault.as_bytes().to_vec(), text)
}

/// Returns the keys under which a link of `entry` looks up `target`.
pub(super) fn lookups_of(entry: &NoteEntry, target: &Target) -> impl Iterator<Item = Lookup> {
    let vault = entry.vault;
    let (folder, name) = (entry.note.path.folder(), local_name(target));
    let shorter = shortened_name(name, target.syntax)
        .into_iter()
        .flat_map(move |name| lookup_names(folder, name));
    let here = lookup_names(folder, name).into_iter().chain(shorter);
    let cross_vault = split_vault(&target.name).into_iter().flat_map(|(vault, name)| {
        lookup_names("", name).into_iter().map(|key| Lookup::OtherVault(vault.to_owned(), key))
    });
    here.map(move |key| Lookup::Local((vault, key))).chain(cross_vault)
}

/// Returns folded names such that any note matching `target`, as seen from `folder`, has at least one of them.
fn lookup_names(folder: &str, target: &str) -> SmallVec<[String; 3]> {
    let relative = resolve_segments(folder, target);
    let relative = relative.map(|parts| fold(parts.last().copied().unwrap_or_default()));
    if is_relative(target) {
        // A path that leaves the vault matches nothing now, but the vault may be renamed later.
        return [relative.unwrap_or_else(|| fold(target))].into_iter().collect();
    }
    let whole = target.trim_start_matches('/');
    let mut keys: SmallVec<[String; 3]> = SmallVec::new();
    for key in [fold(whole), fold(last_segment(whole))].into_iter().chain(relative) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

/// Returns a shorter form of `name`, tried if nothing matches the whole: without a `#` at its end, or only the timestamp at its front, to the minute or finer, that numbers notes (`202401021200 Title`).
///
/// A Markdown link is a URL; its shorter form is the path without the query.
pub(super) fn shortened_name(name: &str, syntax: TargetSyntax) -> Option<&str> {
    const MINUTE: usize = "202401021200".len();
    if syntax.is_markdown() {
        let (path, query) = split_query(name);
        let path = without_markdown_extension(path).trim_end_matches('/');
        return (!query.is_empty() && !path.is_empty()).then_some(path);
    }
    if let Some(bare) = name.strip_suffix('#') {
        return Some(bare.trim_end()).filter(|bare| !bare.is_empty());
    }
    let (number, title) = name.split_once(' ')?;
    let is_number = number.len() >= MINUTE && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !title.trim().is_empty()).then_some(number)
}

/// Returns the name of `target` in the vault of the linking note.
pub(super) fn local_name(target: &Target) -> &str {
    let in_vault = target.syntax == TargetSyntax::WikilinkInVault;
    let named = split_vault(&target.name).filter(|_| in_vault);
    named.map_or(&target.name, |(_, name)| name)
}

/// Splits `vault:name`, whether that vault is served or not. A title such as `Dune: Part Two` names no vault.
pub(super) fn split_vault(target: &str) -> Option<(&str, &str)> {
    let (vault, name) = target.split_once(':')?;
    let names_both = !vault.is_empty() && !name.is_empty() && !is_relative(vault);
    (names_both && !name.starts_with(char::is_whitespace)).then_some((vault, name))
}

/// Returns the names of a note besides its uri: its `id`, its last path segment, its aliases, the name of the folder it represents, and the UUIDs of its blocks.
pub(super) fn keys_of(entry: &NoteEntry) -> impl Iterator<Item = Key> + '_ {
    let names = std::iter::once(entry.note.path.stem())
        .chain(entry.frontmatter_id())
        .chain(entry.note.aliases.iter().map(String::as_str))
        .chain(folder_named_by(&entry.note.path))
        .chain(block_uuids(entry));
    names.map(|name| key(entry.vault, name))
}

/// Returns the ids of blocks that are names by themselves.
fn block_uuids(entry: &NoteEntry) -> impl Iterator<Item = &str> {
    entry.note.blocks.iter().map(|block| block.id.as_str()).filter(|id| is_uuid(id))
}

/// True if two versions of a note have the same names and the same effect on the hierarchy.
pub(super) fn same_names(old: &NoteEntry, new: &NoteEntry) -> bool {
    let names = |entry: &'_ NoteEntry| {
        (entry.vault, entry.note.path.clone(), entry.note.claimed_uri.clone(), entry.note.dendron)
    };
    names(old) == names(new)
        && old.frontmatter_id() == new.frontmatter_id()
        && old.note.aliases == new.note.aliases
        && block_uuids(old).eq(block_uuids(new))
}
