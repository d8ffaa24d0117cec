//! State of the interactive search, and its changes by keys and answers.

use ratatui_crossterm::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use weft_proto::noteweft::v1::{
    FacetValue, FacetsRequest, FacetsResponse, Filter, GetNoteResponse, Hit, ListNotesRequest,
    ListNotesResponse, NoteSummary, SearchMode, SearchRequest, SearchResponse, Snippet,
};

use super::line_editor::LineEditor;
use super::preview::Preview;
use crate::failure::Failure;

/// Maximum number of folders or tags to choose from.
const MAX_FACET_VALUES: u32 = 1000;

/// Number of the request that an answer belongs to.
pub(super) type Sequence = u64;

/// Event of the interactive search.
#[expect(clippy::large_enum_variant, reason = "events are few and handled at once")]
#[derive(Debug)]
pub(super) enum Input {
    /// A key was pressed.
    Key(KeyEvent),
    /// A text was pasted.
    Paste(String),
    /// A search was answered.
    Found(Sequence, Result<SearchResponse, Failure>),
    /// A list of notes was answered.
    Listed(Sequence, Result<ListNotesResponse, Failure>),
    /// The note with this uri was loaded.
    Loaded(String, Result<GetNoteResponse, Failure>),
    /// Folders and tags were counted.
    Counted(Result<FacetsResponse, Failure>),
    /// A note was opened, or could not be.
    Opened(Result<(), Failure>),
}

/// Work that the screen asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Effect {
    /// Search, instead of any earlier request.
    Search(Sequence, Box<SearchRequest>),
    /// List notes, instead of any earlier request.
    List(Sequence, Box<ListNotesRequest>),
    /// Load a note, instead of any earlier one.
    Load(String),
    /// Count folders and tags.
    Count(Box<FacetsRequest>),
    /// Open a note at a character of its body.
    Open(String, Option<u32>),
    /// Copy a text to the clipboard of the terminal.
    Copy(String),
    /// End, and print a text.
    Print(String),
    /// End.
    Quit,
}

/// A row of the list of notes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NoteRow {
    pub(super) uri: String,
    pub(super) title: String,
    /// Score of a hit, 0 to 1.
    pub(super) score: Option<f64>,
    /// The best passage of a hit.
    pub(super) snippet: Option<Snippet>,
}

impl From<Hit> for NoteRow {
    fn from(hit: Hit) -> Self {
        let Hit { uri, title, score, mut snippets, .. } = hit;
        Self { uri, title, score: Some(score), snippet: snippets.drain(..).next() }
    }
}

impl From<NoteSummary> for NoteRow {
    fn from(note: NoteSummary) -> Self {
        let NoteSummary { uri, title, .. } = note;
        Self { uri, title, score: None, snippet: None }
    }
}

/// Kind of a facet that filters the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FacetKind {
    /// A folder.
    Folder,
    /// A tag.
    Tag,
}

/// A list of folders or tags to choose from.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Picker {
    pub(super) kind: FacetKind,
    /// Text that the choices contain.
    pub(super) line: LineEditor,
    /// All values; `None` until they are counted.
    pub(super) values: Option<Vec<FacetValue>>,
    /// Position among the matching values.
    pub(super) selected: usize,
    /// True if Enter was pressed before the values were counted.
    is_confirmed: bool,
}

impl Picker {
    /// Returns the values that contain the typed text, ignoring case.
    pub(super) fn matching(&self) -> Vec<&FacetValue> {
        let wanted = self.line.text().trim().to_lowercase();
        let values = self.values.iter().flatten();
        values.filter(|it| it.value.to_lowercase().contains(&wanted)).collect()
    }
}

/// Number of notes found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoteCount {
    /// Hits of a search, and whether there are more.
    Hits(usize, bool),
    /// Notes of a list: shown ones and all.
    Notes(usize, u64),
}

