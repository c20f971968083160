//! The owner's side: writes to all copies, and replaces copies that do not answer.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use catalog::Catalog;
use futures::future::join_all;
use metrics::{counter, gauge};
use model::IndexerId;
use parking_lot::Mutex;
use runtime::metrics as names;
use tokio::sync::watch;
use tokio::time::Instant;
use tonic::{Code, Status};
use uuid::Uuid;

use crate::Settings;
use crate::client::{Client, Connect, Peers};
use crate::copies::Copies;
use crate::members::{Member, Members, Named, in_order};

/// Number of objects that are sent to a new copy concurrently.
const COPIED: usize = 4;

/// The components for copies of journals.
#[derive(Clone)]
pub struct Parts {
    /// This indexer.
    pub own: IndexerId,
    /// Its site.
    pub site: String,
    /// The catalog of the documents.
    pub catalog: Catalog,
    /// The other indexers.
    pub peers: Peers,
    /// How connections to them are made.
    pub connect: Connect,
    /// Whether lost copies must not be replaced now.
    pub pauses: Pauses,
    /// The copies that this process holds, if others can reach them.
    pub copies: Option<Copies>,
    /// Whether an indexer is given up together with its disk.
    pub removed: Removed,
    /// Creates identities of new copies.
    pub identities: Identities,
    /// The timeout, and the placement of copies.
    pub settings: Settings,
}

/// Whether an indexer is given up together with its disk: an administrator has removed it from the cluster.
pub type Removed = Arc<dyn Fn(IndexerId) -> bool + Send + Sync>;

/// Creates identities of new copies: random, or from a seed.
pub type Identities = Arc<dyn Fn() -> Uuid + Send + Sync>;

/// Whether lost copies must not be replaced now, because the cluster is in maintenance mode.
pub type Pauses = Arc<dyn Fn() -> bool + Send + Sync>;

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").field("own", &self.own).finish_non_exhaustive()
    }
}

/// The journals of indexers at other indexers: an [`ObjectStore`](object_store::ObjectStore) with the
/// objects `journal/<indexer>/<number>.journal`.
pub struct Replicas {
    pub(crate) own: IndexerId,
    site: String,
    pub(crate) catalog: Catalog,
    pub(crate) client: Client,
    settings: Settings,
    pauses: Pauses,
    removed: Removed,
    identities: Identities,
    /// The epoch in which this process owns its sets.
    epoch: Arc<AtomicU64>,
    log: tokio::sync::Mutex<OwnLog>,
    /// Numbers of the objects in the copies of this indexer's journal.
    present: Mutex<BTreeSet<u64>>,
    is_needed: AtomicBool,
    /// Whether this process has read the objects that the copies had at its start.
    is_resumed: AtomicBool,
    failing: Mutex<Option<Instant>>,
    /// Why there are too few copies, for administrators.
    lacking: watch::Sender<Option<Arc<str>>>,
}

#[derive(Debug, Default)]
struct OwnLog {
    /// The copies, as this process has written them to the catalog; none until the first object is put.
    named: Named,
    /// Whether this process has written the document: then no change of a former process, and none of this
    /// one whose answer was lost, can take effect any more.
    is_settled: bool,
    is_checked: bool,
    /// The time since which a copy has not answered.
    silent_since: Option<Instant>,
}

impl OwnLog {
    fn members(&self) -> &[Member] {
        &self.named.members
    }

    #[allow(clippy::cast_precision_loss)]
    fn report(&self) {
        gauge!(names::REPLICAS_COPIES).set(self.members().len() as f64);
    }
}

/// Why an object was not put.
#[derive(Debug)]
pub(crate) enum Failed {
    /// Another indexer recovers the events of this one.
    Taken,
    /// The put may succeed later; the text is the reason.
    For(String),
}

impl fmt::Debug for Replicas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replicas").field("own", &self.own).finish_non_exhaustive()
    }
}

fn paused() -> Failed {
    let reason = "a copy of the journal is lost, and is not replaced in maintenance mode";
    Failed::For(reason.to_owned())
}

fn unnamed(error: catalog::Error) -> Failed {
    Failed::For(format!("the catalog does not name the copies of the journal: {error}"))
}

/// The copies of the journal of an indexer that the catalog names at a moment.
#[derive(Debug, Clone)]
pub struct NamedCopies {
    owner: IndexerId,
    named: Named,
}

