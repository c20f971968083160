//! Tests of the lease: who may take it, and when.

#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicBool, Ordering};

use object_store::memory::InMemory;
use tokio::sync::Notify;

use super::*;

/// So long that no test waits for it.
const LONG: LeaseSettings = renewed_every(Duration::from_secs(50));
const SHORT: LeaseSettings = renewed_every(Duration::from_millis(20));

const fn renewed_every(renewal: Duration) -> LeaseSettings {
    LeaseSettings { renewal, heartbeat: renewal }
}

fn store() -> Arc<dyn ObjectStore> {
    Arc::new(InMemory::new())
}

/// A process of an installation, over the lock of that name.
fn server(instance: &str, nonce: &str, lock: &str) -> Holder {
    Holder {
        instance: instance.to_owned(),
        nonce: nonce.to_owned(),
        lock: Some(lock.to_owned()),
        host: "one".to_owned(),
        pid: 7,
        started: "2026-11-22T22:00:00Z".to_owned(),
        management: "https://127.0.0.1:8089".to_owned(),
        data: "/data".to_owned(),
    }
}

/// The lease, and whether it had to be waited for.
async fn take(
    store: &Arc<dyn ObjectStore>,
    holder: Holder,
    settings: LeaseSettings,
) -> (Result<Lease>, bool) {
    let waited = AtomicBool::new(false);
    let note = |_: &Holder, _| waited.store(true, Ordering::SeqCst);
    let lease = Lease::take(Arc::clone(store), holder, settings, false, note).await;
    (lease, waited.into_inner())
}

/// What a server gets that looks at a lease while it is renewed.
async fn take_beside(live: &mut Lease, holder: Holder) -> Result<Lease> {
    let (store, looking) = (Arc::clone(&live.store), Arc::new(Notify::new()));
    let begun = Arc::clone(&looking);
    let taking = tokio::spawn(async move {
        Lease::take(store, holder, LONG, false, |_, _| begun.notify_one()).await
    });
    looking.notified().await;
    live.renew().await.ok().unwrap();
    taking.await.unwrap()
}

#[tokio::test]
async fn a_live_server_keeps_its_lease_against_another() {
    let mut live = take(&store(), server("a", "1", "lock a"), LONG).await.0.unwrap();
    let refused = take_beside(&mut live, server("b", "2", "lock b")).await.unwrap_err();
    assert!(matches!(&refused, Error::Held { by } if by.nonce == "1"), "{refused}");
    assert!(refused.to_string().contains("--take-over"), "{refused}");
    live.renew().await.ok().unwrap();
}

#[tokio::test]
async fn a_copied_data_directory_is_another_server() {
    let mut live = take(&store(), server("a", "1", "lock a"), LONG).await.0.unwrap();
    let refused = take_beside(&mut live, server("a", "2", "lock of the copy")).await.unwrap_err();
    assert!(matches!(refused, Error::Held { .. }), "{refused}");
}

#[tokio::test]
async fn a_lease_that_stands_still_is_taken_after_the_window() {
    let store = store();
    let dead = take(&store, server("a", "1", "lock a"), SHORT).await.0.unwrap();
    let window = dead.document.window();
    let begin = Instant::now();
    let (lease, waited) = take(&store, server("b", "2", "lock b"), SHORT).await;
    assert!(lease.is_ok() && waited);
    assert!(begin.elapsed() >= window);
}

#[tokio::test]
async fn the_same_installation_does_not_wait_for_its_dead_process() {
    let store = store();
    let _dead = take(&store, server("a", "1", "lock a"), LONG).await.0.unwrap();
    let (lease, waited) = take(&store, server("a", "2", "lock a"), LONG).await;
    assert!(lease.is_ok() && !waited);
}

#[tokio::test]
async fn a_stopped_server_leaves_no_lease() {
    let store = store();
    take(&store, server("a", "1", "lock a"), LONG).await.0.unwrap().release().await;
    let (lease, waited) = take(&store, server("b", "2", "lock b"), LONG).await;
    assert!(lease.is_ok() && !waited);
}

