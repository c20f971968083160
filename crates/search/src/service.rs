//! The search service of a search head: accepts searches, runs them within the limits, and keeps their
//! results.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use access::Rights;
use bucket::OpenViews;
use futures::future::BoxFuture;
use jiff::tz::TimeZone;
use knowledge::Knowledge;
use model::{EventTime, IndexName, TimeRange};
use plan::{
    MessageLog, PlanContext, PlannedSearch, PlanningTime, SearchMemory, Session, SessionSettings,
    Subsearches,
};
use runtime::trace::Tracer;
use tokio::task::JoinSet;

use crate::archive::{Archive, LoadedJobs};
use crate::control::ScanControl;
use crate::cpu;
use crate::current_settings::CurrentSettings;
use crate::ended::Ended;
use crate::engine::Engine;
use crate::hints::Hints;
use crate::hot_facts::{HotFacts, Planner};
use crate::hot_rows::{HotRows, Met};
use crate::jobs::{DispatchState, Job, JobRequest, Jobs, NewJob, ReservedId};
use crate::lookup_files;
use crate::memory::{Memory, MemoryGrant};
use crate::parts::{Head, Sharing, expected_shares};
use crate::quarantine::Quarantine;
use crate::queries::Running;
use crate::readers::Readers;
use crate::recipes::{Lookups, Recorded, Recording};
use crate::report::ScanReport;
use crate::run::{run, stops_early};
use crate::scan::{
    ComputedInScans, ComputedValues, CountBySummary, OldestFirst, PassedRows, ScanContext,
    TypedColumns,
};
use crate::search_host::{SearchHost, namespace};
use crate::source::StoredEvents;
use crate::summary_rows::SummaryRows;
use crate::threads::Assigned;
use crate::times::Phase;
use crate::traced::Traced;
use crate::workers::near;
use crate::{Dependencies, Error, Settings};

/// Polling interval while waiting for the last search to end.
const LOOK: Duration = Duration::from_millis(20);

/// Divisor of the memory for results that recently read rows of stored jobs may use.
const LOADED_PART: usize = 4;

/// Runs searches. Clones share the same service.
#[derive(Debug, Clone)]
pub struct SearchService {
    engine: Arc<Engine>,
}

/// The running and queued searches of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchLoad {
    /// Running jobs, exports and SQL queries.
    pub running: usize,
    /// Queued jobs, exports and SQL queries.
    pub queued: usize,
    /// Maximum number of concurrent searches.
    pub limit: usize,
    /// Running searches per user.
    pub by_user: BTreeMap<String, usize>,
}

impl SearchService {
    /// Creates a service without jobs.
    ///
    /// # Errors
    /// If the query engine cannot be set up, for example because there is no place to spill to.
    pub fn new(deps: Dependencies, settings: Settings) -> Result<Self, Error> {
        let session = SessionSettings {
            memory_bytes: settings.memory_bytes,
            partitions: settings.pipelines(),
            batch_rows: settings.batch_rows,
            spill_directory: settings.spill_directory.clone(),
            spill_bytes: settings.spill_bytes,
            ..SessionSettings::default()
        };
        let session = Session::new(
            &session,
            vec![
                Arc::new(CountBySummary),
                Arc::new(ComputedInScans),
                Arc::new(TypedColumns),
                Arc::new(OldestFirst),
            ],
        )
        .map_err(|error| Error::Internal(error.to_string()))?;
        cpu::follow_tasks();
        let readers = Readers::new(settings.open_buckets);
        let passed = PassedRows::of_filters(settings.filter_bytes);
        let values = ComputedValues::of_fields(settings.computed_bytes);
        let store = deps.objects.direct();
        let archive = Archive::new(deps.catalog.clone(), store, Arc::clone(&deps.clock));
        let loaded = LoadedJobs::new(settings.kept_result_bytes / LOADED_PART);
        let (lookup_files, compiled_lookups) = lookup_files::within(settings.lookup_bytes);
        let (memory, part_memory) = (Memory::new(&settings), Memory::of_parts(&settings));
        let index_bytes = deps.objects.cache().map_or(0, |cache| cache.index_bytes());
        let hints = Hints::new(index_bytes / 100 * settings.warming.percent);
        let current = CurrentSettings::new(settings, &deps.apps.knowledge());
        let engine = Engine {
            deps,
            readers: Arc::new(readers),
            passed: Arc::new(passed),
            values: Arc::new(values),
            discovered: Arc::default(),
            hot_words: Arc::default(),
            summary_rows: SummaryRows::default(),
            lookup_files,
            compiled_lookups,
            session,
            memory,
            part_memory,
            lost_workers: Arc::default(),
            hints,
            jobs: Jobs::default(),
            archive,
            loaded,
            uses: Arc::default(),
            queries: Arc::default(),
            ended: Arc::default(),
            current,
        };
        Ok(Self { engine: Arc::new(engine) })
    }

