//! Assembles the server: store, catalog, cache, ingest, search, API state.

mod accounts;
mod own;
mod step_settings;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use api::{ApiState, Control, MemoryLimits, ServerInfo};
use apps::{Apps, InstalledApps, Suppressions};
use bucket::{HotDirectory, LocalHot, OpenViews};
use cache::CachedStore;
use catalog::{Catalog, Followed};
use conf::{Layers, Warning};
use ingest::{IndexCatalog, Ingest, OtherHot};
use knowledge::Knowledge;
use object_store::ObjectStore;
use parking_lot::Mutex;
use runtime::health::{self, Severity};
use runtime::{Clock, Health, Shutdown, SystemClock, metrics as names};
use search::{Dependencies, SearchService, SearchThreads};
use tokio::sync::watch;

use self::accounts::Access;
use self::own::OwnEventsParts;
use self::step_settings::StepSettings;
use super::access_log::AccessLog;
use super::audit::{self, Trail};
use super::cluster::{self, Cluster};
use super::console::EmbeddedConsole;
use super::credentials::{InitialPassword, management_uri};
use super::deployment;
use super::directories::Directories;
use super::failover::{self, Failover, OwnSearches};
use super::gateway::Progress;
use super::http_conf::HttpServer;
use super::incarnation::{self, Incarnation, Place};
use super::installed_apps::{self, Consumers, Teller};
use super::leadership::Leadership;
use super::logs::Loggers;
use super::memory::Memory;
use super::own_events::{Observed, OwnEvents};
use super::ownership::now_text;
use super::removals::OtherRemovals;
use super::server_host::ServerHost;
use super::setup::Setup;
use super::traces::Traces;
use super::views::{CacheCounters, MetricsText, Objects};
use super::{
    former_directory, full_disks, inputs, reported, script_sandbox, status_condition, whole,
};
use crate::config::ServerOptions;

/// Time of other processes for the answers that they wait for.
const PEERS: Duration = Duration::from_secs(1);
/// Time-out of the last writes of a process whose catalog or events another process has taken over.
const FENCED: Duration = Duration::from_secs(1);
/// Time-out of closing the catalog and the cache.
const CLOSE: Duration = Duration::from_secs(5);

/// Inputs of the assembly: the locked directory, bound ports, and the lease.
#[derive(Debug)]
pub(crate) struct Ground<'a> {
    pub(crate) options: &'a ServerOptions,
    pub(crate) cluster: Cluster,
    pub(crate) leading: Arc<Leadership>,
    pub(crate) setup: Setup,
    pub(crate) memory: Memory,
    pub(crate) directories: Directories,
    pub(crate) http: HttpServer,
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) loggers: Loggers,
    pub(crate) initial: &'a InitialPassword,
    pub(crate) progress: &'a Progress,
    pub(crate) control: Control,
    pub(crate) access: AccessLog,
    pub(crate) traces: &'a Traces,
}

/// A running Karst.
#[derive(Debug)]
pub(crate) struct Karst {
    pub(crate) state: ApiState,
    pub(crate) ingest: Arc<Ingest>,
    catalog: Catalog,
    cache: Arc<CachedStore>,
    trail: Trail,
    pub(crate) failover: Failover,
    own_events: OwnEvents,
    /// The locks that keep other servers out of the directories.
    _directories: Directories,
}

/// The values that all steps of the assembly share.
#[derive(Debug, Clone)]
struct Base<'a> {
    options: &'a ServerOptions,
    layers: &'a Layers,
    clock: Arc<dyn Clock>,
    conditions: Health,
    progress: &'a Progress,
    shutdown: &'a Shutdown,
}

impl Base<'_> {
    fn data(&self) -> &Path {
        &self.options.data.data_dir
    }

    /// Sets a health condition for as long as there is a reason for it.
    fn watch(&self, reason: watch::Receiver<Option<Arc<str>>>, condition: &'static str) {
        let (conditions, shutdown) = (self.conditions.clone(), self.shutdown.clone());
        self.shutdown.spawn(status_condition::follow(reason, condition, conditions, shutdown));
    }
}