#[tokio::test]
async fn a_take_over_is_told_to_who_had_it_and_who_leaves_the_lease_alone() {
    let store = store();
    let mut first = take(&store, server("a", "1", "lock a"), SHORT).await.0.unwrap();
    let second = server("b", "2", "lock b");
    let second = Lease::take(Arc::clone(&store), second, LONG, true, |_, _| {}).await.unwrap();
    let lost = first.renew().await;
    assert!(matches!(lost, Err(Renewal::Lost(holder)) if holder.nonce == "2"));
    first.release().await;
    let left = read(store.as_ref()).await.unwrap().unwrap();
    assert_eq!(left.document, second.document);
}

#[tokio::test]
async fn keeping_a_lease_ends_when_it_is_lost() {
    let store = store();
    let first = take(&store, server("a", "1", "lock a"), SHORT).await.0.unwrap();
    let second = server("b", "2", "lock b");
    Lease::take(Arc::clone(&store), second, LONG, true, |_, _| {}).await.unwrap();
    let Err(Lost::To(holder)) = first.keep(&Shutdown::new()).await else { panic!("still kept") };
    assert_eq!(holder.nonce, "2");
}

#[tokio::test(start_paused = true)]
async fn who_loses_the_lease_to_a_take_over_knows_it_before_the_grace_ends() {
    let store = store();
    let first = take(&store, server("a", "1", "lock a"), LONG).await.0.unwrap();
    assert_eq!(first.grace(), Duration::ZERO);
    let shutdown = Shutdown::new();
    let keeping = tokio::spawn({
        let shutdown = shutdown.clone();
        async move { first.keep(&shutdown).await }
    });
    // Just after a renewal, so that the next one is a whole interval away.
    sleep(LONG.renewal + Duration::from_millis(1)).await;
    let second = server("b", "2", "lock b");
    let second = Lease::take(Arc::clone(&store), second, SHORT, true, |_, _| {}).await.unwrap();
    sleep(LONG.renewal / 2).await;
    assert!(!keeping.is_finished(), "it has not looked yet");
    sleep(second.grace() - LONG.renewal / 2).await;
    assert!(keeping.is_finished());
    assert!(matches!(keeping.await.unwrap(), Err(Lost::To(holder)) if holder.nonce == "2"));
    // It ends before it has opened the catalog: its next start has to wait, too, also one after that.
    let again = server("b", "3", "lock b");
    let mut again = Lease::take(Arc::clone(&store), again, SHORT, true, |_, _| {}).await.unwrap();
    assert_eq!(again.grace(), second.grace());
    again.renew().await.ok().unwrap();
    let third = server("b", "4", "lock b");
    let mut third = Lease::take(Arc::clone(&store), third, SHORT, false, |_, _| {}).await.unwrap();
    assert_eq!(third.grace(), second.grace());
    // The lock proves that the process before this one is gone.
    sleep(third.grace()).await;
    third.renew().await.ok().unwrap();
    let last = server("b", "5", "lock b");
    let last = Lease::take(store, last, SHORT, true, |_, _| {}).await.unwrap();
    assert_eq!(last.grace(), Duration::ZERO);
}

#[tokio::test]
async fn a_lease_that_was_deleted_is_written_again() {
    let store = store();
    let mut lease = take(&store, server("a", "1", "lock a"), LONG).await.0.unwrap();
    store.delete(&Path::from(PLACE)).await.unwrap();
    lease.renew().await.ok().unwrap();
    lease.renew().await.ok().unwrap();
    assert!(read(store.as_ref()).await.unwrap().is_some());
}

