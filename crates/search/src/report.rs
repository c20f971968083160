//! The report of the scans of a job: buckets, rows, events over time. Scans write it; status requests read
//! it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bucket::MissingIndexer;
use cache::{SearchReads, StoreWait};
use metrics::counter;
use model::{BucketId, EventTime};
use parking_lot::{Mutex, MutexGuard};
use runtime::metrics as names;
use serde::{Deserialize, Serialize};

use crate::cpu::CpuTime;
use crate::operators::{LEVELS, OperatorReport, PartPlan};
use crate::part_report::PartReport;
use crate::quarantine::Quarantined;
use crate::reads::Reads;
use crate::timeline::Timeline;
use crate::times::{PhaseTimes, of_part};

/// A wait for one request to object storage that is worth a message. A healthy store answers within a second,
/// and the timeouts end after minutes.
const LONG_WAIT: Duration = Duration::from_secs(10);

/// Maximum size of all plans of parts that are kept for the inspector, in bytes. Each has up to 64 KiB. Of
/// further plans, the top operator is kept.
const PART_PLANS: usize = 1 << 20;

/// The outcome of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The search has completed.
    Done,
    /// The search failed.
    Failed,
    /// The search was cancelled, or its client disconnected.
    Cancelled,
}

impl Outcome {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Counters of all scans of one job.
#[derive(Debug, Default)]
pub(crate) struct ScanReport {
    /// Buckets of the indexes asked for, hot ones included.
    pub buckets_considered: AtomicU64,
    /// Buckets left out by time range.
    pub buckets_pruned_by_time: AtomicU64,
    /// Buckets pruned by host, source, sourcetype or an absent field.
    pub buckets_pruned_by_summary: AtomicU64,
    /// Buckets pruned after they were opened: the term index has no candidate, or the summary, which planning
    /// has not read, excludes them.
    pub buckets_pruned_by_terms: AtomicU64,
    /// Buckets whose matching events the catalog counts.
    pub buckets_counted: AtomicU64,
    /// Buckets to read.
    pub buckets_to_search: AtomicU64,
    /// Events in the buckets to read.
    pub events_to_scan: AtomicU64,
    /// Buckets read to the end.
    pub buckets_searched: AtomicU64,
    /// Granules in the buckets that were opened.
    pub granules_considered: AtomicU64,
    /// Granules left out because the numbers of their row group are out of bounds.
    pub granules_pruned_by_bounds: AtomicU64,
    /// Granules read.
    pub granules_read: AtomicU64,
    /// Granules whose matching events the term index or the directory counts.
    pub granules_counted: AtomicU64,
    /// Events read and tested (Splunk's scanCount).
    pub events_scanned: AtomicU64,
    /// Events that passed (Splunk's eventCount).
    pub events_matched: AtomicU64,
    /// The part of `events_matched` that planning has counted since a plan began to run. It belongs to the
    /// next plan.
    matched_planned: AtomicU64,
    /// Durations of the phases.
    pub times: Arc<PhaseTimes>,
    /// CPU time in this process.
    pub cpu: CpuTime,
    /// Bytes, requests and time per tier of the cache.
    pub reads: Arc<SearchReads>,
    timeline: Option<Mutex<Timeline>>,
    pruned_by: Mutex<Vec<String>>,
    warnings: Mutex<Vec<String>>,
    left_out: Mutex<BTreeMap<BucketId, Quarantined>>,
    missing: Mutex<BTreeSet<MissingIndexer>>,
    /// Messages about parts that lost their indexer after some of their rows had been used.
    broken_off: Mutex<BTreeSet<String>>,
    /// Number of parts that have been numbered.
    numbered: AtomicUsize,
    /// Reports of parts in other processes, by their numbers.
    parts: Mutex<BTreeMap<usize, Part>>,
    /// The digest of the installed apps with which the search was planned.
    bundle_version: OnceLock<String>,
    /// The counters at the start of the current stage.
    stage: Mutex<StageStart>,
}

/// The counters of a search at the start of a stage.
#[derive(Debug, Default)]
struct StageStart {
    events_matched: u64,
    timeline: Option<Timeline>,
    /// Numbers of parts.
    parts: BTreeSet<usize>,
}

/// A part of a search in another process.
#[derive(Debug)]
struct Part {
    counts: PartCounts,
    report: PartReport,
}

/// The report of a part of a search in another process, for the inspector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartCounts {
    /// The server name of the process.
    pub indexer: String,
    /// Number of buckets that it reads.
    pub buckets: usize,
    /// Events read and tested.
    pub events_scanned: u64,
    /// Events that passed.
    pub events_matched: u64,
    /// Seconds of CPU time in the process.
    #[serde(default)]
    pub cpu: f64,
    /// Bytes and requests by cache tier in the process.
    #[serde(default)]
    pub reads: Reads,
    /// Its phases, in order.
    #[serde(default)]
    pub phases: Vec<PartPhase>,
}

