//! Searches: which events a search head finds, by the rules of `peers` and `search/hot_rows.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use catalog::{Catalog, Snapshot};
use futures::future::join_all;
use model::{BucketId, IndexerId};
use peers::Registration;
use tokio::time::timeout;

use crate::Mutant;
use crate::control::{Followed, UNRENEWED};
use crate::disk::SetKey;
use crate::failover::id_of;
use crate::hot::Shown;
use crate::network::{self, Answer, Request};
use crate::process::{Life, Pid};
use crate::world::{World, identity, process};

/// Maximum time for an answer of an indexer.
const ANSWER: Duration = Duration::from_secs(2);
/// Maximum time that a search waits until its catalog has the commits of the indexers.
const LAG: Duration = Duration::from_secs(5);
/// Maximum number of attempts to get a complete view.
const ATTEMPTS: usize = 3;
/// After this time without news of the control plane, the list of indexers counts as stale.
const HEARD: Duration = Duration::from_secs(10);

/// The hot buckets of an indexer.
#[derive(Debug, Clone, Default)]
pub(crate) struct View {
    /// The identity of the process.
    id: Option<IndexerId>,
    /// The catalog write that includes all buckets which have left the indexers.
    floor: u64,
    buckets: Vec<Shown>,
    /// The epochs in which sets of other indexers were read.
    adopted: Vec<(IndexerId, BTreeMap<u16, u64>)>,
    /// The indexers that were asked, with ID and address.
    asked: Vec<(String, String)>,
}

/// The hot buckets of a process.
pub(crate) fn view_of(world: &World, own: Pid) -> View {
    let Some(indexer) = world.indexer(own) else { return View::default() };
    let memory = indexer.memory.lock();
    let buckets = memory.hot.shown();
    let adopted = memory.hot.adopted.clone().into_iter().collect();
    let floor = indexer.catalog.snapshot().number();
    View { id: Some(indexer.id), floor, buckets, adopted, asked: Vec::new() }
}

/// Runs the search head.
pub(crate) async fn run(world: Arc<World>, life: Life) {
    let (followed, catalog) = Followed::begin(&world, &life);
    followed.ready().await;
    world.open(life.pid);
    loop {
        world.sleep(200, 1500).await;
        search(&world, &life, &followed, &catalog).await;
    }
}

/// The reasons why the result of a search is incomplete.
#[derive(Debug, Default)]
struct Missing(Vec<String>);

async fn search(world: &Arc<World>, life: &Life, followed: &Followed, catalog: &Catalog) {
    let (before, losses) = (world.losses(), world.losses());
    // The leader may have changed since the process that is followed last renewed its lease.
    let heard = followed.heard().saturating_sub(UNRENEWED);
    let expected = world.truth(|truth| {
        let mut safe = truth.safe(&losses);
        safe.retain(|number| truth.joined_before(*number, heard) && truth.is_served(*number));
        safe
    });
    let mut missing = Missing::default();
    let mut attempts = 1;
    let (view, silent, snapshot) = loop {
        let (mut view, silent) = views(world, life, &catalog.snapshot()).await;
        let snapshot = with_floor(world, catalog, view.floor, &mut missing).await;
        let restarted = leave_to_owners(&mut view, &snapshot, &mut missing);
        let is_whole = restarted.is_empty() && has_asked_all(&view, &snapshot, life);
        if is_whole {
            break (view, silent, snapshot);
        }
        if attempts == ATTEMPTS {
            missing.0.push("processes have joined or were started again".to_owned());
            break (view, silent, snapshot);
        }
        missing = Missing::default();
        attempts += 1;
    };
    for (id, is_recoverable) in silent {
        if !(is_recoverable && has_read(&view, &snapshot, id)) {
            missing.0.push(format!("{} does not answer", process(id)));
        }
    }
    if view.floor == 0 && world.now().saturating_sub(followed.heard()) >= HEARD {
        missing.0.push("the control plane does not answer".to_owned());
    }
    let mut met: BTreeMap<u64, Vec<BucketId>> = BTreeMap::new();
    for bucket in &view.buckets {
        if snapshot.bucket(bucket.id).is_none() {
            bucket.events.iter().for_each(|n| met.entry(*n).or_default().push(bucket.id));
        }
    }
    for index in snapshot.indexes() {
        for bucket in snapshot.buckets(index).iter() {
            let events: Vec<u64> = world.truth(|truth| truth.events(bucket.id).collect());
            events.into_iter().for_each(|n| met.entry(n).or_default().push(bucket.id));
        }
    }
    // Events of a disk that was lost during the search may be missing.
    if world.losses() != before {
        return;
    }
    check(world, &expected, &met, &missing);
}

fn check(world: &World, expected: &[u64], met: &BTreeMap<u64, Vec<BucketId>>, missing: &Missing) {
    let is_twice = |(number, buckets): &(&u64, &Vec<BucketId>)| {
        buckets.len() > 1 && !world.truth(|truth| truth.repeated.contains(*number))
    };
    if let Some((number, buckets)) = met.iter().find(is_twice) {
        return world.violate(format!("a search meets event {number} {} times", buckets.len()));
    }
    world.truth(|truth| match missing.0.is_empty() {
        true => truth.searches.0 += 1,
        false => truth.searches.1 += 1,
    });
    if missing.0.is_empty()
        && let Some(number) = expected.iter().find(|number| !met.contains_key(number))
    {
        let sent = world.truth(|truth| truth.sent.get(number).copied());
        world.violate(format!("a complete search does not meet event {number}: {sent:?}"));
    }
}

