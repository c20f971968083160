//! What is sent: lines in numbered batches, whether they are generated or repeated from files.
//!
//! A batch can be made alone and in any order, so connections share one counter and nothing else.

use std::ops::Range;

use crate::event::Stream;
use crate::line::LineWriter;

/// A line of text and what is known about it.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// The text without its line feed.
    pub text: &'a [u8],
    /// Who logged it.
    pub host: &'a str,
    /// UTC microseconds.
    pub time: i64,
}

/// Lines in numbered batches. Batches of one source follow each other: `n`, `n + sources`, ...
pub trait Load: Send + Sync {
    /// How many batches there are; they are numbered from 0.
    fn batches(&self) -> u64;

    /// How many sources there are; batch `n` is of source `n % sources`.
    fn sources(&self) -> u64;

    /// The name of a source.
    fn source(&self, source: u64) -> &str;

    /// Calls `each` with the lines of a batch, in order.
    fn visit(&self, batch: u64, each: &mut dyn FnMut(Line<'_>));
}

/// Generated events.
#[derive(Debug)]
pub struct Generated {
    stream: Stream,
    writer: LineWriter,
    source: String,
    per_batch: u64,
}

/// Lines are taken to be this long on average.
pub const AVERAGE_LINE: u64 = 310;

impl Generated {
    /// Events of a stream in batches of about `bytes`.
    #[must_use]
    pub fn new(stream: Stream, source: &str, bytes: u64) -> Self {
        let per_batch = (bytes / AVERAGE_LINE).max(1);
        Self { stream, writer: LineWriter::new(&stream), source: source.to_owned(), per_batch }
    }

    fn numbers(&self, batch: u64) -> Range<u64> {
        let all = self.stream.numbers();
        let start = all.start + batch * self.per_batch;
        start.min(all.end)..(start + self.per_batch).min(all.end)
    }
}

impl Load for Generated {
    fn batches(&self) -> u64 {
        self.stream.events.div_ceil(self.per_batch)
    }

    fn sources(&self) -> u64 {
        1
    }

    fn source(&self, _: u64) -> &str {
        &self.source
    }

    fn visit(&self, batch: u64, each: &mut dyn FnMut(Line<'_>)) {
        let mut writer = self.writer.clone();
        let mut text = Vec::new();
        self.stream.for_each(self.numbers(batch), |event| {
            text.clear();
            writer.write_bare(event, &mut text);
            each(Line { text: &text, host: writer.host(event), time: event.time });
        });
    }
}
