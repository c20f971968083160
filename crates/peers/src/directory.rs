//! The hot buckets of all indexers, for the searches of this process.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::Duration;

use arrow::array::RecordBatch;
use bucket::{
    Elsewhere, HotBucket, HotBuckets, HotDirectory, HotOwner, HotView, MissingIndexer, RemoteView,
};
use futures::future::BoxFuture;
use futures::future::join_all;
use metrics::{counter, gauge};
use model::{BucketEntry, BucketId, EventTime, IndexName, IndexerId, TimeRange};
use parking_lot::Mutex;
use protocol::hot::{Bucket, Known, OfView, OpenRequest, OpenResponse, Owner};
use runtime::metrics as names;
use tokio::time::Instant;
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::answered::Answered;
use crate::connection::{self, Answer, Connect, Deadlines};
use crate::held::Held;
use crate::service::{bytes_of, id_of, indexer_of};
use crate::suspicion::{SHORT_WAIT, SUSPECT, Suspicion};
use crate::write_times::WriteTimes;
use crate::{Settings, rows};

/// Pause until one that is suspect is asked again.
const AGAIN: Duration = Duration::from_millis(250);
/// Maximum time for a process to upload its hot buckets of an index; commands wait longer.
const ROLLING: Duration = Duration::from_secs(50);
/// Maximum attempts at a view. Known rows may be evicted from the memory of this process while it waits for
/// the rows after them.
const ATTEMPTS: usize = 3;

/// A process that has hot buckets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Indexer {
    /// Its identity, the same after a restart.
    pub id: String,
    /// Its server name, for messages.
    pub name: String,
    /// The address of its service.
    pub address: String,
    /// Whether its events are those of the cluster itself, in indexes with an underscore before the name.
    pub is_internal: bool,
    /// Whether others can recover all events that it has acknowledged, but for those of the cluster itself.
    pub is_recoverable: bool,
}

/// See the module. Clones share it.
#[derive(Clone)]
pub struct Directory {
    shared: Arc<Shared>,
}

struct Shared {
    local: Option<Arc<dyn HotBuckets>>,
    indexers: Indexers,
    connect: Connect,
    settings: Settings,
    peers: Mutex<HashMap<String, Arc<Peer>>>,
    writes: WriteTimes,
}

/// The other indexers that there are at the moment.
pub type Indexers = Arc<dyn Fn() -> Arc<[Indexer]> + Send + Sync>;

/// An indexer, with its cached rows and state.
pub(crate) struct Peer {
    indexer: Indexer,
    channel: Result<Channel, String>,
    held: Mutex<Held>,
    /// The buckets that wait for their upload, by the path of their object.
    stored: Mutex<HashMap<String, Arc<BucketEntry>>>,
    suspicion: Mutex<Suspicion>,
}

impl Shared {
    fn deadlines(&self) -> Deadlines {
        let Settings { first_answer, next_part, .. } = self.settings;
        Deadlines { first: first_answer, next: next_part }
    }
}

impl fmt::Debug for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indexers = (self.shared.indexers)().len();
        f.debug_struct("Directory").field("indexers", &indexers).finish_non_exhaustive()
    }
}

impl Directory {
    /// Creates a directory of the hot buckets of this process, if it has some, and those of the other
    /// indexers as they join and leave.
    #[must_use]
    pub fn new(
        local: Option<Arc<dyn HotBuckets>>,
        indexers: Indexers,
        connect: Connect,
        settings: Settings,
    ) -> Self {
        let (peers, writes) = (Mutex::default(), WriteTimes::default());
        Self { shared: Arc::new(Shared { local, indexers, connect, settings, peers, writes }) }
    }

    /// The indexer that has an object which waits for its upload, and the bucket.
    pub(crate) fn owner(&self, path: &str) -> Option<(Arc<Peer>, Arc<BucketEntry>)> {
        let peers = self.shared.peers.lock();
        peers.values().find_map(|peer| {
            let entry = peer.stored.lock().get(path).map(Arc::clone)?;
            Some((Arc::clone(peer), entry))
        })
    }

    /// Returns the times of the catalog's writes, by which answers get their lag.
    #[must_use]
    pub fn writes(&self) -> WriteTimes {
        self.shared.writes.clone()
    }

    pub(crate) fn deadlines(&self) -> Deadlines {
        self.shared.deadlines()
    }

