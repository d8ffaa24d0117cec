//! Drawing of the interactive search.

use ratatui_core::layout::{Constraint, Layout, Position, Rect};
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::terminal::Frame;
use ratatui_core::text::{Line, Span};
use ratatui_widgets::block::Block;
use ratatui_widgets::borders::Borders;
use ratatui_widgets::clear::Clear;
use ratatui_widgets::paragraph::Paragraph;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};
use weft_model::escape;
use weft_proto::noteweft::v1::{FacetValue, SearchMode, Snippet};

use super::preview::{Preview, PreviewLine};
use super::screen::{FacetKind, NoteCount, NoteRow, Picker, SearchScreen};

/// Width from which the preview is beside the list.
const WIDE: u16 = 90;

/// Height of the middle part from which the preview is below the list.
const TALL: u16 = 12;

/// Height of the list from which a note takes two lines.
const ROOMY: u16 = 8;

/// Prompt before the query.
const PROMPT: &str = "> ";

/// Keys and what they do, the most important first.
const KEYS: [(&str, &str); 9] = [
    ("Enter", "open"),
    ("Tab", "mode"),
    ("^T", "tag"),
    ("^F", "folder"),
    ("^X", "no filter"),
    ("^Y", "copy uri"),
    ("^O", "print uri"),
    ("F1", "help"),
    ("Esc", "quit"),
];

/// Text of the help.
const HELP: &[(&str, &str)] = &[
    ("Up, Down, ^P, ^N", "select a note"),
    ("Page Up, Page Down", "scroll its text"),
    ("Enter", "open it at the passage (setting open.with)"),
    ("Tab", "hybrid, vector or keyword search"),
    ("^T, ^F", "only notes with a tag, in a folder"),
    ("^X", "remove tag and folder"),
    ("^Y", "copy the uri to the clipboard"),
    ("^O", "leave and print the uri"),
    ("^U, ^W, ^K", "delete to the start, a word, to the end"),
    ("Esc, ^C", "leave"),
    ("", ""),
    ("+word  -word", "required, excluded"),
    ("\"a phrase\"  word*", "words in sequence, beginning of a word"),
];

/// Styles of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Theme {
    has_colors: bool,
}

impl Theme {
    /// Creates a theme with colors, or with bold, dim, underlined and reversed text alone.
    pub(super) const fn new(has_colors: bool) -> Self {
        Self { has_colors }
    }

    fn colored(self, color: Color, otherwise: Modifier) -> Style {
        if self.has_colors { Style::new().fg(color) } else { Style::new().add_modifier(otherwise) }
    }

    fn accent(self) -> Style {
        self.colored(Color::Cyan, Modifier::BOLD)
    }

    fn matched(self) -> Style {
        self.colored(Color::Yellow, Modifier::UNDERLINED).add_modifier(Modifier::BOLD)
    }

    fn notice(self) -> Style {
        self.colored(Color::Yellow, Modifier::BOLD)
    }

    const fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    const fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    const fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}

