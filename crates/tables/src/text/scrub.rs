//! Anonymizes texts by replacing letters and digits of identifying words.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

/// Words that identify nobody, in lower case and sorted.
const PUBLIC: &[&str] = &[
    "a",
    "accept",
    "access",
    "an",
    "and",
    "apr",
    "as",
    "at",
    "aug",
    "bytes",
    "client",
    "code",
    "com",
    "connection",
    "critical",
    "date",
    "debug",
    "dec",
    "delete",
    "denied",
    "error",
    "event",
    "exception",
    "failed",
    "failure",
    "false",
    "feb",
    "file",
    "for",
    "fri",
    "from",
    "get",
    "head",
    "host",
    "html",
    "http",
    "https",
    "id",
    "in",
    "info",
    "invalid",
    "is",
    "jan",
    "jul",
    "jun",
    "level",
    "log",
    "login",
    "mar",
    "may",
    "message",
    "mon",
    "name",
    "net",
    "no",
    "not",
    "notice",
    "nov",
    "null",
    "oct",
    "of",
    "ok",
    "on",
    "org",
    "patch",
    "port",
    "post",
    "put",
    "request",
    "response",
    "sat",
    "sep",
    "server",
    "session",
    "source",
    "status",
    "success",
    "sun",
    "tcp",
    "the",
    "thu",
    "time",
    "timeout",
    "to",
    "true",
    "tue",
    "type",
    "udp",
    "unknown",
    "user",
    "utc",
    "version",
    "warn",
    "warning",
    "wed",
    "with",
    "www",
    "yes",
];

/// Appends the text with words replaced by others of the same length, with upper case, lower case and digits
/// in the same positions. Words before `=` or `":` are field names and are kept. The replacement of a word
/// depends only on the word and the salt.
pub fn scrub(text: &str, salt: &str, out: &mut String) {
    let mut rest = text;
    while let Some(start) = rest.find(char::is_alphanumeric) {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        rest = behind;
        let names = behind.starts_with('=') || behind.starts_with("\":");
        let lower = word.to_lowercase();
        if names || PUBLIC.binary_search(&lower.as_str()).is_ok() {
            out.push_str(word);
        } else {
            replace(word, &lower, salt, out);
        }
    }
    out.push_str(rest);
}

fn replace(word: &str, lower: &str, salt: &str, out: &mut String) {
    let mut hasher = SipHasher13::new();
    hasher.write(salt.as_bytes());
    hasher.write_u8(0);
    hasher.write(lower.as_bytes());
    let mut state = hasher.finish();
    for c in word.chars() {
        let letter = |state: u64| char::from(b'a' + (state % 26) as u8);
        match c {
            '_' => out.push('_'),
            c if c.is_ascii_digit() => out.push(char::from(b'0' + (state % 10) as u8)),
            c if c.is_uppercase() => out.push(letter(state).to_ascii_uppercase()),
            _ => out.push(letter(state)),
        }
        // A step of a pseudo-random generator, so that the next character cannot be derived from this one
        // alone.
        state = (state ^ (state >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scrubbed(text: &str) -> String {
        let mut out = String::new();
        scrub(text, "1", &mut out);
        out
    }

    #[test]
    fn the_shape_of_a_text_stays_and_equal_words_stay_equal() {
        let text = "user=Carol from 10.1.22.3, carol; status=404 ERROR";
        let out = scrubbed(text);
        assert_eq!(out.len(), text.len());
        assert!(out.starts_with("user=") && out.ends_with(" ERROR") && out.contains(" from "));
        assert!(!out.to_lowercase().contains("carol") && !out.contains("10.1.22.3"));
        let (one, two) = (&out[5..10], &out[27..32]);
        assert_eq!(one.to_lowercase(), two.to_lowercase());
        assert!(one.starts_with(char::is_uppercase) && two.starts_with(char::is_lowercase));
    }

    #[test]
    fn public_words_are_sorted() {
        assert!(PUBLIC.is_sorted());
    }
}
