//! Plans that are not jobs, parts of which other processes run as well.

use std::sync::Arc;

use plan::{EventSource, PlanContext, PlannedSearch, Watch};
use runtime::trace::TraceContext;

use crate::SearchService;
use crate::control::ScanControl;
use crate::hot_facts::Planner;
use crate::jobs::JobRequest;
use crate::parts::{Head, Sharing};
use crate::recipes::{Recorded, Recording};
use crate::report::ScanReport;

/// The stored events for a planner that runs its own plans.
#[derive(Debug)]
pub struct SharedEvents {
    service: SearchService,
    source: Arc<dyn EventSource>,
    control: Arc<ScanControl>,
    report: Arc<ScanReport>,
    recording: Arc<Recording>,
}

/// The user of these searches.
const NOBODY: &str = "nobody";

impl SearchService {
    /// Returns the stored events for the plans of one search that is not a job.
    #[must_use]
    pub fn shared_events(&self) -> SharedEvents {
        let (control, report) = (Arc::<ScanControl>::default(), Arc::<ScanReport>::default());
        let knowledge = self.dependencies().apps.knowledge();
        let planner = Planner::of(&JobRequest::new("", NOBODY));
        let source = self.stored_events(&control, &report, knowledge, Some(planner));
        let recording: Arc<Recording> = Arc::default();
        let source = Arc::new(Recorded { source, recording: Arc::clone(&recording) });
        SharedEvents { service: self.clone(), source, control, report, recording }
    }
}

impl SharedEvents {
    /// Returns the planning context.
    #[must_use]
    pub fn source(&self) -> Arc<dyn EventSource> {
        Arc::clone(&self.source)
    }

    /// Distributes parts of a search that was planned in this context to other processes.
    #[must_use]
    pub fn watch(&self, planned: &PlannedSearch, context: &PlanContext) -> Box<dyn Watch> {
        let request = JobRequest::new(&planned.normalized, NOBODY);
        let knowledge = self.service.knowledge_of(&request);
        let rules = self.service.dependencies().apps.rules();
        let context = PlanContext { knowledge, rules, ..context.clone() };
        self.recording.note_search(&request, &context);
        Box::new(Sharing(Head {
            engine: Arc::clone(self.service.engine()),
            recording: Arc::clone(&self.recording),
            control: Arc::clone(&self.control),
            report: Arc::clone(&self.report),
            log: planned.log().clone(),
            text: planned.normalized.clone(),
            events: None,
            trace: TraceContext::default(),
        }))
    }
}
