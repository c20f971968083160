//! The fields that the configuration adds to events which somebody looks at, planned for the source types that
//! a result has.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use knowledge::Knowledge;
use model::{TimeRange, columns};
use parking_lot::Mutex;
use plan::{Limits, PlanContext, PlanningTime, Restriction, ShownFields};

use crate::engine::Engine;
use crate::hot_rows::HotRows;
use crate::jobs::JobRequest;
use crate::recipes::Lookups;
use crate::report::ScanReport;
use crate::service::namespace;
use crate::surroundings::Around;

/// What is added to the events of a search, as far as it is known.
#[derive(Debug, Default)]
pub(crate) struct Shown(Mutex<Known>);

/// Some source types, and what is added to their events.
type Known = Option<(HashSet<String>, Option<Arc<ShownFields>>)>;

impl Shown {
    /// What is added to these events of the search of a request; `None` if that is nothing.
    pub(crate) async fn of(
        &self,
        batches: &[RecordBatch],
        engine: &Arc<Engine>,
        request: &JobRequest,
        knowledge: &Arc<Knowledge>,
    ) -> Option<Arc<ShownFields>> {
        let mut sourcetypes = sourcetypes(batches);
        if let Some((known, fields)) = &*self.0.lock() {
            if sourcetypes.is_subset(known) {
                return fields.clone();
            }
            sourcetypes.extend(known.iter().cloned());
        }
        let context = context(engine, request, knowledge);
        let fields = plan::shown_fields(&context, &engine.session, sourcetypes.clone()).await;
        let fields = fields.unwrap_or_else(|error| {
            tracing::warn!(search = request.search, %error, "events are shown without calculated fields");
            None
        });
        let fields = fields.map(Arc::new);
        *self.0.lock() = Some((sourcetypes, fields.clone()));
        fields
    }
}

/// The source types of events.
fn sourcetypes(batches: &[RecordBatch]) -> HashSet<String> {
    let mut found = HashSet::new();
    for batch in batches {
        let column = batch.column_by_name(columns::SOURCETYPE);
        let Some(names) = column.and_then(|column| column.as_string_view_opt()) else { continue };
        let mut last = None;
        for name in names.iter().flatten().filter(|name| last.replace(*name) != Some(*name)) {
            if !found.contains(name) {
                found.insert(name.to_owned());
            }
        }
    }
    found
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
