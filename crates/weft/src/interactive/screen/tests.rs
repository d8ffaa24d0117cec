use ratatui_crossterm::crossterm::event::KeyEventState;
use weft_proto::noteweft::v1::Warning;

use super::*;

fn screen(query: &str) -> SearchScreen {
    let base = SearchRequest {
        query: query.to_owned(),
        limit: Some(50),
        filter: Some(Filter { paths: vec!["a".into(), "b".into()], ..Filter::default() }),
        ..SearchRequest::default()
    };
    SearchScreen::new(base)
}

fn press(screen: &mut SearchScreen, code: KeyCode) -> Vec<Effect> {
    screen.update(Input::Key(KeyEvent::new(code, KeyModifiers::NONE)))
}

fn control(screen: &mut SearchScreen, c: char) -> Vec<Effect> {
    screen.update(Input::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)))
}

fn hit(uri: &str) -> Hit {
    let snippet = Snippet { text: format!("about {uri}"), start: 7, ..Snippet::default() };
    Hit { uri: uri.into(), title: uri.into(), snippets: vec![snippet], ..Hit::default() }
}

fn answer(uris: &[&str]) -> Result<SearchResponse, Failure> {
    let hits = uris.iter().map(|uri| hit(uri)).collect();
    Ok(SearchResponse { hits, ..SearchResponse::default() })
}

fn searched(effects: &[Effect]) -> &SearchRequest {
    let [Effect::Search(_, request)] = effects else { panic!("{effects:?}") };
    request
}

/// Returns a screen with answered hits.
fn found(uris: &[&str]) -> SearchScreen {
    let mut screen = screen("x");
    let effects = screen.start();
    let [Effect::Search(sequence, _)] = &*effects else { panic!("{effects:?}") };
    screen.update(Input::Found(*sequence, answer(uris)));
    screen
}

#[test]
fn every_change_of_the_query_asks_again() {
    let mut screen = screen("");
    assert!(matches!(&*screen.start(), [Effect::List(1, _)]), "without a query, notes are listed");
    let effects = press(&mut screen, KeyCode::Char('l'));
    let request = searched(&effects);
    assert_eq!((&*request.query, request.prefix_last_word), ("l", true));
    assert_eq!((request.limit, request.snippets), (Some(50), Some(1)));
    assert_eq!(request.filter.as_ref().unwrap().paths, ["a", "b"]);
    assert!(press(&mut screen, KeyCode::Left).is_empty(), "a moved cursor changes nothing");
    assert!(screen.is_busy());
    let effects = screen.update(Input::Paste("eap\n".into()));
    assert_eq!(searched(&effects).query, "eap l");
}

#[test]
fn outdated_answer_is_ignored() {
    let mut screen = screen("x");
    screen.start();
    press(&mut screen, KeyCode::Char('y'));
    assert!(screen.update(Input::Found(1, answer(&["old"]))).is_empty());
    assert!(screen.rows.is_empty() && screen.is_busy());
    let effects = screen.update(Input::Found(2, answer(&["new"])));
    assert_eq!(effects, [Effect::Load("new".into())]);
    assert!(!screen.is_busy());
    // A note that is no longer selected is not shown.
    let note = GetNoteResponse { uri: "old".into(), ..GetNoteResponse::default() };
    screen.update(Input::Loaded("old".into(), Ok(note)));
    assert_eq!(screen.preview, None);
}

#[test]
fn selection_stays_on_a_note_that_is_still_found() {
    let mut screen = found(&["a", "b", "c"]);
    assert_eq!(press(&mut screen, KeyCode::Down), [Effect::Load("b".into())]);
    press(&mut screen, KeyCode::Char('y'));
    screen.update(Input::Found(2, answer(&["c", "a", "b"])));
    assert_eq!(screen.current().unwrap().uri, "b");
    assert!(press(&mut screen, KeyCode::Down).is_empty(), "the list has an end");
    control(&mut screen, 'p');
    press(&mut screen, KeyCode::Up);
    assert!(press(&mut screen, KeyCode::Up).is_empty(), "and a beginning");
    // The first row stays first, so that the best hit is selected while typing.
    press(&mut screen, KeyCode::Char('z'));
    screen.update(Input::Found(3, answer(&["b", "c"])));
    assert_eq!(screen.current().unwrap().uri, "b");
}

#[test]
fn keys_act_on_the_selected_note() {
    let mut screen = found(&["a", "b"]);
    press(&mut screen, KeyCode::Down);
    assert_eq!(press(&mut screen, KeyCode::Enter), [Effect::Open("b".into(), Some(7))]);
    assert_eq!(control(&mut screen, 'y'), [Effect::Copy("b".into())]);
    assert_eq!(screen.message.as_deref(), Some("copied b"));
    assert_eq!(control(&mut screen, 'o'), [Effect::Print("b\n".into())]);
    assert_eq!(press(&mut screen, KeyCode::Esc), [Effect::Quit]);
    assert_eq!(control(&mut screen, 'c'), [Effect::Quit]);
    let mut empty = found(&[]);
    for key in [KeyCode::Enter, KeyCode::Up, KeyCode::Down, KeyCode::PageDown] {
        assert!(press(&mut empty, key).is_empty(), "{key:?}");
    }
    assert!(control(&mut empty, 'y').is_empty() && empty.message.is_none());
}

