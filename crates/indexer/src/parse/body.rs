//! A body to headings, blocks, inline links and tags.
//!
//! One walk over the events of a CommonMark parser, which knows what is code and HTML.
//! Comments (`%%`) and math are not left to it: both may span blocks, and a price (`$5`) is no math.
//! Nor is `<code>` within a line, of which it knows the tags alone.
//! Their marks are gathered on the way, and what lies between them is dropped at the end.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use memchr::memchr2_iter;
use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};
use unicode_normalization::char::is_combining_mark;
use weft_model::link::INLINE_TYPE;
use weft_model::text::nfc;
use weft_model::{Block, Heading, Link, LinkSource, Target, TargetSyntax, fold};

use super::hidden::{self, Mark};
use super::target::{self, Destination, Look};
use super::{Dialect, masks};
use crate::depth;
use crate::offsets::Offsets;

/// What the parser understands beyond CommonMark.
///
/// Tables are left out: a row is then prose, so that `[[note|shown]]` in a cell is found whether or not its bar is escaped, and so are cells in excess.
const OPTIONS: Options = Options::ENABLE_WIKILINKS
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_STRIKETHROUGH);

/// What ends a line, in CommonMark also on its own.
const LINE_ENDS: [char; 2] = ['\n', '\r'];

/// The most characters of `(…)` after `[[1]]` that are looked at to tell `[[1]](address)` from a wikilink.
const MAX_ADDRESS_CHARS: usize = 2048;

/// What a body says about itself, in text order.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Body {
    pub(super) headings: Vec<Heading>,
    pub(super) blocks: Vec<Block>,
    pub(super) links: Vec<Link>,
    /// Links to files that are no notes.
    pub(super) files: Vec<Link>,
    /// Without repeats.
    pub(super) tags: Vec<String>,
    /// The byte at which a block comment begins that nothing ends.
    pub(super) open_comment: Option<usize>,
}

/// Reads `body`, with wikilinks and tags of that dialect. `O(bytes)`; no nesting is too deep.
pub(super) fn read(body: &str, dialect: Dialect) -> Body {
    let body = &*depth::bounded(body);
    let parser = Parser::new_ext(body, OPTIONS);
    let mut defined: Vec<_> = parser.reference_definitions().iter().collect();
    defined.sort_unstable_by_key(|(_, to)| to.span.start);
    let mut definitions = Definitions::new();
    for (label, to) in defined {
        // Of equal labels the first counts.
        definitions.entry(folded_label(label)).or_insert_with(|| to.dest.to_string());
    }
    let mut walk = Walk::new(body, dialect, &definitions);
    for (event, range) in parser.into_offset_iter() {
        walk.take(event, range);
    }
    for passage in std::mem::take(&mut walk.passed_over) {
        walk.take_masked(passage);
    }
    walk.finish()
}

/// The links of `text` if it consists of nothing else: one link, or several with commas or spaces between.
///
/// Links that point at no note of ours are left out, so `Some` may be empty.
pub(super) fn links_only(text: &str, dialect: Dialect) -> Option<Vec<Link>> {
    let text = text.trim();
    if !text.starts_with(['[', '!']) || !text.ends_with([']', ')']) {
        return None;
    }
    let text = &*depth::bounded(text);
    let definitions = Definitions::new();
    let mut walk = Walk::new(text, dialect, &definitions);
    for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
        let separates = |words: &str| words.chars().all(|c| c.is_whitespace() || c == ',');
        let is_other = matches!(&event, Event::Text(words) if !separates(words))
            || matches!(&event, Event::Code(_) | Event::InlineHtml(_));
        if is_other && walk.open.is_empty() {
            return None;
        }
        walk.take(event, range);
    }
    // A bare `[^1]` or `[text]` is no link, and then there was text.
    Some(walk.links.into_iter().map(|found| found.item).collect())
}

/// Something found, with the bytes it takes.
struct Found<T> {
    bytes: Range<usize>,
    item: T,
}

/// Makes prose readable that the parser passes over; every byte keeps its place.
type Mask = fn(&str) -> String;

/// What the parser does not look into though it holds prose.
struct Passage {
    bytes: Range<usize>,
    mask: Mask,
    /// Whether it lies within a table.
    in_table: bool,
}

/// A part of a heading's text, and the bytes it stands in.
type Piece = (String, Range<usize>);

