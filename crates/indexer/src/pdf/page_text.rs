//! Text of one page of a PDF file: interprets the operators that show text, and derives lines and spaces from the positions.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use lopdf::content::{Content, Operation};
use lopdf::{Dictionary, Document, Encoding, Object, ObjectId, Stream};

use super::page_layout::{Glyphs, PageLayout};

/// Maximum nesting of forms, which are drawings inside drawings.
const MAX_FORM_DEPTH: usize = 8;

/// Maximum nesting of saved graphics states.
const MAX_SAVED_STATES: usize = 256;

/// Width of a glyph whose font states none, in thousandths of the font's size: that of an average letter.
const AVERAGE_WIDTH: f64 = 500.0;

/// Width of a glyph of a composite font that states none. Source: ISO 32000-1, 9.7.4.3.
const COMPOSITE_WIDTH: f64 = 1000.0;

/// A transformation of the plane: `x' = a·x + c·y + e`, `y' = b·x + d·y + f`.
#[derive(Clone, Copy, Debug)]
struct Matrix([f64; 6]);

impl Matrix {
    const IDENTITY: Self = Self([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    /// Returns the transformation that applies `self` first and `next` afterwards.
    fn then(self, next: Self) -> Self {
        let (Self([a, b, c, d, e, f]), Self([p, q, r, s, t, u])) = (self, next);
        Self([
            a * p + b * r,
            a * q + b * s,
            c * p + d * r,
            c * q + d * s,
            e * p + f * r + t,
            e * q + f * s + u,
        ])
    }

    const fn shift(x: f64, y: f64) -> Self {
        Self([1.0, 0.0, 0.0, 1.0, x, y])
    }

    fn apply(self, x: f64, y: f64) -> (f64, f64) {
        let Self([a, b, c, d, e, f]) = self;
        (a * x + c * y + e, b * x + d * y + f)
    }

    fn from(operands: &[Object]) -> Option<Self> {
        let mut numbers = [0.0; 6];
        for (number, operand) in numbers.iter_mut().zip(operands.get(..6)?) {
            *number = f64::from(operand.as_float().ok()?);
        }
        Some(Self(numbers))
    }
}

/// A font as far as text needs it.
struct PdfFont<'d> {
    encoding: Encoding<'d>,
    /// True if two bytes select a glyph.
    is_composite: bool,
    widths: BTreeMap<u32, f64>,
    default_width: f64,
}

impl<'d> PdfFont<'d> {
    fn new(font: &'d Dictionary, document: &'d Document, max_bytes: usize) -> lopdf::Result<Self> {
        let encoding = font.get_font_encoding_with_limit(document, max_bytes)?;
        let is_composite =
            font.get(b"Subtype").and_then(Object::as_name).is_ok_and(|name| name == b"Type0");
        let (widths, default_width) = if is_composite {
            composite_widths(font, document)
        } else {
            (simple_widths(font, document), AVERAGE_WIDTH)
        };
        Ok(Self { encoding, is_composite, widths, default_width })
    }

    fn width(&self, code: u32) -> f64 {
        self.widths.get(&code).copied().unwrap_or(self.default_width)
    }
}

fn number(object: &Object, document: &Document) -> Option<f64> {
    document.dereference(object).ok()?.1.as_float().ok().map(f64::from)
}

fn simple_widths(font: &Dictionary, document: &Document) -> BTreeMap<u32, f64> {
    let first = font.get(b"FirstChar").and_then(Object::as_i64).unwrap_or_default();
    let first = u32::try_from(first).unwrap_or_default();
    let widths = font.get_deref(b"Widths", document).and_then(Object::as_array);
    // A simple font has 256 glyphs. A font with its own glyph space (Type 3) is not in thousandths.
    let is_type_3 = font.get(b"Subtype").and_then(Object::as_name).is_ok_and(|it| it == b"Type3");
    let widths = widths.ok().filter(|_| !is_type_3).into_iter().flatten().take(256);
    (first..)
        .zip(widths)
        .filter_map(|(code, width)| Some((code, number(width, document)?)))
        .collect()
}

/// Returns the widths of a composite font, and the width of the other glyphs.
fn composite_widths(font: &Dictionary, document: &Document) -> (BTreeMap<u32, f64>, f64) {
    let descendants = font.get_deref(b"DescendantFonts", document).and_then(Object::as_array);
    let descendant = descendants.ok().and_then(|fonts| document.dereference(fonts.first()?).ok());
    let mut widths = BTreeMap::new();
    let Some(descendant) = descendant.and_then(|(_, font)| font.as_dict().ok()) else {
        return (widths, COMPOSITE_WIDTH);
    };
    let default = descendant.get(b"DW").ok().and_then(|width| number(width, document));
    let mut rest: &[Object] = descendant
        .get_deref(b"W", document)
        .and_then(Object::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let code = |object: &Object| u32::try_from(object.as_i64().ok()?).ok();
    while let [first, second, after @ ..] = rest {
        let Some(start) = code(first) else { break };
        if let Ok(list) = document.dereference(second).map_or(second, |(_, it)| it).as_array() {
            let list = (start..).zip(list.iter().take(1 << 16));
            widths.extend(list.filter_map(|(code, width)| Some((code, number(width, document)?))));
            rest = after;
        } else {
            let Some((width, after)) = after.split_first() else { break };
            if let (Some(end), Some(width)) = (code(second), number(width, document)) {
                // Codes have two bytes.
                let range = start.min(0xFFFF)..=end.min(0xFFFF);
                widths.extend(range.map(|code| (code, width)));
            }
            rest = after;
        }
    }
    (widths, default.unwrap_or(COMPOSITE_WIDTH))
}

/// Graphics state, as far as text needs it.
#[derive(Clone)]
struct TextState<'d> {
    matrix: Matrix,
    font: Option<Rc<PdfFont<'d>>>,
    size: f64,
    char_space: f64,
    word_space: f64,
    scale: f64,
    leading: f64,
    rise: f64,
}

/// Extracts the text of pages of one document; fonts are read once.
pub(super) struct PageReader<'d> {
    document: &'d Document,
    fonts: HashMap<*const Dictionary, Option<Rc<PdfFont<'d>>>>,
    /// Maximum size of a decoded stream in bytes.
    max_stream_bytes: usize,
}

