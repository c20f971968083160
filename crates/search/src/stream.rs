//! Streamed results for exports: pages of rows that are sent while the search runs and are not kept.

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use arrow::array::RecordBatch;
use model::{EventTime, IndexName, TimeRange};
use plan::{
    Message, MessageKind, MessageLog, OutputColumn, PlannedSearch, PlanningTime, ResultKind,
    Subsearches, Waiting,
};
use tokio::runtime::Handle;

use crate::control::ScanControl;
use crate::handover;
use crate::inspect::{Inspection, hides_in_audit};
use crate::jobs::{JobRequest, KnownFields, Page, ResultRows, Results, Shown, have_raw};
use crate::memory::MemoryGrant;
use crate::panics::caught;
use crate::parts::{Head, Sharing};
use crate::render::Renderer;
use crate::report::{Outcome, ScanReport};
use crate::shown::fields_of;
use crate::times::Phase;
use crate::traced::Traced;
use crate::{Error, SearchService};

/// Maximum number of rows buffered until it is known which fields of a wildcard have values.
const HELD_ROWS: usize = 1_000;

/// Maximum number of pages buffered for a slow reader; the search waits beyond that.
const PAGES_IN_FLIGHT: usize = 4;

/// Columns, and their rows.
type Table = (Vec<OutputColumn>, Vec<RecordBatch>);

/// How the rows of an export show times.
fn renderer_of(request: &JobRequest) -> Renderer {
    Renderer::new(request.timezone.clone()).with_times(request.output_time_format.as_deref())
}

impl SearchService {
    /// Starts a search and streams all of its rows. Above the limit of concurrent searches, it waits in the
    /// queue of the jobs before its first page. While its reader stands still, it has no turn. Dropping the
    /// receiver cancels the search, also in the queue.
    ///
    /// # Errors
    /// Mistakes in the search, quotas and a full queue, before the first page; what happens later comes
    /// through the stream.
    pub async fn export(&self, mut request: JobRequest) -> Result<Export, Error> {
        let running = self.admit_query(&request.rights)?;
        let (created, began) = (self.now(), Instant::now());
        let planning = PlanningTime::new(self.settings().plan.plan_time);
        let control = Arc::new(ScanControl::planned_within(planning));
        let report: Arc<ScanReport> = Arc::default();
        let session = self.session().clone();
        let run = Subsearches::Run(&session);
        let threads = self.assign_threads();
        let ends = self.ends(&control, &report);
        let traced = Traced::begin(self.tracer(), &request.trace, request.about("export"));
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
        let mut run = ExportRun::new(&planned, &report, (created, began), price);
        run.hides_in_audit = hides_in_audit(&request.rights);
        let waiting = control.planning().waited_for();
        let (service, knowledge) = (self.clone(), self.knowledge_of(&request));
        let (counted, shown) = (Arc::clone(&report), Shown::default());
        let is_report = planned.kind == ResultKind::Report;
        let (handle, cpu) = (threads.handle().clone(), report.cpu.clone());
        let sending = async move {
            let (mut is_first, mut count) = (true, 0);
            let mut send = |(columns, batches): Table, granted: &MemoryGrant| {
                // The engine calls this synchronously; rendering rows and waiting for a slow reader must not
                // block other searches on this thread.
                tokio::task::block_in_place(|| {
                    let results = Results {
                        only_raw: request.raw_only && !is_report && have_raw(&columns, &batches),
                        kind: planned.kind,
                        columns,
                        filter: planned.hidden_fields.clone(),
                        batches,
                        knowledge: Arc::clone(&knowledge),
                        renderer: renderer_of(&request),
                        known: KnownFields::default(),
                        shown: OnceLock::new(),
                    };
                    if results.has_others() {
                        let asked = (service.engine(), &request);
                        let fields = fields_of(&results.batches, &shown, asked, &knowledge);
                        let _ = results.shown.set(Handle::current().block_on(fields));
                    }
                    let rows = ResultRows::part(&Arc::new(results), 0, usize::MAX);
                    count += rows.len() as u64;
                    let first = std::mem::take(&mut is_first);
                    send_in_slices(&rows, first, &pages, granted)
                })
            };
            let mut held = Held::default();
            let work = caught(async {
                let queued = Instant::now();
                let granted = service.grant_turn(control.planning(), &running).await?;
                counted.times.add(Phase::Queue, queued.elapsed());
                let mut has_sent = false;
                let mut take = |columns: &[OutputColumn], batch| match held.add(columns, batch) {
                    Some(batches) => {
                        has_sent = true;
                        send((columns.to_vec(), batches), &granted)
                    }
                    None => ControlFlow::Continue(()),
                };
                let watch = head.map(Sharing);
                let watch = watch.as_ref().map(|watch| watch as &dyn plan::Watch);
                let session = &granted.session;
                let done = plan::execute_watched(&planned, session, watch, &mut take).await;
                let done = done.map_err(|error| Error::of_search(&error, &request.search))?;
                let left = held.left();
                // A report without rows sends its field names.
                if !left.is_empty() || (is_report && !has_sent) {
                    let _ = send((done.columns, left), &granted);
                }
                Ok(())
            });
            // A search may produce no rows for a long time, during which a disconnected reader must be
            // detected.
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
            // Sending fails if the reader has disconnected.
            let _ = pages.send(done.err().map(Err)).await;
            drop((running, threads));
        };
        handle.spawn(cpu.of(Box::pin(sending)));
        Ok(Export { pages: receiver, run, _waiting: waiting })
    }
}

