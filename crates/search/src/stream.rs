//! Results as they come, for exports: pages of rows handed over while the search runs, none kept.

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use arrow::array::RecordBatch;
use model::{EventTime, TimeRange};
use plan::{
    Message, MessageKind, MessageLog, OutputColumn, PlannedSearch, PlanningTime, ResultKind,
    Subsearches, Waiting,
};
use tokio::runtime::Handle;

use crate::control::ScanControl;
use crate::handover;
use crate::inspect::Inspection;
use crate::jobs::{JobRequest, KnownFields, Page, ResultRows, Results, Shown};
use crate::parts::{Head, Sharing};
use crate::render::Renderer;
use crate::report::{Outcome, ScanReport};
use crate::shown::fields_of;
use crate::times::Phase;
use crate::traced::Traced;
use crate::{Error, SearchService};

/// Rows that are held back until it is known which fields of a wildcard they have.
const HELD_ROWS: usize = 1_000;

/// Pages in flight between the search and a slow reader; the search waits beyond that.
const PAGES_IN_FLIGHT: usize = 4;

impl SearchService {
    /// Runs a search and streams all of its rows. Dropping the receiver ends the search.
    ///
    /// # Errors
    /// Mistakes in the search, before the first page; what happens later comes through the stream.
    pub async fn export(&self, mut request: JobRequest) -> Result<Export, Error> {
        let running = self.admit(&request.rights)?;
        let (created, began) = (self.now(), Instant::now());
        let planning = PlanningTime::new(self.settings().plan.plan_time);
        let control = Arc::new(ScanControl::planned_within(planning));
        let report: Arc<ScanReport> = Arc::default();
        let session = self.session().clone();
        let run = Subsearches::Run(&session);
        let threads = self.assign_threads();
        let ends = self.ends(&control, &report);
        let traced =
            Traced::begin(&self.dependencies().tracer, &request.trace, request.about("export"));
        let planned = self.plan_traced(&mut request, &traced, &ends, run, &threads).await?;
        report.times.add(Phase::Plan, began.elapsed());
        let head = ends.recording.map(|recording| Head {
            engine: Arc::clone(self.engine()),
            recording,
            control: Arc::clone(&control),
            report: Arc::clone(&report),
            log: planned.log().clone(),
            text: planned.normalized.clone(),
            events: None,
            trace: traced.context().clone(),
        });
        let (pages, receiver) = handover::channel(PAGES_IN_FLIGHT);
        let price = self.settings().s3_price_get_per_1000;
        let run = ExportRun::new(&planned, &report, (created, began), price);
        let waiting = control.planning().waited_for();
        let (service, counted) = (self.clone(), Arc::clone(&report));
        let knowledge = self.knowledge_of(&request);
        let shown = Shown::default();
        let is_report = planned.kind == ResultKind::Report;
        let (handle, cpu) = (threads.handle().clone(), report.cpu.clone());
        let sending = async move {
            let (mut is_first, mut count) = (true, 0);
            let mut send = |columns: Vec<OutputColumn>, batches: Vec<RecordBatch>| {
                // The engine hands rows over in a plain call; writing them and waiting here for a slow
                // reader must not hold up other searches of this thread.
                tokio::task::block_in_place(|| {
                    let engine = service.engine();
                    let fields = (planned.kind == ResultKind::Events).then(|| {
                        let fields = fields_of(&batches, &shown, (engine, &request), &knowledge);
                        Handle::current().block_on(fields)
                    });
                    let results = Results {
                        kind: planned.kind,
                        columns,
                        filter: planned.hidden_fields.clone(),
                        batches,
                        knowledge: Arc::clone(&knowledge),
                        renderer: Renderer::new(request.timezone.clone()),
                        known: KnownFields::default(),
                        shown: OnceLock::from(fields.flatten()),
                    };
                    let rows = ResultRows::part(&Arc::new(results), 0, usize::MAX);
                    count += rows.len() as u64;
                    let first = std::mem::take(&mut is_first);
                    send_in_slices(&rows, first, &pages)
                })
            };
            let mut held = Held::default();
            let work = async {
                let queued = Instant::now();
                let granted = service.grant(control.planning()).await?;
                counted.times.add(Phase::Queue, queued.elapsed());
                let mut has_sent = false;
                let mut take = |columns: &[OutputColumn], batch| match held.add(columns, batch) {
                    Some(batches) => {
                        has_sent = true;
                        send(columns.to_vec(), batches)
                    }
                    None => ControlFlow::Continue(()),
                };
                let watch = head.map(Sharing);
                let watch = watch.as_ref().map(|watch| watch as &dyn plan::Watch);
                let session = &granted.session;
                let done = plan::execute_watched(&planned, session, watch, &mut take).await;
                let done = done.map_err(|error| Error::of_search(&error, &request.search))?;
                let left = held.left();
                // Of a report without rows, the fields are sent.
                if !left.is_empty() || (is_report && !has_sent) {
                    let _ = send(done.columns, left);
                }
                Ok(())
            };
            // A search may have no rows to hand over for long: a reader who leaves is noticed meanwhile.
            let done = tokio::select! {
                done = work => done,
                () = pages.closed() => Ok(()),
            };
            let outcome = match done {
                Err(_) => Outcome::Failed,
                Ok(()) if pages.is_closed() => Outcome::Cancelled,
                Ok(()) => Outcome::Done,
            };
            counted.times.end();
            service.engine().ended.count(&counted, outcome, None);
            traced.end(outcome, done.as_ref().err(), &counted, Some(count));
            // A reader who has left hears nothing.
            let _ = pages.send(done.err().map(Err)).await;
            drop((running, threads));
        };
        handle.spawn(cpu.of(Box::pin(sending)));
        Ok(Export { pages: receiver, run, _waiting: waiting })
    }
}

