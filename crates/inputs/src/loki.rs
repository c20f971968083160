//! Loki's push requests, in protobuf and in JSON, as events.
//!
//! - The line is `_raw`; its time is `_time`. An empty line is not an event.
//! - Labels of the stream and structured metadata of the entry are indexed fields. Some of them are the
//!   event's host (`HOSTS`), source (`SOURCES`) or sourcetype; metadata takes precedence over labels.
//! - A label with the name of a column that every event has is kept as `extracted_<name>`, unless it is
//!   the value of that column.
//! - The tenant is the indexed field `loki_tenant`. If the request has one, a label of that name is kept as
//!   `extracted_loki_tenant`.
//!
//! A request that is not in its format is refused as a whole. A stream with invalid labels and an entry over
//! a limit are rejected alone, as Loki does it. The decoders keep nothing but the entry that they read.
//! Pure: no HTTP, no snappy.

mod json;
mod labels;
mod protobuf;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use model::columns::{HOST, ORIGIN, SOURCE, SOURCETYPE, extracted_name, field_name};
use model::{EventTime, IndexName};

use crate::{CutEvents, EventLimits, MissingTime, OriginRef, OverLimit};

/// Labels that name the host, the first one first.
const HOSTS: &[&str] =
    &[HOST, "hostname", "host_name", "node_name", "nodename", "node", "instance"];
/// Labels that name the source. Docker's driver sends both; its `source` is only `stdout` or `stderr`.
const SOURCES: &[&str] = &["filename", SOURCE];
const SOURCETYPES: &[&str] = &[SOURCETYPE];

/// The year 1, and the last microsecond that nanoseconds can express, in 2262.
const CALENDAR: std::ops::RangeInclusive<i64> = -62_135_596_800_000_000..=i64::MAX / 1_000;

/// The field of the tenant.
const TENANT: &str = "loki_tenant";

/// Bytes of a field name in addition to its text, which is stored twice.
const NAME_BYTES: usize = 128;

/// The encoding of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LokiFormat {
    /// `logproto.PushRequest`, decompressed.
    Protobuf,
    /// JSON.
    Json,
}

/// Defaults for entries without their own values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LokiDefaults {
    /// The index of events.
    pub index: IndexName,
    /// The tenant of the request.
    pub tenant: Option<Arc<str>>,
    /// The machine, usually the peer's address.
    pub host: Arc<str>,
    /// The source.
    pub source: Arc<str>,
    /// The format; `None` recognises it.
    pub sourcetype: Option<Arc<str>>,
    /// Limits of events; an entry above them is rejected alone.
    pub limits: EventLimits,
}

/// A request's events.
#[derive(Debug)]
pub struct LokiPush {
    /// The accepted events.
    pub events: CutEvents,
    /// Entries that may not.
    pub rejected: u64,
    /// Why the first of them may not.
    pub reason: Option<String>,
}

/// The request is not taken; nothing of it is stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LokiError {
    /// The request is not valid in its format.
    #[error("the body is not a valid push request: {0}")]
    Malformed(String),
    /// The events are more than the memory that there is for a request.
    #[error(transparent)]
    Memory(OverLimit),
}

/// A name and its value.
type Pair<'a> = (Cow<'a, str>, Cow<'a, str>);

/// Decodes a request.
///
/// # Errors
/// The request as a whole is malformed, or takes more memory than the limits have.
pub fn decode_push(
    body: &[u8],
    format: LokiFormat,
    defaults: &LokiDefaults,
) -> Result<LokiPush, LokiError> {
    let events = CutEvents::new(MissingTime::Now);
    let mut decoder = Decoder {
        defaults,
        push: LokiPush { events, rejected: 0, reason: None },
        stream: 0,
        entry: 0,
        names: HashMap::new(),
        names_bytes: 0,
        tenant_field: TENANT.into(),
    };
    match format {
        LokiFormat::Protobuf => protobuf::read(body, &mut decoder)?,
        LokiFormat::Json => json::read(body, &mut decoder)?,
    }
    Ok(decoder.push)
}

/// The sizes that are compared with the limits of events.
#[derive(Debug, Clone, Copy)]
struct Weight {
    bytes: usize,
    fields: usize,
    longest_name: usize,
}

impl Weight {
    fn of(pairs: &[Pair<'_>]) -> Self {
        let bytes = pairs.iter().map(|(name, value)| name.len() + value.len()).sum();
        let longest_name = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        Self { bytes, fields: pairs.len(), longest_name }
    }
}

/// The labels of a stream. Their size is computed once: rejected entries use no memory, so a request of a few
/// hundred kB can have millions of them, each of which would read a thousand labels.
#[derive(Debug)]
struct Labels<'a> {
    /// The labels that have a value.
    pairs: Vec<Pair<'a>>,
    /// The size of all labels.
    weight: Weight,
}

impl<'a> Labels<'a> {
    fn new(mut pairs: Vec<Pair<'a>>) -> Self {
        let weight = Weight::of(&pairs);
        pairs.retain(|(_, value)| !value.is_empty());
        Self { pairs, weight }
    }
}