impl<'d> PageReader<'d> {
    pub(super) fn new(document: &'d Document, max_stream_bytes: usize) -> Self {
        Self { document, fonts: HashMap::new(), max_stream_bytes }
    }

    /// Returns the text of a page, at most about `max_bytes` long.
    ///
    /// Fails if the content of the page cannot be decoded.
    pub(super) fn text(&mut self, page: ObjectId, max_bytes: usize) -> lopdf::Result<String> {
        let document = self.document;
        let content = document.get_page_content_with_limit(page, self.max_stream_bytes)?;
        let (own, inherited) = document.get_page_resources(page)?;
        let inherited = inherited.iter().filter_map(|id| document.get_dictionary(*id).ok());
        let resources: Vec<&Dictionary> = own.into_iter().chain(inherited).collect();
        let state = TextState {
            matrix: Matrix::IDENTITY,
            font: None,
            size: 0.0,
            char_space: 0.0,
            word_space: 0.0,
            scale: 1.0,
            leading: 0.0,
            rise: 0.0,
        };
        let mut layout = PageLayout::new(max_bytes);
        self.run(&content, &resources, state, &mut layout, 0)?;
        Ok(layout.finish())
    }

    /// Interprets a content stream.
    fn run(
        &mut self,
        content: &[u8],
        resources: &[&'d Dictionary],
        state: TextState<'d>,
        layout: &mut PageLayout,
        depth: usize,
    ) -> lopdf::Result<()> {
        let mut state = state;
        let mut saved: Vec<TextState<'d>> = Vec::new();
        let (mut line, mut text) = (Matrix::IDENTITY, Matrix::IDENTITY);
        for operation in Content::decode_iter(content) {
            let Operation { operator, operands } = operation?;
            if layout.is_full() {
                break;
            }
            let value = |at: usize| {
                let number = operands.get(at).and_then(|operand| operand.as_float().ok());
                number.map_or(0.0, f64::from)
            };
            let string = |at: usize| operands.get(at).and_then(|operand| operand.as_str().ok());
            let mut next_line = |x: f64, y: f64, text: &mut Matrix| {
                line = Matrix::shift(x, y).then(line);
                *text = line;
            };
            match operator.as_str() {
                "q" if saved.len() < MAX_SAVED_STATES => saved.push(state.clone()),
                "Q" => state = saved.pop().unwrap_or(state),
                "cm" => {
                    if let Some(matrix) = Matrix::from(&operands) {
                        state.matrix = matrix.then(state.matrix);
                    }
                }
                "BT" => (line, text) = (Matrix::IDENTITY, Matrix::IDENTITY),
                "Tf" => {
                    let name = operands.first().and_then(|name| name.as_name().ok());
                    state.font = name.and_then(|name| self.font(resources, name));
                    state.size = value(1);
                }
                "Tc" => state.char_space = value(0),
                "Tw" => state.word_space = value(0),
                "Tz" => state.scale = value(0) / 100.0,
                "TL" => state.leading = value(0),
                "Ts" => state.rise = value(0),
                "Td" => next_line(value(0), value(1), &mut text),
                "TD" => {
                    state.leading = -value(1);
                    next_line(value(0), value(1), &mut text);
                }
                "Tm" => {
                    if let Some(matrix) = Matrix::from(&operands) {
                        (line, text) = (matrix, matrix);
                    }
                }
                "T*" => next_line(0.0, -state.leading, &mut text),
                "Tj" => show(string(0), &state, &mut text, layout),
                "'" => {
                    next_line(0.0, -state.leading, &mut text);
                    show(string(0), &state, &mut text, layout);
                }
                "\"" => {
                    (state.word_space, state.char_space) = (value(0), value(1));
                    next_line(0.0, -state.leading, &mut text);
                    show(string(2), &state, &mut text, layout);
                }
                "TJ" => {
                    let parts = operands.first().and_then(|parts| parts.as_array().ok());
                    for part in parts.into_iter().flatten() {
                        if let Ok(moved) = part.as_float() {
                            let by = -f64::from(moved) / 1000.0 * state.size * state.scale;
                            text = Matrix::shift(by, 0.0).then(text);
                        } else {
                            show(part.as_str().ok(), &state, &mut text, layout);
                        }
                    }
                }
                "Do" if depth < MAX_FORM_DEPTH => {
                    let name = operands.first().and_then(|name| name.as_name().ok());
                    let form = name.and_then(|name| self.resource(resources, b"XObject", name));
                    if let Some(form) = form.and_then(|form| form.as_stream().ok()) {
                        self.form(form, resources, &state, layout, depth)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Interprets a form; an image shows no text.
    fn form(
        &mut self,
        form: &'d Stream,
        outer: &[&'d Dictionary],
        state: &TextState<'d>,
        layout: &mut PageLayout,
        depth: usize,
    ) -> lopdf::Result<()> {
        let kind = form.dict.get(b"Subtype").and_then(Object::as_name);
        if kind.is_ok_and(|kind| kind != b"Form") {
            return Ok(());
        }
        let content = form.decompressed_content_with_limit(self.max_stream_bytes)?;
        let own = form.dict.get_deref(b"Resources", self.document).and_then(Object::as_dict);
        let resources = own.map_or_else(|_| outer.to_vec(), |own| vec![own]);
        let matrix = form.dict.get_deref(b"Matrix", self.document).and_then(Object::as_array);
        let matrix = matrix.ok().and_then(|it| Matrix::from(it)).unwrap_or(Matrix::IDENTITY);
        let state = TextState { matrix: matrix.then(state.matrix), ..state.clone() };
        self.run(&content, &resources, state, layout, depth + 1)
    }

    /// Returns a resource by its kind and name.
    fn resource(
        &self,
        resources: &[&'d Dictionary],
        kind: &[u8],
        name: &[u8],
    ) -> Option<&'d Object> {
        let mut of_kind = resources
            .iter()
            .filter_map(|all| all.get_deref(kind, self.document).and_then(Object::as_dict).ok());
        of_kind.find_map(|all| all.get_deref(name, self.document).ok())
    }

    /// Returns a font by name; `None` if it cannot be read.
    fn font(&mut self, resources: &[&'d Dictionary], name: &[u8]) -> Option<Rc<PdfFont<'d>>> {
        let font = self.resource(resources, b"Font", name)?.as_dict().ok()?;
        let (document, max_bytes) = (self.document, self.max_stream_bytes);
        let read = || PdfFont::new(font, document, max_bytes).ok().map(Rc::new);
        self.fonts.entry(std::ptr::from_ref(font)).or_insert_with(read).clone()
    }
}

/// Shows a string: hands its text and position to the layout, and moves behind it.
fn show(string: Option<&[u8]>, state: &TextState<'_>, text: &mut Matrix, layout: &mut PageLayout) {
    let (Some(bytes), Some(font)) = (string, &state.font) else { return };
    let mut advance = 0.0;
    let mut add = |code: u32, is_space: bool| {
        let space = if is_space { state.word_space } else { 0.0 };
        advance +=
            (font.width(code) / 1000.0 * state.size + state.char_space + space) * state.scale;
    };
    if font.is_composite {
        bytes.chunks(2).for_each(|pair| {
            add(pair.iter().fold(0, |code, byte| code << 8 | u32::from(*byte)), false);
        });
    } else {
        bytes.iter().for_each(|byte| add(u32::from(*byte), *byte == b' '));
    }
    let at = text.then(state.matrix);
    let (start, end) = (at.apply(0.0, state.rise), at.apply(advance, state.rise));
    let (origin, right, up) = (at.apply(0.0, 0.0), at.apply(1.0, 0.0), at.apply(0.0, state.size));
    *text = Matrix::shift(advance, 0.0).then(*text);
    // Characters that the font does not name are left out.
    let shown = font.encoding.bytes_to_string(bytes).unwrap_or_default();
    layout.add(&Glyphs {
        text: &shown,
        start,
        end,
        direction: (right.0 - origin.0, right.1 - origin.1),
        size: (up.0 - origin.0).hypot(up.1 - origin.1),
    });
}
