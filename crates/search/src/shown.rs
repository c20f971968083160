//! Plans the fields that the configuration adds to events which somebody looks at, for the source types that
//! a result has.

use std::sync::Arc;

use arrow::array::RecordBatch;
use knowledge::Knowledge;
use model::TimeRange;
use plan::{Limits, PlanContext, PlanningTime, Restriction, ShownFields};

use crate::engine::Engine;
use crate::hot_rows::HotRows;
use crate::jobs::{Job, JobRequest, Planned, Shown};
use crate::recipes::Lookups;
use crate::report::ScanReport;
use crate::surroundings::{Around, namespace};

/// What is added to these events of the search of a request; `None` if that is nothing.
pub(crate) async fn fields_of(
    batches: &[RecordBatch],
    shown: &Shown,
    (engine, request): (&Arc<Engine>, &JobRequest),
    knowledge: &Arc<Knowledge>,
) -> Option<Arc<ShownFields>> {
    let sourcetypes = match shown.of(batches) {
        Planned::Known(fields) => return fields,
        Planned::For(sourcetypes) => sourcetypes,
    };
    let context = context(engine, request, knowledge);
    let fields = plan::shown_fields(&context, &engine.session, sourcetypes.clone()).await;
    let fields = fields.unwrap_or_else(|error| {
        tracing::warn!(search = request.search, %error, "events are shown without calculated fields");
        None
    });
    let fields = fields.map(Arc::new);
    shown.keep(sourcetypes, fields.clone());
    fields
}

/// The same for the events of a job.
pub(crate) async fn fields_of_job(
    batches: &[RecordBatch],
    job: &Job,
    engine: &Arc<Engine>,
) -> Option<Arc<ShownFields>> {
    if !job.finds_events() || batches.is_empty() {
        return None;
    }
    fields_of(batches, job.shown(), (engine, job.request()), job.knowledge()).await
}

/// What the fields are planned against: the objects of the search and its lookups, and no events.
fn context(engine: &Arc<Engine>, request: &JobRequest, knowledge: &Arc<Knowledge>) -> PlanContext {
    let report: Arc<ScanReport> = Arc::default();
    let hot = HotRows::new(Arc::clone(&engine.deps.hot), engine.deps.catalog.clone(), report);
    let sid = request.sid.clone().unwrap_or_default();
    let host = Around {
        engine: Arc::clone(engine),
        hot: Arc::new(hot),
        namespace: namespace(request),
        rights: Arc::clone(&request.rights),
        read_only: true,
        sid: sid.clone(),
        search: request.search.clone(),
        lookups: Lookups::default(),
    };
    let plan = &engine.settings.plan;
    PlanContext {
        source: Arc::new(plan::EmptySource::default()),
        host: Arc::new(host),
        knowledge: Arc::clone(knowledge),
        now: request.now.unwrap_or_else(|| engine.deps.clock.now()),
        timezone: request.timezone.clone(),
        range: TimeRange::ALL,
        default_indexes: Vec::new(),
        limits: Limits::clone(plan),
        restriction: Restriction::default(),
        sid,
        planning: PlanningTime::new(plan.plan_time),
    }
}
