//! OpenTelemetry log records as events, mapped as Splunk's exporter of the OpenTelemetry collector
//! does it.
//!
//! - The body is `_raw`: text as it is, anything else as JSON. A record without a body is its event
//!   name, or its attributes as JSON.
//! - `time_unix_nano` is `_time`, else `observed_time_unix_nano`, else the time of arrival.
//! - `host.name`, `com.splunk.source`, `com.splunk.sourcetype` and `com.splunk.index` of the record
//!   or its resource are the event's metadata.
//! - All other attributes of record, scope and resource are indexed fields, as are severity, trace
//!   and span. Maps become fields with dotted names, lists of plain values multivalue fields. An
//!   attribute with the name of a column that every event has is kept as `extracted_<name>`.
//!
//! A record for an index that the token may not write to is rejected alone; the others are taken.
//! Pure: no HTTP, no gRPC.

mod json;
mod measure;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;

use model::columns::field_name;
use model::{EventTime, IndexName};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::logs::v1::LogRecord;

pub use self::measure::{json_memory, protobuf_memory};
use crate::{CutEvents, EventLimits, MissingTime, OriginRef, OverLimit};

/// Defaults for records without their own values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtlpDefaults {
    /// The index of events.
    pub index: IndexName,
    /// The machine, usually the peer's address.
    pub host: Arc<str>,
    /// The source.
    pub source: Arc<str>,
    /// The format; `None` recognises it.
    pub sourcetype: Option<Arc<str>>,
    /// Limits of events; a record above them is rejected alone.
    pub limits: EventLimits,
}

/// A request's events.
#[derive(Debug)]
pub struct OtlpLogs {
    /// The accepted events.
    pub events: CutEvents,
    /// Records that may not.
    pub rejected: u64,
    /// Why the first of them may not.
    pub reason: Option<String>,
}

/// The events of a request.
///
/// # Errors
/// They are more than the memory that the limits have for a request.
pub fn decode_logs(
    request: &ExportLogsServiceRequest,
    defaults: &OtlpDefaults,
    allowed: &dyn Fn(&IndexName) -> bool,
) -> Result<OtlpLogs, OverLimit> {
    let events = CutEvents::new(MissingTime::Now);
    let logs = OtlpLogs { events, rejected: 0, reason: None };
    let mut decoder = Decoder { defaults, allowed, logs, names: Names::default() };
    for resource in &request.resource_logs {
        let attributes = resource.resource.as_ref().map_or(&[][..], |of| &of.attributes);
        let (described, attributes) = Described::default().and(attributes);
        let mut of_resource = Shared::new(attributes);
        for group in &resource.scope_logs {
            let scope = group.scope.as_ref();
            let attributes = scope.map_or(&[][..], |scope| &scope.attributes);
            let mut of_scope = Shared::new(attributes.iter().collect());
            for record in &group.log_records {
                decoder.take(record, scope, &described, [&mut of_resource, &mut of_scope])?;
            }
        }
    }
    Ok(decoder.logs)
}

/// Returns the events of a request in JSON, as the collector's file exporter writes one per line; `None` if
/// the line is not a request, or if a record is rejected.
#[must_use]
pub fn decode_line(line: &str, defaults: &OtlpDefaults) -> Option<CutEvents> {
    let request = decode_json(line.as_bytes()).ok()?;
    let logs = decode_logs(&request, defaults, &|_| true).ok()?;
    (logs.rejected == 0).then_some(logs.events)
}

/// A request in JSON, in all forms that protobuf's JSON has.
///
/// # Errors
/// It is not a request in JSON.
pub fn decode_json(json: &[u8]) -> serde_json::Result<ExportLogsServiceRequest> {
    match serde_json::from_slice(json) {
        Ok(request) => Ok(request),
        // Rare forms that the generated code does not read. Support there would slow down all others.
        Err(error) => json::decode(json).ok_or(error),
    }
}

/// The origin of an event, according to its attributes.
#[derive(Debug, Clone, Copy, Default)]
struct Described<'a> {
    host: Option<&'a str>,
    source: Option<&'a str>,
    sourcetype: Option<&'a str>,
    index: Option<&'a str>,
}

