//! Everything together: starting with recovery, taking inputs, rolling, draining.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use bucket::{FieldSource, HotBuckets};
use foldhash::fast::RandomState;
use futures::future::BoxFuture;
use inputs::{Acknowledgement, BatchId, Input, Sink, SinkLimits, Utf16};
use knowledge::{AckLevel, Knowledge};
use model::{ErrorKind, IndexName, IndexerId, TimeRange};
use object_store::ObjectStore;
use parking_lot::{Mutex, RwLock};
use protocol::Sequences;
use runtime::{Clock, Shutdown, metrics as names};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::ack::AckShare;
use crate::adoption::{Adopted, Adopter};
use crate::channels::{BatchState, Channels};
use crate::fence::Fence;
use crate::fields::KnownFields;
use crate::forwarders::{ForwarderStatus, Forwarders};
use crate::gate::Gate;
use crate::hot::aside::{Aside, SetAside};
use crate::hot::attempts::Attempts;
use crate::hot::limits::HotLimits;
use crate::hot::recovery::{Destination, Lost};
use crate::hot::roll::roll_leftovers;
use crate::hot::sift::Sifter;
use crate::hot::spool::{Spool, SpoolFirst, SpoolStatus};
use crate::hot::store::{HotStatus, HotStore};
use crate::hot::upload::{Sets, UploadStatus, Uploader, Uploads};
use crate::journal;
use crate::lifecycle::{Lifecycle, Thaw, Thawed};
use crate::orphans::{Orphans, report_kept, without_those_of_buckets};
use crate::parts::Parts;
use crate::pipeline::messages::{Order, Work};
use crate::pipeline::preview::{Preview, Previewer, Sample};
use crate::pipeline::queue::{QueueStatus, Refused};
use crate::pipeline::rules::RuleBook;
use crate::pipeline::{PipelineSet, Shared};
use crate::remote::Logs;
use crate::set::{Arrivals, SetId, SetState};
use crate::startup::{Starting, recover, resume_later};
use crate::tally::{Tallied, Tally};
use crate::{Error, Keep, Settings};
use catalog::Snapshot;

/// How long commits that are under way at the end of a drain are waited for.
const LAST_COMMITS: Duration = Duration::from_secs(5);

/// What ingest is doing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// All queues, by set and stage.
    pub queues: Vec<QueueStatus>,
    /// All hot buckets.
    pub hot: Vec<HotStatus>,
    /// What is on its way to object storage.
    pub uploads: UploadStatus,
    /// What of it waits on the disk.
    pub spool: SpoolStatus,
    /// Bytes of all journals on the disk.
    pub journal_bytes: u64,
    /// Journal segments on the disk.
    pub journal_segments: u64,
    /// Events that the last start took from the journal.
    pub recovered_events: u64,
    /// What the last start missed of the journal although it was acknowledged.
    pub lost: Vec<Lost>,
}

/// What ingest did in a span of time.
#[derive(Debug, Default)]
pub struct Window {
    /// All queues, by set and stage, with the extremes of the span.
    pub queues: Vec<QueueStatus>,
    /// What became searchable.
    pub tallied: Tallied,
    /// Forwarders that are connected; their counts are from the beginning of their connection.
    pub forwarders: Vec<ForwarderStatus>,
}

/// See the crate.
#[derive(Debug)]
pub struct Ingest {
    settings: Arc<Settings>,
    pipelines: Vec<PipelineSet>,
    sets: Vec<Arc<SetState>>,
    hot: Arc<HotStore>,
    uploads: Arc<Uploads>,
    spool: Arc<Spool>,
    gate: Arc<Gate>,
    lifecycle: Option<Arc<Lifecycle>>,
    channels: Arc<Channels>,
    clock: Arc<dyn Clock>,
    shutdown: Shutdown,
    /// Those by which inputs recognise their sources; the pipelines have their own copies.
    pub(crate) rules: RwLock<RuleBook>,
    fields: Arc<KnownFields>,
    limits: Arc<HotLimits>,
    recovered_events: u64,
    sifter: Arc<Sifter>,
    logs: Logs,
    adopter: Arc<Adopter>,
    lost: Vec<Lost>,
    tally: Arc<Tally>,
    forwarders: Forwarders,
    hasher: RandomState,
    /// Keeps a second process out of the journal.
    _lock: File,
}

