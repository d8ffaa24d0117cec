//! Related notes by links, folders, topics and similar texts.

use std::path::Path;

use weft_engine::context::FocusSource;
use weft_engine::doughnut::Budget;
use weft_engine::{
    Engine, EngineError, EngineSettings, Filter, RelatedAnswer, RelatedRequest, RelatedSettings,
    RelationSet,
};
use weft_indexer::{IndexSettings, Indexer, VaultSettings, WatchOptions};
use weft_model::id::folder_of;
use weft_model::{NoteId, Tokens};

use crate::Vault;
use crate::context::request;
use crate::related::around;

fn auto(focus: &str) -> RelatedRequest {
    RelatedRequest { relations: Some(RelationSet::Auto), ..around(focus) }
}

/// `Relation uri` of each related note, with its reason in brackets.
fn found(answer: &RelatedAnswer) -> Vec<String> {
    let view = answer.view();
    let line = |note: &weft_engine::doughnut::NoteView<'_>| {
        let reason = match (&note.topic, note.similarity, note.in_folder) {
            (Some(topic), None, false) => format!(" [{}]", topic.uri),
            (None, Some(similarity), false) => format!(" [{similarity:.2}]"),
            (None, None, true) => " [folder]".to_owned(),
            _ => String::new(),
        };
        format!("{} {}{reason}", note.relation, note.link.uri)
    };
    view.related_notes.iter().map(line).collect()
}

#[test]
fn links_count_in_both_directions_in_the_order_of_the_text() {
    let vault = Vault::new(
        "=== a/hub.md\n---\nsee: \"[[d/typed]]\"\n---\nTo [[c/z]], [[c/a]] and again [[c/z]], [[missing]], [[a/hub]].\n\
         === b/back.md\nBack to [[a/hub]].\n\
         === c/a.md\nA\n\
         === c/z.md\nZ and [[a/hub]]\n\
         === d/typed.md\nT\n",
    );
    let answer = vault.engine.related(&auto("a/hub")).unwrap();
    assert_eq!(found(&answer), ["Linked d/typed", "Linked c/z", "Linked c/a", "LinkedFrom b/back"]);
    assert_eq!(answer.relations, RelationSet::Auto);
    let structure = RelatedRequest { relations: Some(RelationSet::Structure), ..auto("a/hub") };
    let structure = vault.engine.related(&structure).unwrap();
    assert!(found(&structure).is_empty());
    assert_eq!(structure.relations, RelationSet::Structure);
}

#[test]
fn folder_without_a_note_is_a_parent_for_siblings_only() {
    let vault = Vault::new(
        "=== index.md\n# Root\n\
         === a.md\nA\n\
         === trip/day 1.md\n1\n\
         === trip/day 2.md\n2\n\
         === trip/day 10.md\n10\n\
         === trip/maps/index.md\nMaps\n\
         === trip/maps/north.md\nN\n\
         === trip/photos/one.md\nP\n\
         === trip/elsewhere.md\n---\nup: \"[[a]]\"\n---\nE\n",
    );
    let of = |focus: &str| found(&vault.engine.related(&auto(focus)).unwrap());
    assert_eq!(
        of("trip/day 2"),
        [
            "PriorSibling trip/day 1 [folder]",
            "YoungerSibling trip/day 10 [folder]",
            "YoungerSibling trip/maps/index [folder]",
            "Parent index"
        ],
        "natural order; the parent is only assumed; the folder note of a folder is a sibling, notes with a parent of their own are not"
    );
    assert_eq!(
        of("trip/maps/index")[..2],
        ["Child trip/maps/north".to_owned(), "PriorSibling trip/day 10 [folder]".to_owned()],
        "a folder note stands for its folder"
    );
    assert_eq!(
        of("trip/maps/north")[..2],
        ["Parent trip/maps/index", "NoteInContextualPath index"],
        "a folder note is the parent of its folder"
    );
    assert_eq!(of("trip/photos/one"), ["Parent index"], "the folder itself is no result");
    let siblings = vault.engine.related(&auto("trip/day 2")).unwrap();
    let view = siblings.view();
    assert_eq!(view.focus_note.prior_siblings.len(), 1);
    assert_eq!(view.focus_note.younger_siblings.len(), 2);
}

