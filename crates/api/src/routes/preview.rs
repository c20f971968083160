//! `POST /api/v1/preview`: shows the events that the text in the body would become. Nothing is stored.
//!
//! Parameters: `source`, `host`, `index`, `sourcetype` (recognised without one), `modified` (epoch seconds),
//! `count`, and settings of `props.conf` that are tried, named as in Splunk's preview: `props.TIME_FORMAT`.

mod words;

use std::ops::Range;
use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use ingest::{KeptEvent, Preview, PreviewedEvent, Sample, TimeFrom};
use inputs::InputMeta;
use inputs::text::character_border;
use knowledge::sourcetype::RecognisedBy;
use knowledge::{Knowledge, TRIED};
use model::{EventTime, IndexName};
use serde_json::{Map, Value, json};

use crate::ApiState;
use crate::body::RawBody;
use crate::call::Call;
use crate::error::RestError;
use crate::output::OutputMode;
use crate::params::Params;
use crate::rights::Need::May;
use crate::routing::{Routes, post};
#[cfg(test)]
use crate::tests::cases::{Case, case};
use crate::work::work;

pub(crate) const PATH: &str = "/api/v1/preview";

pub(super) fn routes() -> Routes {
    let what = "Shows the events that a text would be parsed into, without indexing them";
    // Users who may send events may see the preview of events.
    Routes::default().at(PATH, post(May("edit_tcp"), what, preview))
}

/// Parameters besides the settings that are tried.
const PARAMETERS: [&str; 7] =
    ["source", "host", "index", "sourcetype", "modified", "count", "output_mode"];
/// The prefix of the names of tried settings.
const PROPS: &str = "props.";
/// Search-time settings of `props.conf`; the others change events at index time.
const AT_SEARCH: [&str; 8] = [
    "KV_MODE",
    "AUTO_KV_JSON",
    "EXTRACT-*",
    "REPORT-*",
    "FIELDALIAS-*",
    "EVAL-*",
    "LOOKUP-*",
    "rename",
];
/// Maximum ratio of the bytes of the shown events to the bytes that a preview reads.
const SHOWN: usize = 4;

async fn preview(
    Call { state, params, .. }: Call,
    RawBody(bytes): RawBody,
) -> Result<Response, RestError> {
    let tried = tried(&params)?;
    let knowledge = state.apps.rules();
    let knowledge = match tried.as_slice() {
        [] => knowledge,
        tried => Arc::new(knowledge.trying(tried).map_err(|error| refused(&error))?),
    };
    let limits = &state.ingest.settings().preview;
    let most = limits.max_events;
    let read = bytes.slice(..character_border(&bytes, limits.max_bytes));
    let is_whole = read.len() == bytes.len();
    #[allow(clippy::cast_precision_loss)]
    let modified = params.number("modified")?.map(|time| EventTime::from_seconds(time as f64));
    let sample = Sample {
        origin: origin(&state, &params)?,
        bytes: read.clone(),
        modified,
        events: params.number("count")?.map_or(most, |count| count.min(most)),
        shown_bytes: limits.max_bytes.saturating_mul(SHOWN),
    };
    let (source, host) = (Arc::clone(&sample.origin.source), Arc::clone(&sample.origin.host));
    // Even a small text may keep expressions of `props.conf` busy.
    let body = work(usize::MAX, || {
        let preview = state.ingest.preview(&knowledge, sample);
        let mut body = described(&preview, &knowledge, is_whole);
        body["bytes"] = json!(read.len());
        body["source"] = json!(source);
        body["host"] = json!(host);
        body["settings"] = settings(&knowledge, &preview.sourcetype, &source, &host);
        body.to_string()
    });
    Ok(OutputMode::Json.respond(StatusCode::OK, body))
}