#[expect(clippy::too_many_lines, reason = "the state of the API is one literal")]
pub(crate) async fn assemble(
    ground: Ground<'_>,
    threads: SearchThreads,
    (shutdown, peers): (&Shutdown, &Shutdown),
) -> Result<(Karst, Cluster)> {
    let Ground {
        options,
        mut cluster,
        leading,
        setup,
        memory,
        directories,
        http,
        store,
        loggers,
        initial,
        progress,
        control,
        access: access_log,
        traces,
    } = ground;
    let Setup { layers, knowledge, authentication, search, ignored } = setup;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let conditions = Health::new(Arc::clone(&clock));
    let base = Base { options, layers: &layers, clock, conditions, progress, shutdown };
    let clock = Arc::clone(&base.clock);
    let mut settings = StepSettings::read(&base, (&memory, &directories), search).await?;
    let metrics_text = MetricsText::install()?;
    script_sandbox::restrict(&mut settings.search, options);
    shutdown.spawn(metrics_text.clone().keep_up(shutdown.clone()));
    metrics::gauge!(names::CATALOG_FENCED).set(0.0);
    metrics::gauge!(names::CATALOG_LEADS).set(0.0);
    let at = (progress, &base.conditions, shutdown);
    let catalog = leading.catalog(&cluster, settings.catalog, &clock, at).await?;
    whole::refuse_if_lost(&store, &catalog.snapshot(), base.data()).await?;
    let own = OwnEventsParts {
        settings: settings.own_events,
        cache_bytes: (settings.cache.dram_bytes, settings.cache.nvme_bytes),
        metrics: metrics_text.clone(),
        log: loggers.file().clone(),
        access: access_log,
        observed: Arc::new(Observed::default()),
    };
    let cache = open_cache(&base, &store, settings.cache).await?;
    base.watch(loggers.file().failing(), health::LOG_UNWRITABLE);
    shutdown.spawn(loggers.file().clone().keep_trying(shutdown.clone()));
    let min_free = settings.ingest.min_free_space;
    let (data, health) = (base.data().to_owned(), base.conditions.clone());
    shutdown.spawn(full_disks::watch((data, min_free), health, shutdown.clone()));
    let shared = cluster.is_one_of_many();
    let kept = settings.search.parts.bundle_retention;
    let of_files = (knowledge, ignored);
    let (apps, not_copied) =
        open_apps(&base, (&catalog, &store), of_files, (min_free, kept), shared).await?;
    let started = apps.knowledge();
    let is_changed = StepSettings::change(&mut settings.search, started.layers(), &memory);
    let knowledge = apps.rules();
    progress.set("recovering the journal");
    let incarnation = begin_incarnation(options, &catalog, &cluster).await?;
    let indexer = incarnation.indexer;
    traces.send(&[
        ("service.instance.id", indexer.to_string()),
        ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("host.name", host_name()),
        ("karst.roles", cluster.roles.names().join(",")),
    ])?;
    // Before the catalog is served: processes that join compare their object store with it.
    leading.identify(&catalog).await?;
    let copies = cluster.serve_early(&catalog, (base.data(), indexer), peers)?;
    failover::wait_until_returned(&catalog, indexer, progress).await?;
    let replicas = copies
        .as_ref()
        .map(|copies| cluster.replicas(&catalog, indexer, (&layers, copies), shutdown));
    let replicas = replicas.transpose()?;
    let parts = ingest::Parts {
        data: base.data().to_owned(),
        indexer,
        store: Arc::clone(&store),
        replicas: replicas.clone(),
        catalog: Arc::new(catalog.clone()),
        knowledge: Arc::clone(&knowledge),
        clock: Arc::clone(&clock),
        settings: settings.ingest,
    };
    let ingest = start_ingest(&base, parts).await?;
    let directory = cluster.directory(&ingest, &catalog, &indexer.to_string(), settings.peers);
    if let Some(directory) = &directory {
        shutdown.spawn(directory.writes().keep(catalog.clone(), shutdown.clone()));
    }
    let others = directory.as_ref().map(|directory| {
        let (directory, catalog) = (directory.clone(), catalog.clone());
        Arc::new(OtherRemovals { directory, catalog, own: indexer.to_string() })
            as Arc<dyn OtherHot>
    });
    let indexes = IndexCatalog::load(catalog.clone(), &knowledge).await?;
    let indexes = Arc::new(indexes.beside(others));
    let hot: Arc<dyn HotDirectory> = match &directory {
        Some(directory) => Arc::new(directory.clone()),
        None => Arc::new(LocalHot(ingest.hot())),
    };
    settings.search.sid_owner = directory.is_some().then(|| indexer.to_string());
    let host = ServerHost::new(Arc::clone(&ingest), &knowledge, management_uri(options))?;
    let host = Arc::new(host);
    let search = SearchService::new(
        Dependencies {
            catalog: catalog.clone(),
            hot,
            views: OpenViews::default(),
            objects: Arc::new(Objects {
                ingest: Arc::clone(&ingest),
                directory: directory.clone(),
                cache: Arc::clone(&cache),
                store: Arc::clone(&store),
            }),
            apps: apps.clone(),
            host: Arc::clone(&host) as Arc<dyn plan::Host>,
            indexes: Arc::clone(&indexes) as Arc<dyn catalog::IndexNames>,
            workers: cluster.indexers(&catalog, &indexer.to_string()),
            clock: Arc::clone(&clock),
            threads,
            tracer: traces.tracer(),
        },
        settings.search,
    )?;
    shutdown.spawn(search.clone().keep_saved_jobs(shutdown.clone()));
    if cluster.is_one_of_many() {
        shutdown.spawn(search.clone().keep_warm(shutdown.clone()));
    }
    let failover = Failover {
        catalog: catalog.clone(),
        store: Arc::clone(&store),
        replicas,
        ingest: Arc::clone(&ingest),
        own: indexer,
        incarnation,
        searches: Arc::new(OwnSearches(search.ended())),
    };
    let timeouts = ::cluster::Settings::read(&layers)?;
    cluster.fail_over(&failover, directory.as_ref(), timeouts, shutdown);
    indexes.resume(&ingest, shutdown);
    let trail = audit::open(audit::Parts {
        data: base.data(),
        layers: &layers,
        catalog: &catalog,
        indexer,
        ingest: &ingest,
        clock: Arc::clone(&clock),
        host: host_name(),
        health: base.conditions.clone(),
    })
    .await?;
    let access =
        Access::load(&base, (&catalog, &cluster), &knowledge, (authentication, &http)).await?;
    let is_first = access.accounts.is_empty();
    let leads = !catalog.follows();
    initial.make(options, &access.accounts, &access.tokens, leads).await?;
    if is_first && leads {
        trail.record_first_start().await?;
    }
    let messages = Arc::<api::Messages>::default();
    let consumers = Arc::new(Consumers {
        ingest: Arc::clone(&ingest),
        indexes: Arc::clone(&indexes),
        permissions: Arc::clone(&access.permissions),
        messages: Arc::clone(&messages),
        clock: Arc::clone(&clock),
        files: (options.conf_dir.clone(), console_address(options)),
        announced: Mutex::default(),
    });
    apps.tell(Arc::new(Teller(Arc::clone(&consumers))));
    let files = ::inputs::monitor::MonitorStatus::default();
    let inputs = inputs::running(options, &layers, &ingest, &indexes, files.clone())?;
    base.watch(inputs.not_running(), health::INPUTS_NOT_RUNNING);
    let state = ApiState {
        search,
        ingest: Arc::clone(&ingest),
        directory,
        copy_fixups: Arc::default(),
        status_streams: api::StatusStreams::default(),
        heads: cluster.others("search-head", &catalog, &indexer.to_string()),
        indexers: cluster.others("indexer", &catalog, &indexer.to_string()),
        accounts: access.accounts,
        roles: access.roles,
        authority: access.authority,
        messages,
        deployment: deployment::start(options, &layers, &clock, shutdown),
        discovery: deployment::discovery(options, &layers)?,
        audit: Arc::clone(&trail.audit),
        server_settings: access.server_settings,
        loggers: Arc::new(loggers),
        control,
        tokens: access.tokens,
        api_tokens: access.api_tokens,
        indexes,
        catalog: catalog.clone(),
        knowledge,
        declared: Arc::new(
            reported::declared(options, memory.flags()).started_with(if is_changed {
                started.layers()
            } else {
                &layers
            }),
        ),
        intake: Arc::new(reported::intake(options, &layers, cluster.roles)),
        apps,
        ending_apps: api::EndingApps::default(),
        app_reports: Arc::clone(&consumers) as Arc<dyn api::AppReports>,
        secrets: access.secrets,
        permissions: access.permissions,
        suppressions: Arc::new(Suppressions::load(catalog.clone())?),
        cache: Arc::new(CacheCounters(Arc::clone(&cache))),
        metrics: Arc::new(metrics_text),
        observations: Arc::clone(&own.observed) as Arc<dyn api::Observations>,
        files,
        inputs,
        info: Arc::new(server_info(options, &cluster, indexer, clock.as_ref(), memory.view())),
        clock,
        shutdown: shutdown.clone(),
        health: base.conditions.clone(),
        request_memory: settings.request_memory,
        settings: access.settings,
        console: Arc::new(EmbeddedConsole::default()),
    };
    host.answer_rest(&state);
    follow_changes(&state, &not_copied);
    let (rules, ignored) = (state.apps.rules(), state.apps.ignored());
    shutdown.spawn_blocking(move || consumers.tell(&rules, &ignored));
    let own_events = own.start(&state, &cache, cluster.roles.names());
    let karst = Karst {
        state,
        ingest,
        catalog,
        cache,
        trail,
        failover,
        own_events,
        _directories: directories,
    };
    Ok((karst, cluster))
}