#[tokio::test]
async fn a_standby_sees_how_long_the_lease_has_not_changed() {
    let store = store();
    let mut watch = LeaseWatch::new(Arc::clone(&store));
    assert!(
        watch.take(server("b", "2", "lock b"), LONG).await.unwrap().is_none(),
        "it has not looked"
    );
    assert_eq!(watch.look().await.unwrap(), Seen::Free);
    let mut live = take(&store, server("a", "1", "lock a"), LONG).await.0.unwrap();
    let still = |seen: Seen| match seen {
        Seen::Still { since, renewal } => (since, renewal),
        Seen::Free => panic!("it is held"),
    };
    let (first, renewal) = still(watch.look().await.unwrap());
    assert_eq!(renewal, LONG.renewal);
    sleep(Duration::from_millis(30)).await;
    let (second, _) = still(watch.look().await.unwrap());
    assert!(second >= first + Duration::from_millis(30));
    live.renew().await.ok().unwrap();
    let seen = Instant::now();
    let (third, _) = still(watch.look().await.unwrap());
    assert!(third <= seen.elapsed(), "it counts from the look that found the change");
}

#[tokio::test]
async fn of_two_standbys_one_takes_the_lease_and_the_holder_loses_it() {
    let store = store();
    let mut live = take(&store, server("a", "1", "lock a"), LONG).await.0.unwrap();
    let mut standbys = [LeaseWatch::new(Arc::clone(&store)), LeaseWatch::new(Arc::clone(&store))];
    for standby in &mut standbys {
        standby.look().await.unwrap();
    }
    let new = standbys[0].take(server("b", "2", "lock b"), SHORT).await.unwrap().unwrap();
    assert!(standbys[1].take(server("c", "3", "lock c"), SHORT).await.unwrap().is_none());
    assert!(matches!(live.renew().await, Err(Renewal::Lost(holder)) if holder.nonce == "2"));
    new.release().await;
    assert_eq!(standbys[1].look().await.unwrap(), Seen::Free);
    standbys[1].take(server("c", "3", "lock c"), SHORT).await.unwrap().unwrap();
    assert!(standbys[0].take(server("b", "4", "lock b"), SHORT).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn why_a_lease_is_not_renewed_is_known_until_it_is() {
    let failing = Arc::new(testkit::FailingStore::new(store()));
    let shared = Arc::clone(&failing) as Arc<dyn ObjectStore>;
    let lease = take(&shared, server("a", "1", "lock"), SHORT).await.0.unwrap();
    let renewals = lease.renewals();
    let shutdown = Shutdown::new();
    let keeping = tokio::spawn({
        let shutdown = shutdown.clone();
        async move { lease.keep(&shutdown).await }
    });
    failing.hooks().fail(testkit::Moment::Before);
    while renewals.overdue().is_none() {
        sleep(SHORT.renewal).await;
    }
    let reason = renewals.reason().unwrap();
    assert!(reason.contains("told to fail"), "{reason}");
    failing.hooks().heal();
    while renewals.overdue().is_some() {
        sleep(SHORT.renewal).await;
    }
    shutdown.stop();
    drop(keeping.await.unwrap().unwrap());
    assert_eq!(renewals.reason(), None, "nobody keeps it");
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_not_renewed_for_ten_seconds_is_overdue() {
    let store = store();
    let mut lease = take(&store, server("a", "1", "lock"), SHORT).await.0.unwrap();
    let renewals = lease.renewals();
    tokio::time::advance(Duration::from_secs(9)).await;
    assert_eq!(renewals.overdue(), None);
    lease.renew().await.ok().unwrap();
    tokio::time::advance(Duration::from_secs(9)).await;
    assert_eq!(renewals.overdue(), None);
    let began = Instant::now();
    let age = renewals.clone().until_overdue().await;
    assert_eq!((age, began.elapsed()), (UNRENEWED, Duration::from_secs(1)));
    // At once if nobody keeps it any more.
    lease.renew().await.ok().unwrap();
    assert_eq!(renewals.overdue(), None);
    let (began, waiting) = (Instant::now(), tokio::spawn(renewals.clone().until_overdue()));
    tokio::task::yield_now().await;
    drop(lease);
    waiting.await.unwrap();
    assert!(renewals.overdue().is_some());
    assert_eq!(began.elapsed(), Duration::ZERO);
}
