//! Rewrites the targets of a file's links.
//!
//! Edits the text where the links are, then parses the result: an edit is accepted only if it changed the intended targets and nothing else.
//! All links are edited in one batch, so the usual cost is two parses for any number of links; a rejected batch is split in halves.

#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ops::Range;

use percent_encoding::percent_encode_byte;
use weft_model::id::{split_query, without_markdown_extension};
use weft_model::text::percent_decoded;
use weft_model::{Link, LinkSource, Note, NotePath, TargetSyntax};

use crate::char_offsets::CharOffsets;
use crate::parse::body_parser::folded_label;
use crate::parse::link_target::{self, Destination, PlainTarget};
use crate::parse::yaml::{Scalar, Style, is_plain, quoted, within_quotes};
use crate::parse::{Dialect, ParseOptions, ParsedFile, dendron, logseq, parse_file, scalars};

/// Maximum number of parses of a text, and of bytes parsed in total: the writer thread is blocked meanwhile.
const MAX_PARSES: usize = 1000;
const MAX_PARSED_BYTES: usize = 1 << 28;

/// Number of parses granted to a text of any size.
const MIN_PARSES: usize = 16;

/// Maximum number of bytes to search for the end of a target: a path has at most 4096, and a Markdown destination three for each.
const MAX_WRITTEN: usize = 3 << 12;

/// Maximum number of characters in the label of a link reference definition (CommonMark 0.31.2, section 4.7).
const MAX_LABEL: usize = 999;

/// A file with rewritten links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RewrittenText {
    /// The new text.
    pub(crate) text: String,
    /// Number of links that were rewritten.
    pub(crate) n_rewritten: usize,
    /// Number of links that should have been rewritten but cannot be rewritten safely.
    pub(crate) n_not_rewritten: usize,
}

/// The required change of a link when its note or its target moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinkUpdate {
    /// Its target stays the same.
    Keep,
    /// It would resolve elsewhere unless it uses this name.
    Rename(String),
    /// It resolves elsewhere under any name.
    Impossible,
}

/// Rewrites the links of `text` to the names that `update` returns; `None` if no link needs a change. `update` receives the index of a link among all of the note, those to files that are not notes last.
///
/// Stops before the next batch once `should_continue` returns false.
pub(crate) fn rewrite_links(
    path: &NotePath,
    text: &str,
    options: &ParseOptions,
    update: impl Fn(usize, &Link) -> LinkUpdate,
    should_continue: impl Fn() -> bool,
) -> Option<RewrittenText> {
    let parse = |text: &str| ParsedText::new(parse_file(path, text.as_bytes(), options));
    let mut current = (text.to_owned(), parse(text));
    let (mut renames, mut n_lost) = (BTreeMap::new(), 0);
    for (at, link) in current.1.links.iter().enumerate() {
        match update(at, link) {
            LinkUpdate::Keep => {}
            LinkUpdate::Rename(name) => drop(renames.insert(at, name)),
            LinkUpdate::Impossible => n_lost += 1,
        }
    }
    if renames.is_empty() && n_lost == 0 {
        return None;
    }
    let is_applied = |known: &ParsedText, at: usize| {
        known.links.get(at).is_some_and(|link| renames.get(&at) == Some(&link.target.name))
    };
    let mut n_parses = (MAX_PARSED_BYTES / text.len().max(1)).clamp(MIN_PARSES, MAX_PARSES);
    // Batches are ordered so that the last half comes first: equal links are distinguished by their position.
    let mut batches: Vec<Vec<usize>> = vec![renames.keys().copied().collect()];
    while let Some(batch) = batches.pop() {
        if n_parses == 0 || !should_continue() {
            break;
        }
        // A definition or property shared by several links changes together with any of them.
        let batch: Vec<usize> =
            batch.into_iter().filter(|at| !is_applied(&current.1, *at)).collect();
        let editor = LinkEditor::new(&current.0, &current.1, options.dialect());
        let choices = batch.iter().map(|at| (*at, editor.splices(*at, &renames[at])));
        let choices: Vec<_> = choices.filter(|(_, splices)| !splices.is_empty()).collect();
        let attempts: Vec<Vec<Splice>> = match &*choices {
            [] => continue,
            [(_, splices)] => splices.iter().map(|splice| vec![splice.clone()]).collect(),
            choices => vec![choices.iter().map(|(_, splices)| splices[0].clone()).collect()],
        };
        let accepted = attempts.into_iter().take(n_parses).find_map(|splices| {
            let edited = spliced(&current.0, splices)?;
            n_parses -= 1;
            let read = parse(&edited);
            let is_whole = choices.iter().all(|(at, _)| is_applied(&read, *at));
            (is_whole && current.1.differs_only_by_renames(&read, &renames))
                .then_some((edited, read))
        });
        match accepted {
            Some(edited) => current = edited,
            None if choices.len() > 1 => {
                let (first, second) = choices.split_at(choices.len() / 2);
                batches
                    .extend([first, second].map(|half| half.iter().map(|(at, _)| *at).collect()));
            }
            None => {}
        }
    }
    let n_rewritten = renames.keys().filter(|at| is_applied(&current.1, **at)).count();
    Some(RewrittenText {
        text: current.0,
        n_rewritten,
        n_not_rewritten: renames.len() - n_rewritten + n_lost,
    })
}

