//! Finds where the chain continues after a start: after the last complete record. Bytes after it
//! were torn by a crash; they stay, and the next record contains their size.

use std::io::Write;
use std::path::Path;

use crate::chain::{Digest, Head};
use crate::files::{self, Active, Lines};
use crate::record::{Line, REPAIR};
use crate::{Error, Info, Record};

/// The recovered state.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) head: Head,
    /// The newest file.
    pub(crate) active: Option<Active>,
    /// The record about torn bytes, to be written first.
    pub(crate) torn: Option<Record>,
}

/// Finds the end of the chain, and terminates a torn line.
pub(crate) fn recover(directory: &Path) -> Result<Recovered, Error> {
    let files = files::list(directory)?;
    let mut head = Head { seq: 0, hash: Digest::ZERO };
    let mut torn = Vec::new();
    let mut ended = true;
    // The newest file may be empty after a crash; the previous one then has the last record.
    let mut from = files.len();
    while from > 0 && head.seq == 0 {
        from -= 1;
        torn.clear();
        for file in &files[from..] {
            let mut lines = Lines::open(&file.path)?;
            let mut line = Vec::new();
            while let Some(has_end) = lines.next(&mut line)? {
                ended = has_end;
                match Line::parse(&line) {
                    Some(read) => {
                        head = Head { seq: read.seq, hash: read.hash };
                        torn.clear();
                    }
                    None => {
                        torn.extend_from_slice(&line);
                        torn.push(b'\n');
                    }
                }
            }
        }
    }
    let Some(last) = files.last() else { return Ok(Recovered { head, active: None, torn: None }) };
    let failed = |error: std::io::Error| Error::file("write", &last.path, &error);
    let mut file = files::open(&last.path).map_err(failed)?;
    if !ended {
        file.write_all(b"\n").and_then(|()| file.sync_all()).map_err(failed)?;
    }
    let bytes = file.metadata().map_err(failed)?.len();
    let active = Active { path: last.path.clone(), file, bytes };
    Ok(Recovered { head, active: Some(active), torn: torn_record(&torn) })
}

/// The record that vouches for torn lines.
fn torn_record(torn: &[u8]) -> Option<Record> {
    (!torn.is_empty()).then(|| {
        Record::of_server(REPAIR, Info::Succeeded)
            .with(
                "reason",
                "a record was torn by the end of the process; it was never acknowledged",
            )
            .with("torn_bytes", torn.len())
            .with("torn_sha256", Digest::sha256(torn))
    })
}
