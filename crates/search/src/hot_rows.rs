//! The hot buckets of all indexers, from the point of view of one job.
//!
//! Guarantees that a search which looks into the catalog after [`HotRows::of`] meets each event once: a
//! bucket that had left its indexer before is in that snapshot, and one that has not is in the answer. What
//! belongs to a process that has joined or was started again since it was asked is asked for again, or said
//! to be missing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bucket::{HotBucket, HotDirectory, HotOwner, HotView, MissingIndexer};
use catalog::{Catalog, Snapshot, Takeover};
use model::{IndexName, IndexerId, TimeRange};
use parking_lot::Mutex;
use tokio::time::{Instant, timeout};

use crate::report::ScanReport;

/// Time for which the scans of a job share the answers of other processes. It is much shorter than the age at
/// which buckets are merged (`mergeMinAge`), because by then a hot bucket of an old view could be part of a
/// merged one.
const SHARED: Duration = Duration::from_secs(1);
/// Age of a view above which it is requested again before the catalog is read, for the same reason.
const FRESH: Duration = Duration::from_secs(15);
/// Maximum number of requests to get a fresh view.
const ATTEMPTS: usize = 3;
/// Maximum time that a search waits until the catalog of this process contains the commits of an indexer.
const LAG: Duration = Duration::from_secs(5);
/// Time without news from the control plane after which its list of indexers counts as outdated.
const UNHEARD: Duration = Duration::from_secs(10);

/// The hot buckets for one job; see the module documentation.
#[derive(Debug)]
pub(crate) struct HotRows {
    directory: Arc<dyn HotDirectory>,
    catalog: Catalog,
    report: Arc<ScanReport>,
    shared: Mutex<Option<Shared>>,
}

#[derive(Debug, Clone)]
struct Shared {
    /// Time of the request.
    at: Instant,
    /// Time of the answer, from which the sharing period counts. An indexer that times out delays it.
    since: Instant,
    indexes: Vec<IndexName>,
    range: TimeRange,
    view: HotView,
    catalog: Arc<Snapshot>,
}

/// The events of some indexes and a range that are not in stored buckets.
#[derive(Debug)]
pub struct Met {
    /// The hot buckets. Some of them may be in the catalog already.
    pub buckets: Vec<HotBucket>,
    /// Indexers that did not answer.
    pub missing: Vec<MissingIndexer>,
    /// The catalog snapshot to read with these buckets. In a later snapshot, another process may have
    /// recovered a bucket, so that its events would be in two buckets.
    pub catalog: Arc<Snapshot>,
}

impl Shared {
    fn covers(&self, indexes: &[IndexName], range: &TimeRange) -> bool {
        self.since.elapsed() < SHARED
            && self.at.elapsed() < FRESH
            && self.range.earliest <= range.earliest
            && range.latest <= self.range.latest
            && indexes.iter().all(|index| self.indexes.contains(index))
    }

    fn part(&self, indexes: &[IndexName], range: &TimeRange) -> HotView {
        let wanted = |bucket: &&HotBucket| {
            indexes.contains(&bucket.index) && range.overlaps(bucket.first_time, bucket.last_time)
        };
        let buckets = self.view.buckets.iter().filter(wanted).cloned().collect();
        HotView { buckets, ..self.view.clone() }
    }
}

impl HotRows {
    /// Creates the view for a job with this report.
    pub(crate) fn new(
        directory: Arc<dyn HotDirectory>,
        catalog: Catalog,
        report: Arc<ScanReport>,
    ) -> Self {
        Self { directory, catalog, report, shared: Mutex::default() }
    }

    /// Returns the hot buckets of this process; `None` if hot buckets of other processes exist, which need
    /// requests.
    pub(crate) async fn local(
        &self,
        indexes: &[IndexName],
        range: &TimeRange,
    ) -> Option<Vec<HotBucket>> {
        if self.directory.is_remote() {
            return None;
        }
        Some(self.directory.view(indexes, range).await.buckets)
    }