impl Ingest {
    /// Recovers what the journal holds and starts to take inputs. Must be called inside tokio.
    ///
    /// # Errors
    /// A setting does not fit, another process has the directory, or the journal cannot be read.
    pub async fn start(parts: Parts) -> Result<Self, Error> {
        Self::start_reporting(parts, &|_| {}).await
    }

    /// The same; `tell` is told what the start waits for, again and again. Where the journal on the disk is
    /// lost, that is another place that has the acknowledged events and does not answer.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    #[expect(clippy::too_many_lines, reason = "each part needs those before it")]
    pub async fn start_reporting(
        parts: Parts,
        tell: &(dyn Fn(String) + Send + Sync),
    ) -> Result<Self, Error> {
        parts.settings.validate()?;
        let settings = Arc::new(parts.settings.clone());
        let root = parts.data.join("journal");
        let lock = journal::lock(&root)?;
        let hot = Arc::new(HotStore::new());
        let limits = Arc::new(HotLimits::new(Arc::clone(&settings), &parts.knowledge));
        let channels = Channels::open(
            &root,
            settings.max_forwarded_channels,
            settings.forwarded_channel_idle,
        )?;
        let spool = Arc::new(Spool::open(&parts.data.join("spool"), &settings)?);
        let shutdown = Shutdown::new();
        let (uploads, rolled) = Uploads::new();
        let sets = Arc::new(Sets::default());
        let attempts = parts.data.join("encoding");
        let fields = Arc::new(KnownFields::new(Arc::clone(&parts.knowledge)));
        let sifter = Arc::new(Sifter {
            fields: Arc::clone(&fields) as Arc<dyn FieldSource>,
            options: settings.bucket.clone(),
            max_event_size: settings.max_event_size,
            aside: Arc::new(Aside::open(&parts.data.join("rejected"), settings.max_rejected_size)),
            attempts: Attempts::open(&attempts)
                .map_err(|error| Error::journal_write(&attempts, error))?,
        });
        let fence = Arc::new(Fence::default());
        let gate = Arc::new(Gate::new(Arc::clone(&spool), Arc::clone(&fence)));
        let uploader = Uploader {
            store: Arc::clone(&parts.store),
            catalog: Arc::clone(&parts.catalog),
            sifter: Arc::clone(&sifter),
            hot: Arc::clone(&hot),
            spool: Arc::clone(&spool),
            fence: Arc::clone(&fence),
            sets: Arc::clone(&sets),
            indexer: parts.indexer,
            settings: Arc::clone(&settings),
            shutdown: shutdown.clone(),
        };
        // It works during recovery already, so that a long journal needs no more memory than a
        // short one.
        shutdown.spawn(uploader.run(Arc::clone(&uploads), rolled));
        let to = Destination {
            hot: Arc::clone(&hot),
            limits: Arc::clone(&limits),
            uploads: Arc::clone(&uploads),
            sifter: Arc::clone(&sifter),
            max_rolled: settings.max_rolled_buckets,
        };
        let starting = Starting::new(&shutdown, &sifter);
        let logs = Logs::new(&parts, &fence, &settings);
        let with = (&channels, &logs);
        let (recovered, leftovers, late) = recover(&parts, &root, &to, with, tell).await?;
        for log in late {
            let (catalog, hot) = (Arc::clone(&parts.catalog), Arc::clone(&to.hot));
            let at = (catalog, parts.indexer, root.clone(), hot);
            let states = recovered.iter().map(|(state, _)| Arc::clone(state)).collect();
            let until = (Arc::clone(&fence), shutdown.clone());
            shutdown.spawn(resume_later(at, log, states, settings.upload_retry, until));
        }
        for log in logs.iter() {
            shutdown.spawn(Arc::clone(log).run(shutdown.clone()));
            shutdown.spawn(Arc::clone(log).clean(shutdown.clone()));
        }
        let seen = recovered.iter().map(|(_, set)| set.last_index_time).max();
        let snapshot = parts.catalog.snapshot();
        let newest = |index| snapshot.buckets(index).last_index_time();
        let stored = snapshot.indexes().filter_map(newest).max().map(|time| time.0);
        let arrivals = Arc::new(Arrivals::after(seen.max(stored).unwrap_or(i64::MIN)));

        let adopter = Adopter {
            store: Arc::clone(&parts.store),
            replicas: parts.replicas.clone(),
            catalog: Arc::clone(&parts.catalog),
            data: parts.data.clone(),
            indexer: parts.indexer,
            to,
            channels: Arc::clone(&channels),
            clock: Arc::clone(&parts.clock),
            sets: Arc::clone(&sets),
            settings: Arc::clone(&settings),
            shutdown: shutdown.clone(),
            progress: Mutex::default(),
        };
        let mut ingest = Self {
            settings: Arc::clone(&settings),
            pipelines: Vec::new(),
            sets: Vec::new(),
            hot: Arc::clone(&hot),
            uploads: Arc::clone(&uploads),
            gate,
            spool,
            lifecycle: None,
            channels,
            clock: Arc::clone(&parts.clock),
            shutdown: shutdown.clone(),
            rules: RwLock::new(RuleBook::new(
                Arc::clone(&parts.knowledge),
                settings.max_event_size,
            )),
            fields: Arc::clone(&fields),
            limits: Arc::clone(&limits),
            recovered_events: 0,
            sifter,
            logs,
            adopter: Arc::new(adopter),
            lost: Vec::new(),
            tally: Arc::new(Tally::new(settings.squash_threshold)),
            forwarders: Forwarders::default(),
            // Streams need not stick to a set beyond the process.
            hasher: RandomState::default(),
            _lock: lock,
        };
        let (mut orphans, mut kept) = (Vec::new(), Vec::new());
        for (state, set) in recovered {
            ingest.recovered_events += set.events;
            orphans.extend(set.orphans);
            kept.extend(set.kept);
            ingest.lost.extend(set.lost);
            sets.add(Arc::clone(&state));
            ingest.sets.push(state);
        }
        without_those_of_buckets(&mut orphans, &parts.catalog.snapshot());
        report_kept(kept, &parts.catalog.snapshot());
        ingest.lost.iter().for_each(Lost::report);
        // What only this disk has is missing elsewhere until it is stored, as before the restart.
        for here in hot.status().iter().filter(|bucket| !bucket.stream.lane.is_recoverable()) {
            limits.note_local(&here.stream.index);
        }
        // What was committed while sets were recovered has released nothing yet.
        for (stream, position) in parts.catalog.positions(parts.indexer).await {
            if let Some(set) = sets.get(SetId::of(&stream)) {
                set.release(&stream, position);
            }
        }
        let lifecycle = Lifecycle::new(&parts, &fields, &limits, &hot, shutdown.clone());
        shutdown.spawn(Arc::clone(&lifecycle).run());
        ingest.lifecycle = Some(lifecycle);
        let deleting = Orphans {
            store: parts.store,
            catalog: parts.catalog,
            clock: parts.clock,
            retry: settings.upload_retry,
            shutdown: shutdown.clone(),
        };
        shutdown.spawn(deleting.delete(orphans));
        let to = (&*ingest.hot, &*ingest.uploads);
        roll_leftovers(&ingest.sets, to, &ingest.sifter.attempts, &leftovers);
        ingest.start_pipelines(&arrivals)?;
        if ingest.recovered_events > 0 {
            tracing::info!(events = ingest.recovered_events, "events recovered from the journal");
        }
        starting.done();
        Ok(ingest)
    }

