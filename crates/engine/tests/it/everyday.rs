//! Inputs that people type and write, after public complaints about tools for notes, end to end.

use proptest::prelude::*;
use weft_engine::context::{ContextBudget, ContextRequest, PackingProfile};
use weft_engine::{
    Filter, ListRequest, NoteRequest, ResolveRequest, SearchMode, SearchRequest, WarningCode,
};

use crate::Vault;
use crate::context::request;

fn words(query: &str) -> SearchRequest {
    let mode = SearchMode::Keyword;
    SearchRequest {
        query: query.into(),
        mode,
        limit: 50,
        snippets: Some(2),
        ..SearchRequest::default()
    }
}

/// Returns the uris of the hits, best first.
fn found(vault: &Vault, query: &str) -> Vec<String> {
    let hits = vault.engine.search(&words(query)).unwrap().hits;
    hits.iter().map(|hit| hit.uri.to_string()).collect()
}

fn first(vault: &Vault, query: &str) -> Option<String> {
    found(vault, query).into_iter().next()
}

fn resolved(vault: &Vault, target: &str) -> Option<String> {
    let request = ResolveRequest { target: target.into(), from: None };
    vault.engine.resolve(&request).unwrap().uri.map(|uri| uri.to_string())
}

fn warnings(vault: &Vault, query: &str) -> Vec<(WarningCode, String)> {
    let warnings = vault.engine.search(&words(query)).unwrap().warnings;
    warnings.into_iter().map(|warning| (warning.code, warning.message)).collect()
}

/// Notes whose title is not the name by which people look for them.
const NAMED: &str = "=== RFC2119.md
# Key words for use in RFCs
must and should
=== Sourdough.md
Feed it daily.

# Ingredients
flour, water
=== draw/Plan.excalidraw.md
---
excalidraw-plugin: parsed
---
# Excalidraw Data

## Text Elements
a garden ^x1
=== Board.md
---
kanban-plugin: board
---
# Doing
- [ ] weed
=== journal/2024-05-01.md
# Wednesday
rain
=== journal/2024-05-02.md
# Thursday, after 2024-05-01
sun after 2024-05-01
=== notes/about.md
On 2024-05-01 and RFC2119, a sourdough plan on a board.
=== titled.md
---
title: Given Title
aliases: [Second Name]
id: note-4711
---
# Heading
text
=== compost/bin.md
worms
";

#[test]
fn names_that_links_know_are_found_by_search() {
    let vault = Vault::new(NAMED);
    for (query, expected, title) in [
        ("RFC2119", "RFC2119", "Key words for use in RFCs"),
        ("Key words for use in RFCs", "RFC2119", "Key words for use in RFCs"),
        ("Sourdough", "Sourdough", "Sourdough"),
        ("Plan.excalidraw", "draw/Plan.excalidraw", "Plan.excalidraw"),
        ("Board", "Board", "Board"),
        ("2024-05-01", "journal/2024-05-01", "Wednesday"),
        ("journal/2024-05-01", "journal/2024-05-01", "Wednesday"),
        ("Given Title", "note-4711", "Given Title"),
        ("Second Name", "note-4711", "Given Title"),
        ("note-4711", "note-4711", "Given Title"),
        ("titled", "note-4711", "Given Title"),
    ] {
        let answer = vault.engine.search(&words(query)).unwrap();
        let hit = &answer.hits[0];
        assert_eq!((hit.uri.as_str(), &*hit.title), (expected, title), "{query}");
        assert!(hit.name.is_some(), "{query}: the name that was met is explained");
    }
    assert_eq!(found(&vault, "compost"), ["compost/bin"], "a folder is a weak word");
    assert_eq!(first(&vault, "Excalidraw Data").as_deref(), Some("draw/Plan.excalidraw"));
}