/// A link whose end has not been met.
struct OpenLink<'b> {
    kind: LinkType,
    destination: pulldown_cmark::CowStr<'b>,
    display: String,
    /// Whether it shows what stands before the bar, and the target comes after.
    has_label: bool,
}

/// The destinations of link reference definitions, by their folded labels.
type Definitions = HashMap<String, String>;

struct Walk<'b> {
    body: &'b str,
    definitions: &'b Definitions,
    dialect: Dialect,
    headings: Vec<Found<(u8, Vec<Piece>)>>,
    /// Each with where its `id` stands.
    blocks: Vec<Found<Range<usize>>>,
    links: Vec<Found<Link>>,
    files: Vec<Found<Link>>,
    tags: Vec<Found<&'b str>>,
    marks: Vec<Mark>,
    /// What stands between the tags of an element whose content is code, within a run of text.
    code: Vec<Range<usize>>,
    /// The element of that kind that is open: its name, its first byte, its run of text.
    code_element: Option<(&'static str, usize, usize)>,
    passed_over: Vec<Passage>,
    open: Vec<OpenLink<'b>>,
    heading: Option<Vec<Piece>>,
    in_code: bool,
    /// Whether the paragraph is a table, whose cells are texts of their own.
    in_table: bool,
    /// Whether all of it was cut out of a table.
    within_table: bool,
    quotes: usize,
    /// Grows with every block that begins or ends: equal numbers mean one run of text.
    leaf: usize,
    /// Where the run of text began.
    leaf_start: Option<usize>,
    /// The block that ended last.
    last_block: Range<usize>,
    /// Where the `id` of a `^id` at the end of the text so far stands.
    block_id: Option<Range<usize>>,
    /// Whether the last event began something, so that a tag may follow without a space.
    at_start: bool,
    /// Before this byte no tag begins: one or a list of attributes has been met.
    tags_end: usize,
}

impl<'b> Walk<'b> {
    const fn new(body: &'b str, dialect: Dialect, definitions: &'b Definitions) -> Self {
        Self {
            body,
            definitions,
            dialect,
            headings: Vec::new(),
            blocks: Vec::new(),
            links: Vec::new(),
            files: Vec::new(),
            tags: Vec::new(),
            marks: Vec::new(),
            code: Vec::new(),
            code_element: None,
            passed_over: Vec::new(),
            open: Vec::new(),
            heading: None,
            in_code: false,
            in_table: false,
            within_table: false,
            quotes: 0,
            leaf: 0,
            leaf_start: None,
            last_block: 0..0,
            block_id: None,
            at_start: true,
            tags_end: 0,
        }
    }

    fn take(&mut self, event: Event<'b>, range: Range<usize>) {
        let at_start = std::mem::replace(&mut self.at_start, false);
        match event {
            Event::Start(tag) => {
                self.at_start = true;
                self.start(tag, range);
            }
            Event::End(tag) => self.end(tag, range),
            Event::Text(text) => self.text(&text, range, at_start),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.inline(range.start);
                self.say(&text, &range);
                let source = &self.body[range.clone()];
                let leaves_row = self.in_table && source.contains(LINE_ENDS);
                if leaves_row || masks::is_quotation(source) {
                    self.pass_over(range, masks::quotation);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                self.at_start = true;
                self.inline(range.start);
                self.say(" ", &range);
                self.leaf += usize::from(self.in_table);
            }
            Event::InlineHtml(tag) => {
                self.inline(range.start);
                self.inline_html(&tag, range);
            }
            Event::FootnoteReference(_) | Event::TaskListMarker(_) => self.inline(range.start),
            Event::Html(_) | Event::Rule => self.block_boundary(),
        }
    }

    /// Notes code between two HTML tags of one run of text; a tag that nothing closes hides nothing.
    fn inline_html(&mut self, tag: &str, range: Range<usize>) {
        match (masks::code_tag(tag), self.code_element) {
            (Some((name, false)), open) if open.is_none_or(|(_, _, leaf)| leaf != self.leaf) => {
                self.code_element = Some((name, range.start, self.leaf));
            }
            (Some((name, true)), Some((opened, start, leaf)))
                if (opened, leaf) == (name, self.leaf) =>
            {
                self.code.push(start..range.end);
                self.code_element = None;
            }
            (_, _) => {}
        }
    }