    fn start_pipelines(&mut self, arrivals: &Arc<Arrivals>) -> Result<(), Error> {
        for number in 0..self.settings.parallel_ingestion_pipelines {
            let Some(set) = self.sets.iter().find(|set| set.id.set == number) else { continue };
            let shared = Shared {
                settings: Arc::clone(&self.settings),
                limits: Arc::clone(&self.limits),
                rules: self.rules.read().clone(),
                hot: Arc::clone(&self.hot),
                uploads: Arc::clone(&self.uploads),
                spool: Arc::clone(&self.spool),
                gate: Arc::clone(&self.gate),
                arrivals: Arc::clone(arrivals),
                tally: Arc::clone(&self.tally),
            };
            self.pipelines.push(PipelineSet::start(Arc::clone(set), shared)?);
        }
        Ok(())
    }

    /// The hot buckets, for searches.
    #[must_use]
    pub fn hot(&self) -> Arc<dyn HotBuckets> {
        Arc::clone(&self.hot) as Arc<dyn HotBuckets>
    }

    /// The store that searches read buckets from: `inner`, and before it the buckets that are on
    /// their way to object storage.
    #[must_use]
    pub fn readable(&self, inner: Arc<dyn ObjectStore>) -> Arc<dyn ObjectStore> {
        Arc::new(SpoolFirst { spool: Arc::clone(&self.spool), inner })
    }

