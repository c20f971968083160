//! The search head's heart: takes searches on, runs them within the limits, keeps what they found.

use std::sync::Arc;
use std::time::{Duration, Instant};

use access::Rights;
use apps::{Apps, Namespace};
use bucket::HotBuckets;
use cache::SearchReads;
use catalog::{Catalog, IndexNames};
use futures::future::BoxFuture;
use hashbrown::HashMap;
use knowledge::Knowledge;
use model::{EventTime, IndexName, TimeRange};
use object_store::ObjectStore;
use parking_lot::Mutex;
use plan::{
    PlanContext, PlannedSearch, PlanningTime, SearchMemory, Session, SessionSettings, Subsearches,
};
use runtime::Clock;
use tokio::task::{AbortHandle, JoinSet};

use crate::control::ScanControl;
use crate::discovered::Discovered;
use crate::jobs::{DispatchState, Job, JobRequest, NewJob};
use crate::memory::{Granted, Memory};
use crate::quarantine::Quarantine;
use crate::queries::{Queries, Running};
use crate::readers::Readers;
use crate::report::ScanReport;
use crate::run::{run, stops_early};
use crate::scan::{CountBySummary, ScanContext, TypedColumns};
use crate::source::StoredEvents;
use crate::surroundings::{Around, Tables};
use crate::threads::{Assigned, SearchThreads};
use crate::times::Phase;
use crate::{Error, Settings};

/// How often the end of the last search is looked for.
const LOOK: Duration = Duration::from_millis(20);

/// Where the objects of buckets are.
pub trait Objects: Send + Sync + std::fmt::Debug {
    /// Reads through the cache, which it counts for one search too.
    fn counted(&self, reads: &Arc<SearchReads>) -> Arc<dyn ObjectStore>;

    /// Reads past the cache, to tell a damaged object from a damaged copy; without it no bucket is
    /// ever left out by itself.
    fn direct(&self) -> Option<Arc<dyn ObjectStore>> {
        None
    }
}

/// What searching needs of the rest of Karst.
#[derive(Debug, Clone)]
pub struct Dependencies {
    /// Which buckets exist.
    pub catalog: Catalog,
    /// Buckets that are still being filled.
    pub hot: Arc<dyn HotBuckets>,
    /// Objects, read through the cache.
    pub objects: Arc<dyn Objects>,
    /// Configuration, lookups, collections.
    pub apps: Apps,
    /// What searches ask of the rest of the server: REST, events to collect, where addresses are.
    pub surroundings: Arc<dyn plan::Host>,
    /// Index names.
    pub indexes: Arc<dyn IndexNames>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Where searches run: apart from the threads that answer requests, so that a heavy search
    /// does not make the API slow.
    pub threads: SearchThreads,
}

/// Runs searches. Clones are handles to the same service.
#[derive(Debug, Clone)]
pub struct SearchService {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) deps: Dependencies,
    pub(crate) settings: Settings,
    readers: Arc<Readers>,
    discovered: Arc<Discovered>,
    tables: Arc<Tables>,
    pub(crate) session: Session,
    pub(crate) memory: Memory,
    jobs: Mutex<HashMap<String, Entry>>,
    pub(crate) queries: Arc<Queries>,
}