    fn pass_over(&mut self, bytes: Range<usize>, mask: Mask) {
        self.passed_over.push(Passage { bytes, mask, in_table: self.in_table });
    }

    /// Adds the links, tags and marks of a passage, read through its mask.
    fn take_masked(&mut self, passage: Passage) {
        let Passage { bytes: passage, mask, in_table } = passage;
        let text = mask(&self.body[passage.clone()]);
        let text = depth::bounded(&text);
        let mut walk = Walk::new(&text, self.dialect, self.definitions);
        walk.within_table = in_table;
        for (event, range) in Parser::new_ext(&text, OPTIONS).into_offset_iter() {
            walk.take(event, range);
        }
        let moved = |bytes: &Range<usize>| bytes.start + passage.start..bytes.end + passage.start;
        for (all, found) in [(&mut self.links, walk.links), (&mut self.files, walk.files)] {
            all.extend(found.into_iter().map(|link| Found { bytes: moved(&link.bytes), ..link }));
        }
        self.tags.extend(walk.tags.into_iter().map(|tag| {
            let bytes = moved(&tag.bytes);
            Found { item: &self.body[bytes.start + 1..bytes.end], bytes }
        }));
        self.code.extend(walk.code.iter().map(moved));
        let (bytes, leaves) = (passage.start, self.leaf + 1);
        self.marks.extend(walk.marks.into_iter().map(|mark| mark.moved(bytes, leaves)));
        self.leaf = leaves + walk.leaf;
    }