    /// Events that no bucket could hold, now and whenever there are more.
    #[must_use]
    pub fn set_aside(&self) -> watch::Receiver<SetAside> {
        self.sifter.aside.watch()
    }

    /// Recovers what the log of another indexer has, where the catalog names this one as the owner of its
    /// sets, or the other one, which the caller knows to be gone: then this one becomes the owner. Returns
    /// when everything is stored and the sets are the other one's again.
    ///
    /// # Errors
    /// The store, the disk or the catalog refuses; another process owns the sets; this one stops. It can be
    /// tried again.
    pub async fn adopt(&self, from: IndexerId) -> Result<Adopted, Error> {
        // The start may have taken records of that indexer from the disk. Its log is compared with buckets
        // only.
        if self.recovered_events > 0 && self.adopter.stores_recovered_first(from) {
            self.roll_all(None).await?;
            self.adopter.note_recovered_stored();
        }
        self.adopter.adopt(from).await
    }

    /// The indexers whose recovered events are searchable here.
    #[must_use]
    pub fn adopted(&self) -> Vec<IndexerId> {
        self.hot.adopted_indexers()
    }

    /// Whether this process still owns its sets.
    ///
    /// # Errors
    /// [`Error::TakenOver`], or [`Error::BegunAgain`] if they were given back since.
    pub fn check_owner(&self, snapshot: &Snapshot) -> Result<(), Error> {
        for SetId { indexer, set } in self.sets.iter().map(|set| set.id) {
            let own = self.hot.epoch(SetId { indexer, set });
            let (epoch, by) = snapshot.owner(indexer, set);
            if epoch > own {
                return Err(Error::lost_set(indexer, set, (epoch, by)));
            }
        }
        Ok(())
    }

    /// Whether events may be acknowledged here that are on the disk of this machine only: an index has
    /// `ackLevel = local`. Internal indexes do not count.
    #[must_use]
    pub fn acknowledges_locally(&self) -> bool {
        self.limits.acknowledges_locally()
    }

    /// Whether acknowledgements wait for copies at other indexers: an index has `ackLevel = replicated`.
    /// Internal indexes do not count.
    #[must_use]
    pub fn replicates(&self) -> bool {
        self.limits.replicates()
    }

    /// Whether this process has events, acknowledged or recovered at its start, that are on the disk of this
    /// machine only, or has had some since its start. Internal indexes do not count.
    #[must_use]
    pub fn local_acks(&self) -> watch::Receiver<bool> {
        self.limits.local_acks()
    }

