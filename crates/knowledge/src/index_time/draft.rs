//! An event while index-time rules are applied to it.

use std::borrow::Cow;
use std::sync::Arc;

use eval::{Datum, Scope, Value, ValueType};
use model::{EventTime, columns};

/// The destination of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Queue {
    /// Its index.
    #[default]
    Index,
    /// The event is dropped by a rule (`nullQueue`).
    Null {
        /// The number of the rule.
        rule: usize,
    },
}

/// An event as rules read and change it.
#[derive(Debug, Clone, PartialEq)]
pub struct EventDraft<'e> {
    /// `_raw`.
    pub raw: Cow<'e, str>,
    /// `_time`.
    pub time: EventTime,
    /// The index of the event, which need not exist.
    pub index: Cow<'e, str>,
    /// `host`.
    pub host: Cow<'e, str>,
    /// `source`.
    pub source: Cow<'e, str>,
    /// `sourcetype`.
    pub sourcetype: Cow<'e, str>,
    /// Indexed fields; a repeated name means several values.
    pub fields: Vec<(Arc<str>, Cow<'e, str>)>,
    /// Whether the event is stored or dropped.
    pub queue: Queue,
    /// `_TCP_ROUTING`: the groups of receivers to which a forwarder sends it.
    pub tcp_routing: Option<String>,
}

impl<'e> EventDraft<'e> {
    /// Creates a draft of an event without indexed fields.
    #[must_use]
    pub fn new(raw: &'e str, time: EventTime, origin: &'e model::Origin) -> Self {
        Self {
            raw: Cow::Borrowed(raw),
            time,
            index: Cow::Borrowed(origin.index.as_str()),
            host: Cow::Borrowed(&origin.host),
            source: Cow::Borrowed(&origin.source),
            sourcetype: Cow::Borrowed(&origin.sourcetype),
            fields: Vec::new(),
            queue: Queue::Index,
            tcp_routing: None,
        }
    }

    /// Iterates over the values of an indexed field.
    pub(super) fn values<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s str> {
        let named = self.fields.iter().filter(move |(field, _)| field.as_ref() == name);
        named.map(|(_, value)| value.as_ref())
    }

    /// Returns `_meta`: the indexed fields as one text.
    pub(super) fn meta(&self) -> String {
        let pair = |(name, value): &(Arc<str>, Cow<'_, str>)| {
            let quote = if value.contains(' ') { "\"" } else { "" };
            format!("{name}::{quote}{value}{quote}")
        };
        self.fields.iter().map(pair).collect::<Vec<_>>().join(" ")
    }

    pub(super) fn queue_name(&self) -> &'static str {
        match self.queue {
            Queue::Index => "indexQueue",
            Queue::Null { .. } => "nullQueue",
        }
    }
}

/// An event as the scope of expressions.
#[derive(Debug)]
pub(super) struct DraftScope<'s, 'e> {
    pub(super) draft: &'s EventDraft<'e>,
    pub(super) now: EventTime,
}

/// Returns the type of a field of an event.
pub(super) fn kind_of(name: &str) -> ValueType {
    match name.strip_prefix("pd:").unwrap_or(name) {
        "_time" => ValueType::Time,
        "linecount" => ValueType::Integer,
        several if several.starts_with("mv:") => ValueType::Multi,
        _ => ValueType::Text,
    }
}

/// The keys that can be read as fields without a prefix, in the order of `tojson()`. Not [`columns::ALL`]: an
/// event has no `_indextime` yet, and `linecount` is not a column.
const KEYS: [&str; 7] = [
    columns::RAW,
    columns::TIME,
    columns::HOST,
    columns::SOURCE,
    columns::SOURCETYPE,
    columns::INDEX,
    "linecount",
];

impl DraftScope<'_, '_> {
    fn key(&self, name: &str) -> Option<Datum<'_>> {
        let draft = self.draft;
        let prefixed = |prefix: &str, text: &str| Datum::Text(format!("{prefix}::{text}"));
        Some(match name {
            "_raw" => Datum::text(&draft.raw),
            "_time" => Value::Time(draft.time.0).into(),
            "_meta" => Datum::Text(draft.meta()),
            "queue" => Datum::text(draft.queue_name()),
            "_MetaData:Index" => Datum::text(&draft.index),
            "MetaData:Host" => prefixed("host", &draft.host),
            "MetaData:Source" => prefixed("source", &draft.source),
            "MetaData:Sourcetype" => prefixed("sourcetype", &draft.sourcetype),
            "_TCP_ROUTING" => match &draft.tcp_routing {
                Some(groups) => Datum::text(groups),
                None => Datum::NULL,
            },
            _ => return None,
        })
    }

    fn first(&self, name: &str) -> Datum<'_> {
        let mut named = self.draft.fields.iter().filter(|(field, _)| field.as_ref() == name);
        named.next().map_or(Datum::NULL, |(_, value)| Datum::text(value))
    }
}

impl Scope for DraftScope<'_, '_> {
    fn field(&self, name: &str) -> Datum<'_> {
        if let Some(name) = name.strip_prefix("pd:") {
            return self.key(name).unwrap_or(Datum::NULL);
        }
        if let Some(name) = name.strip_prefix("field:") {
            return self.first(name);
        }
        if let Some(name) = name.strip_prefix("mv:") {
            return Datum::Multi(self.draft.values(name).map(str::to_owned).collect());
        }
        match name {
            "host" => Datum::text(&self.draft.host),
            "source" => Datum::text(&self.draft.source),
            "sourcetype" => Datum::text(&self.draft.sourcetype),
            "index" => Datum::text(&self.draft.index),
            "linecount" => {
                let lines = self.draft.raw.lines().count().max(1);
                Value::Integer(i64::try_from(lines).unwrap_or(i64::MAX)).into()
            }
            other => self.key(other).unwrap_or_else(|| self.first(other)),
        }
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = KEYS.map(str::to_owned).to_vec();
        for (field, _) in &self.draft.fields {
            if !names.iter().any(|name| name == field.as_ref()) {
                names.push(field.to_string());
            }
        }
        names
    }

    fn now(&self) -> EventTime {
        self.now
    }
}