    fn start(&mut self, tag: Tag<'b>, range: Range<usize>) {
        match tag {
            Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. } => {
                self.inline(range.start);
                let is_piped = link_type == LinkType::WikiLink { has_pothole: true };
                let has_label = is_piped && self.dialect == Dialect::Dendron;
                let mut display = String::new();
                if has_label {
                    display.push_str(before_bar(&dest_url));
                    let is_embed = self.body[range.start..].starts_with('!');
                    let start = range.start + usize::from(is_embed) + "[[".len();
                    self.say(&display, &(start..start + display.len()));
                }
                let open = OpenLink { kind: link_type, destination: dest_url, display, has_label };
                self.open.push(open);
            }
            Tag::Emphasis
            | Tag::Strong
            | Tag::Strikethrough
            | Tag::Superscript
            | Tag::Subscript => self.inline(range.start),
            Tag::Heading { .. } => {
                self.block_boundary();
                self.heading = Some(Vec::new());
            }
            Tag::BlockQuote(_) => {
                self.block_boundary();
                self.quotes += 1;
            }
            Tag::CodeBlock(kind) => {
                self.block_boundary();
                self.in_code = true;
                // The event begins after the tab.
                let start = range.start - usize::from(self.body[..range.start].ends_with('\t'));
                if kind == CodeBlockKind::Indented
                    && masks::is_outline(&self.body[start..range.end])
                {
                    self.pass_over(start..range.end, masks::outline);
                }
            }
            Tag::HtmlBlock => {
                self.block_boundary();
                self.pass_over(range, masks::html);
            }
            Tag::Paragraph => {
                self.block_boundary();
                self.in_table = self.within_table || masks::is_table(&self.body[range]);
            }
            Tag::List(_)
            | Tag::Item
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Table(_)
            | Tag::TableHead
            | Tag::TableRow
            | Tag::TableCell
            | Tag::MetadataBlock(_) => self.block_boundary(),
        }
    }

    fn end(&mut self, tag: TagEnd, range: Range<usize>) {
        match tag {
            TagEnd::Link | TagEnd::Image => {
                let link = self.open.pop().and_then(|open| self.link(open, &range));
                if let Some((item, is_file)) = link {
                    let all = if is_file { &mut self.files } else { &mut self.links };
                    all.push(Found { bytes: range, item });
                }
                return;
            }
            TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Superscript
            | TagEnd::Subscript => return,
            TagEnd::Heading(level) => {
                let text = self.heading.take().unwrap_or_default();
                if self.quotes == 0 {
                    let bytes = self.lines(&range);
                    self.headings.push(Found { bytes, item: (level as u8, text) });
                }
            }
            TagEnd::BlockQuote(_) => self.quotes = self.quotes.saturating_sub(1),
            TagEnd::CodeBlock => self.in_code = false,
            TagEnd::Paragraph => self.in_table = false,
            TagEnd::HtmlBlock
            | TagEnd::List(_)
            | TagEnd::Item
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Table
            | TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::TableCell
            | TagEnd::MetadataBlock(_) => {}
        }
        self.block_boundary();
        self.last_block = range;
    }

    /// Notes that text goes on, so a `^id` before it names nothing.
    fn inline(&mut self, start: usize) {
        self.block_id = None;
        self.leaf_start.get_or_insert(start);
    }

    /// Ends the run of text, and the block that its `^id` names.
    fn block_boundary(&mut self) {
        if let (Some(id), Some(start)) = (self.block_id.take(), self.leaf_start) {
            let alone = self.body[start..id.end].trim_start().len() == id.len() + 1;
            // On a line of its own the mark names the block before it.
            let start =
                if alone && !self.last_block.is_empty() { self.last_block.start } else { start };
            let bytes = self.lines(&(start..id.end));
            self.blocks.push(Found { bytes, item: id });
        }
        self.leaf += 1;
        self.leaf_start = None;
    }

    /// Adds to the text of the heading and of the link that are open, if that does not show a label.
    fn say(&mut self, text: &str, range: &Range<usize>) {
        if self.open.last().is_some_and(|link| link.has_label) {
            return;
        }
        if let Some(heading) = &mut self.heading {
            heading.push((text.to_owned(), range.clone()));
        }
        if let Some(link) = self.open.last_mut() {
            link.display.push_str(text);
        }
    }

    fn text(&mut self, text: &str, range: Range<usize>, at_start: bool) {
        if self.in_code {
            return;
        }
        self.inline(range.start);
        self.say(text, &range);
        if !self.open.is_empty() {
            return;
        }
        let source = &self.body.as_bytes()[range.clone()];
        self.block_id = block_id(self.body, &range);
        for offset in memchr2_iter(b'#', b'{', source) {
            let at = range.start + offset;
            if source[offset] == b'#' {
                self.tag(at, at_start && offset == 0);
            } else if let Some(length) = attributes(&self.body[at..]) {
                self.tags_end = at + length;
            }
        }
        if !self.in_table {
            return hidden::marks(self.body, range, self.leaf, &mut self.marks);
        }
        let mut start = range.start;
        for cell in self.body[range].split_inclusive('|') {
            let end = start + cell.len();
            hidden::marks(self.body, start..end, self.leaf, &mut self.marks);
            self.leaf += usize::from(cell.ends_with('|'));
            start = end;
        }
    }

    fn tag(&mut self, hash: usize, at_start: bool) {
        let before = self.body[..hash].chars().next_back();
        let divides = |c: char| c.is_whitespace() || (self.in_table && c == '|');
        let free = before.is_none_or(divides) || (at_start && before != Some('\\'));
        if free
            && hash >= self.tags_end
            && let Some(tag) = tag_at(&self.body[hash + 1..])
        {
            let bytes = hash..hash + 1 + tag.len();
            self.tags_end = bytes.end;
            if self.dialect == Dialect::Logseq {
                let target = Target { name: nfc(tag), syntax: TargetSyntax::Tentative };
                self.links.push(Found { bytes: bytes.clone(), item: inline_link(target) });
            }
            self.tags.push(Found { bytes, item: tag });
        }
    }

    /// A link, and whether it leads to a file that is no note.
    fn link(&self, open: OpenLink<'_>, range: &Range<usize>) -> Option<(Link, bool)> {
        let OpenLink { kind, destination, display, has_label } = open;
        let (found, is_path) = match kind {
            LinkType::WikiLink { has_pothole } => {
                let inner = match (has_label, has_pothole) {
                    (true, _) => self.body[range.clone()].split_once('|')?.1.strip_suffix("]]")?,
                    (false, true) => before_bar(&destination),
                    (false, false) => &destination,
                };
                let address = self.address_after(range.end);
                match address.or_else(|| self.defined(range)) {
                    Some(address) => (target::markdown(address)?, true),
                    None => (self.dialect.wikilink(inner)?, false),
                }
            }
            LinkType::Inline | LinkType::Reference | LinkType::Collapsed | LinkType::Shortcut => {
                // `[text]([[page]])`
                let inner = destination.strip_prefix("[[").and_then(|it| it.strip_suffix("]]"));
                match inner {
                    Some(inner) => (self.dialect.wikilink(inner)?, false),
                    None => (target::markdown(&destination)?, true),
                }
            }
            LinkType::ReferenceUnknown
            | LinkType::CollapsedUnknown
            | LinkType::ShortcutUnknown
            | LinkType::Autolink
            | LinkType::Email => return None,
        };
        let Destination { name, fragment, look } = found;
        let syntax = match (is_path, look) {
            (_, Look::NoteInVault) => TargetSyntax::WikilinkInVault,
            (true, Look::Uncertain) => TargetSyntax::MarkdownToFile,
            (true, Look::Note | Look::File) => TargetSyntax::Markdown,
            (false, Look::Uncertain) => TargetSyntax::WikilinkToFile,
            (false, Look::Note | Look::File) => TargetSyntax::Wikilink,
        };
        let shown = is_path || kind != (LinkType::WikiLink { has_pothole: false });
        let display = Some(one_line(&display)).filter(|text| shown && !text.is_empty());
        let link = Link { fragment, display, ..inline_link(Target { name, syntax }) };
        Some((link, look == Look::File))
    }

    /// The destination of the definition whose label is all that a wikilink says: other readers take the two for a reference link, and Foam writes such to say which note is meant.
    fn defined(&self, range: &Range<usize>) -> Option<&'b str> {
        if self.definitions.is_empty() || self.dialect == Dialect::Dendron {
            return None;
        }
        let written = self.body[range.clone()].trim_start_matches('!');
        let label = written.strip_prefix("[[")?.strip_suffix("]]")?;
        self.definitions.get(&folded_label(label)).map(String::as_str)
    }

    /// The destination in `[[1]](destination)`, which other readers take for a Markdown link with brackets in its text.
    ///
    /// Only what looks like a destination: `[[wolf]](s)` is a wikilink in the plural.
    fn address_after(&self, at: usize) -> Option<&'b str> {
        let rest = self.body[at..].strip_prefix('(')?;
        let (end, _) = rest
            .char_indices()
            .take(MAX_ADDRESS_CHARS)
            .find(|(_, c)| c.is_whitespace() || matches!(c, '(' | ')' | '['))
            .filter(|(_, c)| *c == ')')?;
        let address = &rest[..end];
        let path = address.split_once('#').map_or(address, |(path, _)| path);
        let is_note = weft_model::id::without_markdown_extension(path) != path;
        (target::has_scheme(address) || address.starts_with('#') || is_note).then_some(address)
    }

    /// The whole lines that `range` touches, without the final line end.
    fn lines(&self, range: &Range<usize>) -> Range<usize> {
        let text = self.body[range.clone()].trim_end_matches(LINE_ENDS);
        let end = range.start + text.len();
        let start = self.body[..range.start].rfind(LINE_ENDS).map_or(0, |newline| newline + 1);
        let rest = &self.body[end..];
        start..end + rest.find(LINE_ENDS).unwrap_or(rest.len())
    }

    fn finish(mut self) -> Body {
        self.block_boundary();
        let hidden = hidden::ranges(self.body, self.marks, self.code);
        let offsets = Offsets::new(self.body);
        let seen = |bytes: &Range<usize>| !hidden.covers(bytes.start);
        let spanned = |mut links: Vec<Found<Link>>| -> Vec<Link> {
            // A link within the text of another ends first.
            links.sort_by_key(|link| link.bytes.start);
            let seen = links.into_iter().filter(|link| seen(&link.bytes));
            seen.map(|Found { bytes, item }| Link { span: Some(offsets.span(bytes)), ..item })
                .collect()
        };
        self.tags.sort_by_key(|tag| tag.bytes.start);
        let mut known = HashSet::new();
        Body {
            headings: self
                .headings
                .into_iter()
                .filter(|heading| !hidden.holds(&heading.bytes))
                .filter_map(|Found { bytes, item: (level, pieces) }| {
                    let text = hidden.without_comments(&pieces);
                    let is_comment = text.trim().is_empty() && !pieces.is_empty();
                    let text = heading_text(&text);
                    (!is_comment).then(|| Heading { level, text, span: offsets.span(bytes) })
                })
                .collect(),
            blocks: self
                .blocks
                .into_iter()
                .filter(|block| !hidden.covers(block.item.start))
                .map(|Found { bytes, item }| Block {
                    id: self.body[item].to_owned(),
                    span: offsets.span(bytes),
                })
                .collect(),
            links: spanned(self.links),
            files: spanned(self.files),
            tags: self
                .tags
                .into_iter()
                .filter(|tag| seen(&tag.bytes) && known.insert(tag.item))
                .map(|tag| tag.item.to_owned())
                .collect(),
            open_comment: hidden.open_comment,
        }
    }
}