impl<'a> Described<'a> {
    /// Returns the origin with the values of these attributes, and the attributes that are fields.
    fn and(mut self, attributes: &'a [KeyValue]) -> (Self, Vec<&'a KeyValue>) {
        let mut fields = Vec::with_capacity(attributes.len());
        for attribute in attributes {
            let place = match attribute.key.as_str() {
                "host.name" => &mut self.host,
                "com.splunk.source" => &mut self.source,
                "com.splunk.sourcetype" => &mut self.sourcetype,
                "com.splunk.index" => &mut self.index,
                _ => {
                    fields.push(attribute);
                    continue;
                }
            };
            match attribute.value.as_ref().and_then(|value| value.value.as_ref()) {
                Some(Value::StringValue(text)) if !text.is_empty() => *place = Some(text),
                _ => fields.push(attribute),
            }
        }
        (self, fields)
    }
}

/// Names of fields as they were sent, and as they are kept.
#[derive(Debug, Default)]
struct Names(HashMap<String, Arc<str>>);

impl Names {
    fn kept(&mut self, sent: &str) -> Arc<str> {
        if let Some(known) = self.0.get(sent) {
            return Arc::clone(known);
        }
        let kept: Arc<str> = field_name(sent).into();
        self.0.insert(sent.to_owned(), Arc::clone(&kept));
        kept
    }
}

/// The attributes of a resource or scope. A request can have thousands of records of one resource with
/// dozens of attributes, which are weighed and converted once, not for each record.
#[derive(Debug)]
struct Shared<'a> {
    attributes: Vec<&'a KeyValue>,
    weight: Weight,
    /// The attributes as fields; `None` until a record that is within the limits together with them is
    /// accepted.
    fields: Option<Vec<(Arc<str>, String)>>,
}

impl<'a> Shared<'a> {
    fn new(attributes: Vec<&'a KeyValue>) -> Self {
        let mut weight = Weight::default();
        weight.attributes(&attributes);
        Self { attributes, weight, fields: None }
    }

    fn fields(&mut self, names: &mut Names) -> &[(Arc<str>, String)] {
        let attributes = &self.attributes;
        self.fields.get_or_insert_with(|| {
            let mut fields = Vec::with_capacity(attributes.len());
            for attribute in attributes {
                each_field(&attribute.key, attribute.value.as_ref(), &mut |name, value| {
                    if !value.is_empty() {
                        fields.push((names.kept(name), value.to_owned()));
                    }
                });
            }
            fields
        })
    }
}

struct Decoder<'d> {
    defaults: &'d OtlpDefaults,
    allowed: &'d dyn Fn(&IndexName) -> bool,
    logs: OtlpLogs,
    names: Names,
}