/// A phase of a part of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartPhase {
    /// Name of the phase.
    pub name: String,
    /// Duration in seconds, summed over parallel partitions.
    pub seconds: f64,
    /// Number of executions.
    pub invocations: u64,
}

/// A snapshot of the counters, for the inspector.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ScanCounts {
    /// See the fields of `ScanReport`.
    pub buckets_considered: u64,
    pub buckets_pruned_by_time: u64,
    pub buckets_pruned_by_summary: u64,
    pub buckets_pruned_by_terms: u64,
    pub buckets_counted: u64,
    pub buckets_to_search: u64,
    pub events_to_scan: u64,
    pub buckets_searched: u64,
    pub granules_considered: u64,
    pub granules_pruned_by_bounds: u64,
    pub granules_read: u64,
    pub granules_counted: u64,
    pub events_scanned: u64,
    pub events_matched: u64,
    /// The index expressions the scans pruned by (Splunk's "base lispy").
    pub pruned_by: Vec<String>,
    /// Reports of parts in other processes, whose counts are included in those above.
    pub parts: Vec<PartCounts>,
}

impl ScanCounts {
    fn add(&mut self, part_report: &PartReport) {
        self.buckets_pruned_by_terms += part_report.buckets_pruned_by_terms;
        self.buckets_searched += part_report.buckets_searched;
        self.granules_considered += part_report.granules_considered;
        self.granules_pruned_by_bounds += part_report.granules_pruned_by_bounds;
        self.granules_read += part_report.granules_read;
        self.granules_counted += part_report.granules_counted;
        self.events_scanned += part_report.events_scanned;
        self.events_matched += part_report.events_matched;
    }

    /// Keeps only the number of matching events. With a search filter, the other counts would tell which
    /// words are in hidden events: term indexes and summaries, by which buckets and granules are pruned,
    /// contain these words too.
    #[must_use]
    pub(crate) fn without_hidden(&self) -> Self {
        let matched = self.events_matched;
        Self { events_scanned: matched, events_matched: matched, ..Self::default() }
    }

    /// Returns the share of the reading that is done, 0 to 1. Events count, because in many searches one
    /// large bucket has most of them; finished buckets count too, because events that the index excludes are
    /// never scanned.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn progress(&self) -> f64 {
        let share = |part: u64, all: u64| if all == 0 { 0.0 } else { part as f64 / all as f64 };
        let buckets = share(self.buckets_searched, self.buckets_to_search);
        buckets.max(share(self.events_scanned, self.events_to_scan)).min(1.0)
    }
}

impl ScanReport {
    /// Creates a report with a timeline.
    pub(crate) fn with_timeline() -> Self {
        Self { timeline: Some(Mutex::default()), ..Self::default() }
    }

    /// Sets the digest of the installed apps, before the search is planned.
    pub(crate) fn is_planned_by(&self, bundle_version: String) {
        let _ = self.bundle_version.set(bundle_version);
    }

    /// Returns the digest of the installed apps with which the search was planned; `None` if this process
    /// cannot install apps.
    #[must_use]
    pub(crate) fn bundle_version(&self) -> Option<String> {
        self.bundle_version.get().cloned()
    }

    /// Adds times (UTC microseconds) of matching events to the timeline.
    pub(crate) fn count_times(&self, times: impl Iterator<Item = i64>) {
        if let Some(mut timeline) = self.lock_timeline() {
            timeline.add(times);
        }
    }

    /// Adds a number of events in one bin to the timeline.
    pub(crate) fn count_time(&self, time: EventTime, events: u64) {
        if let Some(mut timeline) = self.lock_timeline() {
            timeline.add_many(time, events);
        }
    }