    /// Returns the answer of each other process, or why it did not answer. Processes that have not answered
    /// before have a shorter time-out, because they may be slow.
    pub async fn answers(&self) -> Vec<(String, Result<Answered, String>)> {
        self.answers_within(SHORT_WAIT).await
    }

    /// The same, with the full time for each: one that does not answer is not just slow.
    pub async fn answers_in_time(&self) -> Vec<(String, Result<Answered, String>)> {
        self.answers_within(Duration::MAX).await
    }

    /// Returns the answers, with `patience` as the maximum time-out of processes that have not answered
    /// before.
    async fn answers_within(&self, patience: Duration) -> Vec<(String, Result<Answered, String>)> {
        let room = &Arc::new(Room { most: 0, used: AtomicUsize::new(0) });
        let (peers, deadlines) = (self.peers(), self.deadlines());
        let nothing: (&[IndexName], &TimeRange) = (&[], &TimeRange::ALL);
        let asked = peers.iter().map(|peer| async move {
            let wait = peer.patience(deadlines, patience);
            match self.ask(peer, nothing, wait, room).await {
                Ok(View { answered, .. }) => {
                    // At once: others may be slow, and the catalog is written meanwhile.
                    let lag = self.shared.writes.lag_of(answered.write, Instant::now());
                    Ok(Answered { lag, ..answered })
                }
                Err(status) => Err(peer.reason(&status)),
            }
        });
        let told = join_all(asked).await;
        peers.iter().map(|peer| peer.indexer.id.clone()).zip(told).collect()
    }

    /// Rolls the hot buckets of an index at the other processes that may have some, and waits until they are
    /// in object storage. Returns the processes where that failed, with the reasons.
    pub async fn roll(&self, index: &IndexName) -> Vec<String> {
        let mut peers = self.peers();
        peers.retain(|peer| index.is_internal() || !peer.indexer.is_internal);
        let rolled = join_all(peers.iter().map(|peer| peer.roll(index))).await;
        let failed = peers.iter().zip(rolled).filter_map(|(peer, rolled)| {
            let MissingIndexer { name, reason } = peer.missing(&rolled.err()?);
            Some(format!("{name}: {reason}"))
        });
        failed.collect()
    }

    /// The indexers there are now.
    fn peers(&self) -> Vec<Arc<Peer>> {
        let indexers = (self.shared.indexers)();
        let mut peers = self.shared.peers.lock();
        peers.retain(|_, peer| indexers.contains(&peer.indexer));
        let mut now = Vec::with_capacity(indexers.len());
        for indexer in indexers.iter() {
            let new = || {
                Arc::new(Peer {
                    indexer: indexer.clone(),
                    channel: (self.shared.connect)(&indexer.address),
                    held: Mutex::default(),
                    stored: Mutex::default(),
                    suspicion: Mutex::default(),
                })
            };
            now.push(Arc::clone(peers.entry(indexer.id.clone()).or_insert_with(new)));
        }
        now
    }

    /// Asks an indexer for a view. Rows that stay at the indexer are read by its part of the search, or moved
    /// when this process needs them.
    async fn ask(
        &self,
        peer: &Arc<Peer>,
        wanted: (&[IndexName], &TimeRange),
        deadlines: Deadlines,
        room: &Arc<Room>,
    ) -> Result<View, Status> {
        // Indexers that have only internal events run no parts of searches.
        let most = (!peer.indexer.is_internal).then_some(self.shared.settings.moved_bytes);
        let answer = peer.view(wanted, most, deadlines, room).await;
        self.watch_if_suspect(peer);
        let mut view = answer?;
        if let Some(Open { number, sourcetypes, answer }) = view.open.take() {
            let remote: Arc<dyn RemoteView> = Arc::new(Remote {
                directory: self.clone(),
                peer: Arc::clone(peer),
                number,
                room: Arc::clone(room),
                _answer: Mutex::new(answer),
            });
            for (bucket, sourcetypes) in view.buckets.iter_mut().zip(sourcetypes) {
                let (view, sourcetypes) = (Arc::clone(&remote), sourcetypes.into());
                bucket.elsewhere = Some(Elsewhere { view, sourcetypes });
            }
        }
        Ok(view)
    }

