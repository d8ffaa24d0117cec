//! Parses a body into headings, blocks, inline links and tags.
//!
//! Makes one pass over the events of a CommonMark parser, which recognizes code and HTML.
//! Comments (`%%`) and math are handled here, since both may span blocks and a price (`$5`) is not math.
//! So is inline `<code>`, of which the parser sees only the tags.
//! Their delimiters are collected during the pass, and everything found between them is dropped at the end.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use memchr::memchr2_iter;
use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};
use unicode_normalization::char::is_combining_mark;
use weft_model::link::INLINE_TYPE;
use weft_model::text::nfc;
use weft_model::{Block, Heading, Link, LinkSource, NoteKind, Target, TargetSyntax, fold};

use super::hidden_ranges::{self, Delimiter};
use super::link_target::{self, Destination, TargetKind};
use super::{Dialect, logseq, prose_masks};
use crate::char_offsets::CharOffsets;
use crate::nesting_limit;

/// CommonMark extensions that are enabled.
///
/// Tables are not: table rows are then prose, so `[[note|shown]]` in a cell is found whether or not its bar is escaped, also in surplus cells.
const OPTIONS: Options = Options::ENABLE_WIKILINKS
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_STRIKETHROUGH);

/// Line endings of CommonMark; each also ends a line on its own.
const LINE_ENDS: [char; 2] = ['\n', '\r'];

/// Maximum number of characters of `(…)` after `[[1]]` to examine when telling `[[1]](address)` from a wikilink.
const MAX_ADDRESS_CHARS: usize = 2048;

/// The contents of a body, each list in text order.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ParsedBody {
    pub(super) headings: Vec<Heading>,
    pub(super) blocks: Vec<Block>,
    pub(super) links: Vec<Link>,
    /// Links to files that are not notes.
    pub(super) files: Vec<Link>,
    /// Without duplicates.
    pub(super) tags: Vec<String>,
    /// The start byte of a block comment that is never closed.
    pub(super) open_comment: Option<usize>,
}

impl ParsedBody {
    /// Makes the links to PDF files links to notes.
    pub(super) fn link_pdf_files(&mut self) {
        let (pdf, others) = std::mem::take(&mut self.files).into_iter().partition(is_pdf);
        self.files = others;
        self.links.extend(as_notes(pdf));
        self.links.sort_by_key(|link| link.span.map(|span| span.start));
    }
}

fn is_pdf(link: &Link) -> bool {
    NoteKind::of(&link.target.name) == Some(NoteKind::Pdf)
}

/// Returns links to files as links that count if a note has that name.
fn as_notes(files: Vec<Link>) -> impl Iterator<Item = Link> {
    files.into_iter().map(|link| {
        let syntax = if link.target.syntax.is_markdown() {
            TargetSyntax::MarkdownToFile
        } else {
            TargetSyntax::WikilinkToFile
        };
        Link { target: Target { syntax, ..link.target }, ..link }
    })
}

/// Parses `body` in `dialect`. `O(bytes)`, at any nesting depth.
pub(super) fn read(body: &str, dialect: Dialect) -> ParsedBody {
    let body = &*nesting_limit::bounded(body);
    let events = Parser::new_ext(body, OPTIONS);
    let mut defined: Vec<_> = events.reference_definitions().iter().collect();
    defined.sort_unstable_by_key(|(_, to)| to.span.start);
    let mut definitions = Definitions::new();
    for (label, to) in defined {
        // The first of equal labels wins (CommonMark).
        definitions.entry(folded_label(label)).or_insert_with(|| to.dest.to_string());
    }
    let mut parser = BodyParser::new(body, dialect, &definitions);
    for (event, range) in events.into_offset_iter() {
        parser.handle(event, range);
    }
    for passage in std::mem::take(&mut parser.deferred) {
        parser.parse_masked(passage);
    }
    parser.finish()
}