#[test]
fn note_of_a_folder_further_up_comes_first_only_if_it_is_linked() {
    let of = |readme: &str, focus: &str, relations| {
        let files = format!(
            "=== README.md\n{readme}\n=== a/one.md\nOne\n=== a/two.md\nTwo\n=== b/index.md\nB\n=== b/c/deep.md\nDeep\n=== b/own.md\nOwn\n"
        );
        let request = RelatedRequest { relations: Some(relations), ..around(focus) };
        found(&Vault::new(&files).engine.related(&request).unwrap())
    };
    let of_auto = |readme: &str, focus: &str| of(readme, focus, RelationSet::Auto);
    let sibling = "YoungerSibling a/two [folder]";
    assert_eq!(of_auto("Contents", "a/one"), [sibling, "Parent README"]);
    assert_eq!(of_auto("See [[a/one]]", "a/one"), ["Parent README", sibling]);
    assert_eq!(of("Contents", "a/one", RelationSet::Structure)[0], "Parent README");
    assert_eq!(of_auto("Contents", "b/own")[0], "Parent b/index", "the note of its own folder");
    assert_eq!(
        of_auto("Contents", "b/index").last().unwrap(),
        "Parent README",
        "the note of the root is above everything"
    );
    assert_eq!(
        of_auto("Contents", "b/c/deep"),
        ["Parent b/index", "NoteInContextualPath README"],
        "nothing else is near"
    );
}

#[test]
fn crowded_folder_is_not_read_as_a_parent() {
    let files: String = (0..60).map(|n| format!("=== notes/n{n}.md\nNote {n}\n")).collect();
    let vault = Vault::new(&files);
    let of = |focus: &str| found(&vault.engine.related(&auto(focus)).unwrap());
    let near = |numbers: &[usize]| {
        numbers.iter().map(|n| format!("SameFolder notes/n{n} [folder]")).collect::<Vec<_>>()
    };
    assert_eq!(
        of("notes/n30"),
        near(&[31, 29, 32, 28, 33, 27, 34, 26, 35, 25]),
        "without vectors, the nearest notes on both sides"
    );
    assert_eq!(of("notes/n9")[..4], near(&[10, 8, 11, 7]), "numbers count by value");
    assert_eq!(of("notes/n58"), near(&[59, 57, 56, 55, 54, 53, 52, 51, 50, 49]), "no wrap around");
    assert_eq!(of("notes/n0")[..3], near(&[1, 2, 3]));
    let vault = Vault::with_vectors(&files);
    let similar = found(&vault.engine.related(&auto("notes/n30")).unwrap());
    assert!(similar[..20].iter().all(|line| line.starts_with("Similar ")), "{similar:?}");
    let rest = |line: &String| line.starts_with("SameFolder ");
    assert!(similar[20..].iter().all(rest), "the nearest numbers close the list: {similar:?}");
}

#[test]
fn shared_topics_add_up() {
    let mut files: String =
        ["tea", "cup"].map(|topic| format!("=== t/{topic}.md\n{topic}\n")).concat();
    for n in 0..7 {
        files +=
            &format!("=== n{n}/x.md\n[[t/tea]] {}\n", if n % 3 == 0 { "[[t/cup]]" } else { "" });
    }
    for n in 7..12 {
        files += &format!("=== n{n}/x.md\n[[t/cup]]\n");
    }
    let vault = Vault::new(&files);
    let of = |focus: &str| found(&vault.engine.related(&auto(focus)).unwrap());
    let n0 = of("n0/x");
    assert_eq!(n0[..2], ["Linked t/tea", "Linked t/cup"]);
    assert_eq!(
        n0[2..5],
        ["TopicSibling n3/x [t/tea]", "TopicSibling n6/x [t/tea]", "TopicSibling n1/x [t/tea]"],
        "two topics, then the smaller one"
    );
}

#[test]
fn topics_of_very_many_notes_and_files_outside_the_vault_relate_no_notes() {
    let of_range = |range: std::ops::Range<usize>, n: usize, link: &'static str| {
        if range.contains(&n) { link } else { "" }
    };
    let files: String = (0..24)
        .map(|n| {
            let rare = of_range(0..7, n, "[[rare|-]]");
            let outside = of_range(0..8, n, "[-](../../LICENSE.md)");
            let inside = of_range(8..16, n, "[-](../NOTICE.md)");
            format!("=== n{n}/x{n}.md\n[[common|-]] {rare} {outside} {inside}\n")
        })
        .collect();
    let vault = Vault::new(&files);
    let of = |focus: &str| {
        let answer = vault.engine.related(&auto(focus)).unwrap();
        let view = answer.view();
        let line = |note: &weft_engine::doughnut::NoteView<'_>| {
            note.topic.as_ref().map(|topic| format!("{} [{}]", note.link.uri, topic.uri))
        };
        view.related_notes.iter().filter_map(line).collect::<Vec<_>>()
    };
    let sharing = |others: &[usize], topic: &str| {
        others.iter().map(|n| format!("n{n}/x{n} [{topic}]")).collect::<Vec<_>>()
    };
    assert_eq!(of("n0/x0"), sharing(&[1, 2, 3, 4, 5, 6], "rare"));
    assert!(of("n7/x7").is_empty(), "24 notes share `common`, `../LICENSE` is outside");
    assert_eq!(
        of("n8/x8"),
        sharing(&[10, 11, 12, 13, 14, 15, 9], "NOTICE"),
        "a missing file of the vault is a topic"
    );
    assert!(of("n20/x20").is_empty());
}