    /// Returns the hot buckets of the indexes that may have events in the range, and the indexers that did
    /// not answer. The report notes those too.
    pub(crate) async fn of(&self, indexes: &[IndexName], range: &TimeRange) -> Met {
        if !self.directory.is_remote() {
            let HotView { buckets, .. } = self.directory.view(indexes, range).await;
            // The catalog comes second: a bucket that is uploaded in between is in both, never in none.
            return Met { buckets, missing: Vec::new(), catalog: self.catalog.snapshot() };
        }
        let shared = self.shared.lock().clone();
        if let Some(shared) = shared.filter(|shared| shared.covers(indexes, range)) {
            let HotView { buckets, missing, .. } = shared.part(indexes, range);
            return Met { buckets, missing, catalog: shared.catalog };
        }
        let mut attempts = 1;
        let (at, mut view, catalog) = loop {
            let at = Instant::now();
            let mut view = self.directory.view(indexes, range).await;
            view.missing.extend(self.lag(view.floor).await);
            let catalog = self.catalog.snapshot();
            let restarted = leave_to_owners(&mut view, &catalog);
            let is_whole = restarted.is_empty() && self.directory.has_asked_all(&view);
            if at.elapsed() < FRESH && is_whole {
                break (at, view, catalog);
            }
            if at.elapsed() < FRESH && attempts == ATTEMPTS {
                view.missing.extend(restarted.iter().map(|indexer| {
                    MissingIndexer {
                        name: format!("peer {}", indexer.0),
                        reason: "it was started again, or its events recovered, since it was asked"
                            .to_owned(),
                    }
                }));
                if !self.directory.has_asked_all(&view) {
                    view.missing.push(MissingIndexer {
                        name: "hot buckets".to_owned(),
                        reason: "processes have joined since the others were asked".to_owned(),
                    });
                }
                break (at, view, catalog);
            }
            if attempts == ATTEMPTS {
                view.missing.push(MissingIndexer {
                    name: "hot buckets".to_owned(),
                    reason: format!("reading them took longer than {} s", FRESH.as_secs()),
                });
                view.buckets.clear();
                break (at, view, catalog);
            }
            attempts += 1;
        };
        view.missing.extend(self.unheard(&view));
        view.missing.iter().for_each(|missing| self.report.miss(missing));
        let (indexes, range) = (indexes.to_vec(), *range);
        let since = Instant::now();
        let HotView { buckets, missing, .. } = view.clone();
        let known = Arc::clone(&catalog);
        *self.shared.lock() = Some(Shared { at, since, indexes, range, view, catalog: known });
        Met { buckets, missing, catalog }
    }
}

/// Removes the buckets of a view that another process has taken over, and reports the events that the new
/// owner has not read yet as missing. Returns the indexers whose buckets were removed because they own the
/// pipeline set in a later epoch themselves: they have restarted, or their events are in stored buckets.
fn leave_to_owners(view: &mut HotView, catalog: &Snapshot) -> BTreeSet<IndexerId> {
    let (mut restarted, mut left) = (BTreeSet::new(), BTreeSet::new());
    // The catalog may lag behind and not contain their takeovers yet.
    let read = newest(view.adopted.iter());
    let shown = newest(view.buckets.iter().filter_map(|bucket| bucket.owner.as_ref()));
    view.buckets.retain(|bucket| {
        let is_owned = |owner: HotOwner| {
            let (epoch, by) = catalog.owner(owner.indexer, owner.set);
            let of_set = |epochs: &BTreeMap<(IndexerId, u16), u64>| {
                epochs.get(&(owner.indexer, owner.set)).copied().unwrap_or_default()
            };
            let is_superseded = epoch.max(of_set(&read)) > owner.epoch;
            if !is_superseded && of_set(&shown) <= owner.epoch {
                return true;
            }
            // A later owner that the catalog does not know yet shows some or all of the same events.
            if !is_superseded || (by == owner.indexer && epoch > owner.epoch) {
                restarted.insert(owner.indexer);
            } else if owner.is_local {
                left.insert(owner.indexer);
            }
            false
        };
        bucket.owner.is_none_or(is_owned)
    });
    // The indexer restarts once it notices this. It may have uploaded the events meanwhile, which would be
    // read twice.
    view.missing.extend(left.into_iter().map(|indexer| MissingIndexer {
        name: format!("peer {}", indexer.0),
        reason:
            "another one recovers its events, without those that are on its disk only".to_owned(),
    }));
    let covered = std::mem::take(&mut view.covered);
    let covered = covered.into_iter().filter(|(indexer, _)| !has_read(view, catalog, *indexer));
    let covered: Vec<_> = covered.map(|(_, missing)| missing).collect();
    view.missing.extend(covered);
    // An indexer that does not answer is already in the list.
    let is_silent = |indexer: &IndexerId| view.silent.contains(indexer);
    let under_way = catalog.taken_over();
    let under_way = under_way.filter(|taken| taken.owner != taken.indexer);
    let mut unread: Vec<_> = under_way
        .filter(|taken| !is_silent(&taken.indexer) && !has_read(view, catalog, taken.indexer))
        .map(|taken| MissingIndexer {
            name: format!("peer {}", taken.indexer.0),
            reason: format!(
                "indexer {} has taken it over and has not read its events yet",
                taken.owner.0
            ),
        })
        .collect();
    unread.dedup();
    view.missing.extend(unread);
    restarted
}

