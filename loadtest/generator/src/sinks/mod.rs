//! Where generated lines go, and how fast they went.

pub mod file;
pub mod hec;
pub mod null;
pub mod tcp;

use std::fmt;
use std::time::{Duration, Instant};

/// What a run did.
#[derive(Debug, Clone, Copy)]
pub struct Report {
    /// Events made (and acknowledged, where the sink acknowledges).
    pub events: u64,
    /// Bytes of text, line feeds included.
    pub bytes: u64,
    /// From start to end.
    pub elapsed: Duration,
    /// CPU time of this process, where the system tells it.
    pub cpu: Option<Duration>,
}

impl Report {
    /// The report of a run that took from `started` until now.
    #[must_use]
    pub fn since(started: &Started, events: u64, bytes: u64) -> Self {
        let cpu = started.cpu.zip(cpu_time()).map(|(then, now)| now.saturating_sub(then));
        Self { events, bytes, elapsed: started.at.elapsed(), cpu }
    }
}

/// When a run began.
#[derive(Debug, Clone, Copy)]
pub struct Started {
    at: Instant,
    cpu: Option<Duration>,
}

impl Started {
    /// Now.
    #[must_use]
    pub fn now() -> Self {
        Self { at: Instant::now(), cpu: cpu_time() }
    }
}

/// User and system time of this process, in the kernel's steps of 10 ms.
fn cpu_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The program's name, in brackets, may hold spaces.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(Duration::from_millis((user + system) * 10))
}

#[allow(clippy::cast_precision_loss)]
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = self.bytes as f64 / 1e6;
        let seconds = self.elapsed.as_secs_f64().max(1e-9);
        let average = self.bytes as f64 / self.events.max(1) as f64;
        write!(
            f,
            "{} events of {average:.0} bytes, {megabytes:.1} MB in {seconds:.2} s: {:.0} MB/s",
            self.events,
            megabytes / seconds
        )?;
        match self.cpu.map(|cpu| cpu.as_secs_f64()) {
            Some(cpu) if cpu > 0.0 => write!(f, ", {:.0} MB per CPU-second", megabytes / cpu),
            _ => Ok(()),
        }
    }
}
