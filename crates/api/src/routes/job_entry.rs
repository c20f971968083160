//! A job in the form that Splunk's clients expect: about seventy keys, a few of which affect their behaviour.

use knowledge::time::parse_time;
use model::EventTime;
use search::{Job, JobStatus, ScanCounts};
use serde_json::{Map, Value, json};

use super::feed;
use crate::atom::{Acl, Attributes, Entry};
use crate::output::messages_json;

/// The resources below a job.
const BELOW: [&str; 8] = [
    "search.log",
    "events",
    "results",
    "results_preview",
    "timeline",
    "summary",
    "control",
    "inspector",
];

/// TTL of a saved job (`default_save_ttl`), in seconds: seven days.
pub(super) const SAVED_SECONDS: u64 = 604_800;

/// The entry of a job.
pub(super) fn entry(job: &Job) -> Entry {
    let request = job.request();
    let acl = acl(&request.owner, &request.app, job.readers());
    let mut entry = Entry::new("/services/search/jobs", job.sid(), content(job))
        .with_acl(acl)
        .with_attributes(Attributes::default())
        .linking(&BELOW);
    entry.name.clone_from(&request.search);
    entry.updated = iso(job.touched().0);
    entry
}

/// Returns the entry of another search head's job, from the list of that search head; `None` if it is
/// invalid.
pub(super) fn of_other_head(listed: &Value) -> Option<Entry> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let content = listed["content"].as_object()?.clone();
    let sid = text(&listed["content"]["sid"])?;
    let (owner, app) = (text(&listed["acl"]["owner"])?, text(&listed["acl"]["app"])?);
    let readers = listed["acl"]["perms"]["read"].as_array().into_iter().flatten().filter_map(text);
    let mut readers: Vec<String> = readers.collect();
    // The first one is the owner; a role may have the same name.
    if readers.first() == Some(&owner) {
        readers.remove(0);
    }
    let mut entry = Entry::new("/services/search/jobs", &sid, content)
        .with_acl(acl(&owner, &app, readers))
        .linking(&BELOW);
    entry.name = text(&listed["name"])?;
    entry.updated = text(&listed["updated"])?;
    Some(entry)
}

/// Returns the permissions of a job. As in Splunk, the owner is one of the readers, and jobs have no other
/// sharing.
fn acl(owner: &str, app: &str, mut readers: Vec<String>) -> Acl {
    readers.insert(0, owner.to_owned());
    Acl {
        owner: owner.to_owned(),
        app: app.to_owned(),
        sharing: "global".to_owned(),
        perms: Some((readers, vec![owner.to_owned()])),
        removable: true,
        writable: true,
    }
}

/// Returns the entry of a job in the history of a saved search, named by the job's id.
pub(super) fn history_entry(job: &Job) -> Entry {
    let mut entry = entry(job);
    job.sid().clone_into(&mut entry.name);
    entry
}

fn content(job: &Job) -> Map<String, Value> {
    let (status, counts) = (job.status(), job.counts());
    let mut content = progress(job, &status, &counts);
    content.extend(keeping(job));
    content.extend(description(job));
    content.insert("performance".to_owned(), performance(job).into());
    content.extend(kind(job));
    content.extend(job.trace_id().map(|trace| ("traceId".to_owned(), trace.into())));
    content
}

/// Returns the changing values of a job, under the names of its entry.
pub(super) fn status(job: &Job) -> Map<String, Value> {
    let description = description(job);
    let mut content = progress(job, &job.status(), &job.counts());
    content.extend(keeping(job));
    for name in ["earliestTime", "latestTime", "reportSearch"] {
        content.insert(name.to_owned(), description[name].clone());
    }
    content
}

fn progress(job: &Job, status: &JobStatus, counts: &ScanCounts) -> Map<String, Value> {
    let results = job.result_count();
    let previewed = job.preview_count();
    let is_done = status.state.is_final();
    let mut messages = messages_json(&job.messages());
    if let Some(error) = &status.error {
        messages.insert(0, json!({"type": "FATAL", "text": error.to_string()}));
    }
    feed::content(json!({
        "dispatchState": status.state.name(),
        "doneProgress": status.done_progress,
        "isDone": is_done,
        "isFailed": status.error.is_some(),
        "isPartial": job.is_partial(),
        "isFinalized": status.is_finalized,
        "isPaused": job.is_paused(),
        "isZombie": false,
        "eventCount": job.event_count(),
        "eventAvailableCount": if job.finds_events() { previewed } else { 0 },
        "eventFieldCount": 0,
        "eventIsTruncated": job.is_truncated(),
        "scanCount": counts.events_scanned,
        "searchTotalBucketsCount": counts.buckets_considered,
        "searchTotalEliminatedBucketsCount":
            counts.buckets_considered.saturating_sub(counts.buckets_to_search),
        "resultCount": results,
        "resultPreviewCount": previewed,
        "numPreviews": job.previews(),
        "isPreviewEnabled": job.wants_previews(),
        "isEventsPreviewEnabled": job.wants_previews() && job.finds_events(),
        "dropCount": 0,
        "runDuration": status.run_duration.as_secs_f64(),
        "diskUsage": job.result_bytes(),
        "messages": messages,
    }))
}

