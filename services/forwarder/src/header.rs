//! Headers of tables: every batch of a structured source begins with the header of its source, because a
//! batch is indexed on its own. The indexer does not take the header for an event.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use inputs::Utf16;
use knowledge::structured::{StructuredFormat, StructuredReader, StructuredRules};

use crate::view::{Coding, View};

/// Number of bytes at the beginning of a source that are searched for its header.
const BEGINNING: u64 = 64 << 10;
/// Number of bytes used to check whether a stream starts at the beginning of its file.
const COMPARED: usize = 1024;
/// The prefix of the monitor's streams.
pub(crate) const MONITORED: &str = "monitor:";
/// The line that names the columns of W3C logs; it may occur anywhere in them.
const FIELDS: &[u8] = b"#Fields:";

/// The header of one stream.
#[derive(Debug)]
pub(crate) struct Header {
    text: Bytes,
    /// Whether the next piece contains the header itself.
    at_beginning: bool,
    is_utf16: bool,
    is_w3c: bool,
}

impl Header {
    /// The header of a stream that begins with `first`; `None` if its source type has no headers.
    pub(crate) fn new(
        rules: &Arc<StructuredRules>,
        stream: &str,
        source: &str,
        first: &[u8],
        coding: Coding,
    ) -> Option<Self> {
        if rules.format == StructuredFormat::Json {
            return None;
        }
        let file = if stream.starts_with(MONITORED) { beginning(source) } else { Vec::new() };
        let same = file.is_empty() || file.starts_with(&first[..first.len().min(COMPARED)]);
        let text = lines(rules, if same { first } else { &file }, coding);
        let is_w3c = rules.format == StructuredFormat::W3c;
        Some(Self { text, at_beginning: same, is_utf16: coding.is_utf16(), is_w3c })
    }

    /// Puts the header before a piece.
    pub(crate) fn before(&mut self, piece: Bytes) -> Bytes {
        let mut whole = piece;
        if !std::mem::take(&mut self.at_beginning) && !self.text.is_empty() {
            let mut joined = BytesMut::with_capacity(self.text.len() + whole.len());
            joined.extend_from_slice(&self.text);
            // A stream that continues in a file gets a byte order mark, whether the file has one or not.
            let mark = self.is_utf16.then(|| Utf16::marked(&whole)).flatten().map(Utf16::mark);
            let rows = mark.and_then(|mark| whole.strip_prefix(&mark[..])).unwrap_or(&whole);
            joined.extend_from_slice(rows);
            whole = joined.freeze();
        }
        // The columns may change within a file.
        if self.is_w3c
            && let Some(at) = memchr::memmem::rfind(&whole, FIELDS)
        {
            let end = memchr::memchr(b'\n', &whole[at..]).map_or(whole.len(), |end| at + end + 1);
            self.text = Bytes::copy_from_slice(&whole[at..end]);
        }
        whole
    }
}

/// Reads the beginning of a file, as far as possible.
fn beginning(path: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(BEGINNING).read_to_end(&mut bytes));
    if let Err(error) = read {
        tracing::warn!(path, %error, "the header of a followed table cannot be read");
    }
    bytes
}

/// The lines before the first event.
fn lines(rules: &Arc<StructuredRules>, beginning: &[u8], coding: Coding) -> Bytes {
    let most = usize::try_from(BEGINNING).unwrap_or(usize::MAX);
    let view = View::new(&beginning[..beginning.len().min(most)], coding);
    let text = view.text();
    let mut reader = StructuredReader::new(Arc::clone(rules));
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_end_matches(['\r', '\n']).trim_start_matches('\u{FEFF}');
        if !content.is_empty() && reader.is_event(content) {
            break;
        }
        length += line.len();
    }
    Bytes::copy_from_slice(&beginning[..view.place(length)])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::{Layer, Layers};
    use knowledge::Knowledge;

    use super::*;

    fn plain() -> Coding {
        Coding::of(knowledge::Charset::Utf8, b"", None)
    }

    fn rules(kind: &str) -> Arc<StructuredRules> {
        let props = format!("[t]\nINDEXED_EXTRACTIONS = {kind}");
        let layers = Layers::builtin().with(Layer::SystemLocal, "props", &props);
        Knowledge::new(layers).parsing_rules("t", "s", "h").structured.clone().unwrap()
    }

    #[test]
    fn every_piece_but_the_first_gets_the_header() {
        let mut header = Header::new(&rules("csv"), "tcp:1", "x", b"a,b\n1,2\n", plain()).unwrap();
        assert_eq!(header.before(Bytes::from("a,b\n1,2\n")), "a,b\n1,2\n");
        assert_eq!(header.before(Bytes::from("3,4\n")), "a,b\n3,4\n");
        assert!(Header::new(&rules("json"), "tcp:1", "x", b"{}", plain()).is_none());
    }

    #[test]
    fn a_file_that_is_read_on_in_its_middle_gets_the_header_of_its_beginning() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "a,b\n1,2\n3,4\n").unwrap();
        let path = file.path().to_str().unwrap();
        let mut header = Header::new(&rules("csv"), "monitor:1", path, b"3,4\n", plain()).unwrap();
        assert_eq!(header.before(Bytes::from("3,4\n")), "a,b\n3,4\n");
    }

    #[test]
    fn a_header_in_utf_16_is_found() {
        let encode =
            |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let first = encode("\u{FEFF}a,b\n1,2\n");
        let coding = Coding::of(knowledge::Charset::Utf8, &first, None);
        let mut header = Header::new(&rules("csv"), "tcp:1", "x", &first, coding).unwrap();
        header.before(first.into());
        assert_eq!(header.before(encode("3,4\n").into()), encode("\u{FEFF}a,b\n3,4\n"));
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), encode("\u{FEFF}a,b\n1,2\n3,4\n")).unwrap();
        let (path, next) = (file.path().to_str().unwrap(), encode("\u{FEFF}3,4\n"));
        let mut header = Header::new(&rules("csv"), "monitor:1", path, &next, coding).unwrap();
        assert_eq!(header.before(next.into()), encode("\u{FEFF}a,b\n3,4\n"));
    }

    #[test]
    fn a_mark_in_front_of_the_rows_of_a_file_without_one_is_no_part_of_the_first_row() {
        let encode =
            |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), encode("a,b\n1,2\n3,4\n")).unwrap();
        let (path, next) = (file.path().to_str().unwrap(), encode("\u{FEFF}3,4\n"));
        let charset = knowledge::Charset::parse("UTF-16LE").unwrap();
        let coding = Coding::of(charset, &next, Some(path));
        let mut header = Header::new(&rules("csv"), "monitor:1", path, &next, coding).unwrap();
        assert_eq!(header.before(next.into()), encode("a,b\n3,4\n"));
    }

    #[test]
    fn columns_of_w3c_logs_may_change() {
        let first = b"#Version: 1.0\n#Fields: a b\n1 2\n";
        let mut header = Header::new(&rules("w3c"), "tcp:1", "x", first, plain()).unwrap();
        header.before(Bytes::from_static(first));
        header.before(Bytes::from("#Fields: c d\n5 6\n"));
        assert_eq!(header.before(Bytes::from("7 8\n")), "#Fields: c d\n7 8\n");
    }
}
