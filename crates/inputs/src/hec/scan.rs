//! JSON text read once from front to back, for envelopes that are known and values that are not
//! (docs/decisions/0016).
//!
//! Strings are unescaped straight to where they are kept, eight bytes looked at together. Objects,
//! lists and unusual numbers are left to `serde_json`, which decides what is valid.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// The text is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

/// A place in a text that is read forward.
#[derive(Debug)]
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Returns the first byte after white space.
    pub(super) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    /// Consumes a byte of punctuation if it is the next one.
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    pub(super) fn expect(&mut self, byte: u8) -> Result<(), Malformed> {
        if self.take(byte) { Ok(()) } else { Err(Malformed) }
    }

    /// The name of an object's next member, up to its value; `None` past the object's end.
    pub(super) fn member(&mut self, first: bool) -> Result<Option<Cow<'a, str>>, Malformed> {
        if self.take(b'}') {
            return Ok(None);
        }
        if !first {
            self.expect(b',')?;
        }
        let name = self.string()?;
        self.expect(b':')?;
        Ok(Some(name))
    }

    /// A string's text.
    pub(super) fn string(&mut self) -> Result<Cow<'a, str>, Malformed> {
        self.expect(b'"')?;
        let bytes = self.text.as_bytes();
        let end = special(bytes, self.at);
        if bytes.get(end) == Some(&b'"') {
            let text = &self.text[self.at..end];
            self.at = end + 1;
            return Ok(Cow::Borrowed(text));
        }
        let mut out = Vec::new();
        self.rest_of_string(&mut out)?;
        String::from_utf8(out).map(Cow::Owned).map_err(|_| Malformed)
    }

    /// Appends a string's text.
    pub(super) fn string_into(&mut self, out: &mut Vec<u8>) -> Result<(), Malformed> {
        self.expect(b'"')?;
        self.rest_of_string(out)
    }

    /// Appends the text after the opening quote.
    fn rest_of_string(&mut self, out: &mut Vec<u8>) -> Result<(), Malformed> {
        let bytes = self.text.as_bytes();
        let mut from = self.at;
        let mut at = special(bytes, from);
        loop {
            out.extend_from_slice(&bytes[from..at]);
            match bytes.get(at) {
                Some(b'"') => {
                    self.at = at + 1;
                    return Ok(());
                }
                Some(b'\\') => match bytes.get(at + 1).ok_or(Malformed)? {
                    // The escaped character is the first of the next piece.
                    b'"' | b'\\' | b'/' => {
                        from = at + 1;
                        at = special(bytes, at + 2);
                    }
                    b'u' => {
                        from = unescape_unicode(bytes, at, out)?;
                        at = special(bytes, from);
                    }
                    letter => {
                        out.push(control(*letter)?);
                        from = at + 2;
                        at = special(bytes, from);
                    }
                },
                // A control character, or no end.
                _ => return Err(Malformed),
            }
        }
    }

    /// Any value, as it is written.
    pub(super) fn value(&mut self) -> Result<&'a str, Malformed> {
        let first = self.peek().ok_or(Malformed)?;
        let (text, start) = (self.text, self.at);
        match first {
            b'"' => self.skip_string()?,
            b'{' | b'[' => {
                let values = serde_json::Deserializer::from_str(&text[start..]);
                let mut values = values.into_iter::<&RawValue>();
                values.next().ok_or(Malformed)?.map_err(|_| Malformed)?;
                self.at = start + values.byte_offset();
            }
            _ => {
                let ends = |byte: &u8| b",}] \n\r\t".contains(byte);
                let rest = &text.as_bytes()[start..];
                self.at = start + rest.iter().position(ends).unwrap_or(rest.len());
                let word = &text[start..self.at];
                if !is_plain_number(word) {
                    serde_json::from_str::<IgnoredAny>(word).map_err(|_| Malformed)?;
                }
            }
        }
        Ok(&text[start..self.at])
    }

    fn skip_string(&mut self) -> Result<(), Malformed> {
        let bytes = self.text.as_bytes();
        let mut at = special(bytes, self.at + 1);
        loop {
            match (bytes.get(at), bytes.get(at + 1)) {
                (Some(b'"'), _) => {
                    self.at = at + 1;
                    return Ok(());
                }
                (Some(b'\\'), Some(b'u')) => at = special(bytes, after_unicode(bytes, at)?),
                (Some(b'\\'), Some(b'"' | b'\\' | b'/')) => at = special(bytes, at + 2),
                (Some(b'\\'), Some(letter)) => {
                    control(*letter)?;
                    at = special(bytes, at + 2);
                }
                _ => return Err(Malformed),
            }
        }
    }
}