#[test]
fn released_keys_are_ignored() {
    let mut screen = screen("");
    let key = KeyEvent {
        code: KeyCode::Char('a'),
        modifiers: KeyModifiers::NONE,
        kind: KeyEventKind::Release,
        state: KeyEventState::NONE,
    };
    assert!(screen.update(Input::Key(key)).is_empty());
    assert_eq!(screen.line.text(), "");
}

#[test]
fn mode_and_filters_narrow_the_search() {
    let mut screen = found(&["a"]);
    assert_eq!(searched(&press(&mut screen, KeyCode::Tab)).mode(), SearchMode::Vector);
    assert_eq!(searched(&press(&mut screen, KeyCode::Tab)).mode(), SearchMode::Keyword);
    assert_eq!(searched(&press(&mut screen, KeyCode::Tab)).mode(), SearchMode::Hybrid);
    let effects = control(&mut screen, 't');
    let [Effect::Count(request)] = &*effects else { panic!("{effects:?}") };
    assert_eq!((&*request.query, request.max_values), ("x", Some(1000)));
    let value = |value: &str| FacetValue { value: value.into(), note_count: 1 };
    let counts = FacetsResponse {
        tags: vec![value("Green"), value("moss")],
        folders: vec![value("plants")],
        ..FacetsResponse::default()
    };
    screen.update(Input::Counted(Ok(counts.clone())));
    assert!(press(&mut screen, KeyCode::Char('M')).is_empty(), "the query stays as it is");
    let effects = press(&mut screen, KeyCode::Enter);
    assert_eq!(searched(&effects).filter.as_ref().unwrap().tags, ["moss"]);
    control(&mut screen, 'f');
    screen.update(Input::Counted(Ok(counts)));
    let effects = press(&mut screen, KeyCode::Enter);
    let filter = searched(&effects).filter.clone().unwrap();
    assert_eq!((&*filter.paths[0], &*filter.tags[0]), ("plants", "moss"));
    assert_eq!(filter.paths.len(), 1, "the folder lies in those of the flags");
    let effects = control(&mut screen, 'x');
    assert_eq!(searched(&effects).filter.as_ref().unwrap().paths, ["a", "b"]);
    assert!(control(&mut screen, 'x').is_empty(), "no filter is left");
}

#[test]
fn choice_of_a_filter_can_be_cancelled_and_cleared() {
    let mut screen = found(&["a"]);
    screen.tag = Some("moss".into());
    let effects = control(&mut screen, 't');
    let [Effect::Count(request)] = &*effects else { panic!("{effects:?}") };
    assert!(request.filter.as_ref().unwrap().tags.is_empty(), "other tags can be chosen");
    press(&mut screen, KeyCode::Esc);
    assert_eq!((screen.picker.is_none(), screen.tag.as_deref()), (true, Some("moss")));
    control(&mut screen, 't');
    screen.update(Input::Counted(Ok(FacetsResponse::default())));
    press(&mut screen, KeyCode::Char('q'));
    assert!(press(&mut screen, KeyCode::Enter).is_empty(), "no tag contains `q`");
    press(&mut screen, KeyCode::Backspace);
    assert!(searched(&press(&mut screen, KeyCode::Enter)).filter.as_ref().unwrap().tags.is_empty());
}

#[test]
fn choice_before_the_values_arrive_is_kept() {
    let mut screen = found(&["a"]);
    control(&mut screen, 'f');
    press(&mut screen, KeyCode::Char('p'));
    assert!(press(&mut screen, KeyCode::Enter).is_empty());
    let value = |value: &str| FacetValue { value: value.into(), note_count: 1 };
    let folders = vec![value("sea"), value("plants")];
    let counts = FacetsResponse { folders, ..FacetsResponse::default() };
    let effects = screen.update(Input::Counted(Ok(counts)));
    assert_eq!(searched(&effects).filter.as_ref().unwrap().paths, ["plants"]);
}

#[test]
fn failures_and_warnings_are_shown() {
    let mut screen = screen("x");
    screen.start();
    screen.update(Input::Found(1, Err(Failure::other("no answer").hint("try again"))));
    assert_eq!(screen.message.as_deref(), Some("no answer; try again"));
    assert!(!screen.is_busy());
    press(&mut screen, KeyCode::Char('y'));
    let warning = Warning { message: "cut".into(), ..Warning::default() };
    let answer = answer(&["a"]).map(|it| SearchResponse { warnings: vec![warning], ..it });
    screen.update(Input::Found(2, answer));
    assert_eq!(screen.message.as_deref(), Some("cut"));
    screen.update(Input::Opened(Err(Failure::other("no editor"))));
    assert_eq!(screen.message.as_deref(), Some("no editor"));
    assert!(matches!(&*screen.update(Input::Opened(Ok(()))), [Effect::Search(3, _)]));
}

#[test]
fn help_is_left_by_any_key() {
    let mut screen = found(&["a"]);
    press(&mut screen, KeyCode::F(1));
    assert!(screen.shows_help);
    assert!(press(&mut screen, KeyCode::Char('q')).is_empty());
    assert_eq!((screen.shows_help, screen.line.text()), (false, "x"));
}