    /// Widens the bins of the timeline so that it can hold events between two times.
    pub(crate) fn widen_timeline(&self, first: EventTime, last: EventTime) {
        if let Some(mut timeline) = self.lock_timeline() {
            timeline.widen_for(first, last);
        }
    }

    /// Returns the timeline so far; `None` if none was requested.
    #[must_use]
    pub(crate) fn timeline(&self) -> Option<Timeline> {
        let mut timeline = self.lock_timeline().map(|timeline| timeline.clone())?;
        for part in self.parts.lock().values() {
            part.report.timeline.iter().for_each(|theirs| timeline.merge(theirs));
        }
        Some(timeline)
    }

    fn lock_timeline(&self) -> Option<MutexGuard<'_, Timeline>> {
        let timeline = self.timeline.as_ref()?;
        Some(timeline.lock())
    }

    /// Counts matching events that planning has found in summaries.
    pub(crate) fn match_planned(&self, events: u64) {
        self.events_matched.fetch_add(events, Relaxed);
        self.matched_planned.fetch_add(events, Relaxed);
    }

    /// Begins the plan of an inner search, within a stage of this one. The events that its planning has
    /// counted do not belong to the stage and are never taken back.
    pub(crate) fn begin_inner(&self) {
        self.matched_planned.store(0, Relaxed);
    }

    /// Begins a stage that has been planned.
    pub(crate) fn begin_stage(&self) {
        let planned = self.matched_planned.swap(0, Relaxed);
        *self.stage.lock() = StageStart {
            events_matched: self.events_matched.load(Relaxed).saturating_sub(planned),
            timeline: self.lock_timeline().map(|timeline| timeline.clone()),
            parts: self.parts.lock().keys().copied().collect(),
        };
    }

    /// Takes back the matching events that the stage has counted, because the next stage reads them again.
    /// The cost of reading them remains.
    pub(crate) fn count_again(&self) {
        let start = self.stage.lock();
        self.events_matched.store(start.events_matched, Relaxed);
        if let (Some(mut timeline), Some(before)) = (self.lock_timeline(), &start.timeline) {
            timeline.clone_from(before);
        }
        let mut parts = self.parts.lock();
        for (_, part) in parts.iter_mut().filter(|(number, _)| !start.parts.contains(number)) {
            part.counts.events_matched = 0;
            part.report.events_matched = 0;
            part.report.timeline = None;
        }
    }

    /// Begins a plan that reads the events of the stage again. Takes back the events that the stage has
    /// counted, without those that the planning of this plan has.
    pub(crate) fn begin_again(&self) {
        let planned = self.matched_planned.swap(0, Relaxed);
        self.count_again();
        self.events_matched.fetch_add(planned, Relaxed);
    }

    /// Records an ended search in the metrics.
    pub(crate) fn record(&self, outcome: Outcome) {
        counter!(names::SEARCHES, "outcome" => outcome.word()).increment(1);
        if outcome == Outcome::Done && self.is_incomplete() {
            counter!(names::SEARCHES_INCOMPLETE).increment(1);
        }
        let counts = self.counts();
        counter!(names::SEARCH_EVENTS).increment(counts.events_scanned);
        // A bucket without a candidate was opened for its term index, so it also counts as searched.
        let by_terms = counts.buckets_pruned_by_terms;
        let before = [&self.buckets_pruned_by_time, &self.buckets_pruned_by_summary];
        let before: u64 = before.iter().map(|count| count.load(Relaxed)).sum();
        let fates = [
            ("searched", counts.buckets_searched.saturating_sub(by_terms)),
            ("counted", self.buckets_counted.load(Relaxed)),
            ("pruned", before + by_terms),
        ];
        for (fate, buckets) in fates {
            counter!(names::SEARCH_BUCKETS, "fate" => fate).increment(buckets);
        }
    }

    /// Adds a warning for the user, unless it is present.
    pub(crate) fn warn(&self, text: String) {
        let mut known = self.warnings.lock();
        if !known.contains(&text) {
            known.push(text);
        }
    }

    /// Returns the warnings for the user.
    #[must_use]
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = self.warnings.lock().clone();
        for warning in self.parts.lock().values().flat_map(|part| &part.report.warnings) {
            if !warnings.contains(warning) {
                warnings.push(warning.clone());
            }
        }
        for wait in self.store_waits() {
            if !warnings.contains(&wait) {
                warnings.push(wait);
            }
        }
        warnings
    }

    /// Returns messages about long waits for object storage, in this process and in those of parts.
    #[must_use]
    pub(crate) fn store_waits(&self) -> Vec<String> {
        let own = self.reads.store_wait().as_ref().and_then(waited);
        let mut waits: BTreeSet<String> = own.into_iter().collect();
        waits.extend(self.parts.lock().values().filter_map(|part| part.report.store_wait.clone()));
        waits.into_iter().collect()
    }

    /// Records a skipped bucket.
    pub(crate) fn leave_out(&self, bucket: &Quarantined) {
        let mut left_out = self.left_out.lock();
        left_out.entry(bucket.id).or_insert_with(|| bucket.clone());
    }

    /// Records an indexer whose hot buckets are missing from the result.
    pub(crate) fn miss(&self, indexer: &MissingIndexer) {
        self.missing.lock().insert(indexer.clone());
    }

    /// Whether the result misses events.
    pub(crate) fn is_incomplete(&self) -> bool {
        !self.left_out().is_empty()
            || !self.missing.lock().is_empty()
            || !self.broken_off.lock().is_empty()
    }

    /// Returns the skipped buckets of all processes.
    fn left_out(&self) -> BTreeMap<BucketId, Quarantined> {
        let mut left_out = self.left_out.lock().clone();
        for bucket in self.parts.lock().values().flat_map(|part| &part.report.left_out) {
            left_out.entry(bucket.id).or_insert_with(|| bucket.clone());
        }
        left_out
    }

    /// Replaces the report of a part by a newer one.
    pub(crate) fn note_part(
        &self,
        number: usize,
        indexer: &str,
        buckets: usize,
        mut part_report: PartReport,
    ) {
        let phases = of_part(&part_report.times).into_iter().map(|(phase, time, invocations)| {
            let (name, seconds) = (phase.name().to_owned(), time.as_secs_f64());
            PartPhase { name, seconds, invocations }
        });
        let counts = PartCounts {
            indexer: indexer.to_owned(),
            buckets,
            events_scanned: part_report.events_scanned,
            events_matched: part_report.events_matched,
            cpu: Duration::from_nanos(part_report.cpu_nanos).as_secs_f64(),
            reads: part_report.reads,
            phases: phases.collect(),
        };
        let mut parts = self.parts.lock();
        if let Some(plan) = &mut part_report.plan {
            let others = parts.iter().filter(|(other, _)| **other != number);
            let plans = others.filter_map(|(_, part)| part.report.plan.as_ref());
            let mut room = PART_PLANS.saturating_sub(plans.map(OperatorReport::bytes).sum());
            if plan.bytes() > room {
                *plan = plan.upper(LEVELS, &mut room);
            }
        }
        parts.insert(number, Part { counts, report: part_report });
    }

    /// Assigns a number to a part of this search, or of a search within it, in another process.
    pub(crate) fn number_part(&self) -> usize {
        self.numbered.fetch_add(1, Relaxed)
    }

    /// Marks a part as ended. Its times are counted from then on.
    pub(crate) fn end_part(&self, number: usize) {
        if let Some(part) = self.parts.lock().get(&number) {
            self.times.add_all(&part.report.times);
        }
    }

    /// Records a message about a part whose remaining rows are missing.
    pub(crate) fn break_off(&self, what: String) {
        self.broken_off.lock().insert(what);
    }

    /// Discards the report of a part, which is restarted elsewhere.
    pub(crate) fn forget_part(&self, number: usize) {
        self.parts.lock().remove(&number);
    }

    /// Returns the plans of parts in other processes, as far as they have sent them.
    pub(crate) fn part_plans(&self) -> Vec<PartPlan> {
        let parts = self.parts.lock();
        let plan = |part: &Part| {
            let plan = part.report.plan.clone()?;
            Some(PartPlan { indexer: part.counts.indexer.clone(), plan })
        };
        parts.values().filter_map(plan).collect()
    }

    /// Returns the cost of reads in all processes.
    pub(crate) fn all_reads(&self) -> Reads {
        let own = Reads::of(&self.reads.stats());
        self.parts.lock().values().fold(own, |sum, part| sum.plus(&part.report.reads))
    }

    /// Returns the CPU time in all processes.
    pub(crate) fn all_cpu(&self) -> Duration {
        let parts = self.parts.lock();
        let theirs = parts.values().map(|part| Duration::from_nanos(part.report.cpu_nanos));
        theirs.fold(self.cpu.total(), Duration::saturating_add)
    }

    /// Returns the report of this process for the search head.
    pub(crate) fn part_report(&self) -> PartReport {
        let own = self.counts();
        PartReport {
            buckets_pruned_by_terms: own.buckets_pruned_by_terms,
            buckets_searched: own.buckets_searched,
            granules_considered: own.granules_considered,
            granules_pruned_by_bounds: own.granules_pruned_by_bounds,
            granules_read: own.granules_read,
            granules_counted: own.granules_counted,
            events_scanned: own.events_scanned,
            events_matched: own.events_matched,
            timeline: self.timeline(),
            warnings: self.warnings(),
            store_wait: self.store_waits().into_iter().next(),
            left_out: self.left_out().into_values().collect(),
            reads: self.all_reads(),
            times: self.times.all(),
            cpu_nanos: u64::try_from(self.all_cpu().as_nanos()).unwrap_or(u64::MAX),
            messages: Vec::new(),
            plan: None,
        }
    }

    /// Returns a message for each bucket and indexer that is missing from the result.
    #[must_use]
    pub(crate) fn incomplete(&self) -> Vec<String> {
        let left_out = self.left_out();
        let missing = self.missing.lock();
        let indexers = missing.iter().map(|MissingIndexer { name, reason }| {
            format!(
                "The results are incomplete: {name}: {reason}; events that are not in object storage yet are \
                 missing."
            )
        });
        let broken_off = self.broken_off.lock();
        let parts = broken_off.iter().map(|what| format!("The results are incomplete: {what}."));
        left_out.values().map(Quarantined::message).chain(indexers).chain(parts).collect()
    }

    /// Records the index expression of a scan.
    pub(crate) fn pruned_by(&self, expression: String) {
        let mut known = self.pruned_by.lock();
        if !known.contains(&expression) {
            known.push(expression);
        }
    }

    /// Takes a snapshot of the counters.
    #[must_use]
    pub(crate) fn counts(&self) -> ScanCounts {
        let mut counts = ScanCounts {
            buckets_considered: self.buckets_considered.load(Relaxed),
            buckets_pruned_by_time: self.buckets_pruned_by_time.load(Relaxed),
            buckets_pruned_by_summary: self.buckets_pruned_by_summary.load(Relaxed),
            buckets_pruned_by_terms: self.buckets_pruned_by_terms.load(Relaxed),
            buckets_counted: self.buckets_counted.load(Relaxed),
            buckets_to_search: self.buckets_to_search.load(Relaxed),
            events_to_scan: self.events_to_scan.load(Relaxed),
            buckets_searched: self.buckets_searched.load(Relaxed),
            granules_considered: self.granules_considered.load(Relaxed),
            granules_pruned_by_bounds: self.granules_pruned_by_bounds.load(Relaxed),
            granules_read: self.granules_read.load(Relaxed),
            granules_counted: self.granules_counted.load(Relaxed),
            events_scanned: self.events_scanned.load(Relaxed),
            events_matched: self.events_matched.load(Relaxed),
            pruned_by: self.pruned_by.lock().clone(),
            parts: Vec::new(),
        };
        for part in self.parts.lock().values() {
            counts.add(&part.report);
            counts.parts.push(part.counts.clone());
        }
        counts
    }
}

