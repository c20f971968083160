//! Samples of log formats, taken in as `karst add` does it without any configuration: the source type, the
//! events, their times and their fields.
//!
//! `crates/knowledge/samples` has `<format>.log` with `<format>.json`, which says what is expected:
//!
//! | key | |
//! | --- | --- |
//! | `title` | name of the format in `docs/source-types.md` |
//! | `source` | path of the file, where its name matters; `/data/app.log` for the others |
//! | `sourcetype`, `events` | |
//! | `first`, `last` | earliest and latest time that an event shows |
//! | `undated`, `headers` | events without a time, lines taken as header; 0 if missing |
//! | `lines` | lines of each event; all 1 if missing |
//! | `names`, `fields` | names of fields; of each event the time, and the values of these fields |
//!
//! The clock shows 2026-11-20T12:00:00Z, and the files were written 25 hours before. `KARST_BLESS=1` writes
//! what is found; review the difference.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, TimestampMicrosecondType};
use ingest::Ingest;
use inputs::{Findings, Input, InputMeta, SinkExt, StreamKey};
use knowledge::Knowledge;
use model::{EventTime, TimeRange};
use runtime::ManualClock;
use serde_json::{Map, Value, json};
use testkit::TestDir;

use crate::setup::{indexes, main_index, parts, settings, start};

const NOW: EventTime = EventTime(1_795_176_000_000_000);
const WRITTEN: EventTime = EventTime(NOW.0 - 90_000_000_000);
const UNNAMED: &str = "/data/app.log";

