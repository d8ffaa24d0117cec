//! Redaction of secrets in texts that are shown or stored.

use std::borrow::Cow;

/// Text in the place of a secret.
const REDACTED: &str = "***";

/// Replaces the user, password, query and fragment of every URL in `text`, any of which may hold a secret, and the value after each `password=`, as in a connection string of PostgreSQL.
///
/// A URL ends at white space, a quotation mark, a backtick or an angle bracket.
#[must_use]
pub fn redact_urls(text: &str) -> Cow<'_, str> {
    let redacted = without_passwords(text);
    if redacted.contains(SCHEME_END) { of_urls(&redacted).into() } else { redacted }
}

/// Characters between the scheme and the authority of a URL.
const SCHEME_END: &str = "://";

/// Replaces the value after each `password=`: a text in single quotes, or up to white space.
fn without_passwords(text: &str) -> Cow<'_, str> {
    const KEY: &str = "password=";
    let lower = text.to_ascii_lowercase();
    if !lower.contains(KEY) {
        return text.into();
    }
    let (mut redacted, mut at) = (String::with_capacity(text.len()), 0);
    while let Some(n_before) = lower[at..].find(KEY) {
        let start = at + n_before + KEY.len();
        let value = &text[start..];
        let end = match value.strip_prefix('\'') {
            Some(quoted) => quoted.find('\'').map(|end| end + "''".len()),
            None => value.find(|c: char| c.is_whitespace() || "`\"".contains(c)),
        };
        redacted.push_str(&text[at..start]);
        redacted.push_str(REDACTED);
        at = start + end.unwrap_or(value.len());
    }
    redacted.push_str(&text[at..]);
    redacted.into()
}

fn of_urls(text: &str) -> String {
    let mut redacted = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(SCHEME_END) {
        let (before, after) = rest.split_at(at + SCHEME_END.len());
        let ends = |c: char| c.is_whitespace() || "\"`<>".contains(c);
        let (url, following) = after.split_at(after.find(ends).unwrap_or(after.len()));
        redacted.push_str(before);
        redact_url(url, &mut redacted);
        rest = following;
    }
    redacted.push_str(rest);
    redacted
}

/// Appends the part of a URL after its scheme to `redacted`.
fn redact_url(url: &str, redacted: &mut String) {
    let authority = &url[..url.find(['/', '?', '#']).unwrap_or(url.len())];
    let secret_end = authority.rfind('@').or_else(|| {
        // A password may contain a slash that is not escaped; only digits may be a port instead.
        let (_, port) = authority.rsplit_once(':').filter(|_| !authority.ends_with(']'))?;
        let may_be_port = port.chars().all(|c| c.is_ascii_digit());
        url.rfind('@').filter(|at| !may_be_port || !url[..*at].ends_with('/'))
    });
    let url = match secret_end {
        Some(at) => {
            redacted.push_str(REDACTED);
            &url[at..]
        }
        None => url,
    };
    match url.find(['?', '#']) {
        Some(at) => {
            redacted.push_str(&url[..=at]);
            redacted.push_str(REDACTED);
        }
        None => redacted.push_str(url),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_urls_are_redacted() {
        for (name, text, expected) in [
            ("no URL", "a: b@c?d", "a: b@c?d"),
            ("no secret", "http://localhost:8080/v1", "http://localhost:8080/v1"),
            ("password", "https://me:pass@host:1/v1", "https://***@host:1/v1"),
            ("user alone, which may be a key", "https://key@host", "https://***@host"),
            ("at sign in a password", "http://me:p@ss@host/", "http://***@host/"),
            ("slash in a password", "http://me:pa/ss@host/v1", "http://***@host/v1"),
            ("digits and a slash in a password", "http://me:12/34@host/v1", "http://***@host/v1"),
            ("question mark in a password", "http://me:pa?ss@host", "http://***@host"),
            ("at sign in a path", "http://host:80/@org/model", "http://host:80/@org/model"),
            ("IPv6", "http://[::1]/@org", "http://[::1]/@org"),
            ("key in the query", "http://host/v1?key=abc&b=c", "http://host/v1?***"),
            ("key in the fragment", "http://host/v1#abc", "http://host/v1#***"),
            ("connection string", "host=h password=a&b user=u", "host=h password=*** user=u"),
            ("quotes", "Password='a b' user=u", "Password=*** user=u"),
            ("no end", "password='a b", "password=***"),
            (
                "in a message",
                "cannot reach `http://me:pass@a/b` (http://k@c?d e)",
                "cannot reach `http://***@a/b` (http://***@c?*** e)",
            ),
        ] {
            assert_eq!(redact_urls(text), expected, "{name}");
            assert_eq!(redact_urls(expected), expected, "{name}: again");
        }
    }
}