/// Returns the latest epoch of each pipeline set.
fn newest<'a>(owners: impl Iterator<Item = &'a HotOwner>) -> BTreeMap<(IndexerId, u16), u64> {
    let mut newest: BTreeMap<(IndexerId, u16), u64> = BTreeMap::new();
    for HotOwner { indexer, set, epoch, .. } in owners {
        let known = newest.entry((*indexer, *set)).or_default();
        *known = (*known).max(*epoch);
    }
    newest
}

/// Whether the view of the indexer that has recovered another one contains all events of the lost indexer.
/// This requires that the lost indexer has not got its pipeline sets back since.
fn has_read(view: &HotView, catalog: &Snapshot, indexer: IndexerId) -> bool {
    let adopted = || view.adopted.iter().filter(|adopted| adopted.indexer == indexer);
    let mut sets = catalog.taken_over().filter(|taken| taken.indexer == indexer);
    let is_read = |taken: Takeover| {
        adopted().any(|adopted| adopted.set == taken.set && adopted.epoch >= taken.epoch)
    };
    adopted().next().is_some() && sets.all(is_read)
}

impl HotRows {
    /// Waits until the catalog contains the write with this number. Without it, buckets that have left their
    /// indexer would be missing.
    async fn lag(&self, floor: u64) -> Option<MissingIndexer> {
        let mut snapshots = self.catalog.subscribe();
        let reached = snapshots.wait_for(|snapshot| snapshot.number() >= floor);
        match timeout(LAG, reached).await {
            Ok(Ok(_)) => None,
            // The catalog holds the sender.
            Ok(Err(_)) | Err(_) => Some(MissingIndexer {
                name: "the catalog of this process".to_owned(),
                reason: format!(
                    "it lags behind: it has the writes up to {}, an indexer those up to {floor}",
                    self.catalog.snapshot().number()
                ),
            }),
        }
    }
}

impl HotRows {
    /// Returns the control plane as missing if it has been silent: the list of indexers may be outdated. An
    /// indexer that has answered knows of newly joined ones, unless it is cut off too.
    fn unheard(&self, view: &HotView) -> Option<MissingIndexer> {
        let is_alone = view.floor == 0;
        let lost = self.catalog.leader_lost_for();
        let lost = lost.filter(|lost| is_alone && *lost >= UNHEARD)?;
        let reason = format!(
            "it has not answered for {} s: indexers that have joined since are not searched",
            lost.as_secs()
        );
        Some(MissingIndexer { name: "the control plane".to_owned(), reason })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use catalog::{Commit, Settings};
    use futures::future::BoxFuture;
    use model::{BucketId, EventTime};
    use object_store::memory::InMemory;
    use uuid::Uuid;

    use super::*;

    const GONE: IndexerId = IndexerId(Uuid::from_u128(1));
    const SUCCESSOR: IndexerId = IndexerId(Uuid::from_u128(2));

    fn owner(epoch: u64, is_local: bool) -> HotOwner {
        HotOwner { indexer: GONE, set: 0, epoch, is_local }
    }

    fn bucket(number: u128, epoch: Option<u64>) -> HotBucket {
        HotBucket {
            id: BucketId(Uuid::from_u128(number)),
            index: IndexName::new("main").unwrap(),
            first_time: EventTime(0),
            last_time: EventTime(0),
            rows: 0,
            raw_bytes: 0,
            batches: Vec::new(),
            stored: None,
            owner: epoch.map(|epoch| owner(epoch, false)),
            elsewhere: None,
        }
    }

    async fn catalog() -> Catalog {
        let (store, clock) = (Arc::new(InMemory::new()), Arc::new(runtime::SystemClock));
        Catalog::open(store, "catalog", Settings::default(), clock).await.unwrap()
    }

    /// Returns the remaining buckets of both owners, and the number of indexers reported as missing.
    fn left(catalog: &Catalog, adopted: &[u64]) -> (Vec<u128>, usize) {
        let adopted = adopted.iter();
        let adopted = adopted.map(|epoch| owner(*epoch, false)).collect();
        let local = HotBucket { owner: Some(owner(1, true)), ..bucket(4, None) };
        let buckets = vec![bucket(1, Some(1)), bucket(2, Some(2)), bucket(3, None), local];
        let mut view = HotView { buckets, adopted, ..HotView::default() };
        leave_to_owners(&mut view, &catalog.snapshot());
        (view.buckets.iter().map(|bucket| bucket.id.0.as_u128()).collect(), view.missing.len())
    }

    #[tokio::test]
    async fn of_two_owners_the_one_of_the_catalog_counts_and_none_before_it_has_read() {
        let catalog = catalog().await;
        let give = async |epoch, owner| {
            let taken = Takeover { indexer: GONE, set: 0, epoch, owner };
            catalog.commit(Commit { take_over: vec![taken], ..Commit::default() }).await.unwrap();
        };
        give(1, GONE).await;
        // Rows of an owner that this catalog does not know yet are kept, because the catalog has no buckets
        // of them either. The previous owner shows some of the same events.
        assert_eq!(left(&catalog, &[]), (vec![2, 3], 0));
        give(2, SUCCESSOR).await;
        assert_eq!(left(&catalog, &[]), (vec![2, 3], 2));
        assert_eq!(left(&catalog, &[2]), (vec![2, 3], 1), "but for what is on its disk only");
        // Its successor has read it, which this catalog does not know.
        assert_eq!(left(&catalog, &[3]), (vec![3], 1));
        // Its owner has read it only in an earlier epoch: events have arrived since.
        assert_eq!(left(&catalog, &[1]), (vec![2, 3], 2));
        // It does not answer either; there is only one message for it.
        let missing =
            || MissingIndexer { name: "peer one".to_owned(), reason: "refused".to_owned() };
        let silent = HotView { silent: vec![GONE], ..HotView::default() };
        let covered = vec![(GONE, missing())];
        for mut view in
            [HotView { missing: vec![missing()], ..silent.clone() }, HotView { covered, ..silent }]
        {
            leave_to_owners(&mut view, &catalog.snapshot());
            assert_eq!(view.missing, [missing()]);
        }
        // All its events are in buckets.
        give(3, GONE).await;
        assert_eq!(left(&catalog, &[]), (vec![3], 0));
    }

    /// A directory that returns these views, one after the other.
    #[derive(Debug)]
    struct Answers(Mutex<Vec<HotView>>);

    impl HotDirectory for Answers {
        fn view<'a>(&'a self, _: &'a [IndexName], _: &'a TimeRange) -> BoxFuture<'a, HotView> {
            Box::pin(async move {
                let mut answers = self.0.lock();
                match answers.len() {
                    1 => answers[0].clone(),
                    _ => answers.remove(0),
                }
            })
        }