    /// Asks an indexer for a view; of one that is suspect, its last failure is the answer.
    async fn ask_unless_suspect(
        &self,
        peer: &Arc<Peer>,
        wanted: (&[IndexName], &TimeRange),
        deadlines: Deadlines,
        room: &Arc<Room>,
    ) -> Result<View, Status> {
        match peer.failure() {
            Some(failure) => {
                peer.suspicion.lock().miss(wanted);
                Err(failure)
            }
            None => self.ask(peer, wanted, deadlines, room).await,
        }
    }

    /// Starts to query a suspect indexer repeatedly.
    fn watch_if_suspect(&self, peer: &Arc<Peer>) {
        let mut suspicion = peer.suspicion.lock();
        if suspicion.failure.is_none() || suspicion.is_watched {
            return;
        }
        suspicion.is_watched = true;
        drop(suspicion);
        let (shared, peer) = (Arc::downgrade(&self.shared), Arc::downgrade(peer));
        runtime::detached(ask_until_it_answers(shared, peer));
    }

    /// Frees memory for the rows of the next search.
    fn evict(&self) {
        let peers: Vec<_> = self.shared.peers.lock().values().cloned().collect();
        let bytes = || peers.iter().map(|peer| peer.held.lock().bytes()).sum::<usize>();
        while bytes() > self.shared.settings.held_bytes {
            let oldest = peers.iter().filter_map(|peer| Some((peer.held.lock().oldest()?, peer)));
            let Some(((_, id), peer)) = oldest.min_by_key(|(oldest, _)| *oldest) else { break };
            peer.held.lock().remove(id);
        }
        #[allow(clippy::cast_precision_loss)]
        gauge!(names::PEERS_HELD_BYTES).set(bytes() as f64);
    }
}

impl HotDirectory for Directory {
    fn view<'a>(
        &'a self,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, HotView> {
        Box::pin(async move {
            let adopted = self.shared.local.as_ref().map(|hot| hot.adopted());
            let local = self.shared.local.as_ref().map(|hot| hot.snapshot(indexes, range));
            let most = self.shared.settings.held_bytes;
            let room = Arc::new(Room { most, used: AtomicUsize::new(0) });
            let mut peers = self.peers();
            // Includes indexers that have no events of these indexes.
            let known = |peer: &Arc<Peer>| (peer.indexer.id.clone(), peer.indexer.address.clone());
            let named: Vec<_> = peers.iter().map(known).collect();
            let asks_internal = indexes.iter().any(|index| index.as_str().starts_with('_'));
            if !asks_internal {
                peers.retain(|peer| !peer.indexer.is_internal);
            }
            let deadlines = self.deadlines();
            let wanted = (indexes, range);
            let asked =
                peers.iter().map(|peer| self.ask_unless_suspect(peer, wanted, deadlines, &room));
            let answers = join_all(asked).await;
            let mut view = HotView {
                buckets: local.unwrap_or_default(),
                adopted: adopted.unwrap_or_default(),
                asked: named,
                ..HotView::default()
            };
            let mut silent = Vec::new();
            for (peer, answer) in peers.iter().zip(answers) {
                let outcome = match answer {
                    Ok(answer) => {
                        view.floor = view.floor.max(answer.answered.write);
                        view.buckets.extend(answer.buckets);
                        view.adopted.extend(answer.adopted);
                        "ok"
                    }
                    Err(status) => {
                        silent.push((&peer.indexer, peer.missing(&status)));
                        "error"
                    }
                };
                counter!(names::PEERS_VIEWS, "outcome" => outcome).increment(1);
            }
            // All that a lost indexer has acknowledged is in the answer of the one that has recovered it.
            for (indexer, missing) in silent {
                let id = uuid::Uuid::parse_str(&indexer.id);
                view.silent.extend(id.ok().map(IndexerId));
                let of = |adopted: &&HotOwner| adopted.indexer.to_string() == indexer.id;
                let adopted = view.adopted.iter().find(of).map(|adopted| adopted.indexer);
                match adopted.filter(|_| indexer.is_recoverable && !asks_internal) {
                    Some(id) => view.covered.push((id, missing)),
                    None => view.missing.push(missing),
                }
            }
            // A bucket that has moved to another indexer meanwhile is there twice.
            let mut seen = HashSet::with_capacity(view.buckets.len());
            view.buckets.retain(|bucket| seen.insert(bucket.id));
            self.evict();
            view
        })
    }

    fn is_remote(&self) -> bool {
        !(self.shared.indexers)().is_empty()
    }

    fn has_asked_all(&self, view: &HotView) -> bool {
        let indexers = (self.shared.indexers)();
        let is_asked = |indexer: &Indexer| {
            view.asked.iter().any(|(id, address)| *id == indexer.id && *address == indexer.address)
        };
        indexers.iter().all(is_asked)
    }
}

