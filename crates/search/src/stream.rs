//! Results as they come, for exports: pages of rows handed over while the search runs, none kept.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::array::RecordBatch;
use plan::{OutputColumn, PlanningTime, Subsearches, Waiting};

use crate::control::ScanControl;
use crate::handover;
use crate::jobs::{JobRequest, Page, Results};
use crate::quarantine::Quarantined;
use crate::render::Renderer;
use crate::report::ScanReport;
use crate::service::search_error;
use crate::{Error, SearchService};

/// Pages in flight between the search and a slow reader; the search waits beyond that.
const PAGES_IN_FLIGHT: usize = 4;

impl SearchService {
    /// Runs a search and streams all of its rows. Dropping the receiver ends the search.
    ///
    /// # Errors
    /// Mistakes in the search, before the first page; what happens later comes through the stream.
    pub async fn export(&self, request: JobRequest) -> Result<Export, Error> {
        let running = self.admit(&request.rights)?;
        let planning = PlanningTime::new(self.settings().plan.plan_time);
        let control = Arc::new(ScanControl::planned_within(planning));
        let report: Arc<ScanReport> = Arc::default();
        let session = self.session().clone();
        let run = Subsearches::Run(&session);
        let planned = self.plan(&request, &control, &report, run).await?;
        let (pages, receiver) = handover::channel(PAGES_IN_FLIGHT);
        let waiting = control.planning().waited_for();
        let service = self.clone();
        self.runtime().spawn(async move {
            let mut send = |columns: &[OutputColumn], batch: RecordBatch| {
                let results = Results {
                    kind: planned.kind,
                    columns: columns.to_vec(),
                    filter: planned.hidden_fields.clone(),
                    batches: vec![batch],
                    knowledge: service.knowledge_of(&request),
                    renderer: Renderer::new(request.timezone.clone()),
                };
                let page = results.page(0, usize::MAX);
                // The engine hands rows over in a plain call; waiting here for a slow reader must
                // not hold up other searches of this thread.
                let sent = tokio::task::block_in_place(|| pages.blocking_send(Some(Ok(page))));
                if sent.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            };
            let stages = planned.rest.is_some();
            let work = async {
                let granted = service.grant(&planned.plan, stages, control.planning()).await?;
                let done = plan::execute(&planned, &granted.session, &mut send).await;
                done.map(drop).map_err(|error| search_error(&error, &request.search))
            };
            // A search may have no rows to hand over for long: a reader who leaves is noticed meanwhile.
            let done = tokio::select! {
                done = work => done,
                () = pages.closed() => Ok(()),
            };
            // A reader who has left hears nothing.
            let _ = pages.send(done.err().map(Err)).await;
            drop(running);
        });
        Ok(Export { pages: receiver, report, _waiting: waiting })
    }
}

/// The rows of a search as they come.
#[derive(Debug)]
pub struct Export {
    pages: handover::Receiver<Page>,
    report: Arc<ScanReport>,
    /// Ends planning when the reader leaves.
    _waiting: Waiting,
}

impl Export {
    /// The next rows; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Page, Error>> {
        self.pages.next().await
    }

    /// What is missing from the rows; known when they are all there.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.report.left_out().iter().map(Quarantined::message).collect()
    }
}
