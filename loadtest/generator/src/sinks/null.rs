//! Lines made and thrown away: how fast the generator is.

use anyhow::Result;

use super::{Report, Started};
use crate::event::Stream;
use crate::produce;

/// Makes every line.
///
/// # Errors
/// None; the signature is that of the other sinks.
pub fn run(stream: &Stream, threads: usize) -> Result<Report> {
    let started = Started::now();
    let mut bytes = 0;
    produce::ordered(stream, threads, |chunk| {
        bytes += std::hint::black_box(chunk).len() as u64;
        Ok(())
    })?;
    Ok(Report::since(&started, stream.events, bytes))
}
