//! Errors of ingest.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use model::ErrorKind;

/// Errors of ingest, with the facts that an operator or a sender needs.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The journal could not be written; no event of the input was stored.
    #[error(
        "cannot write journal {}: {source}; free space or repair the disk, then send again",
        path.display()
    )]
    JournalWrite {
        /// The segment or directory.
        path: PathBuf,
        /// The error of the system.
        source: Arc<io::Error>,
    },
    /// The journal could not be read.
    #[error("cannot read journal {}: {source}", path.display())]
    JournalRead {
        /// The segment or directory.
        path: PathBuf,
        /// The error of the system.
        source: Arc<io::Error>,
    },
    /// The spool of finished buckets could not be used.
    #[error("cannot use spool {}: {source}", path.display())]
    Spool {
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        source: Arc<io::Error>,
    },
    /// Encoding a bucket panicked, a defect in Karst.
    #[error("the bucket cannot be encoded: {reason}; its events stay in memory and in the journal")]
    EncodePanicked {
        /// The message of the panic.
        reason: String,
    },
    /// An event that cannot be stored in a bucket cannot be set aside either.
    #[error("cannot set an event aside in {}: {source}", path.display())]
    SetAside {
        /// The directory.
        path: PathBuf,
        /// The error of the system.
        source: Arc<io::Error>,
    },
    /// A journal record is damaged.
    #[error(
        "journal {} is damaged at byte {offset}: {reason}; later records were recovered, and the \
         file is kept as .damaged",
        path.display()
    )]
    JournalDamaged {
        /// The segment.
        path: PathBuf,
        /// Byte offset of the record.
        offset: u64,
        /// Why the record is invalid.
        reason: &'static str,
    },
    /// A queue stayed full.
    #[error(
        "the {stage} queue of pipeline set {set} stayed full for {waited_ms} ms; slow down, or \
         raise queueSize"
    )]
    QueueFull {
        /// The stage that reads the queue.
        stage: &'static str,
        /// The pipeline set.
        set: u16,
        /// How long the input waited.
        waited_ms: u64,
    },
    /// The disk has no room for more buckets that wait for upload.
    #[error("no events are accepted: {reason}; send again later")]
    DiskLimit {
        /// Which limit is reached, for users.
        reason: String,
    },
    /// The journal is lost: its directory or a segment was removed or replaced.
    #[error("{reason}")]
    JournalLost {
        /// The reason, as senders see it.
        reason: &'static str,
    },
    /// The catalog belongs to another server.
    #[error("{reason}")]
    Fenced {
        /// Which server it is, and what helps.
        reason: Arc<str>,
    },
    /// Another process has taken over a hot set.
    #[error(
        "no events are accepted: indexer {by} has taken over set {set} of this indexer (epoch {epoch}); \
         events that this one has not stored stay in its journal: keep its data directory until the \
         other indexer has stored the events that it took over"
    )]
    TakenOver {
        /// The set.
        set: u16,
        /// The indexer that owns it now.
        by: model::IndexerId,
        /// The epoch in which that indexer owns it.
        epoch: u64,
    },
    /// The catalog has a later epoch of a hot set, which this indexer owns itself: another process of it was
    /// started.
    #[error(
        "no events are accepted: set {set} of this indexer has begun again in epoch {epoch}: another indexer \
         has recovered its events and given it back, or a process was started with a copy of its data \
         directory; events that this one has not stored stay in its journal"
    )]
    BegunAgain {
        /// The set.
        set: u16,
        /// The later epoch.
        epoch: u64,
    },
    /// The journal of this indexer in object storage belongs to another process.
    #[error(
        "no events are accepted: journal object {number} of this indexer belongs to another process, \
         which has taken over its events or runs with a copy of its data directory; events that this \
         one has not stored stay in its journal"
    )]
    LogTaken {
        /// The number of the object.
        number: u64,
    },
    /// The journal on disk lacks records that the journal in object storage has.
    #[error(
        "no events are accepted: the journal lacks records that are in object storage, which did not \
         answer at startup; restart this process to restore them"
    )]
    JournalBehind,
    /// The input has events for an index that is reserved.
    #[error(transparent)]
    Reserved(#[from] model::ReservedIndex),
    /// Ingest is shutting down.
    #[error("ingest is shutting down; send again when it is back")]
    Closed,
    /// A stage ended before it had processed the input.
    #[error("the input was lost inside ingest before it was durable; send it again")]
    Abandoned,
    /// A request to object storage failed.
    #[error("cannot {operation} {path}: {source}")]
    Storage {
        /// The operation that failed.
        operation: &'static str,
        /// The object.
        path: String,
        /// The error of the store.
        source: Arc<object_store::Error>,
    },
    /// An object with the name of the bucket exists with another size.
    #[error("object {path} exists with {found} bytes where {expected} were written; remove it")]
    ObjectConflict {
        /// The object.
        path: String,
        /// Size of the object to be written, in bytes.
        expected: u64,
        /// Size of the existing object, in bytes.
        found: u64,
    },
    /// An archive of frozen buckets cannot be used.
    #[error("archive \"{place}\": {reason}")]
    Archive {
        /// The archive as configured, or the object in it.
        place: String,
        /// Why it cannot be used.
        reason: String,
    },
    /// An index has no archive to thaw from, and the request names none.
    #[error(
        "index {index} has no coldToFrozenDir: name the archive to thaw from (--from, over REST the parameter \
         from)"
    )]
    NoArchive {
        /// The index.
        index: model::IndexName,
    },
    /// The directory of an archive is not the one into which buckets were frozen.
    #[error(
        "archive \"{directory}\": {found}, and the directory that buckets were frozen into has the id \
         {expected}: mount its disk, or correct coldToFrozenDir; to use this directory from now on, write \
         the id into it: mkdir -p '{directory}' && echo {expected} > '{directory}/archive.id'"
    )]
    OtherArchive {
        /// The directory.
        directory: String,
        /// What the directory contains instead.
        found: String,
        /// The identity of the directory into which buckets were frozen.
        expected: uuid::Uuid,
    },
    /// A merged bucket does not have the same content as its parts; the parts are kept.
    #[error(
        "bucket {path} would have (events, bytes) {found:?} where its parts have {expected:?}; the \
         parts stay as they are"
    )]
    Merge {
        /// The object that was discarded.
        path: String,
        /// Events and bytes of text of the parts.
        expected: (u64, u64),
        /// Events and bytes of text of the merged bucket.
        found: (u64, u64),
    },
    /// A bucket could not be encoded.
    #[error("cannot encode bucket: {0}")]
    Bucket(Arc<bucket::Error>),
    /// A stored bucket could not be read.
    #[error("cannot read bucket: {0}")]
    BucketRead(Arc<bucket::Error>),
    /// A rebuild of the catalog could not read a single bucket.
    #[error(
        "the store refuses all objects that were read: correct its permissions, or move the \
         refused objects away, and run this again: {reason}"
    )]
    AllRefused {
        /// The first error.
        reason: String,
    },
    /// A document of the catalog is invalid.
    #[error("the document {kind}/{name} of the catalog is damaged: {reason}")]
    Document {
        /// The kind of document.
        kind: &'static str,
        /// The name of the document.
        name: String,
        /// Why it is invalid.
        reason: String,
    },
    /// The index is still being removed.
    #[error("the index \"{index}\" is still being removed: {reason}")]
    Removing {
        /// The index.
        index: model::IndexName,
        /// What its removal waits for.
        reason: String,
    },
    /// Hot buckets that were to be rolled are not in object storage yet.
    #[error("{reason}")]
    NotRolled {
        /// How long they wait, and why.
        reason: String,
    },
    /// The catalog returned an error.
    #[error("catalog: {0}")]
    Catalog(Arc<catalog::Error>),
    /// Rows could not be converted into columns.
    #[error("cannot build columns: {0}")]
    Columns(Arc<arrow::error::ArrowError>),
    /// A thread could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(Arc<io::Error>),
    /// A setting is invalid.
    #[error("setting {name}: {reason}")]
    Setting {
        /// The setting.
        name: &'static str,
        /// Why its value is invalid.
        reason: String,
    },
}