/// Names of files, a few for each script.
const SCRIPTS: &[&str] = &[
    "Fjordgärten",
    "naïve façade",
    "Đà Nẵng",
    "Журнал наблюдений",
    "Ємність",
    "Ημερολόγιο Κήπου",
    "يوميات البستان",
    "يادداشت‌ها",
    "יומן הגן",
    "बगीचा डायरी",
    "বাগান ডায়েরি",
    "தோட்டம்",
    "తోట",
    "ತೋಟ",
    "പൂന്തോട്ടം",
    "สวนดอกไม้",
    "ສວນດອກໄມ້",
    "សួនច្បារ",
    "ဥယျာဉ်",
    "བཀྲ་ཤིས",
    "ბაღის დღიური",
    "Այգու օրագիր",
    "የአትክልት ማስታወሻ",
    "ᏣᎳᎩ",
    "园艺日记",
    "園",
    "ガーデン",
    "にわのにっき",
    "庭の日記",
    "정원일기",
    "정원 일기",
    "цветок",
    "🌿",
    "🌿 Fern",
    "🇯🇵",
    "👩‍🔬",
    "C#",
    "C++",
    "node.js",
    "A",
    "7",
    "٣",
    "ﬁnal",
    "x_y-z",
    "the",
    "AT&T",
    "O'Neill",
    "50%",
    "a+b",
    "v1.2.3",
    "Σίσυφος",
    "İstanbul",
    "ñandú",
    "Ⅻ",
];

#[test]
fn names_in_all_scripts_are_found_by_search_and_links() {
    let files: String = SCRIPTS.iter().map(|name| format!("=== s/{name}.md\nx\n")).collect();
    let vault = Vault::new(&files);
    let wrong: Vec<_> = SCRIPTS
        .iter()
        .map(|name| {
            let uri = resolved(&vault, name);
            (
                name,
                uri.clone(),
                first(&vault, name).filter(|hit| Some(hit) != uri.as_ref()),
                found(&vault, name).is_empty(),
            )
        })
        .filter(|(_, uri, other, is_missing)| uri.is_none() || other.is_some() || *is_missing)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Returns a word in one of several scripts.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zäöüéñß]{2,8}",
        "[A-Z][a-z]{1,6}[0-9]{0,4}",
        "[а-яё]{2,8}",
        "[α-ω]{2,8}",
        "[א-ת]{2,7}",
        "[ا-غ]{2,7}",
        "[क-ह]{2,6}",
        "[ก-ฮ]{2,6}",
        "[一-龥]{1,4}",
        "[あ-ん]{2,5}",
        "[ァ-ヴ]{2,5}",
        "[가-힣]{1,4}",
        "[🌿🌱🍄🌸🌵]",
        "[0-9]{1,6}",
    ]
}

fn name() -> impl Strategy<Value = String> {
    let separator = prop_oneof![Just(" "), Just("-"), Just("_"), Just(" - "), Just(".")];
    (word(), proptest::collection::vec((separator, word()), 0..3)).prop_map(|(first, rest)| {
        rest.into_iter().fold(first, |name, (separator, word)| name + separator + &word)
    })
}

#[derive(Clone, Debug)]
struct Metadata {
    folder: Option<String>,
    file: String,
    title: Option<String>,
    alias: Option<String>,
    id: Option<String>,
    heading: Option<String>,
}

