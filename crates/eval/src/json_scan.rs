//! A scanner over the text of JSON: it checks the syntax and skips values, without a tree of them.
//!
//! Guarantees: it finds a text valid if and only if [`JsonTree::parse`] parses it; texts of which it cannot
//! know that are left to the tree ([`Stop::Unsure`]). It does not recurse, so nesting has no limit.

use std::borrow::Cow;

use crate::JsonTree;

/// Bytes below this one are control characters, which strings may not contain.
const FIRST_CHARACTER: u8 = b' ';

/// Why a scan ended before the end of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The text is not valid JSON.
    Invalid,
    /// Only the tree shows whether the text is valid. A string has a lone escaped surrogate (`\ud83d`), which
    /// is valid only inside of values that are nested too deeply to be parsed.
    Unsure,
}

/// The result of a step of a scan.
pub(crate) type Scanned<T> = Result<T, Stop>;

/// Returns whether a text is valid JSON.
pub(crate) fn is_valid(text: &str) -> bool {
    let mut scanner = Scanner::new(text);
    match scanner.skip().and_then(|()| scanner.end()) {
        Ok(()) => true,
        Err(Stop::Invalid) => false,
        Err(Stop::Unsure) => JsonTree::parse(text).is_some(),
    }
}

/// A position in a text of JSON.
#[derive(Debug)]
pub(crate) struct Scanner<'t> {
    text: &'t str,
    at: usize,
    /// Whether the text has control characters, so that strings must be searched for them.
    has_control: bool,
    /// The closing brackets of the arrays and objects that are open within the value that is skipped.
    open: Vec<u8>,
}

impl<'t> Scanner<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        // A minimum needs no branch per byte, so the compiler computes many bytes at a time.
        let least = text.bytes().fold(u8::MAX, u8::min);
        Self { text, at: 0, has_control: least < FIRST_CHARACTER, open: Vec::new() }
    }

    /// Returns the next byte that is not a blank.
    pub(crate) fn peek(&mut self) -> Scanned<u8> {
        loop {
            match self.text.as_bytes().get(self.at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                Some(byte) => return Ok(*byte),
                None => return Err(Stop::Invalid),
            }
        }
    }

    /// Returns whether the next byte is this one, and consumes it if so.
    pub(crate) fn takes(&mut self, byte: u8) -> Scanned<bool> {
        let is_next = self.peek()? == byte;
        self.at += usize::from(is_next);
        Ok(is_next)
    }

    /// Consumes the next byte, which must be this one.
    pub(crate) fn consume(&mut self, byte: u8) -> Scanned<()> {
        if self.takes(byte)? { Ok(()) } else { Err(Stop::Invalid) }
    }

    /// Checks that nothing but blanks is left.
    pub(crate) fn end(&mut self) -> Scanned<()> {
        if self.peek().is_err() { Ok(()) } else { Err(Stop::Invalid) }
    }

    /// Reads the name of a member, and the colon behind it.
    pub(crate) fn name(&mut self) -> Scanned<Cow<'t, str>> {
        let (quoted, is_escaped) = self.member()?;
        if is_escaped {
            let name = serde_json::from_str::<String>(quoted);
            return name.map(Cow::Owned).map_err(|_| Stop::Unsure);
        }
        quoted.get(1..quoted.len() - 1).map(Cow::Borrowed).ok_or(Stop::Invalid)
    }

    /// Skips the value that begins here and returns its text.
    pub(crate) fn value(&mut self) -> Scanned<&'t str> {
        self.peek()?;
        let from = self.at;
        self.skip()?;
        self.text.get(from..self.at).ok_or(Stop::Invalid)
    }

    /// Skips the value that begins here.
    pub(crate) fn skip(&mut self) -> Scanned<()> {
        self.open.clear();
        loop {
            let is_inside = match self.peek()? {
                b'{' => self.enters(b'}')?,
                b'[' => self.enters(b']')?,
                b'"' => {
                    self.string()?;
                    false
                }
                first => {
                    self.literal(first)?;
                    false
                }
            };
            if !is_inside && self.has_left()? {
                return Ok(());
            }
        }
    }

    /// Enters an array or object up to its first value. Returns false if it has none and has ended.
    fn enters(&mut self, close: u8) -> Scanned<bool> {
        self.at += 1;
        if self.takes(close)? {
            return Ok(false);
        }
        self.open.push(close);
        if close == b'}' {
            self.member()?;
        }
        Ok(true)
    }

    /// Leaves the arrays and objects that end here, up to the next value. Returns true if none is open.
    fn has_left(&mut self) -> Scanned<bool> {
        while let Some(close) = self.open.last().copied() {
            if self.takes(close)? {
                self.open.pop();
                continue;
            }
            self.consume(b',')?;
            if close == b'}' {
                self.member()?;
            }
            return Ok(false);
        }
        Ok(true)
    }

    /// Skips the name of a member and the colon behind it. Returns the name with quotes, and whether it has
    /// escapes.
    fn member(&mut self) -> Scanned<(&'t str, bool)> {
        if self.peek()? != b'"' {
            return Err(Stop::Invalid);
        }
        let from = self.at;
        let is_escaped = self.string()?;
        let quoted = self.text.get(from..self.at).ok_or(Stop::Invalid)?;
        self.consume(b':')?;
        Ok((quoted, is_escaped))
    }

    /// Skips the string that begins here. Returns whether it has escapes.
    fn string(&mut self) -> Scanned<bool> {
        let bytes = self.text.as_bytes();
        let (mut at, mut is_escaped) = (self.at + 1, false);
        loop {
            let rest = bytes.get(at..).ok_or(Stop::Invalid)?;
            at += memchr::memchr2(b'"', b'\\', rest).ok_or(Stop::Invalid)?;
            if bytes[at] == b'"' {
                break;
            }
            is_escaped = true;
            at += escape(&bytes[at..])?;
        }
        if self.has_control && bytes[self.at..at].iter().any(|byte| *byte < FIRST_CHARACTER) {
            return Err(Stop::Invalid);
        }
        self.at = at + 1;
        Ok(is_escaped)
    }

    /// Skips a number, `true`, `false` or `null`.
    fn literal(&mut self, first: u8) -> Scanned<()> {
        let rest = &self.text.as_bytes()[self.at..];
        let length = match first {
            b't' => word(rest, b"true"),
            b'f' => word(rest, b"false"),
            b'n' => word(rest, b"null"),
            _ => number(rest),
        };
        self.at += length.ok_or(Stop::Invalid)?;
        Ok(())
    }
}