    /// The settings in force.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Works by these rules from now on: what is taken in after this returns is broken, dated and routed by
    /// them, and inputs recognise what they open by them. Open streams keep their sourcetype; those with a
    /// header, such as CSV, keep their rules.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub async fn set_rules(&self, knowledge: &Arc<Knowledge>) -> Result<(), Error> {
        self.fields.set(Arc::clone(knowledge));
        self.limits.configure(knowledge);
        let rules = self.rules.read().with(Arc::clone(knowledge));
        self.order(|| Order::Rules(rules.clone())).await?;
        // Afterwards: a source type that is recognised by them is broken by them.
        *self.rules.write() = rules;
        Ok(())
    }

    /// What would become of a text by these rules, in the stages through which events pass; nothing is
    /// kept, counted or logged. Keeps the thread busy.
    #[must_use]
    pub fn preview(&self, knowledge: &Arc<Knowledge>, sample: Sample) -> Preview {
        let previewer = Previewer {
            rules: self.rules.read().with(Arc::clone(knowledge)),
            limits: &self.limits,
            events: self.settings.event_limits(),
            clock: &self.clock,
        };
        previewer.preview(sample)
    }

    /// Completes the unfinished events of all streams and waits until they are in the journal.
    ///
    /// # Errors
    /// As for taking in events.
    pub async fn flush(&self) -> Result<(), Error> {
        self.order(|| Order::Flush).await
    }

    /// Rolls the open buckets of an index, or of all, and waits until every rolled bucket is in
    /// the catalog: as long as object storage is away, if it is.
    ///
    /// # Errors
    /// [`Error::Closed`], [`Error::Fenced`].
    pub async fn roll_all(&self, index: Option<&IndexName>) -> Result<(), Error> {
        self.gate.fenced()?;
        self.order(|| Order::Roll(index.cloned())).await?;
        tokio::select! {
            () = self.uploads.idle() => Ok(()),
            // Nothing is uploaded any more.
            () = self.shutdown.stopped() => {
                self.gate.fenced()?;
                Err(Error::Closed)
            }
        }
    }

    /// The catalog is another server's: takes nothing in any more and stops to upload, join and
    /// freeze. What is here stays in the journal and in the spool for a start that takes the catalog
    /// back; senders get `reason`.
    pub fn fence(&self, reason: &Arc<str>) {
        self.gate.fence(reason);
        self.shutdown.stop();
    }

    /// The journal is lost: takes nothing in any more. What is inside goes on, and is uploaded; senders get
    /// `reason`.
    pub fn refuse(&self, reason: &'static str) {
        self.gate.refuse(reason);
    }

    /// What happened to a journal whose directory, or the segment that is written to, was removed or replaced
    /// while it is open: no start would find what is acknowledged from then on. Blocks, and waits for a group
    /// that is being synced; a path that does not answer does not keep the journal from the next one.
    #[must_use]
    pub fn journal_loss(&self) -> Option<String> {
        let looks = self.sets.iter().map(|set| set.journal().look());
        looks.into_iter().find_map(|look| look.loss())
    }

    async fn order(&self, order: impl Fn() -> Order) -> Result<(), Error> {
        let mut outcomes = Vec::new();
        for set in &self.pipelines {
            let (share, outcome) = AckShare::new();
            let work = Work::Order(order(), share);
            if set.entrance.push_async(work, 64, Duration::MAX).await.is_err() {
                return Err(Error::Closed);
            }
            outcomes.push(outcome);
        }
        for outcome in outcomes {
            // An order is only lost when the set has ended.
            outcome.wait().await.map_err(|_| Error::Closed)?;
        }
        Ok(())
    }

    /// Brings archived buckets of an index back into searches, where retention leaves them alone. One that is
    /// damaged does not keep the others: the result names it.
    ///
    /// # Errors
    /// The archive is unavailable, or the catalog not written; what was brought back before stays.
    pub async fn thaw(&self, wanted: &Thaw) -> Result<Thawed, Error> {
        self.lifecycle()?.thaw(wanted).await
    }

    /// Takes thawed buckets of the range out of searches again; how many. Their archive still has
    /// them.
    ///
    /// # Errors
    /// The catalog cannot be written.
    pub async fn freeze_thawed(&self, index: &IndexName, range: &TimeRange) -> Result<u64, Error> {
        self.lifecycle()?.freeze_thawed(index, range).await
    }

    /// Does now what the background does every `rotatePeriodInSecs`: freezes, joins and cleans up
    /// what is due.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub async fn rotate(&self) -> Result<(), Error> {
        self.lifecycle()?.round().await;
        Ok(())
    }

    /// Replaces how long and how much of an index is kept; without `keep`, `indexes.conf` counts
    /// again. It is not remembered over a restart.
    pub fn set_keep(&self, index: &IndexName, keep: Option<Keep>) {
        self.limits.set_keep(index, keep);
    }

    /// Replaces the level at which events of an index are acknowledged; without `level`, `indexes.conf`
    /// counts again. It is not remembered over a restart.
    pub fn set_ack_level(&self, index: &IndexName, level: Option<AckLevel>) {
        self.limits.set_ack_level(index, level);
    }

    /// The level at which events of an index are acknowledged.
    #[must_use]
    pub fn ack_level(&self, index: &IndexName) -> AckLevel {
        self.limits.ack_level(index)
    }

    /// Freezes now what the index need not keep any more.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub async fn retain(&self, index: &IndexName) -> Result<(), Error> {
        self.lifecycle()?.retain(index).await;
        Ok(())
    }

    /// Why due buckets are not frozen, while some are not.
    #[must_use]
    pub fn not_frozen(&self) -> watch::Receiver<Option<Arc<str>>> {
        let lifecycle = self.lifecycle.as_ref();
        lifecycle.map_or_else(|| watch::channel(None).1, |lifecycle| lifecycle.not_frozen())
    }

    /// Rolls the open buckets of an index; whether none of its events is hot any more: all are in the
    /// catalog.
    pub(crate) async fn roll_out(&self, index: &IndexName) -> Result<bool, Error> {
        self.gate.fenced()?;
        self.order(|| Order::Roll(Some(index.clone()))).await?;
        Ok(!self.has_hot(index))
    }

    /// Whether there are hot buckets of an index, those that wait for their upload included.
    pub(crate) fn has_hot(&self, index: &IndexName) -> bool {
        self.hot.has_any(index)
    }

    /// Removes every stored event of an index, of which no more may come; how many buckets that were. No
    /// archive gets them.
    pub(crate) async fn remove_stored(&self, index: &IndexName) -> Result<u64, Error> {
        self.lifecycle()?.empty(index).await
    }

    fn lifecycle(&self) -> Result<&Arc<Lifecycle>, Error> {
        self.lifecycle.as_ref().ok_or(Error::Closed)
    }

    /// Stops taking inputs, completes what is under way, uploads everything, and ends. `true` when all is in
    /// object storage within the deadline; what is not stays in the journal for the next start.
    pub async fn drain(&self, deadline: Duration) -> bool {
        let fenced = self.gate.fenced().is_err();
        let until = Instant::now() + deadline;
        let orders = async {
            self.flush().await?;
            // Nobody would take the buckets: the journal keeps the events where they are.
            if fenced { Ok(()) } else { self.order(|| Order::Roll(None)).await }
        };
        let rolled = timeout_at(until, orders).await;
        self.close();
        let stored = async {
            self.uploads.idle().await;
            for log in self.logs.iter() {
                log.idle().await;
            }
        };
        let complete =
            !fenced && matches!(rolled, Ok(Ok(()))) && timeout_at(until, stored).await.is_ok();
        if complete {
            // Nothing is left to recover.
            for log in self.logs.iter() {
                let _ = timeout_at(until, log.end()).await;
            }
        }
        // A commit under way is never given up half-way; a store that does not answer is.
        if let Err(error) = self.shutdown.finish(LAST_COMMITS).await {
            self.sifter.attempts.end();
            tracing::warn!(%error, "uploads are still running");
        }
        self.hot.give_up();
        complete
    }

    /// Stops taking inputs; what is under way is still acknowledged.
    fn close(&self) {
        for set in &self.pipelines {
            set.close();
        }
    }

    /// What is going on.
    #[must_use]
    pub fn status(&self) -> Status {
        let journals = || self.sets.iter().map(|set| set.journal());
        Status {
            queues: self.list_queues(),
            hot: self.hot.status(),
            uploads: self.uploads.status(),
            spool: self.spool.status(),
            journal_bytes: journals().map(|journal| journal.bytes()).sum(),
            journal_segments: journals().map(|journal| journal.segment_count() as u64).sum(),
            recovered_events: self.recovered_events,
            lost: self.lost.clone(),
        }
    }

    /// Why nothing is taken in, if so.
    #[must_use]
    pub fn intake_stopped(&self) -> Option<String> {
        self.spool.full().map(|reason| format!("no events are accepted: {reason}"))
    }

    /// What has happened since this was last asked; for one asker, who writes it down.
    #[must_use]
    pub fn window(&self) -> Window {
        Window {
            queues: self.pipelines.iter().flat_map(PipelineSet::window).collect(),
            tallied: self.tally.take(),
            forwarders: self.forwarders.status(),
        }
    }

    /// The connections of forwarders.
    pub(crate) fn forwarders(&self) -> &Forwarders {
        &self.forwarders
    }

    /// All queues, by set and stage.
    #[must_use]
    pub fn list_queues(&self) -> Vec<QueueStatus> {
        self.pipelines.iter().flat_map(PipelineSet::status).collect()
    }
}