async fn open_cache(
    base: &Base<'_>,
    store: &Arc<dyn ObjectStore>,
    settings: cache::Settings,
) -> Result<Arc<CachedStore>> {
    let cache = CachedStore::open(Arc::clone(store), settings).await;
    let cache = cache.context("cannot open the cache")?.named(&store_url(base.options));
    if let Some(full) = cache.nvme_full() {
        base.watch(full, health::CACHE_FULL);
    }
    Ok(Arc::new(cache))
}

/// Apps that could not be copied from object storage.
type NotCopied = Vec<(String, apps::Error)>;

/// Copies the installed apps from object storage and reads them.
async fn open_apps(
    base: &Base<'_>,
    (catalog, store): (&Catalog, &Arc<dyn ObjectStore>),
    (knowledge, ignored): (Arc<Knowledge>, Vec<Warning>),
    (min_free, kept): (u64, Duration),
    shared: bool,
) -> Result<(Apps, NotCopied)> {
    base.progress.set("copying installed apps");
    let copies = base.data().join("installed");
    let room = apps::Room::new(move |directory| ingest::spare_bytes(directory, min_free));
    let (catalog, store) = (catalog.clone(), Arc::clone(store));
    let clock = Arc::clone(&base.clock);
    let installed = InstalledApps::new(catalog.clone(), Arc::clone(&store), copies, clock);
    let installed = installed.with_room(room).with_retention(kept);
    let not_copied = installed.copy().await;
    // A copy whose app cannot be read now may be the one that is in force.
    if not_copied.is_empty() {
        installed.remove_old_copies();
    }
    let apps = Apps::open(apps::Parts {
        catalog,
        store,
        knowledge,
        ignored,
        directory: base.options.conf_dir.clone(),
        shared,
        installed: Some(Arc::new(installed)),
        tolerate: installed_apps::tolerate,
    })
    .context("cannot read what is kept beside the files of apps")?;
    Ok((apps, not_copied))
}

