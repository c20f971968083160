//! Jobs in object storage: saved at one search head, read at another one, removed when their time is over.

use std::sync::Arc;
use std::time::Duration;

use cache::SearchReads;
use catalog::Catalog;
use futures::future::BoxFuture;
use futures::{TryStreamExt, poll};
use karst_search::{
    Error, Job, JobRequest, Keeping, MessageKind, Objects, SearchService, Settings, is_saved_job,
};
use knowledge::Knowledge;
use model::{EventTime, IndexName};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use runtime::{Clock, ManualClock, SystemClock};
use testkit::{FailingStore, Moment};

use crate::support::{dependencies, hot, log_event, open, with_settings};

const DAY: Duration = Duration::from_secs(86_400);
const EVENTS: &str = "search index=main | fields - source";
const REPORT: &str =
    "search index=main | stats count, values(user) as users, avg(ms) as ms by host";

#[derive(Debug)]
struct Stored(Arc<dyn ObjectStore>);

impl Objects for Stored {
    fn counted(&self, _: &Arc<SearchReads>) -> Arc<dyn ObjectStore> {
        Arc::clone(&self.0)
    }

    fn direct(&self) -> Option<Arc<dyn ObjectStore>> {
        Some(Arc::clone(&self.0))
    }
}

/// Search heads over one catalog and one store.
struct Cluster {
    catalog: Catalog,
    store: Arc<FailingStore>,
    clock: Arc<ManualClock>,
    settings: Settings,
}

impl Cluster {
    async fn new(settings: Settings) -> Self {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let catalog = open(&store).await;
        // Stores say by the clock of the machine when an object was written.
        let clock = Arc::new(ManualClock::new(SystemClock.now()));
        Self { catalog, store: Arc::new(FailingStore::new(store)), clock, settings }
    }

    /// A search head that has no job, as after a restart.
    fn head(&self) -> SearchService {
        let objects = Arc::new(Stored(Arc::clone(&self.store) as Arc<dyn ObjectStore>));
        let events: Vec<_> = (0..50).map(log_event).collect();
        let names = vec![IndexName::new("main").unwrap()];
        let knowledge = Arc::new(Knowledge::builtin());
        let catalog = self.catalog.clone();
        let mut parts = dependencies(catalog, vec![hot(&events)], objects, &knowledge, names);
        parts.clock = Arc::clone(&self.clock) as Arc<dyn Clock>;
        with_settings(parts, self.settings.clone())
    }

    async fn objects(&self) -> Vec<Path> {
        let root = Path::from("saved_jobs");
        let listed = self.store.list(Some(&root)).map_ok(|object| object.location);
        listed.try_collect().await.unwrap()
    }

    fn is_known(&self, job: &Job) -> bool {
        is_saved_job(&self.catalog.snapshot(), job.sid())
    }
}

async fn done(head: &SearchService, search: &str) -> Arc<Job> {
    let request = JobRequest {
        label: Some("my search".to_owned()),
        status_buckets: 300,
        ..JobRequest::new(search, "ann")
    };
    let job = head.dispatch(request).await.unwrap();
    job.finished().await.unwrap();
    job
}

async fn save(head: &SearchService, job: &Arc<Job>) -> Result<(), Error> {
    head.keep_job(job, Keeping::Saved(7 * DAY)).await
}

/// What a search of the other head finds in the results of a job.
async fn rows_of_loadjob(head: &SearchService, name: &str) -> Result<usize, Error> {
    let search = format!("| loadjob \"{name}\"");
    let job = head.dispatch(JobRequest::new(search, "ann")).await?;
    job.finished().await?;
    Ok(job.result_count())
}

