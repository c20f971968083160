//! UTF-16, as far as a file is cut in it: byte order marks, line feeds, the borders of characters.
//!
//! Characters begin at even places of a file. A byte that looks like a line feed may be half of another
//! character, so the byte order of a file has to be known for all of its life.

use knowledge::Charset;

/// The order of the bytes of UTF-16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Utf16 {
    /// The low byte first.
    Little,
    /// The high byte first.
    Big,
}

impl Utf16 {
    /// The order that a byte order mark at the start of a text tells.
    #[must_use]
    pub fn marked(head: &[u8]) -> Option<Self> {
        match head {
            [0xFF, 0xFE, ..] => Some(Self::Little),
            [0xFE, 0xFF, ..] => Some(Self::Big),
            _ => None,
        }
    }

    /// The order that a configured character set names; `None` if it is not UTF-16.
    #[must_use]
    pub fn of(charset: Charset) -> Option<Self> {
        match charset {
            Charset::Other(encoding) if encoding.name() == "UTF-16LE" => Some(Self::Little),
            Charset::Other(encoding) if encoding.name() == "UTF-16BE" => Some(Self::Big),
            _ => None,
        }
    }

    /// The byte order mark.
    #[must_use]
    pub const fn mark(self) -> [u8; 2] {
        match self {
            Self::Little => [0xFF, 0xFE],
            Self::Big => [0xFE, 0xFF],
        }
    }

    fn last_line_end(self, bytes: &[u8], place: u64) -> Option<usize> {
        let line_feed = match self {
            Self::Little => [b'\n', 0],
            Self::Big => [0, b'\n'],
        };
        let begin = before_characters(place);
        let (characters, _) = bytes.get(begin..)?.as_chunks::<2>();
        let last = characters.iter().rposition(|character| *character == line_feed)?;
        Some(begin + 2 * (last + 1))
    }

    fn border(self, bytes: &[u8], place: u64) -> usize {
        let begin = before_characters(place).min(bytes.len());
        let whole = bytes.len() - (bytes.len() - begin) % 2;
        let last = bytes.get(begin..whole).and_then(|characters| characters.last_chunk::<2>());
        let high = last.map(|[first, second]| match self {
            Self::Little => *second,
            Self::Big => *first,
        });
        // The first half of a character beyond the first 65,536.
        if high.is_some_and(|byte| (0xD8..0xDC).contains(&byte)) { whole - 2 } else { whole }
    }
}

/// Bytes at a place of a file before the next character begins.
fn before_characters(place: u64) -> usize {
    usize::from(!place.is_multiple_of(2))
}

/// Returns the end of the last whole line in bytes at an offset of a file; `None` if they have no line feed.
pub(crate) fn last_line_end(utf16: Option<Utf16>, bytes: &[u8], place: u64) -> Option<usize> {
    match utf16 {
        Some(utf16) => utf16.last_line_end(bytes, place),
        None => memchr::memrchr(b'\n', bytes).map(|end| end + 1),
    }
}

/// The last place in the bytes where a file may be cut if it has to be; their end, unless it is in UTF-16.
pub(crate) fn border(utf16: Option<Utf16>, bytes: &[u8], place: u64) -> usize {
    utf16.map_or(bytes.len(), |utf16| utf16.border(bytes, place))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn encode(utf16: Utf16, text: &str) -> Vec<u8> {
        let bytes = |unit: u16| match utf16 {
            Utf16::Little => unit.to_le_bytes(),
            Utf16::Big => unit.to_be_bytes(),
        };
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn lines_end_behind_whole_line_feeds_only() {
        for utf16 in [Utf16::Little, Utf16::Big] {
            // U+0A0A and U+000A U+0A00 have line feeds at every place.
            let bytes = encode(utf16, "a\nb\u{A0A}\u{A00}\u{A0A}");
            for place in [0, 2, 100] {
                assert_eq!(last_line_end(Some(utf16), &bytes, place), Some(4), "{utf16:?}");
                assert_eq!(last_line_end(Some(utf16), &bytes[1..], place + 1), Some(3));
                assert_eq!(last_line_end(Some(utf16), &bytes[4..], place), None);
            }
            assert_eq!(last_line_end(Some(utf16), &bytes[..3], 0), None, "half a line feed");
            assert_eq!(last_line_end(Some(utf16), &[], 1), None);
        }
        assert_eq!(last_line_end(None, b"a\nb", 1), Some(2));
    }

    #[test]
    fn characters_are_not_cut() {
        for utf16 in [Utf16::Little, Utf16::Big] {
            let bytes = encode(utf16, "a𝄞");
            let borders: Vec<_> =
                (0..=6).map(|end| border(Some(utf16), &bytes[..end], 0)).collect();
            assert_eq!(borders, [0, 0, 2, 2, 2, 2, 6], "{utf16:?}");
            assert_eq!(border(Some(utf16), &bytes[1..4], 1), 1);
            assert_eq!(border(Some(utf16), &[], 1), 0);
            let charset = Charset::parse(if utf16 == Utf16::Big { "UTF-16" } else { "utf-16le" });
            assert_eq!(Utf16::of(charset.unwrap()), Some(utf16));
            assert_eq!(Utf16::marked(&utf16.mark()), Some(utf16));
        }
        assert_eq!(border(None, "ä".as_bytes(), 0), 2);
    }
}
