//! Names as columns of files that white space divides.

/// `name` without white space: that, control characters and `%` are written as `%` and two hexadecimal digits for each byte.
///
/// Different names stay different, and [`name_of`] gives the name again.
#[must_use]
pub fn column(name: &str) -> String {
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

/// The name that was written as `column`; nothing where it is one without `%`, or none that [`column()`] writes.
#[must_use]
pub fn name_of(column: &str) -> Option<String> {
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
    fn names_come_back_and_stay_apart() {
        let names =
            ["a b", "a_b", "a%20b", "a\tb", "a\u{a0}b", "a\u{1f}b", "100%", " ", "größe 漢", "%"];
        let columns: BTreeSet<String> = names.iter().map(|name| column(name)).collect();
        assert_eq!(columns.len(), names.len());
        for name in names {
            let column = column(name);
            assert!(!column.chars().any(|c| c.is_whitespace() || c.is_control()), "{column}");
            assert_eq!(name_of(&column).as_deref(), column.contains('%').then_some(name));
        }
        assert_eq!(column("a_b"), "a_b");
        assert_eq!(column("a b"), "a%20b");
        for wrong in ["a b", "50%", "%zz", "%2", "%é", "%FF"] {
            assert_eq!(name_of(wrong), None, "{wrong}");
        }
    }
}
