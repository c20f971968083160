//! A view of the bytes of a source as text with corresponding positions. Cutting and rules read the text;
//! the bytes are sent unchanged.
//!
//! Guarantees: every character boundary of the text has a position in the bytes. UTF-16 is decoded; for
//! non-Unicode character sets, the text has only the ASCII characters, which include their line ends.

use std::borrow::Cow;
use std::cell::Cell;
use std::fs::File;
use std::io::Read;
use std::ops::Range;

use inputs::text::{character_border, repaired};
use knowledge::Charset;

/// Number of bytes used to detect a character set.
const LOOKED_AT: usize = 1024;
/// The byte order marks of UTF-16, by encoding.
const MARKS: [(&str, &[u8]); 2] = [("utf-16le", &[0xFF, 0xFE]), ("utf-16be", &[0xFE, 0xFF])];

/// The encoding of a source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Coding {
    charset: Charset,
    /// The mark of UTF-16 if only the mark at the source's start shows the encoding.
    mark: &'static [u8],
    is_utf16: bool,
}

impl Coding {
    /// The encoding of a source that begins with `first`, or continues with it in the middle of `file`.
    pub(crate) fn of(charset: Charset, first: &[u8], file: Option<&str>) -> Self {
        let first = &first[..first.len().min(LOOKED_AT)];
        let found = match charset {
            // The mark is more specific about the byte order than the name `UTF-16`.
            Charset::Other(encoding) if encoding.name().starts_with("UTF-16") => {
                marked(first, file)
            }
            Charset::Other(_) => None,
            Charset::Utf8 => marked(first, file),
            Charset::Auto => marked(first, file).or_else(|| guessed(first)),
        };
        let (charset, mark) = match found {
            Some((name, mark)) => (Charset::parse(name).unwrap_or(charset), mark),
            None => (charset, &[][..]),
        };
        let is_utf16 =
            matches!(charset, Charset::Other(encoding) if encoding.name().starts_with("UTF-16"));
        Self { charset, mark, is_utf16 }
    }

    /// The bytes with which every batch has to begin, so that it can be decoded on its own.
    pub(crate) fn mark(&self) -> &'static [u8] {
        self.mark
    }

    pub(crate) fn is_utf16(&self) -> bool {
        self.is_utf16
    }

    /// The last character boundary.
    pub(crate) fn border(&self, bytes: &[u8]) -> usize {
        if !self.is_utf16 {
            return character_border(bytes, bytes.len());
        }
        let even = bytes.len() & !1;
        let little =
            matches!(self.charset, Charset::Other(encoding) if encoding.name() == "UTF-16LE");
        let high = even.checked_sub(2).map(|at| bytes[at + usize::from(little)]);
        // The high surrogate of a pair, whose second half is missing.
        if high.is_some_and(|byte| (0xD8..0xDC).contains(&byte)) { even - 2 } else { even }
    }

    fn decode<'b>(&self, bytes: &'b [u8]) -> Cow<'b, str> {
        match (self.charset, std::str::from_utf8(bytes)) {
            (Charset::Other(encoding), _) => encoding.decode_without_bom_handling(bytes).0,
            (_, Ok(text)) => Cow::Borrowed(text),
            (_, Err(_)) => Cow::Owned(repaired(bytes)),
        }
    }
}

/// Detects UTF-16 by its mark, at the start of the bytes or of their file.
fn marked(first: &[u8], file: Option<&str>) -> Option<(&'static str, &'static [u8])> {
    let by = |start: &[u8]| MARKS.into_iter().find(|(_, mark)| start.starts_with(mark));
    if let Some(found) = by(first) {
        return Some(found);
    }
    // Other encodings have no zero bytes; this avoids opening the file for them.
    memchr::memchr(0, first)?;
    let mut start = [0; 2];
    File::open(file?).and_then(|mut file| file.read_exact(&mut start)).ok()?;
    by(&start)
}