impl Decoder<'_> {
    fn take(
        &mut self,
        record: &LogRecord,
        scope: Option<&InstrumentationScope>,
        resource: &Described<'_>,
        shared: [&mut Shared<'_>; 2],
    ) -> Result<(), OverLimit> {
        let (described, fields) = resource.and(&record.attributes);
        let index = match self.index(described.index) {
            Ok(index) => index,
            Err(reason) => {
                self.logs.rejected += 1;
                self.logs.reason.get_or_insert(reason);
                return Ok(());
            }
        };
        let defaults = self.defaults;
        let origin = OriginRef {
            index: &index,
            host: described.host.unwrap_or(&defaults.host),
            source: described.source.unwrap_or(&defaults.source),
            sourcetype: described.sourcetype.or(defaults.sourcetype.as_deref()),
        };
        let weights = [shared[0].weight, shared[1].weight];
        if let Err(over) = check(record, weights, &fields, &defaults.limits) {
            self.logs.rejected += 1;
            self.logs.reason.get_or_insert_with(|| over.to_string());
            return Ok(());
        }
        write_raw(record, &fields, &mut self.logs.events.text);
        if !self.logs.events.push_written(origin, time(record)) {
            self.logs.rejected += 1;
            self.logs.reason.get_or_insert_with(|| "the request is larger than 4 GiB".to_owned());
            return Ok(());
        }
        for attributes in shared {
            for (name, value) in attributes.fields(&mut self.names) {
                self.logs.events.push_field(Arc::clone(name), value);
            }
        }
        for attribute in fields {
            each_field(&attribute.key, attribute.value.as_ref(), &mut |name, value| {
                self.text_field(name, value);
            });
        }
        if let Some(scope) = scope {
            self.text_field("otel.scope.name", &scope.name);
            self.text_field("otel.scope.version", &scope.version);
        }
        self.text_field("otel.log.severity.text", &record.severity_text);
        if record.severity_number != 0 {
            self.text_field("otel.log.severity.number", &record.severity_number.to_string());
        }
        self.text_field("otel.log.name", &record.event_name);
        self.text_field("trace_id", &hex(&record.trace_id));
        self.text_field("span_id", &hex(&record.span_id));
        let memory = defaults.limits.memory;
        if self.logs.events.memory() > memory { Err(OverLimit::Memory(memory)) } else { Ok(()) }
    }

    fn index(&self, named: Option<&str>) -> Result<IndexName, String> {
        let index = match named {
            None => self.defaults.index.clone(),
            Some(name) => IndexName::new(name).map_err(|wrong| wrong.to_string())?,
        };
        if (self.allowed)(&index) {
            return Ok(index);
        }
        Err(format!("the index \"{index}\" does not exist, or the token may not write to it"))
    }

    fn text_field(&mut self, name: &str, value: &str) {
        if value.is_empty() {
            return;
        }
        let name = self.names.kept(name);
        self.logs.events.push_field(name, value);
    }
}

/// Tells a value as a field, or as several: name and text of each.
fn each_field(name: &str, value: Option<&AnyValue>, tell: &mut dyn FnMut(&str, &str)) {
    let Some(value) = value.and_then(|value| value.value.as_ref()) else { return };
    match value {
        Value::KvlistValue(map) => {
            for pair in &map.values {
                each_field(&format!("{name}.{}", pair.key), pair.value.as_ref(), tell);
            }
        }
        Value::ArrayValue(list) if list.values.iter().all(is_plain) => {
            for value in list.values.iter().filter_map(|value| value.value.as_ref()) {
                tell(name, &plain_text(value));
            }
        }
        value => tell(name, &plain_text(value)),
    }
}

/// Checks the limits of a record before any of it is written. `shared` is the weight of its resource and its
/// scope.
fn check(
    record: &LogRecord,
    shared: [Weight; 2],
    attributes: &[&KeyValue],
    limits: &EventLimits,
) -> Result<(), OverLimit> {
    let mut weight = Weight { bytes: record.event_name.len(), ..Weight::default() };
    if let Some(body) = &record.body {
        weight.text(body);
    }
    let body = weight.bytes;
    weight.attributes(attributes);
    shared.into_iter().for_each(|more| weight.add(more));
    // Without a body, the text consists of the attributes.
    if body == 0 {
        weight.bytes = weight.bytes.saturating_mul(2);
    }
    if weight.bytes > limits.event_bytes {
        return Err(OverLimit::Event(limits.event_bytes));
    }
    if weight.fields > limits.fields {
        return Err(OverLimit::Fields(limits.fields));
    }
    if weight.name > limits.field_name_bytes {
        return Err(OverLimit::FieldName(limits.field_name_bytes));
    }
    Ok(())
}

/// The size of a record, counted without writing it.
#[derive(Debug, Clone, Copy, Default)]
struct Weight {
    bytes: usize,
    fields: usize,
    /// The longest name of a field.
    name: usize,
}

impl Weight {
    fn add(&mut self, more: Self) {
        self.bytes += more.bytes;
        self.fields += more.fields;
        self.name = self.name.max(more.name);
    }

    fn attributes(&mut self, attributes: &[&KeyValue]) {
        for attribute in attributes {
            self.field(attribute.key.len(), attribute.value.as_ref());
        }
    }

