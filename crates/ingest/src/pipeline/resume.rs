//! Finds the header of a table for a stream that begins in its middle: after a pause or a restart the monitor
//! continues in the file, whose header is at its beginning.

use std::fs::File;
use std::io::Read;

use bytes::Bytes;
use knowledge::structured::{StructuredFormat, StructuredReader};

use super::decode::TextDecoder;
use super::messages::StreamInfo;

/// Number of bytes at the beginning of a file that are searched for its header.
const BEGINNING: u64 = 64 << 10;
/// Number of bytes of a stream that are compared with its file, to tell whether the stream begins at the
/// start of the file.
const COMPARED: usize = 1024;
/// Prefix of the names of the monitor's streams.
const MONITORED: &str = "monitor:";

/// Returns a reader for a stream that begins with a text; `None` unless the stream is structured.
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

/// Returns the decoded beginning of the file of a stream; empty if it cannot be read, for example because
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