fn inline_link(target: Target) -> Link {
    Link {
        kind: INLINE_TYPE.to_owned(),
        source: LinkSource::Inline,
        target,
        fragment: None,
        display: None,
        span: None,
    }
}

/// The label of a link reference as it is compared.
pub(crate) fn folded_label(label: &str) -> String {
    fold(&one_line(label))
}

/// What stands before the bar of a wikilink; in a table the bar is escaped.
fn before_bar(text: &str) -> &str {
    text.strip_suffix('\\').unwrap_or(text)
}

/// `text` with each stretch of whitespace as one space, none at the ends.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A heading's text in one line, without attributes such as `{#id}` or `{: .class }`, and without the ` ^id` of a block.
fn heading_text(text: &str) -> String {
    let line = one_line(text);
    let list = line.rfind('{').filter(|&at| attributes(&line[at..]) == Some(line.len() - at));
    let bare = list.map_or(&*line, |at| line[..at].trim_end());
    let id = block_id(bare, &(0..bare.len()));
    id.map_or(bare, |id| bare[..id.start - 1].trim_end()).to_owned()
}

/// The length of the attributes at the front of `text` that name what stands beside them: `{#id .class key="value"}` or `{: #id }`.
///
/// A brace within ends the search, so that no text is looked at twice.
fn attributes(text: &str) -> Option<usize> {
    let rest = text.strip_prefix('{')?;
    let (inner, _) = rest.split_once(['{', '}', '\n', '\r'])?;
    let length = inner.len() + 2;
    let outside_quotes = inner.trim_start_matches(':').split('"').step_by(2);
    let mut words = outside_quotes.flat_map(str::split_whitespace);
    let names = |word: &str| word.len() > 1 && word.starts_with(['#', '.']);
    let mut has_name = false;
    let all = words.all(|word| {
        has_name |= names(word);
        names(word) || word.contains('=') || word == "-"
    });
    (text[..length].ends_with('}') && all && has_name).then_some(length)
}