impl Replicas {
    /// Creates the copies from their components.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let Parts { own, site, catalog, peers, connect, settings, .. } = parts;
        let local = parts.copies.map(|copies| (own, copies));
        let epoch = Arc::new(AtomicU64::new(0));
        let (known, taken) = (Arc::clone(&epoch), catalog.clone());
        let epochs = move |owner: IndexerId| {
            if owner == own {
                return known.load(Ordering::Relaxed);
            }
            // This epoch is raised together with that of each set.
            let (epoch, by) = taken.snapshot().owner(owner, 0);
            if by == own { epoch } else { 0 }
        };
        let client = Client::new((peers, connect), settings.timeout, local, Arc::new(epochs));
        Self {
            own,
            site,
            catalog,
            client,
            settings,
            pauses: parts.pauses,
            removed: parts.removed,
            identities: parts.identities,
            epoch,
            log: tokio::sync::Mutex::default(),
            present: Mutex::default(),
            is_needed: AtomicBool::new(false),
            is_resumed: AtomicBool::new(false),
            failing: Mutex::new(None),
            lacking: watch::Sender::new(None),
        }
    }

    /// Sets the epoch in which this process owns its sets, before the first request to copies: from then on
    /// they refuse requests of a former process.
    pub fn note_epoch(&self, epoch: u64) {
        self.epoch.store(epoch, Ordering::Relaxed);
    }

    /// Returns the first object number that no process of this indexer has used in an earlier epoch, whether
    /// or not the copies with those objects answer.
    #[must_use]
    pub fn first_number(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed) << 32
    }

    /// Sets whether the copies of this indexer's journal have records that are in no bucket. While they have
    /// none, a lost copy is replaced by an empty one.
    pub fn note_needed(&self, is_needed: bool) {
        self.is_needed.store(is_needed, Ordering::Relaxed);
    }

    /// Records that this process has read what the copies had at its start: from now on it is known whether
    /// they are needed.
    pub fn note_resumed(&self) {
        self.is_resumed.store(true, Ordering::Relaxed);
    }

    /// Whether the copies have confirmed nothing for too long.
    #[must_use]
    pub fn is_stalled(&self) -> bool {
        self.failing.lock().is_some_and(|since| since.elapsed() >= self.settings.timeout)
    }

    /// Returns why acknowledgements of indexes with `ackLevel = replicated` wait for buckets: too few
    /// indexers answer, or they are not in the required sites.
    #[must_use]
    pub fn lacking(&self) -> watch::Receiver<Option<Arc<str>>> {
        self.lacking.subscribe()
    }

    /// Records that there are enough copies.
    fn note_enough(&self) {
        *self.failing.lock() = None;
        self.lacking.send_if_modified(|lacking| lacking.take().is_some());
    }

    /// Records that there are too few indexers for copies, unless this may be because one is just starting.
    fn note_lacking(&self, failed: &Failed) {
        let Failed::For(reason) = failed else { return };
        if !self.is_stalled() {
            return;
        }
        let said = format!(
            "acknowledgements of events with ackLevel = replicated wait for buckets: {reason}"
        );
        self.lacking.send_if_modified(|lacking| {
            let is_new = lacking.as_deref() != Some(said.as_str());
            *lacking = Some(said.into());
            is_new
        });
    }

    /// Whether the catalog names copies of the journal of an indexer.
    #[must_use]
    pub fn has_copies(&self, owner: IndexerId) -> bool {
        !Members::of(&self.catalog.snapshot(), owner).is_empty()
    }

    /// Checks again whether there are enough copies, after the journal has stalled: no puts are made
    /// meanwhile that would show it.
    pub async fn probe(&self) {
        let mut log = self.log.lock().await;
        match self.check_again(&mut log).await {
            Ok(()) => self.note_enough(),
            Err(Failed::Taken) => {}
            Err(Failed::For(reason)) => tracing::debug!(reason, "the journal has too few copies"),
        }
    }

    /// Moves copies away from indexers that are being removed, or were removed, from the cluster. The old
    /// copies stay until the new ones are complete.
    ///
    /// # Errors
    /// Why a copy cannot be moved, such as too few other indexers.
    pub async fn move_copies(&self) -> Result<(), String> {
        let members = Members::of(&self.catalog.snapshot(), self.own);
        if members.is_empty() {
            return Ok(());
        }
        let leaving = self.client.peers().into_iter().filter(|peer| peer.leaves);
        let leaving: BTreeSet<IndexerId> = leaving.map(|peer| peer.id).collect();
        // Without puts, a lost copy would not be noticed for long. At the start the other copies may have
        // records that this process has to restore: no empty copy may be added to them.
        let is_resumed = self.is_resumed.load(Ordering::Relaxed);
        let goes = |member: &Member| {
            leaving.contains(&member.peer) || (is_resumed && (self.removed)(member.peer))
        };
        if !members.iter().any(goes) {
            return Ok(());
        }
        let mut log = self.log.lock().await;
        let moved = async {
            // The copies that stay must exist.
            self.check_again(&mut log).await?;
            let kept: Vec<Member> =
                log.members().iter().filter(|member| !goes(member)).copied().collect();
            match kept.len() == log.members().len() {
                true => Ok(()),
                false => self.replace(&mut log, kept).await,
            }
        };
        match moved.await {
            // Another process owns the journal now.
            Ok(()) | Err(Failed::Taken) => Ok(()),
            Err(Failed::For(reason)) => Err(reason),
        }
    }

    /// Returns the copies of the journal of an indexer that the catalog names now, for
    /// [`forget`](Self::forget).
    #[must_use]
    pub fn named(&self, owner: IndexerId) -> NamedCopies {
        NamedCopies { owner, named: Named::of(&self.catalog.snapshot(), owner) }
    }

    /// Removes copies of the journal of an indexer whose events were all in buckets when `copies` was read,
    /// if the catalog still names the same ones.
    ///
    /// # Errors
    /// The catalog did not accept the change.
    pub async fn forget(&self, copies: &NamedCopies) -> Result<(), catalog::Error> {
        let NamedCopies { owner, named } = copies;
        if named.members.is_empty() {
            return Ok(());
        }
        // The document is kept, empty: otherwise a delayed creation of it could name copies that are gone.
        match named.replace(&self.catalog, *owner, &[]).await {
            Ok(_) => {}
            // Other copies are named by now.
            Err(catalog::Error::Changed { .. }) => return Ok(()),
            Err(error) => return Err(error),
        }
        self.drop(*owner, &named.members).await;
        Ok(())
    }

    /// Returns the indexers that the catalog names for copies of the journal of an indexer, if it is certain
    /// that none of them has its copy: each reports that it has lost its disk, or was removed from the
    /// cluster by an administrator. `None` if one may have it, or none is named.
    pub async fn lost(&self, owner: IndexerId) -> Option<Vec<IndexerId>> {
        let named = Named::of(&self.catalog.snapshot(), owner);
        for member in &named.members {
            let is_lost = match self.client.list(owner, *member).await {
                Ok(_) => false,
                Err(status) => status.code() == Code::NotFound || (self.removed)(member.peer),
            };
            if !is_lost {
                return None;
            }
        }
        let is_same = named == Named::of(&self.catalog.snapshot(), owner);
        let peers = named.members.iter().map(|member| member.peer);
        (is_same && !named.members.is_empty()).then(|| peers.collect())
    }

    async fn drop(&self, owner: IndexerId, members: &[Member]) {
        let drops = members.iter().map(|member| async move {
            if let Err(status) = self.client.drop(owner, *member).await {
                // That process removes the copy once it sees that the catalog does not name it.
                tracing::debug!(peer = %member.peer, %status, "a copy is not removed yet");
            }
        });
        join_all(drops).await;
    }

    /// Puts an object of this indexer's journal into all copies.
    pub(crate) async fn put(&self, number: u64, data: Bytes) -> Result<(), Failed> {
        let mut log = self.log.lock().await;
        let put = self.try_put(&mut log, number, data).await;
        drop(log);
        match &put {
            Ok(()) => {
                self.note_enough();
                self.present.lock().insert(number);
            }
            Err(_) => {
                self.failing.lock().get_or_insert_with(Instant::now);
            }
        }
        put
    }

    async fn try_put(&self, log: &mut OwnLog, number: u64, data: Bytes) -> Result<(), Failed> {
        self.check(log).await?;
        let puts = log.members().iter().map(|member| {
            let object = (number, data.clone());
            async move { (*member, self.client.put(self.own, *member, object).await) }
        });
        let mut kept = Vec::new();
        let mut lost: Option<(Member, Status)> = None;
        for (member, put) in join_all(puts).await {
            match put {
                Ok(()) => kept.push(member),
                Err(status) if status.code() == Code::FailedPrecondition => {
                    return Err(Failed::Taken);
                }
                Err(status) => lost = Some((member, status)),
            }
        }
        let Some((member, status)) = lost else {
            counter!(names::REPLICAS_OBJECTS).increment(1);
            return Ok(());
        };
        let reason =
            || format!("indexer {} does not confirm: {}", member.peer, transport::reason(&status));
        // An indexer that has lost its copy will not get it back.
        let is_gone = status.code() == Code::NotFound;
        if !is_gone && !self.is_stalled() {
            return Err(Failed::For(reason()));
        }
        if (self.pauses)() {
            let paused = paused();
            self.note_lacking(&paused);
            return Err(paused);
        }
        tracing::warn!(peer = %member.peer, reason = transport::reason(&status), "a copy of the journal is lost");
        self.replace(log, kept).await?;
        Err(Failed::For(format!("{}; another one has the copy now", reason())))
    }

    /// Ensures that the document is the one that this process has written: changes that a former process or
    /// this one has sent, and that were not answered, can no longer take effect. An acknowledgement is only
    /// as reliable as the copies that the catalog names.
    async fn settle(&self, log: &mut OwnLog) -> Result<(), Failed> {
        self.check_owner()?;
        let named = Named::of(&self.catalog.snapshot(), self.own);
        if log.is_settled && log.named == named {
            return Ok(());
        }
        log.is_settled = false;
        log.is_checked = false;
        log.named = match named.is_there() {
            true => {
                named.replace(&self.catalog, self.own, &named.members).await.map_err(unnamed)?
            }
            false => named,
        };
        self.check_owner()?;
        log.is_settled = true;
        Ok(())
    }

    /// The snapshot includes the document that this process has written, and every takeover before it.
    fn check_owner(&self) -> Result<(), Failed> {
        let (snapshot, epoch) = (self.catalog.snapshot(), self.epoch.load(Ordering::Relaxed));
        let mut taken = snapshot.taken_over().filter(|taken| taken.indexer == self.own);
        let is_taken = taken.any(|taken| taken.owner != self.own);
        // Or by a later process of this indexer.
        match is_taken || (epoch > 0 && snapshot.owner(self.own, 0).0 > epoch) {
            true => Err(Failed::Taken),
            false => Ok(()),
        }
    }

    async fn check_again(&self, log: &mut OwnLog) -> Result<(), Failed> {
        log.is_checked = false;
        self.check(log).await
    }

    /// Checks the copies of an earlier process of this indexer, before the first object.
    async fn check(&self, log: &mut OwnLog) -> Result<(), Failed> {
        self.settle(log).await?;
        let known = log.members().to_vec();
        if log.is_checked && !known.is_empty() {
            return Ok(());
        }
        let lists = known
            .iter()
            .map(|member| async move { (*member, self.client.list(self.own, *member).await) });
        let mut kept = Vec::new();
        let mut reachable = false;
        let mut silent: Option<(Member, Status)> = None;
        for (member, list) in join_all(lists).await {
            let list = match list {
                Ok(list) => list,
                Err(status) => {
                    match status.code() {
                        Code::FailedPrecondition => return Err(Failed::Taken),
                        // The indexer has lost its disk.
                        Code::NotFound => {}
                        _ => silent = Some((member, status)),
                    }
                    continue;
                }
            };
            reachable = true;
            self.present.lock().extend(list.iter().map(|(number, _)| *number));
            // A sealed copy takes no more objects.
            if list.iter().all(|(_, bytes)| *bytes > 0) {
                kept.push(member);
            }
        }
        self.wait_for(log, silent)?;
        if !reachable {
            self.present.lock().clear();
        }
        if kept.len() < known.len() || !self.is_enough(&kept) {
            // Without any copies, the first ones are made.
            if !known.is_empty() && (self.pauses)() {
                let paused = paused();
                self.note_lacking(&paused);
                return Err(paused);
            }
            self.replace(log, kept).await?;
        }
        log.is_checked = true;
        log.report();
        Ok(())
    }

    /// Waits for a copy that does not answer, or whose indexer is not in the list of the cluster, as long as
    /// for a confirmation, because it may be back in a moment.
    fn wait_for(&self, log: &mut OwnLog, silent: Option<(Member, Status)>) -> Result<(), Failed> {
        let Some((member, status)) = silent else {
            log.silent_since = None;
            return Ok(());
        };
        let since = *log.silent_since.get_or_insert_with(Instant::now);
        if self.is_stalled() || since.elapsed() >= self.settings.timeout {
            return Ok(());
        }
        let reason = transport::reason(&status);
        Err(Failed::For(format!("indexer {} does not answer: {reason}", member.peer)))
    }

    /// Makes new copies in place of lost ones.
    async fn replace(&self, log: &mut OwnLog, kept: Vec<Member>) -> Result<(), Failed> {
        let is_needed = self.is_needed.load(Ordering::Relaxed);
        let kept = self.where_wanted(&kept);
        let begun = self.begin(&kept).await;
        if let Err(failed) = &begun {
            self.note_lacking(failed);
        }
        let new = match begun {
            Err(failed) if kept.is_empty() && !is_needed && !log.members().is_empty() => {
                // An indexer that recovers the events of this one then need not wait for empty copies.
                self.name(log, Vec::new()).await?;
                log.report();
                self.present.lock().clear();
                return Err(failed);
            }
            begun => begun?,
        };
        let kept: Vec<Member> = kept.into_iter().map(|(member, _)| member).collect();
        if is_needed && !log.members().is_empty() {
            self.copy(log.members(), &kept, &new).await?;
        } else if kept.is_empty() {
            self.present.lock().clear();
        }
        let former = log.members().to_vec();
        self.name(log, kept.into_iter().chain(new).collect()).await?;
        log.report();
        let former: Vec<Member> =
            former.into_iter().filter(|member| !log.members().contains(member)).collect();
        self.drop(self.own, &former).await;
        let peers: Vec<String> =
            log.members().iter().map(|member| member.peer.to_string()).collect();
        tracing::info!(peers = peers.join(", "), "indexers that have copies of the journal");
        Ok(())
    }

    /// Writes the document that names the copies. Until it is certain that the catalog has it, nothing is
    /// acknowledged.
    async fn name(&self, log: &mut OwnLog, members: Vec<Member>) -> Result<(), Failed> {
        log.is_settled = false;
        let named = log.named.replace(&self.catalog, self.own, &members).await;
        log.named = named.map_err(unnamed)?;
        self.check_owner()?;
        log.is_settled = true;
        Ok(())
    }

    /// Returns the copies whose indexers are in the list of the cluster, with their sites.
    fn sites(&self, members: &[Member]) -> Vec<(Member, String)> {
        let peers = self.client.peers();
        let placed = members.iter().filter_map(|member| {
            let known = peers.iter().find(|peer| peer.id == member.peer)?;
            Some((*member, known.site.clone()))
        });
        placed.collect()
    }

    /// Returns the copies that count for the placement, with their sites.
    fn where_wanted(&self, members: &[Member]) -> Vec<(Member, String)> {
        let placed = self.sites(members);
        let sites: Vec<&str> = placed.iter().map(|(_, site)| site.as_str()).collect();
        let mut kept = self.settings.placement.kept(&self.site, &sites).into_iter();
        placed.into_iter().filter(|_| kept.next().unwrap_or_default()).collect()
    }

    /// Whether the number and the sites of these copies meet the placement.
    fn is_enough(&self, members: &[Member]) -> bool {
        let wanted = self.where_wanted(members);
        let sites: Vec<&str> = wanted.iter().map(|(_, site)| site.as_str()).collect();
        wanted.len() == members.len()
            && self.settings.placement.choose(&self.site, &sites, &[]).is_ok()
    }

    /// Creates the missing empty copies, in addition to the kept ones.
    async fn begin(&self, kept: &[(Member, String)]) -> Result<Vec<Member>, Failed> {
        let placement = &self.settings.placement;
        let is_kept = |peer: &IndexerId| kept.iter().any(|(member, _)| member.peer == *peer);
        let mut sites_of: BTreeMap<IndexerId, String> = BTreeMap::new();
        let mut replaced: BTreeSet<IndexerId> = BTreeSet::new();
        for peer in self.client.peers() {
            if peer.id != self.own && !peer.leaves && !is_kept(&peer.id) {
                if peer.is_replaced {
                    replaced.insert(peer.id);
                }
                sites_of.insert(peer.id, peer.site);
            }
        }
        let mut free = in_order(self.own, sites_of.keys().copied().collect());
        // Asked last, because the process at the address refuses unless the list of the cluster is wrong.
        free.sort_by_key(|peer| replaced.contains(peer));
        let mut held: Vec<String> = kept.iter().map(|(_, site)| site.clone()).collect();
        let mut new: Vec<Member> = Vec::new();
        let mut reasons = Vec::new();
        let lacking = loop {
            let there: Vec<&str> = held.iter().map(String::as_str).collect();
            let sites: Vec<&str> = free.iter().map(|peer| sites_of[peer].as_str()).collect();
            let asked = match placement.choose(&self.site, &there, &sites) {
                Ok(asked) if asked.is_empty() => return Ok(new),
                Ok(asked) => asked,
                Err(lacking) => break lacking,
            };
            let asked: Vec<IndexerId> = asked.into_iter().map(|place| free[place]).collect();
            let begins = asked.iter().map(|peer| async move {
                let member = Member { peer: *peer, copy: (self.identities)() };
                (member, self.client.begin(self.own, member).await)
            });
            for (member, begun) in join_all(begins).await {
                match begun {
                    Ok(()) => {
                        held.push(sites_of[&member.peer].clone());
                        new.push(member);
                    }
                    Err(status) => {
                        reasons.push(format!("{}: {}", member.peer, transport::reason(&status)));
                    }
                }
            }
            free.retain(|peer| !asked.contains(peer));
        };
        self.drop(self.own, &new).await;
        let has = kept.len() + new.len() + free.len() + 1;
        let (wanted, setting) = (placement.total(), placement.setting());
        let lacking = match placement.multisite {
            true => format!("; it is in the site {} and lacks {lacking}", self.site),
            false => String::new(),
        };
        let reasons =
            if reasons.is_empty() { "there are no others".to_owned() } else { reasons.join("; ") };
        Err(Failed::For(format!(
            "{has} of {wanted} indexers ({setting}) can have the journal{lacking}; {reasons}"
        )))
    }

    /// Copies all objects of the existing copies to the new ones.
    async fn copy(&self, from: &[Member], kept: &[Member], to: &[Member]) -> Result<(), Failed> {
        if to.is_empty() {
            return Ok(());
        }
        let mut source = None;
        for member in kept.iter().chain(from) {
            if let Ok(list) = self.client.list(self.own, *member).await {
                source = Some((*member, list));
                break;
            }
        }
        let none = || Failed::For("no copy answers that has the records of the journal".to_owned());
        let (source, list) = source.ok_or_else(none)?;
        let failed = |member: Member, status: &Status| {
            Failed::For(format!("indexer {}: {}", member.peer, transport::reason(status)))
        };
        let numbers: Vec<u64> =
            list.iter().filter(|(_, bytes)| *bytes > 0).map(|(number, _)| *number).collect();
        for numbers in numbers.chunks(COPIED) {
            let copies = numbers.iter().map(|number| async move {
                let data = self.client.get(self.own, source, *number).await;
                let data = data.map_err(|status| failed(source, &status))?;
                Ok::<_, Failed>((*number, data))
            });
            let mut read = BTreeMap::new();
            for copied in join_all(copies).await {
                let (number, data) = copied?;
                // `None` if it was deleted meanwhile.
                read.extend(data.map(|data| (number, data)));
            }
            for (number, data) in read {
                let puts = to.iter().map(|member| {
                    let object = (number, data.clone());
                    async move { (*member, self.client.put(self.own, *member, object).await) }
                });
                for (member, put) in join_all(puts).await {
                    put.map_err(|status| failed(member, &status))?;
                }
            }
        }
        Ok(())
    }

    /// Deletes objects of this indexer's journal from the copies.
    pub(crate) async fn delete_own(&self, numbers: &[u64]) {
        let (below, kept) = {
            let mut present = self.present.lock();
            present.retain(|number| !numbers.contains(number));
            let last = numbers.iter().chain(present.last()).max().copied().unwrap_or_default();
            (last.saturating_add(1), present.iter().copied().collect::<Vec<u64>>())
        };
        let members = Members::of(&self.catalog.snapshot(), self.own);
        let keeps = members.iter().map(|member| {
            let kept = (below, kept.clone());
            async move {
                if let Err(status) = self.client.keep(self.own, *member, kept).await {
                    tracing::debug!(peer = %member.peer, %status, "a copy keeps objects for longer");
                }
            }
        });
        join_all(keeps).await;
    }
}
