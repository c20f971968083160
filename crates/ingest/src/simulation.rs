//! What a simulation of a cluster runs of the insides: the log in other places, its agreement with the
//! journal, and the records of both. A simulation has its own disks, clocks and threads.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use foldhash::HashMap;
use inputs::Acknowledgement;
use model::{
    BucketId, EventBatchBuilder, EventTime, IndexName, IndexerId, JournalPlace, JournalPosition,
    Lane, Origin,
};
use object_store::ObjectStore;
use replication::{ReplicaStore, Replicas};
use runtime::Shutdown;

use crate::ack::{AckShare, Waiting};
use crate::fence::Fence;
use crate::journal::{
    Codec, Encoder, Record, RollStarted, SEGMENT_HEADER, encode_roll, scan_bytes, scan_raw,
};
use crate::remote::{self, Committed, Journals, RemoteLog, Shipment};
use crate::{Error, Settings};

/// An index and a lane of it.
pub type Stream = (IndexName, Lane);

/// What a record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Texts of events.
    Events(Vec<String>),
    /// The path of an object that is about to be put.
    Roll(String),
    /// Something that simulations do not write.
    Other,
}

/// A record of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadRecord {
    /// Its stream.
    pub stream: Stream,
    /// Its position.
    pub position: JournalPosition,
    /// What it says.
    pub content: Content,
}

/// The record of a batch of events.
#[must_use]
pub fn batch_record((index, lane): &Stream, position: JournalPosition, texts: &[&str]) -> Bytes {
    let name = |text: &str| Arc::<str>::from(text);
    let origin = Arc::new(Origin {
        index: index.clone(),
        host: name("host"),
        source: name("source"),
        sourcetype: name("sourcetype"),
    });
    let mut builder = EventBatchBuilder::new(index.clone(), 0);
    for text in texts {
        builder.push(&origin, EventTime(0), text);
    }
    Encoder::new(Codec::None).batch(&builder.finish(), 0, *lane, position).into()
}

/// The record that notes a roll.
#[must_use]
pub fn roll_record(
    (index, lane): &Stream,
    upto: JournalPosition,
    (bucket, path): (BucketId, &str),
) -> Bytes {
    let (index, lane, path) = (index.clone(), *lane, path.to_owned());
    encode_roll(&RollStarted { index, lane, upto, bucket, path }).into()
}

/// Reads records, up to the first damage.
#[must_use]
pub fn read_records(records: &[u8]) -> Vec<ReadRecord> {
    let segment = [&SEGMENT_HEADER[..], records].concat();
    let mut read = Vec::new();
    scan_bytes(Path::new("segment"), &segment, |record| {
        read.push(match record {
            Record::Batch(batch) => {
                let texts = (0..batch.batch.rows()).map(|row| text(&batch.batch, row));
                ReadRecord {
                    stream: (batch.batch.index.clone(), batch.lane),
                    position: batch.position,
                    content: Content::Events(texts.collect()),
                }
            }
            Record::Roll(roll) => ReadRecord {
                stream: (roll.index, roll.lane),
                position: roll.upto,
                content: Content::Roll(roll.path),
            },
            Record::Delivered(_) => return,
        });
    });
    read
}

fn text(batch: &model::EventBatch, row: usize) -> String {
    let border = |at: usize| batch.offsets.get(at).map_or(0, |offset| *offset as usize);
    let raw = batch.raw.get(border(row)..border(row + 1)).unwrap_or_default();
    String::from_utf8_lossy(raw).into_owned()
}

/// The records of each set in an object of a log; the reason if it is none.
///
/// # Errors
/// It is not an object of a log.
pub fn decode_object(object: &Bytes) -> Result<Vec<(u16, Bytes)>, &'static str> {
    remote::decode(object)
}

/// What a place has of the log of an indexer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Existing(remote::Existing);

impl Existing {
    /// Lists the log of an indexer.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub async fn list(store: &dyn ObjectStore, indexer: IndexerId) -> Result<Self, Error> {
        remote::Existing::list(store, indexer).await.map(Self)
    }

    /// The numbers of objects that have records, in order.
    #[must_use]
    pub fn with_records(&self) -> &[u64] {
        &self.0.with_records
    }

    /// The numbers of objects that seal the log, in order.
    #[must_use]
    pub fn seals(&self) -> &[u64] {
        &self.0.seals
    }

    /// The number behind the last one.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.0.next()
    }
}

/// Seals the log of an indexer: see `remote`.
///
/// # Errors
/// [`Error::Storage`].
pub async fn seal(store: &dyn ObjectStore, indexer: IndexerId) -> Result<Existing, Error> {
    remote::seal(store, indexer).await.map(Existing)
}

/// Deletes objects of a log.
pub async fn delete(store: &Arc<dyn ObjectStore>, indexer: IndexerId, numbers: Vec<u64>) {
    remote::delete(store, indexer, numbers).await;
}

/// What journal and log lack of each other.
#[derive(Debug, Default)]
pub struct Agreed {
    /// What the place of the log has.
    pub existing: Existing,
    /// Records that the log lacks, by set.
    unshipped: HashMap<u16, Shipment>,
    /// Sets whose journal lacks records that the log has, and the last one that it has.
    pub behind: Vec<(u16, Option<JournalPosition>)>,
}