/// The memory that one view may take.
struct Room {
    most: usize,
    used: AtomicUsize,
}

impl Room {
    fn take(&self, bytes: usize) -> Result<(), Status> {
        if self.used.fetch_add(bytes, Relaxed) + bytes <= self.most {
            return Ok(());
        }
        let most = self.most >> 20;
        Err(Status::resource_exhausted(format!(
            "the hot rows of the search take more than max_peer_rows_mb = {most}; choose a shorter time range"
        )))
    }
}

/// The answer of an indexer.
struct View {
    answered: Answered,
    buckets: Vec<HotBucket>,
    adopted: Vec<HotOwner>,
    /// The open view of the indexer if the rows stay there.
    open: Option<Open>,
}

/// A view that an indexer keeps open.
struct Open {
    number: u64,
    /// The source types of each bucket.
    sourcetypes: Vec<Vec<String>>,
    /// The stream of the answer, which keeps the view open until it is dropped.
    answer: Answer<OpenResponse>,
}

/// Hot buckets whose rows have stayed at their indexer.
struct Remote {
    directory: Directory,
    peer: Arc<Peer>,
    number: u64,
    room: Arc<Room>,
    /// See [`Open`]. Nobody reads it any more.
    _answer: Mutex<Answer<OpenResponse>>,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indexer = &self.peer.indexer.name;
        f.debug_struct("Remote").field("indexer", indexer).finish_non_exhaustive()
    }
}

impl RemoteView for Remote {
    fn indexer(&self) -> &str {
        &self.peer.indexer.id
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn rows<'a>(
        &'a self,
        bucket: BucketId,
    ) -> BoxFuture<'a, Result<Vec<RecordBatch>, MissingIndexer>> {
        Box::pin(async move {
            let deadlines = self.directory.deadlines();
            let rows = self.peer.rows(self.number, bucket, deadlines, &self.room).await;
            self.directory.evict();
            rows.map_err(|status| self.peer.missing(&status))
        })
    }
}

impl Peer {
    pub(crate) async fn read(
        &self,
        path: &str,
        range: std::ops::Range<u64>,
        deadlines: Deadlines,
    ) -> Result<bytes::Bytes, Status> {
        connection::read(self.channel()?, path, range, self.patience(deadlines, SUSPECT)).await
    }

    async fn roll(&self, index: &IndexName) -> Result<(), Status> {
        let rolled = connection::roll(self.channel()?, index, ROLLING).await.map_err(not_done);
        match rolled? == self.indexer.id {
            true => Ok(()),
            false => Err(self.has_lost_address()),
        }
    }

    /// Returns the error for an indexer whose address another process has. The other process is healthy, and
    /// several lost ones may have had the address.
    fn has_lost_address(&self) -> Status {
        let id = &self.indexer.id;
        Status::unavailable(format!(
            "another process has its address; the ID of the missing process is {id}"
        ))
    }

    /// Deadlines that are not longer than this for one that is suspect.
    fn patience(&self, deadlines: Deadlines, most: Duration) -> Deadlines {
        match self.failure() {
            Some(_) => Deadlines { first: deadlines.first.min(most), ..deadlines },
            None => deadlines,
        }
    }

    /// Its last failure, while it is suspect.
    fn failure(&self) -> Option<Status> {
        self.suspicion.lock().failure.clone()
    }

    /// Returns why it does not answer: a suspect's recorded failure had a longer time-out than this one.
    fn reason(&self, status: &Status) -> String {
        let failure = self.failure().filter(|_| status.code() == Code::DeadlineExceeded);
        connection::reason(failure.as_ref().unwrap_or(status))
    }

    fn channel(&self) -> Result<Channel, Status> {
        self.channel.clone().map_err(Status::invalid_argument)
    }