/// Draws the whole screen.
pub(super) fn draw(frame: &mut Frame<'_>, screen: &SearchScreen, theme: Theme) {
    let [query, filters, middle, message, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(u16::from(screen.message.is_some())),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    draw_query(frame, query, screen, theme);
    frame.render_widget(filter_line(screen, theme), filters);
    draw_middle(frame, middle, screen, theme);
    if let Some(text) = &screen.message {
        let text = escape::one_line(text).into_owned();
        frame.render_widget(Line::styled(text, theme.notice()), message);
    }
    frame.render_widget(key_line(keys.width, theme), keys);
    if let Some(picker) = &screen.picker {
        draw_picker(frame, middle, picker, theme);
    }
    if screen.shows_help {
        draw_help(frame, frame.area(), theme);
    }
}

/// Draws the prompt with the query, the number of notes on the right, and the cursor.
fn draw_query(frame: &mut Frame<'_>, area: Rect, screen: &SearchScreen, theme: Theme) {
    let count = match screen.count {
        _ if screen.is_busy() => "…".to_owned(),
        None => String::new(),
        Some(NoteCount::Hits(n, has_more)) => {
            let more = if has_more { "+" } else { "" };
            format!("{n}{more} {}", if n == 1 { "hit" } else { "hits" })
        }
        Some(NoteCount::Notes(_, total)) => {
            format!("{total} {}", if total == 1 { "note" } else { "notes" })
        }
    };
    let count_width = columns(&count).min(area.width / 3);
    let [left, right] =
        Layout::horizontal([Constraint::Min(0), Constraint::Length(count_width)]).areas(area);
    draw_line(frame, left, PROMPT, &screen.line, screen.picker.is_none(), theme);
    frame.render_widget(Line::styled(count, theme.dim()).right_aligned(), right);
}

/// Draws a line of text that is edited, scrolled so that the cursor is visible.
fn draw_line(
    frame: &mut Frame<'_>,
    area: Rect,
    prompt: &str,
    line: &super::line_editor::LineEditor,
    has_cursor: bool,
    theme: Theme,
) {
    let before = escape::one_line(line.before_cursor());
    let all = escape::one_line(line.text());
    let room = area.width.saturating_sub(columns(prompt)).saturating_sub(1);
    let hidden = columns(&before).saturating_sub(room);
    let [prompt_area, text_area] =
        Layout::horizontal([Constraint::Length(columns(prompt)), Constraint::Min(0)]).areas(area);
    frame.render_widget(Line::styled(prompt.to_owned(), theme.accent()), prompt_area);
    let text = Paragraph::new(Line::styled(all.into_owned(), theme.strong()));
    frame.render_widget(text.scroll((0, hidden)), text_area);
    if has_cursor && area.width > 0 && area.height > 0 {
        let x = text_area.x.saturating_add(columns(&before).saturating_sub(hidden));
        frame.set_cursor_position(Position::new(x.min(area.right().saturating_sub(1)), area.y));
    }
}

fn filter_line(screen: &SearchScreen, theme: Theme) -> Line<'static> {
    let mode = match screen.mode {
        SearchMode::Hybrid | SearchMode::Unspecified => "hybrid",
        SearchMode::Vector => "vector",
        SearchMode::Keyword => "keyword",
    };
    let mut parts = vec![Span::styled(format!("  {mode}"), theme.dim())];
    let tag = screen.tag.as_ref().map(|tag| format!("#{tag}"));
    let folder = screen.folder.as_ref().map(|folder| format!("{folder}/"));
    for filter in [tag, folder].into_iter().flatten() {
        parts.push(Span::styled(" · ", theme.dim()));
        parts.push(Span::styled(escape::one_line(&filter).into_owned(), theme.accent()));
    }
    Line::from(parts)
}

/// Returns the keys that fit into `width`.
fn key_line(width: u16, theme: Theme) -> Line<'static> {
    let mut parts = Vec::new();
    let mut used = 0;
    for (key, action) in KEYS {
        let gap = if used == 0 { "" } else { "  " };
        let taken = columns(gap) + columns(key) + 1 + columns(action);
        if used + taken > width {
            break;
        }
        used += taken;
        parts.push(Span::raw(gap));
        parts.push(Span::styled(key, theme.accent()));
        parts.push(Span::styled(format!(" {action}"), theme.dim()));
    }
    Line::from(parts)
}

/// Draws the list, and the preview where it has room.
fn draw_middle(frame: &mut Frame<'_>, area: Rect, screen: &SearchScreen, theme: Theme) {
    if area.width >= WIDE {
        let [list, preview] =
            Layout::horizontal([Constraint::Percentage(42), Constraint::Min(0)]).areas(area);
        let list = Rect { width: list.width.saturating_sub(1), ..list };
        draw_rows(frame, list, screen, theme);
        draw_preview(frame, preview, screen, Borders::LEFT, theme);
    } else if area.height >= TALL {
        let [list, preview] =
            Layout::vertical([Constraint::Percentage(45), Constraint::Min(0)]).areas(area);
        draw_rows(frame, list, screen, theme);
        draw_preview(frame, preview, screen, Borders::TOP, theme);
    } else {
        draw_rows(frame, area, screen, theme);
    }
}

