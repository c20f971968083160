//! Lines made and thrown away: how fast the generator is.

use anyhow::Result;

use super::body::Form;
use super::{Report, Started};
use crate::event::Stream;
use crate::load::Load;
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

/// Makes every batch of a load.
#[must_use]
pub fn batches(load: &dyn Load) -> Report {
    let started = Started::now();
    let (mut events, mut bytes) = (0, 0);
    let mut text = Vec::new();
    for batch in 0..load.batches() {
        text.clear();
        let contents = Form::Lines.write(load, batch, &mut text);
        events += contents.events;
        bytes += std::hint::black_box(&text).len() as u64;
    }
    Report::since(&started, events, bytes)
}