/// Compares the records of each set with the log of an indexer.
///
/// # Errors
/// [`Error::Storage`].
pub async fn agree(
    store: &Arc<dyn ObjectStore>,
    indexer: IndexerId,
    (journals, place): (&BTreeMap<u16, Bytes>, JournalPlace),
    committed: &BTreeMap<u16, BTreeMap<Stream, JournalPosition>>,
) -> Result<Agreed, Error> {
    let sets: Vec<u16> = journals.keys().copied().collect();
    let journals: HashMap<u16, Bytes> =
        journals.iter().map(|(set, records)| (*set, records.clone())).collect();
    let committed: Committed = committed
        .iter()
        .map(|(set, streams)| (*set, streams.iter().map(|(s, p)| (s.clone(), *p)).collect()))
        .collect();
    let at = (Journals::Memory(&journals), &*sets, place);
    let agreed = remote::agree_with(store, indexer, at, &committed).await?;
    let remote::Agreed { existing, unshipped, behind } = agreed;
    Ok(Agreed { existing: Existing(existing), unshipped, behind })
}

/// Whether a process takes nothing in any more.
#[derive(Debug, Clone, Default)]
pub struct Fenced(Arc<Fence>);

impl Fenced {
    /// Closes it; whether it was open.
    pub fn close(&self, reason: &str) -> bool {
        self.0.close(&reason.into())
    }

    /// Whether it is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.check().is_err()
    }
}

/// A record on its way into a log, with an acknowledgement that waits for it.
#[derive(Debug)]
pub struct Shipped {
    /// Its stream.
    pub stream: Stream,
    /// Its position.
    pub position: JournalPosition,
    /// The record.
    pub record: Bytes,
    /// Whether somebody waits for it.
    pub is_awaited: bool,
}

/// The log of an indexer in one place, with the tasks that write it.
#[derive(Debug, Clone)]
pub struct Log(Arc<RemoteLog>);

impl Log {
    /// The log in object storage, or that at other indexers.
    #[must_use]
    pub fn new(
        store: Arc<dyn ObjectStore>,
        replicas: Option<Arc<Replicas>>,
        (indexer, fence): (IndexerId, &Fenced),
        settings: &Settings,
    ) -> Self {
        let store: Arc<dyn ObjectStore> = match &replicas {
            Some(replicas) => Arc::new(ReplicaStore(Arc::clone(replicas))),
            None => store,
        };
        Self(Arc::new(RemoteLog::new((store, replicas), indexer, Arc::clone(&fence.0), settings)))
    }

    /// Where it is.
    #[must_use]
    pub fn place(&self) -> JournalPlace {
        self.0.place()
    }

    /// The store that it is in.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn ObjectStore> {
        self.0.store()
    }

    /// Ends what former processes of the indexer have under way.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub async fn begin(&self) -> Result<(), Error> {
        self.0.begin().await
    }

    /// How many copies there were, if all of them are lost.
    pub async fn lost(&self) -> Option<usize> {
        self.0.lost().await
    }

    /// Whether it takes more.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.0.has_room()
    }

    /// Whether its place has taken nothing for too long.
    #[must_use]
    pub fn is_stalled(&self) -> bool {
        self.0.is_stalled()
    }

    /// Objects whose records are not all in buckets.
    #[must_use]
    pub fn objects(&self) -> usize {
        self.0.objects()
    }

    /// Goes on behind what the place has; `last` is what the journal has of each stream of the place. What
    /// the log lacks is sent.
    pub fn resume(&self, agreed: Agreed, last: &BTreeMap<(u16, Stream), JournalPosition>) {
        let last = last.iter().map(|(stream, last)| (stream.clone(), *last)).collect();
        self.0.resume(agreed.existing.0, &last);
        let mut unshipped: Vec<_> = agreed.unshipped.into_iter().collect();
        unshipped.sort_unstable_by_key(|(set, _)| *set);
        for (set, shipment) in unshipped {
            self.0.ship(set, shipment);
        }
    }

    /// Takes records of a set that are in its journal; the acknowledgements that wait for some.
    pub fn ship(&self, set: u16, records: Vec<Shipped>) -> Vec<Acknowledgement> {
        let mut shipment = Shipment::default();
        let mut outcomes = Vec::new();
        for Shipped { stream, position, record, is_awaited } in records {
            shipment.push(&stream, position, record);
            if is_awaited {
                let (share, outcome) = AckShare::new();
                shipment.waiting.push(Waiting { share, events: 1, bytes: 0 });
                outcomes.push(outcome);
            }
        }
        self.0.ship(set, shipment);
        outcomes
    }

    /// Notes that the catalog has a stream up to a position.
    pub fn release(&self, set: u16, stream: &Stream, position: JournalPosition) {
        self.0.release(set, stream, position);
    }

    /// Waits until the place has everything.
    pub async fn idle(self) {
        self.0.idle().await;
    }

    /// Puts what comes, until the signal to stop.
    pub async fn run(self, shutdown: Shutdown) {
        self.0.run(shutdown).await;
    }

    /// Deletes what is in buckets, until the signal to stop.
    pub async fn clean(self, shutdown: Shutdown) {
        self.0.clean(shutdown).await;
    }

    /// Everything is in buckets: seals the log and deletes its objects.
    pub async fn end(&self) {
        self.0.end().await;
    }
}

/// Hands the records of a part of a journal to `deliver` as they are, up to the first damage.
pub fn split_records(records: &[u8], mut deliver: impl FnMut(Stream, JournalPosition, &[u8])) {
    scan_raw(records, |record| deliver(record.stream, record.position, record.bytes));
}