fn draw_rows(frame: &mut Frame<'_>, area: Rect, screen: &SearchScreen, theme: Theme) {
    let has_snippets = screen.rows.iter().any(|row| row.snippet.is_some());
    let lines_per_row = if area.height >= ROOMY && has_snippets { 2 } else { 1 };
    let n_visible = usize::from(area.height) / lines_per_row;
    if n_visible == 0 {
        return;
    }
    if screen.rows.is_empty() && !screen.is_busy() {
        let text = if screen.line.text().trim().is_empty() { "No notes." } else { "No hits." };
        frame.render_widget(Line::styled(text, theme.dim()), area);
        return;
    }
    // The selected row stays visible; the list moves by one row at its ends.
    let first = (screen.selected + 1).saturating_sub(n_visible);
    let mut lines = Vec::new();
    for (at, row) in screen.rows.iter().enumerate().skip(first).take(n_visible) {
        lines.push(title_line(row, at == screen.selected, area.width, theme));
        if lines_per_row == 2 {
            let snippet = row.snippet.as_ref();
            let line = snippet.map(|snippet| snippet_line(snippet, theme));
            lines.push(line.unwrap_or_default());
        }
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// Returns the line with the title of a note and its score.
fn title_line(row: &NoteRow, is_selected: bool, width: u16, theme: Theme) -> Line<'static> {
    let title = escape::one_line(&row.title);
    let score = row.score.map(|score| format!(" {score:.2}")).unwrap_or_default();
    let mark = if is_selected { "▌" } else { " " };
    let room = width.saturating_sub(columns(&score)).saturating_sub(1);
    let title = cut(&title, room);
    let gap = " ".repeat(usize::from(room.saturating_sub(columns(&title))));
    let style = if is_selected { theme.selected() } else { Style::new() };
    Line::from(vec![
        Span::styled(mark, if is_selected { theme.accent() } else { theme.dim() }),
        Span::styled(title, style.patch(theme.strong())),
        Span::styled(gap, style),
        Span::styled(score, style.patch(theme.dim())),
    ])
}

/// Returns the passage on one line, with its matches marked.
fn snippet_line(snippet: &Snippet, theme: Theme) -> Line<'static> {
    let is_match =
        |at: u32| snippet.matches.iter().any(|span| (span.start..span.end).contains(&at));
    let mut parts = vec![Span::raw("  ")];
    let (mut run, mut is_run_match) = (String::new(), false);
    let mut finish = |run: &mut String, is_match: bool| {
        if !run.is_empty() {
            let style = if is_match { theme.matched() } else { theme.dim() };
            let text = escape::one_line(run).into_owned();
            parts.push(Span::styled(text, style));
            run.clear();
        }
    };
    if snippet.starts_inside {
        run.push('…');
    }
    for (at, c) in (0..).zip(snippet.text.chars()) {
        if is_match(at) != is_run_match {
            finish(&mut run, is_run_match);
            is_run_match = is_match(at);
        }
        run.push(if c == '\n' { ' ' } else { c });
    }
    finish(&mut run, is_run_match);
    if snippet.ends_inside {
        run.push('…');
        finish(&mut run, false);
    }
    Line::from(parts)
}

/// Draws the text of the selected note, with its place above it.
fn draw_preview(
    frame: &mut Frame<'_>,
    area: Rect,
    screen: &SearchScreen,
    border: Borders,
    theme: Theme,
) {
    let title = screen.preview.as_ref().map(|preview| place(preview, theme)).unwrap_or_default();
    let block = Block::new().borders(border).border_style(theme.dim());
    // The title is in the border if that is above the text.
    let (block, title) =
        if border == Borders::TOP { (block.title_top(title), None) } else { (block, Some(title)) };
    let inside = block.inner(area);
    frame.render_widget(block, area);
    let [head, body] =
        Layout::vertical([Constraint::Length(u16::from(title.is_some())), Constraint::Min(0)])
            .areas(inside);
    if let Some(title) = title {
        frame.render_widget(title, head);
    }
    if let Some(preview) = &screen.preview {
        let n_rows = usize::from(body.height);
        let lines = preview.lines(n_rows);
        let rows = lines.iter().flat_map(|line| preview_rows(line, body.width, theme));
        frame.render_widget(Paragraph::new(rows.take(n_rows).collect::<Vec<_>>()), body);
    }
}

/// Returns the uri of the previewed note and the headings above its passage.
fn place(preview: &Preview, theme: Theme) -> Line<'static> {
    let mut parts =
        vec![Span::styled(format!(" {}", escape::one_line(&preview.uri)), theme.accent())];
    for heading in &preview.heading_path {
        parts.push(Span::styled(format!(" › {}", escape::one_line(heading)), theme.dim()));
    }
    Line::from(parts)
}

/// Returns a line of a preview as rows of `width` columns, each with the mark of the passage.
fn preview_rows(line: &PreviewLine, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let PreviewLine { parts, in_passage, is_heading } = line;
    let gutter = if *in_passage { "▌" } else { " " };
    let base = if *is_heading { theme.strong() } else { Style::new() };
    let row = |parts: Vec<(String, bool)>| {
        let spans = parts.into_iter().map(|(text, is_match)| {
            Span::styled(text, if is_match { theme.matched() } else { base })
        });
        Line::from_iter(std::iter::once(Span::styled(gutter, theme.accent())).chain(spans))
    };
    wrapped(parts, usize::from(width.saturating_sub(1))).into_iter().map(row).collect()
}