/// Returns the links of `text` if it consists only of links, separated by commas or spaces.
///
/// Links whose target cannot be a note are dropped, so the list may be empty. Links to PDF files are kept if `pdf_links` is true.
pub(super) fn links_only(text: &str, dialect: Dialect, pdf_links: bool) -> Option<Vec<Link>> {
    let text = text.trim();
    if !text.starts_with(['[', '!']) || !text.ends_with([']', ')']) {
        return None;
    }
    let text = &*nesting_limit::bounded(text);
    let definitions = Definitions::new();
    let mut parser = BodyParser::new(text, dialect, &definitions);
    for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
        let separates = |words: &str| words.chars().all(|c| c.is_whitespace() || c == ',');
        let n_covered = parser.link_end.saturating_sub(range.start);
        let is_other = matches!(&event, Event::Text(words) if !separates(words.get(n_covered..).unwrap_or_default()))
            || matches!(&event, Event::Code(_) | Event::InlineHtml(_));
        if is_other && parser.open.is_empty() {
            return None;
        }
        parser.handle(event, range);
    }
    // A bare `[^1]` or `[text]` is not a link; it produced text above.
    let items = |found: Vec<Located<Link>>| found.into_iter().map(|found| found.item);
    let pdf = items(parser.files).filter(|link| pdf_links && is_pdf(link)).collect();
    Some(items(parser.links).chain(as_notes(pdf)).collect())
}

/// An item with its byte range.
struct Located<T> {
    bytes: Range<usize>,
    item: T,
}

/// Rewrites prose that the parser would skip into a form it parses; every byte keeps its position.
type MaskFn = fn(&str) -> String;

/// A range that contains prose but that the parser skips.
struct MaskedRange {
    bytes: Range<usize>,
    mask: MaskFn,
    /// The range is inside a table.
    in_table: bool,
}

/// A part of a heading's text, with its byte range.
type TextFragment = (String, Range<usize>);

/// A link whose end event has not been seen.
struct OpenLink<'b> {
    kind: LinkType,
    destination: pulldown_cmark::CowStr<'b>,
    display: String,
    /// The display text is the label before the bar, and the target follows it.
    has_label: bool,
}

/// Destinations of link reference definitions, by folded label.
type Definitions = HashMap<String, String>;

struct BodyParser<'b> {
    body: &'b str,
    definitions: &'b Definitions,
    dialect: Dialect,
    headings: Vec<Located<(u8, Vec<TextFragment>)>>,
    /// Each with the byte range of its `id`.
    blocks: Vec<Located<Range<usize>>>,
    links: Vec<Located<Link>>,
    files: Vec<Located<Link>>,
    tags: Vec<Located<&'b str>>,
    delimiters: Vec<Delimiter>,
    /// Ranges between the tags of an element that contains code, within one text run.
    code: Vec<Range<usize>>,
    /// The open element that contains code: name, start byte, text run.
    code_element: Option<(&'static str, usize, usize)>,
    deferred: Vec<MaskedRange>,
    open: Vec<OpenLink<'b>>,
    /// End of the last link.
    link_end: usize,
    heading: Option<Vec<TextFragment>>,
    in_code: bool,
    /// The current paragraph is a table; each cell is a separate text run.
    in_table: bool,
    /// The whole text was cut out of a table.
    within_table: bool,
    quotes: usize,
    /// Incremented at every block boundary; text with equal numbers belongs to one run.
    run_id: usize,
    /// Start of the current text run.
    run_start: Option<usize>,
    /// The block that ended last.
    last_block: Range<usize>,
    /// The byte range of the `id` if the text so far ends with `^id`.
    block_id: Option<Range<usize>>,
    /// The last event was a start, so a tag may follow without a space.
    at_start: bool,
    /// No tag begins before this byte: a tag or an attribute list covers it.
    tags_end: usize,
}