/// A parsed text.
struct ParsedText {
    note: Note,
    /// Links, followed by those to files that are not notes.
    links: Vec<Link>,
    /// The codes and lines of the diagnostics.
    diagnostics: Vec<(String, Option<u32>)>,
}

impl ParsedText {
    fn new(parsed: ParsedFile) -> Self {
        let ParsedFile { mut note, diagnostics, mut files } = parsed;
        let mut links = std::mem::take(&mut note.links);
        links.append(&mut files);
        let diagnostics = diagnostics.into_iter().map(|found| (found.code, found.line)).collect();
        Self { note, links, diagnostics }
    }

    /// Returns true if `after` differs only in the renamed links and what derives from them.
    fn differs_only_by_renames(&self, after: &Self, renames: &BTreeMap<usize, String>) -> bool {
        let unmoved = |link: &Link| Link { span: None, ..link.clone() };
        let mut renamed: Vec<(&Link, &String)> = Vec::new();
        let mut pairs = self.links.iter().zip(&after.links).enumerate();
        let are_meant = self.links.len() == after.links.len()
            && pairs.all(|(at, (old, new))| {
                if old.target == new.target {
                    return unmoved(old) == unmoved(new);
                }
                renamed.push((old, &new.target.name));
                let mut meant = unmoved(old);
                renames.get(&at).is_some_and(|name| {
                    name.clone_into(&mut meant.target.name);
                    meant == unmoved(new)
                })
            });
        let (old, new) = (&self.note, &after.note);
        let is_linking = |key: &str| {
            let mut typed = renamed.iter().filter(|(link, _)| link.source == LinkSource::Typed);
            key.eq_ignore_ascii_case("links") || typed.any(|(link, _)| link.kind == *key)
        };
        // In Logseq a link may also be a tag.
        let has_tag = |note: &Note, tag: &String| note.tags.contains(tag);
        let tags_follow = || {
            let is_in_new = |tag: &String| {
                let mut names = renamed.iter().filter(|(link, _)| link.target.name == *tag);
                has_tag(new, tag) || names.any(|(_, name)| has_tag(new, name))
            };
            let is_of_old = |tag: &String| {
                let mut olds = renamed.iter().filter(|(_, name)| *name == tag);
                has_tag(old, tag) || olds.any(|(link, _)| has_tag(old, &link.target.name))
            };
            old.tags.iter().all(is_in_new) && new.tags.iter().all(is_of_old)
        };
        let pairs = old.properties.iter().zip(&new.properties);
        let is_same = old.properties == new.properties;
        are_meant
            // The new name may be valid YAML where the old one was not.
            && after.diagnostics.iter().all(|found| self.diagnostics.contains(found))
            && old.properties.len() == new.properties.len()
            && pairs.into_iter().all(|((key, old), (new_key, new))| {
                key == new_key && (old == new || is_linking(key))
            })
            && (!is_same || old.tags == new.tags || tags_follow())
            && old.blocks.iter().map(|block| &block.id).eq(new.blocks.iter().map(|block| &block.id))
            && old.headings.iter().map(|it| it.level).eq(new.headings.iter().map(|it| it.level))
    }
}

