//! Plans the fields that the configuration adds to displayed events, for the source types of a result.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::RecordBatch;
use knowledge::Knowledge;
use model::TimeRange;
use plan::{
    EmptySource, Limits, OutputColumn, PlanContext, PlanningTime, Restriction, ShownFields,
    ShownPlan,
};

use crate::engine::Engine;
use crate::hot_rows::HotRows;
use crate::jobs::{Job, JobRequest, Shown, sourcetypes};
use crate::recipes::Lookups;
use crate::report::ScanReport;
use crate::scan::present_in;
use crate::search_host::{SearchHost, namespace};

/// Plans the fields that the configuration adds to these events of a search; `None` if it adds none.
pub(crate) async fn fields_of(
    batches: &[RecordBatch],
    shown: &Shown,
    (engine, request): (&Arc<Engine>, &JobRequest),
    knowledge: &Arc<Knowledge>,
) -> Option<Arc<ShownFields>> {
    let sourcetypes = sourcetypes(batches);
    if let Some(fields) = shown.of(&sourcetypes) {
        return fields;
    }
    let context = context(engine, request, knowledge, &sourcetypes);
    let mut present = shown.is_wide().then(|| present_in(batches, knowledge));
    if let Some(fields) = present.as_ref().and_then(|found| shown.of_fields(&sourcetypes, found)) {
        return fields;
    }
    let session = &engine.session;
    let mut plan = plan::shown_fields(&context, session, present.as_ref()).await;
    if matches!(plan, Ok(ShownPlan::Wide)) {
        present = Some(present_in(batches, knowledge));
        plan = plan::shown_fields(&context, session, present.as_ref()).await;
    }
    let fields = match plan {
        Ok(ShownPlan::Fields(fields)) => Some(Arc::new(fields)),
        Ok(ShownPlan::Nothing | ShownPlan::Wide) => None,
        Err(error) => {
            let search = &request.search;
            tracing::warn!(search, %error, "events are shown without calculated fields");
            None
        }
    };
    shown.keep(sourcetypes, present, fields.clone());
    fields
}

/// Plans the same for the events of a job; `None` also if nothing but these columns is displayed.
pub(crate) async fn fields_of_job(
    columns: &[OutputColumn],
    batches: &[RecordBatch],
    job: &Job,
    engine: &Arc<Engine>,
) -> Option<Arc<ShownFields>> {
    if batches.is_empty() || !job.has_others(columns) {
        return None;
    }
    fields_of(batches, job.shown(), (engine, job.request()), job.knowledge()).await
}

/// Returns the planning context for these fields: the knowledge objects and lookups of the search, without
/// events.
fn context(
    engine: &Arc<Engine>,
    request: &JobRequest,
    knowledge: &Arc<Knowledge>,
    sourcetypes: &HashSet<String>,
) -> PlanContext {
    let report: Arc<ScanReport> = Arc::default();
    let hot = HotRows::new(Arc::clone(&engine.deps.hot), engine.deps.catalog.clone(), report);
    let sid = request.sid.clone().unwrap_or_default();
    let apps = engine.apps_of(request);
    let host = SearchHost {
        engine: Arc::clone(engine),
        hot: Arc::new(hot),
        namespace: namespace(request),
        apps: apps.clone(),
        files: apps.files(),
        rights: Arc::clone(&request.rights),
        read_only: true,
        sid: sid.clone(),
        search: request.search.clone(),
        lookups: Lookups::default(),
    };
    let settings = engine.settings();
    PlanContext {
        source: Arc::new(EmptySource::default().with_sourcetypes(sourcetypes.clone())),
        host: Arc::new(host),
        knowledge: Arc::clone(knowledge),
        rules: apps.rules(),
        now: request.now.unwrap_or_else(|| engine.deps.clock.now()),
        timezone: request.timezone.clone(),
        range: TimeRange::ALL,
        index_range: TimeRange::ALL,
        default_indexes: Vec::new(),
        limits: Limits::clone(&settings.plan),
        restriction: Restriction::default(),
        sid,
        search_name: None,
        planning: PlanningTime::new(settings.plan.plan_time),
    }
}
