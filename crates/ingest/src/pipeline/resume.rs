//! The header of a table in the middle of which a stream begins: the monitor goes on in a file where
//! it was before a pause or a restart, and the header is at the file's beginning.

use std::fs::File;
use std::io::Read;

use bytes::Bytes;
use knowledge::structured::{StructuredFormat, StructuredReader};

use super::decode::TextDecoder;
use super::messages::StreamInfo;

/// Bytes at the beginning of a file that are searched for its header.
const BEGINNING: u64 = 64 << 10;
/// Bytes of a stream by which its beginning is told from that of its file.
const COMPARED: usize = 1024;
/// How the monitor names its streams.
const MONITORED: &str = "monitor:";

/// A reader for a stream that begins with a text; `None` unless the stream is structured.
pub(super) fn reader(info: &StreamInfo, first: &[u8]) -> Option<StructuredReader> {
    let rules = info.rules.structured.clone()?;
    let has_header = rules.format != StructuredFormat::Json;
    if has_header && info.key.0.starts_with(MONITORED) {
        let beginning = beginning(info);
        let first = &first[..first.len().min(COMPARED)];
        if !beginning.is_empty() && !beginning.starts_with(first) {
            let text = String::from_utf8_lossy(&beginning);
            return Some(StructuredReader::resume(rules, &text));
        }
    }
    Some(StructuredReader::new(rules))
}

/// The beginning of the file that a stream comes from, decoded; empty if it cannot be read, as when its
/// `source` is not its path.
fn beginning(info: &StreamInfo) -> Bytes {
    let mut bytes = Vec::new();
    let read = File::open(&*info.origin.source)
        .and_then(|file| file.take(BEGINNING).read_to_end(&mut bytes));
    match read {
        Ok(_) => TextDecoder::new(info.rules.charset).decode(bytes.into(), false).text,
        Err(_) => Bytes::new(),
    }
}
