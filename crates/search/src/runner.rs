//! The indexer's side: runs parts of the searches of search heads.

mod replay;

use std::sync::Arc;

use access::Rights;
use apps::{Apps, Namespace};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use bucket::HotBucket;
use bytes::Bytes;
use datafusion::error::{DataFusionError, Result as PlanResult};
use datafusion::physical_plan::ExecutionPlan;
use distributed::{CallContext, PartRunner, RunningPart, Valve, cut};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use metrics::counter;
use plan::{
    Host, LookupQuestion, LookupSource, MessageLog, PlanContext, PlanningTime, Restriction, Rows,
    Subsearches,
};
use runtime::metrics as names;
use runtime::trace::SpanKind;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use self::replay::Replayed;
use crate::control::ScanControl;
use crate::cpu;
use crate::hot_facts::Question;
use crate::memory::MemoryGrant;
use crate::operators::OperatorReport;
use crate::panics::caught;
use crate::parts::is_events;
use crate::preview::{self, PreviewState};
use crate::recipes::{Compared, HotShare, Inner, Lookups, Recipe, columns, fingerprint_with_rules};
use crate::report::ScanReport;
use crate::run::limited;
use crate::scan::Share;
use crate::search_host::SearchHost;
use crate::service::within;
use crate::threads::Assigned;
use crate::traced::{self, PartSpan};
use crate::{Error, SearchService};

/// Maximum number of batches buffered for the connection.
const WAITING: usize = 4;

/// A plan, and the state for its previews.
type Previewed = (Arc<dyn ExecutionPlan>, Option<Arc<PreviewState>>);

impl PartRunner for SearchService {
    fn describe<'a>(
        &'a self,
        question: Bytes,
        context: CallContext,
    ) -> BoxFuture<'a, Result<Bytes, String>> {
        Box::pin(async move {
            let (tracer, parent) = (&self.dependencies().tracer, traced::caller(&context));
            let mut span = tracer.of_kind("search.describe.run", SpanKind::Server, &parent);
            let question: Question = serde_json::from_slice(&question)
                .map_err(|error| format!("the question about hot rows: {error}"))?;
            let threads = self.assign_threads();
            let engine = Arc::clone(self.engine());
            let answering = async move { question.answered(&engine).await };
            let answer = within(&threads, Box::pin(answering)).await;
            let answer = answer.inspect_err(|error| span.fail(error));
            answer.map(Bytes::from).map_err(|error| error.to_string())
        })
    }

    fn warm(&self, hints: Bytes) -> usize {
        self.take_hints(&hints)
    }

    fn start<'a>(
        &'a self,
        recipe: Bytes,
        context: CallContext,
    ) -> BoxFuture<'a, Result<Box<dyn RunningPart>, String>> {
        Box::pin(async move {
            let mut span = PartSpan::begin(&self.dependencies().tracer, &context);
            let started = match serde_json::from_slice(&recipe) {
                Ok(recipe) => self.start_part(recipe, &mut span).await,
                Err(error) => Err(Error::Request(format!("the recipe of a part: {error}"))),
            };
            let outcome = if started.is_ok() { "started" } else { "refused" };
            counter!(names::PARTS_RUN, "outcome" => outcome).increment(1);
            match started {
                Ok(mut part) => {
                    part.span = span;
                    Ok(Box::new(part) as Box<dyn RunningPart>)
                }
                Err(error) => {
                    span.fail(&error);
                    Err(error.to_string())
                }
            }
        })
    }
}

