//! The job inspector: the time, reads, pruning and cost of a search.

use std::time::Duration;

use access::Rights;
use model::IndexName;
use serde::{Deserialize, Deserializer, Serialize};

use crate::operators::{OperatorReport, PartPlan};
use crate::reads::Reads;
use crate::report::{ScanCounts, ScanReport};
use crate::times::{Phase, PhaseTimes};

/// The report of the job inspector about a search.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Inspection {
    /// Run time in seconds.
    pub run_duration: f64,
    /// The digest of the installed apps by which it was planned; `None` where none can be installed.
    #[serde(default)]
    pub bundle_version: Option<String>,
    /// Seconds of CPU time, planning included, in all processes.
    #[serde(default)]
    pub cpu: f64,
    /// Phases in order.
    pub phases: Vec<PhaseReport>,
    /// The operators of each plan that ran, the last one of each first.
    pub plans: Vec<OperatorReport>,
    /// The plans of parts in other processes that have ended.
    #[serde(default)]
    pub part_plans: Vec<PartPlan>,
    /// Bytes and requests by cache tier.
    pub reads: Reads,
    /// Cost of requests to object storage in dollars.
    pub dollars: f64,
    /// The price on which `dollars` is based.
    pub s3_price_get_per_1000: f64,
    /// Buckets, granules and events.
    pub scan: ScanCounts,
    /// Sources of results that needed no reading of events.
    pub answered_from: Vec<String>,
    /// Number of previews so far.
    pub previews: u64,
}

impl Inspection {
    /// Creates the report of a search with these plans, without the plans and previews.
    pub(crate) fn of(
        report: &ScanReport,
        run_duration: Duration,
        plans: &[OperatorReport],
        results: Option<usize>,
        s3_price_get_per_1000: f64,
    ) -> Self {
        let (scan, reads) = (report.counts(), report.all_reads());
        #[allow(clippy::cast_precision_loss)]
        let dollars = reads.store_requests as f64 / 1000.0 * s3_price_get_per_1000;
        Self {
            run_duration: run_duration.as_secs_f64(),
            bundle_version: report.bundle_version(),
            cpu: report.all_cpu().as_secs_f64(),
            phases: phases(&report.times, &scan, plans, results),
            plans: Vec::new(),
            part_plans: Vec::new(),
            reads,
            dollars,
            s3_price_get_per_1000,
            answered_from: answered_from(&scan),
            scan,
            previews: 0,
        }
    }

    /// Removes all that depends on events that a search filter hides: which buckets, granules and blocks were
    /// read, and how often and how long the phases ran that read them. The operators of a plan depend on the
    /// buckets, too. See [`ScanCounts::without_hidden`].
    #[must_use]
    pub(crate) fn without_hidden(mut self) -> Self {
        self.scan = self.scan.without_hidden();
        let matched = self.scan.events_matched;
        let (plan, queue, finalize) =
            (Phase::Plan.name(), Phase::Queue.name(), Phase::Finalize.name());
        self.phases.retain(|phase| OPERATORS.iter().all(|(name, _)| *name != phase.name));
        for phase in &mut self.phases {
            let runs_before = phase.name == plan || phase.name == queue;
            phase.invocations = u64::from(runs_before);
            if !runs_before {
                phase.seconds = 0.0;
            }
            // The output rows of the last phase are the results.
            if phase.name != finalize {
                phase.rows_in = phase.rows_in.map(|_| matched);
                phase.rows_out = phase.rows_out.map(|_| matched);
            }
        }
        self.plans.clear();
        self.part_plans.clear();
        self.answered_from.clear();
        self.reads = Reads::default();
        (self.cpu, self.dollars) = (0.0, 0.0);
        self
    }
}

/// Whether a search filter (`srchFilter`) hides events from the searches of a user, so that readers see
/// [`Inspection::without_hidden`].
pub(crate) fn hides_events(rights: &Rights) -> bool {
    rights.limits().filter.is_some()
}

/// Whether the same holds for the audit records of these searches: the user may search the audit trail.
pub(crate) fn hides_in_audit(rights: &Rights) -> bool {
    let audit = IndexName::new(IndexName::AUDIT);
    hides_events(rights) && audit.is_ok_and(|audit| rights.may_search(&audit))
}

/// A static name as a type of its own: a reference would be deserialized from the text.
type Name = &'static str;

/// A phase of a search.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PhaseReport {
    /// Name of the phase.
    #[serde(deserialize_with = "phase_name")]
    pub name: Name,
    /// Duration in seconds, summed over parallel partitions.
    pub seconds: f64,
    /// Number of executions: per bucket, per batch, or one.
    pub invocations: u64,
    /// Number of input rows, if the phase processes rows.
    pub rows_in: Option<u64>,
    /// Number of output rows.
    pub rows_out: Option<u64>,
}