/// Replays the journal and starts the pipelines.
async fn start_ingest(base: &Base<'_>, parts: ingest::Parts) -> Result<Arc<Ingest>> {
    base.progress.set("recovering the journal");
    if let Some(replicas) = &parts.replicas {
        base.watch(replicas.lacking(), health::TOO_FEW_COPIES);
    }
    let tell = |step: String| base.progress.set(step);
    let ingest = Ingest::start_reporting(parts, &tell).await.context("cannot start ingest")?;
    base.watch(ingest.not_frozen(), health::BUCKETS_NOT_FROZEN);
    let (conditions, shutdown) = (base.conditions.clone(), base.shutdown.clone());
    base.shutdown.spawn(tell_set_aside(ingest.set_aside(), conditions, shutdown));
    Ok(Arc::new(ingest))
}

/// Follows the changes by other processes: apps, and documents in memory.
fn follow_changes(state: &ApiState, not_copied: &NotCopied) {
    let follower = Arc::new(installed_apps::Follower::default());
    for (app, error) in not_copied {
        tracing::error!(app, %error, "an installed app cannot be copied");
        follower.again();
    }
    let (catalog, shutdown) = (state.catalog.clone(), state.shutdown.clone());
    let is_shared = state.directory.is_some();
    let telling = is_shared
        .then(|| installed_apps::Telling { catalog: catalog.clone(), id: state.info.guid.clone() });
    state.shutdown.spawn(Arc::clone(&follower).run(state.clone(), telling));
    if is_shared {
        let mut documents = kept_documents(state);
        documents.push(follower);
        state.shutdown.spawn(catalog.keep_up(documents, shutdown));
    }
}

