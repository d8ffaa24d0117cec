//! Entities: the characters that `&eacute;` and `&#233;` stand for.

use pulldown_cmark::{Event, Parser};

/// Maximum length in bytes of an entity, with its `&` and `;`; the longest name has 31 letters.
pub const MAX_ENTITY_BYTES: usize = 34;

/// Returns the length in bytes of what looks like an entity at the start of `text`, which begins with `&`.
#[must_use]
pub fn entity_length(text: &str) -> Option<usize> {
    let is_of_entity = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'#';
    let rest = text.as_bytes().get(1..)?;
    let n_bytes = rest.iter().take(MAX_ENTITY_BYTES).take_while(|byte| is_of_entity(byte)).count();
    (n_bytes > 0 && rest.get(n_bytes) == Some(&b';')).then_some(n_bytes + 2)
}

/// Returns the characters that an entity stands for; `None` if there is no such entity.
///
/// ```
/// use weft_model::entities::decoded;
/// assert_eq!(decoded("&eacute;").as_deref(), Some("é"));
/// assert_eq!(decoded("&no;"), None);
/// ```
#[must_use]
pub fn decoded(entity: &str) -> Option<String> {
    // Letters around it keep the parser from trimming spaces.
    let written = format!("x{entity}x");
    let mut said = String::new();
    for event in Parser::new(&written) {
        if let Event::Text(text) = event {
            said.push_str(&text);
        }
    }
    let inner = said.strip_prefix('x')?.strip_suffix('x')?;
    (inner != entity).then(|| inner.to_owned())
}