        fn is_remote(&self) -> bool {
            true
        }

        fn has_asked_all(&self, view: &HotView) -> bool {
            view.asked.len() == 2
        }
    }

    /// A view of the buckets with these numbers, for which this number of processes was asked.
    fn of(numbers: &[(u128, u64)], asked: usize) -> HotView {
        let bucket = |(number, epoch): &(u128, u64)| bucket(*number, Some(*epoch));
        let buckets = numbers.iter().map(bucket).collect();
        let asked = vec![(String::new(), String::new()); asked];
        HotView { buckets, asked, ..HotView::default() }
    }

    /// Returns the buckets that a search reads, and the number of indexers reported as missing.
    async fn met(catalog: &Catalog, answers: Vec<HotView>) -> (Vec<u128>, usize) {
        let directory = Arc::new(Answers(Mutex::new(answers)));
        let report = Arc::new(ScanReport::default());
        let rows = HotRows::new(directory, catalog.clone(), report);
        let main = [IndexName::new("main").unwrap()];
        let Met { buckets, missing, .. } = rows.of(&main, &TimeRange::ALL).await;
        (buckets.iter().map(|bucket| bucket.id.0.as_u128()).collect(), missing.len())
    }

    #[tokio::test]
    async fn a_process_that_joins_while_others_are_asked_is_asked_too() {
        let catalog = catalog().await;
        let joined = vec![of(&[(1, 1)], 1), of(&[(1, 1), (2, 1)], 2)];
        assert_eq!(met(&catalog, joined).await, (vec![1, 2], 0));
        let never = vec![of(&[(1, 1)], 1)];
        assert_eq!(met(&catalog, never).await, (vec![1], 1), "it is said that some may be missing");
    }

    #[tokio::test]
    async fn what_an_indexer_has_read_again_after_a_restart_is_met_and_not_left_out() {
        let catalog = catalog().await;
        // This catalog does not know of the takeover: the events are still shown once.
        let both = vec![of(&[(1, 1), (2, 2)], 2)];
        assert_eq!(met(&catalog, both).await, (vec![2], 1));
        let taken = Takeover { indexer: GONE, set: 0, epoch: 2, owner: GONE };
        catalog.commit(Commit { take_over: vec![taken], ..Commit::default() }).await.unwrap();
        // The indexer was asked and then restarted; its rows are in another bucket now.
        let restarted = vec![of(&[(1, 1)], 2), of(&[(2, 2)], 2)];
        assert_eq!(met(&catalog, restarted).await, (vec![2], 0));
        let hangs = vec![of(&[(1, 1)], 2)];
        assert_eq!(met(&catalog, hangs).await, (vec![], 1), "not without a word");
    }
}
