//! Small PDF files, built from their parts: valid, damaged, encrypted, and hostile ones.

use std::io::Write as _;

/// A PDF file that is being built. Pages use the font `/F1`, Helvetica in the encoding of Windows.
#[derive(Clone, Debug, Default)]
pub struct PdfFile {
    /// Objects after the catalog (1), the page tree (2) and the font (3).
    objects: Vec<Vec<u8>>,
    pages: Vec<usize>,
    /// Entries of the trailer.
    trailer: String,
}

/// Number of objects before [`PdfFile::objects`].
const FIXED_OBJECTS: usize = 3;

impl PdfFile {
    /// Creates a file without pages.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a file with a page for each text; the lines of a text are lines on the page.
    #[must_use]
    pub fn with_pages(texts: &[&str]) -> Self {
        let mut file = Self::new();
        for text in texts {
            let lines: Vec<String> = text.lines().map(|line| format!("({line}) Tj T*\n")).collect();
            file.add_page(&format!("BT /F1 12 Tf 14 TL 72 720 Td {}ET", lines.concat()));
        }
        file
    }

    /// Adds an object; returns its number.
    pub fn add_object(&mut self, object: impl Into<Vec<u8>>) -> usize {
        self.objects.push(object.into());
        self.objects.len() + FIXED_OBJECTS
    }

    /// Adds a stream with the `entries` of its dictionary; returns its number.
    pub fn add_stream(&mut self, entries: &str, bytes: &[u8]) -> usize {
        let head = format!("<< {entries} /Length {} >>\nstream\n", bytes.len());
        self.add_object([head.as_bytes(), bytes, b"\nendstream"].concat())
    }

    /// Adds a stream that is compressed.
    pub fn add_compressed(&mut self, entries: &str, bytes: &[u8]) -> usize {
        let mut encoder =
            flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        // Writing to memory does not fail.
        let compressed = encoder.write_all(bytes).and_then(|()| encoder.finish());
        let compressed = compressed.unwrap_or_default();
        self.add_stream(&format!("{entries} /Filter /FlateDecode"), &compressed)
    }

    /// Adds a page that shows `content`.
    pub fn add_page(&mut self, content: &str) {
        let content = self.add_stream("", content.as_bytes());
        self.add_page_of(content, "");
    }

    /// Adds a page that shows the stream `content`, with more `resources`.
    pub fn add_page_of(&mut self, content: usize, resources: &str) {
        let page = format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {content} 0 R /Resources << /Font << /F1 3 0 R >> {resources} >> >>"
        );
        self.add_page_object(&page);
    }

    /// Adds a page with the dictionary `page`.
    pub fn add_page_object(&mut self, page: &str) {
        let page = self.add_object(page);
        self.pages.push(page);
    }

    /// Sets the title and the author.
    pub fn set_information(&mut self, title: &str, author: &str) {
        let object =
            format!("<< /Title ({title}) /Author ({author}) /CreationDate (D:20240310120000Z) >>");
        let object = self.add_object(object);
        self.trailer += &format!(" /Info {object} 0 R");
    }

    /// Makes the file ask for a password.
    pub fn encrypt(&mut self) {
        let key = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
        let object = self
            .add_object(format!("<< /Filter /Standard /V 1 /R 2 /O <{key}> /U <{key}> /P -4 >>"));
        self.trailer += &format!(" /Encrypt {object} 0 R /ID [<00> <00>]");
    }

    /// Returns the bytes of the file.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let kids: String = self.pages.iter().map(|page| format!("{page} 0 R ")).collect();
        let fixed: [String; FIXED_OBJECTS] = [
            "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
            format!("<< /Type /Pages /Kids [{kids}] /Count {} >>", self.pages.len()),
            "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
                .to_owned(),
        ];
        let objects = fixed.iter().map(String::as_bytes);
        let objects = objects.chain(self.objects.iter().map(Vec::as_slice));
        let mut out = b"%PDF-1.7\n".to_vec();
        let mut offsets = Vec::new();
        for (number, object) in (1..).zip(objects) {
            offsets.push(out.len());
            out.extend(format!("{number} 0 obj\n").as_bytes());
            out.extend(object);
            out.extend(b"\nendobj\n");
        }
        let start = out.len();
        let size = offsets.len() + 1;
        out.extend(format!("xref\n0 {size}\n0000000000 65535 f \n").as_bytes());
        for offset in offsets {
            out.extend(format!("{offset:010} 00000 n \n").as_bytes());
        }
        out.extend(
            format!(
                "trailer\n<< /Size {size} /Root 1 0 R{} >>\nstartxref\n{start}\n%%EOF\n",
                self.trailer
            )
            .as_bytes(),
        );
        out
    }
}

/// Returns a file with one page that takes longer to read than anybody waits: forms that show each other many times.
#[must_use]
pub fn endless_pdf() -> Vec<u8> {
    let mut file = PdfFile::new();
    let mut inner = file.add_stream("/Type /XObject /Subtype /Form", b"q Q");
    for _ in 0..7 {
        let entries =
            format!("/Type /XObject /Subtype /Form /Resources << /XObject << /X {inner} 0 R >> >>");
        inner = file.add_stream(&entries, "/X Do ".repeat(100).as_bytes());
    }
    let content = file.add_stream("", "/X Do ".repeat(100).as_bytes());
    file.add_page_of(content, &format!("/XObject << /X {inner} 0 R >>"));
    file.bytes()
}
