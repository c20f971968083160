//! Converts bytes to valid UTF-8, without losing information.
//!
//! A byte that is not UTF-8 becomes the four characters `\xHH`, as in Splunk: the event stays
//! searchable and the original byte can be read off it. Bytes of another character set are decoded
//! by the WHATWG rules for that set.

use std::fmt::Write;

/// The text with every invalid byte as `\xHH`.
#[must_use]
pub fn repaired(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 16);
    append_repaired(bytes, "\\x", &mut out);
    out
}

/// Returns the JSON with every invalid byte, which can only be inside a string, as the escaped `\\xHH`.
#[must_use]
pub fn repaired_json(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 16);
    append_repaired(bytes, "\\\\x", &mut out);
    out
}

/// JSON in which each escape that is half of a surrogate pair is that of U+FFFD; `None` if all are whole.
#[must_use]
pub fn with_whole_surrogates(json: &str) -> Option<String> {
    let bytes = json.as_bytes();
    let mut out = String::new();
    let (mut kept, mut at) = (0, 0);
    while let Some(found) = memchr::memchr(b'\\', &bytes[at..]) {
        let escape = at + found;
        at = match (surrogate(bytes, escape), surrogate(bytes, escape + 6)) {
            // Two bytes, of which the second may be a backslash.
            (None, _) => (escape + 2).min(bytes.len()),
            (Some(Half::High), Some(Half::Low)) => escape + 12,
            (Some(_), _) => {
                out.push_str(&json[kept..escape]);
                out.push_str("\\ufffd");
                kept = escape + 6;
                kept
            }
        };
    }
    (kept > 0).then(|| out + &json[kept..])
}

enum Half {
    High,
    Low,
}

/// Returns which half of a surrogate pair the escape at an offset is.
fn surrogate(bytes: &[u8], at: usize) -> Option<Half> {
    let [b'\\', b'u', b'd' | b'D', second, third, fourth] = bytes.get(at..at + 6)? else {
        return None;
    };
    if !third.is_ascii_hexdigit() || !fourth.is_ascii_hexdigit() {
        return None;
    }
    match second {
        b'8' | b'9' | b'a' | b'b' | b'A' | b'B' => Some(Half::High),
        b'c'..=b'f' | b'C'..=b'F' => Some(Half::Low),
        _ => None,
    }
}

/// Appends the repaired text; tells whether anything had to be repaired.
pub fn append_repaired(bytes: &[u8], mark: &str, out: &mut String) -> bool {
    let mut broken = false;
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            broken = true;
            // Writing to a string does not fail.
            let _ = write!(out, "{mark}{byte:02X}");
        }
    }
    broken
}

/// Returns the numbers of NULs at the start and at the end of a line. Holes of files, and blocks that were
/// not written before a crash, have them; they are not text.
#[must_use]
pub fn nuls_around(line: &[u8]) -> (usize, usize) {
    let before = line.iter().take_while(|byte| **byte == 0).count();
    let behind = line[before..].iter().rev().take_while(|byte| **byte == 0).count();
    (before, behind)
}

/// The largest border of a character at or before `at`.
#[must_use]
pub fn character_border(bytes: &[u8], at: usize) -> usize {
    let mut border = at.min(bytes.len());
    // A character has at most four bytes: further back it is not UTF-8, and any cut is as good.
    let lowest = border.saturating_sub(3);
    while border > lowest && border < bytes.len() && bytes[border] & 0xC0 == 0x80 {
        border -= 1;
    }
    border
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_bytes_stay_readable() {
        assert_eq!(repaired(b"a\xff\xc3b\xe4\xb8"), "a\\xFF\\xC3b\\xE4\\xB8");
        assert_eq!(repaired("ä世".as_bytes()), "ä世");
    }

    #[test]
    fn halves_of_surrogate_pairs_are_replaced() {
        let cases = [
            (r#""\ud83d\ude00""#, None),
            (r#""\\ud800 \n""#, None),
            (r#""\ud800""#, Some(r#""\ufffd""#)),
            (r#""\uDFFFx\ud83d\ude00\uD83D\u0041""#, Some(r#""\ufffdx\ud83d\ude00\ufffd\u0041""#)),
            (r#""\ud83d\ud83d\ude00ä""#, Some(r#""\ufffd\ud83d\ude00ä""#)),
            (r#""\ud8"#, None),
            ("\\", None),
        ];
        for (json, expected) in cases {
            assert_eq!(with_whole_surrogates(json).as_deref(), expected, "{json}");
        }
    }

    #[test]
    fn nuls_at_both_ends_are_counted() {
        for (line, expected) in
            [("", (0, 0)), ("a", (0, 0)), ("\0\0a\0b\0", (2, 1)), ("a\0", (0, 1)), ("\0\0", (2, 0))]
        {
            assert_eq!(nuls_around(line.as_bytes()), expected, "{line:?}");
        }
    }

    #[test]
    fn a_cut_does_not_split_a_character() {
        let text = "aä世".as_bytes();
        let cuts: Vec<_> = (0..=text.len()).map(|at| character_border(text, at)).collect();
        assert_eq!(cuts, [0, 1, 1, 3, 3, 3, 6]);
    }
}