/// Returns the client's `provenance`, if it has sent one.
fn provenance(job: &Job) -> &str {
    let otherwise = if job.request().label.is_some() { "scheduler" } else { "rest" };
    job.request().provenance.as_deref().unwrap_or(otherwise)
}

/// Returns the TTL and the sharing of a job.
fn keeping(job: &Job) -> Map<String, Value> {
    let ttl = job.ttl().as_secs();
    feed::content(json!({
        "ttl": ttl,
        "defaultTTL": ttl,
        "defaultSaveTTL": SAVED_SECONDS,
        "priority": job.priority(),
        "isSaved": job.is_saved(),
        "published": iso(job.created().0),
        "modifiedTime": iso(job.touched().0),
        "pid": std::process::id(),
        "provenance": provenance(job),
        "workload_pool": "",
        "runtime": {
            "auto_cancel": job.request().auto_cancel.as_secs().to_string(),
            "auto_pause": "0",
        },
        "custom": {},
    }))
}

/// Returns the phases under the names of Splunk's inspector, and the counters of the scan.
fn performance(job: &Job) -> Map<String, Value> {
    let inspection = job.summary();
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
    // Clients compute with these numbers: the bounds of all time are not such times.
    let earliest = if range.earliest == EventTime::MIN { EventTime(0) } else { range.earliest };
    let now = request.now.unwrap_or_else(|| job.created());
    let latest = if range.latest == EventTime::MAX { now.max(earliest) } else { range.latest };
    // The request was accepted, so its bounds are times.
    let index_time = |text: &Option<String>| {
        let text = text.as_deref().filter(|text| !matches!(*text, "" | "0"));
        let time = text.and_then(|text| parse_time(text, now, &request.timezone).ok());
        time.map_or(0.0, EventTime::seconds)
    };
    let normalized = job.normalized_search();
    let report = if job.finds_events() { Value::Null } else { json!(normalized) };
    feed::content(json!({
        "sid": job.sid(),
        "search": request.search,
        "eventSearch": normalized,
        "normalizedSearch": normalized,
        "optimizedSearch": normalized,
        "remoteSearch": normalized,
        "reportSearch": report,
        "phase0": normalized,
        "phase1": report,
        "label": request.label,
        "earliestTime": bound(range.earliest.0),
        "latestTime": bound(range.latest.0),
        "indexEarliestTime": index_time(&request.index_earliest),
        "indexLatestTime": index_time(&request.index_latest),
        "searchEarliestTime": earliest.seconds(),
        "searchLatestTime": latest.seconds(),
        "cursorTime": bound(range.earliest.0),
        "statusBuckets": request.status_buckets,
        "keywords": job.highlight().join(" "),
        "highlight": job.highlight(),
        "delegate": "",
        "bundleVersion": job.bundle_version().unwrap_or_else(|| "0".to_owned()),
        "sampleRatio": "1",
        "sampleSeed": "0",
        "request": {
            "search": request.search,
            "earliest_time": request.earliest,
            "latest_time": request.latest,
            "index_earliest": request.index_earliest,
            "index_latest": request.index_latest,
        },
    }))
}

/// Returns the type of the search.
fn kind(job: &Job) -> Map<String, Value> {
    let events = job.finds_events();
    feed::content(json!({
        "canSummarize": false,
        "eventIsStreaming": true,
        "eventSorting": if events { "desc" } else { "none" },
        "fieldMetadataEvents": {},
        "fieldMetadataResults": {},
        "fieldMetadataStatic": {},
        "isBatchModeSearch": !events,
        "isGoodSummarizationCandidate": false,
        "isRealTimeSearch": false,
        "isRemoteTimeline": false,
        "isSavedSearch": job.request().label.is_some(),
        "isTimeCursored": true,
        "resultIsStreaming": events,
        "searchCanBeEventType": events,
        "searchProviders": ["karst"],
        "useSummarization": "0",
    }))
}

fn iso(micros: i64) -> String {
    jiff::Timestamp::from_microsecond(micros)
        .map(|time| time.strftime("%Y-%m-%dT%H:%M:%S%.3f+00:00").to_string())
        .unwrap_or_default()
}
