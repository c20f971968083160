//! Text made on several threads, handed over in order.

use std::ops::Range;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use anyhow::Result;

use crate::event::Stream;
use crate::line::LineWriter;

/// Events of a chunk: about 2.5 MB of text, so that a chunk stays in a core's cache.
const CHUNK: u64 = 8_192;

/// Appends the lines of a range of events.
pub fn lines(stream: &Stream, writer: &mut LineWriter, numbers: Range<u64>, out: &mut Vec<u8>) {
    stream.for_each(numbers, |event| writer.write(event, out));
}

/// Makes all lines on `threads` threads and hands them to `take` in order, in chunks.
///
/// # Errors
/// What `take` fails with ends the run.
pub fn ordered(
    stream: &Stream,
    threads: usize,
    mut take: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let threads = threads.max(1);
    if threads == 1 {
        let mut writer = LineWriter::new(stream);
        let mut chunk = Vec::new();
        for numbers in chunks(stream, 0, 1) {
            chunk.clear();
            lines(stream, &mut writer, numbers, &mut chunk);
            take(&chunk)?;
        }
        return Ok(());
    }
    thread::scope(|scope| {
        let made: Vec<Receiver<Vec<u8>>> = (0..threads)
            .map(|thread| {
                let (send, receive) = sync_channel(2);
                scope.spawn(move || {
                    let mut writer = LineWriter::new(stream);
                    for numbers in chunks(stream, thread, threads) {
                        let mut chunk = Vec::new();
                        lines(stream, &mut writer, numbers, &mut chunk);
                        // Nobody listens any more: the run has failed.
                        if send.send(chunk).is_err() {
                            return;
                        }
                    }
                });
                receive
            })
            .collect();
        for thread in (0..threads).cycle() {
            match made[thread].recv() {
                Ok(chunk) => take(&chunk)?,
                // Chunks go round: when one thread has no more, neither have the others.
                Err(_) => break,
            }
        }
        Ok(())
    })
}

/// The chunks that one of several threads makes.
fn chunks(stream: &Stream, thread: usize, threads: usize) -> impl Iterator<Item = Range<u64>> {
    let numbers = stream.numbers();
    let first = numbers.start + CHUNK * thread as u64;
    (first..numbers.end)
        .step_by(usize::try_from(CHUNK).unwrap_or(1) * threads)
        .map(move |start| start..(start + CHUNK).min(numbers.end))
}
