//! Errors of the catalog.

use model::{BucketId, ErrorKind, IndexerId, StreamId};

use crate::holder::Holder;

/// Result of a catalog operation.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Errors of the catalog.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// Another process has opened the same catalog; this one must stop writing.
    #[error(
        "catalog \"{path}\" has been taken over by another process; stop this one, or restart it \
             to take the catalog back"
    )]
    Fenced {
        /// Where the catalog is.
        path: String,
    },
    /// This process follows another one that has the catalog open.
    #[error("this process does not lead the cluster; ask another control plane ({leader})")]
    NotLeading {
        /// Addresses of processes that may lead.
        leader: String,
    },
    /// A live server uses the catalog.
    #[error(
        "the catalog is in use by another server ({by}), which is alive; stop that one first, or start \
             this one with --take-over, which stops the other"
    )]
    Held {
        /// The live server.
        by: Box<Holder>,
    },
    /// The catalog has been closed.
    #[error("catalog \"{path}\" is closed; open it again")]
    Closed {
        /// Where the catalog is.
        path: String,
    },
    /// The store failed or refused a request.
    #[error("catalog \"{path}\" cannot {what}: {reason}; check the object store and try again")]
    Store {
        /// Where the catalog is.
        path: String,
        /// The operation.
        what: &'static str,
        /// The error of the store or database.
        reason: String,
    },
    /// A time of the database was before one that it has recorded, and the database has ended.
    #[error(
        "catalog \"{path}\" cannot {what}: the clock of this machine is behind the last write of the \
             catalog ({reason}); set the clock and restart this process"
    )]
    Clock {
        /// Where the catalog is.
        path: String,
        /// The operation.
        what: &'static str,
        /// The error of the database, with both times.
        reason: String,
    },
    /// The store has not accepted a change within the deadline; it is still being retried.
    #[error(
        "catalog \"{path}\" has not taken the change within {seconds} s: {reason}; it is still being \
         retried, so it may take effect later"
    )]
    Slow {
        /// Where the catalog is.
        path: String,
        /// The deadline in seconds.
        seconds: u64,
        /// The last error of the store.
        reason: String,
    },
    /// No process that leads has answered.
    #[error(
        "the leader of the catalog ({leader}) has not answered within {seconds} s: {reason}; it is \
         unknown whether a change has taken effect: repeat it; it is applied only once"
    )]
    Unreachable {
        /// The addresses that were asked.
        leader: String,
        /// The deadline in seconds.
        seconds: u64,
        /// The last failure.
        reason: String,
    },
    /// The process at an address belongs to another cluster.
    #[error("the catalog cannot be followed: {reason}")]
    Refused {
        /// The address, why, and what helps.
        reason: String,
    },
    /// The catalog, or the object store, is not the one of the cluster.
    #[error("{reason}")]
    OtherCatalog {
        /// What was compared, how it differs, and what helps.
        reason: String,
    },
    /// The store ignores conditional puts, so two writers could overwrite each other's changes.
    #[error(
        "the object store of catalog \"{path}\" ignores If-Match on PUT; use S3, a current MinIO \
             or a local directory"
    )]
    NoConditions {
        /// Where the catalog is.
        path: String,
    },
    /// A bucket with this ID already exists with other content.
    #[error(
        "bucket {id} is already in catalog \"{path}\" with another object or summary; a bucket id \
             is never used twice"
    )]
    Conflict {
        /// Where the catalog is.
        path: String,
        /// The bucket.
        id: BucketId,
    },
    /// Some of the commit's events are in a bucket that exists already.
    #[error(
        "catalog \"{path}\" refuses a bucket of journal records {} to {} of stream {stream}: it has \
             those up to {known} in other buckets; the indexer must replay its journal above that position",
        records.0, records.1
    )]
    Overlap {
        /// Where the catalog is.
        path: String,
        /// The stream.
        stream: Box<StreamId>,
        /// First and last record of the bucket.
        records: (u64, u64),
        /// The position up to which the stream is in the catalog.
        known: u64,
    },
    /// The committer no longer owns the stream, or does not own it yet.
    #[error(
        "catalog \"{path}\" refuses epoch {epoch} of set {set} of indexer {indexer}: it is in epoch {known}, \
             owned by indexer {owner}; only the owner stores its buckets"
    )]
    OldEpoch {
        /// Where the catalog is.
        path: String,
        /// The indexer that has received the events.
        indexer: IndexerId,
        /// Its set.
        set: u16,
        /// The epoch of the commit.
        epoch: u64,
        /// The epoch of the catalog.
        known: u64,
        /// The owner in that epoch.
        owner: IndexerId,
    },
    /// A bucket that the commit requires no longer exists.
    #[error("bucket {id} has gone from catalog \"{path}\" in the meantime; read it again")]
    Gone {
        /// Where the catalog is.
        path: String,
        /// The bucket.
        id: BucketId,
    },
    /// A document differs from the state on which the change is based.
    #[error(
        "the document {kind}/{name} of catalog \"{path}\" has been changed in the meantime; read it \
         again"
    )]
    Changed {
        /// Where the catalog is.
        path: String,
        /// The kind of the document.
        kind: String,
        /// Its name.
        name: String,
    },
    /// The request is inconsistent or exceeds a limit.
    #[error("catalog \"{path}\" refuses {what}: {reason}")]
    Invalid {
        /// Where the catalog is.
        path: String,
        /// The request.
        what: String,
        /// The violated rule.
        reason: String,
    },
    /// A stored entry is damaged.
    #[error(
        "catalog \"{path}\" has a damaged entry {key}: {reason}; restore the prefix from a \
             backup or from the bucket's older version"
    )]
    Corrupt {
        /// Where the catalog is.
        path: String,
        /// The entry's key, escaped.
        key: String,
        /// What is wrong.
        reason: String,
    },
    /// A newer release wrote the entry.
    #[error(
        "catalog \"{path}\" has entry {key} of format {found}, and this release reads up to \
             {known}; upgrade this process"
    )]
    Version {
        /// Where the catalog is.
        path: String,
        /// The entry's key, escaped.
        key: String,
        /// The format version of the entry.
        found: u8,
        /// The newest version that this release supports.
        known: u8,
    },
}