/// Whether a word is a number such as `12` or `12.5`, which is recognized without a parser.
fn is_plain_number(word: &str) -> bool {
    let (whole, fraction) = word.split_once('.').unwrap_or((word, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole) && digits(fraction) && (whole.len() == 1 || !whole.starts_with('0'))
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The first place from `at` on that holds a quote, a backslash or a control character, or the end.
fn special(bytes: &[u8], mut at: usize) -> usize {
    while let Some(eight) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*eight);
        // The highest bit of a byte is set where the test holds; a borrow can set further ones
        // only above one that is truly set, and the lowest decides.
        let zero = |word: u64| word.wrapping_sub(ONES) & !word;
        let quote = zero(word ^ (ONES * 0x22));
        let backslash = zero(word ^ (ONES * 0x5C));
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let hits = (quote | backslash | control) & HIGH;
        if hits != 0 {
            return at + (hits.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().position(special).map_or(bytes.len(), |found| at + found)
}

/// The control character behind a letter.
fn control(letter: u8) -> Result<u8, Malformed> {
    match letter {
        b'n' => Ok(b'\n'),
        b't' => Ok(b'\t'),
        b'r' => Ok(b'\r'),
        b'b' => Ok(8),
        b'f' => Ok(12),
        _ => Err(Malformed),
    }
}

/// Appends the character of `\uXXXX`, or of a pair of them; gives the place after it.
fn unescape_unicode(bytes: &[u8], at: usize, out: &mut Vec<u8>) -> Result<usize, Malformed> {
    let end = after_unicode(bytes, at)?;
    let high = unit(bytes, at)?;
    let code = if end == at + 6 {
        high
    } else {
        let low = unit(bytes, at + 6)?;
        0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00)
    };
    let character = char::from_u32(code).ok_or(Malformed)?;
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    Ok(end)
}

/// The place after `\uXXXX`, or after a pair; half a pair is not text.
fn after_unicode(bytes: &[u8], at: usize) -> Result<usize, Malformed> {
    match unit(bytes, at)? {
        0xD800..0xDC00 => match unit(bytes, at + 6)? {
            0xDC00..0xE000 => Ok(at + 12),
            _ => Err(Malformed),
        },
        0xDC00..0xE000 => Err(Malformed),
        _ => Ok(at + 6),
    }
}

/// The number in `\uXXXX`.
fn unit(bytes: &[u8], at: usize) -> Result<u32, Malformed> {
    let six = bytes.get(at..).and_then(|rest| rest.first_chunk::<6>()).ok_or(Malformed)?;
    if six[..2] != *b"\\u" {
        return Err(Malformed);
    }
    six[2..].iter().try_fold(0, |value, digit| {
        char::from(*digit).to_digit(16).map(|digit| value * 16 + digit).ok_or(Malformed)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_read_as_serde_json_reads_them() {
        let texts = [
            r#""""#,
            r#""plain""#,
            r#""a \"quoted\" word and a \\ and \/""#,
            r#""\n\t\r\b\f""#,
            r#""\u00e4\u4e16\ud83d\ude00é世😀""#,
            r#""longer than eight bytes and then \"""#,
            r#""\ud83d""#,
            r#""\ud83dx\ude00""#,
            r#""\ude00""#,
            r#""\x""#,
            r#""\u12g4""#,
            r#""\u12"#,
            r#""no end"#,
            r#""no end \"#,
            "\"a\nb\"",
            "\"exactly8\"",
            "\"a\u{1f}b\"",
            "\"a\u{7f}\u{80}b\"",
        ];
        for text in texts {
            let expected = serde_json::from_str::<String>(text).ok();
            let mut out = Vec::new();
            let written = Scanner::new(text).string_into(&mut out);
            let read = Scanner::new(text).string().ok();
            assert_eq!(read.as_deref(), expected.as_deref(), "{text}");
            let written = written.ok().map(|()| String::from_utf8(out).unwrap());
            assert_eq!(written, expected, "{text}");
            assert_eq!(Scanner::new(text).value().is_ok(), expected.is_some(), "{text}");
        }
    }

    #[test]
    fn values_end_where_they_end() {
        let cases = [
            ("12,", Some("12")),
            ("12.50}", Some("12.50")),
            ("-1e9 x", Some("-1e9")),
            ("012,", None),
            ("1.,", None),
            ("true]", Some("true")),
            ("nul,", None),
            (r#"{"a":[1,"}"]},"#, Some(r#"{"a":[1,"}"]}"#)),
            (r#"{"a":}"#, None),
            (r#""a\"b","#, Some(r#""a\"b""#)),
            ("", None),
        ];
        for (text, value) in cases {
            assert_eq!(Scanner::new(text).value().ok(), value, "{text}");
        }
    }

    #[test]
    fn every_position_of_a_special_byte_is_found() {
        for byte in [b'"', b'\\', 0, 0x1F] {
            for length in 0..20 {
                for place in 0..length {
                    let mut bytes = vec![0xC3; length];
                    bytes[place] = byte;
                    assert_eq!(special(&bytes, 0), place);
                }
                assert_eq!(special(&vec![0x20; length], 0), length);
            }
        }
    }
}