    /// Starts a search. Errors in the search text are reported here, before a job exists.
    ///
    /// # Errors
    /// [`Error::Search`] with a diagnostic, [`Error::Request`], [`Error::IdTaken`], or
    /// [`Error::TooManySearches`].
    pub async fn dispatch(&self, mut request: JobRequest) -> Result<Arc<Job>, Error> {
        let settings = self.settings();
        self.check_queue(&settings)?;
        let room = self.engine.jobs.check_room(&settings)?;
        self.engine.loaded.keep_at_most(room);
        let admitted = self.admit(&request.rights)?;
        let engine = &self.engine;
        let most = settings.max_result_rows;
        request.max_count = Some(request.max_count.unwrap_or(settings.max_count).min(most));
        let planning = PlanningTime::new(settings.plan.plan_time);
        let control = Arc::new(ScanControl::planned_within(planning));
        let report = Arc::new(match request.status_buckets {
            0 => ScanReport::default(),
            _ => ScanReport::with_timeline(),
        });
        let start = Instant::now();
        let subsearches = Subsearches::Run(&engine.session);
        let knowledge = self.knowledge_of(&request);
        let sid = request.sid.get_or_insert_with(|| self.new_sid()).clone();
        let traced = Traced::begin(&engine.deps.tracer, &request.trace, request.about("job"));
        let threads = engine.deps.threads.assign();
        let ends = self.ends(&control, &report);
        let planned = self.plan_traced(&mut request, &traced, &ends, subsearches, &threads).await?;
        report.times.add(Phase::Plan, start.elapsed());
        control.want_previews(request.preview);
        if !stops_early(&planned) {
            control.count_all();
        }
        if self.job(&sid).is_some() || engine.archive.find(&sid).is_some() {
            return Err(Error::IdTaken { sid });
        }
        let job = Arc::new(Job::new(NewJob {
            sid: sid.clone(),
            request,
            planned,
            knowledge,
            clock: Arc::clone(&engine.deps.clock),
            control,
            report,
            s3_price_get_per_1000: settings.s3_price_get_per_1000,
            ttl: settings.ttl,
            field_summary_values: settings.field_summary_values,
            ended: Arc::clone(&engine.ended),
            traced,
        }));
        let handle = threads.handle().clone();
        let running = run(Arc::clone(engine), Arc::clone(&job), ends.recording, threads);
        let task = handle.spawn(job.report().cpu.of(Box::pin(running)));
        engine.jobs.insert(Arc::clone(&job), task.abort_handle());
        drop(admitted);
        Ok(job)
    }

    /// Reserves the id of a search that is about to be started, for as long as the returned guard lives:
    /// planning may run subsearches for a minute, and until its end there is no job with the id. Refuses what
    /// is known without planning: mistakes in the text, quotas, and ids of other jobs.
    ///
    /// # Errors
    /// As [`Self::dispatch`].
    pub fn reserve(&self, sid: &str, request: &JobRequest) -> Result<ReservedId, Error> {
        let settings = self.settings();
        self.check_queue(&settings)?;
        self.engine.jobs.check_room(&settings)?;
        drop(self.admit(&request.rights)?);
        let checked = plan::check_syntax(&request.search, &self.knowledge_of(request));
        checked.map_err(|error| Error::of_search(&error, &request.search))?;
        let reserved = self.engine.jobs.reserve(sid);
        let free = reserved.filter(|_| self.engine.archive.find(sid).is_none());
        free.ok_or_else(|| Error::IdTaken { sid: sid.to_owned() })
    }

