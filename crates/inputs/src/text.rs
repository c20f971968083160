//! Bytes into valid UTF-8, without losing what they were.
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

/// JSON with every invalid byte, which can only stand inside a string, as the escaped `\\xHH`.
#[must_use]
pub fn repaired_json(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 16);
    append_repaired(bytes, "\\\\x", &mut out);
    out
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
    fn a_cut_does_not_split_a_character() {
        let text = "aä世".as_bytes();
        let cuts: Vec<_> = (0..=text.len()).map(|at| character_border(text, at)).collect();
        assert_eq!(cuts, [0, 1, 1, 3, 3, 3, 6]);
    }
}