/// The interactive search.
#[derive(Clone, Debug)]
pub(super) struct SearchScreen {
    /// Request from the flags, completed by what is typed.
    base: SearchRequest,
    pub(super) line: LineEditor,
    pub(super) mode: SearchMode,
    pub(super) folder: Option<String>,
    pub(super) tag: Option<String>,
    pub(super) rows: Vec<NoteRow>,
    pub(super) count: Option<NoteCount>,
    pub(super) selected: usize,
    pub(super) preview: Option<Preview>,
    pub(super) picker: Option<Picker>,
    pub(super) shows_help: bool,
    /// Message below the list: an error, a warning or a confirmation.
    pub(super) message: Option<String>,
    sequence: Sequence,
    /// The last request that was answered.
    answered: Sequence,
}

impl SearchScreen {
    /// Creates a screen for a request whose filter, mode and ranking come from flags.
    pub(super) fn new(base: SearchRequest) -> Self {
        let mode = match base.mode() {
            SearchMode::Unspecified => SearchMode::Hybrid,
            mode @ (SearchMode::Hybrid | SearchMode::Vector | SearchMode::Keyword) => mode,
        };
        Self {
            line: LineEditor::new(&base.query),
            mode,
            base,
            folder: None,
            tag: None,
            rows: Vec::new(),
            count: None,
            selected: 0,
            preview: None,
            picker: None,
            shows_help: false,
            message: None,
            sequence: 0,
            answered: 0,
        }
    }

    /// Returns true while an answer is awaited.
    pub(super) fn is_busy(&self) -> bool {
        self.answered < self.sequence
    }

    /// Returns the selected note.
    pub(super) fn current(&self) -> Option<&NoteRow> {
        self.rows.get(self.selected)
    }

    /// Requests the first answer.
    pub(super) fn start(&mut self) -> Vec<Effect> {
        vec![self.ask()]
    }

