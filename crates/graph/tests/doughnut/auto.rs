//! Relations beyond those of the design text: links, folders, topics and similar texts.

use weft_graph::doughnut::Priority::{self, P1, P2, P6};
use weft_graph::doughnut::{Doughnut, Reason, RelatedNote, Relation, View};
use weft_testkit::Notebook;
use weft_testkit::doughnut_model::ModelSurroundings;

use crate::fixed_surroundings::FixedSurroundings;
use crate::request_builder::around;

/// Notes without any place, some with links.
fn flat() -> Notebook {
    Notebook::drawn(
        "fern ~> moss\nmoss\nivy ~> fern, moss, reed\nreed ~> fern\nsedge\nrush\npeat\nbog ~> fern",
    )
}

/// Surroundings of notes named by their uris.
fn surroundings(
    notebook: &Notebook,
    linked: &[&str],
    topic: Option<(&str, &str)>,
    similar: &[(&str, f64)],
) -> FixedSurroundings {
    let at = |uri: &&str| notebook.find(uri);
    let around = ModelSurroundings {
        linked: linked.iter().map(at).collect(),
        topic_siblings: topic.iter().map(|(note, topic)| (at(note), at(topic))).collect(),
        similar: similar.iter().map(|(note, score)| (at(note), *score)).collect(),
        ..ModelSurroundings::default()
    };
    FixedSurroundings::of(notebook, &around)
}

#[test]
fn note_without_place_has_links_topics_and_similar_notes_around_it() {
    let notebook = flat();
    let near = surroundings(
        &notebook,
        &["moss"],
        Some(("sedge", "moss")),
        &[("fern", 1.0), ("rush", 0.75), ("moss", 0.5)],
    );
    let found = around(&notebook, "fern").surroundings(&near).run();
    assert_eq!(
        found.related,
        [
            "Linked moss +Similar",
            "LinkedFrom bog",
            "LinkedFrom reed",
            "LinkedFrom ivy",
            "TopicSibling sedge",
            "Similar rush"
        ],
        "the linking notes with few links come first, the focus note is not related to itself"
    );
    let reasons: Vec<Option<Reason>> =
        found.answer.related_notes.iter().map(|note| note.reason).collect();
    let topic = notebook.id(notebook.find("moss"));
    assert_eq!(
        reasons,
        [None, None, None, None, Some(Reason::Topic(topic)), Some(Reason::Similarity(0.75))]
    );
    let structure = around(&notebook, "fern").run();
    assert!(structure.related.is_empty(), "{:?}", structure.related);
}

#[test]
fn topic_of_a_further_relation_is_kept() {
    let notebook = Notebook::drawn("fern\nmoss\nivy\nreed");
    let at = |uri: &str| notebook.find(uri);
    let surroundings = |topic_siblings| ModelSurroundings {
        folder: Some((vec![at("moss")], vec![at("reed")])),
        topic_siblings,
        ..ModelSurroundings::default()
    };
    let of = |topic_siblings| {
        let near = FixedSurroundings::of(&notebook, &surroundings(topic_siblings));
        around(&notebook, "fern").characters().surroundings(&near).run()
    };
    let with = of(vec![(at("moss"), at("ivy"))]);
    assert_eq!(with.related, ["PriorSibling moss +TopicSibling", "YoungerSibling reed"]);
    let [moss, reed] = &with.answer.related_notes[..] else { panic!("two notes") };
    let topic = notebook.id(at("ivy"));
    assert_eq!((moss.reason, moss.also_topic), (Some(Reason::Folder), Some(topic)));
    assert_eq!(reed.also_topic, None);
    let graph = notebook.graph();
    let view = View::new(&with.answer, &graph, &notebook);
    let [moss, reed] = &view.related_notes[..] else { panic!("two notes") };
    assert_eq!((moss.topic.as_ref().map(|topic| topic.uri), moss.in_folder), (Some("ivy"), true));
    assert_eq!((reed.topic.as_ref(), reed.in_folder), (None, true));
    assert_eq!(
        with.answer.used,
        of(Vec::new()).answer.used,
        "a further relation is free of charge, with its topic"
    );
}

#[test]
fn relations_of_the_design_text_come_first_in_their_level() {
    let notebook = Notebook::drawn(
        "garden\n  bed\n    moss\n    fern -> shade ~> sedge, rush\n    ivy\n  pond ~> fern\nshade\nsedge\nrush",
    );
    let near = surroundings(&notebook, &["sedge", "rush"], None, &[("pond", 0.5)]);
    let found = around(&notebook, "fern").surroundings(&near).run();
    assert_eq!(
        found.related,
        [
            "Parent bed +NoteInContextualPath",
            "Object shade",
            "Linked sedge",
            "Linked rush",
            "PriorSibling moss",
            "YoungerSibling ivy",
            "LinkedFrom pond +ParentSibling +Similar",
            "NoteInContextualPath garden"
        ]
    );
    let plain = FixedSurroundings::default();
    let unlinked =
        Notebook::drawn("garden\n  bed\n    moss\n    fern -> shade\n    ivy\n  pond\nshade");
    assert_eq!(
        around(&unlinked, "fern").surroundings(&plain).run(),
        around(&unlinked, "fern").run(),
        "a notebook without links in texts"
    );
}