    /// Returns the entry for users of searches which says that the indexer does not answer.
    fn missing(&self, status: &Status) -> MissingIndexer {
        let Indexer { name, address, .. } = &self.indexer;
        let name = format!("peer {name} ({address})");
        MissingIndexer { name, reason: connection::reason(status) }
    }

    /// Requests a view, with at most `most_bytes` of its rows.
    async fn view(
        &self,
        (indexes, range): (&[IndexName], &TimeRange),
        most_bytes: Option<u64>,
        deadlines: Deadlines,
        room: &Room,
    ) -> Result<View, Status> {
        let began = Instant::now();
        let mut attempts = 0;
        let answer = loop {
            attempts += 1;
            let request = OpenRequest {
                indexes: indexes.iter().map(ToString::to_string).collect(),
                earliest: range.earliest.0,
                latest: range.latest.0,
                known: self.known(|_| true),
                most_bytes,
                of_view: None,
            };
            match self.ask(request, deadlines, room).await {
                Ok(None) if attempts < ATTEMPTS => {}
                Ok(None) => break Err(unstable()),
                Ok(Some(view)) => break Ok(view),
                Err(status) => break Err(status),
            }
        };
        let asked = (indexes, range);
        self.suspicion.lock().note(asked, answer.as_ref().err(), began.elapsed());
        answer
    }

    /// The rows of a bucket of an open view.
    async fn rows(
        &self,
        view: u64,
        bucket: BucketId,
        deadlines: Deadlines,
        room: &Room,
    ) -> Result<Vec<RecordBatch>, Status> {
        for _ in 0..ATTEMPTS {
            let request = OpenRequest {
                known: self.known(|id| id == bucket),
                of_view: Some(OfView { view, bucket: bytes_of(bucket) }),
                ..OpenRequest::default()
            };
            if let Some(view) = self.ask(request, deadlines, room).await? {
                return Ok(view.buckets.into_iter().flat_map(|bucket| bucket.batches).collect());
            }
        }
        Err(unstable())
    }

    /// Returns the rows in memory of the buckets that pass.
    fn known(&self, passes: impl Fn(BucketId) -> bool) -> Vec<Known> {
        let known = self.held.lock().known().into_iter().filter(|(id, _)| passes(*id));
        known.map(|(id, rows)| Known { id: bytes_of(id), rows }).collect()
    }

    /// Asks once. `None`: rows that were in memory when the request was sent have been evicted since.
    async fn ask(
        &self,
        request: OpenRequest,
        deadlines: Deadlines,
        room: &Room,
    ) -> Result<Option<View>, Status> {
        let mut answer = connection::open(self.channel()?, request, deadlines).await?;
        let Some(mut list) = answer.next().await? else {
            return Err(Status::data_loss("the answer is empty"));
        };
        let answered = Answered::take(&mut list)?;
        let OpenResponse { buckets, gone, adopted, view, id: who, .. } = list;
        // The indexer was lost with its disk, otherwise it would have kept its identity. A process of an
        // older version reports no identity.
        if !who.is_empty() && who != self.indexer.id {
            return Err(self.has_lost_address());
        }
        let adopted = adopted.into_iter().map(owner).collect::<Result<_, _>>()?;
        let stays = view.is_some();
        let mut sourcetypes = Vec::new();
        let mut listed = Vec::with_capacity(buckets.len());
        for mut bucket in buckets {
            sourcetypes.push(std::mem::take(&mut bucket.sourcetypes));
            listed.push(hot_bucket(bucket)?);
        }
        let mut buckets = listed;
        {
            let mut held = self.held.lock();
            for id in &gone {
                held.remove(id_of(id)?);
            }
            let now = Instant::now();
            for bucket in buckets.iter().filter(|bucket| bucket.stored.is_none() && !stays) {
                room.take(held.bytes_of(bucket.id))?;
                held.first(bucket.id, 1, now);
            }
        }
        if let Some(number) = view {
            self.remember(stored(&buckets));
            let open = Some(Open { number, sourcetypes, answer });
            return Ok(Some(View { answered, buckets, adopted, open }));
        }
        while let Some(part) = answer.next().await? {
            let Some(part) = part.rows else { continue };
            let damaged = |error: arrow::error::ArrowError| Status::data_loss(error.to_string());
            counter!(names::PEERS_RECEIVED_BYTES).increment(part.batch.len() as u64);
            let batch = rows::decode(&part.batch).map_err(damaged)?;
            room.take(batch.get_array_memory_size())?;
            let id = id_of(&part.id)?;
            // Rows before these have been evicted: they are asked for again.
            if self.held.lock().add(id, part.first, &batch, Instant::now()).is_err() {
                return Ok(None);
            }
        }
        let (mut held, now) = (self.held.lock(), Instant::now());
        for bucket in buckets.iter_mut().filter(|bucket| bucket.stored.is_none()) {
            match held.first(bucket.id, bucket.rows, now) {
                Some(batches) => bucket.batches = batches,
                None => return Ok(None),
            }
        }
        drop(held);
        self.remember(stored(&buckets));
        Ok(Some(View { answered, buckets, adopted, open: None }))
    }

