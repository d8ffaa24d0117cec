use ratatui_core::backend::TestBackend;
use ratatui_core::buffer::Buffer;
use ratatui_core::terminal::Terminal;
use ratatui_crossterm::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use weft_proto::noteweft::v1::{
    FacetsResponse, GetNoteResponse, Hit, SearchRequest, SearchResponse, Span as WireSpan,
};

use super::super::screen::Input;
use super::*;

const BODY: &str = "# Leap second\n\nA day has 86,400 seconds.\nSometimes a leap second is added\nto keep clocks close to the sun.\n";

fn hit(title: &str, score: f64, text: &str, start: u32) -> Hit {
    let at = text.find("leap").map(|at| u32::try_from(at).unwrap());
    let snippet = Snippet {
        text: text.to_owned(),
        start,
        end: start + u32::try_from(text.chars().count()).unwrap(),
        heading_path: vec!["Leap second".into()],
        matches: at.map(|at| WireSpan { start: at, end: at + 4 }).into_iter().collect(),
        ..Snippet::default()
    };
    let uri = format!("clocks/{title}");
    Hit { uri, title: title.into(), score, snippets: vec![snippet], ..Hit::default() }
}

/// Returns a screen with two hits and the preview of the first.
fn found() -> SearchScreen {
    let mut screen =
        SearchScreen::new(SearchRequest { query: "leap".into(), ..SearchRequest::default() });
    screen.start();
    let start = u32::try_from(BODY.find("Sometimes").unwrap()).unwrap();
    let hits = vec![
        hit("Leap second", 0.91, "Sometimes a leap second is added", start),
        hit("Evil\u{1b}[31m\u{202e}title", 0.4, "no match\nhere", 0),
    ];
    screen.update(Input::Found(
        1,
        Ok(SearchResponse { hits, truncated: true, ..SearchResponse::default() }),
    ));
    let uri = "clocks/Leap second".to_owned();
    let note =
        GetNoteResponse { uri: uri.clone(), body: BODY.into(), ..GetNoteResponse::default() };
    screen.update(Input::Loaded(uri, Ok(note)));
    screen
}

fn drawn(screen: &SearchScreen, width: u16, height: u16, theme: Theme) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, screen, theme)).unwrap();
    terminal.backend().buffer().clone()
}

/// Returns the characters of the screen, without white space at the end of lines.
fn text(screen: &SearchScreen, width: u16, height: u16) -> String {
    let buffer = drawn(screen, width, height, Theme::new(true));
    let lines = buffer.content.chunks(usize::from(width));
    let lines = lines.map(|cells| cells.iter().map(|cell| cell.symbol()).collect::<String>());
    lines.map(|line| line.trim_end().to_owned() + "\n").collect()
}

#[test]
fn wide_terminal_shows_preview_beside_the_list() {
    let expected = "\
> leap                                                                                      2+ hits
  hybrid
▌Leap second                         0.91 │ clocks/Leap second › Leap second
  Sometimes a leap second is added        │
 Evil\\u{1b}[31m\\u{202e}title         0.40 │ A day has 86,400 seconds.
  no match here                           │▌Sometimes a leap second is added
                                          │ to keep clocks close to the sun.
                                          │
                                          │
                                          │
Enter open  Tab mode  ^T tag  ^F folder  ^X no filter  ^Y copy uri  ^O print uri  F1 help  Esc quit
";
    assert_eq!(text(&found(), 99, 11), expected);
}

#[test]
fn terminal_of_80_columns_shows_preview_below_the_list() {
    let shown = text(&found(), 80, 24);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 24);
    assert!(lines[2].starts_with("▌Leap second") && lines[2].ends_with("0.91"), "{shown}");
    assert!(lines[11].starts_with(" clocks/Leap second › Leap second────"), "{shown}");
    assert!(lines[14].starts_with("▌Sometimes"), "{shown}");
    assert!(lines[23].starts_with("Enter open  Tab mode"), "{shown}");
}