/// A byte range of a text, and its replacement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Splice {
    start: usize,
    end: usize,
    written: String,
}

/// Applies all `splices`; `None` if they overlap.
fn spliced(text: &str, mut splices: Vec<Splice>) -> Option<String> {
    splices.sort();
    splices.dedup();
    let (mut edited, mut at) = (String::with_capacity(text.len()), 0);
    for Splice { start, end, written } in splices {
        edited.push_str(text.get(at..start)?);
        edited.push_str(&written);
        at = end;
    }
    edited.push_str(text.get(at..)?);
    Some(edited)
}

/// The syntax in which a target is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TargetForm {
    /// Between `[[` and `]]`.
    Wikilink,
    /// In a Markdown link or a link reference definition.
    Destination { in_angles: bool },
    /// As a value of the frontmatter.
    Value,
}

/// A byte range that names a target.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TargetSite {
    bytes: Range<usize>,
    form: TargetForm,
    /// Notation of the enclosing frontmatter value; `None` in a body.
    style: Option<Style>,
}

/// A text, with the places where its links' targets may be written.
struct LinkEditor<'t> {
    text: &'t str,
    links: &'t [Link],
    /// Syntax of wikilinks.
    dialect: Dialect,
    body_start: usize,
    /// End of the page-level part: the frontmatter, and in Logseq the page properties after it.
    front_end: usize,
    offsets: CharOffsets<'t>,
    scalars: Vec<Scalar>,
    /// The places of typed links, in text order.
    front: OnceCell<Vec<TargetSite>>,
    /// The labels of the body's link reference definitions, and where their destinations begin.
    definitions: OnceCell<Vec<(String, usize)>>,
}

impl<'t> LinkEditor<'t> {
    fn new(text: &'t str, known: &'t ParsedText, dialect: Dialect) -> Self {
        let body = &known.note.body;
        let (front, definitions) = (OnceCell::new(), OnceCell::new());
        let (body_start, offsets) = (text.len() - body.len(), CharOffsets::new(body));
        let scalars = scalars(text);
        let links = &known.links;
        let properties = match dialect {
            Dialect::Logseq => logseq::page_lines(body).end,
            Dialect::Common | Dialect::Dendron => 0,
        };
        let front_end = body_start + properties;
        Self { text, links, dialect, body_start, front_end, offsets, scalars, front, definitions }
    }

    /// Returns the edits that may give link `at` the name, the most likely first.
    fn splices(&self, at: usize, name: &str) -> Vec<Splice> {
        let link = &self.links[at];
        let sites = match link.span {
            Some(span) => {
                let bytes = self.offsets.bytes(span);
                self.inline(link, self.body_start + bytes.start..self.body_start + bytes.end)
            }
            None => self.typed(at),
        };
        sites.iter().filter_map(|site| self.splice(site, name)).collect()
    }

    /// Returns where the target of a body link in `bytes` may be written.
    fn inline(&self, link: &Link, bytes: Range<usize>) -> Vec<TargetSite> {
        let (text, passage) = (self.text, &self.text[bytes.clone()]);
        let mut sites = match link.target.syntax {
            TargetSyntax::Wikilink
            | TargetSyntax::WikilinkToFile
            | TargetSyntax::WikilinkInVault => self.wikilinks(bytes),
            TargetSyntax::Markdown
            | TargetSyntax::MarkdownToFile
            | TargetSyntax::Listed
            | TargetSyntax::Tentative => {
                let mut sites = destinations(text, bytes.clone());
                // Destinations inside the link's text come first.
                sites.reverse();
                // `[[1]](address)`
                let after = text[bytes.end..].starts_with('(');
                sites.extend(after.then(|| destination(text, bytes.end + 1)).flatten());
                let label = label_of(passage);
                let definitions =
                    self.definitions.get_or_init(|| definitions(text, self.body_start));
                let own = definitions.iter().filter(|(known, _)| *known == label);
                // The first definition wins, but it may be in code and then is not one.
                let own = own.take(MIN_PARSES);
                sites.extend(own.filter_map(|(_, start)| destination(text, *start)));
                sites.extend(self.wikilinks(bytes));
                sites
            }
        };
        sites.retain(|site| self.may_name(site, link));
        sites
    }

