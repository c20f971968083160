//! Lines or syslog messages over TCP, over several connections. Nothing is acknowledged: a batch
//! counts when it was written and the other side has closed the connection behind it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use anyhow::{Context, Result};

use super::body::Form;
use super::{Report, Started};
use crate::load::Load;
use crate::pace::Pace;

/// How to send.
#[derive(Debug, Clone)]
pub struct Tcp {
    /// `host:port`.
    pub address: String,
    /// Connections at the same time. Each source has connections of its own.
    pub connections: usize,
    /// How batches are written.
    pub form: Form,
}

/// Counters that connections share.
#[derive(Debug, Default)]
struct Shared {
    next: AtomicU64,
    events: AtomicU64,
    bytes: AtomicU64,
}

impl Tcp {
    /// Sends every batch that the pace allows, and waits until the other side has closed every
    /// connection too.
    ///
    /// # Errors
    /// If a connection cannot be made, or breaks.
    pub fn run(&self, load: &dyn Load, pace: &Pace) -> Result<Report> {
        let started = Started::now();
        let shared = Shared::default();
        let connections = self.connections.max(1);
        // One stream per source keeps its lines in order; a single source is dealt out.
        let streams = match load.sources() {
            1 => connections as u64,
            sources => sources,
        };
        thread::scope(|scope| {
            let send = || -> Result<()> {
                loop {
                    let stream = shared.next.fetch_add(1, Ordering::Relaxed);
                    if stream >= streams {
                        return Ok(());
                    }
                    let numbers = (stream..load.batches()).step_by(usize::try_from(streams)?);
                    self.send(load, pace, numbers, &shared)?;
                }
            };
            let threads: Vec<_> = (0..connections).map(|_| scope.spawn(send)).collect();
            threads.into_iter().try_for_each(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        })?;
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Ok(Report::since(&started, value(&shared.events), value(&shared.bytes)))
    }

    fn send(
        &self,
        load: &dyn Load,
        pace: &Pace,
        batches: impl Iterator<Item = u64>,
        shared: &Shared,
    ) -> Result<()> {
        let broken = || format!("the connection to {} broke", self.address);
        let socket = TcpStream::connect(&self.address);
        let mut socket = socket.with_context(|| format!("cannot connect to {}", self.address))?;
        let mut text = Vec::new();
        for batch in batches {
            text.clear();
            let contents = self.form.write(load, batch, &mut text);
            let Some(wait) = pace.place(contents.bytes) else { break };
            thread::sleep(wait);
            socket.write_all(&text).with_context(broken)?;
            shared.events.fetch_add(contents.events, Ordering::Relaxed);
            shared.bytes.fetch_add(contents.bytes, Ordering::Relaxed);
        }
        socket.shutdown(Shutdown::Write).with_context(broken)?;
        socket.read_to_end(&mut Vec::new()).with_context(broken)?;
        Ok(())
    }
}