    /// Whether this process has a job with this id, or is about to start one.
    #[must_use]
    pub fn is_taken(&self, sid: &str) -> bool {
        self.engine.jobs.is_taken(sid)
    }

    /// Plans a search without running it, to report errors or to explain it.
    ///
    /// # Errors
    /// As [`Self::dispatch`].
    pub async fn check(&self, request: &JobRequest) -> Result<PlannedSearch, Error> {
        let planning = PlanningTime::new(self.settings().plan.plan_time);
        let control = Arc::new(ScanControl::planned_within(planning));
        let threads = self.assign_threads();
        let ends = PlanningEnds { control, report: Arc::default(), recording: None };
        self.plan(request, &ends, Subsearches::Skip, &threads).await
    }

    /// Returns the views of hot buckets of this process that other processes' searches read.
    #[must_use]
    pub fn views(&self) -> OpenViews {
        self.engine.deps.views.clone()
    }

    /// Returns the statistics of the ended searches of this process.
    #[must_use]
    pub fn ended(&self) -> Arc<Ended> {
        Arc::clone(&self.engine.ended)
    }

    /// Returns the quarantine of damaged buckets.
    #[must_use]
    pub fn quarantine(&self) -> Quarantine {
        let deps = &self.engine.deps;
        let objects = Arc::clone(&deps.objects);
        Quarantine::new(deps.catalog.clone(), objects, Arc::clone(&deps.clock))
    }

    /// Returns the job with this id.
    #[must_use]
    pub fn job(&self, sid: &str) -> Option<Arc<Job>> {
        self.engine.jobs.get(sid)
    }

    /// Returns all jobs, newest first.
    #[must_use]
    pub fn jobs(&self) -> Vec<Arc<Job>> {
        self.engine.jobs.newest_first()
    }

    /// Returns the tracer that creates the spans of searches.
    #[must_use]
    pub fn tracer(&self) -> &Tracer {
        &self.engine.deps.tracer
    }

    /// Returns the running and queued searches.
    #[must_use]
    pub fn load(&self) -> SearchLoad {
        let mut by_user = self.engine.queries.by_user();
        let mut queued = self.engine.queries.queued();
        for job in self.jobs() {
            match job.status().state {
                state if state.is_final() => {}
                DispatchState::Queued => queued += 1,
                _ => *by_user.entry(job.request().owner.clone()).or_default() += 1,
            }
        }
        let running = by_user.values().sum();
        SearchLoad { running, queued, limit: self.settings().max_searches(), by_user }
    }

    /// Returns the expected share of each indexer in the stored buckets that large searches of this process
    /// read, from 0 to 1, by identity. Indexers that are not asked now are left out: those of other sites, if
    /// the site of this process has some, and those that did not answer lately.
    #[must_use]
    pub fn stored_shares(&self) -> BTreeMap<String, f64> {
        let engine = &self.engine;
        let Some(workers) = &engine.deps.workers else { return BTreeMap::new() };
        let readers = near(engine.lost_workers.without(workers.now()));
        expected_shares(&readers, engine.deps.clock.now(), engine.settings().warming.ramp_period)
    }

    /// Cancels and removes a job. Returns false if it does not exist.
    pub fn cancel(&self, sid: &str) -> bool {
        self.engine.jobs.cancel(sid)
    }

    /// Cancels and removes this job. Returns false if it has been removed. A later job with its id stays.
    pub fn cancel_job(&self, job: &Arc<Job>) -> bool {
        self.engine.jobs.cancel_this(job)
    }

