//! Lines into a file, or onto standard output.

use std::fs::File;
use std::io::{Write, stdout};
use std::path::Path;

use anyhow::{Context, Result};

use super::{Report, Started};
use crate::event::Stream;
use crate::produce;

/// Writes every line to `path`, or to standard output if it is `-`.
///
/// # Errors
/// If the file cannot be created or written.
pub fn run(stream: &Stream, threads: usize, path: &Path) -> Result<Report> {
    let started = Started::now();
    let cannot = || format!("cannot write {}", path.display());
    let mut out: Box<dyn Write> = if path == Path::new("-") {
        Box::new(stdout().lock())
    } else {
        Box::new(File::create(path).with_context(cannot)?)
    };
    let mut bytes = 0;
    produce::ordered(stream, threads, |chunk| {
        bytes += chunk.len() as u64;
        out.write_all(chunk).with_context(cannot)
    })?;
    out.flush().with_context(cannot)?;
    Ok(Report::since(&started, stream.events, bytes))
}