    /// The text of a value; of its escapes nothing is known yet.
    fn text(&mut self, value: &AnyValue) {
        match &value.value {
            Some(Value::StringValue(text)) => self.bytes += text.len(),
            Some(Value::BytesValue(bytes)) => self.bytes += bytes.len() * 4 / 3,
            Some(Value::ArrayValue(list)) => {
                self.bytes += 2;
                list.values.iter().for_each(|value| self.text(value));
            }
            Some(Value::KvlistValue(map)) => {
                self.bytes += 2;
                for pair in &map.values {
                    self.bytes += pair.key.len() + 4;
                    pair.value.iter().for_each(|value| self.text(value));
                }
            }
            Some(_) => self.bytes += 8,
            None => self.bytes += 4,
        }
    }

    /// Adds a field, or the fields of a map or a list. `name` is the length of the name in bytes.
    fn field(&mut self, name: usize, value: Option<&AnyValue>) {
        self.name = self.name.max(name);
        match value.and_then(|value| value.value.as_ref()) {
            None => {}
            Some(Value::KvlistValue(map)) => {
                for pair in &map.values {
                    self.field(name + 1 + pair.key.len(), pair.value.as_ref());
                }
            }
            Some(Value::ArrayValue(list)) if list.values.iter().all(is_plain) => {
                for value in &list.values {
                    self.fields += 1;
                    self.bytes += name;
                    self.text(value);
                }
            }
            Some(_) => {
                self.fields += 1;
                self.bytes += name;
                value.into_iter().for_each(|value| self.text(value));
            }
        }
    }
}

fn time(record: &LogRecord) -> Option<EventTime> {
    let nanos = match (record.time_unix_nano, record.observed_time_unix_nano) {
        (0, 0) => return None,
        (0, observed) => observed,
        (time, _) => time,
    };
    i64::try_from(nanos / 1_000).ok().map(EventTime)
}

/// Appends the text of an event.
fn write_raw(record: &LogRecord, fields: &[&KeyValue], out: &mut Vec<u8>) {
    match record.body.as_ref().and_then(|body| body.value.as_ref()) {
        Some(Value::StringValue(text)) if !text.is_empty() => {
            out.extend_from_slice(text.as_bytes())
        }
        Some(Value::StringValue(_)) | None => {
            if record.event_name.is_empty() {
                write_pairs(fields.iter().copied(), out);
            } else {
                out.extend_from_slice(record.event_name.as_bytes());
            }
        }
        Some(value) => write_json(value, out),
    }
}

fn is_plain(value: &AnyValue) -> bool {
    !matches!(value.value, Some(Value::ArrayValue(_) | Value::KvlistValue(_)))
}

/// A value as people write it; lists and maps as JSON.
fn plain_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::StringValue(text) => Cow::Borrowed(text),
        Value::BytesValue(bytes) => Cow::Owned(base64(bytes)),
        Value::DoubleValue(number) => Cow::Owned(number.to_string()),
        other => {
            let mut out = Vec::new();
            write_json(other, &mut out);
            Cow::Owned(String::from_utf8_lossy(&out).into_owned())
        }
    }
}

/// Appends a value as JSON; numbers that JSON has not, and bytes, as strings.
fn write_json(value: &Value, out: &mut Vec<u8>) {
    // Writing to a vector does not fail.
    match value {
        Value::StringValue(text) => write_string(text, out),
        Value::BoolValue(truth) => drop(write!(out, "{truth}")),
        Value::IntValue(number) => drop(write!(out, "{number}")),
        Value::DoubleValue(number) if number.is_finite() => {
            drop(serde_json::to_writer(&mut *out, number));
        }
        Value::DoubleValue(number) => write_string(&number.to_string(), out),
        Value::BytesValue(bytes) => write_string(&base64(bytes), out),
        Value::ArrayValue(list) => {
            out.push(b'[');
            for (place, value) in list.values.iter().enumerate() {
                if place > 0 {
                    out.push(b',');
                }
                write_any(Some(value), out);
            }
            out.push(b']');
        }
        Value::KvlistValue(map) => write_pairs(map.values.iter(), out),
        // A reference into a table that only profiles have.
        Value::StringValueStrindex(_) => out.extend_from_slice(b"null"),
    }
}

