//! Where lines go, and how fast they went.

mod ack;
pub mod body;
pub mod file;
pub mod hec;
pub mod null;
pub mod tcp;

use std::fmt;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::latency::Quantiles;

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
    /// What the other side answered, if it does.
    pub answers: Option<Answers>,
    /// How far behind its schedule a paced run was at most.
    pub behind: Option<Duration>,
}

/// What a server that answers said to a run's requests.
#[derive(Debug, Clone, Copy, Default)]
pub struct Answers {
    /// Requests that were taken.
    pub requests: u64,
    /// Times that the server was busy and a request was sent again.
    pub busy: u64,
    /// Times that the connection broke and a request was sent again.
    pub broken: u64,
    /// Events that were sent and never acknowledged.
    pub unacknowledged: u64,
    /// From the first attempt of a request to the answer that took it.
    pub taken: Option<Quantiles>,
    /// From the first attempt of a request to its acknowledgement.
    pub acknowledged: Option<Quantiles>,
}

impl Report {
    /// The report of a run that took from `started` until now.
    #[must_use]
    pub fn since(started: &Started, events: u64, bytes: u64) -> Self {
        let cpu = started.cpu.zip(cpu_time()).map(|(then, now)| now.saturating_sub(then));
        let elapsed = started.at.elapsed();
        Self { events, bytes, elapsed, cpu, answers: None, behind: None }
    }

    /// The report for programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let seconds = |time: Duration| time.as_secs_f64();
        let quantiles = |values: Option<Quantiles>| {
            values.map(|values| {
                json!({
                    "count": values.count,
                    "p50": seconds(values.p50),
                    "p90": seconds(values.p90),
                    "p99": seconds(values.p99),
                    "max": seconds(values.max),
                })
            })
        };
        let answers = self.answers.map(|answers| {
            json!({
                "requests": answers.requests,
                "busy": answers.busy,
                "broken": answers.broken,
                "unacknowledged": answers.unacknowledged,
                "taken": quantiles(answers.taken),
                "acknowledged": quantiles(answers.acknowledged),
            })
        });
        json!({
            "events": self.events,
            "bytes": self.bytes,
            "elapsed": seconds(self.elapsed),
            "cpu": self.cpu.map(seconds),
            "behind": self.behind.map(seconds),
            "answers": answers,
        })
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
            Some(cpu) if cpu > 0.0 => write!(f, ", {:.0} MB per CPU-second", megabytes / cpu)?,
            _ => {}
        }
        if let Some(behind) = self.behind {
            write!(f, "\nat most {:.2} s behind its schedule", behind.as_secs_f64())?;
        }
        self.answers.iter().try_for_each(|answers| write!(f, "\n{answers}"))
    }
}

impl fmt::Display for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} requests taken", self.requests)?;
        if self.busy > 0 {
            write!(f, ", {} sent again because the server was busy", self.busy)?;
        }
        if self.broken > 0 {
            write!(f, ", {} sent again because the connection broke", self.broken)?;
        }
        if self.unacknowledged > 0 {
            write!(f, "; {} events were NOT acknowledged", self.unacknowledged)?;
        }
        for (name, values) in [("taken", self.taken), ("acknowledged", self.acknowledged)] {
            let Some(values) = values else { continue };
            let millis = |time: Duration| time.as_secs_f64() * 1e3;
            write!(
                f,
                "\n{name} after p50 {:.1}, p90 {:.1}, p99 {:.1}, at most {:.1} ms",
                millis(values.p50),
                millis(values.p90),
                millis(values.p99),
                millis(values.max)
            )?;
        }
        Ok(())
    }
}
