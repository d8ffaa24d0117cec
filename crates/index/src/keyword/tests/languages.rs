//! Tests of languages and spellings, in notes and in queries.

use unicode_normalization::UnicodeNormalization as _;
use weft_model::NoteId;

use super::*;

/// A query is stemmed in the languages of the live notes only.
#[test]
fn language_disappears_with_its_last_note() {
    let settings =
        KeywordSettings { merge_factor: 9, max_deleted_share: 1.0, ..KeywordSettings::default() };
    let (mut writer, _) = KeywordWriter::in_memory(settings).unwrap();
    let english = "The ferns were growing in the shade of the old houses for a long time";
    let russian = "Папоротники росли в тени старых домов, и они давно не были политы водой";
    add_notes(&mut writer, [english, russian, russian].map(|body| document("", body)));
    let languages = writer.commit(1).unwrap().languages().to_vec();
    assert_eq!(languages, [Language::Russian, Language::English]);
    for (generation, note, expected) in
        [(2, 1, &[Language::English, Language::Russian][..]), (3, 2, &[Language::English])]
    {
        writer.delete(NoteId::new(note)).unwrap();
        let reader = writer.commit(generation).unwrap();
        assert_eq!(reader.languages(), expected);
        assert_eq!(
            reader.mean_length().to_bits(),
            indexed(settings, &[("", english), ("", russian)][..expected.len()])
                .mean_length()
                .to_bits()
        );
    }
}

#[test]
fn one_index_holds_several_languages() {
    let reader = reader(&[
        (
            "Farne",
            "Die Farne wachsen im Schatten der alten Häuser, und sie sind schon lange nicht mehr gegossen worden",
        ),
        (
            "Ferns",
            "The ferns were growing in the shade of the old houses, and they have not been watered for a long time",
        ),
        (
            "Папоротники",
            "Папоротники росли в тени старых домов, и они давно не были политы водой, но это не беда",
        ),
    ]);
    assert_eq!(reader.languages(), [Language::English, Language::German, Language::Russian]);
    for (query, expected) in
        [("Haus", 0), ("Häuser", 0), ("house", 1), ("grow", 1), ("gewachsen", 0), ("папоротник", 2)]
    {
        let expected: &[u32] = if query == "gewachsen" { &[] } else { &[expected] };
        assert_eq!(found(&reader, query), expected, "{query}");
    }
    let fixed = KeywordSettings {
        language: LanguageChoice::Fixed(Language::OtherLatin),
        ..KeywordSettings::default()
    };
    assert!(found(&indexed(fixed, &[("", "houses")]), "house").is_empty(), "no stemming");
}

/// A stop word of one language can be a content word in another.
#[test]
fn note_in_a_rare_language_is_found() {
    let english = "The keepers of the lighthouse were writing long letters about storms, and nobody was answering them.";
    let german = "Die alten Häuser an der Straße wurden im letzten Jahr von den Bürgern renoviert, weil die Leute es wollten.";
    let mut notes = vec![("letters", english); 150];
    notes.push(("Häuser", german));
    let reader = reader(&notes);
    for query in ["Häuser", "haus", "+Bürgern Jahr", "Strasse"] {
        assert_eq!(found(&reader, query), [150], "{query}");
    }
    assert_eq!(found(&reader, "renoviert Jahr -Häuser"), [0; 0]);
}

/// A query without diacritics finds words with them, and vice versa.
#[test]
fn diacritics_are_ignored() {
    let pairs = [
        (
            Language::English,
            "Schrödinger résumé cliché Brontë soufflé Hermès élites touché pâtés Straße",
        ),
        (Language::German, "José René Citroën crème Müller Häuser Maßnahmen größer"),
        (Language::French, "élevée aimées préférés théâtre garçons déjà naïve cœurs"),
        (Language::Spanish, "educación acción corazón niños canciones públicas jamás"),
        (Language::Portuguese, "informações coração católica avó pães"),
        (Language::Italian, "città perché caffè libertà"),
        (Language::Turkish, "çocuklar güneş ışık"),
        (Language::OtherLatin, "żółty łódź"),
    ];
    for (language, words) in pairs {
        let settings = KeywordSettings {
            language: LanguageChoice::Fixed(language),
            ..KeywordSettings::default()
        };
        for word in words.split(' ') {
            let plain: String = word
                .nfd()
                .filter(|c| !unicode_normalization::char::is_combining_mark(*c))
                .flat_map(|c| match c {
                    'ß' => vec!['s', 's'],
                    'œ' => vec!['o', 'e'],
                    'ı' => vec!['i'],
                    'ł' => vec!['l'],
                    _ => vec![c],
                })
                .collect();
            for (written, typed) in [(word, &*plain), (&plain, word)] {
                let title = "zz";
                let (mut writer, _) = KeywordWriter::in_memory(settings).unwrap();
                add_notes(&mut writer, [document(title, written), document(written, "qq")]);
                let reader = writer.commit(1).unwrap();
                for typed in [typed.to_owned(), typed.to_uppercase(), format!("+{typed}")] {
                    assert_eq!(
                        found_set(&reader, &typed),
                        [0, 1],
                        "{typed} in {written}, {language:?}"
                    );
                }
                let query = reader.parse(typed, &QueryOptions::default()).unwrap();
                let named = reader.mentions(&query).unwrap().notes;
                assert_eq!(named.len(), 1, "{typed} names {written}, {language:?}");
            }
        }
    }
    let signs = reader(&[
        ("a", "5 \u{b5}m"),
        ("b", "5 \u{3bc}m"),
        ("c", "qzx\u{212a}vwk"),
        ("d", "qzxKvwk"),
    ]);
    for (query, expected) in
        [("\u{b5}m", [0, 1]), ("\u{3bc}m", [0, 1]), ("\u{39c}M", [0, 1]), ("qzxkvwk", [2, 3])]
    {
        assert_eq!(found_set(&signs, query), expected, "{query}");
    }
}

#[test]
fn stop_words_depend_on_the_language_of_the_query() {
    let english = "The house was insured in the spring, and they have not paid for a long time";
    let french = "Les chats dorment dans la maison, car ils sont fatigués et il ne fait pas beau";
    let notes = [english, english, english, french].map(|body| ("", body));
    let reader = reader(&notes);
    assert_eq!(reader.languages(), [Language::English, Language::French]);
    for (query, expected) in [
        ("car insurance", "car insurance"),
        ("what does the car insurance cover", "car insurance cover"),
        ("the car and the son", "car son"),
        ("pourquoi les chats dorment car ils sont fatigués", "chats dorment fatigués"),
        ("dans les maisons", "maisons"),
        ("the les", "les"),
        ("car", "car"),
        ("the", "the"),
    ] {
        let query = reader.parse(query, &QueryOptions::default()).unwrap();
        let words: Vec<&str> = query.terms().iter().map(|term| &*term.surface).collect();
        assert_eq!(words.join(" "), expected);
    }
}