impl Sink for Ingest {
    /// An input is safe when everything it completed is in the journal; it is searchable then.
    /// Events of a failed input are not kept, except that an input of several batches may be kept
    /// in part when the disk fills up between them.
    fn enqueue<'a>(
        &'a self,
        input: Input,
        wait: Duration,
    ) -> BoxFuture<'a, Result<Acknowledgement, inputs::Error>> {
        Box::pin(async move {
            check_open(&input)?;
            self.push(input, AckShare::new(), wait).await
        })
    }

    fn utf16(&self, source: &str, sourcetype: Option<&str>, host: &str) -> Option<Utf16> {
        self.rules.read().utf16(source, sourcetype, host)
    }

    fn recognise(&self, source: &str, sample: &[u8]) -> Arc<str> {
        self.rules.read().recognise(source, sample)
    }

    fn limits(&self) -> SinkLimits {
        let Settings { queue_wait, stream_idle, .. } = *self.settings;
        SinkLimits { queue_wait, stream_idle }
    }
}

impl Ingest {
    /// Hands over an input that its sender has numbered, as [`Sink::enqueue`] does: it is kept as a
    /// whole or not at all, and once, however often and after however many crashes it is sent. It
    /// has to be complete in itself: raw bytes end their stream. One that is safe already is
    /// acknowledged with an empty receipt.
    ///
    /// # Errors
    /// As [`Sink::enqueue`]; and with [`model::ErrorKind::Conflict`] while the same input is on its
    /// way: its sender tries again later.
    pub async fn deliver(
        &self,
        id: BatchId,
        input: Input,
        wait: Duration,
    ) -> Result<Acknowledgement, inputs::Error> {
        check_open(&input)?;
        self.deliver_records(id, input, wait).await
    }

