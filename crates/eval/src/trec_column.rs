//! Names encoded as columns of files separated by white space.

/// Encodes `name` without white space: white space, control characters and `%` become `%` and two hexadecimal digits for each byte.
///
/// Different names stay different; [`decode_column`] restores the name.
#[must_use]
pub fn encode_column(name: &str) -> String {
    let mut column = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_whitespace() || c.is_control() || c == '%' {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                column.push_str(&format!("%{byte:02X}"));
            }
        } else {
            column.push(c);
        }
    }
    column
}

/// Decodes a column; `None` without a `%`, and for text that [`encode_column`] does not produce.
#[must_use]
pub fn decode_column(column: &str) -> Option<String> {
    let (first, parts) = column.split_once('%')?;
    let mut name = first.as_bytes().to_vec();
    for part in parts.split('%') {
        let (digits, rest) = part.split_at_checked(2)?;
        name.push(u8::from_str_radix(digits, 16).ok()?);
        name.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(name).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_round_trip_and_stay_distinct() {
        let names =
            ["a b", "a_b", "a%20b", "a\tb", "a\u{a0}b", "a\u{1f}b", "100%", " ", "größe 漢", "%"];
        let columns: BTreeSet<String> = names.iter().map(|name| encode_column(name)).collect();
        assert_eq!(columns.len(), names.len());
        for name in names {
            let column = encode_column(name);
            assert!(!column.chars().any(|c| c.is_whitespace() || c.is_control()), "{column}");
            assert_eq!(decode_column(&column).as_deref(), column.contains('%').then_some(name));
        }
        assert_eq!(encode_column("a_b"), "a_b");
        assert_eq!(encode_column("a b"), "a%20b");
        for wrong in ["a b", "50%", "%zz", "%2", "%é", "%FF"] {
            assert_eq!(decode_column(wrong), None, "{wrong}");
        }
    }
}