/// One line with its metadata.
#[derive(Debug)]
struct Entry<'e> {
    labels: &'e Labels<'e>,
    metadata: &'e [Pair<'e>],
    /// `None`: the request has none.
    time: Option<EventTime>,
    /// Need not be UTF-8.
    line: &'e [u8],
}

impl<'e> Entry<'e> {
    fn pairs(&self) -> impl Iterator<Item = &'e Pair<'e>> + use<'e> {
        self.metadata.iter().chain(&self.labels.pairs)
    }

    /// The first pair with one of the names.
    fn named(&self, names: &[&str]) -> Option<&'e Pair<'e>> {
        names
            .iter()
            .find_map(|name| self.pairs().find(|(own, value)| &**own == *name && !value.is_empty()))
    }

    fn check(&self, tenant: Option<&str>, limits: &EventLimits) -> Result<(), OverLimit> {
        let (labels, metadata) = (self.labels.weight, Weight::of(self.metadata));
        if labels.longest_name.max(metadata.longest_name) > limits.field_name_bytes {
            return Err(OverLimit::FieldName(limits.field_name_bytes));
        }
        let own = self.line.len() + tenant.map_or(0, str::len);
        let bytes = own.saturating_add(labels.bytes).saturating_add(metadata.bytes);
        let fields = usize::from(tenant.is_some()) + labels.fields + metadata.fields;
        if bytes > limits.event_bytes {
            return Err(OverLimit::Event(limits.event_bytes));
        }
        if fields > limits.fields { Err(OverLimit::Fields(limits.fields)) } else { Ok(()) }
    }
}

struct Decoder<'d> {
    defaults: &'d LokiDefaults,
    push: LokiPush,
    /// The stream and its entry that are being read, counted from 1.
    stream: u64,
    entry: u64,
    /// Names of fields as they were sent, and as they are kept.
    names: HashMap<String, Arc<str>>,
    /// Memory of `names`.
    names_bytes: usize,
    tenant_field: Arc<str>,
}

impl Decoder<'_> {
    /// Pairs that are worth keeping: one more than an event may have, so that [`Entry::check`] sees it.
    fn most_pairs(&self) -> usize {
        self.defaults.limits.fields.saturating_add(1)
    }

    /// The entry that is being read, for messages.
    fn place(&self) -> String {
        format!("stream {}, entry {}", self.stream, self.entry)
    }

    /// Does not take the entry that is being read.
    fn reject(&mut self, reason: &dyn std::fmt::Display) {
        self.push.rejected += 1;
        if self.push.reason.is_none() {
            self.push.reason = Some(format!("{}: {reason}", self.place()));
        }
    }

    fn take(&mut self, entry: &Entry<'_>) -> Result<(), LokiError> {
        if entry.line.is_empty() {
            return Ok(());
        }
        let defaults = self.defaults;
        let limits = &defaults.limits;
        if let Err(over) = entry.check(defaults.tenant.as_deref(), limits) {
            self.reject(&over);
            return Ok(());
        }
        let used = [HOSTS, SOURCES, SOURCETYPES].map(|names| entry.named(names));
        let [host, source, sourcetype] = used.map(|pair| pair.map(|(_, value)| &**value));
        let origin = OriginRef {
            index: &defaults.index,
            host: host.unwrap_or(&defaults.host),
            source: source.unwrap_or(&defaults.source),
            sourcetype: sourcetype.or(defaults.sourcetype.as_deref()),
        };
        if !self.push.events.push(origin, entry.time, entry.line) {
            self.reject(&"the request is larger than 4 GiB");
            return Ok(());
        }
        for pair in entry.pairs() {
            let (name, value) = pair;
            let is_column = ORIGIN.contains(&&**name)
                && used.iter().flatten().any(|column| std::ptr::eq(*column, pair));
            if !is_column && !name.is_empty() && !value.is_empty() {
                self.field(name, value);
            }
        }
        if let Some(tenant) = &defaults.tenant {
            self.push.events.push_field(Arc::clone(&self.tenant_field), tenant);
        }
        if self.push.events.memory() + self.names_bytes > limits.memory {
            return Err(LokiError::Memory(OverLimit::Memory(limits.memory)));
        }
        Ok(())
    }

    fn field(&mut self, name: &str, value: &str) {
        let name = match self.names.get(name) {
            Some(name) => Arc::clone(name),
            None => {
                // Senders must not be found as another tenant, which a gateway may have set.
                let is_tenants = name == TENANT && self.defaults.tenant.is_some();
                let known: Arc<str> =
                    if is_tenants { extracted_name(name).into() } else { field_name(name).into() };
                self.names.insert(name.to_owned(), Arc::clone(&known));
                self.names_bytes += 2 * name.len() + NAME_BYTES;
                known
            }
        };
        self.push.events.push_field(name, value);
    }
}

/// The time of seconds and nanoseconds since 1970; `None`: no search could name it.
fn time_of(seconds: i64, nanos: i64) -> Option<EventTime> {
    if !(0..1_000_000_000).contains(&nanos) {
        return None;
    }
    let micros = seconds.checked_mul(1_000_000)?.checked_add(nanos / 1_000)?;
    CALENDAR.contains(&micros).then_some(EventTime(micros))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