    /// Returns where the target of the typed link `at` may be written.
    fn typed(&self, at: usize) -> Vec<TargetSite> {
        let link = &self.links[at];
        let front = self.front.get_or_init(|| self.front());
        let is_of = |site: &&TargetSite| match (link.target.syntax, site.form) {
            (
                TargetSyntax::Wikilink
                | TargetSyntax::WikilinkToFile
                | TargetSyntax::WikilinkInVault,
                TargetForm::Wikilink,
            )
            | (
                TargetSyntax::Markdown | TargetSyntax::MarkdownToFile,
                TargetForm::Destination { .. },
            )
            | (TargetSyntax::Listed | TargetSyntax::Tentative, TargetForm::Value) => {
                self.may_name(site, link)
            }
            (_, _) => false,
        };
        let mut sites: Vec<TargetSite> = front.iter().filter(is_of).cloned().collect();
        sites.reverse();
        // Links and places are in the same order, but a place may not belong to any link.
        let later = self.links[at + 1..].iter().filter(|other| other.span.is_none());
        let n_later = later.filter(|other| other.target == link.target).count();
        if n_later < sites.len() {
            sites[..=n_later].rotate_right(1);
        }
        sites
    }

    /// Returns where typed links may be written, in text order.
    fn front(&self) -> Vec<TargetSite> {
        let front = 0..self.front_end;
        let mut sites = self.wikilinks(front.clone());
        sites.extend(destinations(self.text, front));
        for site in &mut sites {
            let next = self.scalars.partition_point(|scalar| scalar.bytes.end <= site.bytes.start);
            let around = self.scalars.get(next);
            let around = around.filter(|scalar| scalar.bytes.start <= site.bytes.start);
            site.style = around.map(|scalar| scalar.style);
        }
        let values = self.scalars.iter().map(|scalar| {
            let (bytes, style) = (scalar.bytes.clone(), Some(scalar.style));
            TargetSite { bytes, form: TargetForm::Value, style }
        });
        sites.extend(values);
        sites.sort_by_key(|site| site.bytes.start);
        sites
    }

    /// Returns the names of wikilinks within `range`.
    fn wikilinks(&self, range: Range<usize>) -> Vec<TargetSite> {
        let passage = &self.text[range.clone()];
        let begins = memchr::memmem::find_iter(passage.as_bytes(), b"[[");
        let site = |at: usize| {
            let near = within(&passage[at..], MAX_WRITTEN);
            // If there are more than two brackets, the last two count.
            let inner = near.trim_start_matches('[');
            let written = link_target::inside_wikilink(inner);
            let label = match self.dialect {
                Dialect::Dendron => dendron::target_start(written),
                Dialect::Common | Dialect::Logseq => 0,
            };
            let name = written[label..].split('|').next().unwrap_or_default();
            let end = match self.dialect {
                Dialect::Common | Dialect::Dendron => link_target::fragment_start(name),
                Dialect::Logseq => name.len(),
            };
            let name = &name[..end];
            // In a table the bar is escaped.
            let name = name.strip_suffix('\\').unwrap_or(name);
            let inner = range.start + at + (near.len() - inner.len()) + label;
            let start = inner + (name.len() - name.trim_start().len());
            let bytes = start..start + name.trim().len();
            TargetSite { bytes, form: TargetForm::Wikilink, style: None }
        };
        begins.map(site).collect()
    }

    fn scalar(&self, site: &TargetSite) -> Option<&Scalar> {
        let at = self.scalars.binary_search_by_key(&site.bytes.start, |it| it.bytes.start).ok()?;
        self.scalars.get(at)
    }