#[test]
fn every_size_is_drawn() {
    let mut screen = found();
    let press = |screen: &mut SearchScreen, code, modifiers| {
        screen.update(Input::Key(KeyEvent::new(code, modifiers)));
    };
    for step in 0..3 {
        for (width, height) in [(1, 1), (2, 2), (10, 3), (20, 6), (40, 10), (79, 13), (300, 100)] {
            drawn(&screen, width, height, Theme::new(false));
        }
        match step {
            0 => press(&mut screen, KeyCode::Char('t'), KeyModifiers::CONTROL),
            _ => {
                press(&mut screen, KeyCode::Esc, KeyModifiers::NONE);
                press(&mut screen, KeyCode::F(1), KeyModifiers::NONE);
            }
        }
    }
    let narrow = text(&found(), 24, 7);
    assert!(narrow.contains("▌Leap second") && narrow.contains("Enter open"), "{narrow}");
    assert!(!narrow.contains("print uri"), "keys that do not fit are omitted: {narrow}");
}

#[test]
fn matches_are_marked_with_and_without_colors() {
    for (has_colors, color, modifier) in
        [(true, Color::Yellow, Modifier::BOLD), (false, Color::Reset, Modifier::UNDERLINED)]
    {
        let buffer = drawn(&found(), 99, 11, Theme::new(has_colors));
        let cell = |x, y| buffer.cell((x, y)).unwrap();
        // In the list and in the preview.
        for (x, y) in [(14, 3), (56, 5)] {
            assert_eq!((cell(x, y).symbol(), cell(x, y).fg), ("l", color), "{x} {y}");
            assert!(cell(x, y).modifier.contains(modifier), "{x} {y}");
        }
        assert!(!cell(4, 3).modifier.contains(modifier));
        assert!(cell(4, 2).modifier.contains(Modifier::REVERSED), "the selected note");
        if !has_colors {
            assert!(
                buffer
                    .content
                    .iter()
                    .all(|cell| (cell.fg, cell.bg) == (Color::Reset, Color::Reset))
            );
        }
    }
}

#[test]
fn tags_are_chosen_from_a_list() {
    let mut screen = found();
    let key = KeyEvent::new(KeyCode::Char('t'), KeyModifiers::CONTROL);
    screen.update(Input::Key(key));
    assert!(text(&screen, 80, 24).contains("counting…"));
    let value = |value: &str, note_count| FacetValue { value: value.into(), note_count };
    let tags = vec![value("time", 12), value("sea", 3)];
    screen.update(Input::Counted(Ok(FacetsResponse { tags, ..FacetsResponse::default() })));
    let shown = text(&screen, 80, 24);
    assert!(shown.contains("┌ Tag ─"), "{shown}");
    let row = shown.lines().find(|line| line.contains("│time")).unwrap();
    assert!(row.contains(" 12│"), "{shown}");
    screen.update(Input::Key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE)));
    assert!(text(&screen, 80, 24).contains("  hybrid · #time\n"));
}

#[test]
fn long_query_scrolls_with_the_cursor() {
    let query = "one two three four five six seven eight nine";
    let screen =
        SearchScreen::new(SearchRequest { query: query.into(), ..SearchRequest::default() });
    let shown = text(&screen, 20, 5);
    assert_eq!(shown.lines().next(), Some(">  seven eight nine"));
}

#[test]
fn rows_break_between_words() {
    for (text, width, expected) in [
        ("one two three", 7, &["one two", "three"][..]),
        ("one two", 7, &["one two"]),
        ("one  two", 4, &["one ", "two"]),
        ("overlong", 3, &["ove", "rlo", "ng"]),
        ("時間です", 4, &["時間", "です"]),
        ("", 5, &[""]),
        ("ab", 0, &["a", "b"]),
    ] {
        let rows = wrapped(&[(text.to_owned(), false)], width);
        let rows: Vec<String> =
            rows.iter().map(|row| row.iter().map(|(text, _)| text.as_str()).collect()).collect();
        assert_eq!(rows, expected, "{text}");
    }
}