/// Wraps a marked text between words, and inside words that are longer than a row; an empty text is one row.
fn wrapped(parts: &[(String, bool)], width: usize) -> Vec<Vec<(String, bool)>> {
    let marked = parts.iter().flat_map(|(text, is_match)| text.chars().map(|c| (c, *is_match)));
    let marked: Vec<(char, bool)> = marked.collect();
    let mut rows = Vec::new();
    let mut start = 0;
    loop {
        let mut used = 0;
        let fits = marked[start..].iter().take_while(|(c, _)| {
            used += c.width().unwrap_or(0);
            used <= width
        });
        let mut end = start + fits.count();
        let mut next = end;
        if end < marked.len() {
            // The space at which a row breaks is not shown.
            let space = (start..=end).rev().find(|at| marked[*at].0 == ' ' && *at > start);
            end = space.unwrap_or_else(|| end.max(start + 1));
            next = if space.is_some() { end + 1 } else { end };
        }
        let runs = marked[start..end].chunk_by(|a, b| a.1 == b.1);
        rows.push(runs.map(|run| (run.iter().map(|(c, _)| c).collect(), run[0].1)).collect());
        start = next;
        if start >= marked.len() {
            return rows;
        }
    }
}

/// Draws a list of folders or tags over the middle of the screen.
fn draw_picker(frame: &mut Frame<'_>, area: Rect, picker: &Picker, theme: Theme) {
    let (title, prompt) = match picker.kind {
        FacetKind::Folder => (" Folder ", "in "),
        FacetKind::Tag => (" Tag ", "#"),
    };
    let matching = picker.matching();
    let n_rows = u16::try_from(matching.len()).unwrap_or(u16::MAX).max(1).saturating_add(3);
    let box_area = centered(area, 50, n_rows.min(16));
    frame.render_widget(Clear, box_area);
    let block = Block::bordered().title_top(title).border_style(theme.accent());
    let inside = block.inner(box_area);
    frame.render_widget(block, box_area);
    let [line, list] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(inside);
    draw_line(frame, line, prompt, &picker.line, true, theme);
    if picker.values.is_none() || matching.is_empty() {
        let text =
            if picker.values.is_none() { "counting…" } else { "none; Enter removes the filter" };
        frame.render_widget(Line::styled(text, theme.dim()), list);
        return;
    }
    let n_visible = usize::from(list.height);
    let first = (picker.selected + 1).saturating_sub(n_visible);
    let rows = matching.iter().enumerate().skip(first).take(n_visible);
    let lines: Vec<Line<'_>> = rows
        .map(|(at, value)| facet_line(value, at == picker.selected, list.width, theme))
        .collect();
    frame.render_widget(Paragraph::new(lines), list);
}

fn facet_line(value: &FacetValue, is_selected: bool, width: u16, theme: Theme) -> Line<'static> {
    let count = format!(" {}", value.note_count);
    let name = cut(&escape::one_line(&value.value), width.saturating_sub(columns(&count)));
    let gap = width.saturating_sub(columns(&name)).saturating_sub(columns(&count));
    let style = if is_selected { theme.selected() } else { Style::new() };
    Line::from(vec![
        Span::styled(name, style),
        Span::styled(" ".repeat(usize::from(gap)), style),
        Span::styled(count, style.patch(theme.dim())),
    ])
}

fn draw_help(frame: &mut Frame<'_>, area: Rect, theme: Theme) {
    let height = u16::try_from(HELP.len()).unwrap_or(u16::MAX).saturating_add(2);
    let box_area = centered(area, 68, height);
    frame.render_widget(Clear, box_area);
    let block = Block::bordered().title_top(" Keys ").border_style(theme.accent());
    let lines: Vec<Line<'_>> = HELP
        .iter()
        .map(|(keys, action)| {
            Line::from(vec![
                Span::styled(format!(" {keys:<20} "), theme.accent()),
                Span::raw(*action),
            ])
        })
        .collect();
    frame.render_widget(Paragraph::new(lines).block(block), box_area);
}

/// Returns an area of at most this size in the middle of another.
fn centered(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    let (x, y) = ((area.width - width) / 2, (area.height - height) / 2);
    Rect { x: area.x + x, y: area.y + y, width, height }
}

/// Returns the width of a text in columns.
fn columns(text: &str) -> u16 {
    u16::try_from(text.width()).unwrap_or(u16::MAX)
}

/// Cuts a text to a width, with an ellipsis.
fn cut(text: &str, width: u16) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    for c in text.chars() {
        let mut longer = out.clone();
        longer.push(c);
        if columns(&longer).saturating_add(1) > width {
            break;
        }
        out = longer;
    }
    if width > 0 {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests;
