//! `karst spl explain`: shows how a search is parsed and how it would run.
//!
//! Without a server, it is planned over empty indexes: all names in it are assumed to exist, and fields are
//! texts.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use indicatif::HumanBytes;
use model::{EventTime, IndexName, TimeRange};
use plan::{EmptySource, EventsOnly, Limits, PlanContext, Subsearches};
use runtime::{Clock, SystemClock};
use search::Explanation;
use serde_json::Value;

use super::super::client::{Client, Failure};
use crate::config::{ExplainOptions, ReportFormat};

pub(super) async fn explain(options: &ExplainOptions) -> Result<ExitCode> {
    let explanation = match &options.client.uri {
        Some(_) => ask(options).await?,
        None => serde_json::to_value(plan_offline(options).await?)?,
    };
    let mut out = std::io::stdout().lock();
    match options.format {
        ReportFormat::Json => writeln!(out, "{explanation}")?,
        ReportFormat::Text => print(&mut out, &explanation)?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn ask(options: &ExplainOptions) -> Result<Value> {
    let client = Client::new(&options.client)?;
    // The search as `karst search` sends it.
    let search = spl::with_search(&options.search);
    let mut form = vec![("search", &*search), ("output_mode", "json")];
    form.extend(options.earliest.as_deref().map(|time| ("earliest_time", time)));
    form.extend(options.latest.as_deref().map(|time| ("latest_time", time)));
    client.post("/api/v1/explain", &form).await
}

async fn plan_offline(options: &ExplainOptions) -> Result<Explanation> {
    let text = &options.search;
    let refused = |error: plan::Error| Failure::Search(error.render(text));
    let knowledge = Arc::new(super::configuration(options.macros.as_deref())?);
    let outline = plan::outline(text, &knowledge).map_err(refused)?;
    let main: Vec<IndexName> = IndexName::new("main").into_iter().collect();
    let named = outline.indexes.iter().filter_map(|name| IndexName::new(name).ok());
    let now = SystemClock.now();
    let timezone = jiff::tz::TimeZone::system();
    let time = |text: &Option<String>, none: EventTime| match text.as_deref() {
        None => Ok(none),
        Some(text) => knowledge::time::parse_time(text, now, &timezone)
            .map_err(|error| Failure::Search(error.to_string())),
    };
    let range = TimeRange {
        earliest: time(&options.earliest, EventTime::MIN)?,
        latest: time(&options.latest, EventTime::MAX)?,
    };
    let context = PlanContext {
        source: Arc::new(EmptySource::new(main.iter().cloned().chain(named).collect())),
        host: Arc::new(EventsOnly),
        rules: Arc::clone(&knowledge),
        knowledge,
        now,
        timezone,
        range,
        index_range: TimeRange::ALL,
        default_indexes: main,
        limits: Limits::default(),
        restriction: plan::Restriction::default(),
        sid: String::new(),
        search_name: None,
        planning: plan::PlanningTime::default(),
    };
    let planned = plan::plan_search(text, &context, Subsearches::Skip).await.map_err(refused)?;
    Ok(Explanation::new(outline, &planned))
}

fn print(out: &mut impl Write, explanation: &Value) -> Result<()> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().map(text).collect()
    };
    writeln!(out, "search\n  {}\n", text(&explanation["normalized"]))?;
    writeln!(out, "commands")?;
    let empty = Vec::new();
    for command in explanation["commands"].as_array().unwrap_or(&empty) {
        let (text, kind, runs) =
            (text(&command["text"]), text(&command["kind"]), text(&command["runs"]));
        writeln!(out, "  {text}\n      {kind}; runs {runs}")?;
    }
    writeln!(out, "\nfilter")?;
    let indexes = list(&explanation["indexes"]);
    writeln!(out, "  indexes           {}", some(&indexes.join(", ")))?;
    let (earliest, latest) = (&explanation["earliest"], &explanation["latest"]);
    writeln!(out, "  time range        {}", time_range(earliest, latest))?;
    writeln!(out, "  index expression  {}", text(&explanation["index_expression"]))?;
    for condition in list(&explanation["filters"]) {
        writeln!(out, "  condition         {condition}")?;
    }
    if !explanation["estimate"].is_null() {
        writeln!(out, "\nat most")?;
        for line in estimate(&explanation["estimate"]) {
            writeln!(out, "  {line}")?;
        }
    }
    writeln!(out, "\nplan")?;
    for line in text(&explanation["plan"]).lines() {
        writeln!(out, "  {line}")?;
    }
    writeln!(out, "\nsql")?;
    let sql = &explanation["sql"];
    match sql["query"].as_str() {
        None => writeln!(out, "  {}", text(&explanation["no_sql"]))?,
        Some(query) => {
            for note in list(&sql["notes"]) {
                writeln!(out, "  -- {note}")?;
            }
            for name in ["earliest", "latest"] {
                if let Some(value) = sql[name].as_str() {
                    writeln!(out, "  -- with {name}={value} as a parameter")?;
                }
            }
            for line in query.lines() {
                writeln!(out, "  {line}")?;
            }
        }
    }
    for message in list(&explanation["messages"]) {
        writeln!(out, "\nnote: {message}")?;
    }
    Ok(())
}

/// Returns the upper bounds of the data that the search reads.
fn estimate(estimate: &Value) -> Vec<String> {
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let bytes = |value: &Value| HumanBytes(count(value)).to_string();
    let buckets = &estimate["buckets"];
    let (all, read) = (count(&buckets["considered"]), count(&buckets["to_read"]));
    let mut lines = vec![
        format!("buckets           {read} of {all}"),
        format!("events            {}", count(&estimate["rows"])),
        format!("bytes             {}", bytes(&estimate["bytes"])),
    ];
    let tiers = &estimate["tiers"];
    if !tiers.is_null() {
        let (memory, disk, store) =
            (bytes(&tiers["memory"]), bytes(&tiers["disk"]), bytes(&tiers["store"]));
        let requests = count(&tiers["requests"]);
        lines.push(format!(
            "of these          {memory} in memory, {disk} on disk, {store} in object storage ({requests} \
             requests)"
        ));
    }
    let notes = estimate["notes"].as_array().into_iter().flatten();
    lines.extend(notes.map(|note| format!("note: {}", note.as_str().unwrap_or_default())));
    lines
}

fn some(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

fn time_range(earliest: &Value, latest: &Value) -> String {
    match (earliest.is_null(), latest.is_null()) {
        (true, true) => "all time".to_owned(),
        (true, false) => format!("before {}", time_text(latest)),
        (false, true) => format!("{} and later", time_text(earliest)),
        (false, false) => format!("{} .. {}", time_text(earliest), time_text(latest)),
    }
}

fn time_text(seconds: &Value) -> String {
    let Some(seconds) = seconds.as_f64() else { return seconds.to_string() };
    #[allow(clippy::cast_possible_truncation, reason = "epoch seconds of events")]
    let time = jiff::Timestamp::from_microsecond((seconds * 1e6) as i64);
    time.map_or_else(|_| seconds.to_string(), |time| time.to_string())
}