fn write_pairs<'a>(pairs: impl Iterator<Item = &'a KeyValue>, out: &mut Vec<u8>) {
    out.push(b'{');
    for (place, pair) in pairs.enumerate() {
        if place > 0 {
            out.push(b',');
        }
        write_string(&pair.key, out);
        out.push(b':');
        write_any(pair.value.as_ref(), out);
    }
    out.push(b'}');
}

fn write_any(value: Option<&AnyValue>, out: &mut Vec<u8>) {
    match value.and_then(|value| value.value.as_ref()) {
        Some(value) => write_json(value, out),
        None => out.extend_from_slice(b"null"),
    }
}

fn write_string(text: &str, out: &mut Vec<u8>) {
    drop(serde_json::to_writer(&mut *out, text));
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::prelude::BASE64_STANDARD.encode(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const REQUEST: &str = r#"{"resourceLogs":[{
        "resource":{"attributes":[
            {"key":"host.name","value":{"stringValue":"web-1"}},
            {"key":"com.splunk.sourcetype","value":{"stringValue":"app"}},
            {"key":"service.name","value":{"stringValue":"shop"}}]},
        "scopeLogs":[{"scope":{"name":"lib","version":"1"},"logRecords":[
            {"timeUnixNano":"1700000000123456789","severityNumber":9,"severityText":"INFO",
             "body":{"stringValue":"hello"},
             "traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174",
             "attributes":[
                {"key":"n","value":{"intValue":"7"}},
                {"key":"tags","value":{"arrayValue":{"values":[
                    {"stringValue":"a"},{"boolValue":true}]}}},
                {"key":"http","value":{"kvlistValue":{"values":[
                    {"key":"status","value":{"intValue":"200"}}]}}},
                {"key":"com.splunk.source","value":{"stringValue":"/var/log/app"}}]},
            {"observedTimeUnixNano":"1700000001000000000",
             "body":{"kvlistValue":{"values":[
                {"key":"a","value":{"doubleValue":1.5}},
                {"key":"b","value":{"arrayValue":{"values":[{"stringValue":"\"x\""}, {}]}}}]}}},
            {"attributes":[{"key":"k","value":{"stringValue":"v"}}]},
            {"body":{"stringValue":"elsewhere"},
             "attributes":[{"key":"com.splunk.index","value":{"stringValue":"nowhere"}}]}
        ]}]}]}"#;

    #[test]
    fn records_become_events_with_the_metadata_their_attributes_name() {
        let logs = decode(REQUEST);
        let events = &logs.events;
        let texts: Vec<_> =
            (0..3).map(|row| std::str::from_utf8(events.text(row)).unwrap()).collect();
        assert_eq!(texts, ["hello", r#"{"a":1.5,"b":["\"x\"",null]}"#, r#"{"k":"v"}"#]);
        let at = |micros| Some(EventTime(micros));
        assert_eq!(events.times, [at(1_700_000_000_123_456), at(1_700_000_001_000_000), None]);
        let origins: Vec<_> = events.each_origin().collect();
        assert_eq!((&*origins[0].host, &*origins[0].source), ("web-1", "/var/log/app"));
        assert_eq!((&*origins[1].source, origins[1].sourcetype.as_deref()), ("otlp", Some("app")));
    }

    #[test]
    fn all_other_attributes_are_fields() {
        let logs = decode(REQUEST);
        let of_first = logs.events.fields.iter().filter(|field| field.row == 0);
        let fields: Vec<_> = of_first.map(|field| (&*field.name, &*field.value)).collect();
        let expected = [
            ("service.name", "shop"),
            ("n", "7"),
            ("tags", "a"),
            ("tags", "true"),
            ("http.status", "200"),
            ("otel.scope.name", "lib"),
            ("otel.scope.version", "1"),
            ("otel.log.severity.text", "INFO"),
            ("otel.log.severity.number", "9"),
            ("trace_id", "5b8efff798038103d269b633813fc60c"),
            ("span_id", "eee19b7ec3c1b174"),
        ];
        assert_eq!(fields, expected);
    }

    #[test]
    fn attributes_with_the_names_of_columns_are_kept_under_other_names() {
        let logs = decode(
            r#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"attributes":[
                {"key":"source","value":{"stringValue":"s"}},
                {"key":"_raw","value":{"intValue":"7"}}]}]}]}]}"#,
        );
        let fields = logs.events.fields.iter();
        let fields: Vec<_> = fields.map(|field| (&*field.name, &*field.value)).collect();
        assert_eq!(fields, [("extracted_source", "s"), ("extracted_raw", "7")]);
    }

    #[test]
    fn records_have_the_attributes_of_their_own_resource_and_scope() {
        let named = |name: &str| {
            format!(
                r#"[{{"key":"of","value":{{"stringValue":"{name}"}}}},
                {{"key":"empty","value":{{"stringValue":""}}}},
                {{"key":"{name}","value":{{"kvlistValue":{{"values":[
                    {{"key":"tags","value":{{"arrayValue":{{"values":[
                        {{"intValue":"1"}},{{"intValue":"2"}}]}}}}}}]}}}}}}]"#
            )
        };
        let scope = |name: &str| {
            let attributes = named(name);
            let record = r#"{"body":{"stringValue":"x"}}"#;
            format!(r#"{{"scope":{{"attributes":{attributes}}},"logRecords":[{record},{record}]}}"#)
        };
        let resource = |name: &str, scopes: &[String]| {
            let (attributes, scopes) = (named(name), scopes.join(","));
            format!(r#"{{"resource":{{"attributes":{attributes}}},"scopeLogs":[{scopes}]}}"#)
        };
        let one = resource("r1", &[scope("s1"), scope("s2")]);
        let other = resource("r2", &[scope("s3")]);
        let logs = decode(&format!(r#"{{"resourceLogs":[{one},{other}]}}"#));
        assert_eq!(logs.events.len(), 6);
        let expected =
            [("r1", "s1"), ("r1", "s2"), ("r2", "s3")].into_iter().flat_map(|of| [of; 2]);
        for (row, (resource, scope)) in (0..).zip(expected) {
            let of_row = logs.events.fields.iter().filter(|field| field.row == row);
            let fields: Vec<String> =
                of_row.map(|field| format!("{}={}", field.name, field.value)).collect();
            let of = |name: &str| {
                [format!("of={name}"), format!("{name}.tags=1"), format!("{name}.tags=2")]
            };
            assert_eq!(fields, [of(resource), of(scope)].concat(), "row {row}");
        }
    }

    #[test]
    fn a_record_for_an_index_it_may_not_have_is_rejected_alone() {
        let logs = decode(REQUEST);
        assert_eq!((logs.events.len(), logs.rejected), (3, 1));
        assert!(logs.reason.unwrap().contains("nowhere"));
    }

    #[test]
    fn a_record_over_a_limit_is_rejected_alone() {
        let limits = |limits: EventLimits| {
            let logs = decode_within(REQUEST, limits);
            (logs.events.len(), logs.rejected, logs.reason.unwrap())
        };
        let default = EventLimits::default();
        let (taken, rejected, reason) = limits(EventLimits { event_bytes: 60, ..default });
        assert_eq!((taken, rejected), (2, 2));
        assert!(reason.contains("maxEventSize"), "{reason}");
        let (taken, rejected, reason) = limits(EventLimits { fields: 4, ..default });
        assert_eq!((taken, rejected), (2, 2));
        assert!(reason.contains("maxEventFields"), "{reason}");
        let (taken, _, reason) = limits(EventLimits { field_name_bytes: 11, ..default });
        assert_eq!(taken, 0);
        assert!(reason.contains("maxFieldNameSize"), "{reason}");
    }

    fn decode(json: &str) -> OtlpLogs {
        decode_within(json, EventLimits::default())
    }

    fn decode_within(json: &str, limits: EventLimits) -> OtlpLogs {
        let defaults = OtlpDefaults {
            index: IndexName::new("main").unwrap(),
            host: "peer".into(),
            source: "otlp".into(),
            sourcetype: None,
            limits,
        };
        let request = serde_json::from_str(json).unwrap();
        decode_logs(&request, &defaults, &|index| index.as_str() == "main").unwrap()
    }
}