    /// Ends all jobs and the queue, and waits until the jobs have ended, at most for this time, so that
    /// programs of apps that they have started end too.
    pub async fn close(&self, most: Duration) {
        // First: the jobs that end make room for others.
        self.engine.memory.close();
        self.engine.jobs.stop();
        let threads = &self.engine.deps.threads;
        let ended = async {
            while threads.are_used() {
                tokio::time::sleep(LOOK).await;
            }
        };
        if tokio::time::timeout(most, ended).await.is_err() {
            tracing::warn!("some searches did not end in time");
        }
    }

    /// Returns the stored events for plans that are not jobs.
    #[must_use]
    pub fn events(&self) -> Arc<dyn plan::EventSource> {
        let knowledge = self.engine.deps.apps.knowledge();
        Arc::new(self.stored_events(&Arc::default(), &Arc::default(), knowledge, None))
    }

    /// Returns the hot buckets of the indexes in all processes, as a search over all time would read them.
    /// Waits for other processes as long as a search does.
    pub async fn hot_buckets(&self, indexes: &[IndexName]) -> Met {
        let deps = &self.engine.deps;
        let (hot, catalog) = (Arc::clone(&deps.hot), deps.catalog.clone());
        HotRows::new(hot, catalog, Arc::default()).of(indexes, &TimeRange::ALL).await
    }

    /// Returns completions for a position in a search text.
    #[must_use]
    pub fn complete(&self, text: &str, cursor: usize) -> Vec<plan::Suggestion> {
        plan::complete(text, cursor)
    }

    /// Waits for the turn of a query that is not a job, in the queue of the jobs, and returns its session.
    pub(crate) async fn grant_turn(
        &self,
        planning: &PlanningTime,
        query: &Running,
    ) -> Result<MemoryGrant, Error> {
        let queued = query.queued();
        let granted = self.engine.memory.grant_turn(&self.engine.session, planning).await;
        drop(queued);
        granted
    }

    pub(crate) fn session(&self) -> &Session {
        &self.engine.session
    }

    pub(crate) fn dependencies(&self) -> &Dependencies {
        &self.engine.deps
    }

    pub(crate) fn now(&self) -> EventTime {
        self.engine.deps.clock.now()
    }

    /// Returns the settings in force.
    pub(crate) fn settings(&self) -> Arc<Settings> {
        self.engine.settings()
    }

    pub(crate) fn assign_threads(&self) -> Assigned {
        self.engine.deps.threads.assign()
    }

    /// Returns the stored events for the planner. They know the planner's configuration if indexers are to
    /// answer questions about their rows.
    pub(crate) fn stored_events(
        &self,
        control: &Arc<ScanControl>,
        report: &Arc<ScanReport>,
        knowledge: Arc<Knowledge>,
        planner: Option<Planner>,
    ) -> StoredEvents {
        let engine = &self.engine;
        let settings = engine.settings();
        StoredEvents {
            context: ScanContext {
                catalog: engine.deps.catalog.clone(),
                hot: Arc::new(HotRows::new(
                    Arc::clone(&engine.deps.hot),
                    engine.deps.catalog.clone(),
                    Arc::clone(report),
                )),
                hot_words: Arc::clone(&engine.hot_words),
                hot_word_bytes: settings.hot_word_bytes,
                readers: Arc::clone(&engine.readers),
                passed: Arc::clone(&engine.passed),
                values: Arc::clone(&engine.values),
                store: engine.deps.objects.counted(&report.reads),
                knowledge,
                control: Arc::clone(control),
                report: Arc::clone(report),
                pipelines: settings.pipelines(),
                batch_rows: settings.batch_rows,
                quarantine: Arc::new(self.quarantine()),
                allow_partial: settings.allow_partial_results,
                plan_summaries: settings.plan_summaries,
                share: None,
            },
            indexes: engine.deps.indexes.names(),
            metric_indexes: engine.deps.indexes.metric_names(),
            disabled_indexes: engine.deps.indexes.disabled_names(),
            facts: Arc::new(HotFacts::new(engine, report, planner)),
        }
    }