fn warnings(job: &Job) -> Vec<String> {
    let warnings = job.messages().into_iter().filter(|one| one.kind == MessageKind::Warning);
    warnings.map(|message| message.text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_saved_job_shows_the_same_at_another_head() {
    let cluster = Cluster::new(Settings::default()).await;
    for search in [EVENTS, REPORT, "search index=main user=nobody", "| makeresults | eval a=1"] {
        let (one, two) = (cluster.head(), cluster.head());
        let job = done(&one, search).await;
        assert!(two.saved_job(job.sid()).is_none(), "{search}");
        save(&one, &job).await.unwrap();
        let listed = two.saved_job(job.sid()).unwrap();
        assert!(listed.lacks_rows() && listed.is_saved(), "{search}");
        let loaded = two.load_job(job.sid()).await.unwrap().unwrap();
        for other in [&listed, &loaded] {
            assert_eq!(other.request().search, search);
            assert_eq!(other.request().label, job.request().label);
            assert_eq!(other.normalized_search(), job.normalized_search());
            assert_eq!((other.created(), other.range()), (job.created(), job.range()), "{search}");
            assert_eq!(other.status().state, job.status().state);
            assert_eq!(other.result_count(), job.result_count(), "{search}");
            assert_eq!(other.event_count(), job.event_count(), "{search}");
            assert_eq!(other.counts().events_scanned, job.counts().events_scanned, "{search}");
            assert_eq!(other.messages(), job.messages(), "{search}");
            assert_eq!(other.ttl(), 7 * DAY);
        }
        let (expected, shown) = (job.page(0, 100), loaded.page(0, 100));
        assert_eq!((&shown.fields, &shown.rows), (&expected.fields, &expected.rows), "{search}");
        let (expected, shown) = (job.page(3, 7), loaded.page(3, 7));
        assert_eq!((&shown.fields, &shown.rows), (&expected.fields, &expected.rows), "{search}");
        assert_eq!(loaded.field_summary(10, None), job.field_summary(10, None), "{search}");
        let bins = |job: &Job| job.timeline().unwrap().bins().collect::<Vec<_>>();
        assert_eq!(bins(&loaded), bins(&job), "{search}");
        let inspected = |job: &Job| {
            let inspection = job.inspect();
            let phases: Vec<_> = inspection.phases.iter().map(|phase| phase.name).collect();
            let plans: Vec<_> = inspection
                .plans
                .iter()
                .map(|plan| (plan.name.clone(), plan.detail.clone()))
                .collect();
            (phases, plans, format!("{:?}", inspection.scan))
        };
        assert_eq!(inspected(&loaded), inspected(&job), "{search}");
        assert_eq!(rows_of_loadjob(&two, job.sid()).await.unwrap(), job.result_count(), "{search}");
        two.remove_job(job.sid()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_saved_job_keeps_the_times_of_its_request() {
    let cluster = Cluster::new(Settings::default()).await;
    let (one, two) = (cluster.head(), cluster.head());
    let request = JobRequest {
        index_earliest: Some("-1h".to_owned()),
        index_latest: Some("now".to_owned()),
        now: Some(EventTime(1_800_000_000_000_000)),
        ..JobRequest::new("| makeresults", "ann")
    };
    let job = one.dispatch(request.clone()).await.unwrap();
    job.finished().await.unwrap();
    save(&one, &job).await.unwrap();
    let saved = two.saved_job(job.sid()).unwrap();
    let kept = saved.request();
    assert_eq!(kept.index_earliest, request.index_earliest);
    assert_eq!((&kept.index_latest, kept.now), (&request.index_latest, request.now));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_saved_job_is_found_by_the_name_of_its_search_and_listed_once() {
    let cluster = Cluster::new(Settings::default()).await;
    let (one, two) = (cluster.head(), cluster.head());
    let older = done(&one, "| makeresults count=2").await;
    save(&one, &older).await.unwrap();
    cluster.clock.advance(Duration::from_secs(1));
    let newer = done(&one, "| makeresults count=3").await;
    save(&one, &newer).await.unwrap();
    for name in ["my search", "ann:search:my search"] {
        assert_eq!(rows_of_loadjob(&two, name).await.unwrap(), 3);
    }
    let sids: Vec<_> = two.saved_jobs().iter().map(|job| job.sid().to_owned()).collect();
    assert_eq!(sids, [newer.sid(), older.sid()]);
    // Its own head has them itself.
    assert!(one.saved_jobs().is_empty());
    let again =
        JobRequest { sid: Some(newer.sid().to_owned()), ..JobRequest::new("| makeresults", "ann") };
    let error = two.dispatch(again).await.unwrap_err().to_string();
    assert!(error.contains("exists already"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_job_is_not_found_before_it_is_removed() {
    let cluster = Cluster::new(Settings::default()).await;
    let head = cluster.head();
    let (sid, ttl) = (Some("report".to_owned()), Some(Duration::from_secs(60)));
    let request = JobRequest { sid, ttl, ..JobRequest::new("| makeresults", "ann") };
    let job = head.dispatch(request).await.unwrap();
    job.finished().await.unwrap();
    cluster.clock.advance(Duration::from_secs(60));
    assert!(head.job("report").is_some());
    cluster.clock.advance(Duration::from_secs(1));
    assert!(head.job("report").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_kept_for_long_is_stored_and_one_that_runs_is_when_it_ends() {
    let cluster = Cluster::new(Settings::default()).await;
    let head = cluster.head();
    let short = done(&head, EVENTS).await;
    head.keep_job(&short, Keeping::For(Duration::from_secs(3_599))).await.unwrap();
    let long = done(&head, EVENTS).await;
    head.keep_job(&long, Keeping::For(Duration::from_secs(3_600))).await.unwrap();
    assert_eq!((cluster.is_known(&short), cluster.is_known(&long)), (false, true));
    let running = head.dispatch(JobRequest::new(EVENTS, "ann")).await.unwrap();
    save(&head, &running).await.unwrap();
    running.finished().await.unwrap();
    head.saved_pass().await;
    assert!(cluster.is_known(&running));
    // Not saved any more: it stays for the time that was said.
    let unsaved = Keeping::Unsaved(Duration::from_secs(600));
    head.keep_job(&running, unsaved).await.unwrap();
    let other = cluster.head();
    assert!(!other.saved_job(running.sid()).unwrap().is_saved());
    cluster.clock.advance(Duration::from_secs(700));
    assert!(other.saved_job(running.sid()).is_none() && other.saved_job(long.sid()).is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_over_is_removed_and_what_is_used_stays() {
    let cluster = Cluster::new(Settings::default()).await;
    let (one, two) = (cluster.head(), cluster.head());
    let (used, unused) = (done(&one, EVENTS).await, done(&one, EVENTS).await);
    for job in [&used, &unused] {
        one.keep_job(job, Keeping::Saved(DAY)).await.unwrap();
    }
    assert_eq!(cluster.objects().await.len(), 2);
    // A head that has died uses nothing.
    drop(one);
    for _ in 0..6 {
        cluster.clock.advance(DAY / 5);
        let _ = two.load_job(used.sid()).await.unwrap().unwrap().page(0, 1);
        two.saved_pass().await;
    }
    assert_eq!((cluster.is_known(&used), cluster.is_known(&unused)), (true, false));
    assert_eq!(cluster.objects().await.len(), 1);
    cluster.clock.advance(2 * DAY);
    assert!(two.load_job(used.sid()).await.unwrap().is_none());
    two.saved_pass().await;
    assert!(!cluster.is_known(&used) && cluster.objects().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_without_a_document_are_removed_after_an_hour() {
    let cluster = Cluster::new(Settings::default()).await;
    let head = cluster.head();
    let job = done(&head, EVENTS).await;
    save(&head, &job).await.unwrap();
    let orphan = Path::from(format!("saved_jobs/gone/{}", "0a".repeat(16)));
    let other = Path::from("saved_jobs/of-somebody-else");
    for path in [&orphan, &other] {
        cluster.store.put(path, "rows".into()).await.unwrap();
    }
    head.saved_pass().await;
    assert_eq!(cluster.objects().await.len(), 3);
    cluster.clock.set(EventTime(SystemClock.now().0 + 3_700_000_000));
    // The one that looked lately does not look again.
    head.saved_pass().await;
    assert_eq!(cluster.objects().await.len(), 3);
    cluster.head().saved_pass().await;
    let left = cluster.objects().await;
    assert!(left.len() == 2 && !left.contains(&orphan), "{left:?}");
    assert!(cluster.is_known(&job));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_removed_at_another_head_goes_from_its_own() {
    let cluster = Cluster::new(Settings::default()).await;
    let (one, two) = (cluster.head(), cluster.head());
    let job = done(&one, EVENTS).await;
    save(&one, &job).await.unwrap();
    assert!(two.remove_job(job.sid()).await.unwrap());
    assert!(!cluster.is_known(&job) && cluster.objects().await.is_empty());
    assert!(two.load_job(job.sid()).await.unwrap().is_none());
    one.saved_pass().await;
    assert!(one.job(job.sid()).is_none() && !cluster.is_known(&job));
    assert!(!two.remove_job(job.sid()).await.unwrap());
}

/// A job with an id that its client has chosen.
async fn named_mine(head: &SearchService, owner: &str) -> Arc<Job> {
    let sid = Some("mine".to_owned());
    let request = JobRequest { sid, ..JobRequest::new("| makeresults", owner) };
    let job = head.dispatch(request).await.unwrap();
    job.finished().await.unwrap();
    job
}

#[tokio::test(flavor = "multi_thread")]
async fn a_saved_job_is_not_replaced_or_removed_by_another_one_with_its_id() {
    let cluster = Cluster::new(Settings::default()).await;
    let (one, two) = (cluster.head(), cluster.head());
    // No search head knows the other's job.
    let (ann, bob) = (named_mine(&one, "ann").await, named_mine(&two, "bob").await);
    save(&one, &ann).await.unwrap();
    for _ in 0..2 {
        let error = save(&two, &bob).await.unwrap_err();
        assert!(matches!(error, Error::SavedElsewhere { .. }), "{error}");
        assert_eq!(error.kind(), model::ErrorKind::Conflict);
    }
    assert!(warnings(&bob)[0].contains("saved a job with the id \"mine\" already"));
    assert!(two.remove_job("mine").await.unwrap() && two.job("mine").is_none());
    assert_eq!(cluster.objects().await.len(), 1);
    let kept = cluster.head().load_job("mine").await.unwrap().unwrap();
    assert_eq!((kept.request().owner.as_str(), kept.result_count()), ("ann", 1));
    // One whose time is over is replaced, also before it is removed.
    cluster.clock.advance(8 * DAY);
    let three = cluster.head();
    let bob = named_mine(&three, "bob").await;
    save(&three, &bob).await.unwrap();
    assert_eq!(cluster.head().saved_job("mine").unwrap().request().owner, "bob");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_id_another_one_has_since_changes_nothing_of_it() {
    let cluster = Cluster::new(Settings::default()).await;
    let (one, two) = (cluster.head(), cluster.head());
    let ann = named_mine(&one, "ann").await;
    save(&one, &ann).await.unwrap();
    assert!(cluster.head().remove_job("mine").await.unwrap());
    let bob = named_mine(&two, "bob").await;
    save(&two, &bob).await.unwrap();
    let shared = one.share_job(&ann, vec!["*".to_owned()]).await;
    assert!(matches!(shared, Err(Error::UnknownJob)), "{shared:?}");
    one.saved_pass().await;
    assert!(one.job("mine").is_none(), "it was removed elsewhere");
    assert_eq!(cluster.head().saved_job("mine").unwrap().request().owner, "bob");
}

/// Begins to save a job at `head`, whose object is not written before the store is healed.
async fn being_saved<'a>(
    cluster: &Cluster,
    head: &'a SearchService,
    job: &'a Arc<Job>,
    time: Duration,
) -> BoxFuture<'a, Result<(), Error>> {
    cluster.store.hooks().hold_below("saved_jobs/");
    let mut saving = Box::pin(head.keep_job(job, Keeping::Saved(time)));
    assert!(poll!(saving.as_mut()).is_pending());
    saving
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_does_not_cancel_a_job_that_has_the_id_of_an_expired_one() {
    let cluster = Cluster::new(Settings::default()).await;
    let head = cluster.head();
    let ann = named_mine(&head, "ann").await;
    head.keep_job(&ann, Keeping::Saved(Duration::from_secs(60))).await.unwrap();
    cluster.clock.advance(Duration::from_secs(1));
    let newer = done(&head, EVENTS).await;
    let saving = being_saved(&cluster, &head, &newer, 7 * DAY).await;
    // The pass has the list of jobs, and waits for the newer one.
    let mut pass = Box::pin(head.saved_pass());
    assert!(poll!(pass.as_mut()).is_pending());
    cluster.clock.advance(DAY);
    let bob = named_mine(&head, "bob").await;
    cluster.store.hooks().heal();
    let (saved, ()) = tokio::join!(saving, pass);
    saved.unwrap();
    assert!(head.job("mine").is_some_and(|job| Arc::ptr_eq(&job, &bob)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_does_not_cancel_a_job_that_has_the_id_of_an_expired_one() {
    let cluster = Cluster::new(Settings::default()).await;
    let head = cluster.head();
    let ann = named_mine(&head, "ann").await;
    let saving = being_saved(&cluster, &head, &ann, Duration::from_secs(60)).await;
    let mut removal = Box::pin(head.remove_job("mine"));
    assert!(poll!(removal.as_mut()).is_pending());
    cluster.clock.advance(DAY);
    let bob = named_mine(&head, "bob").await;
    cluster.store.hooks().heal();
    let (_, removed) = tokio::join!(saving, removal);
    removed.unwrap();
    assert!(head.job("mine").is_some_and(|job| Arc::ptr_eq(&job, &bob)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_cannot_be_stored_says_so_and_is_tried_again_when_asked() {
    let cluster = Cluster::new(Settings::default()).await;
    let head = cluster.head();
    let job = done(&head, REPORT).await;
    cluster.store.hooks().fail_below(Moment::Before, "saved_jobs/");
    let error = save(&head, &job).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error}");
    assert!(job.is_saved() && !cluster.is_known(&job));
    assert!(
        warnings(&job)[0].contains("at the search head that ran it only"),
        "{:?}",
        warnings(&job)
    );
    cluster.store.hooks().heal();
    save(&head, &job).await.unwrap();
    assert!(cluster.is_known(&job) && warnings(&job).is_empty());
    // Its object cannot be read.
    cluster.store.hooks().fail_below(Moment::Before, "saved_jobs/");
    let other = cluster.head();
    let error = other.load_job(job.sid()).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error}");
    cluster.store.hooks().heal();
    assert_eq!(other.load_job(job.sid()).await.unwrap().unwrap().result_count(), 3);
    let object = cluster.objects().await.remove(0);
    cluster.store.put(&object, "something else".into()).await.unwrap();
    let error = cluster.head().load_job(job.sid()).await.unwrap_err();
    assert!(matches!(error, Error::StoredJob { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_are_said_and_the_job_stays_at_its_head() {
    let none = Settings { max_saved_jobs: 0, ..Settings::default() };
    let small = Settings { saved_result_bytes: 100, ..Settings::default() };
    for (settings, name) in [(none, "max_saved_jobs"), (small, "max_saved_result_mb")] {
        let cluster = Cluster::new(settings).await;
        let head = cluster.head();
        let job = done(&head, EVENTS).await;
        let error = save(&head, &job).await.unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
        assert!(warnings(&job)[0].contains("it is not tried again by itself"));
        head.saved_pass().await;
        assert!(job.is_saved() && !cluster.is_known(&job) && head.job(job.sid()).is_some());
        assert!(cluster.objects().await.is_empty());
    }
}
