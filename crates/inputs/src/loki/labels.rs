//! The labels of a stream as one text: `{app="shop", file="a\"b"}`. Values are quoted as in Go, or with
//! backquotes; a name may be quoted, too (docs/decisions/0020).

use std::borrow::Cow;

use super::Pair;

/// Why a text is not a list of labels, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the labels are invalid at byte {at}: {what}")]
pub(super) struct LabelError {
    what: &'static str,
    at: usize,
}

/// Reads labels; of more than `most`, the first ones.
///
/// # Errors
/// The text is not a list of labels.
pub(super) fn parse(text: &str, most: usize) -> Result<Vec<Pair<'_>>, LabelError> {
    let mut reader = Reader { text, at: 0 };
    let mut labels = Vec::new();
    reader.expect('{', "expected {")?;
    while !reader.takes('}') {
        let name = reader.name()?;
        reader.expect('=', "expected = after the name of a label")?;
        let value = reader.quoted()?.ok_or(reader.error("expected a quoted value"))?;
        if labels.len() < most {
            labels.push((name, value));
        }
        if !reader.takes(',') {
            reader.expect('}', "expected , or } after a value")?;
            break;
        }
    }
    reader.blanks();
    if reader.rest().is_empty() { Ok(labels) } else { Err(reader.error("text after the last }")) }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn error(&self, what: &'static str) -> LabelError {
        LabelError { what, at: self.at }
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn takes(&mut self, c: char) -> bool {
        self.blanks();
        let found = self.rest().starts_with(c);
        self.at += if found { c.len_utf8() } else { 0 };
        found
    }

    fn expect(&mut self, c: char, what: &'static str) -> Result<(), LabelError> {
        if self.takes(c) { Ok(()) } else { Err(self.error(what)) }
    }

    fn name(&mut self) -> Result<Cow<'a, str>, LabelError> {
        if let Some(name) = self.quoted()? {
            return Ok(name);
        }
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '-');
        let length = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        if length == 0 {
            return Err(self.error("expected the name of a label"));
        }
        self.at += length;
        Ok(Cow::Borrowed(&rest[..length]))
    }

    /// A text in quotes; `None`: something else is next.
    fn quoted(&mut self) -> Result<Option<Cow<'a, str>>, LabelError> {
        self.blanks();
        let open = self.error("a quote is not closed");
        if self.takes('`') {
            let rest = self.rest();
            let length = rest.find('`').ok_or(open)?;
            self.at += length + 1;
            return Ok(Some(Cow::Borrowed(&rest[..length])));
        }
        if !self.takes('"') {
            return Ok(None);
        }
        let rest = self.rest();
        let end = rest.find(['"', '\\']).ok_or(open.clone())?;
        if rest[end..].starts_with('"') {
            self.at += end + 1;
            return Ok(Some(Cow::Borrowed(&rest[..end])));
        }
        // Escapes may be bytes that are not UTF-8.
        let mut value = Vec::new();
        loop {
            let rest = self.rest();
            let end = rest.find(['"', '\\']).ok_or(open.clone())?;
            value.extend_from_slice(&rest.as_bytes()[..end]);
            self.at += end + 1;
            if rest[end..].starts_with('"') {
                return Ok(Some(Cow::Owned(String::from_utf8_lossy(&value).into_owned())));
            }
            self.escape(&mut value)?;
        }
    }

    /// Decodes the characters after a backslash.
    fn escape(&mut self, value: &mut Vec<u8>) -> Result<(), LabelError> {
        let unknown = LabelError { what: "an unknown escape", at: self.at - 1 };
        let kind = self.rest().bytes().next().ok_or(unknown.clone())?;
        let plain = match kind {
            b'a' => b'\x07',
            b'b' => b'\x08',
            b'f' => b'\x0c',
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => b'\x0b',
            b'\\' | b'\'' | b'"' => kind,
            b'x' | b'u' | b'U' | b'0'..=b'7' => return self.number(kind, value, unknown),
            _ => return Err(unknown),
        };
        self.at += 1;
        value.push(plain);
        Ok(())
    }

    /// A byte or a character by its number.
    fn number(
        &mut self,
        kind: u8,
        value: &mut Vec<u8>,
        unknown: LabelError,
    ) -> Result<(), LabelError> {
        let (skipped, length, radix) = match kind {
            b'x' => (1, 2, 16),
            b'u' => (1, 4, 16),
            b'U' => (1, 8, 16),
            _ => (0, 3, 8),
        };
        let digits = self.rest().get(skipped..skipped + length).ok_or(unknown.clone())?;
        // `from_str_radix` takes a sign.
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(unknown);
        }
        let number = u32::from_str_radix(digits, radix).map_err(|_| unknown.clone())?;
        if matches!(kind, b'u' | b'U') {
            let c = char::from_u32(number).ok_or(unknown)?;
            value.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        } else {
            value.push(u8::try_from(number).map_err(|_| unknown)?);
        }
        self.at += skipped + length;
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_quoted_in_every_way_of_go() {
        let cases: [(&str, &[(&str, &str)]); 6] = [
            ("{}", &[]),
            (r#" { a = "b" , c_1="d",} "#, &[("a", "b"), ("c_1", "d")]),
            ("{a=`x\\n\"{}`, b=\"\"}", &[("a", "x\\n\"{}"), ("b", "")]),
            (r#"{a="q\"\\\n\x41\101\u00e4\U0001f600ä}"}"#, &[("a", "q\"\\\nAAä😀ä}")]),
            (r#"{"my label"="x", k8s.pod="y"}"#, &[("my label", "x"), ("k8s.pod", "y")]),
            (r#"{a="\xff"}"#, &[("a", "\u{fffd}")]),
        ];
        for (text, expected) in cases {
            let labels = parse(text, 10).unwrap();
            let labels: Vec<_> = labels.iter().map(|(name, value)| (&**name, &**value)).collect();
            assert_eq!(labels, expected, "{text}");
        }
        assert_eq!(parse(r#"{a="1",b="2",c="3"}"#, 2).unwrap().len(), 2);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let cases = [
            ("", 0, "expected {"),
            ("a=\"b\"", 0, "expected {"),
            ("{a=\"b\"", 6, "expected , or }"),
            ("{a=\"b\" c=\"d\"}", 7, "expected , or }"),
            ("{=\"b\"}", 1, "the name"),
            ("{a!=\"b\"}", 2, "expected ="),
            ("{a=~\"b\"}", 3, "quoted value"),
            ("{a=b}", 3, "quoted value"),
            ("{a=\"b}", 3, "not closed"),
            ("{a=`b}", 3, "not closed"),
            (r#"{a="b\"}"#, 3, "not closed"),
            (r#"{a="b\q"}"#, 5, "escape"),
            (r#"{a="\x4"}"#, 4, "escape"),
            (r#"{a="\x+4"}"#, 4, "escape"),
            (r#"{a="\777"}"#, 4, "escape"),
            (r#"{a="\ud800"}"#, 4, "escape"),
            ("{a=\"b\"} x", 8, "after"),
        ];
        for (text, at, what) in cases {
            let error = parse(text, 10).unwrap_err();
            assert!(error.at == at && error.what.contains(what), "{text}: {error}");
        }
    }
}