    /// Applies an event; returns the work that it asks for.
    pub(super) fn update(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Key(key) if key.kind == KeyEventKind::Release => Vec::new(),
            Input::Key(key) => self.key(key),
            Input::Paste(text) => match &mut self.picker {
                Some(picker) => {
                    picker.line.insert(&text);
                    picker.selected = 0;
                    Vec::new()
                }
                None => {
                    self.line.insert(&text);
                    vec![self.ask()]
                }
            },
            Input::Found(sequence, answer) => {
                let answer = answer.map(|answer| {
                    let SearchResponse { hits, truncated, mut warnings, .. } = answer;
                    let count = NoteCount::Hits(hits.len(), truncated);
                    let warning = warnings.drain(..).next().map(|warning| warning.message);
                    (hits.into_iter().map(NoteRow::from).collect(), count, warning)
                });
                self.answer(sequence, answer)
            }
            Input::Listed(sequence, answer) => {
                let answer = answer.map(|answer| {
                    let ListNotesResponse { notes, total, mut warnings, .. } = answer;
                    let count = NoteCount::Notes(notes.len(), total);
                    let warning = warnings.drain(..).next().map(|warning| warning.message);
                    (notes.into_iter().map(NoteRow::from).collect(), count, warning)
                });
                self.answer(sequence, answer)
            }
            Input::Loaded(uri, answer) => {
                if let Some(row) = self.current().filter(|row| row.uri == uri) {
                    match answer {
                        Ok(note) => self.preview = Some(Preview::new(note, row.snippet.as_ref())),
                        Err(failure) => self.message = Some(failure.message),
                    }
                }
                Vec::new()
            }
            Input::Counted(answer) => {
                match (answer, &mut self.picker) {
                    (Ok(answer), Some(picker)) => {
                        picker.values = Some(match picker.kind {
                            FacetKind::Folder => answer.folders,
                            FacetKind::Tag => answer.tags,
                        });
                        if picker.is_confirmed {
                            picker.is_confirmed = false;
                            return self.choose();
                        }
                    }
                    (Ok(_), None) => {}
                    (Err(failure), _) => {
                        self.picker = None;
                        self.message = Some(in_one_line(failure));
                    }
                }
                Vec::new()
            }
            // The note may have been edited.
            Input::Opened(Ok(())) => vec![self.ask()],
            Input::Opened(Err(failure)) => {
                self.message = Some(in_one_line(failure));
                Vec::new()
            }
        }
    }

    /// Shows the rows of an answer, unless a newer request is under way.
    fn answer(
        &mut self,
        sequence: Sequence,
        answer: Result<(Vec<NoteRow>, NoteCount, Option<String>), Failure>,
    ) -> Vec<Effect> {
        if sequence != self.sequence {
            return Vec::new();
        }
        self.answered = sequence;
        match answer {
            Ok((rows, count, warning)) => {
                // The selection stays on a note that is still found, unless it was the first.
                let kept = self.current().filter(|_| self.selected > 0).map(|row| &row.uri);
                let kept = kept.and_then(|uri| rows.iter().position(|row| row.uri == *uri));
                (self.selected, self.rows, self.count) = (kept.unwrap_or(0), rows, Some(count));
                self.message = warning;
            }
            Err(failure) => {
                (self.selected, self.rows, self.count) = (0, Vec::new(), None);
                self.message = Some(in_one_line(failure));
            }
        }
        self.show_current()
    }

    /// Requests the selected note for the preview.
    fn show_current(&mut self) -> Vec<Effect> {
        let Some(row) = self.rows.get(self.selected) else {
            self.preview = None;
            return Vec::new();
        };
        if self.preview.as_ref().is_some_and(|preview| preview.uri != row.uri) {
            self.preview = None;
        }
        vec![Effect::Load(row.uri.clone())]
    }

    /// Builds the request for what is typed and filtered.
    fn ask(&mut self) -> Effect {
        self.sequence += 1;
        let (query, filter) = (self.line.text().to_owned(), Some(self.filter()));
        let SearchRequest { limit, min_generation, as_of, .. } = self.base;
        if query.trim().is_empty() {
            let request = ListNotesRequest {
                filter,
                page_size: limit,
                page_token: String::new(),
                min_generation,
                as_of,
            };
            return Effect::List(self.sequence, Box::new(request));
        }
        let request = SearchRequest {
            query,
            filter,
            mode: self.mode.into(),
            snippets: Some(1),
            prefix_last_word: true,
            ..self.base.clone()
        };
        Effect::Search(self.sequence, Box::new(request))
    }

    /// Returns the filter of the flags with the chosen folder and tag.
    ///
    /// Folders of the flags are alternatives, so a chosen folder, which lies in one of them, replaces them.
    fn filter(&self) -> Filter {
        let mut filter = self.base.filter.clone().unwrap_or_default();
        if let Some(folder) = &self.folder {
            filter.paths = vec![folder.clone()];
        }
        filter.tags.extend(self.tag.clone());
        filter
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "all other keys are treated alike")]
    fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && key.code == KeyCode::Char('c') {
            return vec![Effect::Quit];
        }
        if self.shows_help {
            self.shows_help = false;
            return Vec::new();
        }
        if self.picker.is_some() {
            return self.key_of_picker(key);
        }
        self.message = None;
        match key.code {
            KeyCode::Esc => vec![Effect::Quit],
            KeyCode::Char('d') if control && self.line.text().is_empty() => vec![Effect::Quit],
            KeyCode::F(1) => {
                self.shows_help = true;
                Vec::new()
            }
            KeyCode::Enter => self.with_current(|row| {
                let offset = row.snippet.as_ref().map(|snippet| snippet.start);
                Effect::Open(row.uri.clone(), offset)
            }),
            KeyCode::Char('y') if control => {
                let effects = self.with_current(|row| Effect::Copy(row.uri.clone()));
                let copied = self.current().map(|row| format!("copied {}", row.uri));
                self.message = copied;
                effects
            }
            KeyCode::Char('o') if control => {
                self.with_current(|row| Effect::Print(format!("{}\n", row.uri)))
            }
            KeyCode::Up => self.select(-1),
            KeyCode::Down => self.select(1),
            KeyCode::Char('p') if control => self.select(-1),
            KeyCode::Char('n') if control => self.select(1),
            KeyCode::PageUp => self.scroll(-10),
            KeyCode::PageDown => self.scroll(10),
            KeyCode::Tab => {
                self.mode = match self.mode {
                    SearchMode::Hybrid | SearchMode::Unspecified => SearchMode::Vector,
                    SearchMode::Vector => SearchMode::Keyword,
                    SearchMode::Keyword => SearchMode::Hybrid,
                };
                vec![self.ask()]
            }
            KeyCode::Char('t') if control => self.pick(FacetKind::Tag),
            KeyCode::Char('f') if control => self.pick(FacetKind::Folder),
            KeyCode::Char('x') if control => {
                if self.folder.take().is_none() & self.tag.take().is_none() {
                    return Vec::new();
                }
                vec![self.ask()]
            }
            _ => match self.line.apply(key) {
                Some(true) => vec![self.ask()],
                Some(false) | None => Vec::new(),
            },
        }
    }

    fn with_current(&self, effect: impl FnOnce(&NoteRow) -> Effect) -> Vec<Effect> {
        self.current().map(effect).into_iter().collect()
    }

    fn select(&mut self, by: isize) -> Vec<Effect> {
        let last = self.rows.len().saturating_sub(1);
        let next = self.selected.saturating_add_signed(by).min(last);
        if next == self.selected {
            return Vec::new();
        }
        self.selected = next;
        self.show_current()
    }

    fn scroll(&mut self, by: isize) -> Vec<Effect> {
        if let Some(preview) = &mut self.preview {
            preview.scroll(by);
        }
        Vec::new()
    }

    /// Opens a list of folders or tags, counted without the filter of the same kind, so that it can be changed.
    fn pick(&mut self, kind: FacetKind) -> Vec<Effect> {
        let mut without = self.clone();
        match kind {
            FacetKind::Folder => without.folder = None,
            FacetKind::Tag => without.tag = None,
        }
        let SearchRequest { typo_tolerance, min_generation, as_of, .. } = self.base;
        let request = FacetsRequest {
            query: self.line.text().to_owned(),
            filter: Some(without.filter()),
            max_values: Some(MAX_FACET_VALUES),
            typo_tolerance,
            prefix_last_word: true,
            min_generation,
            as_of,
        };
        let (line, values, selected) = (LineEditor::default(), None, 0);
        self.picker = Some(Picker { kind, line, values, selected, is_confirmed: false });
        vec![Effect::Count(Box::new(request))]
    }

    /// Filters by the selected value; an empty list without a typed text removes the filter.
    fn choose(&mut self) -> Vec<Effect> {
        let Some(picker) = &self.picker else { return Vec::new() };
        let chosen = picker.matching().get(picker.selected).map(|it| it.value.clone());
        if chosen.is_none() && !picker.line.text().trim().is_empty() {
            return Vec::new();
        }
        match picker.kind {
            FacetKind::Folder => self.folder = chosen,
            FacetKind::Tag => self.tag = chosen,
        }
        self.picker = None;
        vec![self.ask()]
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "all other keys are treated alike")]
    fn key_of_picker(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Some(picker) = &mut self.picker else { return Vec::new() };
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let by = match key.code {
            KeyCode::Up => -1,
            KeyCode::Down => 1,
            KeyCode::PageUp => -10,
            KeyCode::PageDown => 10,
            KeyCode::Char('p') if control => -1,
            KeyCode::Char('n') if control => 1,
            KeyCode::Esc => {
                self.picker = None;
                return Vec::new();
            }
            KeyCode::Enter => {
                picker.is_confirmed = picker.values.is_none();
                return if picker.is_confirmed { Vec::new() } else { self.choose() };
            }
            _ => {
                if picker.line.apply(key) == Some(true) {
                    picker.selected = 0;
                }
                return Vec::new();
            }
        };
        let last = picker.matching().len().saturating_sub(1);
        picker.selected = picker.selected.saturating_add_signed(by).min(last);
        Vec::new()
    }
}

/// Joins the message of a failure and its first hint.
fn in_one_line(failure: Failure) -> String {
    let Failure { message, hints, code: _ } = failure;
    match hints.first() {
        Some(hint) => format!("{message}; {hint}"),
        None => message,
    }
}

#[cfg(test)]
mod tests;