#[derive(Debug)]
struct Entry {
    job: Arc<Job>,
    task: AbortHandle,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchService").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl SearchService {
    /// A service without jobs.
    ///
    /// # Errors
    /// If the query engine cannot be set up, for example because there is no place to spill to.
    pub fn new(deps: Dependencies, settings: Settings) -> Result<Self, Error> {
        let engine = SessionSettings {
            memory_bytes: settings.memory_bytes,
            partitions: settings.pipelines(),
            batch_rows: settings.batch_rows,
        };
        let session = Session::new(&engine, vec![Arc::new(CountBySummary), Arc::new(TypedColumns)])
            .map_err(|error| Error::Internal(error.to_string()))?;
        let readers = Readers::new(settings.open_buckets);
        let inner = Inner {
            deps,
            readers: Arc::new(readers),
            discovered: Arc::default(),
            tables: Arc::default(),
            session,
            memory: Memory::new(&settings),
            jobs: Mutex::default(),
            queries: Arc::default(),
            settings,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Takes a search on and starts it. Mistakes in the search are found here, before there is a
    /// job.
    ///
    /// # Errors
    /// [`Error::Search`] with a diagnostic, [`Error::Request`], or [`Error::TooManySearches`].
    pub async fn dispatch(&self, mut request: JobRequest) -> Result<Arc<Job>, Error> {
        self.forget_expired();
        self.check_queue()?;
        let admitted = self.admit(&request.rights)?;
        let inner = &self.inner;
        let most = inner.settings.max_result_rows;
        request.max_count = Some(request.max_count.unwrap_or(inner.settings.max_count).min(most));
        let planning = PlanningTime::new(inner.settings.plan.plan_time);
        let control = Arc::new(ScanControl::planned_within(planning));
        let report = Arc::new(match request.status_buckets {
            0 => ScanReport::default(),
            _ => ScanReport::with_timeline(),
        });
        let start = Instant::now();
        let subsearches = Subsearches::Run(&inner.session);
        let knowledge = self.knowledge_of(&request);
        let sid = request.sid.get_or_insert_with(|| self.new_sid()).clone();
        let threads = inner.deps.threads.assign();
        let planned = self.plan(&request, &control, &report, subsearches, &threads).await?;
        report.times.add(Phase::Plan, start.elapsed());
        control.want_previews(request.preview);
        if !stops_early(&planned) {
            control.count_all();
        }
        if self.job(&sid).is_some() {
            return Err(Error::Request(format!("a job with the id \"{sid}\" exists already")));
        }
        let job = Arc::new(Job::new(NewJob {
            sid: sid.clone(),
            request,
            planned,
            knowledge,
            clock: Arc::clone(&inner.deps.clock),
            control,
            report,
            s3_price_get_per_1000: inner.settings.s3_price_get_per_1000,
            ttl: inner.settings.ttl,
            field_summary_values: inner.settings.field_summary_values,
        }));
        let handle = threads.handle().clone();
        let task = handle.spawn(run(Arc::clone(inner), Arc::clone(&job), threads));
        let entry = Entry { job: Arc::clone(&job), task: task.abort_handle() };
        self.inner.jobs.lock().insert(sid, entry);
        drop(admitted);
        Ok(job)
    }

    /// Plans a search without running it, for errors and explanations.
    ///
    /// # Errors
    /// As [`Self::dispatch`].
    pub async fn check(&self, request: &JobRequest) -> Result<PlannedSearch, Error> {
        let planning = PlanningTime::new(self.settings().plan.plan_time);
        let control = Arc::new(ScanControl::planned_within(planning));
        let threads = self.assign_threads();
        self.plan(request, &control, &Arc::default(), Subsearches::Skip, &threads).await
    }

    /// Damaged buckets that are left out.
    #[must_use]
    pub fn quarantine(&self) -> Quarantine {
        let deps = &self.inner.deps;
        Quarantine::new(deps.catalog.clone(), deps.objects.direct(), Arc::clone(&deps.clock))
    }

    /// The job with this id.
    #[must_use]
    pub fn job(&self, sid: &str) -> Option<Arc<Job>> {
        self.inner.jobs.lock().get(sid).map(|entry| Arc::clone(&entry.job))
    }

    /// All jobs, newest first.
    #[must_use]
    pub fn jobs(&self) -> Vec<Arc<Job>> {
        self.forget_expired();
        let mut jobs: Vec<_> =
            self.inner.jobs.lock().values().map(|entry| Arc::clone(&entry.job)).collect();
        jobs.sort_by(|a, b| b.created().cmp(&a.created()).then_with(|| a.sid().cmp(b.sid())));
        jobs
    }

    /// Stops a job and forgets it; false if there is none.
    pub fn cancel(&self, sid: &str) -> bool {
        let entry = self.inner.jobs.lock().remove(sid);
        if let Some(entry) = &entry {
            entry.job.cancel();
            entry.task.abort();
        }
        entry.is_some()
    }

    /// Cancels all jobs that run, and waits until none does any more, but not longer than this: what they
    /// have started (programs of apps) ends with them.
    pub async fn close(&self, most: Duration) {
        for job in self.jobs().iter().filter(|job| !job.status().state.is_final()) {
            self.cancel(job.sid());
        }
        let threads = &self.inner.deps.threads;
        let ended = async {
            while threads.are_used() {
                tokio::time::sleep(LOOK).await;
            }
        };
        if tokio::time::timeout(most, ended).await.is_err() {
            tracing::warn!("some searches did not end in time");
        }
    }

    /// The events as a planner sees them, for plans that are not jobs.
    #[must_use]
    pub fn events(&self) -> Arc<dyn plan::EventSource> {
        let knowledge = self.inner.deps.apps.knowledge();
        Arc::new(self.stored_events(&Arc::default(), &Arc::default(), knowledge))
    }

    /// What to offer at a place of a search text.
    #[must_use]
    pub fn complete(&self, text: &str, cursor: usize) -> Vec<plan::Suggestion> {
        plan::complete(text, cursor)
    }

    /// Where a query runs that is no job.
    pub(crate) async fn grant(&self, planning: &PlanningTime) -> Result<Granted, Error> {
        self.inner.memory.grant(&self.inner.session, planning).await
    }

    pub(crate) fn session(&self) -> &Session {
        &self.inner.session
    }

    pub(crate) fn dependencies(&self) -> &Dependencies {
        &self.inner.deps
    }

    pub(crate) fn now(&self) -> EventTime {
        self.inner.deps.clock.now()
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    pub(crate) fn assign_threads(&self) -> Assigned {
        self.inner.deps.threads.assign()
    }

    pub(crate) fn stored_events(
        &self,
        control: &Arc<ScanControl>,
        report: &Arc<ScanReport>,
        knowledge: Arc<Knowledge>,
    ) -> StoredEvents {
        let inner = &self.inner;
        StoredEvents {
            context: ScanContext {
                catalog: inner.deps.catalog.clone(),
                hot: Arc::clone(&inner.deps.hot),
                readers: Arc::clone(&inner.readers),
                store: inner.deps.objects.counted(&report.reads),
                knowledge,
                control: Arc::clone(control),
                report: Arc::clone(report),
                pipelines: inner.settings.pipelines(),
                batch_rows: inner.settings.batch_rows,
                quarantine: Arc::new(self.quarantine()),
                allow_partial: inner.settings.allow_partial_results,
                plan_summaries: inner.settings.plan_summaries,
            },
            indexes: inner.deps.indexes.names(),
            discovered: Arc::clone(&inner.discovered),
        }
    }

    /// What the searches of a request see of the configuration.
    pub(crate) fn knowledge_of(&self, request: &JobRequest) -> Arc<Knowledge> {
        self.inner.deps.apps.view_without(&namespace(request), &request.rights.hidden())
    }

    /// Plans a search, and runs what stands for a text in it, where searches run: their threads have the
    /// stack that deep plans take. Planning ends when nobody waits for it any more.
    pub(crate) async fn plan(
        &self,
        request: &JobRequest,
        control: &Arc<ScanControl>,
        report: &Arc<ScanReport>,
        subsearches: Subsearches<'_>,
        threads: &Assigned,
    ) -> Result<PlannedSearch, Error> {
        let (service, request) = (self.clone(), request.clone());
        let waiting = control.planning().waited_for();
        let (control, report) = (Arc::clone(control), Arc::clone(report));
        let runs = matches!(subsearches, Subsearches::Run(_));
        let planning = async move {
            if !runs {
                return service.plan_here(&request, &control, &report, Subsearches::Skip).await;
            }
            let memory = SearchMemory::at_once(service.settings().search_memory_bytes);
            let session = service.session().for_search(memory, control.planning());
            let session = session.map_err(|error| Error::Internal(error.to_string()))?;
            service.plan_here(&request, &control, &report, Subsearches::Run(&session)).await
        };
        let planned = within(threads, Box::pin(planning)).await;
        waiting.is_served();
        planned
    }

    async fn plan_here(
        &self,
        request: &JobRequest,
        control: &Arc<ScanControl>,
        report: &Arc<ScanReport>,
        subsearches: Subsearches<'_>,
    ) -> Result<PlannedSearch, Error> {
        let now = request.now.unwrap_or_else(|| self.now());
        let knowledge = self.knowledge_of(request);
        let surroundings = Around {
            service: self.clone(),
            namespace: namespace(request),
            rights: Arc::clone(&request.rights),
            read_only: request.read_only,
            tables: Arc::clone(&self.inner.tables),
            sid: request.sid.clone().unwrap_or_default(),
            search: request.search.clone(),
        };
        let mut source = self.stored_events(control, report, Arc::clone(&knowledge));
        source.indexes = request.rights.searchable(source.indexes);
        let restriction = restriction(&request.rights, now)?;
        let default_indexes = match request.rights.is_system() {
            true => self.inner.deps.indexes.default_names(),
            false => request.rights.searched(source.indexes.clone()),
        };
        let context = PlanContext {
            source: Arc::new(source),
            host: Arc::new(surroundings),
            knowledge,
            now,
            timezone: request.timezone.clone(),
            range: time_range(request, now)?,
            default_indexes,
            restriction,
            limits: self.inner.settings.plan.clone(),
            sid: request.sid.clone().unwrap_or_default(),
            planning: control.planning().clone(),
        };
        let planned = plan::plan_search(&request.search, &context, subsearches).await;
        planned.map_err(|error| search_error(&error, &request.search))
    }

    /// Whether somebody may see a job and its rows: the owner, and with `admin_all_objects` everybody;
    /// in either case the indexes that the job could read must be open to them now.
    #[must_use]
    pub fn may_read_job(&self, job: &Job, rights: &Rights) -> bool {
        let owns = job.request().owner == rights.user() || rights.may("admin_all_objects");
        let names = self.inner.deps.indexes.names();
        let open = |index: &IndexName| rights.may_search(index);
        let filter = &rights.limits().filter;
        let same = filter.is_none() || *filter == job.request().rights.limits().filter;
        owns && same && job.request().rights.searchable(names).iter().all(open)
    }

    /// Refuses a search filter of a role that searches could not be held to.
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

    /// Counts one more search of a user, unless those of the user or of the user's roles that run or wait,
    /// or what their results take, have reached a quota. It counts for as long as the answer is kept.
    ///
    /// # Errors
    /// [`Error::UserQuota`] or [`Error::ResultQuota`].
    pub(crate) fn admit(&self, rights: &Rights) -> Result<Running, Error> {
        let limits = rights.limits();
        let jobs = self.inner.jobs.lock();
        let busy = |job: &Job| !job.status().state.is_final();
        let own = || jobs.values().map(|e| &e.job).filter(|j| j.request().owner == rights.user());
        let running = own().filter(|job| busy(job)).count() + self.inner.queries.of(rights.user());
        if let Some(quota) = limits.jobs.filter(|quota| running >= *quota) {
            let user = rights.user().to_owned();
            return Err(Error::UserQuota { name: "srchJobsQuota", user, used: running, quota });
        }
        for (role, quota) in &limits.jobs_of_role {
            let of_role = |job: &&Arc<Job>| job.request().rights.roles().contains(role);
            let all = jobs.values().map(|entry| &entry.job);
            let running = all.filter(of_role).filter(|job| busy(job)).count();
            if running >= *quota {
                let name = "cumulativeSrchJobsQuota";
                let user = format!("role {role}");
                return Err(Error::UserQuota { name, user, used: running, quota: *quota });
            }
        }
        let bytes = own().map(|job| job.result_bytes() as u64).sum::<u64>();
        if let Some(quota) = limits.result_bytes.filter(|quota| bytes > *quota) {
            return Err(Error::ResultQuota { user: rights.user().to_owned(), bytes, quota });
        }
        // Still under the lock: of two at the same moment, the second sees the first.
        Ok(self.inner.queries.begin(rights.user()))
    }

    fn new_sid(&self) -> String {
        let seconds = self.now().seconds();
        let unique = runtime::random::uuid().as_simple().to_string();
        format!("{seconds:.0}.{}", &unique[..12])
    }

    fn check_queue(&self) -> Result<(), Error> {
        let jobs = self.inner.jobs.lock();
        let queued = |entry: &&Entry| entry.job.status().state == DispatchState::Queued;
        let waiting = jobs.values().filter(queued).count();
        if waiting >= self.inner.settings.max_queued_searches {
            return Err(Error::TooManySearches { waiting });
        }
        let bytes = jobs.values().map(|entry| entry.job.result_bytes()).sum();
        if bytes >= self.inner.settings.kept_result_bytes {
            return Err(Error::TooManyResults { jobs: jobs.len(), bytes });
        }
        Ok(())
    }

    fn forget_expired(&self) {
        self.inner.jobs.lock().retain(|_, entry| !entry.job.expired());
    }
}

/// Runs a task on the threads of a search. It ends when this is dropped.
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

/// What the searches of a user are held to.
pub(crate) fn restriction(rights: &Rights, now: EventTime) -> Result<plan::Restriction, Error> {
    let limits = rights.limits();
    let filter = limits.filter.as_deref().map(plan::Restriction::parse_filter).transpose();
    let filter = filter.map_err(|error| Error::Request(error.to_string()))?;
    let back = |span: Duration| i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
    let earliest = limits.earliest.map(|span| EventTime(now.0.saturating_sub(back(span))));
    Ok(plan::Restriction { filter, earliest, window: limits.window })
}

/// Who asks, in which app.
fn namespace(request: &JobRequest) -> Namespace {
    Namespace::new(&request.owner, &request.app)
}

/// The range of a request; either end may be missing.
///
/// # Errors
/// [`Error::Request`] naming the parameter.
pub(crate) fn time_range(request: &JobRequest, now: EventTime) -> Result<TimeRange, Error> {
    let parse = |name: &str, text: &Option<String>, missing: EventTime| match text.as_deref() {
        None | Some("") => Ok(missing),
        // Splunk's "all time" is an earliest of 0, and means events before 1970 too.
        Some("0") if missing == EventTime::MIN => Ok(missing),
        Some(text) => knowledge::time::parse_time(text, now, &request.timezone)
            .map_err(|error| Error::Request(format!("{name}: {error}"))),
    };
    let range = TimeRange {
        earliest: parse("earliest_time", &request.earliest, EventTime::MIN)?,
        latest: parse("latest_time", &request.latest, EventTime::MAX)?,
    };
    if range.earliest > range.latest {
        return Err(Error::Request("earliest_time must not be later than latest_time".to_owned()));
    }
    Ok(range)
}

pub(crate) fn search_error(error: &plan::Error, text: &str) -> Error {
    Error::Search { text: error.render(text), kind: error.kind() }
}