/// Buffers the first rows of a search that has columns for fields that may have no values. Which fields have
/// values is known after enough rows, or after the last one.
#[derive(Default)]
struct Held {
    batches: Vec<RecordBatch>,
    rows: usize,
    released: bool,
}

impl Held {
    /// Adds rows and returns those that can be sent; `None` while more rows are needed.
    fn add(&mut self, columns: &[OutputColumn], batch: RecordBatch) -> Option<Vec<RecordBatch>> {
        self.rows += batch.num_rows();
        self.batches.push(batch);
        self.released |=
            self.rows > HELD_ROWS || !columns.iter().any(|column| column.possible && !column.named);
        self.released.then(|| self.left())
    }

    /// Returns the buffered rows.
    fn left(&mut self) -> Vec<RecordBatch> {
        std::mem::take(&mut self.batches)
    }
}

/// Sends rows slice by slice. Blocks the thread.
fn send_in_slices(
    rows: &ResultRows,
    mut first: bool,
    pages: &handover::Sender<Page>,
    granted: &MemoryGrant,
) -> ControlFlow<()> {
    let runtime = Handle::current();
    let send = |page| {
        let sent = handover::send(pages, Ok(page), || granted.give_up_turn());
        match runtime.block_on(sent) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    };
    if rows.is_empty() {
        // Without rows, the field names are still a result.
        return send(rows.page());
    }
    for slice in rows.slices() {
        let mut page = slice.page();
        // The first page names the fields of all slices, because the header of a table is written from it.
        if std::mem::take(&mut first) && slice.len() < rows.len() {
            page.fields = rows.fields();
            page.rows.iter_mut().for_each(|row| row.resize(page.fields.len(), None));
        }
        send(page)?;
    }
    ControlFlow::Continue(())
}

/// The stream of the rows of a search.
#[derive(Debug)]
pub struct Export {
    pages: handover::Receiver<Page>,
    run: ExportRun,
    /// Cancels planning when the reader disconnects.
    _waiting: Waiting,
}

impl Export {
    /// Returns the next rows; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Page, Error>> {
        self.pages.next().await
    }

    /// Returns information about the search besides its rows.
    #[must_use]
    pub fn run(&self) -> &ExportRun {
        &self.run
    }
}

/// Information about an export besides its rows; complete after the last row. Clones refer to the same
/// search.
#[derive(Debug, Clone)]
pub struct ExportRun {
    report: Arc<ScanReport>,
    log: MessageLog,
    /// Messages of planning.
    understood: Vec<Message>,
    range: TimeRange,
    indexes: Vec<IndexName>,
    finds_events: bool,
    created: EventTime,
    began: Instant,
    s3_price_get_per_1000: f64,
    hides_in_audit: bool,
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
            indexes: planned.indexes.clone(),
            finds_events: planned.kind == ResultKind::Events,
            created,
            began,
            s3_price_get_per_1000,
            hides_in_audit: false,
        }
    }

    /// Returns the time range of the events that the search reads.
    #[must_use]
    pub fn range(&self) -> TimeRange {
        self.range
    }

    /// Returns the indexes that are read, as planned, without those of subsearches.
    #[must_use]
    pub fn indexes(&self) -> &[IndexName] {
        &self.indexes
    }

    /// Returns the time of the request.
    #[must_use]
    pub fn created(&self) -> EventTime {
        self.created
    }

    /// Whether the rows are events rather than computed ones.
    #[must_use]
    pub fn finds_events(&self) -> bool {
        self.finds_events
    }

    /// Returns the inspector's report for the audit trail, without plans: with all counts, unless the user
    /// has a search filter and may read the audit trail.
    #[must_use]
    pub fn recorded(&self) -> Inspection {
        let price = self.s3_price_get_per_1000;
        let measured = Inspection::of(&self.report, self.began.elapsed(), &[], None, price);
        if self.hides_in_audit { measured.without_hidden() } else { measured }
    }

    /// Returns messages about data missing from the rows.
    #[must_use]
    pub fn incomplete(&self) -> Vec<String> {
        self.report.incomplete()
    }

    /// Returns all messages for the user, including those about missing data.
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