impl Error {
    /// Returns the kind of the error, which tells the caller how to react.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::JournalWrite { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull
                | io::ErrorKind::QuotaExceeded
                | io::ErrorKind::FileTooLarge => ErrorKind::Exhausted,
                _ => ErrorKind::Unavailable,
            },
            Self::JournalRead { .. }
            | Self::Spool { .. }
            | Self::SetAside { .. }
            | Self::Storage { .. }
            | Self::OtherArchive { .. }
            | Self::AllRefused { .. }
            | Self::Closed
            | Self::Fenced { .. }
            | Self::TakenOver { .. }
            | Self::BegunAgain { .. }
            | Self::LogTaken { .. }
            | Self::JournalBehind
            | Self::JournalLost { .. }
            | Self::NotRolled { .. }
            | Self::Thread(_) => ErrorKind::Unavailable,
            Self::JournalDamaged { .. } | Self::Document { .. } => ErrorKind::Corrupt,
            Self::QueueFull { .. } | Self::DiskLimit { .. } => ErrorKind::Exhausted,
            Self::Abandoned | Self::Columns(_) => ErrorKind::Internal,
            Self::ObjectConflict { .. } | Self::Removing { .. } => ErrorKind::Conflict,
            Self::Bucket(error) | Self::BucketRead(error) => error.kind(),
            Self::Catalog(error) => error.kind(),
            Self::Setting { .. }
            | Self::Archive { .. }
            | Self::NoArchive { .. }
            | Self::Reserved(_) => ErrorKind::Invalid,
            Self::Merge { .. } | Self::EncodePanicked { .. } => ErrorKind::Internal,
        }
    }

    /// Returns the error of a set of this indexer that `by` owns in a later epoch.
    pub(crate) fn lost_set(
        own: model::IndexerId,
        set: u16,
        (epoch, by): (u64, model::IndexerId),
    ) -> Self {
        if by == own {
            return Self::BegunAgain { set, epoch };
        }
        Self::TakenOver { set, by, epoch }
    }

    pub(crate) fn journal_write(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::JournalWrite { path: path.into(), source: Arc::new(source) }
    }

    pub(crate) fn journal_read(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::JournalRead { path: path.into(), source: Arc::new(source) }
    }
}

impl From<Error> for inputs::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Closed => Self::Closed,
            Error::Abandoned => Self::Abandoned,
            other => Self::Refused { kind: other.kind(), reason: other.to_string().into() },
        }
    }
}