    /// The same for the records of the audit trail, which have an index to themselves.
    ///
    /// # Errors
    /// As [`Self::deliver`].
    pub async fn deliver_records(
        &self,
        id: BatchId,
        input: Input,
        wait: Duration,
    ) -> Result<Acknowledgement, inputs::Error> {
        match self.channels.begin(id, self.clock.now()) {
            BatchState::New(batch) => self.push(input, AckShare::of_batch(batch), wait).await,
            BatchState::Known => {
                metrics::counter!(names::INGEST_DUPLICATES).increment(1);
                let (share, outcome) = AckShare::new();
                share.complete(0, 0);
                Ok(outcome)
            }
            BatchState::InFlight => Err(inputs::Error::Refused {
                kind: ErrorKind::Conflict,
                reason: "the batch is already being processed; send it again later".into(),
            }),
        }
    }

    /// Which numbers of a sender's channel are safe.
    #[must_use]
    pub fn delivered(&self, channel: uuid::Uuid) -> Sequences {
        self.channels.safe(channel)
    }

    async fn push(
        &self,
        input: Input,
        (share, outcome): (AckShare, Acknowledgement),
        wait: Duration,
    ) -> Result<Acknowledgement, inputs::Error> {
        use std::hash::BuildHasher;
        let hash = self.hasher.hash_one(input.stream());
        // The count is at least one and small.
        let number = usize::try_from(hash % self.pipelines.len().max(1) as u64).unwrap_or(0);
        let Some(set) = self.pipelines.get(number) else { return Err(inputs::Error::Closed) };
        let wait = self.gate.enter(wait).await?;
        let size = input.size();
        match set.entrance.push_async(Work::Input(input, share), size, wait).await {
            Ok(()) => Ok(outcome),
            Err(Refused::Closed(_)) => Err(inputs::Error::Closed),
            Err(Refused::Full(_)) => Err(Error::QueueFull {
                stage: "parsing",
                set: u16::try_from(number).unwrap_or(u16::MAX),
                waited_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
            }
            .into()),
        }
    }
}

/// Refuses what nobody may send. Every input comes through here, whatever its protocol looked at before.
fn check_open(input: &Input) -> Result<(), Error> {
    match input {
        Input::Raw { origin, .. } => origin.index.check_open()?,
        Input::Events { events, .. } => {
            for origin in &events.origins {
                origin.index.check_open()?;
            }
        }
    }
    Ok(())
}

impl Drop for Ingest {
    fn drop(&mut self) {
        self.close();
        self.shutdown.stop();
        self.sifter.attempts.end();
        // The lock on the journal may only go when nobody writes any more.
        for set in &mut self.pipelines {
            set.join();
        }
    }
}
