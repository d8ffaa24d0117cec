//! Tests of the extraction, in this process: valid, damaged and hostile files.

use weft_testkit::PdfFile;

use super::*;

const LIMITS: ExtractionLimits =
    ExtractionLimits { cpu_seconds: 10, memory_bytes: 64 << 20, pages: 100, text_bytes: 1 << 20 };

fn pages(file: &PdfFile) -> Vec<String> {
    extract(&file.bytes(), &LIMITS).expect("a valid file").pages
}

#[test]
fn each_page_has_its_text() {
    let mut file = PdfFile::with_pages(&["Moss is soft\nand green.", "Ferns unroll."]);
    file.set_information("Green plants", "Ada");
    let found = extract(&file.bytes(), &LIMITS).expect("a valid file");
    assert_eq!(found.pages, ["Moss is soft\nand green.", "Ferns unroll."]);
    assert_eq!((found.n_pages, found.n_unreadable, found.truncated), (2, 0, false));
    let properties: Vec<(&str, &str)> =
        found.properties.iter().map(|(key, text)| (key.as_str(), text.as_str())).collect();
    let expected = [("author", "Ada"), ("created", "2024-03-10"), ("title", "Green plants")];
    assert_eq!(properties, expected);
}

#[test]
fn operators_that_show_text_are_read() {
    for (name, content, expected) in [
        ("kerning", "BT /F1 10 Tf [(m) 50 (o) -60 (ss)] TJ ET", "moss"),
        ("gap of a space", "BT /F1 10 Tf [(soft) -300 (moss)] TJ ET", "soft moss"),
        ("next line", "BT /F1 10 Tf 12 TL (soft) Tj (moss) ' ET", "soft\nmoss"),
        ("next line with spacing", "BT /F1 10 Tf 12 TL (soft) Tj 1 0 (moss) \" ET", "soft\nmoss"),
        ("moved by a matrix", "BT /F1 10 Tf (soft) Tj 1 0 0 1 0 -12 Tm (moss) Tj ET", "soft\nmoss"),
        ("turned page", "0 1 -1 0 0 0 cm BT /F1 10 Tf (soft) Tj 60 0 Td (moss) Tj ET", "soft moss"),
        ("letters of Windows", "BT /F1 10 Tf (Gr\\366\\337e) Tj ET", "Größe"),
        ("hexadecimal", "BT /F1 10 Tf <6d6f7373> Tj ET", "moss"),
        ("unknown font", "BT /F2 10 Tf (moss) Tj ET", ""),
        ("no font", "BT (moss) Tj ET", ""),
        ("saved state", "q BT /F1 10 Tf (a) Tj ET Q BT (b) Tj ET", "a"),
        ("unbalanced", "Q Q BT /F1 10 Tf (moss) Tj ET ET", "moss"),
        ("nothing", "", ""),
    ] {
        let mut file = PdfFile::new();
        file.add_page(content);
        assert_eq!(pages(&file), [expected], "{name}");
    }
}

#[test]
fn composite_font_is_read_through_its_map() {
    let mut file = PdfFile::new();
    let map = "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n/CMapName /X def\n/CMapType 2 def\n1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n3 beginbfchar\n<0001> <004D>\n<0002> <00F6>\n<0003> <FB01>\nendbfchar\nendcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n";
    let map = file.add_compressed("", map.as_bytes());
    let inner = file.add_object(
        "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /DW 500 /W [1 [900 500] 3 3 600] >>",
    );
    let font = file.add_object(format!(
        "<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /DescendantFonts [{inner} 0 R] /ToUnicode {map} 0 R >>"
    ));
    let content = file.add_stream("", b"BT /T 10 Tf <000100020003> Tj 26 0 Td <0001> Tj ET");
    let resources = format!("/Font << /T {font} 0 R >>");
    let page = format!(
        "<< /Type /Page /Parent 2 0 R /Contents {content} 0 R /Resources << {resources} >> >>"
    );
    file.add_page_object(&page);
    assert_eq!(pages(&file), ["Möfi M"]);
}

#[test]
fn text_of_forms_is_read() {
    let mut file = PdfFile::new();
    let form = file.add_stream(
        "/Type /XObject /Subtype /Form /Resources << /Font << /F1 3 0 R >> >>",
        b"BT /F1 10 Tf (moss) Tj ET",
    );
    let content = file.add_stream("", b"/X Do");
    file.add_page_of(content, &format!("/XObject << /X {form} 0 R >>"));
    assert_eq!(pages(&file), ["moss"]);
}

#[test]
fn damaged_and_encrypted_files_are_reported() {
    let valid = PdfFile::with_pages(&["moss"]).bytes();
    let mut encrypted = PdfFile::with_pages(&["moss"]);
    encrypted.encrypt();
    let is_broken = |bytes: &[u8]| matches!(extract(bytes, &LIMITS), Err(ExtractionError::Broken(reason)) if !reason.is_empty());
    assert!(is_broken(b""), "empty");
    assert!(is_broken(b"moss"), "not a PDF file");
    assert!(is_broken(&valid[..40]), "the beginning only");
    assert!(is_broken(&PdfFile::new().bytes()), "no pages");
    assert_eq!(extract(&encrypted.bytes(), &LIMITS), Err(ExtractionError::Encrypted));
}

#[test]
fn damaged_table_of_objects_is_rebuilt() {
    let mut bytes = PdfFile::with_pages(&["moss"]).bytes();
    let at = bytes.windows(4).rposition(|four| four == b"xref").expect("a table");
    bytes.truncate(at);
    bytes.extend(b"trailer\n<< /Root 1 0 R >>\n");
    assert_eq!(extract(&bytes, &LIMITS).expect("readable").pages, ["moss"]);
}

#[test]
fn more_pages_or_text_than_the_limit_are_cut() {
    let texts = vec!["moss"; 250];
    let file = PdfFile::with_pages(&texts).bytes();
    let found = extract(&file, &LIMITS).expect("a valid file");
    assert_eq!((found.pages.len(), found.n_pages, found.truncated), (100, 250, true));
    let limits = ExtractionLimits { text_bytes: 6, ..LIMITS };
    let found = extract(&file, &limits).expect("a valid file");
    assert_eq!((found.pages, found.truncated), (vec!["moss".to_owned(), "mo".to_owned()], true));
}

#[test]
fn stream_that_expands_beyond_the_limit_is_not_read() {
    let mut file = PdfFile::with_pages(&["moss"]);
    let bomb = file.add_compressed("", &vec![b' '; 32 << 20]);
    file.add_page_of(bomb, "");
    let found = extract(&file.bytes(), &LIMITS).expect("a valid file");
    assert_eq!((found.pages, found.n_unreadable), (vec!["moss".to_owned(), String::new()], 1));
}

#[test]
fn any_damage_ends_without_a_panic() {
    let mut file = PdfFile::with_pages(&["Moss is soft\nand green.", "Ferns unroll."]);
    file.set_information("Green plants", "Ada");
    let bytes = file.bytes();
    let mut random = weft_testkit::Random::new(7);
    for _ in 0..300 {
        let mut damaged = bytes.clone();
        for _ in 0..3 {
            let at = random.below(damaged.len());
            damaged[at] = u8::try_from(random.below(256)).expect("a byte");
        }
        // Either outcome is right.
        let _ = extract(&damaged, &LIMITS);
    }
}