/// The views of all listed indexers, and the indexers that did not answer.
async fn views(
    world: &Arc<World>,
    life: &Life,
    snapshot: &Snapshot,
) -> (View, Vec<(IndexerId, bool)>) {
    let indexers = Registration::others(snapshot, &identity(life.pid).to_string());
    let asked: Vec<(IndexerId, bool, Pid)> = indexers
        .iter()
        .filter(|indexer| !indexer.is_internal)
        .filter_map(|indexer| {
            Some((id_of(&indexer.id)?, indexer.is_recoverable, Pid::at(&indexer.address)?))
        })
        .collect();
    let asks = asked.iter().map(|(_, _, at)| async {
        let ask = network::ask(world, life.pid, *at, Request::View);
        timeout(ANSWER, ask).await
    });
    let named = indexers.iter().map(|known| (known.id.clone(), known.address.clone())).collect();
    let (mut all, mut silent) = (View { asked: named, ..View::default() }, Vec::new());
    for (outcome, (id, is_recoverable, _)) in join_all(asks).await.into_iter().zip(&asked) {
        match outcome {
            Ok(Ok(Answer::View(view))) if view.id == Some(*id) => {
                all.floor = all.floor.max(view.floor);
                all.buckets.extend(view.buckets);
                all.adopted.extend(view.adopted);
            }
            _ => silent.push((*id, *is_recoverable)),
        }
    }
    let mut seen = BTreeSet::new();
    all.buckets.retain(|bucket| seen.insert(bucket.id));
    (all, silent)
}

/// Waits until the catalog has the buckets that have left the indexers.
async fn with_floor(
    world: &World,
    catalog: &Catalog,
    floor: u64,
    missing: &mut Missing,
) -> Arc<Snapshot> {
    if world.is(Mutant::SearchesIgnoreTheFloor) {
        return catalog.snapshot();
    }
    let mut snapshots = catalog.subscribe();
    let reached = snapshots.wait_for(|snapshot| snapshot.number() >= floor);
    if timeout(LAG, reached).await.is_err() {
        missing.0.push("the catalog lags behind".to_owned());
    }
    catalog.snapshot()
}

/// Whether all processes that have hot buckets now were asked.
fn has_asked_all(view: &View, snapshot: &Snapshot, life: &Life) -> bool {
    let now = Registration::others(snapshot, &identity(life.pid).to_string());
    now.iter().all(|known| {
        view.asked.iter().any(|(id, address)| *id == known.id && *address == known.address)
    })
}

/// Whether all events of a lost indexer are in the view of the indexer that recovered them.
fn has_read(view: &View, catalog: &Snapshot, indexer: IndexerId) -> bool {
    let adopted = || view.adopted.iter().filter(|(of, _)| *of == indexer);
    let mut sets = catalog.taken_over().filter(|taken| taken.indexer == indexer);
    let is_read = |taken: catalog::Takeover| {
        adopted().any(|(_, epochs)| epochs.get(&taken.set) >= Some(&taken.epoch))
    };
    adopted().next().is_some() && sets.all(is_read)
}

/// Removes buckets of sets that another process has taken over, and notes events that are in neither view.
/// Returns the indexers whose buckets were removed because they were restarted.
fn leave_to_owners(
    view: &mut View,
    catalog: &Snapshot,
    missing: &mut Missing,
) -> BTreeSet<IndexerId> {
    let mut restarted = BTreeSet::new();
    let mut newest: BTreeMap<SetKey, u64> = BTreeMap::new();
    for (indexer, epochs) in &view.adopted {
        for (set, epoch) in epochs {
            let known = newest.entry((*indexer, *set)).or_default();
            *known = (*known).max(*epoch);
        }
    }
    let mut shown: BTreeMap<SetKey, u64> = BTreeMap::new();
    for bucket in &view.buckets {
        let known = shown.entry(bucket.owner.0).or_default();
        *known = (*known).max(bucket.owner.1);
    }
    view.buckets.retain(|bucket| {
        let ((indexer, set), epoch) = bucket.owner;
        let (owned, by) = catalog.owner(indexer, set);
        let known = newest.get(&bucket.owner.0).copied().unwrap_or_default().max(owned);
        let is_shown_later = shown.get(&bucket.owner.0).is_some_and(|shown| *shown > epoch);
        if (owned > epoch && by == indexer) || (known <= epoch && is_shown_later) {
            restarted.insert(indexer);
        } else if known > epoch && bucket.is_local {
            let of = process(indexer);
            missing.0.push(format!("what only the disk of {of} has is not searched"));
        }
        known <= epoch && !is_shown_later
    });
    let under_way = catalog.taken_over().filter(|taken| taken.owner != taken.indexer);
    for taken in under_way.filter(|taken| !has_read(view, catalog, taken.indexer)) {
        missing.0.push(format!("{} is not read yet", process(taken.indexer)));
    }
    restarted
}