impl<'b> BodyParser<'b> {
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
            delimiters: Vec::new(),
            code: Vec::new(),
            code_element: None,
            deferred: Vec::new(),
            open: Vec::new(),
            link_end: 0,
            heading: None,
            in_code: false,
            in_table: false,
            within_table: false,
            quotes: 0,
            run_id: 0,
            run_start: None,
            last_block: 0..0,
            block_id: None,
            at_start: true,
            tags_end: 0,
        }
    }

    fn handle(&mut self, event: Event<'b>, range: Range<usize>) {
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
                self.push_text(&text, &range);
                let source = &self.body[range.clone()];
                let leaves_row = self.in_table && source.contains(LINE_ENDS);
                if leaves_row || prose_masks::is_quotation(source) {
                    self.defer(range, prose_masks::quotation);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                self.at_start = true;
                self.inline(range.start);
                self.push_text(" ", &range);
                self.run_id += usize::from(self.in_table);
            }
            Event::InlineHtml(tag) => {
                self.inline(range.start);
                self.inline_html(&tag, range);
            }
            Event::FootnoteReference(_) | Event::TaskListMarker(_) => self.inline(range.start),
            Event::Html(_) | Event::Rule => self.block_boundary(),
        }
    }

    /// Records code between two HTML tags of one text run; an unclosed tag hides nothing.
    fn inline_html(&mut self, tag: &str, range: Range<usize>) {
        match (prose_masks::code_tag(tag), self.code_element) {
            (Some((name, false)), open)
                if open.is_none_or(|(_, _, run_id)| run_id != self.run_id) =>
            {
                self.code_element = Some((name, range.start, self.run_id));
            }
            (Some((name, true)), Some((opened, start, run_id)))
                if (opened, run_id) == (name, self.run_id) =>
            {
                self.code.push(start..range.end);
                self.code_element = None;
            }
            (_, _) => {}
        }
    }

    fn defer(&mut self, bytes: Range<usize>, mask: MaskFn) {
        self.deferred.push(MaskedRange { bytes, mask, in_table: self.in_table });
    }

    /// Adds the links, tags and delimiters of a masked range.
    fn parse_masked(&mut self, passage: MaskedRange) {
        let MaskedRange { bytes: passage, mask, in_table } = passage;
        let text = mask(&self.body[passage.clone()]);
        let text = nesting_limit::bounded(&text);
        let mut parser = BodyParser::new(&text, self.dialect, self.definitions);
        parser.within_table = in_table;
        for (event, range) in Parser::new_ext(&text, OPTIONS).into_offset_iter() {
            parser.handle(event, range);
        }
        let moved = |bytes: &Range<usize>| bytes.start + passage.start..bytes.end + passage.start;
        for (all, found) in [(&mut self.links, parser.links), (&mut self.files, parser.files)] {
            all.extend(found.into_iter().map(|link| Located { bytes: moved(&link.bytes), ..link }));
        }
        self.tags.extend(parser.tags.into_iter().map(|tag| {
            let bytes = moved(&tag.bytes);
            Located { item: &self.body[bytes.start + 1..bytes.end], bytes }
        }));
        self.code.extend(parser.code.iter().map(moved));
        let (bytes, run_ids) = (passage.start, self.run_id + 1);
        self.delimiters
            .extend(parser.delimiters.into_iter().map(|delimiter| delimiter.moved(bytes, run_ids)));
        self.run_id = run_ids + parser.run_id;
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
                    self.push_text(&display, &(start..start + display.len()));
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
                    && prose_masks::is_outline(&self.body[start..range.end])
                {
                    self.defer(start..range.end, prose_masks::outline);
                }
            }
            Tag::HtmlBlock => {
                self.block_boundary();
                self.defer(range, prose_masks::html);
            }
            Tag::Paragraph => {
                self.block_boundary();
                self.in_table = self.within_table || prose_masks::is_table(&self.body[range]);
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
                let Some(mut open) = self.open.pop() else { return };
                let end = range.end + self.n_brackets_behind(&open, &range);
                if !open.has_label {
                    open.display.push_str(&self.body[range.end..end]);
                }
                let range = range.start..end;
                self.link_end = end;
                if let Some((item, is_file)) = self.link(open, &range) {
                    let all = if is_file { &mut self.files } else { &mut self.links };
                    all.push(Located { bytes: range, item });
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
                    self.headings.push(Located { bytes, item: (level as u8, text) });
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

    /// Records that the text continues, so a preceding `^id` does not name a block.
    fn inline(&mut self, start: usize) {
        self.block_id = None;
        self.run_start.get_or_insert(start);
    }

    /// Ends the text run, and the block that its `^id` names.
    fn block_boundary(&mut self) {
        if let (Some(id), Some(start)) = (self.block_id.take(), self.run_start) {
            let alone = self.body[start..id.end].trim_start().len() == id.len() + 1;
            // On a line of its own, the `^id` names the preceding block.
            let start =
                if alone && !self.last_block.is_empty() { self.last_block.start } else { start };
            let bytes = self.lines(&(start..id.end));
            self.blocks.push(Located { bytes, item: id });
        }
        self.run_id += 1;
        self.run_start = None;
    }

    /// Appends to the text of the open heading and the open link, unless the link already has a label.
    fn push_text(&mut self, text: &str, range: &Range<usize>) {
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
        self.push_text(text, &range);
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
        if self.dialect == Dialect::Logseq {
            self.block_references(&range);
        }
        if !self.in_table {
            return hidden_ranges::delimiters(self.body, range, self.run_id, &mut self.delimiters);
        }
        let mut start = range.start;
        for cell in self.body[range].split_inclusive('|') {
            let end = start + cell.len();
            hidden_ranges::delimiters(self.body, start..end, self.run_id, &mut self.delimiters);
            self.run_id += usize::from(cell.ends_with('|'));
            start = end;
        }
    }

    /// Adds the block references `((uuid))` in a range of text.
    fn block_references(&mut self, range: &Range<usize>) {
        for (at, _) in self.body[range.clone()].match_indices("((") {
            let start = range.start + at;
            if let Some(uuid) = logseq::block_reference(&self.body[start..]) {
                let bytes = start..start + uuid.len() + "(())".len();
                self.links.push(Located { bytes, item: block_link(uuid, None) });
            }
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
                self.links.push(Located { bytes: bytes.clone(), item: inline_link(target) });
            }
            self.tags.push(Located { bytes, item: tag });
        }
    }

    /// Returns the number of brackets behind a wikilink that belong to it: the parser ends it at the first `]]`.
    fn n_brackets_behind(&self, open: &OpenLink<'_>, range: &Range<usize>) -> usize {
        let is_wikilink = matches!(open.kind, LinkType::WikiLink { .. });
        let inner = inside_brackets(&self.body[range.clone()]).filter(|_| is_wikilink);
        inner.map_or(0, |inner| {
            link_target::closed_in_name(inner, &self.body[range.end - "]]".len()..])
        })
    }

    /// Returns a link, and whether it points to a file that is not a note.
    fn link(&self, open: OpenLink<'_>, range: &Range<usize>) -> Option<(Link, bool)> {
        let OpenLink { kind, destination, display, has_label } = open;
        if self.dialect == Dialect::Logseq
            && let Some(uuid) = logseq::block_reference(&destination)
        {
            let display = Some(one_line(&display)).filter(|text| !text.is_empty());
            return Some((block_link(uuid, display), false));
        }
        let (found, is_path) = match kind {
            LinkType::WikiLink { .. } => {
                let inner = inside_brackets(&self.body[range.clone()])?;
                let inner = match inner.split_once('|') {
                    Some((_, target)) if has_label => target,
                    Some((target, _)) => before_bar(target),
                    None => inner,
                };
                let address = self.address_after(range.end);
                match address.or_else(|| self.defined(range)) {
                    Some(address) => (link_target::markdown(address)?, true),
                    None => (self.dialect.wikilink(inner)?, false),
                }
            }
            LinkType::Inline | LinkType::Reference | LinkType::Collapsed | LinkType::Shortcut => {
                // `[text]([[page]])`
                let inner = destination.strip_prefix("[[").and_then(|it| it.strip_suffix("]]"));
                match inner {
                    Some(inner) => (self.dialect.wikilink(inner)?, false),
                    None => (link_target::markdown(&destination)?, true),
                }
            }
            LinkType::ReferenceUnknown
            | LinkType::CollapsedUnknown
            | LinkType::ShortcutUnknown
            | LinkType::Autolink
            | LinkType::Email => return None,
        };
        let Destination { name, fragment, kind: target_kind } = found;
        let syntax = match (is_path, target_kind) {
            (_, TargetKind::NoteInVault) => TargetSyntax::WikilinkInVault,
            (true, TargetKind::Uncertain) => TargetSyntax::MarkdownToFile,
            (true, TargetKind::Note | TargetKind::File) => TargetSyntax::Markdown,
            (false, TargetKind::Uncertain) => TargetSyntax::WikilinkToFile,
            (false, TargetKind::Note | TargetKind::File) => TargetSyntax::Wikilink,
        };
        let shown = is_path || kind != (LinkType::WikiLink { has_pothole: false });
        let display = Some(one_line(&display)).filter(|text| shown && !text.is_empty());
        let link = Link { fragment, display, ..inline_link(Target { name, syntax }) };
        Some((link, target_kind == TargetKind::File))
    }

    /// Returns the destination of the link reference definition whose label equals the whole wikilink. Other readers see a reference link, and Foam writes such definitions to state which note is meant.
    fn defined(&self, range: &Range<usize>) -> Option<&'b str> {
        if self.definitions.is_empty() || self.dialect == Dialect::Dendron {
            return None;
        }
        let label = inside_brackets(&self.body[range.clone()])?;
        self.definitions.get(&folded_label(label)).map(String::as_str)
    }

    /// Returns the destination of `[[1]](destination)`, which other readers take for a Markdown link with brackets in its text.
    ///
    /// Accepts only text that looks like a destination: `[[wolf]](s)` is a wikilink in the plural.
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
        (link_target::has_scheme(address) || address.starts_with('#') || is_note).then_some(address)
    }

    /// Expands `range` to whole lines, without the final line ending.
    fn lines(&self, range: &Range<usize>) -> Range<usize> {
        let text = self.body[range.clone()].trim_end_matches(LINE_ENDS);
        let end = range.start + text.len();
        let start = self.body[..range.start].rfind(LINE_ENDS).map_or(0, |newline| newline + 1);
        let rest = &self.body[end..];
        start..end + rest.find(LINE_ENDS).unwrap_or(rest.len())
    }

    fn finish(mut self) -> ParsedBody {
        self.block_boundary();
        let hidden = hidden_ranges::ranges(self.body, self.delimiters, self.code);
        let offsets = CharOffsets::new(self.body);
        let seen = |bytes: &Range<usize>| !hidden.covers(bytes.start);
        let spanned = |mut links: Vec<Located<Link>>| -> Vec<Link> {
            // A link inside the text of another link ends first.
            links.sort_by_key(|link| link.bytes.start);
            let seen = links.into_iter().filter(|link| seen(&link.bytes));
            seen.map(|Located { bytes, item }| Link { span: Some(offsets.span(bytes)), ..item })
                .collect()
        };
        self.tags.sort_by_key(|tag| tag.bytes.start);
        let mut known = HashSet::new();
        ParsedBody {
            headings: self
                .headings
                .into_iter()
                .filter(|heading| !hidden.holds(&heading.bytes))
                .filter_map(|Located { bytes, item: (level, pieces) }| {
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
                .map(|Located { bytes, item }| Block {
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

/// Returns a link to a block of Logseq: a link only if a note contains the block.
fn block_link(uuid: &str, display: Option<String>) -> Link {
    let target = Target { name: uuid.to_owned(), syntax: TargetSyntax::Tentative };
    Link { fragment: Some(format!("^{uuid}")), display, ..inline_link(target) }
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

/// Returns the label of a link reference in the form used for comparison.
pub(crate) fn folded_label(label: &str) -> String {
    fold(&one_line(label))
}

/// Returns the text between `[[` and `]]`, in an embed as well.
fn inside_brackets(wikilink: &str) -> Option<&str> {
    wikilink.trim_start_matches('!').strip_prefix("[[")?.strip_suffix("]]")
}

/// Removes the backslash that escapes the bar of a wikilink in a table.
fn before_bar(text: &str) -> &str {
    text.strip_suffix('\\').unwrap_or(text)
}

/// Collapses each run of whitespace to one space and trims the ends.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a heading's text on one line, without attributes such as `{#id}` or `{: .class }` and without a trailing ` ^id`.
fn heading_text(text: &str) -> String {
    let line = one_line(text);
    let list = line.rfind('{').filter(|&at| attributes(&line[at..]) == Some(line.len() - at));
    let bare = list.map_or(&*line, |at| line[..at].trim_end());
    let id = block_id(bare, &(0..bare.len()));
    id.map_or(bare, |id| bare[..id.start - 1].trim_end()).to_owned()
}

/// Returns the length of an attribute list at the start of `text`: `{#id .class key="value"}` or `{: #id }`.
///
/// A nested brace ends the search, so no text is scanned twice.
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

/// Returns the byte range of the name in ` ^name` at the end of the text in `range`.
fn block_id(body: &str, range: &Range<usize>) -> Option<Range<usize>> {
    let text = body[range.clone()].trim_end();
    let before = text.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '-');
    let caret = range.start + before.strip_suffix('^')?.len();
    let free = body[..caret].chars().next_back().is_none_or(char::is_whitespace);
    (free && before.len() < text.len()).then(|| caret + 1..range.start + text.len())
}

/// Returns the tag at the start of `text`, which follows a `#`. A tag contains at least one character other than digits, `/` and combining marks, and does not begin or end with `/`.
pub(super) fn tag_at(text: &str) -> Option<&str> {
    let end = text.find(|c| !is_tag_char(c)).unwrap_or(text.len());
    let tag = text[..end].trim_end_matches('/');
    // The keycap `#️⃣` is not a tag.
    let names = |c: char| !c.is_numeric() && c != '/' && !is_mark(c);
    (tag.contains(names) && !tag.starts_with('/')).then_some(tag)
}

/// Returns true for letters, digits and marks of any script, emoji and their joiners, and `_`, `-`, `/`.
fn is_tag_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '/') || is_emoji(c) || is_mark(c)
}

/// Returns true for non-ASCII characters with the Emoji property, except punctuation. Whole blocks are included, so that new emoji are recognized.
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

/// Returns true for combining marks and joiners.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{200C}' | '\u{200D}' | '\u{E0020}'..='\u{E007F}') || is_combining_mark(c)
}