/// Returns the length of the escape that a text begins with.
fn escape(rest: &[u8]) -> Scanned<usize> {
    match rest.get(1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(2),
        Some(b'u') => {
            let digits = rest.get(2..6).ok_or(Stop::Invalid)?;
            if !digits.iter().all(u8::is_ascii_hexdigit) {
                return Err(Stop::Invalid);
            }
            // Surrogates are D800 to DFFF.
            if !matches!(digits[0], b'd' | b'D') || digits[1] <= b'7' {
                return Ok(6);
            }
            if is_pair(digits[1], &rest[6..]) { Ok(12) } else { Err(Stop::Unsure) }
        }
        _ => Err(Stop::Invalid),
    }
}

/// Returns whether an escaped surrogate, given its second digit, and the text behind it are a pair: a
/// high surrogate (D800 to DBFF) and a low one (DC00 to DFFF). A pair is valid at any depth.
fn is_pair(second_digit: u8, behind: &[u8]) -> bool {
    let is_low = |digit: u8| matches!(digit, b'c'..=b'f' | b'C'..=b'F');
    let [b'\\', b'u', b'd' | b'D', second, third, fourth, ..] = behind else { return false };
    let are_digits = third.is_ascii_hexdigit() && fourth.is_ascii_hexdigit();
    !is_low(second_digit) && is_low(*second) && are_digits
}

/// Returns the length of a word if the text begins with it.
fn word(rest: &[u8], word: &[u8]) -> Option<usize> {
    rest.starts_with(word).then_some(word.len())
}