/// The identity with which this process runs, once it is certain that no other process runs with it, or has
/// run with it over another directory.
async fn begin_incarnation(
    options: &ServerOptions,
    catalog: &Catalog,
    cluster: &Cluster,
) -> Result<Incarnation> {
    let data = &options.data.data_dir;
    incarnation::end_split(data)?;
    let is_new = incarnation::is_new(data)?;
    let new_instance = options.new_instance || incarnation::is_split(data);
    let known = whole::indexer_id(data, &catalog.snapshot(), new_instance)?;
    if let Some(address) = cluster.runs_elsewhere(catalog, &known.to_string()).await {
        let role = if cluster.roles.indexer { "indexer" } else { "process" };
        anyhow::bail!(incarnation::refusal(role, known, &address, data));
    }
    whole::begin(catalog, known).await?;
    let place = Place {
        host: host_name(),
        data: std::path::absolute(data).unwrap_or_else(|_| data.clone()).display().to_string(),
        address: cluster.address().map(str::to_owned),
        started: now_text(),
    };
    let before = catalog.snapshot();
    let at = (data.as_path(), options.new_instance);
    let incarnation = incarnation::begin(catalog, at, known, &place).await?;
    if is_new {
        former_directory::report(&before, (incarnation.indexer, &place));
    }
    Ok(incarnation)
}

/// Returns the components with documents in memory that other processes may change.
fn kept_documents(state: &ApiState) -> Vec<Arc<dyn Followed>> {
    vec![
        Arc::clone(&state.accounts) as Arc<dyn Followed>,
        Arc::clone(&state.roles) as Arc<dyn Followed>,
        Arc::clone(&state.permissions) as Arc<dyn Followed>,
        Arc::clone(&state.tokens) as Arc<dyn Followed>,
        Arc::clone(&state.api_tokens) as Arc<dyn Followed>,
        Arc::clone(&state.secrets) as Arc<dyn Followed>,
        Arc::clone(&state.suppressions) as Arc<dyn Followed>,
        Arc::clone(&state.server_settings) as Arc<dyn Followed>,
        // Before the objects of apps: an input of them may be for a new index.
        state.indexes.followed(Arc::clone(&state.ingest), state.shutdown.clone()),
        Arc::new(state.apps.clone()),
    ]
}