impl SearchService {
    async fn start_part(&self, mut recipe: Recipe, span: &mut PartSpan) -> Result<Part, Error> {
        span.is_of(&recipe.search.sid, recipe.count());
        let plan_span = span.plan();
        let planning = PlanningTime::new(self.settings().plan.plan_time);
        let control = Arc::new(ScanControl::planned_within(planning));
        if recipe.counts_all {
            control.count_all();
        }
        control.want_previews(recipe.previews);
        let report = Arc::new(match recipe.timeline {
            true => ScanReport::with_timeline(),
            false => ScanReport::default(),
        });
        let waiting = control.planning().waited_for();
        let threads = self.assign_threads();
        let compared = Arc::new(Compared::new(std::mem::take(&mut recipe.answers.lookups)));
        let apps = self.engine().apps_at(recipe.search.bundle.as_deref()).await?;
        let context = self.context_of(&mut recipe, apps, (&control, &report), &compared)?;
        let memory = &self.engine().part_memory;
        let granted = memory.grant_turn(self.session(), control.planning()).await?;
        let session = granted.session.clone();
        let (text, inner) = (recipe.search.text.clone(), recipe.search.inner.take());
        let (branch, events) = (recipe.branch, recipe.events);
        let looked_up = std::mem::take(&mut recipe.answers.looked_up);
        let planned = async move {
            let planned = match &inner {
                None => plan::plan_search(&text, &context, Subsearches::Refuse).await,
                Some(Inner { tail }) => plan::plan_inner(&text, tail.as_deref(), &context).await,
            };
            let planned = planned.and_then(|planned| limited(planned, events));
            let of_search = |error: plan::Error| Error::of_search(&error, &text);
            let planned = planned.map_err(of_search)?;
            let planned = plan::plan_after(planned, &looked_up).await.map_err(of_search)?;
            let planned = if inner.is_some() { planned.without_formats() } else { planned };
            let plan = planned.physical_plan(&session).await.map_err(of_search)?;
            let map = branch_of(&plan, branch)?;
            Ok((map, session.task(&plan), planned.log().clone()))
        };
        let planned: cpu::Measured<Result<_, Error>> = report.cpu.of(Box::pin(planned));
        let planned = within(&threads, Box::pin(planned)).await;
        waiting.is_served();
        if let Some(what) = compared.differs() {
            return Err(Error::Unavailable(what));
        }
        let (map, task, log) = planned?;
        drop(plan_span);
        // With other columns, the rows would not fit the plan of the search head.
        if columns(&map.schema()) != recipe.columns {
            return Err(Error::Internal("this process plans the search differently".to_owned()));
        }
        let (map, kept) = self.with_previews(map, &control, recipe.previews)?;
        let (schema, plan) = (map.schema(), Arc::clone(&map));
        let (sender, rows) = mpsc::channel(WAITING);
        let mut running = JoinSet::new();
        let failed = sender.clone();
        let part = async move {
            let mut stream = match map.execute(0, task) {
                Ok(stream) => stream,
                Err(error) => return drop(sender.send(Err(error)).await),
            };
            while let Some(batch) = stream.next().await {
                let is_last = batch.is_err();
                if sender.send(batch).await.is_err() || is_last {
                    return;
                }
            }
            // The search head requests the cost after the last row.
            cpu::count_thread();
        };
        let part = async move {
            if let Err(error) = caught(part.map(Ok)).await {
                let _ = failed.send(Err(DataFusionError::Execution(error.to_string()))).await;
            }
        };
        running.spawn_on(report.cpu.of(Box::pin(part)), threads.handle());
        Ok(Part {
            rows,
            schema,
            plan,
            is_ended: false,
            control,
            report,
            log,
            compared,
            kept,
            span: PartSpan::default(),
            _running: running,
            _granted: granted,
            _threads: threads,
        })
    }

    /// Restores the planning context of the search head.
    fn context_of(
        &self,
        recipe: &mut Recipe,
        apps: Apps,
        (control, report): (&Arc<ScanControl>, &Arc<ScanReport>),
        compared: &Arc<Compared>,
    ) -> Result<PlanContext, Error> {
        let buckets = recipe.buckets();
        self.engine().hints.inbox.lock().note_own(buckets.iter().map(|bucket| bucket.id));
        let search = &recipe.search;
        let namespace = Namespace::new(&search.owner, &search.app);
        let (knowledge, files) = apps.view_with_files(&namespace, &search.hidden);
        let limits = self.settings().plan.clone();
        let rules = apps.rules();
        let own = fingerprint_with_rules(&knowledge, &rules, &limits);
        search.check(own).map_err(Error::Unavailable)?;
        let timezone = jiff::tz::TimeZone::get(&search.timezone);
        let timezone = timezone.map_err(|error| Error::Request(error.to_string()))?;
        let filter = search.filter.as_deref().map(Restriction::parse_filter).transpose();
        let filter = filter.map_err(|error| Error::Request(error.to_string()))?;
        let everywhere = apps.knowledge();
        let filter = filter.map(|filter| plan::excluding_renamed(&filter, &everywhere));
        let mut source = self.stored_events(control, report, Arc::clone(&knowledge), None);
        source.context.share = Some(Share { stored: buckets, hot: self.hot(recipe)? });
        source.context.allow_partial = recipe.allow_partial;
        let search_host = SearchHost {
            engine: Arc::clone(self.engine()),
            hot: Arc::clone(&source.context.hot),
            namespace,
            apps,
            files,
            rights: Arc::new(Rights::of_system(&search.owner)),
            read_only: true,
            sid: search.sid.clone(),
            search: search.text.clone(),
            lookups: Lookups::Compared(Arc::clone(compared)),
        };
        let host = PartHost {
            search_host,
            compared: Arc::clone(compared),
            server_name: search.server_name.clone(),
            read_only: search.read_only,
        };
        Ok(PlanContext {
            source: Arc::new(Replayed { answers: recipe.answers.clone(), context: source.context }),
            host: Arc::new(host),
            knowledge,
            rules,
            now: search.now,
            timezone,
            range: search.range,
            index_range: search.index_range,
            default_indexes: search.default_indexes.clone(),
            restriction: Restriction { filter, earliest: search.restricted, window: search.window },
            limits,
            sid: search.sid.clone(),
            search_name: None,
            planning: control.planning().clone(),
        })
    }

    /// Returns the hot buckets of the share. They stay in memory even if their view is closed.
    fn hot(&self, recipe: &Recipe) -> Result<Arc<[HotBucket]>, Error> {
        let Some(HotShare { view, buckets }) = &recipe.hot else { return Ok(Arc::default()) };
        let view = self.dependencies().views.get(*view);
        let view = view.ok_or_else(|| Error::Unavailable("the view is not open".to_owned()))?;
        let found: Arc<[HotBucket]> =
            view.iter().filter(|bucket| buckets.contains(&bucket.id)).cloned().collect();
        match found.len() == buckets.len() {
            true => Ok(found),
            false => Err(Error::Unavailable("the view lacks buckets of the share".to_owned())),
        }
    }

