//! Doughnut notebooks: written to files in both layouts, and read back unchanged.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use weft_index::notes::NoteTable;
use weft_indexer::Indexer;
use weft_testkit::Random;
use weft_testkit::notebook::{Notebook, NotebookEntry};

use crate::fixtures::Place;

/// A note as written or read, with uris for links.
#[derive(Debug, PartialEq)]
struct NoteRecord {
    title: String,
    parent: Option<String>,
    object: Option<String>,
    order: Option<f64>,
    /// In sibling order.
    children: Vec<String>,
}

/// A file layout of notebooks.
struct Layout {
    name: &'static str,
    /// File stem of a folder's note.
    folder_note: &'static str,
    /// Returns the uri of the note at this path without extension.
    uri: fn(&NotebookEntry, &str) -> String,
    /// Returns the text of a file from the note and the uris of its parent and its object.
    text: fn(&NotebookEntry, Option<&str>, Option<&str>) -> String,
}

const LAYOUTS: [Layout; 2] = [
    Layout {
        name: "export with ids",
        folder_note: "__index",
        uri: |note, _| note.uri.clone(),
        text: |note, _, object| {
            let NotebookEntry { uri, title, details, .. } = note;
            let order = order(note);
            let object = object.map(|uri| format!("target: {uri}\n")).unwrap_or_default();
            format!(
                "---\nnote_id: {uri}\ncreated_at: 2024-05-01 10:00:00.0\n{order}{object}---\n# {title}\n{details}"
            )
        },
    },
    Layout {
        name: "portable tree",
        folder_note: "README",
        uri: |_, path| path.to_owned(),
        text: |note, parent, object| {
            let NotebookEntry { title, details, .. } = note;
            let order = order(note);
            let Some(object) = object else {
                return format!("---\ntype: Note\n{order}---\n{details}");
            };
            let source = parent.map(|parent| format!("source: \"[[{parent}]]\"\n"));
            let source = source.unwrap_or_default();
            format!(
                "---\ntype: Relationship\nrelation: {title}\n{source}target: \"[[{object}]]\"\n{order}---\n{details}"
            )
        },
    },
];

fn order(note: &NotebookEntry) -> String {
    note.order.map(|order| format!("order: {order}\n")).unwrap_or_default()
}

/// Creates a notebook that folders can represent: no cycles, and a distinct file name for every note.
fn notebook(seed: u64) -> Notebook {
    let mut random = Random::new(seed);
    let mut notebook = Notebook::random(&mut random, 24);
    for (at, note) in notebook.notes.iter_mut().enumerate() {
        note.parent = note.parent.filter(|parent| *parent < at);
        note.uri = (100 + at).to_string();
        note.title = format!("{} {}", note.title, at + 1).trim().to_owned();
    }
    notebook
}

/// Returns the path of each note's file, without extension.
fn paths(notebook: &Notebook, layout: &Layout) -> Vec<String> {
    let has_children = |at| notebook.notes.iter().any(|note| note.parent == Some(at));
    let mut folders: Vec<String> = Vec::new();
    for note in &notebook.notes {
        let above = note.parent.map(|parent| format!("{}/", folders[parent]));
        folders.push(above.unwrap_or_default() + &note.title);
    }
    let path = |(at, folder): (usize, String)| {
        if has_children(at) { format!("{folder}/{}", layout.folder_note) } else { folder }
    };
    folders.into_iter().enumerate().map(path).collect()
}

fn written(notebook: &Notebook, layout: &Layout, paths: &[String]) -> BTreeMap<String, NoteRecord> {
    let uri = |at: usize| (layout.uri)(&notebook.notes[at], &paths[at]);
    let record = |(at, note): (usize, &NotebookEntry)| {
        let mut children: Vec<usize> = (0..notebook.notes.len())
            .filter(|child| notebook.notes[*child].parent == Some(at))
            .collect();
        // Equal orders are sorted by uri; without an order, the file name decides: a word, then the number of the note.
        children.sort_by(|a, b| {
            let order = |at: usize| notebook.notes[at].order;
            let word = |at: usize| notebook.notes[at].title.trim_end_matches(char::is_numeric);
            match (order(*a), order(*b)) {
                (Some(x), Some(y)) => x.total_cmp(&y).then_with(|| uri(*a).cmp(&uri(*b))),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => (word(*a), a).cmp(&(word(*b), b)),
            }
        });
        let record = NoteRecord {
            title: note.title.clone(),
            parent: note.parent.map(uri),
            // A note is not its own object.
            object: note.object.filter(|object| *object != at).map(uri),
            order: note.order,
            children: children.into_iter().map(uri).collect(),
        };
        (uri(at), record)
    };
    notebook.notes.iter().enumerate().map(record).collect()
}

fn read(notes: &NoteTable) -> BTreeMap<String, NoteRecord> {
    let graph = notes.graph();
    let uri = |id| graph.uri(id).to_string();
    let all = notes.by_path().map(|(id, entry)| {
        let record = NoteRecord {
            title: entry.note.title.clone(),
            parent: graph.parent(id).map(uri),
            object: graph.object(id).map(uri),
            order: entry.note.order,
            children: graph.children(id).iter().copied().map(uri).collect(),
        };
        (uri(id), record)
    });
    all.collect()
}

#[test]
fn notebook_round_trips_through_files() {
    let mut n_objects = 0;
    for (layout, seed) in LAYOUTS.iter().flat_map(|layout| (0..10).map(move |seed| (layout, seed)))
    {
        let notebook = notebook(seed);
        let paths = paths(&notebook, layout);
        let place = Place::new(&[]);
        for (note, path) in notebook.notes.iter().zip(&paths) {
            let uri = |at: usize| (layout.uri)(&notebook.notes[at], &paths[at]);
            let (parent, object) = (note.parent.map(uri), note.object.map(uri));
            let text = (layout.text)(note, parent.as_deref(), object.as_deref());
            place.write(&format!("{path}.md"), text.as_bytes());
        }
        let indexer = Indexer::open(place.settings(), None, None).expect("an index");
        indexer.flush().expect("a generation");
        let snapshot = indexer.reader().snapshot();
        let expected = written(&notebook, layout, &paths);
        assert_eq!(read(&snapshot.notes), expected, "{} {seed}", layout.name);
        n_objects += expected.values().filter(|note| note.object.is_some()).count();
        indexer.stop();
    }
    assert!(n_objects > 50, "{n_objects}");
}