impl Error {
    /// Returns the kind of the error, which tells the caller how to react.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Held { .. }
            | Self::Conflict { .. }
            | Self::Overlap { .. }
            | Self::OldEpoch { .. }
            | Self::Gone { .. }
            | Self::OtherCatalog { .. }
            | Self::Changed { .. } => ErrorKind::Conflict,
            // Another server can handle it.
            Self::Fenced { .. } | Self::NotLeading { .. } => ErrorKind::Unavailable,
            Self::Closed { .. }
            | Self::Store { .. }
            | Self::Clock { .. }
            | Self::Slow { .. }
            | Self::Unreachable { .. } => ErrorKind::Unavailable,
            Self::Refused { .. }
            | Self::NoConditions { .. }
            | Self::Invalid { .. }
            | Self::Version { .. } => ErrorKind::Invalid,
            Self::Corrupt { .. } => ErrorKind::Corrupt,
        }
    }

    /// Converts a database error to an error of the catalog.
    pub(crate) fn from_database(path: &str, what: &'static str, error: &slatedb::Error) -> Self {
        use slatedb::{CloseReason, ErrorKind as Kind};
        let path = path.to_owned();
        match error.kind() {
            Kind::Closed(CloseReason::Fenced) => Self::Fenced { path },
            Kind::Closed(CloseReason::Clean) => Self::Closed { path },
            // The database does not report an unparsable manifest as a data error.
            Kind::Internal if matches!(what, "open" | "read") => {
                Self::Corrupt { path, key: "of the database".to_owned(), reason: chain(error) }
            }
            Kind::Data => {
                Self::Corrupt { path, key: "of the database".to_owned(), reason: chain(error) }
            }
            // The database has no separate kind for this error.
            Kind::Invalid if chain(error).contains("invalid clock tick") => {
                Self::Clock { path, what, reason: chain(error) }
            }
            _ => Self::Store { path, what, reason: chain(error) },
        }
    }
}

/// Opens a database in a separate task, because the library panics on some kinds of damage.
pub(crate) async fn opened<T: Send + 'static>(
    path: &str,
    opening: impl Future<Output = std::result::Result<T, slatedb::Error>> + Send + 'static,
) -> Result<T> {
    match runtime::detached(opening).await {
        Ok(opened) => opened.map_err(|error| Error::from_database(path, "open", &error)),
        Err(panic) => Err(Error::Corrupt {
            path: path.to_owned(),
            key: "of the database".to_owned(),
            reason: panic.to_string(),
        }),
    }
}

/// Returns an error and its causes in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}
