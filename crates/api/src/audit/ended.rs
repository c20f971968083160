//! The audit record of an ended job: the data it read, its duration and its cost.

use audit::Record;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use model::{EventTime, IndexName, TimeRange};
use search::{DispatchState, ExportRun, Inspection, Job, MessageKind, ScanCounts};

/// Indexes of a search that its record names.
const MOST_INDEXES: usize = 100;

/// The end of a search.
struct Ended {
    inspection: Inspection,
    range: TimeRange,
    indexes: Vec<IndexName>,
    created: EventTime,
    events: u64,
    results: u64,
    is_finalized: bool,
    has_error_warn: bool,
    is_complete: bool,
}

/// Adds the job's numbers to the record.
pub(super) fn with_numbers(record: Record, job: &Job) -> Record {
    let status = job.status();
    let warned = job.messages().iter().any(|message| message.kind == MessageKind::Warning);
    let is_done = status.state == DispatchState::Done;
    let ended = Ended {
        inspection: job.recorded(),
        range: job.range(),
        indexes: job.indexes().to_vec(),
        created: job.created(),
        events: job.event_count(),
        results: job.result_count() as u64,
        is_finalized: status.is_finalized,
        has_error_warn: warned || status.error.is_some(),
        is_complete: is_done && !status.is_finalized && !job.is_partial(),
    };
    ended.told(record)
}

/// Adds the numbers of an export that has sent this number of rows. `is_done`: the rows are complete.
pub(super) fn with_numbers_of_export(
    record: Record,
    run: &ExportRun,
    results: u64,
    is_done: bool,
    has_failed: bool,
) -> Record {
    let inspection = run.recorded();
    let events = match run.finds_events() && is_done {
        true => results,
        false => inspection.scan.events_matched,
    };
    let ended = Ended {
        inspection,
        range: run.range(),
        indexes: run.indexes().to_vec(),
        created: run.created(),
        events,
        results,
        is_finalized: false,
        has_error_warn: has_failed || !run.warnings().is_empty(),
        is_complete: is_done && run.incomplete().is_empty(),
    };
    ended.told(record)
}

impl Ended {
    fn told(&self, record: Record) -> Record {
        let Self { inspection, range, .. } = self;
        let (scan, reads) = (&inspection.scan, &inspection.reads);
        let open = |time: EventTime, end: EventTime| if time == end { None } else { Some(time) };
        let (earliest, latest) =
            (open(range.earliest, EventTime::MIN), open(range.latest, EventTime::MAX));
        let seconds = |time: Option<EventTime>| {
            time.map_or_else(|| "N/A".to_owned(), |time| format!("{:.6}", time.seconds()))
        };
        let before = scan.buckets_pruned_by_time + scan.buckets_pruned_by_summary;
        let eliminated = before + scan.buckets_pruned_by_terms + scan.buckets_counted;
        let searched = scan.buckets_searched.saturating_sub(scan.buckets_pruned_by_terms);
        record
            .with("event_count", self.events)
            .with("result_count", self.results)
            .with("scan_count", scan.events_scanned)
            .with("exec_time", self.created.0 / 1_000_000)
            .with_some("bundle_version", inspection.bundle_version.as_deref())
            .with("search_et", seconds(earliest))
            .with("search_lt", seconds(latest))
            .with("apiStartTime", splunk_time(earliest))
            .with("apiEndTime", splunk_time(latest))
            .with("is_realtime", 0)
            .with("is_finalized", self.is_finalized)
            .with("has_error_warn", self.has_error_warn)
            .with("fully_completed_search", self.is_complete)
            .with("index_count", self.indexes.len())
            .with("indexes", first_names(&self.indexes))
            .with("considered_buckets", scan.buckets_considered)
            .with("eliminated_buckets", eliminated)
            .with("searched_buckets", searched)
            .with("queue_s", millis(phase(inspection, "queue")))
            .with("plan_s", millis(phase(inspection, "plan")))
            .with("read_s", millis(phase(inspection, "read")))
            .with("cpu_s", millis(inspection.cpu))
            .with("kb_dram", kilobytes(reads.dram.bytes))
            .with("kb_nvme", kilobytes(reads.nvme.bytes))
            .with("kb_store", kilobytes(reads.store.bytes))
            .with("store_requests", reads.store_requests)
            .with("usd", format!("{:.9}", inspection.dollars))
            .with("kind", kind(scan, eliminated))
    }
}

/// The first names of the indexes, separated by commas; their number says whether there are more.
fn first_names(indexes: &[IndexName]) -> String {
    let names: Vec<&str> = indexes.iter().take(MOST_INDEXES).map(IndexName::as_str).collect();
    names.join(",")
}

fn phase(inspection: &Inspection, name: &str) -> f64 {
    let wanted = inspection.phases.iter().filter(|phase| phase.name == name);
    wanted.map(|phase| phase.seconds).sum()
}

fn millis(seconds: f64) -> String {
    format!("{seconds:.3}")
}

#[allow(clippy::cast_precision_loss)]
fn kilobytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1024.0)
}

/// `Thu Nov 26 15:00:00 2026`, as Splunk has it; an open end is `ZERO_TIME`.
fn splunk_time(time: Option<EventTime>) -> String {
    let moment = time.and_then(|time| Timestamp::from_microsecond(time.0).ok());
    let written = |moment: Timestamp| {
        moment.to_zoned(TimeZone::UTC).strftime("%a %b %e %H:%M:%S %Y").to_string()
    };
    moment.map_or_else(|| "ZERO_TIME".to_owned(), written)
}

/// Returns the kind of search, by the ratio of matching to scanned events.
#[allow(clippy::cast_precision_loss)]
fn kind(scan: &ScanCounts, eliminated: u64) -> &'static str {
    if scan.events_scanned == 0 {
        return "none";
    }
    let read = scan.buckets_considered.saturating_sub(eliminated);
    if read * 100 < scan.buckets_considered {
        return "rare";
    }
    match scan.events_matched as f64 / scan.events_scanned as f64 {
        part if part >= 0.1 => "dense",
        part if part >= 0.001 => "sparse",
        _ => "super-sparse",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn times_are_splunks() {
        let time = EventTime::from_seconds(1_795_342_500.0);
        assert_eq!(splunk_time(Some(time)), "Sun Nov 22 10:15:00 2026");
        assert_eq!(splunk_time(None), "ZERO_TIME");
    }

    #[test]
    fn the_first_hundred_indexes_are_named() {
        let index = |n: usize| IndexName::new(&format!("i{n}")).unwrap();
        let indexes: Vec<IndexName> = (0..150).map(index).collect();
        assert_eq!(first_names(&indexes[..3]), "i0,i1,i2");
        assert_eq!(first_names(&indexes).split(',').count(), MOST_INDEXES);
        assert_eq!(first_names(&[]), "");
    }
}
