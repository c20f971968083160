//! The true answers of questions about a stream, from its draws alone.
//!
//! A question is `name[:argument][@from..to]`; the times (ISO or epoch seconds, half open) leave out
//! what is outside. Names:
//!
//! - `count`: events; `count:every1k`: events with a marker word;
//! - `markers`: every marker with its count;
//! - `hosts`: events by host;
//! - `errors`: events with status >= 500 by span of 10 minutes (epoch seconds);
//! - `users`: distinct `user_id`;
//! - `latency`: by path: count and mean of `latency_ms`, its exact 95th percentile (nearest rank), and
//!   the two values between which an interpolated one lies;
//! - `user:ID`: the events of a user: count and numbers (`id`), newest first;
//! - `session:PREFIX`: events whose session begins with these digits;
//! - `phrase:TEXT`: events whose message contains the text;
//! - `newest:N`: numbers of the newest N events.

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::event::{Event, Stream, USERS};
use crate::line::{LineWriter, hex, message};
use crate::parse;
use crate::words::{MARKERS, PATHS};

const TEN_MINUTES: i64 = 600_000_000;

/// A question, and what is known of its answer so far.
#[derive(Debug)]
pub struct Truth {
    times: Range<i64>,
    counter: Counter,
}

#[derive(Debug)]
enum Counter {
    Marked { least: usize, count: u64 },
    Markers([u64; MARKERS.len()]),
    Hosts(Vec<u64>),
    Errors(BTreeMap<i64, u64>),
    Users(Vec<bool>),
    Latency(Vec<BTreeMap<u32, u64>>),
    User { user: u32, numbers: Vec<u64> },
    Session { prefix: Vec<u8>, count: u64 },
    Phrase { holds: Vec<bool>, count: u64 },
    Newest { most: usize, numbers: Vec<u64> },
}

impl Truth {
    /// Reads a question about a stream.
    ///
    /// # Errors
    /// If it is not one of those above.
    pub fn ask(question: &str, stream: &Stream) -> Result<Self> {
        let (question, times) = match question.split_once('@') {
            None => (question, i64::MIN..i64::MAX),
            Some((question, times)) => {
                let (from, to) = times.split_once("..").context("a range is @from..to")?;
                (question, parse::time(from)?..parse::time(to)?)
            }
        };
        let (name, argument) = question.split_once(':').unwrap_or((question, ""));
        Ok(Self { times, counter: Counter::new(name, argument, stream)? })
    }

    /// Counts an event.
    pub fn take(&mut self, event: &Event) {
        if self.times.contains(&event.time) {
            self.counter.take(event);
        }
    }

    /// The answer.
    #[must_use]
    pub fn answer(self, stream: &Stream) -> Value {
        self.counter.answer(stream)
    }
}

impl Counter {
    fn new(name: &str, argument: &str, stream: &Stream) -> Result<Self> {
        Ok(match (name, argument) {
            ("count", "") => Self::Marked { least: 1, count: 0 },
            ("count", word) => {
                let place = MARKERS.iter().position(|(marker, _)| *marker == word);
                let place = place.with_context(|| format!("there is no marker \"{word}\""))?;
                Self::Marked { least: place + 1, count: 0 }
            }
            ("markers", "") => Self::Markers([0; MARKERS.len()]),
            ("hosts", "") => Self::Hosts(vec![0; stream.hosts as usize]),
            ("errors", "") => Self::Errors(BTreeMap::new()),
            ("users", "") => Self::Users(vec![false; usize::try_from(USERS)? + 1]),
            ("latency", "") => Self::Latency(vec![BTreeMap::new(); PATHS.len()]),
            ("user", id) => {
                let user = id.parse().with_context(|| format!("\"{id}\" is no user_id"))?;
                Self::User { user, numbers: Vec::new() }
            }
            ("session", prefix) => Self::Session { prefix: prefix.into(), count: 0 },
            ("phrase", text) => {
                let holds = |parts| message(parts).concat().contains(text);
                Self::Phrase { holds: (0..4_096).map(holds).collect(), count: 0 }
            }
            ("newest", most) => {
                let most = most.parse().with_context(|| format!("\"{most}\" is no count"))?;
                Self::Newest { most, numbers: Vec::new() }
            }
            _ => bail!(
                "unknown question \"{name}:{argument}\"; ask count, count:MARKER, markers, hosts, \
                 errors, users, latency, user:ID, session:PREFIX, phrase:TEXT or newest:N"
            ),
        })
    }