fn metadata() -> impl Strategy<Value = Metadata> {
    let maybe = || proptest::option::of(name());
    (maybe(), name(), maybe(), maybe(), maybe(), maybe()).prop_map(
        |(folder, file, title, alias, id, heading)| Metadata {
            folder,
            file,
            title,
            alias,
            id,
            heading,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn search_finds_what_a_link_resolves_to(notes in proptest::collection::vec(metadata(), 1..12)) {
        let mut files = String::new();
        let mut names = Vec::new();
        for Metadata { folder, file, title, alias, id, heading } in &notes {
            let path = folder.as_ref().map_or(file.clone(), |folder| format!("{folder}/{file}"));
            let line = |key: &str, value: &Option<String>| {
                value.as_ref().map_or(String::new(), |value| format!("{key}: \"{value}\"\n"))
            };
            files += &format!("=== {path}.md\n---\n{}", line("title", title));
            files += &line("aliases", alias);
            files += &line("id", id);
            files += "---\n";
            files += &heading.as_ref().map_or(String::new(), |text| format!("# {text}\n"));
            files += "Some text.\n";
            names.extend([Some(path), Some(file.clone()), title.clone(), alias.clone(), id.clone()]);
        }
        let vault = Vault::new(&files);
        for name in names.into_iter().flatten() {
            let Some(uri) = resolved(&vault, &name) else { continue };
            prop_assert!(found(&vault, &name).contains(&uri), "`{name}` is {uri}: {files}");
        }
    }
}

#[test]
fn words_are_found_as_they_are_said() {
    let blob = "iVBORw0KGgoAAAANSUhEUgAAB9AAAAQ4CAYAAABNwNvDAAAACXBIWXMAAAsTAAALEwEAmpwYAAAAAXNSR0IArs4c6QAAAARnQU1BAACx".repeat(60);
    let vault = Vault::new(&format!(
        "=== Fan.md\ntp\\_fan reads AT&amp;T, caf&eacute;, Mr.&nbsp;Smith\n\
         === Parts.md\n**un**important, H<sub>2</sub>O, [linked phrase](https://example.org/x) here\n\
         === Blob.md\nBefore the picture ![p](data:image/png;base64,{blob}) the answer is quartz.\n\n{blob} after it\n\
         === Drawing.md\n```compressed-json\n{blob}\n```\nsketch of quartz\n"
    ));
    for (query, expected) in [
        ("+tp_fan", vec!["Fan"]),
        ("eacute", vec![]),
        ("nbsp", vec![]),
        ("AT&T", vec!["Fan"]),
        ("+café", vec!["Fan"]),
        ("\"Mr. Smith\"", vec!["Fan"]),
        ("+unimportant", vec!["Parts"]),
        ("+H2O", vec!["Parts"]),
        ("+\"linked phrase here\"", vec!["Parts"]),
        (
            "iVBORw0KGgoAAAANSUhEUgAAB9AAAAQ4CAYAAABNwNvDAAAACXBIWXMAAAsTAAALEwEAmpwYAAAAAXNSR0IArs4c6QAAAARnQU1BAACx",
            vec![],
        ),
    ] {
        assert_eq!(found(&vault, query), expected, "{query}");
    }
    let shown_place = |query: &str, written: &str, uri: &str| {
        let hits = vault.engine.search(&words(query)).unwrap().hits;
        let snippet = &hits[0].snippets[0];
        let note = vault.engine.note(&NoteRequest { name: uri.into(), ..NoteRequest::default() });
        let body: String = note.unwrap().body.chars().collect();
        let part: String = body
            .chars()
            .skip(snippet.start as usize)
            .take((snippet.end - snippet.start) as usize)
            .collect();
        assert!(part.contains(written), "{query}: {part}");
        snippet.text.clone()
    };
    assert!(
        shown_place("+tp_fan", "tp\\_fan", "Fan").contains("tp_fan reads AT&T, café, Mr. Smith")
    );
    assert!(shown_place("+H2O", "H<sub>2</sub>O", "Parts").contains("H2O"));
}

#[test]
fn encoded_data_is_shown_by_no_answer_except_the_note() {
    let blob = "iVBORw0KGgoAAAANSUhEUgAAB9AAAAQ4CAYAAABNwNvDAAAACXBIWXMAAAsTAAALEwEAmpwYAAAAAXNSR0IArs4c6QAAAARnQU1BAACx".repeat(30);
    let uri = format!("data:image/svg+xml,%3Csvg%20width='1'%3E{}", "%3Cpath/%3E".repeat(200));
    let vault = Vault::new(&format!(
        "=== mixed.md\n# Mixed\n\nThe picture data:image/png;base64,{blob} shows quartz in a seam of {blob} granite.\n\n\
         ## Part\n\nMore quartz. {uri} End of quartz.\n\n[link](data:text/plain;base64,{blob})\n\n| a | {blob} |\n|---|---|\n| quartz | x |\n\n\
         === other.md\nsee [[mixed]] about quartz\n"
    ));
    let is_clean = |text: &str, from: &str| {
        assert!(!text.contains("iVBORw0KGgo"), "{from}: {text}");
        assert!(!text.contains("%3Cpath"), "{from}: {text}");
        assert!(!text.contains("QU1BAACx"), "{from}: {text}");
    };
    for query in ["quartz", "granite seam", "End of quartz", "mixed"] {
        for hit in vault.engine.search(&words(query)).unwrap().hits {
            for snippet in hit.snippets {
                is_clean(&snippet.text, "snippet");
            }
        }
        for packing in [PackingProfile::Evidence, PackingProfile::Classic, PackingProfile::Plain] {
            for tokens in [60, 400, 100_000] {
                let budget = Some(ContextBudget::Tokens(weft_model::Tokens::new(tokens)));
                let request = ContextRequest {
                    query: query.into(),
                    packing: Some(packing),
                    budget,
                    explain: true,
                    rendering: weft_engine::Rendering::Markdown,
                    ..request()
                };
                let answer = vault.engine.context(&request).unwrap();
                let rendered = answer.summary.rendered.clone().unwrap_or_default();
                is_clean(&rendered, &format!("{packing:?} {tokens}"));
                if tokens == 100_000 {
                    assert!(rendered.contains("granite") || rendered.contains("see"), "{rendered}");
                }
                let body = &vault
                    .engine
                    .note(&NoteRequest { name: "mixed".into(), ..NoteRequest::default() })
                    .unwrap()
                    .body;
                for item in &answer.items {
                    for block in &item.item.blocks {
                        assert!(
                            block.end as usize <= body.chars().count(),
                            "{packing:?} {block:?}"
                        );
                    }
                    for passage in
                        item.item.passages.iter().filter(|_| item.item.uri.as_str() == "mixed")
                    {
                        let lines = body.lines().count();
                        assert!(
                            passage.first_line <= passage.last_line
                                && passage.last_line as usize <= lines + 1
                        );
                    }
                }
            }
        }
    }
    let whole =
        vault.engine.note(&NoteRequest { name: "mixed".into(), ..NoteRequest::default() }).unwrap();
    assert!(whole.body.contains(&blob) && whole.body.contains(&uri));
}

#[test]
fn nothing_of_a_query_or_a_note_is_lost() {
    let vault = Vault::new(
        "=== book.md\n---\nauthor: Ursula Marsh\n---\nabout a valley\n\
         === both.md\ncats and dogs\n=== cat.md\ncats\n=== dog.md\ndogs\n\
         === gap.md\nnot here, only between\n",
    );
    assert_eq!(found(&vault, "Ursula"), ["book"]);
    assert_eq!(found(&vault, "cats AND dogs"), ["both"]);
    assert_eq!(found(&vault, "cats NOT dogs"), ["cat"]);
    let mut either = found(&vault, "cats OR dogs");
    either.sort();
    assert_eq!(either, ["both", "cat", "dog"]);
    for query in ["cats AND dogs", "cats NOT dogs", "cats OR dogs"] {
        let codes: Vec<WarningCode> = warnings(&vault, query).into_iter().map(|it| it.0).collect();
        assert_eq!(codes, [WarningCode::QueryOperators], "{query}");
    }
    assert_eq!(found(&vault, "cats -dogs"), ["cat"]);
}

#[test]
fn dates_date_a_note_in_common_forms() {
    let forms = [
        ("2024-03", "2024-03-01"),
        ("2024-03-10 10:00:00 UTC", "2024-03-10"),
        ("\"[[2024-03-10|today]]\"", "2024-03-10"),
        ("Sunday, March 10th 2024, 11:30:00 pm", "2024-03-10"),
        ("2024-03-10T23:30:00-08:00", "2024-03-10"),
    ];
    let files: String = (0..)
        .zip(forms)
        .map(|(at, (form, _))| format!("=== n{at}.md\n---\ndate: {form}\n---\nx\n"))
        .collect();
    let vault = Vault::new(&files);
    for (at, (form, day)) in (0..).zip(forms) {
        let next: String = format!("{}{:02}", &day[..8], day[8..].parse::<u32>().unwrap() + 1);
        let filter = Filter { after: Some(day.into()), before: Some(next), ..Filter::default() };
        let request = ListRequest { filter, ..ListRequest::default() };
        let notes = vault.engine.list(&request).unwrap().notes;
        let uris: Vec<String> = notes.iter().map(|note| note.uri.to_string()).collect();
        assert!(uris.contains(&format!("n{at}")), "{form} on {day}: {uris:?}");
    }
}

#[test]
fn phrases_alone_are_required_or_said_to_be_missing() {
    let vault = Vault::new(
        "=== a.md\ngreen moss on stone\n=== b.md\nmoss that is green, on grey stone\n=== c.md\ngreen moss, grey stone\n",
    );
    let sorted = |query: &str| {
        let mut uris = found(&vault, query);
        uris.sort();
        uris
    };
    assert_eq!(sorted("\"green moss\""), ["a", "c"]);
    assert_eq!(sorted("\"green moss\" \"grey stone\""), ["c"]);
    assert_eq!(warnings(&vault, "\"green moss\" \"grey stone\""), []);
    assert_eq!(sorted("\"moss on stone\" \"grey stone\""), ["a", "b", "c"]);
    let warned = warnings(&vault, "\"moss on stone\" \"grey stone\"");
    assert_eq!(warned[0].0, WarningCode::PhraseNotFound);
    assert!(warned[0].1.starts_with("no note contains all 2 phrases"), "{warned:?}");
    let warned = warnings(&vault, "\"stone moss\"");
    assert!(warned[0].1.starts_with("no note contains the phrase"), "{warned:?}");
}

#[test]
fn typed_spelling_ranks_above_folded_spellings() {
    // The other spelling may also be the name of its note.
    for [article, ring, rope, house, it] in
        [["article", "ring", "rope", "house", "pronoun"], ["the", "ano", "net", "home", "it"]]
    {
        let vault = Vault::new(&format!(
            "=== tea.md\nle thé vert\n=== {article}.md\nthe green the\n\
             === year.md\nel año pasado\n=== {ring}.md\nel ano\n\
             === dot.md\nthe .NET runtime\n=== {rope}.md\na net of rope, net\n\
             === shell.md\nset $HOME first\n=== {house}.md\nmy home is home\n\
             === office.md\nthe IT department\n=== {it}.md\nit is here, and it stays\n",
        ));
        for (query, expected, other) in [
            ("+thé", "tea", article),
            ("año", "year", ring),
            (".NET", "dot", rope),
            ("$HOME", "shell", house),
            ("IT", "office", it),
        ] {
            let uris = found(&vault, query);
            assert_eq!(uris.first().map(String::as_str), Some(expected), "{query}: {uris:?}");
            assert!(uris.iter().any(|uri| uri == other), "{query} loses {other}: {uris:?}");
        }
    }
}

#[test]
fn heading_without_text_is_found() {
    let vault = Vault::new(
        "=== plan.md\n# Plan\n\n## Harvest\n\n## Sowing\n\n### Seedlings\n\n## Notes\n\ntext\n\n## Winter\n\
         === other.md\n# Other\n\ntext\n",
    );
    for query in ["Harvest", "sowing", "+seedlings", "\"Winter\"", "harvest plan"] {
        assert_eq!(found(&vault, query).first().map(String::as_str), Some("plan"), "{query}");
    }
}

#[test]
fn word_is_found_while_it_is_typed() {
    let vault = Vault::new("=== weather.md\nread the barometer\n=== other.md\nread the book\n");
    assert_eq!(found(&vault, "barom*"), ["weather"]);
    assert!(!found(&vault, "read barom").is_empty());
    let typed = SearchRequest { prefix_last_word: true, ..words("barom") };
    let hits = vault.engine.search(&typed).unwrap().hits;
    assert_eq!(hits.iter().map(|hit| hit.uri.as_str()).collect::<Vec<_>>(), ["weather"]);
    assert!(found(&vault, "barom").is_empty());
}

#[test]
fn text_above_the_body_is_not_lost() {
    let vault = Vault::new(
        "=== house.md\n---\n**OAK HOUSE**\n---\nrest\n=== quote.md\n---\n> a quoted beginning\n---\nrest\n\
         === linked.md\n---\nwe follow [[plan]]\n---\nrest\n=== plan.md\nsteps\n\
         === leftover.md\n---\ntags: [x]\nstray marmalade line\n---\nrest\n",
    );
    for (query, uri) in
        [("\"OAK HOUSE\"", "house"), ("\"quoted beginning\"", "quote"), ("marmalade", "leftover")]
    {
        assert_eq!(first(&vault, query).as_deref(), Some(uri), "{query}");
    }
    let note = |name: &str| {
        vault.engine.note(&NoteRequest { name: name.into(), ..NoteRequest::default() }).unwrap()
    };
    assert!(note("house").body.contains("**OAK HOUSE**"));
    assert_eq!(note("plan").backlinks.len(), 1);
    assert!(note("leftover").body.contains("rest"));
}