    /// Returns true if the text at a place may be the target of `link`. Avoids trying every place, each of which takes a parse of the whole text.
    fn may_name(&self, site: &TargetSite, link: &Link) -> bool {
        let written = &self.text[site.bytes.clone()];
        let named = match site.form {
            TargetForm::Wikilink => self.dialect.wikilink(written).map(|found| found.name),
            TargetForm::Destination { .. } => {
                link_target::markdown(written).map(|found| found.name)
            }
            TargetForm::Value => {
                return self.scalar(site).and_then(|it| value_name(&it.text)).as_ref()
                    == Some(&link.target.name);
            }
        };
        // Escapes of Markdown and YAML and character references are not resolved here.
        named.as_ref() == Some(&link.target.name)
            || written.contains(['\\', '&'])
            || written.contains("''")
    }

    /// Returns the edit that makes a place name `name`; `None` if it cannot.
    fn splice(&self, site: &TargetSite, name: &str) -> Option<Splice> {
        let TargetSite { bytes: Range { start, end }, form, style } = site.clone();
        let old = &self.text[start..end];
        let named = |found: Option<Destination>| found.is_some_and(|found| found.name == name);
        let written = match form {
            TargetForm::Wikilink => {
                let name = match self.dialect {
                    Dialect::Dendron => dendron::rewritten(old, name)?,
                    Dialect::Common | Dialect::Logseq => name.to_owned(),
                };
                let written = format!("{name}{}", tail(old));
                if written.contains('|') || !named(self.dialect.wikilink(&written)) {
                    return None;
                }
                if let Some(Style::Plain { .. }) = style {
                    return self.unquoted(start..end, &written);
                }
                written
            }
            TargetForm::Destination { in_angles } => {
                let tail = url_tail(old);
                // The name of a target includes a query, in which nothing is encoded.
                let bare = name.strip_suffix(&*percent_decoded(tail));
                let bare = bare.filter(|_| tail.contains('?')).unwrap_or(name);
                let written = format!("{}{tail}", encoded(bare, old, in_angles));
                if !named(link_target::markdown(&written)) {
                    return None;
                }
                written
            }
            TargetForm::Value => {
                let scalar = self.scalar(site)?;
                let (old, fragment) =
                    scalar.text.split_at(link_target::fragment_start(&scalar.text));
                let value = format!("{name}{}{fragment}", tail(old.trim()));
                // The parser's span may include trailing spaces.
                let end = start + self.text[start..end].trim_end().len();
                let written = match scalar.style {
                    Style::Plain { in_flow } if is_plain(&value, in_flow) => value,
                    Style::Plain { .. } | Style::DoubleQuoted => quoted(&value),
                    Style::SingleQuoted => format!("'{}'", value.replace('\'', "''")),
                    Style::Block => return None,
                };
                return Some(Splice { start, end, written });
            }
        };
        let written = match style {
            Some(Style::DoubleQuoted) => within_quotes(&written),
            Some(Style::SingleQuoted) => written.replace('\'', "''"),
            Some(Style::Plain { .. } | Style::Block) | None => written,
        };
        Some(Splice { start, end, written })
    }

    /// Returns the edit for a wikilink that YAML reads as a nested list, and that may need quotes for its new name.
    fn unquoted(&self, name: Range<usize>, written: &str) -> Option<Splice> {
        let start = self.text[..name.start].rfind("[[")?;
        let end = name.end + self.text[name.end..].find("]]")? + "]]".len();
        let link = [&self.text[start..name.start], written, &self.text[name.end..end]].concat();
        let written = if is_plain(&link, true) { link } else { quoted(&link) };
        Some(Splice { start, end, written })
    }
}

/// Returns the name in a plain string of the frontmatter.
fn value_name(text: &str) -> Option<String> {
    Some(match link_target::plain(text)? {
        PlainTarget::Name(found) => found.name,
        PlainTarget::Address(address) => address,
    })
}

/// Returns the end of a target that follows its name: the Markdown extension, or slashes.
fn tail(written: &str) -> &str {
    let bare = without_markdown_extension(written);
    let bare = if bare == written { bare.trim_end_matches('/') } else { bare };
    &written[bare.len()..]
}

/// Returns the end of a destination that follows the name: its query, and what precedes the query.
fn url_tail(written: &str) -> &str {
    let (path, query) = split_query(written);
    &written[written.len() - query.len() - tail(path).len()..]
}