#[test]
fn moved_notes_come_after_notes_with_content() {
    let text = "Ferns need shade and wet soil, and their fronds unroll slowly in the first warm weeks of spring, before the leaves of the trees above them open.";
    let long_list = "- [[a note with a long name]]\n".repeat(40);
    let vault = Vault::new(&format!(
        "=== a/fern.md\n[[moved]] [[note]] [[links]] [[list]] [[moss]]\n\
         === b/moved.md\nThis file was moved to https://example.org/a/very/long/address/of/another/place/where/the/file/is/now.md\n\
         === c/note.md\n{text}\n\
         === d/links.md\n# See\n- [[a/fern|a link with a text that is longer than eighty characters, but only names another note]]\n\
         === e/list.md\n{long_list}\n\
         === f/moss.md\n{text}\n\
         === g/short.md\n[[a/fern]]\n\
         === h/long.md\n[[a/fern]] [[x]] [[y]]\n{text}\n"
    ));
    assert_eq!(
        found(&vault.engine.related(&auto("a/fern")).unwrap()),
        [
            "Linked c/note",
            "Linked e/list",
            "Linked f/moss",
            "Linked b/moved",
            "LinkedFrom h/long",
            "LinkedFrom d/links",
            "LinkedFrom g/short"
        ]
    );
}

