//! Measurements of a job: scans, phases, operators, memory, cost.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use datafusion::execution::memory_pool::MemoryPool;
use datafusion::physical_plan::ExecutionPlan;

use crate::ended::Ended;
use crate::inspect::Inspection;
use crate::operators::{OperatorReport, PartPlan};
use crate::report::{Outcome, ScanCounts, ScanReport};
use crate::timeline::Timeline;
use crate::times::{Phase, Published};

#[derive(Debug)]
pub(super) struct Instruments {
    report: Arc<ScanReport>,
    ended: Arc<Ended>,
    /// Time when it was queued.
    queued: Instant,
    /// The memory pool for its sorts and groups.
    memory: Published<Option<Arc<dyn MemoryPool>>>,
    /// The running plans, until the end.
    plans: Published<Vec<Arc<dyn ExecutionPlan>>>,
    /// Reports of the operators, available from the end on.
    operators: OnceLock<Vec<OperatorReport>>,
    s3_price_get_per_1000: f64,
    /// Stored measurements, if the job was read from object storage.
    restored: Option<Restored>,
}

/// The measurements of a stored job.
#[derive(Debug)]
pub(super) struct Restored {
    /// The inspector's report without plans.
    pub(super) inspection: Inspection,
    pub(super) plans: Vec<OperatorReport>,
    pub(super) part_plans: Vec<PartPlan>,
    pub(super) timeline: Option<Timeline>,
    pub(super) is_incomplete: bool,
}

impl Instruments {
    pub(super) fn new(
        report: Arc<ScanReport>,
        ended: Arc<Ended>,
        s3_price_get_per_1000: f64,
    ) -> Self {
        Self {
            report,
            ended,
            queued: Instant::now(),
            memory: Published::default(),
            plans: Published::default(),
            operators: OnceLock::new(),
            s3_price_get_per_1000,
            restored: None,
        }
    }

    /// Restores the measurements of a stored job.
    pub(super) fn restored(restored: Restored, ended: Arc<Ended>) -> Self {
        let price = restored.inspection.s3_price_get_per_1000;
        Self { restored: Some(restored), ..Self::new(Arc::default(), ended, price) }
    }

    pub(super) fn counts(&self) -> ScanCounts {
        match &self.restored {
            Some(restored) => restored.inspection.scan.clone(),
            None => self.report.counts(),
        }
    }

    pub(super) fn bundle_version(&self) -> Option<String> {
        match &self.restored {
            Some(restored) => restored.inspection.bundle_version.clone(),
            None => self.report.bundle_version(),
        }
    }

    pub(super) fn timeline(&self) -> Option<Timeline> {
        match &self.restored {
            Some(restored) => restored.timeline.clone(),
            None => self.report.timeline(),
        }
    }

    pub(super) fn is_incomplete(&self) -> bool {
        match &self.restored {
            Some(restored) => restored.is_incomplete,
            None => self.report.is_incomplete(),
        }
    }

    pub(super) fn report(&self) -> &Arc<ScanReport> {
        &self.report
    }

    pub(super) fn reserved_bytes(&self) -> usize {
        self.memory.now().map_or(0, |memory| memory.reserved())
    }

    /// Returns why the job is queued; `None` in the first moments, because every job is queued briefly.
    pub(super) fn why_queued(&self) -> Option<String> {
        const MOMENT: Duration = Duration::from_millis(500);
        (self.queued.elapsed() >= MOMENT).then(|| {
            "waiting for other searches to end: limits.conf [search] limits how many run at a time \
             (base_max_searches, max_searches_per_cpu) and their memory (total_mem_usage_mb)"
                .to_owned()
        })
    }

    pub(super) fn leaves_queue(&self) {
        self.report.times.add(Phase::Queue, self.queued.elapsed());
    }

    /// Publishes the memory pool.
    pub(super) fn holds(&self, memory: &Arc<dyn MemoryPool>) {
        self.memory.change(|known| *known = Some(Arc::clone(memory)));
    }

    /// Publishes a plan that is about to run.
    pub(super) fn runs(&self, plan: &Arc<dyn ExecutionPlan>) {
        self.plans.change(|plans| plans.push(Arc::clone(plan)));
    }

    /// Returns the inspector's report without plans. They may be large, and are not copied for it.
    pub(super) fn summary(
        &self,
        run_duration: Duration,
        results: Option<usize>,
        previews: u64,
    ) -> Inspection {
        if let Some(restored) = &self.restored {
            return restored.inspection.clone();
        }
        let of = |plans: &[OperatorReport]| {
            let price = self.s3_price_get_per_1000;
            Inspection::of(&self.report, run_duration, plans, results, price)
        };
        let inspection = match self.operators.get() {
            Some(plans) => of(plans),
            None => of(&self.running()),
        };
        Inspection { previews, ..inspection }
    }

    /// Returns the plans of this process, and those of parts in other processes.
    pub(super) fn plans(&self) -> (Vec<OperatorReport>, Vec<PartPlan>) {
        match &self.restored {
            Some(restored) => (restored.plans.clone(), restored.part_plans.clone()),
            None => {
                let own = self.operators.get().cloned();
                (own.unwrap_or_else(|| self.running()), self.report.part_plans())
            }
        }
    }

    fn running(&self) -> Vec<OperatorReport> {
        self.plans.now().iter().map(OperatorReport::of).collect()
    }

    /// Ends the measurements.
    pub(super) fn end(&self, outcome: Outcome, ran: Duration) {
        self.report.times.end();
        self.ended.count(&self.report, outcome, Some(ran));
        // Plans keep the memory of their operators alive; the reports contain all that is needed later.
        let plans = self.plans.change(std::mem::take);
        let _ = self.operators.set(plans.iter().map(OperatorReport::of).collect());
    }
}