    /// Remembers the stored buckets, and keeps earlier ones that running searches still read.
    fn remember(&self, stored: HashMap<String, Arc<BucketEntry>>) {
        const REMEMBERED: usize = 4_096;
        let mut known = self.stored.lock();
        if known.len() > REMEMBERED {
            known.clear();
        }
        known.extend(stored);
    }
}

/// Repeats the last request to a suspect indexer, with the full deadlines, until it answers: searches would
/// wait for it, or never notice that it is back. An overloaded indexer answers other requests at once, but
/// delays searches. After some attempts, the smallest request of a search is sent, which is more likely to
/// succeed.
async fn ask_until_it_answers(shared: Weak<Shared>, peer: Weak<Peer>) {
    while let Some((peer, deadlines)) = still_suspect(&shared, &peer) {
        let (indexes, range) = peer.suspicion.lock().question();
        // The rows stay at the indexer; if it sends them nevertheless, there is no room for them.
        let most = (!peer.indexer.is_internal).then_some(0);
        let room = Room { most: 0, used: AtomicUsize::new(0) };
        // The peer records the outcome.
        drop(peer.view((indexes.as_slice(), &range), most, deadlines, &room).await);
        peer.suspicion.lock().asked_again();
        drop(peer);
        tokio::time::sleep(AGAIN).await;
    }
}

/// Returns the suspect indexer and the deadlines; `None` once it has answered, or if it has left the list. An
/// indexer that returns to the list is asked by the next search.
fn still_suspect(shared: &Weak<Shared>, peer: &Weak<Peer>) -> Option<(Arc<Peer>, Deadlines)> {
    let (shared, peer) = (shared.upgrade()?, peer.upgrade()?);
    let is_listed = (shared.indexers)().contains(&peer.indexer);
    let mut suspicion = peer.suspicion.lock();
    if suspicion.failure.is_none() || !is_listed {
        *suspicion = Suspicion::default();
        return None;
    }
    drop(suspicion);
    Some((peer, shared.deadlines()))
}

/// The buckets that wait for their upload, by the path of their object.
fn stored(buckets: &[HotBucket]) -> HashMap<String, Arc<BucketEntry>> {
    let stored = buckets.iter().filter_map(|bucket| bucket.stored.as_ref());
    stored.map(|entry| (entry.path.clone(), Arc::clone(entry))).collect()
}

fn unstable() -> Status {
    Status::aborted("its rows do not stay in memory here")
}

fn owner(owner: Owner) -> Result<HotOwner, Status> {
    let set =
        u16::try_from(owner.set).map_err(|_| Status::data_loss("its list has no such set"))?;
    let Owner { indexer, epoch, is_local, .. } = owner;
    Ok(HotOwner { indexer: indexer_of(&indexer)?, set, epoch, is_local })
}

fn hot_bucket(bucket: Bucket) -> Result<HotBucket, Status> {
    let unreadable = |what: &str, error: &dyn fmt::Display| {
        Status::data_loss(format!("its {what} is unreadable: {error}"))
    };
    let stored = bucket.stored.map(|json| serde_json::from_slice::<BucketEntry>(&json));
    let stored = stored.transpose().map_err(|error| unreadable("list of buckets", &error))?;
    Ok(HotBucket {
        id: id_of(&bucket.id)?,
        index: IndexName::new(&bucket.index).map_err(|error| unreadable("index name", &error))?,
        first_time: EventTime(bucket.first_time),
        last_time: EventTime(bucket.last_time),
        rows: bucket.rows,
        raw_bytes: bucket.raw_bytes,
        batches: Vec::new(),
        stored: stored.map(Arc::new),
        owner: bucket.owner.map(owner).transpose()?,
        elsewhere: None,
    })
}