/// The mistake in a setting that is tried, without its place among the parameters.
fn refused(error: &knowledge::Error) -> RestError {
    let told = error.to_string();
    let behind = told.strip_prefix(TRIED).and_then(|rest| rest.split_once(": "));
    RestError::invalid(behind.map_or(told.as_str(), |(_, text)| text))
}

/// The settings that are tried.
fn tried(params: &Params) -> Result<Vec<(String, String)>, RestError> {
    let mut tried = Vec::new();
    for (name, value) in params.iter() {
        match name.strip_prefix(PROPS) {
            Some(setting) => tried.push((setting.to_owned(), value.to_owned())),
            None if PARAMETERS.contains(&name) => {}
            None => {
                let text = format!(
                    "\"{name}\" is not a parameter of this path; settings of props.conf are written \
                     {PROPS}<setting>, and the text is the body"
                );
                return Err(RestError::invalid(text));
            }
        }
    }
    Ok(tried)
}

fn origin(state: &ApiState, params: &Params) -> Result<InputMeta, RestError> {
    let index = IndexName::new(params.text("index").unwrap_or("main"))
        .map_err(|error| RestError::invalid(error.to_string()))?;
    if params.text("index").is_some() {
        state.indexes.check_takes(&index).map_err(RestError::invalid)?;
    }
    Ok(InputMeta {
        index,
        host: params.text("host").unwrap_or(&state.info.host).into(),
        source: params.text("source").unwrap_or("www").into(),
        sourcetype: params.text("sourcetype").map(Arc::from),
    })
}

/// Returns a preview as JSON. `is_whole`: whether the text is complete.
fn described(preview: &Preview, knowledge: &Knowledge, is_whole: bool) -> Value {
    let findings = &preview.findings;
    let seconds = |time: Option<EventTime>| time.map(EventTime::seconds);
    let text = |span: &Range<usize>| {
        let bytes = preview.text.get(span.clone()).unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    };
    let events = preview.events.iter().map(|event| event_json(event, preview, knowledge));
    let skipped = preview.skipped.iter().map(|line| {
        let span = [line.span.start, line.span.end];
        json!({"span": span, "line": line.line, "text": text(&line.span)})
    });
    json!({
        "sourcetype": preview.sourcetype,
        "recognised": preview.recognised.as_ref().map(|recognised| match &recognised.by {
            RecognisedBy::Stanza { name, place } => {
                json!({"by": "stanza", "stanza": name, "place": place.to_string()})
            }
            RecognisedBy::Header => json!({"by": "header"}),
            RecognisedBy::Content => json!({"by": "content"}),
            RecognisedBy::FileName => json!({"by": "file_name"}),
            RecognisedBy::Nothing => json!({"by": "nothing"}),
        }),
        "charset": preview.charset,
        "complete": is_whole,
        "events": events.collect::<Vec<_>>(),
        "skipped": skipped.collect::<Vec<_>>(),
        "totals": {
            "events": preview.cut_events,
            "kept": preview.kept_events,
            "shown": preview.events.len(),
            "skipped": preview.skipped_lines,
            "earliest": seconds(findings.earliest),
            "latest": seconds(findings.latest),
            "undated": findings.undated,
            "truncated": findings.truncated,
            "split": findings.split,
            "headers": findings.headers,
        },
        "warnings": words::warnings(preview, is_whole),
    })
}

fn event_json(event: &PreviewedEvent, preview: &Preview, knowledge: &Knowledge) -> Value {
    let (span, text) = match event.time_from {
        TimeFrom::Text(Some((from, to))) => {
            let text = preview.text.get(from..to).unwrap_or_default();
            (Some([from, to]), Some(String::from_utf8_lossy(text).into_owned()))
        }
        _ => (None, None),
    };
    let (began, setting) = words::began(event.began);
    json!({
        "span": [event.span.start, event.span.end],
        "line": event.line,
        "began": {"by": began, "setting": setting},
        "time": event.time.seconds(),
        "timestamp": {
            "from": words::time_from(event.time_from),
            "span": span,
            "text": text,
            "field": event.time_field,
        },
        "kept": event.kept.iter().map(|kept| kept_json(kept, knowledge)).collect::<Vec<_>>(),
        "warnings": words::warnings_of(event),
    })
}