#[test]
fn folder_siblings_replace_those_of_the_graph_and_fill_the_lists() {
    let notebook = Notebook::drawn("root\n  a\n  fern\n  moss\n  z");
    let at = |uri: &str| notebook.find(uri);
    let folder = Some((vec![at("a")], vec![at("moss")]));
    let near =
        FixedSurroundings::of(&notebook, &ModelSurroundings { folder, ..Default::default() });
    let found = around(&notebook, "fern").surroundings(&near).run();
    assert_eq!(
        found.related,
        ["Parent root +NoteInContextualPath", "PriorSibling a", "YoungerSibling moss"]
    );
    assert_eq!((found.prior, found.younger), (vec!["a".to_owned()], vec!["moss".to_owned()]));
    assert_eq!(found.answer.related_notes[1].reason, Some(Reason::Folder));
}

#[test]
fn similar_notes_replace_unconnected_notes_of_a_large_folder() {
    let notebook = flat();
    let lists = |similar: &[(&str, f64)]| {
        let similar = similar.iter().map(|(uri, score)| (notebook.find(uri), *score)).collect();
        let same_folder = vec![notebook.find("sedge"), notebook.find("rush")];
        let unconnected = vec![notebook.find("rush")];
        let around =
            ModelSurroundings { similar, same_folder, unconnected, ..ModelSurroundings::default() };
        FixedSurroundings::of(&notebook, &around)
    };
    let with =
        |near: &FixedSurroundings| around(&notebook, "peat").surroundings(near).run().related;
    assert_eq!(with(&lists(&[])), ["SameFolder sedge", "SameFolder rush"]);
    assert_eq!(with(&lists(&[("moss", 0.5)])), ["Similar moss", "SameFolder sedge"]);
}

#[test]
fn notes_of_the_folder_fill_what_the_other_relations_leave() {
    let notebook = flat();
    let all = |uris: &[&str]| uris.iter().map(|uri| notebook.find(uri)).collect::<Vec<_>>();
    let topic = notebook.find("moss");
    let near = FixedSurroundings::of(
        &notebook,
        &ModelSurroundings {
            topic_siblings: all(&["sedge", "rush", "reed"]).iter().map(|at| (*at, topic)).collect(),
            same_folder: all(&["ivy", "rush", "moss"]),
            ..ModelSurroundings::default()
        },
    );
    let run = |budget| around(&notebook, "peat").surroundings(&near).budget(budget).run();
    let whole = run(100);
    assert_eq!(
        whole.related,
        [
            "TopicSibling sedge",
            "TopicSibling rush +SameFolder",
            "TopicSibling reed",
            "SameFolder ivy",
            "SameFolder moss"
        ]
    );
    let first = run(4);
    let second = around(&notebook, "peat").surroundings(&near).after(&first).run();
    assert_eq!(first.without_further_relations(), whole.without_further_relations()[..4]);
    assert_eq!(second.related, ["SameFolder moss"]);
}

#[test]
fn assumed_parent_and_its_ancestors_come_after_all_others() {
    let notebook = Notebook::drawn("root\n  bed\n    ivy\n    fern ~> moss\nmoss\nbog");
    let all = |uris: &[&str]| uris.iter().map(|uri| notebook.find(uri)).collect::<Vec<_>>();
    let of = |has_assumed_parent: bool| {
        let near = ModelSurroundings {
            linked: all(&["moss"]),
            same_folder: all(&["bog"]),
            has_assumed_parent,
            ..ModelSurroundings::default()
        };
        let near = FixedSurroundings::of(&notebook, &near);
        around(&notebook, "fern").surroundings(&near).run()
    };
    let (known, assumed) = (of(false), of(true));
    assert_eq!(known.related[0], "Parent bed +NoteInContextualPath");
    assert_eq!(
        assumed.related,
        [
            "Linked moss",
            "PriorSibling ivy",
            "SameFolder bog",
            "Parent bed +NoteInContextualPath",
            "NoteInContextualPath root"
        ]
    );
    let levels =
        |notes: &[RelatedNote]| notes.iter().map(|note| note.level).collect::<Vec<Priority>>();
    let of_assumed = levels(&assumed.answer.related_notes);
    assert_eq!(of_assumed, [P1, P2, P6, P6, P6]);
    let focus =
        |found: &Doughnut| (found.focus_note.parent, found.focus_note.contextual_path.clone());
    assert_eq!(focus(&known.answer), focus(&assumed.answer), "the place of the focus note stays");
}