/// Operators whose times are reported as phases: the phase and the name of the operator.
const OPERATORS: [(&str, &str); 2] = [("aggregate", "AggregateExec"), ("sort", "SortExec")];

/// Deserializes the name of a phase; names that this version does not know become `other`.
fn phase_name<'de, D: Deserializer<'de>>(read: D) -> Result<Name, D::Error> {
    let name = String::deserialize(read)?;
    let phases = Phase::READING.into_iter().chain([Phase::Finalize]).map(Phase::name);
    let mut known = phases.chain(OPERATORS.map(|(name, _)| name));
    Ok(known.find(|known| *known == name).unwrap_or("other"))
}

/// Returns the phases, with those of the engine's operators last.
fn phases(
    times: &PhaseTimes,
    counts: &ScanCounts,
    plans: &[OperatorReport],
    results: Option<usize>,
) -> Vec<PhaseReport> {
    let mut phases: Vec<PhaseReport> = Phase::READING
        .into_iter()
        .map(|phase| {
            let (time, invocations) = times.of(phase);
            let rows = match phase {
                Phase::Read | Phase::Decode => (None, Some(counts.events_scanned)),
                Phase::Filter => (Some(counts.events_scanned), Some(counts.events_matched)),
                _ => (None, None),
            };
            let (rows_in, rows_out) = rows;
            let (name, seconds) = (phase.name(), time.as_secs_f64());
            PhaseReport { name, seconds, invocations, rows_in, rows_out }
        })
        .collect();
    for (name, operator) in OPERATORS {
        let seconds = plans.iter().map(|plan| plan.seconds_of(operator)).sum();
        let used = plans.iter().any(|plan| plan.has(operator));
        let phase = PhaseReport { name, seconds, invocations: 1, rows_in: None, rows_out: None };
        phases.extend(used.then_some(phase));
    }
    let (time, invocations) = times.of(Phase::Finalize);
    phases.push(PhaseReport {
        name: Phase::Finalize.name(),
        seconds: time.as_secs_f64(),
        invocations,
        rows_in: None,
        rows_out: results.map(|rows| rows as u64),
    });
    phases
}

/// Describes which results were computed without reading events.
fn answered_from(counts: &ScanCounts) -> Vec<String> {
    let mut parts = Vec::new();
    if counts.buckets_counted > 0 {
        parts.push(format!(
            "answered from summaries: {} of {} buckets",
            counts.buckets_counted, counts.buckets_to_search
        ));
    }
    if counts.granules_counted > 0 {
        parts.push(format!(
            "answered from the term index: {} of {} granules",
            counts.granules_counted, counts.granules_considered
        ));
    }
    parts
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_readers_see_is_the_same_whatever_hidden_events_contain() {
        let plan = OperatorReport {
            name: "AggregateExec".to_owned(),
            rows: Some(9),
            ..OperatorReport::default()
        };
        let read = ScanReport::default();
        read.times.add(Phase::Decode, Duration::from_secs(7));
        read.times.add(Phase::Filter, Duration::from_secs(7));
        read.times.end();
        read.granules_read.store(3, std::sync::atomic::Ordering::Relaxed);
        read.events_scanned.store(9, std::sync::atomic::Ordering::Relaxed);
        read.pruned_by("[ AND hidden ]".to_owned());
        let of = |report: &ScanReport, plans: &[OperatorReport]| Inspection {
            cpu: 3.5,
            plans: plans.to_vec(),
            part_plans: plans
                .iter()
                .map(|plan| PartPlan { indexer: "one".to_owned(), plan: plan.clone() })
                .collect(),
            ..Inspection::of(report, Duration::ZERO, plans, Some(0), 0.0004)
        };
        let shown = |report: &ScanReport, plans: &[OperatorReport]| {
            serde_json::to_string(&of(report, plans).without_hidden()).unwrap()
        };
        let all = serde_json::to_string(&of(&read, std::slice::from_ref(&plan))).unwrap();
        assert!(all.contains("\"rows\":9") && all.contains("\"granules_read\":3"), "{all}");
        assert_eq!(shown(&read, &[plan]), shown(&ScanReport::default(), &[]));
    }

    #[test]
    fn audit_records_are_reduced_for_users_who_may_search_them() {
        let rights = |indexes: &str, filter: Option<&str>| {
            let reach = serde_json::json!({
                "user": "ann", "indexes": [indexes], "scope": null, "filter": filter,
            });
            Rights::of_reach(&serde_json::from_value(reach).unwrap())
        };
        assert!(hides_in_audit(&rights("_*", Some("(host=a)"))));
        assert!(!hides_in_audit(&rights("*", Some("(host=a)"))));
        assert!(!hides_in_audit(&rights("_*", None)));
    }
}
