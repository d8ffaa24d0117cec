//! Renders Markdown as plain text, for a model that was trained on prose.

use std::borrow::Cow;

use pulldown_cmark::{BrokenLink, CowStr, Event, LinkType, Options, Parser, Tag, TagEnd};

use weft_model::encoded_data::without_encoded_data;

use crate::nesting_limit;

const OPTIONS: Options = Options::ENABLE_WIKILINKS
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_TABLES)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_STRIKETHROUGH);

/// A wikilink with a bar.
const PIPED: LinkType = LinkType::WikiLink { has_pothole: true };

/// Renders `markdown` as a reader sees it: without markup, addresses and encoded data, links by their display text, code unchanged.
///
/// The display text of a wikilink follows its bar; in Dendron, it precedes the bar.
/// A fragment of a note is parsed on its own, so `[text][name]` counts as a link even if its definition is elsewhere.
/// The result has no blank lines and no trailing spaces. `O(bytes)`.
pub(crate) fn plain(markdown: &str, dendron: bool) -> String {
    let elsewhere = |link: BrokenLink<'_>| {
        matches!(link.link_type, LinkType::Reference | LinkType::Collapsed)
            .then(|| (CowStr::Borrowed(""), CowStr::Borrowed("")))
    };
    let mut text = String::with_capacity(markdown.len());
    let mut html = String::new();
    let markdown = without_encoded_data(markdown);
    let markdown = nesting_limit::bounded(&markdown);
    // Depth inside a link whose label has already been written, 0 outside.
    let mut n_open_in_target = 0_usize;
    for event in Parser::new_with_broken_link_callback(&markdown, OPTIONS, Some(elsewhere)) {
        if n_open_in_target > 0 {
            n_open_in_target += usize::from(matches!(event, Event::Start(_)));
            n_open_in_target -= usize::from(matches!(event, Event::End(_)));
            continue;
        }
        match event {
            Event::Start(
                Tag::Link { link_type: PIPED, dest_url: label, .. }
                | Tag::Image { link_type: PIPED, dest_url: label, .. },
            ) if dendron => {
                // In a table the bar is escaped.
                text.push_str(label.strip_suffix('\\').unwrap_or(&label));
                n_open_in_target = 1;
            }
            Event::Text(words)
            | Event::Code(words)
            | Event::InlineMath(words)
            | Event::DisplayMath(words) => text.push_str(&words),
            Event::SoftBreak => text.push(' '),
            Event::HardBreak | Event::Rule => text.push('\n'),
            Event::Html(source) => html.push_str(&source),
            Event::InlineHtml(tag) => text.push_str(if tag.starts_with("<br") { "\n" } else { "" }),
            Event::End(TagEnd::HtmlBlock) => {
                text.push_str(&without_tags(&std::mem::take(&mut html)));
                text.push('\n');
            }
            Event::End(TagEnd::TableCell) => text.push(' '),
            Event::Start(tag) if !is_inline(tag.to_end()) => text.push('\n'),
            Event::End(tag) if !is_inline(tag) => text.push('\n'),
            Event::Start(_)
            | Event::End(_)
            | Event::FootnoteReference(_)
            | Event::TaskListMarker(_) => {}
        }
    }
    tidy(&text)
}

/// Returns true if the text continues on the same line.
const fn is_inline(tag: TagEnd) -> bool {
    matches!(
        tag,
        TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::Link
            | TagEnd::Image
            | TagEnd::TableCell
    )
}

/// Removes tags and comments from HTML. An unclosed tag is text.
fn without_tags(html: &str) -> Cow<'_, str> {
    if !html.contains('<') {
        return Cow::Borrowed(html);
    }
    let mut text = String::new();
    let mut rest = html;
    while let Some(open) = rest.find('<') {
        text.push_str(&rest[..open]);
        rest = &rest[open..];
        let (end, len) = if rest.starts_with("<!--") { ("-->", 3) } else { (">", 1) };
        let Some(close) = rest.find(end) else { break };
        text.push(' ');
        rest = &rest[close + len..];
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// Removes blank lines and trailing spaces.
fn tidy(text: &str) -> String {
    let mut lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let mut tidy = lines.next().unwrap_or_default().trim_start().to_owned();
    for line in lines {
        tidy.push('\n');
        tidy.push_str(line);
    }
    tidy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_removed_and_words_are_kept() {
        let cases = [
            ("wikilinks", "See [[moss]] and [[folder/fern|the fern]].", "See moss and the fern."),
            ("links", "A [note](a.md \"t\"), ![a picture](b.png).", "A note, a picture."),
            ("a link defined elsewhere", "[shown][name] but [sic]", "shown but [sic]"),
            ("emphasis", "**bold** _soft_ ~~gone~~ `code`", "bold soft gone code"),
            ("a heading", "## Title ##\ntext", "Title\ntext"),
            ("lines", "one\ntwo  \nthree", "one two\nthree"),
            ("lists", "- [ ] a\n- b\n  - c", "a\nb\nc"),
            ("a table", "| a | b |\n|---|---|\n| [[x\\|y]] | z |", "a b\ny z"),
            ("code", "```rust\nlet a = 1;\n```", "let a = 1;"),
            ("html", "<div class=\"x\">\n<p>in</p><!-- out -->\n</div>", "in"),
            ("inline html", "a <b>c</b><br>d <!-- e -->", "a c\nd"),
            ("a quote", "> [!note] Mind\n> the gap", "[!note] Mind the gap"),
            ("a footnote", "a[^1]\n\n[^1]: b", "a\nb"),
            ("an address", "[x]: https://example.org\n\ntext", "text"),
            ("signs", "5 < 6 & 7 * 8 costs $9", "5 < 6 & 7 * 8 costs $9"),
            ("entities and escapes", "caf&eacute; a\\_b **un**important", "café a_b unimportant"),
            ("data", "a ![x](data:image/png;base64,AAAA) b", "a x b"),
            ("nothing", " \n\n ", ""),
        ];
        for (name, markdown, expected) in cases {
            // Spaces left by tags between words are insignificant.
            let words = |text: &str| {
                text.lines()
                    .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
                    .collect::<Vec<_>>()
            };
            assert_eq!(words(&plain(markdown, false)), words(expected), "{name}");
        }
    }

    #[test]
    fn dendron_label_precedes_target() {
        let cases = [
            ("a label", "See [[the *fern*|plant.fern#soil]].", "See the *fern*."),
            ("none", "See [[plant.fern]].", "See plant.fern."),
            ("a reference", "![[the fern|plant.**fern**#a:#b]] on", "the fern on"),
            ("in a table", "| a |\n|---|\n| [[the fern\\|plant.fern]] |", "a\nthe fern"),
            ("code", "`[[the fern|plant.fern]]`", "[[the fern|plant.fern]]"),
            ("another link", "[the fern](a.md) on", "the fern on"),
        ];
        for (name, markdown, expected) in cases {
            assert_eq!(plain(markdown, true), expected, "{name}");
        }
    }
}