#[test]
fn notes_with_almost_no_text_come_last_in_their_relation() {
    let notebook = Notebook::drawn(
        "bed\n  ivy\n  fern ~> moss\n  rush\nmoss\nreed\nsedge ~> fern, moss\npeat ~> fern\nbog",
    );
    let all = |uris: &[&str]| uris.iter().map(|uri| notebook.find(uri)).collect::<Vec<_>>();
    let of = |stubs: &[&str]| {
        let near = ModelSurroundings {
            linked: all(&["moss", "reed"]),
            same_folder: all(&["bog", "bed"]),
            stubs: all(stubs),
            ..ModelSurroundings::default()
        };
        let near = FixedSurroundings::of(&notebook, &near);
        let found = around(&notebook, "fern").surroundings(&near).run();
        (found.related, found.prior, found.younger)
    };
    let lists =
        |found: &(Vec<String>, Vec<String>, Vec<String>)| (found.1.clone(), found.2.clone());
    let full = of(&[]);
    assert_eq!(
        full.0,
        [
            "Parent bed +NoteInContextualPath +SameFolder",
            "Linked moss",
            "Linked reed",
            "PriorSibling ivy",
            "YoungerSibling rush",
            "LinkedFrom peat",
            "LinkedFrom sedge",
            "SameFolder bog"
        ]
    );
    let with_stubs = of(&["bed", "ivy", "moss", "peat", "bog"]);
    assert_eq!(
        with_stubs.0,
        [
            "Parent bed +NoteInContextualPath +SameFolder",
            "Linked reed",
            "Linked moss",
            "PriorSibling ivy",
            "YoungerSibling rush",
            "LinkedFrom sedge",
            "LinkedFrom peat",
            "SameFolder bog"
        ]
    );
    assert_eq!(lists(&full), lists(&with_stubs), "siblings keep their order");
}

#[test]
fn text_is_cut_to_the_rest_of_the_budget() {
    let sentence = "Ferns grow in the shade of old walls. ";
    let long = sentence.repeat(20);
    let notebook = Notebook::drawn(&format!(
        "fern\nmoss: {long}\nivy: {long}\nreed: {long}\nrush: a short note"
    ));
    let near = surroundings(&notebook, &["moss", "ivy", "reed", "rush"], None, &[]);
    let run = |budget| around(&notebook, "fern").characters().surroundings(&near).budget(budget);
    let whole = run(10_000).run();
    let costs: Vec<u64> = whole.answer.related_notes.iter().map(|it| it.tokens.get()).collect();
    let [moss, _, _, rush] = costs[..] else { panic!("{costs:?}") };
    assert!(whole.answer.related_notes.iter().all(|note| !note.truncated));

    let cut = run(moss + 100).run();
    let graph = notebook.graph();
    let view = View::new(&cut.answer, &graph, &notebook);
    let [first, second, ..] = &view.related_notes[..] else { panic!("{:?}", cut.related) };
    assert_eq!((first.truncated, first.tokens.get()), (false, moss));
    assert!(second.truncated && second.tokens.get() <= 100);
    assert_eq!(second.details, format!("{}...", sentence.repeat(9).trim_end()));
    assert_eq!(cut.related, ["Linked moss", "Linked ivy"]);
    assert!(cut.answer.remaining.get() < rush, "{}", cut.answer.remaining.get());
    assert_eq!(cut.skipped.len(), 2);

    let next = run(10_000).after(&cut).run();
    assert_eq!(next.related, ["Linked reed", "Linked rush"], "a cut note is delivered");

    let too_little = run(moss + 50).run();
    assert_eq!(too_little.related, ["Linked moss", "Linked rush"], "fewer than 200 characters");
}

#[test]
fn the_reason_of_a_note_is_paid_for() {
    let notebook = Notebook::drawn("fern\nmoss\nivy");
    let cost = |topic, similar: &[(&str, f64)]| {
        let near = surroundings(&notebook, &[], topic, similar);
        let found = around(&notebook, "fern").estimator(&Length).surroundings(&near).run();
        found.answer.related_notes.iter().map(|note| note.tokens.get()).collect::<Vec<_>>()
    };
    let text = |parts: &[&str]| vec![parts.concat().len() as u64];
    let topic = Relation::TopicSibling.name();
    assert_eq!(cost(Some(("moss", "ivy")), &[]), text(&["[moss](moss)", topic, "[ivy](ivy)"]));
    assert_eq!(cost(None, &[("moss", 0.5)]), text(&["[moss](moss)", "Similar", "0.50"]));
}

/// One token per byte.
struct Length;

impl weft_model::Estimator for Length {
    fn estimate(&self, text: &str) -> weft_model::Tokens {
        weft_model::Tokens::new(text.len() as u64)
    }
}
