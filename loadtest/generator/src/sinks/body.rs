//! Batches as text: lines, objects of the HTTP Event Collector, syslog messages.

use std::io::Write;

use crate::line::write_number;
use crate::load::{Line, Load};

/// How syslog messages are told apart (RFC 6587).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// By line feeds.
    LineFeed,
    /// By their length in front.
    OctetCount,
}

/// What stands before a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    /// Nothing.
    None,
    /// `<134>`: the line has time and host of its own, as relays forward it.
    Priority,
    /// All of RFC 5424's header.
    Rfc5424,
}

/// How a batch is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// Lines.
    Lines,
    /// HEC objects, with these members next to event, time, host and source.
    Objects {
        /// `sourcetype`.
        sourcetype: Option<String>,
        /// `index`.
        index: Option<String>,
    },
    /// Syslog messages.
    Syslog {
        /// How they are told apart.
        framing: Framing,
        /// What stands before each.
        header: Header,
    },
}

/// What a body holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Contents {
    /// Lines.
    pub events: u64,
    /// Their text with a line feed each; what the form adds is not counted.
    pub bytes: u64,
}

impl Form {
    /// Appends a batch.
    pub fn write(&self, load: &dyn Load, batch: u64, out: &mut Vec<u8>) -> Contents {
        let mut contents = Contents::default();
        let source = load.source(batch % load.sources());
        let mut message = Vec::new();
        load.visit(batch, &mut |line| {
            contents.events += 1;
            contents.bytes += line.text.len() as u64 + 1;
            match self {
                Self::Lines => {
                    out.extend_from_slice(line.text);
                    out.push(b'\n');
                }
                Self::Objects { sourcetype, index } => {
                    object(&line, source, sourcetype.as_deref(), index.as_deref(), out);
                }
                Self::Syslog { framing: Framing::LineFeed, header } => {
                    header.write(&line, source, out);
                    out.extend_from_slice(line.text);
                    out.push(b'\n');
                }
                Self::Syslog { framing: Framing::OctetCount, header } => {
                    message.clear();
                    header.write(&line, source, &mut message);
                    message.extend_from_slice(line.text);
                    write_number(message.len() as u64, out);
                    out.push(b' ');
                    out.extend_from_slice(&message);
                }
            }
        });
        contents
    }
}

impl Header {
    fn write(self, line: &Line<'_>, source: &str, out: &mut Vec<u8>) {
        match self {
            Self::None => {}
            Self::Priority => out.extend_from_slice(b"<134>"),
            Self::Rfc5424 => {
                let time = jiff::Timestamp::from_microsecond(line.time).unwrap_or_default();
                // Cannot fail: the writer is a vector.
                let _ = write!(out, "<134>1 {time:.6} {} {source} - - - ", line.host);
            }
        }
    }
}

/// `{"time":1763672400.123456,"host":...,"event":"..."}`.
fn object(
    line: &Line<'_>,
    source: &str,
    sourcetype: Option<&str>,
    index: Option<&str>,
    out: &mut Vec<u8>,
) {
    let (seconds, micros) = (line.time.div_euclid(1_000_000), line.time.rem_euclid(1_000_000));
    // Cannot fail: the writer is a vector.
    let _ = write!(
        out,
        "{{\"time\":{seconds}.{micros:06},\"host\":\"{}\",\"source\":\"{source}\",",
        line.host
    );
    for (name, value) in [("sourcetype", sourcetype), ("index", index)] {
        if let Some(value) = value {
            let _ = write!(out, "\"{name}\":\"{value}\",");
        }
    }
    out.extend_from_slice(b"\"event\":\"");
    let text = line.text.strip_suffix(b"\r").unwrap_or(line.text);
    escape(&String::from_utf8_lossy(text), out);
    out.extend_from_slice(b"\"}\n");
}

/// Appends text as it stands in a JSON string.
fn escape(text: &str, out: &mut Vec<u8>) {
    let mut rest = text.as_bytes();
    let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    while let Some(at) = rest.iter().position(special) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            byte @ (b'"' | b'\\') => out.extend_from_slice(&[b'\\', byte]),
            b'\t' => out.extend_from_slice(b"\\t"),
            byte => {
                let _ = write!(out, "\\u{byte:04x}");
            }
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}