    /// Returns the context of a search whose parts other processes may run.
    pub(crate) fn ends(
        &self,
        control: &Arc<ScanControl>,
        report: &Arc<ScanReport>,
    ) -> PlanningEnds {
        let recording = self.engine.deps.workers.as_ref().map(|_| Arc::default());
        PlanningEnds { control: Arc::clone(control), report: Arc::clone(report), recording }
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Returns the knowledge objects that are visible to the searches of a request.
    pub(crate) fn knowledge_of(&self, request: &JobRequest) -> Arc<Knowledge> {
        self.engine.apps_of(request).view_without(&namespace(request), &request.rights.hidden())
    }

    /// Plans a search and runs its subsearches on the search threads, whose stack is large enough for deep
    /// plans. Planning ends when the caller stops waiting.
    pub(crate) async fn plan(
        &self,
        request: &JobRequest,
        ends: &PlanningEnds,
        subsearches: Subsearches<'_>,
        threads: &Assigned,
    ) -> Result<PlannedSearch, Error> {
        let (service, request, ends) = (self.clone(), request.clone(), ends.clone());
        let cpu = ends.report.cpu.clone();
        let waiting = ends.control.planning().waited_for();
        let runs = matches!(subsearches, Subsearches::Run(_));
        let planning = async move {
            if !runs {
                return service.plan_here(&request, &ends, Subsearches::Skip).await;
            }
            let memory = SearchMemory::at_once(service.settings().search_memory_bytes);
            let session = service.session().for_search(memory, ends.control.planning());
            let session = session.map_err(|error| Error::Internal(error.to_string()))?;
            service.plan_here(&request, &ends, Subsearches::Run(&session)).await
        };
        let planned = within(threads, Box::pin(cpu.of(Box::pin(planning)))).await;
        waiting.is_served();
        planned
    }

    /// As [`Self::plan`], in a child span of the search, which records a failure.
    pub(crate) async fn plan_traced(
        &self,
        request: &mut JobRequest,
        traced: &Traced,
        ends: &PlanningEnds,
        subsearches: Subsearches<'_>,
        threads: &Assigned,
    ) -> Result<PlannedSearch, Error> {
        let mut span = traced.child("search.plan");
        // Requests of planning to other processes and parts of subsearches are children of this span.
        request.trace = span.context();
        let planned = self.plan(request, ends, subsearches, threads).await;
        request.trace = traced.context().clone();
        planned.inspect_err(|error| {
            span.fail(error);
            traced.fail(error);
        })
    }

    async fn plan_here(
        &self,
        request: &JobRequest,
        ends: &PlanningEnds,
        subsearches: Subsearches<'_>,
    ) -> Result<PlannedSearch, Error> {
        let now = request.now.unwrap_or_else(|| self.now());
        let seen_from = namespace(request);
        let apps = self.engine.apps_of(request);
        let PlanningEnds { control, report, recording } = ends;
        if let Some(bundle_version) = apps.checksum() {
            report.is_planned_by(bundle_version);
        }
        let (knowledge, files) = apps.view_with_files(&seen_from, &request.rights.hidden());
        let planner = Some(Planner::of(request));
        let mut source = self.stored_events(control, report, Arc::clone(&knowledge), planner);
        source.indexes = request.rights.searchable(source.indexes);
        let search_host = SearchHost {
            engine: Arc::clone(&self.engine),
            hot: Arc::clone(&source.context.hot),
            namespace: seen_from,
            apps: apps.clone(),
            files,
            rights: Arc::clone(&request.rights),
            read_only: request.read_only,
            sid: request.sid.clone().unwrap_or_default(),
            search: request.search.clone(),
            lookups: recording.clone().map(Lookups::Recorded).unwrap_or_default(),
        };
        let everywhere = apps.knowledge();
        // Users choose `now`: what they may read does not depend on it.
        let restriction = restriction(&request.rights, self.now(), &everywhere)?;
        let mut range = time_range(request, now)?;
        if request.now.is_some() && restriction.window.is_some() && range.latest == EventTime::MAX {
            // The window is counted back from the end of the range.
            range.latest = now;
        }
        let default_indexes = match request.rights.is_system() {
            true => self.engine.deps.indexes.default_names(),
            false => request.rights.searched(source.indexes.clone()),
        };
        let source: Arc<dyn plan::EventSource> = match recording {
            Some(recording) => Arc::new(Recorded { source, recording: Arc::clone(recording) }),
            None => Arc::new(source),
        };
        let context = PlanContext {
            source,
            host: Arc::new(search_host),
            knowledge,
            rules: apps.rules(),
            now,
            timezone: request.timezone.clone(),
            range,
            index_range: index_time_range(request, now)?,
            default_indexes,
            restriction,
            limits: self.settings().plan.clone(),
            sid: request.sid.clone().unwrap_or_default(),
            search_name: request.label.clone(),
            planning: control.planning().clone(),
        };
        let within = recording.as_ref().map(|recording| {
            recording.note_search(request, &context);
            Sharing(Head {
                engine: Arc::clone(&self.engine),
                recording: Arc::clone(recording),
                control: Arc::clone(control),
                report: Arc::clone(report),
                log: MessageLog::default(),
                text: String::new(),
                events: None,
                trace: request.trace.clone(),
            })
        });
        let watch = within.as_ref().map(|within| within as &dyn plan::Watch);
        let text = &request.search;
        let planned = plan::plan_search_watched(text, &context, subsearches, watch).await;
        planned.map_err(|error| Error::of_search(&error, &request.search))
    }

    /// Whether a user may see a job and its rows: the owner, and users with `admin_all_objects`. In addition,
    /// the user must currently have access to the indexes that the job could read.
    #[must_use]
    pub fn may_read_job(&self, job: &Job, rights: &Rights) -> bool {
        self.engine.may_read_job(job, rights)
    }

    /// Whether a job may be in a list for a user. With a token of a limited scope, only jobs within the scope
    /// may.
    #[must_use]
    pub fn is_in_scope(&self, job: &Job, rights: &Rights) -> bool {
        self.engine.is_in_scope(job, rights)
    }

    /// Checks a search filter of a role and rejects filters that could not be enforced.
    ///
    /// # Errors
    /// [`Error::Request`] with what is wrong.
    pub fn check_filter(&self, filter: &str) -> Result<(), Error> {
        if matches!(filter.trim(), "" | "*") {
            return Ok(());
        }
        let parsed = plan::Restriction::parse_filter(filter);
        parsed.map(drop).map_err(|error| Error::Request(error.to_string()))
    }

    /// Checks the search of an event type and rejects one that searches would have to skip. Macros are those
    /// of `knowledge`.
    ///
    /// # Errors
    /// [`Error::Search`] with what is wrong, and where.
    pub fn check_event_type(&self, search: &str, knowledge: &Knowledge) -> Result<(), Error> {
        let checked = plan::check_event_type(search, knowledge);
        checked.map_err(|error| Error::of_search(&error, search))
    }

    /// Checks the expression of a calculated field and rejects one that searches would have to skip.
    ///
    /// # Errors
    /// [`Error::Search`] with what is wrong, and where.
    pub fn check_calculated_field(&self, expression: &str) -> Result<(), Error> {
        let checked = plan::check_calculated_field(expression);
        checked.map_err(|error| Error::of_search(&error, expression))
    }

    /// Refuses a new search if the queue is full.
    ///
    /// # Errors
    /// [`Error::TooManySearches`].
    fn check_queue(&self, settings: &Settings) -> Result<(), Error> {
        self.engine.jobs.check_queue(settings, &self.engine.queries)
    }

    /// Counts a query that is not a job for as long as the returned guard lives.
    ///
    /// # Errors
    /// As [`Self::admit`], and [`Error::TooManySearches`] if the queue is full.
    pub(crate) fn admit_query(&self, rights: &Rights) -> Result<Running, Error> {
        self.check_queue(&self.settings())?;
        self.admit(rights)
    }

    /// Counts a search of a user for as long as the returned guard lives.
    ///
    /// # Errors
    /// [`Error::UserQuota`] or [`Error::ResultQuota`].
    fn admit(&self, rights: &Rights) -> Result<Running, Error> {
        self.engine.jobs.admit(rights, &self.engine.queries)
    }

    /// Generates an id for a job.
    #[must_use]
    pub fn new_sid(&self) -> String {
        let seconds = self.now().seconds();
        let unique = runtime::random::uuid().as_simple().to_string();
        self.owned_sid(format!("{seconds:.0}.{}", &unique[..12]))
    }

    /// Appends the owning process to an id if search heads forward requests about jobs.
    #[must_use]
    pub fn owned_sid(&self, sid: String) -> String {
        match &self.settings().sid_owner {
            Some(owner) => format!("{sid}_{owner}"),
            None => sid,
        }
    }
}

/// The context of a planned search, besides its rows.
#[derive(Debug, Clone)]
pub(crate) struct PlanningEnds {
    pub(crate) control: Arc<ScanControl>,
    pub(crate) report: Arc<ScanReport>,
    /// The recorded answers of planning, if other processes may plan the search again.
    pub(crate) recording: Option<Arc<Recording>>,
}

/// Runs a task on the threads of a search. The task is aborted when the future is dropped.
pub(crate) async fn within<T: Send + 'static>(
    threads: &Assigned,
    task: BoxFuture<'static, Result<T, Error>>,
) -> Result<T, Error> {
    let mut tasks = JoinSet::new();
    tasks.spawn_on(task, threads.handle());
    match tasks.join_next().await {
        Some(Ok(done)) => done,
        Some(Err(error)) => Err(Error::Internal(error.to_string())),
        None => Err(Error::Internal("a task of a search has gone".to_owned())),
    }
}