/// Tells administrators of events that no bucket could hold.
async fn tell_set_aside(
    mut changes: watch::Receiver<ingest::SetAside>,
    conditions: Health,
    shutdown: Shutdown,
) {
    loop {
        let now = changes.borrow_and_update().clone();
        if now.events > 0 {
            let ingest::SetAside { events, directory, reason, .. } = now;
            let directory = directory.display();
            let text = format!(
                "{events} acknowledged events could not be kept in a bucket and are in {directory} (the \
                 last one: {reason}); index them again as docs/operations.md (rejected events) says, or take \
                 what you need, and remove the files before the next start"
            );
            conditions.set(health::EVENTS_SET_ASIDE, Severity::Warning, text);
        }
        tokio::select! {
            () = shutdown.stopped() => return,
            changed = changes.changed() => if changed.is_err() { return },
        }
    }
}

impl Karst {
    /// The catalog.
    pub(crate) fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Whether the cache has yet to be filled with much data, if searches of this process read `share` bytes
    /// of stored data.
    pub(crate) fn starts_cold(&self, share: u64) -> bool {
        self.cache.starts_cold(share)
    }

    /// Another server has the catalog, or that of this process has ended, for the reason: takes nothing in
    /// and changes nothing any more.
    pub(crate) fn fence(&self, reason: &Arc<str>) {
        if self.catalog.has_failed() {
            return self.fence_for(health::CATALOG_ENDED, reason);
        }
        metrics::gauge!(names::CATALOG_FENCED).set(1.0);
        self.fence_for(health::FENCED, reason);
    }

    /// The same where another server has the id of this one.
    pub(crate) fn supersede(&self, reason: &Arc<str>) {
        self.fence_for(health::SUPERSEDED, reason);
    }

    fn fence_for(&self, condition: &'static str, reason: &Arc<str>) {
        self.state.health.set(condition, Severity::Fatal, Arc::clone(reason));
        // Senders see this text, and need not know whose server it is.
        let summary = self.state.health.fatal().map_or("", |condition| condition.summary());
        self.ingest.fence(&Arc::from(summary));
    }

    /// Uploads hot buckets, as far as time allows; the journal keeps the rest. Searches of other processes
    /// (`peers`) read hot buckets here until they are in the catalog.
    pub(crate) async fn close(self, deadline: Duration, peers: &Shutdown) {
        let conditions = self.state.health.conditions();
        let is_of_directory = |name: &str| name == health::DATA_DIRECTORY_LOST;
        // At this point only own events are refused; stored events are valid.
        let is_lost = conditions.iter().any(|condition| is_of_directory(condition.name));
        let fenced = conditions.iter().any(|condition| {
            condition.severity == Severity::Fatal && !is_of_directory(condition.name)
        });
        let own = async {
            self.own_events.close().await;
            self.trail.close().await;
        };
        // Buckets stored now would have no effect: the events belong to another indexer, or are in the
        // journal for the next start.
        let (time, deadline) = match (fenced, is_lost) {
            (true, _) => (FENCED, FENCED),
            (false, true) => (FENCED, deadline),
            (false, false) => (Duration::MAX, deadline),
        };
        let _ = tokio::time::timeout(time, own).await;
        if self.ingest.drain(deadline).await {
            tracing::info!("drained: everything is in object storage");
            // The entry in the list is that of the process which has the id now.
            if !self.failover.incarnation.is_over(&self.catalog.snapshot()) {
                cluster::leave(&self.catalog, &self.state.info.guid).await;
            }
        } else {
            let status = self.ingest.status();
            tracing::warn!(
                buckets = status.uploads.waiting,
                events = status.hot.iter().map(|bucket| bucket.rows).sum::<u64>(),
                waiting_bytes = status.spool.bytes,
                last_error = status.uploads.last_error.as_deref(),
                journal = %self.state.info.home.join("journal").display(),
                "not drained: not everything is in object storage, and the journal has the rest: keep it for \
                 the next start"
            );
        }
        // Rows that are still read from here will be read from object storage.
        let _ = peers.finish(PEERS).await;
        // Neither holds anything that a start after a crash would not find again: a store that does not
        // answer must not keep the process.
        let close_catalog = async {
            // A catalog that another process has taken over cannot be closed; the attempt would only be
            // logged.
            if fenced { Ok(()) } else { self.catalog.close().await }
        };
        let closing = async { tokio::join!(close_catalog, self.cache.close()) };
        let Ok((catalog, cache)) = tokio::time::timeout(CLOSE, closing).await else {
            tracing::warn!("catalog and cache did not close in time; the next start recovers them");
            return;
        };
        match catalog {
            // The take-over has been logged, and is not a failure of closing.
            Ok(()) | Err(catalog::Error::Fenced { .. }) => {}
            Err(error) => {
                tracing::warn!(%error, "cannot close the catalog; the next start recovers it")
            }
        }
        if let Err(error) = cache {
            tracing::warn!(%error, "cannot close the cache; its latest blocks are lost");
        }
    }
}