/// The first rows of a search that has columns for fields that no row may have: which fields the rows have is
/// known once there are enough of them, or once they are all there.
#[derive(Default)]
struct Held {
    batches: Vec<RecordBatch>,
    rows: usize,
    released: bool,
}

impl Held {
    /// The rows that can be handed over; none while more have to be seen.
    fn add(&mut self, columns: &[OutputColumn], batch: RecordBatch) -> Option<Vec<RecordBatch>> {
        self.rows += batch.num_rows();
        self.batches.push(batch);
        self.released |=
            self.rows > HELD_ROWS || !columns.iter().any(|column| column.possible && !column.named);
        self.released.then(|| self.left())
    }

    /// What is held.
    fn left(&mut self) -> Vec<RecordBatch> {
        std::mem::take(&mut self.batches)
    }
}

/// Hands rows over a slice at a time.
fn send_in_slices(
    rows: &ResultRows,
    mut first: bool,
    pages: &handover::Sender<Page>,
) -> ControlFlow<()> {
    let send = |page| match pages.blocking_send(Some(Ok(page))) {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    };
    if rows.is_empty() {
        // The fields of no rows are an answer, too.
        return send(rows.page());
    }
    for slice in rows.slices() {
        let mut page = slice.page();
        // The first page names the fields of all slices: the header of a table is made from it.
        if std::mem::take(&mut first) && slice.len() < rows.len() {
            page.fields = rows.fields();
            page.rows.iter_mut().for_each(|row| row.resize(page.fields.len(), None));
        }
        send(page)?;
    }
    ControlFlow::Continue(())
}

/// The rows of a search as they come.
#[derive(Debug)]
pub struct Export {
    pages: handover::Receiver<Page>,
    run: ExportRun,
    /// Ends planning when the reader leaves.
    _waiting: Waiting,
}

impl Export {
    /// The next rows; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Page, Error>> {
        self.pages.next().await
    }

    /// What is known of the search apart from its rows.
    #[must_use]
    pub fn run(&self) -> &ExportRun {
        &self.run
    }
}

/// What is known of an export apart from its rows; complete when these are all there. Clones are of the same
/// search.
#[derive(Debug, Clone)]
pub struct ExportRun {
    report: Arc<ScanReport>,
    log: MessageLog,
    /// What was known before the search ran.
    understood: Vec<Message>,
    range: TimeRange,
    finds_events: bool,
    created: EventTime,
    began: Instant,
    s3_price_get_per_1000: f64,
}

impl ExportRun {
    fn new(
        planned: &PlannedSearch,
        report: &Arc<ScanReport>,
        (created, began): (EventTime, Instant),
        s3_price_get_per_1000: f64,
    ) -> Self {
        Self {
            report: Arc::clone(report),
            log: planned.log().clone(),
            understood: planned.messages.clone(),
            range: planned.range,
            finds_events: planned.kind == ResultKind::Events,
            created,
            began,
            s3_price_get_per_1000,
        }
    }

    /// The time range of the events that are read.
    #[must_use]
    pub fn range(&self) -> TimeRange {
        self.range
    }

    /// When it was asked for.
    #[must_use]
    pub fn created(&self) -> EventTime {
        self.created
    }

    /// Whether the rows are events rather than computed ones.
    #[must_use]
    pub fn finds_events(&self) -> bool {
        self.finds_events
    }

    /// How it runs, without the operators of its plans.
    #[must_use]
    pub fn inspect(&self) -> Inspection {
        let price = self.s3_price_get_per_1000;
        Inspection::of(&self.report, self.began.elapsed(), Vec::new(), None, price)
    }

    /// What is missing from the rows.
    #[must_use]
    pub fn incomplete(&self) -> Vec<String> {
        self.report.incomplete()
    }

    /// All that the reader should know, what is missing included.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let told = self.understood.iter().cloned().chain(self.log.all());
        let told = told.filter(|message| message.kind == MessageKind::Warning);
        let mut warnings: Vec<String> = Vec::new();
        let all = told.map(|message| message.text).chain(self.report.warnings());
        for text in all.chain(self.report.incomplete()) {
            if !warnings.contains(&text) {
                warnings.push(text);
            }
        }
        warnings
    }
}