/// Returns the restriction of a user's searches. It uses the configuration of all apps, because users choose
/// the app in which they search.
pub(crate) fn restriction(
    rights: &Rights,
    now: EventTime,
    everywhere: &Knowledge,
) -> Result<plan::Restriction, Error> {
    let limits = rights.limits();
    let filter = limits.filter.as_deref().map(plan::Restriction::parse_filter).transpose();
    let filter = filter.map_err(|error| Error::Request(error.to_string()))?;
    let filter = filter.map(|filter| plan::excluding_renamed(&filter, everywhere));
    let back = |span: Duration| i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
    let earliest = limits.earliest.map(|span| EventTime(now.0.saturating_sub(back(span))));
    Ok(plan::Restriction { filter, earliest, window: limits.window })
}

/// Returns the time range of a request; either end may be missing.
///
/// # Errors
/// [`Error::Request`] naming the parameter.
pub(crate) fn time_range(request: &JobRequest, now: EventTime) -> Result<TimeRange, Error> {
    let bounds = [request.earliest.as_deref(), request.latest.as_deref()];
    range_of(["earliest_time", "latest_time"], bounds, now, &request.timezone)
}

/// Returns the range of `_indextime` of a request; either end may be missing.
fn index_time_range(request: &JobRequest, now: EventTime) -> Result<TimeRange, Error> {
    let bounds = [request.index_earliest.as_deref(), request.index_latest.as_deref()];
    range_of(["index_earliest", "index_latest"], bounds, now, &request.timezone)
}

/// Returns the time range between two parameters with these names; either end may be missing.
///
/// # Errors
/// [`Error::Request`] naming the parameter.
pub fn range_of(
    names: [&str; 2],
    [earliest, latest]: [Option<&str>; 2],
    now: EventTime,
    zone: &TimeZone,
) -> Result<TimeRange, Error> {
    let parse = |name: &str, text: Option<&str>, missing: EventTime| match text {
        None | Some("") => Ok(missing),
        // In Splunk, "all time" is an earliest of 0 that includes events before 1970.
        Some("0") if missing == EventTime::MIN => Ok(missing),
        Some(text) => knowledge::time::parse_time(text, now, zone)
            .map_err(|error| Error::Request(format!("{name}: {error}"))),
    };
    let range = TimeRange {
        earliest: parse(names[0], earliest, EventTime::MIN)?,
        latest: parse(names[1], latest, EventTime::MAX)?,
    };
    if range.earliest > range.latest {
        let [earliest, latest] = names;
        return Err(Error::Request(format!("{earliest} must not be later than {latest}")));
    }
    Ok(range)
}