/// Creates an empty directory for the temporary files of searches. Existing files are from a server that was
/// killed.
async fn spill_directory(data: &Path) -> Result<PathBuf> {
    let directory = data.join("spill");
    let cleared = match tokio::fs::remove_dir_all(&directory).await {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => tokio::fs::create_dir_all(&directory).await,
    };
    cleared.with_context(|| format!("cannot clear {}", directory.display()))?;
    Ok(directory)
}

/// Returns the URL of the object store.
pub(crate) fn store_url(options: &ServerOptions) -> String {
    let default = || options.data.data_dir.join("objects").display().to_string();
    options.object_store.clone().unwrap_or_else(default)
}

fn api_settings(http: &HttpServer) -> api::Settings {
    api::Settings {
        max_content_length: http.max_content_length,
        max_form_parameters: http.max_form_parameters,
        max_upload_bytes: http.uploads.max_mb.saturating_mul(1 << 20),
        max_status_streams: http.max_status_streams,
        hsts: http.hsts,
        metrics_token: http.metrics_token.clone(),
        ..api::Settings::default()
    }
}

fn server_info(
    options: &ServerOptions,
    cluster: &Cluster,
    indexer: model::IndexerId,
    clock: &dyn Clock,
    memory: MemoryLimits,
) -> ServerInfo {
    let data = &options.data.data_dir;
    ServerInfo {
        home: std::path::absolute(data).unwrap_or_else(|_| data.clone()),
        management_port: options.management_address.port(),
        web_port: options.web_address.port(),
        web_tls: options.web_tls.at(options.web_address),
        server_name: cluster.name.clone(),
        host: host_name(),
        guid: indexer.to_string(),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        startup_time: clock.now().0 / 1_000_000,
        memory,
        site: cluster.site.clone(),
        placement: cluster.placement.clone(),
    }
}

/// Returns the address of the console for browsers, as far as the server knows it.
pub(crate) fn console_address(options: &ServerOptions) -> access::Console {
    let address = options.web_address;
    let host = match address {
        _ if address.ip().is_unspecified() => host_name(),
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    };
    access::Console { host, port: address.port(), tls: options.web_tls.at(address) }
}

/// The host name from the kernel.
pub(crate) fn host_name() -> String {
    let from_kernel = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let from_command = || {
        let output = std::process::Command::new("hostname").output().ok()?;
        String::from_utf8(output.stdout).ok()
    };
    let name = from_kernel.or_else(from_command).unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "localhost".to_owned() } else { name.to_owned() }
}