/// Detects UTF-16 by the zero bytes of its ASCII characters.
fn guessed(first: &[u8]) -> Option<(&'static str, &'static [u8])> {
    let pairs = first.chunks_exact(2);
    let count = pairs.len();
    let (mut even, mut odd) = (0, 0);
    for pair in pairs {
        even += usize::from(pair[0] == 0);
        odd += usize::from(pair[1] == 0);
    }
    match (count, even, odd) {
        (2.., 0, odd) if odd * 2 > count => Some((MARKS[0].0, &[])),
        (2.., even, 0) if even * 2 > count => Some((MARKS[1].0, &[])),
        _ => None,
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct View<'b> {
    bytes: &'b [u8],
    coding: Coding,
    text: Cow<'b, str>,
    /// Whether the text is the same as at the indexer.
    exact: bool,
    /// A position in the text and its position in the bytes, as a cache.
    known: Cell<(usize, usize)>,
}

impl<'b> View<'b> {
    pub(crate) fn new(bytes: &'b [u8], coding: Coding) -> Self {
        let (text, exact) = match (coding.charset, std::str::from_utf8(bytes)) {
            (Charset::Other(encoding), _) if coding.is_utf16 => {
                (encoding.decode_without_bom_handling(&bytes[..bytes.len() & !1]).0, true)
            }
            (Charset::Other(_), _) => (ascii(bytes), bytes.is_ascii()),
            (_, Ok(text)) => (Cow::Borrowed(text), true),
            (_, Err(_)) => (same_length(bytes), false),
        };
        Self { bytes, coding, text, exact, known: Cell::new((0, 0)) }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The position in the bytes of a position in the text. Cheap for ascending positions.
    pub(crate) fn place(&self, at: usize) -> usize {
        if !self.coding.is_utf16 {
            return at;
        }
        if at == self.text.len() {
            return self.bytes.len();
        }
        let (text, bytes) =
            Some(self.known.get()).filter(|(text, _)| *text <= at).unwrap_or((0, 0));
        let units: usize = self.text[text..at].chars().map(char::len_utf16).sum();
        self.known.set((at, bytes + 2 * units));
        bytes + 2 * units
    }

    /// A line feed in the encoding of the bytes.
    pub(crate) fn line_feed(&self) -> Vec<u8> {
        match self.coding.charset {
            Charset::Other(encoding) if encoding.name() == "UTF-16LE" => vec![b'\n', 0],
            Charset::Other(encoding) if encoding.name() == "UTF-16BE" => vec![0, b'\n'],
            _ => vec![b'\n'],
        }
    }

    /// A part of the text as decoded by the indexer.
    pub(crate) fn part(&self, range: Range<usize>) -> Cow<'_, str> {
        if !self.exact {
            return self.coding.decode(&self.bytes[range]);
        }
        let part = &self.text[range.clone()];
        let without = part.strip_prefix('\u{FEFF}').filter(|_| range.start == 0);
        Cow::Borrowed(without.unwrap_or(part))
    }
}

fn ascii(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.is_ascii() => Cow::Borrowed(text),
        _ => {
            bytes.iter().map(|byte| if byte.is_ascii() { char::from(*byte) } else { '?' }).collect()
        }
    }
}

/// Valid text of the same length: invalid bytes are replaced by question marks.
pub(crate) fn same_length(bytes: &[u8]) -> Cow<'_, str> {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '?'));
    }
    Cow::Owned(text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    pub(crate) fn utf16(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn places_of_utf_16_are_found_behind_any_character() {
        let text = "aä世𝄞\nb";
        let bytes = utf16(text);
        let coding = Coding::of(Charset::parse("utf-16le").unwrap(), &bytes, None);
        let view = View::new(&bytes, coding);
        assert_eq!(view.text(), text);
        for (at, _) in text.char_indices() {
            assert_eq!(view.place(at), utf16(&text[..at]).len());
        }
        assert_eq!(view.place(0), 0);
        assert_eq!(coding.border(&bytes[..8]), 6);
    }

    #[test]
    fn utf_16_is_known_by_its_mark_and_by_its_zeros() {
        let bytes = [&[0xFF, 0xFE][..], &utf16("abc\n")].concat();
        let coding = Coding::of(Charset::Utf8, &bytes, None);
        assert!(coding.is_utf16() && coding.mark() == [0xFF, 0xFE]);
        assert_eq!(View::new(&bytes, coding).part(0..6), "abc");
        let named = Coding::of(Charset::parse("utf-16").unwrap(), &bytes, None);
        assert_eq!(View::new(&bytes, named).part(0..6), "abc");
        assert!(Coding::of(Charset::Auto, &utf16("abc\n"), None).is_utf16());
        assert!(!Coding::of(Charset::Utf8, b"plain\n", None).is_utf16());
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &bytes).unwrap();
        let middle = Coding::of(Charset::Utf8, &utf16("c\n"), file.path().to_str());
        assert!(middle.is_utf16() && middle.mark() == [0xFF, 0xFE]);
    }

    #[test]
    fn what_is_no_text_keeps_its_place_and_is_shown_as_an_indexer_does() {
        let coding = Coding::of(Charset::Utf8, b"", None);
        let view = View::new(b"a\xFFb\xC3", coding);
        assert_eq!((view.text(), &*view.part(0..3)), ("a?b?", "a\\xFFb"));
        let coding = Coding::of(Charset::parse("latin-1").unwrap(), b"", None);
        let view = View::new(b"gr\xFC\xDFe\n", coding);
        assert_eq!((view.text(), &*view.part(0..5)), ("gr??e\n", "grüße"));
    }
}
