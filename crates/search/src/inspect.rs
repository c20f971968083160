//! The job inspector: the time, reads, pruning and cost of a search.

use std::time::Duration;

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

    /// Removes the number of events that were read and did not match. The rows of operators would tell it:
    /// those of a scan, and those of the filter above it.
    #[must_use]
    pub(crate) fn without_hidden(mut self) -> Self {
        self.scan = self.scan.without_hidden();
        let matched = self.scan.events_matched;
        // The output rows of the last phase are the results.
        let finalize = Phase::Finalize.name();
        for phase in self.phases.iter_mut().filter(|phase| phase.name != finalize) {
            phase.rows_in = phase.rows_in.map(|_| matched);
            phase.rows_out = phase.rows_out.map(|_| matched);
        }
        let of_parts = self.part_plans.iter_mut().map(|part| &mut part.plan);
        self.plans.iter_mut().chain(of_parts).for_each(OperatorReport::hide_rows);
        self
    }
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
    fn rows_of_operators_do_not_tell_how_many_events_are_hidden() {
        let operator = |name: &str, rows, inputs| OperatorReport {
            name: name.to_owned(),
            rows: Some(rows),
            inputs,
            ..OperatorReport::default()
        };
        let plan = operator("FilterExec", 2, vec![operator("BucketScanExec", 9, Vec::new())]);
        let all = Inspection {
            plans: vec![plan.clone()],
            part_plans: vec![PartPlan { indexer: "one".to_owned(), plan }],
            ..Inspection::of(&ScanReport::default(), Duration::ZERO, &[], None, 0.0)
        };
        assert!(serde_json::to_string(&all).unwrap().contains("\"rows\":9"));
        let shown = serde_json::to_string(&all.without_hidden()).unwrap();
        assert!(shown.contains("BucketScanExec") && !shown.contains("\"rows\":9"), "{shown}");
        assert!(!shown.contains("\"rows\":2"), "{shown}");
    }
}
