//! Lines over TCP, one after the other: syslog as it comes from a relay. Nothing is acknowledged.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use anyhow::{Context, Result};

use super::{Report, Started};
use crate::event::Stream;
use crate::produce;

/// Sends every line over one connection, and waits until the other side has closed it too.
///
/// # Errors
/// If the connection cannot be made, or breaks.
pub fn run(stream: &Stream, threads: usize, address: &str) -> Result<Report> {
    let started = Started::now();
    let broken = || format!("the connection to {address} broke");
    let socket = TcpStream::connect(address);
    let mut socket = socket.with_context(|| format!("cannot connect to {address}"))?;
    let mut bytes = 0;
    produce::ordered(stream, threads, |chunk| {
        bytes += chunk.len() as u64;
        socket.write_all(chunk).with_context(broken)
    })?;
    socket.shutdown(Shutdown::Write).with_context(broken)?;
    socket.read_to_end(&mut Vec::new()).with_context(broken)?;
    Ok(Report::since(&started, stream.events, bytes))
}