fn kept_json(kept: &KeptEvent, knowledge: &Knowledge) -> Value {
    let origin = &kept.origin;
    let mut fields = Map::new();
    for (name, value) in &kept.fields {
        add(&mut fields, name, value);
    }
    let mut extracted = Map::new();
    let rules = knowledge.field_rules(&origin.sourcetype, &origin.source, &origin.host);
    // Searches truncate the fields at the same limit, and report it.
    let _ = rules.extract(&kept.raw, &mut |name, value| add(&mut extracted, name, &value));
    json!({
        "raw": kept.raw,
        "time": kept.time.seconds(),
        "index": origin.index.as_str(),
        "host": origin.host,
        "source": origin.source,
        "sourcetype": origin.sourcetype,
        "fields": fields,
        "extracted": extracted,
        "quarantined": kept.quarantined,
    })
}

/// Adds a value; several of a field are a list.
fn add(fields: &mut Map<String, Value>, name: &str, value: &str) {
    match fields.get_mut(name) {
        None => {
            fields.insert(name.to_owned(), json!(value));
        }
        Some(Value::Array(values)) => values.push(json!(value)),
        Some(one) => *one = json!([one.take(), value]),
    }
}

/// Returns the effective settings of `props.conf`, those that are set before the defaults.
fn settings(knowledge: &Knowledge, sourcetype: &str, source: &str, host: &str) -> Value {
    let mut all = knowledge.props_in_force(sourcetype, source, host);
    all.sort_by_key(|setting| setting.from.is_none());
    let one = |setting: &knowledge::InForce| {
        let from = setting.from.as_ref().map(|(stanza, place)| {
            if *place.file == *TRIED {
                (None, TRIED.to_owned())
            } else {
                (Some(stanza), place.to_string())
            }
        });
        let (stanza, place) = from.map_or((None, None), |(stanza, place)| (stanza, Some(place)));
        json!({
            "name": setting.key,
            "value": setting.value,
            "default": setting.setting.default,
            "stanza": stanza,
            "place": place,
            "used": if AT_SEARCH.contains(&setting.setting.name) { "search" } else { "arrival" },
            "description": setting.setting.description(),
        })
    };
    all.iter().map(one).collect()
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let text = "2026-11-20 10:00:00 a=1\nmore\n2026-11-20 10:00:01 b";
    let told = |query: &str, status: u16, part: &str| {
        case(&format!("POST {PATH}?{query}"), text, status, part)
    };
    vec![
        case(&format!("POST {PATH}"), "{\"time\":1714860261}", 200, "{\"by\":\"content\"}"),
        case(&format!("POST {PATH}"), "{\"time\":1714860261}", 200, "\"sourcetype\":\"_json\""),
        told("sourcetype=st", 200, "\"span\":[0,28]"),
        told("sourcetype=st", 200, "\"text\":\"2026-11-20 10:00:00\""),
        told("sourcetype=st", 200, "\"extracted\":{\"a\":\"1\"}"),
        told("props.SHOULD_LINEMERGE=false", 200, "it has the time of the previous event"),
        told("props.SHOULD_LINEMERGE=false", 200, "\"place\":\"the request\""),
        told("sourcetype=st&count=1", 200, "\"shown\":1"),
        case(&format!("POST {PATH}"), "", 200, "\"events\":[]"),
        told("props.TRUNCATE=x", 400, "\"TRUNCATE = x: expected a whole number"),
        told("props.LINE_BREAKER=(", 400, "\"LINE_BREAKER: bad regular expression"),
        told("TRUNCATE=1", 400, "settings of props.conf are written props.<setting>"),
        told("index=none", 400, "there is no index"),
        told("count=x", 400, "must be a whole number"),
    ]
}