    fn take(&mut self, event: &Event) {
        match self {
            Self::Marked { least, count } => *count += u64::from(event.markers() >= *least),
            Self::Markers(counts) => {
                counts[..event.markers()].iter_mut().for_each(|count| *count += 1);
            }
            Self::Hosts(counts) => counts[event.host as usize] += 1,
            Self::Errors(counts) => {
                if event.status >= 500 {
                    let bin = event.time.div_euclid(TEN_MINUTES) * TEN_MINUTES / 1_000_000;
                    *counts.entry(bin).or_default() += 1;
                }
            }
            Self::Users(seen) => seen[event.user as usize] = true,
            Self::Latency(paths) => {
                *paths[usize::from(event.path)].entry(event.latency).or_default() += 1;
            }
            Self::User { user, numbers } => {
                if event.user == *user {
                    numbers.push(event.number);
                }
            }
            Self::Session { prefix, count } => {
                *count += u64::from(hex(event.session).starts_with(prefix));
            }
            Self::Phrase { holds, count } => {
                *count += u64::from(holds[usize::from(event.message)]);
            }
            Self::Newest { most, numbers } => {
                numbers.push(event.number);
                // Cut now and then, so that the list stays small and cutting is rare.
                if numbers.len() > 2 * *most + 1_024 {
                    numbers.drain(..numbers.len() - *most);
                }
            }
        }
    }

    fn answer(self, stream: &Stream) -> Value {
        match self {
            Self::Marked { count, .. }
            | Self::Session { count, .. }
            | Self::Phrase { count, .. } => json!(count),
            Self::Markers(counts) => {
                let pairs = MARKERS.iter().zip(counts);
                pairs.map(|((name, _), count)| ((*name).to_owned(), json!(count))).collect()
            }
            Self::Hosts(counts) => {
                let writer = LineWriter::new(stream);
                let name = |host: usize| writer.name(host).to_owned();
                let pairs = counts.iter().enumerate().filter(|(_, count)| **count > 0);
                pairs.map(|(host, count)| (name(host), json!(count))).collect()
            }
            Self::Errors(counts) => {
                counts.iter().map(|(bin, count)| (bin.to_string(), json!(count))).collect()
            }
            Self::Users(seen) => json!(seen.iter().filter(|seen| **seen).count()),
            Self::Latency(paths) => {
                let pairs = PATHS.iter().zip(&paths).filter(|(_, counts)| !counts.is_empty());
                pairs.map(|(path, counts)| ((*path).to_owned(), distribution(counts))).collect()
            }
            Self::User { mut numbers, .. } => {
                numbers.reverse();
                json!({"count": numbers.len(), "ids": numbers})
            }
            Self::Newest { most, mut numbers } => {
                numbers.reverse();
                numbers.truncate(most);
                json!(numbers)
            }
        }
    }
}

/// Count, mean and 95th percentile of counted values.
#[allow(clippy::cast_precision_loss)]
fn distribution(counts: &BTreeMap<u32, u64>) -> Value {
    let count: u64 = counts.values().sum();
    let sum: u64 = counts.iter().map(|(value, count)| u64::from(*value) * count).sum();
    // The value at a rank, counted from 1.
    let at = |rank: u64| {
        let mut seen = 0;
        let found = counts.iter().find(|(_, count)| {
            seen += **count;
            seen >= rank
        });
        found.map(|(value, _)| *value)
    };
    let (low, high) = ((count - 1) * 95 / 100 + 1, ((count - 1) * 95).div_ceil(100) + 1);
    json!({
        "count": count, "avg": sum as f64 / count as f64, "p95": at((count * 95).div_ceil(100)),
        "p95_between": [at(low), at(high)],
    })
}

/// Answers questions in one pass, as an object of question and answer.
///
/// # Errors
/// If a question is not understood.
pub fn answers(stream: &Stream, questions: &[String]) -> Result<Value> {
    let asked: Result<Vec<Truth>> =
        questions.iter().map(|question| Truth::ask(question, stream)).collect();
    let mut asked = asked?;
    stream.for_each(stream.numbers(), |event| {
        asked.iter_mut().for_each(|truth| truth.take(event));
    });
    let answers = asked.into_iter().map(|truth| truth.answer(stream));
    Ok(questions.iter().cloned().zip(answers).collect())
}