#[test]
fn note_that_only_points_elsewhere_is_not_similar_to_others_that_do() {
    let moved = |name: &str| format!("=== {name}/moved.md\nmoved to https://example.org/{name}\n");
    let text = "a note that was moved for the reason that its text is long enough to be read by others, of whom there are many, all over the world";
    let vault = Vault::with_vectors(&format!(
        "{}{}{}=== d/text.md\n{text}\n",
        moved("a"),
        moved("b"),
        moved("c")
    ));
    let similar = |focus: &str| {
        let found = found(&vault.engine.related(&auto(focus)).unwrap());
        found.iter().map(|it| it.split(" [").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(similar("a/moved"), ["Similar d/text"]);
    assert_eq!(similar("d/text").len(), 3, "they are similar to a text, after all");
}

#[test]
fn similar_notes_close_the_list() {
    let vault = Vault::with_vectors(
        "=== a/one.md\naaaa bbbb\n=== b/two.md\naaaa bbbc\n=== c/three.md\nzzzz\n=== d/four.md\naaab bbbb\n",
    );
    let answer = vault.engine.related(&auto("a/one")).unwrap();
    let found = found(&answer);
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(
        found,
        ["Similar b/two [0.91]", "Similar d/four [0.90]", "Similar c/three [0.07]"],
        "by the letters of title and text"
    );
    let filter = Filter { paths: vec!["b".into()], ..Filter::default() };
    let filtered = vault.engine.related(&RelatedRequest { filter, ..auto("a/one") }).unwrap();
    assert_eq!(self::found(&filtered).len(), 1);
}

#[test]
fn without_vectors_similar_words_find_similar_notes() {
    let vault = Vault::new(&format!(
        "=== a/heron.md\nA heron stands in the reeds of the marsh and waits for frogs.\n\
         === b/egret.md\nAn egret waits in the reeds for frogs, as a heron does.\n\
         === c/marsh.md\nThe marsh has reeds, and water all year.\n\
         {}",
        (0..9)
            .map(|n| format!("=== d/n{n}.md\nTimber number {n}, sawn and dried\n"))
            .collect::<String>()
    ));
    let answer = vault.engine.related(&auto("a/heron")).unwrap();
    let similarities: Vec<(String, f64)> = answer
        .view()
        .related_notes
        .iter()
        .map(|note| (note.link.uri.to_owned(), note.similarity.expect("similar")))
        .collect();
    let uris: Vec<&str> = similarities.iter().map(|(uri, _)| uri.as_str()).collect();
    assert_eq!(uris, ["b/egret", "c/marsh"], "no word is shared with the others");
    let [(_, first), (_, second)] = similarities[..] else { panic!("two notes") };
    assert!(first > second && first < 1.0 && second > 0.1, "{similarities:?}");
}

/// Returns twenty notes about herons, and sixty about bread, which fill the lists of similar notes.
fn herons_and_bread() -> String {
    let herons = (0..20).map(|n| format!("=== {n}/near.md\nHeron, reeds and frogs\n"));
    let bread = (0..60).map(|n| format!("=== b{n}/other.md\nBread\n"));
    herons.chain(bread).collect()
}

#[test]
fn siblings_without_anything_in_common_are_left_out() {
    let vault = Vault::new(&format!(
        "=== f/heron.md\nHeron, reeds, frogs, marsh [[f/linked]]\n\
         === f/egret.md\nHeron, reeds, frogs, marsh\n\
         === f/linked.md\nSawn timber\n\
         === f/planks.md\nPlaned timber\n\
         {}",
        herons_and_bread()
    ));
    let of = |focus: &str| found(&vault.engine.related(&auto(focus)).unwrap());
    let heron = of("f/heron");
    assert_eq!(heron[..2], ["Linked f/linked", "PriorSibling f/egret [folder]"]);
    assert!(!heron.iter().any(|line| line.contains("f/planks")), "{heron:?}");
    let planks = of("f/planks");
    assert!(
        planks.contains(&"PriorSibling f/heron [folder]".to_owned()),
        "fewer than fifteen notes are similar, so that none is far: {planks:?}"
    );
}

#[test]
fn numbered_notes_are_siblings_whatever_they_contain() {
    let vault = Vault::new(&format!(
        "=== f/day 1.md\nBread\n=== f/day 2.md\nHeron, reeds, frogs, marsh\n=== f/note.md\nBread\n\
         === g/10 end.md\nHeron, reeds, frogs, marsh\n=== g/2 begin.md\nBread\n=== g/2026 plan.md\nBread\n\
         === h/x.md\n---\norder: 1\n---\nHeron, reeds, frogs, marsh\n=== h/y.md\n---\norder: 2\n---\nBread\n=== h/z.md\nBread\n\
         {}",
        herons_and_bread()
    ));
    let siblings = |focus: &str| {
        let mut lines = found(&vault.engine.related(&auto(focus)).unwrap());
        lines.retain(|line| line.contains("Sibling "));
        lines
    };
    assert_eq!(siblings("f/day 2"), ["PriorSibling f/day 1 [folder]"]);
    assert_eq!(siblings("g/10 end"), ["PriorSibling g/2 begin [folder]"]);
    assert_eq!(siblings("h/x"), ["YoungerSibling h/y [folder]"]);
}

#[test]
fn linked_hubs_come_last() {
    let linking = (0..40).map(|n| format!("=== {n}/x.md\n[[hub|-]]\n"));
    let vault = Vault::new(&format!(
        "=== hub.md\nH\n=== a/one.md\n[[hub|-]] [[b/two|-]]\n=== b/two.md\nT\n{}",
        linking.collect::<String>()
    ));
    let found = found(&vault.engine.related(&auto("a/one")).unwrap());
    assert_eq!((found[0].as_str(), found.last().unwrap().as_str()), ("Linked b/two", "Linked hub"));
}

#[test]
fn pages_join_to_one_answer() {
    let vault = Vault::with_vectors(
        "=== f/a.md\n[[b]] [[g/c]]\n=== f/b.md\nabc\n=== f/d.md\nabd\n=== g/c.md\n[[f/a]] abe\n=== g/e.md\n[[f/a]]\n=== g/f.md\nzz\n",
    );
    let whole = found(&vault.engine.related(&auto("f/a")).unwrap());
    let mut joined = Vec::new();
    let mut request = RelatedRequest { budget: Budget::Related(Tokens::new(1)), ..auto("f/a") };
    for _ in 0..20 {
        let page = vault.engine.related(&request).unwrap();
        joined.extend(found(&page));
        match page.resume_token {
            Some(resume_token) => request = RelatedRequest { resume_token, ..request },
            None => break,
        }
    }
    assert_eq!(joined, whole);
    let first = vault
        .engine
        .related(&RelatedRequest { budget: Budget::Related(Tokens::new(1)), ..auto("f/a") });
    let mixed = RelatedRequest {
        relations: Some(RelationSet::Structure),
        resume_token: first.unwrap().resume_token.unwrap(),
        ..auto("f/a")
    };
    let refused = vault.engine.related(&mixed).err();
    assert!(
        matches!(refused, Some(EngineError::InvalidArgument { field: "resume_token", .. })),
        "{refused:?}"
    );
}

#[test]
fn setting_decides_unless_the_request_does() {
    let vault = Vault::new("=== a.md\n[[b]]\n=== b.md\nB\n");
    let settings =
        RelatedSettings { relations: RelationSet::Structure, ..RelatedSettings::default() };
    let engine = vault.engine.clone().with_related(settings);
    let used = |engine: &Engine, relations| {
        let answer = engine.related(&RelatedRequest { relations, ..auto("a") }).unwrap();
        (answer.relations, answer.found.related_notes.len())
    };
    assert_eq!(used(&vault.engine, None), (RelationSet::Auto, 1));
    assert_eq!(used(&engine, None), (RelationSet::Structure, 0));
    assert_eq!(used(&engine, Some(RelationSet::Auto)), (RelationSet::Auto, 1));
}

#[test]
fn context_of_a_focus_uses_the_same_relations() {
    let vault = Vault::new("=== x/a.md\n[[y/b]]\n=== y/b.md\nB\n=== z/c.md\n[[x/a]]\n");
    let of = |relations| {
        let focus = FocusSource { name: "x/a".into(), relations, ..FocusSource::default() };
        let answer = vault
            .engine
            .context(&weft_engine::context::ContextRequest { focus: Some(focus), ..request() });
        let answer = answer.unwrap();
        let items: Vec<(String, String)> = answer
            .items
            .iter()
            .map(|item| (item.item.uri.to_string(), item.item.relation.clone().unwrap_or_default()))
            .collect();
        (answer.summary.relations, items)
    };
    let pair = |uri: &str, relation: &str| (uri.to_owned(), relation.to_owned());
    assert_eq!(
        of(None),
        (
            Some(RelationSet::Auto),
            vec![pair("x/a", "Self"), pair("y/b", "Linked"), pair("z/c", "LinkedFrom")]
        )
    );
    assert_eq!(
        of(Some(RelationSet::Structure)),
        (Some(RelationSet::Structure), vec![pair("x/a", "Self")])
    );
}

/// Returns an engine without vectors over a folder that is only read.
fn open(root: &Path, store: &Path) -> Engine {
    let settings = IndexSettings {
        store: store.to_owned(),
        vaults: vec![VaultSettings { name: "vault".into(), root: root.to_owned() }],
        watch: WatchOptions { enabled: false, ..WatchOptions::default() },
        ..IndexSettings::default()
    };
    let indexer = Indexer::open(settings, None, None).unwrap();
    Engine::new(indexer.reader(), EngineSettings::default())
}

#[test]
fn note_with_a_link_or_a_neighbor_has_related_notes_at_600_tokens() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shared = root.join("../shared/data/vaults");
    let mut vaults = vec![root.join("examples/timekeeping")];
    for name in ["eips", "foam-docs", "logseq-docs", "tasks-docs"] {
        vaults.extend(Some(shared.join(name)).filter(|path| path.is_dir()));
    }
    for vault in vaults {
        let store = tempfile::tempdir().unwrap();
        let engine = open(&vault, &store.path().join("store"));
        let snapshot = engine.snapshot();
        let notes = &snapshot.notes;
        let graph = notes.graph();
        let all: Vec<(NoteId, String)> =
            notes.summaries().map(|(id, summary)| (id, summary.path.to_owned())).collect();
        let mut n_related = 0;
        for (id, path) in &all {
            let request = RelatedRequest {
                budget: Budget::Related(Tokens::new(600)),
                estimator: None,
                ..auto(graph.uri(*id).as_str())
            };
            let answer = engine.related(&request).unwrap();
            let linked = graph.outgoing(*id).iter().chain(graph.inbound(*id));
            let is_linked = linked
                .map(|half| half.other)
                .any(|other| other != *id && !graph.is_placeholder(other));
            let in_folder = |(other, near): &(NoteId, String)| {
                other != id && folder_of(near) == folder_of(path)
            };
            let has_neighbor = is_linked || all.iter().any(in_folder);
            assert!(
                !has_neighbor || !answer.found.related_notes.is_empty(),
                "{}: {path} has no related notes",
                vault.display()
            );
            n_related += usize::from(!answer.found.related_notes.is_empty());
        }
        assert!(
            n_related * 10 >= all.len() * 9,
            "{}: {n_related} of {}",
            vault.display(),
            all.len()
        );
    }
}