/// Where the name in ` ^name` at the end of the text in `range` stands.
fn block_id(body: &str, range: &Range<usize>) -> Option<Range<usize>> {
    let text = body[range.clone()].trim_end();
    let before = text.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '-');
    let caret = range.start + before.strip_suffix('^')?.len();
    let free = body[..caret].chars().next_back().is_none_or(char::is_whitespace);
    (free && before.len() < text.len()).then(|| caret + 1..range.start + text.len())
}

/// The tag at the front of `text`, its `#` taken off: at least one character that is no digit and no mark of another, no `/` at the end.
pub(super) fn tag_at(text: &str) -> Option<&str> {
    let end = text.find(|c| !is_tag_char(c)).unwrap_or(text.len());
    let tag = text[..end].trim_end_matches('/');
    // The keycap `#️⃣` is none.
    let names = |c: char| !c.is_numeric() && c != '/' && !is_mark(c);
    (tag.contains(names) && !tag.starts_with('/')).then_some(tag)
}

/// Letters, digits and marks of any script, emoji with what joins them, and `_`, `-`, `/`.
fn is_tag_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '/') || is_emoji(c) || is_mark(c)
}

/// What has the property Emoji and is neither ASCII nor punctuation, with the signs of its kind around it, so that new ones are known.
///
/// Source: `emoji-data.txt` of Unicode 14.
const fn is_emoji(c: char) -> bool {
    matches!(
        c,
        '\u{A9}' | '\u{AE}' | '\u{2122}'
            | '\u{2194}'..='\u{2199}' | '\u{21A9}'..='\u{21AA}' | '\u{2934}'..='\u{2935}'
            | '\u{2300}'..='\u{23FF}' | '\u{25A0}'..='\u{27BF}' | '\u{2B00}'..='\u{2BFF}'
            | '\u{3030}' | '\u{303D}' | '\u{3297}' | '\u{3299}'
            | '\u{1F000}'..='\u{1FAFF}'
    )
}

/// Marks of a character, and what joins two.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{200C}' | '\u{200D}' | '\u{E0020}'..='\u{E007F}') || is_combining_mark(c)
}