/// Converts the error: a process that uploads much exceeds the time-out, but continues.
fn not_done(status: Status) -> Status {
    match status.code() {
        Code::DeadlineExceeded => Status::deadline_exceeded(format!(
            "it has not finished within {} s; it goes on if it has received the request, and its events \
             are in its journal until then",
            ROLLING.as_secs()
        )),
        _ => status,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::net::TcpListener;
    use tokio::sync::watch::{self, Sender};
    use tonic::transport::Endpoint;

    use super::*;

    /// A directory of one process that takes connections and never answers, once it is suspect.
    async fn suspect() -> (TcpListener, Sender<Arc<[Indexer]>>, Directory) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let indexer = Indexer {
            id: "silent".to_owned(),
            name: "silent".to_owned(),
            address: format!("http://{}", listener.local_addr().unwrap()),
            is_internal: false,
            is_recoverable: false,
        };
        let (sender, receiver) = watch::channel(Arc::<[Indexer]>::from([indexer]));
        let connect: Connect = Arc::new(|address: &str| {
            let endpoint = Endpoint::from_shared(address.to_owned());
            Ok(endpoint.map_err(|error| error.to_string())?.connect_lazy())
        });
        let indexers: Indexers = Arc::new(move || Arc::clone(&receiver.borrow()));
        let wait = Duration::from_secs(5);
        let settings =
            Settings { first_answer: wait, next_part: wait, moved_bytes: 0, held_bytes: 1 << 20 };
        let directory = Directory::new(None, indexers, connect, settings);
        let began = Instant::now();
        assert_eq!(searched(&directory).await.missing.len(), 1);
        assert!(began.elapsed() >= wait, "the first search waits");
        (listener, sender, directory)
    }

    async fn searched(directory: &Directory) -> HotView {
        directory.view(&[IndexName::new("main").unwrap()], &TimeRange::ALL).await
    }

    #[tokio::test(start_paused = true)]
    async fn no_search_waits_for_one_that_is_suspect() {
        let (_listener, _sender, directory) = suspect().await;
        for _ in 0..20 {
            let began = Instant::now();
            let missing = searched(&directory).await.missing;
            assert_eq!((missing.len(), began.elapsed()), (1, Duration::ZERO));
            assert!(missing[0].reason.contains("no answer within 5000 ms"), "{missing:?}");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_said_of_one_that_is_suspect_is_how_long_it_has_not_answered() {
        let (_listener, _sender, directory) = suspect().await;
        let in_time = Duration::from_secs(5);
        for (most, wait) in [(SHORT_WAIT, SHORT_WAIT), (Duration::MAX, in_time)] {
            let began = Instant::now();
            let answers = directory.answers_within(most).await;
            assert!((wait..wait * 2).contains(&began.elapsed()), "{:?}", began.elapsed());
            let missing = searched(&directory).await.missing;
            for reason in [answers[0].1.as_ref().unwrap_err(), &missing[0].reason] {
                assert!(reason.contains("no answer within 5000 ms"), "{reason}");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_has_left_the_list_or_whose_directory_is_gone_is_not_asked_again() {
        let (_listener, sender, directory) = suspect().await;
        let peer = directory.peers().remove(0);
        let listed = sender.send_replace(Arc::from([]));
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert!(peer.failure().is_none() && !peer.suspicion.lock().is_watched);
        // The indexer is back, before any search has noticed its absence.
        sender.send_replace(listed);
        assert_eq!(searched(&directory).await.missing.len(), 1);
        assert!(peer.failure().is_some() && peer.suspicion.lock().is_watched);
        let gone = Arc::downgrade(&peer);
        drop((peer, directory));
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert!(gone.upgrade().is_none());
    }

    #[test]
    fn a_process_that_is_still_uploading_is_told_as_such() {
        let told = not_done(Status::deadline_exceeded("no answer within 50000 ms"));
        let told = connection::reason(&told);
        assert!(told.starts_with("it has not finished within 50 s; it goes on"), "{told}");
        assert_eq!(connection::reason(&not_done(Status::unavailable("refused"))), "refused");
    }
}