/// Returns the destinations of Markdown links within `range`.
fn destinations(text: &str, range: Range<usize>) -> Vec<TargetSite> {
    let starts = text[range.clone()].match_indices("](");
    starts.filter_map(|(at, mark)| destination(text, range.start + at + mark.len())).collect()
}

/// Returns the labels of possible link reference definitions in the body, and where their destinations begin.
fn definitions(text: &str, body_start: usize) -> Vec<(String, usize)> {
    let marks = text[body_start..].match_indices("]:");
    let definition = |(at, mark): (usize, &str)| {
        let at = body_start + at;
        let near = text.floor_char_boundary(at.saturating_sub(4 * MAX_LABEL + 1)).max(body_start);
        let (_, label) = text[near..at].rsplit_once('[')?;
        // A label contains no unescaped `]`.
        let is_label =
            label.chars().nth(MAX_LABEL).is_none() && !label.replace("\\]", "").contains(']');
        is_label.then(|| (folded_label(label), at + mark.len()))
    };
    marks.filter_map(definition).collect()
}

/// Returns the label with which a link such as `[text][label]` finds its definition.
fn label_of(link: &str) -> String {
    let inner = link.trim_start_matches('!').strip_prefix('[').unwrap_or(link);
    let inner = inner.strip_suffix("][]").or_else(|| inner.strip_suffix(']')).unwrap_or(inner);
    let label = inner.rsplit_once("][").map_or(inner, |(_, label)| label);
    // A wikilink is its own label.
    let wikilink = label.strip_prefix('[').and_then(|label| label.strip_suffix(']'));
    folded_label(wikilink.unwrap_or(label))
}

/// Returns at most the first `n_bytes` of `text`.
fn within(text: &str, n_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(n_bytes)]
}

/// Finds a Markdown destination at `start`, after optional spaces and without its fragment.
fn destination(text: &str, start: usize) -> Option<TargetSite> {
    let is_space = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r');
    let near = within(&text[start..], MAX_WRITTEN);
    let rest = near.trim_start_matches(is_space);
    let start = start + near.len() - rest.len();
    let (start, rest, in_angles, end) = match rest.strip_prefix('<') {
        Some(inner) => (start + 1, inner, true, inner.find('>')?),
        None => {
            let (mut depth, mut is_escaped) = (0_i32, false);
            let end = rest.find(|c: char| {
                let counts = !is_escaped;
                is_escaped = counts && c == '\\';
                depth += i32::from(counts && c == '(') - i32::from(counts && c == ')');
                is_space(c) || depth < 0
            });
            (start, rest, false, end.unwrap_or(rest.len()))
        }
    };
    // `&#111;` is a character reference.
    let mut marks = rest[..end].match_indices('#').map(|(at, _)| at);
    let end = marks.find(|at| !rest[..*at].ends_with('&')).unwrap_or(end);
    let form = TargetForm::Destination { in_angles };
    (end > 0).then_some(TargetSite { bytes: start..start + end, form, style: None })
}

/// Encodes `name` as a Markdown destination: percent-encoded where required, and letters where `old` encoded them.
fn encoded(name: &str, old: &str, in_angles: bool) -> String {
    let is_high =
        |bytes: &[u8]| bytes[0] == b'%' && bytes[1] >= b'8' && bytes[2].is_ascii_hexdigit();
    let with_letters = old.as_bytes().windows(3).any(is_high);
    let mut encoded = String::with_capacity(name.len());
    for (at, c) in name.char_indices() {
        let must = match c {
            '%' | '#' | '?' | '<' | '>' | '\\' | '|' | '`' | '"' => true,
            ' ' | '(' | ')' => !in_angles,
            // Otherwise it would end a scheme.
            ':' => !name[..at].contains('/'),
            // Otherwise it would begin a character reference.
            '&' => name[at..].contains(';'),
            c if c.is_ascii() => c.is_ascii_control(),
            c => with_letters || c.is_whitespace() || c.is_control(),
        };
        if must {
            let mut bytes = [0; 4];
            let bytes = c.encode_utf8(&mut bytes).as_bytes();
            bytes.iter().for_each(|byte| encoded.push_str(percent_encode_byte(*byte)));
        } else {
            encoded.push(c);
        }
    }
    encoded
}