/// Returns the length of the number that a text begins with.
fn number(rest: &[u8]) -> Option<usize> {
    let digits = |from: usize| rest[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut at = usize::from(rest.first() == Some(&b'-'));
    let whole = digits(at);
    // Only the number 0 begins with this digit.
    if whole == 0 || (whole > 1 && rest[at] == b'0') {
        return None;
    }
    at += whole;
    if rest.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        if fraction == 0 {
            return None;
        }
        at += 1 + fraction;
    }
    if matches!(rest.get(at), Some(b'e' | b'E')) {
        at += 1;
        at += usize::from(matches!(rest.get(at), Some(b'+' | b'-')));
        let exponent = digits(at);
        if exponent == 0 {
            return None;
        }
        at += exponent;
    }
    Some(at)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn scanned(text: &str) -> Scanned<()> {
        let mut scanner = Scanner::new(text);
        scanner.skip().and_then(|()| scanner.end())
    }

    /// Wraps a value in more arrays than are parsed.
    fn nested(inner: &str) -> String {
        format!("{}{inner}{}", "[".repeat(128), "]".repeat(128))
    }

    #[test]
    fn texts_are_valid_without_a_tree() {
        let texts = [
            " { \"a\" : [ ] ,\"b\":{ }\t,\n\"c\":[1,-0.5e+7,\"\\u00e9\\\"\",true,false,null]}\r\n",
            "0",
            "-10.01E-2",
            "\"\u{7f}é\"",
            "[[[{\"\":[{}]}]]]",
        ];
        for text in texts {
            assert_eq!(scanned(text), Ok(()), "{text}");
            assert!(JsonTree::parse(text).is_some(), "{text}");
        }
    }

    #[test]
    fn mistakes_are_found_without_a_tree() {
        let marks =
            "|{|}|[|]|[1|[1,|[1,]|[,1]|[1 2]|[1}|{a:1}|{1:1}|{}{}| |1 2|'a'|nul|nulll|tru|True";
        let numbers = "01|-01|-|+1|.5|1.|1.e5|1e|1e+|-e1|1.2.3|0x1";
        let names = r#"{"a"}|{"a":}|{"a":1,}|{"a":1]|{"a" 1}|{"a":1 "b":2}|{"a"|{"a":1"#;
        let strings = "\"|\"\\|\"\\\"|\"\\x\"|\"\\u\"|\"\\u12g4\"|\"\n\"|\"a\tb\"|[\"\\ud800\\q\"]";
        let blanks = "\u{feff}1|\u{b}1|1\u{0}|\u{a0}1";
        let all = [marks, numbers, names, strings, blanks];
        for text in all.iter().flat_map(|texts| texts.split('|')) {
            assert!(!is_valid(text), "{text}");
            assert_eq!(JsonTree::parse(text), None, "{text}");
        }
    }

    #[test]
    fn pairs_of_escaped_surrogates_need_no_tree() {
        let texts = [
            r#""\ud83d\ude00""#.to_owned(),
            r#"{"\uD800\uDC00":"\udbff\udfff\uDBFF\uDFFF x"}"#.to_owned(),
            nested(r#""\ud83d\ude00""#),
        ];
        for text in texts {
            assert_eq!(scanned(&text), Ok(()), "{text}");
            assert!(JsonTree::parse(&text).is_some(), "{text}");
        }
    }

    #[test]
    fn lone_escaped_surrogates_are_left_to_the_tree() {
        let lone = [
            r#"{"\uDEAD":1}"#,
            r#"[1,"\ud83d"]"#,
            r#""\ude00\ud83d""#,
            r#""\ud83d\ud83d\ude00""#,
            r#""\ud83d\u0041""#,
            r#""\ud83d\n""#,
            r#""\ud83d\ude0""#,
            r#""\ud83d"#,
        ];
        let texts = lone.map(|text| (text.to_owned(), false));
        let deep = [r#""\ud83d""#, r#""\ude00\ud83d""#, r#""\ud83d\u0041""#];
        let deep = deep.map(|text| (nested(text), true));
        for (text, expected) in texts.into_iter().chain(deep) {
            assert_eq!(scanned(&text), Err(Stop::Unsure), "{text}");
            assert_eq!(is_valid(&text), expected, "{text}");
            assert_eq!(JsonTree::parse(&text).is_some(), expected, "{text}");
        }
        assert_eq!(scanned(r#""\ud7ff\uD7FF\ue000\ud0a0""#), Ok(()));
    }

    #[test]
    fn nesting_has_no_limit() {
        let levels = 100_000;
        let text = format!("{}{}", r#"{"a":["#.repeat(levels), "]}".repeat(levels));
        assert_eq!(scanned(&text), Ok(()));
        assert_eq!(scanned(&text[1..]), Err(Stop::Invalid));
        assert_eq!(scanned(&text[..text.len() - 1]), Err(Stop::Invalid));
    }
}
