//! A job as Splunk's clients know it: some seventy keys, of which they branch on a few.

use search::Job;
use serde_json::{Map, Value, json};

use crate::atom::Entry;
use crate::output::messages_json;

/// The entry of a job.
pub(super) fn entry(job: &Job) -> Entry {
    Entry {
        name: job.request().search.clone(),
        id: format!("/services/search/jobs/{}", job.sid()),
        owner: job.request().owner.clone(),
        app: job.request().app.clone(),
        updated: iso(job.created().0),
        links: vec![
            "search.log",
            "events",
            "results",
            "results_preview",
            "timeline",
            "summary",
            "control",
            "inspector",
        ],
        content: content(job),
    }
}

fn content(job: &Job) -> Map<String, Value> {
    let mut content = progress(job);
    content.extend(description(job));
    content
}

fn progress(job: &Job) -> Map<String, Value> {
    let status = job.status();
    let counts = job.counts();
    let failed = status.error.is_some();
    let results = job.result_count();
    let previewed = job.preview_count();
    let is_done = status.state.is_final();
    let truncated = job.finds_events() && is_done && counts.events_matched > results as u64;
    let mut messages = messages_json(&job.messages());
    if let Some(error) = &status.error {
        messages.insert(0, json!({"type": "FATAL", "text": error.to_string()}));
    }
    object(json!({
        "dispatchState": status.state.name(),
        "doneProgress": status.done_progress,
        "isDone": is_done,
        "isFailed": failed,
        "isFinalized": status.is_finalized,
        "isPaused": status.state.name() == "PAUSED",
        "isZombie": false,
        "eventCount": counts.events_matched,
        "eventAvailableCount": if job.finds_events() { previewed } else { 0 },
        "eventIsTruncated": truncated,
        "scanCount": counts.events_scanned,
        "resultCount": results,
        "resultPreviewCount": previewed,
        "numPreviews": job.previews(),
        "isPreviewEnabled": job.wants_previews(),
        "isEventsPreviewEnabled": job.wants_previews() && job.finds_events(),
        "dropCount": 0,
        "runDuration": status.run_duration.as_secs_f64(),
        "diskUsage": 0,
        "messages": messages,
        "performance": performance(job),
    }))
}

/// Phases under the names that Splunk's inspector has for such work, and the counters of the scan.
fn performance(job: &Job) -> Map<String, Value> {
    let inspection = job.inspect();
    let mut parts = Map::new();
    for phase in &inspection.phases {
        let name = match phase.name {
            "plan" => "dispatch.evaluate.search",
            "queue" => "dispatch.queue",
            "prune" | "terms" => "command.search.index",
            "open" => "command.search.index.bucketopen",
            "read" => "command.search.rawdata",
            "decode" => "command.search.rawdata.decode",
            "filter" => "command.search.filter",
            "extract" => "command.search.kv",
            "aggregate" => "command.stats",
            "sort" => "command.sort",
            "preview" => "dispatch.preview",
            _ => "dispatch.finalize",
        };
        let before = parts.get(name).and_then(|part| part["duration_secs"].as_f64()).unwrap_or(0.0);
        let times = parts.get(name).and_then(|part| part["invocations"].as_u64()).unwrap_or(0);
        let mut part = json!({
            "duration_secs": before + phase.seconds, "invocations": times + phase.invocations,
        });
        if let Some(rows) = phase.rows_in {
            part["input_count"] = json!(rows);
        }
        if let Some(rows) = phase.rows_out {
            part["output_count"] = json!(rows);
        }
        parts.insert(name.to_owned(), part);
    }
    parts.insert("scan".to_owned(), json!(inspection.scan));
    parts
}

fn description(job: &Job) -> Map<String, Value> {
    let request = job.request();
    let range = job.range();
    let bound = |micros: i64| {
        if matches!(micros, i64::MIN | i64::MAX) { String::new() } else { iso(micros) }
    };
    let report = if job.finds_events() { Value::Null } else { json!(job.normalized_search()) };
    object(json!({
        "sid": job.sid(),
        "search": request.search,
        "eventSearch": job.normalized_search(),
        "normalizedSearch": job.normalized_search(),
        "optimizedSearch": job.normalized_search(),
        "remoteSearch": job.normalized_search(),
        "reportSearch": report,
        "label": request.label,
        "earliestTime": bound(range.earliest.0),
        "latestTime": bound(range.latest.0),
        "searchEarliestTime": range.earliest.seconds(),
        "searchLatestTime": range.latest.seconds(),
        "cursorTime": bound(range.earliest.0),
        "published": iso(job.created().0),
        "ttl": job.ttl().as_secs(),
        "defaultTTL": job.ttl().as_secs(),
        "priority": 5,
        "statusBuckets": request.status_buckets,
        "keywords": job.highlight().join(" "),
        "highlight": job.highlight(),
        "delegate": "",
        "eventFieldCount": 0,
        "eventIsStreaming": true,
        "eventSorting": if job.finds_events() { "desc" } else { "none" },
        "isBatchModeSearch": !job.finds_events(),
        "isRealTimeSearch": false,
        "isRemoteTimeline": false,
        "isSaved": false,
        "isSavedSearch": false,
        "isTimeCursored": true,
        "isGoodSummarizationCandidate": false,
        "resultIsStreaming": job.finds_events(),
        "searchProviders": ["karst"],
        "searchCanBeEventType": job.finds_events(),
        "request": {
            "search": request.search,
            "earliest_time": request.earliest,
            "latest_time": request.latest,
        },
    }))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn iso(micros: i64) -> String {
    jiff::Timestamp::from_microsecond(micros)
        .map(|time| time.strftime("%Y-%m-%dT%H:%M:%S%.3f+00:00").to_string())
        .unwrap_or_default()
}