/// Returns a message about a long wait for object storage.
fn waited(StoreWait { store, current, longest }: &StoreWait) -> Option<String> {
    if *current >= LONG_WAIT {
        // Rounded to ten seconds, so that clients that follow the job do not get a new text each second.
        let seconds = current.as_secs() / 10 * 10;
        return Some(format!(
            "object storage ({store}) has not answered a request for {seconds} s; the search waits for it"
        ));
    }
    let seconds = longest.as_secs();
    (*longest >= LONG_WAIT).then(|| {
        format!("the search waited {seconds} s for one request to object storage ({store})")
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::times::Phase;

    #[test]
    fn a_store_that_does_not_answer_is_named_while_the_search_waits_and_afterwards() {
        let said = |current, longest| {
            let (current, longest) = (Duration::from_secs(current), Duration::from_secs(longest));
            waited(&StoreWait { store: "s3://karst".into(), current, longest })
        };
        assert_eq!(said(9, 9), None);
        let waits = said(47, 12).unwrap();
        assert!(waits.contains("(s3://karst) has not answered a request for 40 s"), "{waits}");
        let is_over = said(1, 51).unwrap();
        assert!(is_over.contains("waited 51 s") && is_over.contains("s3://karst"), "{is_over}");
    }

    #[test]
    fn a_part_has_its_own_phases_cpu_time_and_reads() {
        let report = ScanReport::default();
        let mut times = vec![(0, 0); Phase::READING.len() + 1];
        times[Phase::Read as usize] = (2_000_000_000, 4);
        times[Phase::Filter as usize] = (3_000_000_000, 2);
        times[Phase::Extract as usize] = (1_000_000_000, 2);
        let reads = Reads { store_requests: 7, ..Reads::default() };
        let part_report =
            PartReport { times, reads, cpu_nanos: 1_500_000_000, ..PartReport::default() };
        report.note_part(0, "one", 3, part_report);
        let part = report.counts().parts.remove(0);
        let phase = |name: &str, seconds, invocations| PartPhase {
            name: name.to_owned(),
            seconds,
            invocations,
        };
        let phases = [phase("read", 2.0, 4), phase("filter", 2.0, 2), phase("extract", 1.0, 2)];
        assert_eq!((part.phases.as_slice(), part.cpu), (phases.as_slice(), 1.5));
        assert_eq!((part.buckets, part.reads.store_requests), (3, 7));
    }

    #[test]
    fn events_of_a_stage_that_are_read_again_are_counted_once() {
        let report = ScanReport::with_timeline();
        let read = || {
            report.events_matched.fetch_add(7, Relaxed);
            report.count_time(EventTime(0), 7);
        };
        let counted = || {
            let bins = report.timeline().unwrap().bins().map(|(_, count)| count).sum::<u64>();
            (report.counts().events_matched, bins)
        };
        // A stage before this one.
        report.begin_stage();
        read();
        report.match_planned(2);
        report.begin_stage();
        read();
        assert_eq!(counted(), (16, 14));
        for _ in 0..2 {
            report.match_planned(2);
            report.begin_again();
            assert_eq!(counted(), (9, 7));
            read();
            assert_eq!(counted(), (16, 14));
        }
    }

    #[test]
    fn plans_of_parts_are_kept_up_to_a_size() {
        const PARTS: usize = 30;
        let report = ScanReport::default();
        let scan = OperatorReport { detail: "x".repeat(60 << 10), ..OperatorReport::default() };
        let plan =
            OperatorReport { name: "Top".to_owned(), inputs: vec![scan], ..Default::default() };
        for number in 0..PARTS {
            let part_report = PartReport { plan: Some(plan.clone()), ..PartReport::default() };
            report.note_part(number, "one", 1, part_report);
        }
        report.note_part(PARTS, "of an earlier version", 1, PartReport::default());
        let plans = report.part_plans();
        let whole = plans.iter().filter(|part| part.plan.bytes() >= plan.bytes()).count();
        assert_eq!((plans.len(), whole), (PARTS, PART_PLANS / plan.bytes()));
        let sum: usize = plans.iter().map(|part| part.plan.bytes()).sum();
        assert!(sum < PART_PLANS + PARTS * 1_000, "{sum}");
        let last = plans.last().unwrap();
        assert_eq!((last.indexer.as_str(), last.plan.name.as_str()), ("one", "Top"));
        assert!(last.plan.detail.contains("are left out"), "{}", last.plan.detail);
    }

    #[test]
    fn a_timeline_widens_its_bins_and_keeps_every_event() {
        let report = ScanReport::with_timeline();
        report.count_times((0..100_000).map(|second| second * 1_000_000));
        let timeline = report.timeline().unwrap();
        assert_eq!(timeline.span_seconds(), 600);
        assert_eq!(timeline.bins().map(|(_, count)| count).sum::<u64>(), 100_000);
        assert_eq!(timeline.bins().next(), Some((0, 600)));
    }

    #[test]
    fn times_before_1970_fall_into_the_bin_that_contains_them() {
        let report = ScanReport::with_timeline();
        report.count_times([-1_i64].into_iter());
        assert_eq!(report.timeline().unwrap().bins().next(), Some((-1, 1)));
    }
}