    fn with_previews(
        &self,
        map: Arc<dyn ExecutionPlan>,
        control: &Arc<ScanControl>,
        wanted: bool,
    ) -> Result<Previewed, Error> {
        let settings = self.settings();
        let limits = preview::Limits {
            slice: settings.preview_interval / 2,
            bytes: settings.preview_bytes.min(settings.search_memory_bytes),
        };
        let placed = match wanted {
            true => preview::place(&map, control, limits),
            false => Ok(None),
        };
        let placed = placed.map_err(|error| Error::Internal(error.to_string()))?;
        Ok(placed.map_or((map, None), |(map, kept)| (map, Some(kept))))
    }
}

/// Returns the branch of a plan with this number.
fn branch_of(
    plan: &Arc<dyn ExecutionPlan>,
    number: usize,
) -> Result<Arc<dyn ExecutionPlan>, Error> {
    let mut found = None;
    let done = cut(plan, &is_events, &mut |cut| {
        if cut.number == number {
            found = Some(Arc::clone(&cut.map));
        }
        Ok(cut.map)
    });
    done.map_err(|error| Error::Internal(error.to_string()))?;
    found.ok_or_else(|| {
        let text = format!("this process plans the search differently: it has no branch {number}");
        Error::Internal(text)
    })
}

/// A running part; see [`RunningPart`].
struct Part {
    rows: mpsc::Receiver<PlanResult<RecordBatch>>,
    schema: SchemaRef,
    plan: Arc<dyn ExecutionPlan>,
    /// Whether all rows have been passed on.
    is_ended: bool,
    control: Arc<ScanControl>,
    report: Arc<ScanReport>,
    log: MessageLog,
    compared: Arc<Compared>,
    /// The state for previews.
    kept: Option<Arc<PreviewState>>,
    span: PartSpan,
    _running: JoinSet<()>,
    _granted: MemoryGrant,
    _threads: Assigned,
}

impl Drop for Part {
    fn drop(&mut self) {
        self.span.end(&self.report);
    }
}

impl RunningPart for Part {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn next<'a>(&'a mut self) -> BoxFuture<'a, Option<PlanResult<RecordBatch>>> {
        Box::pin(async move {
            let batch = self.rows.recv().await;
            match &batch {
                Some(Ok(batch)) => self.span.add(batch.num_rows()),
                Some(Err(error)) => self.span.fail(error),
                None => {
                    self.span.done();
                    self.is_ended = true;
                }
            }
            // If a lookup differs or is missing here, its fields are left out, which is detected before rows
            // are sent.
            match self.compared.differs() {
                Some(what) => Some(Err(DataFusionError::Execution(what))),
                // Converted to the terms of a search here, because only the text is sent.
                None => batch.map(|batch| {
                    let said =
                        |error| DataFusionError::Execution(plan::Error::from(error).to_string());
                    batch.map_err(said)
                }),
            }
        })
    }

    fn set(&self, valve: Valve) {
        match valve {
            Valve::Open => self.control.resume(),
            Valve::Paused => self.control.pause(),
            Valve::Closed => self.control.close(),
        }
    }

    fn preview(&self) -> Option<Vec<RecordBatch>> {
        self.kept.as_ref().map(|kept| kept.all())
    }

    fn progress(&self) -> Vec<u8> {
        let mut report = self.report.part_report();
        report.say(self.log.all());
        // Once, because reports are sent twice a second and a plan can be long.
        report.plan = self.is_ended.then(|| OperatorReport::of(&self.plan).sent());
        // Counters and texts can always be serialized as JSON.
        serde_json::to_vec(&report).unwrap_or_default()
    }
}

/// The environment of a part. It offers only lookups: everything else that a search reads and writes is at
/// the search head.
#[derive(Debug)]
struct PartHost {
    search_host: SearchHost,
    compared: Arc<Compared>,
    server_name: String,
    read_only: bool,
}

impl Host for PartHost {
    fn reads_only(&self) -> bool {
        self.read_only
    }

    fn read_lookup<'a>(
        &'a self,
        source: &'a LookupSource,
    ) -> BoxFuture<'a, Result<Option<Arc<Rows>>, plan::Error>> {
        Box::pin(async move { self.search_host.read_lookup(source).await })
    }

    fn compiled_lookups(&self) -> Option<&plan::CompiledLookups> {
        self.search_host.compiled_lookups()
    }

    fn ask_program<'a>(
        &'a self,
        question: &'a LookupQuestion,
        _: Rows,
    ) -> BoxFuture<'a, Result<Rows, plan::Error>> {
        Box::pin(async move {
            let text =
                format!("the program of the lookup \"{}\" runs at the search head", question.name);
            self.compared.note(text.clone());
            Err(plan::Error::invalid_anywhere(text))
        })
    }

    fn server_name(&self) -> String {
        self.server_name.clone()
    }
}
