//! An event on its way through the rules.

use std::borrow::Cow;
use std::sync::Arc;

use model::EventTime;

use crate::eval::{Scope, Value};

/// Where an event goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Queue {
    /// To its index.
    #[default]
    Index,
    /// Nowhere, as the rule of this number says.
    Null {
        /// Its number among the rules.
        rule: usize,
    },
}

/// An event as rules see and change it.
#[derive(Debug, Clone, PartialEq)]
pub struct EventDraft<'e> {
    /// `_raw`.
    pub raw: Cow<'e, str>,
    /// `_time`.
    pub time: EventTime,
    /// The index it goes to, which need not exist.
    pub index: Cow<'e, str>,
    /// The machine it came from.
    pub host: Cow<'e, str>,
    /// Where on that machine.
    pub source: Cow<'e, str>,
    /// Its format.
    pub sourcetype: Cow<'e, str>,
    /// Indexed fields; a repeated name is several values.
    pub fields: Vec<(Arc<str>, Cow<'e, str>)>,
    /// Whether it is kept.
    pub queue: Queue,
    /// `_TCP_ROUTING`: the groups of receivers a forwarder sends it to.
    pub tcp_routing: Option<String>,
}

impl<'e> EventDraft<'e> {
    /// A draft of an event without indexed fields.
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

    /// All values of an indexed field.
    pub(super) fn values<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s str> {
        let named = self.fields.iter().filter(move |(field, _)| field.as_ref() == name);
        named.map(|(_, value)| value.as_ref())
    }

    /// `_meta`: the indexed fields as one text.
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

/// An event as expressions see it.
#[derive(Debug)]
pub(super) struct DraftScope<'s, 'e> {
    pub(super) draft: &'s EventDraft<'e>,
    pub(super) now: EventTime,
}

impl DraftScope<'_, '_> {
    fn key(&self, name: &str) -> Option<Value<'_>> {
        let draft = self.draft;
        let prefixed = |prefix: &str, text: &str| Value::owned_text(format!("{prefix}::{text}"));
        Some(match name {
            "_raw" => Value::text_of(&draft.raw),
            "_time" => Value::Time(draft.time.0),
            "_meta" => Value::owned_text(draft.meta()),
            "queue" => Value::text_of(draft.queue_name()),
            "_MetaData:Index" => Value::text_of(&draft.index),
            "MetaData:Host" => prefixed("host", &draft.host),
            "MetaData:Source" => prefixed("source", &draft.source),
            "MetaData:Sourcetype" => prefixed("sourcetype", &draft.sourcetype),
            "_TCP_ROUTING" => match &draft.tcp_routing {
                Some(groups) => Value::text_of(groups),
                None => Value::Null,
            },
            _ => return None,
        })
    }

    fn first(&self, name: &str) -> Value<'_> {
        let mut named = self.draft.fields.iter().filter(|(field, _)| field.as_ref() == name);
        named.next().map_or(Value::Null, |(_, value)| Value::text_of(value))
    }
}

impl Scope for DraftScope<'_, '_> {
    #[allow(clippy::cast_precision_loss)]
    fn field(&self, name: &str) -> Value<'_> {
        if let Some(name) = name.strip_prefix("pd:") {
            return self.key(name).unwrap_or(Value::Null);
        }
        if let Some(name) = name.strip_prefix("field:") {
            return self.first(name);
        }
        if let Some(name) = name.strip_prefix("mv:") {
            return Value::multi(self.draft.values(name).map(str::to_owned).collect());
        }
        match name {
            "host" => Value::text_of(&self.draft.host),
            "source" => Value::text_of(&self.draft.source),
            "sourcetype" => Value::text_of(&self.draft.sourcetype),
            "index" => Value::text_of(&self.draft.index),
            "linecount" => Value::Number(self.draft.raw.lines().count().max(1) as f64),
            other => self.key(other).unwrap_or_else(|| self.first(other)),
        }
    }

    fn now(&self) -> EventTime {
        self.now
    }
}
