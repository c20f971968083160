//! `karst add oneshot --preview`: shows the first events of a file as the server would index them. Nothing is
//! loaded.

use std::io::Read;
use std::path::Path;
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use reqwest::Method;
use serde_json::{Value, json};

use super::report::shown;
use super::{Client, open, source_of};
use crate::cli::plural::counted;
use crate::cli::table::{Rows, print_listing};
use crate::config::{OneshotOptions, Output};

/// Bytes of a file that are sent: one more than the default of `max_preview_bytes`, so that the server knows
/// whether there is more.
const READ: u64 = 2_000_001;
/// Number of events that are shown, unless `--limit` is set.
const EVENTS: usize = 10;
/// Maximum number of characters of an event in a table.
const SHOWN: usize = 120;

/// Prints how a file would be taken in.
pub(super) async fn print(client: &Client, path: &Path, options: &OneshotOptions) -> Result<()> {
    let answer = ask(client, path, options).await?;
    if options.output == Some(Output::Json) {
        println!("{}", json!({"file": path.display().to_string(), "preview": answer}));
        return Ok(());
    }
    let is_table = options.output.is_none_or(|output| output == Output::Table);
    if is_table {
        println!("{}: {}", path.display(), summary(&answer));
    }
    print_listing(&rows(&answer), options.output)?;
    if is_table {
        notes(&answer).iter().for_each(|note| println!("  {note}"));
        println!();
    }
    Ok(())
}

async fn ask(client: &Client, path: &Path, options: &OneshotOptions) -> Result<Value> {
    let mut text = Vec::new();
    let mut reader = open(path, &ProgressBar::hidden(), options)
        .with_context(|| format!("cannot read {}", path.display()))?;
    std::io::copy(&mut reader.by_ref().take(options.skip_bytes), &mut std::io::sink())?;
    reader.take(READ).read_to_end(&mut text)?;
    let source = options.source.clone().unwrap_or_else(|| source_of(path));
    let mut query = vec![
        ("source".to_owned(), source),
        ("index".to_owned(), options.index.clone()),
        ("count".to_owned(), options.limit.unwrap_or(EVENTS).to_string()),
    ];
    let mut add = |name: &str, value: Option<String>| {
        query.extend(value.map(|value| (name.to_owned(), value)));
    };
    add("sourcetype", options.sourcetype.clone());
    add("host", options.host.clone());
    let modified = path.metadata().and_then(|metadata| metadata.modified()).ok();
    let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    add("modified", modified.map(|age| age.as_secs().to_string()));
    for setting in &options.props {
        let (name, value) = setting
            .split_once('=')
            .with_context(|| format!("--props {setting}: write NAME=VALUE, as in props.conf"))?;
        add(&format!("props.{}", name.trim()), Some(value.trim().to_owned()));
    }
    let request = client
        .request(Method::POST, "/api/v1/preview")
        .query(&query)
        .header("Content-Type", "application/octet-stream")
        .body(text);
    client.send(request).await
}

/// Returns the source type, how it was determined, and the number of events.
fn summary(answer: &Value) -> String {
    let told = match answer["recognised"]["by"].as_str() {
        Some("stanza") => {
            let (stanza, place) = (&answer["recognised"]["stanza"], &answer["recognised"]["place"]);
            format!(" (by [{}], {})", word(stanza), word(place))
        }
        Some("header") => " (by its header)".to_owned(),
        Some("content") => " (by its first lines)".to_owned(),
        Some("file_name") => " (by the name of the file)".to_owned(),
        Some(_) => " (not recognised: the name of the file)".to_owned(),
        None => String::new(),
    };
    let totals = &answer["totals"];
    let count = |name: &str| totals[name].as_u64().unwrap_or(0);
    let mut text =
        format!("{}{told}, {}", word(&answer["sourcetype"]), counted(count("events"), "event"));
    if let (Some(earliest), Some(latest)) = (micros(&totals["earliest"]), micros(&totals["latest"]))
    {
        text.push_str(&format!(", {} to {} UTC", shown(earliest), shown(latest)));
    }
    if count("kept") != count("events") {
        text.push_str(&format!(", {} kept", count("kept")));
    }
    text
}