#[tokio::test]
async fn formats_need_no_configuration() {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    let mut parts = parts(data.path(), &setup, settings());
    setup.stop().await;
    parts.clock = Arc::new(ManualClock::new(NOW));
    let fresh = TestDir::new();
    let knowledge = Knowledge::clone(&parts.knowledge);
    parts.data = fresh.path().to_owned();
    let ingest = Arc::new(Ingest::start(parts).await.unwrap());
    let bless = std::env::var_os("KARST_BLESS").is_some();
    let mut wrong = Vec::new();
    let mut rows = Vec::new();
    for path in samples() {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let expected: Value =
            serde_json::from_str(&std::fs::read_to_string(path.with_extension("json")).unwrap())
                .unwrap_or_else(|error| panic!("{name}.json: {error}"));
        let found = found((&ingest, &knowledge), &name, &path, &expected).await;
        rows.push(row(&found));
        if found == expected {
            continue;
        }
        if bless {
            write(&path.with_extension("json"), &found);
            continue;
        }
        for (key, value) in found.as_object().unwrap() {
            if expected.get(key) != Some(value) {
                let known = expected.get(key).unwrap_or(&Value::Null);
                wrong.push(format!("{name}: {key} is {value}, expected {known}"));
            }
        }
        for key in expected.as_object().unwrap().keys().filter(|key| found.get(key).is_none()) {
            wrong.push(format!("{name}: {key} is missing, expected {}", expected[key]));
        }
    }
    let page = "../../docs/source-types.md";
    let text = std::fs::read_to_string(page).unwrap();
    let table = with_table(&text, &rows);
    if bless {
        std::fs::write(page, table).unwrap();
    } else if text != table {
        wrong.push("the table of docs/source-types.md differs: run with KARST_BLESS=1".to_owned());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn samples() -> Vec<PathBuf> {
    let folder = std::fs::read_dir("../knowledge/samples").unwrap();
    let mut paths: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    paths.sort();
    paths
}

/// What becomes of a sample, in the form of its expectation.
async fn found(
    (ingest, knowledge): (&Arc<Ingest>, &Knowledge),
    name: &str,
    path: &Path,
    expected: &Value,
) -> Value {
    let source = expected["source"].as_str().unwrap_or(UNNAMED);
    // Two samples may have files of one name: the host tells them apart.
    let meta = InputMeta {
        index: main_index(),
        host: name.into(),
        source: source.into(),
        sourcetype: None,
    };
    let input = Input::Raw {
        origin: Arc::new(meta),
        stream: StreamKey(name.into()),
        bytes: std::fs::read(path).unwrap().into(),
        modified: Some(WRITTEN),
        end: true,
    };
    let receipt = ingest.submit(input).await.unwrap();
    let events = events(ingest, name);
    assert_eq!(events.len() as u64, receipt.events, "{name}");
    let Findings { earliest, latest, undated, headers, truncated, split, .. } = receipt.findings;
    assert_eq!((truncated, split), (0, 0), "{name}");
    let mut found = Map::new();
    for key in ["title", "source"] {
        if let Some(value) = expected.get(key) {
            found.insert(key.to_owned(), value.clone());
        }
    }
    let mut set = |key: &str, value: Value| found.insert(key.to_owned(), value);
    let types: Vec<&str> = events.iter().map(|event| event.sourcetype.as_str()).collect();
    set("sourcetype", types.first().copied().unwrap_or_default().into());
    assert!(types.windows(2).all(|pair| pair[0] == pair[1]), "{name}");
    set("events", events.len().into());
    if let (Some(first), Some(last)) = (earliest, latest) {
        set("first", shown(first).into());
        set("last", shown(last).into());
    }
    for (key, count) in [("undated", undated), ("headers", headers)] {
        if count > 0 {
            set(key, count.into());
        }
    }
    let lines: Vec<usize> = events.iter().map(|event| event.raw.lines().count()).collect();
    if lines.iter().any(|count| *count != 1) {
        set("lines", json!(lines));
    }
    let names: Vec<String> =
        serde_json::from_value(expected.get("names").cloned().unwrap_or(json!([]))).unwrap();
    let fields = events.iter().map(|event| {
        let known = event.fields(knowledge, name, source);
        let values = names.iter().map(|name| known.get(name).map(|values| values.join("|")));
        std::iter::once(Some(shown(event.time))).chain(values).collect()
    });
    let fields: Vec<Vec<Option<String>>> = fields.collect();
    set("names", json!(names));
    set("fields", json!(fields));
    found.into()
}

fn shown(time: EventTime) -> String {
    let time = jiff::Timestamp::from_microsecond(time.0).unwrap();
    time.to_string()
}

struct Event {
    time: EventTime,
    raw: String,
    sourcetype: String,
    indexed: BTreeMap<String, Vec<String>>,
}

impl Event {
    /// Indexed fields, and those that searches extract.
    fn fields(
        &self,
        knowledge: &Knowledge,
        host: &str,
        source: &str,
    ) -> BTreeMap<String, Vec<String>> {
        let mut fields = self.indexed.clone();
        let rules = knowledge.field_rules(&self.sourcetype, source, host);
        let _ = rules.extract(&self.raw, &mut |name, value| {
            fields.entry(name.to_owned()).or_default().push(value.into_owned());
        });
        fields
    }
}

/// The events of a host, in the order of their arrival.
fn events(ingest: &Ingest, host: &str) -> Vec<Event> {
    let hot = ingest.hot().snapshot(&indexes(), &TimeRange::ALL);
    let mut rows = Vec::new();
    for batch in hot.iter().flat_map(|bucket| &bucket.batches) {
        let column = |name: &str| batch.column_by_name(name).unwrap();
        let text = |name: &str| cast(column(name), &DataType::Utf8).unwrap();
        let (hosts, types, fields) = (text("host"), text("sourcetype"), fields_of(batch));
        let arrival = column("_indextime").as_primitive::<TimestampMicrosecondType>();
        let time = column("_time").as_primitive::<TimestampMicrosecondType>();
        let raw = text("_raw");
        for row in 0..batch.num_rows() {
            if hosts.as_string::<i32>().value(row) != host {
                continue;
            }
            let event = Event {
                time: EventTime(time.value(row)),
                raw: raw.as_string::<i32>().value(row).to_owned(),
                sourcetype: types.as_string::<i32>().value(row).to_owned(),
                indexed: fields.get(row).cloned().unwrap_or_default(),
            };
            rows.push((arrival.value(row), event));
        }
    }
    rows.sort_by_key(|(arrival, _)| *arrival);
    rows.into_iter().map(|(_, event)| event).collect()
}

fn fields_of(batch: &RecordBatch) -> Vec<BTreeMap<String, Vec<String>>> {
    let texts = cast(batch.column(6), &DataType::Utf8).unwrap();
    let texts = texts.as_string::<i32>();
    let fields = (0..batch.num_rows()).map(|row| {
        let text = if texts.is_null(row) { "" } else { texts.value(row) };
        let object: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
        let values = |value: &Value| match value {
            Value::Array(values) => values.iter().map(plain).collect(),
            value => vec![plain(value)],
        };
        object.iter().map(|(name, value)| (name.clone(), values(value))).collect()
    });
    fields.collect()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The expectation with one line per key and per event.
fn write(path: &Path, found: &Value) {
    let mut lines = Vec::new();
    for key in [
        "title",
        "source",
        "sourcetype",
        "events",
        "first",
        "last",
        "undated",
        "headers",
        "lines",
        "names",
    ] {
        if let Some(value) = found.get(key) {
            lines.push(format!("  \"{key}\": {value}"));
        }
    }
    let events: Vec<String> =
        found["fields"].as_array().unwrap().iter().map(|event| format!("    {event}")).collect();
    lines.push(format!("  \"fields\": [\n{}\n  ]", events.join(",\n")));
    std::fs::write(path, format!("{{\n{}\n}}\n", lines.join(",\n"))).unwrap();
}

const BEGIN: &str = "<!-- samples begin -->\n";
const END: &str = "<!-- samples end -->\n";

/// A row of the table in the documentation: format, source type, fields.
fn row(found: &Value) -> String {
    let names = found["names"].as_array().unwrap().iter().filter_map(Value::as_str);
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    let title = found["title"].as_str().unwrap_or_default();
    let sourcetype = found["sourcetype"].as_str().unwrap_or_default();
    format!("| {title} | `{sourcetype}` | {} |\n", names.join(", "))
}

fn with_table(text: &str, rows: &[String]) -> String {
    let (before, rest) = text.split_once(BEGIN).expect("the page has the mark");
    let (_, after) = rest.split_once(END).expect("the page has the mark");
    let mut rows = rows.to_vec();
    rows.sort_by_key(|row| row.to_lowercase());
    let head = "| format | source type | fields |\n| --- | --- | --- |\n";
    format!("{before}{BEGIN}{head}{}{END}{after}", rows.concat())
}