/// Returns a row for each event: where it begins, its time and the origin of the time, its source type, its
/// text.
fn rows(answer: &Value) -> Rows {
    let fields = ["line", "_time", "time_from", "sourcetype", "event"].map(str::to_owned).to_vec();
    let each = |event: &Value| {
        let kept = &event["kept"][0];
        let time = micros(if kept.is_null() { &event["time"] } else { &kept["time"] });
        let from = match event["timestamp"]["field"].as_str() {
            Some(field) => format!("field {field}"),
            None => word(&event["timestamp"]["from"]).to_owned(),
        };
        let text = match kept["raw"].as_str() {
            Some(raw) => short(raw),
            None => "(dropped)".to_owned(),
        };
        vec![
            event["line"].clone(),
            time.map_or(Value::Null, |time| json!(shown(time))),
            json!(from),
            kept["sourcetype"].clone(),
            json!(text),
        ]
    };
    let events = answer["events"].as_array().map(Vec::as_slice).unwrap_or_default();
    Rows { fields, rows: events.iter().map(each).collect() }
}

/// Returns the warnings, and the settings that are not the defaults.
fn notes(answer: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut notes: Vec<String> =
        list(&answer["warnings"]).iter().map(|text| word(text).to_owned()).collect();
    for event in list(&answer["events"]) {
        for warning in list(&event["warnings"]) {
            notes.push(format!("line {}: {}", event["line"], word(&warning)));
        }
    }
    for setting in list(&answer["settings"]) {
        let (Some(place), Some("arrival")) = (setting["place"].as_str(), setting["used"].as_str())
        else {
            continue;
        };
        let stanza = setting["stanza"].as_str().map(|stanza| format!("[{stanza}] in "));
        let (name, value) = (word(&setting["name"]), word(&setting["value"]));
        notes.push(format!("{name} = {value} ({}{place})", stanza.unwrap_or_default()));
    }
    notes
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Epoch seconds as microseconds.
fn micros(seconds: &Value) -> Option<i64> {
    #[allow(clippy::cast_possible_truncation, reason = "times are far below the limit")]
    seconds.as_f64().map(|seconds| (seconds * 1e6).round() as i64)
}

/// The beginning of an event in one line.
fn short(raw: &str) -> String {
    let mut text: String = raw.chars().take(SHOWN).collect();
    if text.len() < raw.len() {
        text.push_str("...");
    }
    text.replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> Value {
        json!({
            "sourcetype": "csv", "recognised": {"by": "file_name"},
            "totals": {"events": 2, "kept": 1, "earliest": 1_714_644_672.5, "latest": 1_714_644_673.0},
            "warnings": ["the first line was taken as the header"],
            "events": [
                {"line": 2, "time": 1_714_644_672.5, "timestamp": {"from": "field", "field": "Date"},
                 "kept": [{"raw": "a\nb", "time": 1_714_644_672.5, "sourcetype": "csv"}], "warnings": []},
                {"line": 4, "time": 1.0, "timestamp": {"from": "event_before"}, "kept": [],
                 "warnings": ["a rule of transforms.conf drops it"]},
            ],
            "settings": [
                {"name": "TRUNCATE", "value": "9", "stanza": "csv", "place": "props.conf:2", "used": "arrival"},
                {"name": "TZ", "value": "UTC", "stanza": null, "place": "the request", "used": "arrival"},
                {"name": "KV_MODE", "value": "json", "stanza": "csv", "place": "props.conf:3", "used": "search"},
                {"name": "CHARSET", "value": "UTF-8", "stanza": null, "place": null, "used": "arrival"},
            ],
        })
    }

    #[test]
    fn a_preview_is_a_summary_a_row_for_each_event_and_what_is_odd() {
        let answer = answer();
        assert_eq!(
            summary(&answer),
            "csv (by the name of the file), 2 events, 2024-05-02 10:11:12.5 to 2024-05-02 10:11:13 UTC, \
             1 kept"
        );
        let rows = rows(&answer);
        assert_eq!(
            rows.rows[0],
            [
                json!(2),
                json!("2024-05-02 10:11:12.5"),
                json!("field Date"),
                json!("csv"),
                json!("a b")
            ]
        );
        assert_eq!(rows.rows[1][4], "(dropped)");
        assert_eq!(
            notes(&answer),
            [
                "the first line was taken as the header",
                "line 4: a rule of transforms.conf drops it",
                "TRUNCATE = 9 ([csv] in props.conf:2)",
                "TZ = UTC (the request)",
            ]
        );
    }
}
