//! What can go wrong with a bucket, as facts.

use model::{BucketId, ErrorKind};

/// Why a bucket could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The batches handed to the writer are not hot rows.
    #[error("bucket {id}: batch {batch} has {found}, expected {expected}")]
    Schema {
        /// The bucket being written.
        id: BucketId,
        /// Which of the batches, from 0.
        batch: usize,
        /// What it has.
        found: String,
        /// What hot rows have.
        expected: String,
    },
    /// There is nothing to write.
    #[error("bucket {id}: no rows to write; drop the hot bucket instead")]
    Empty {
        /// The bucket being written.
        id: BucketId,
    },
    /// More than the format can address.
    #[error("bucket {id}: {what} is {found}, over the format's limit of {limit}; roll it earlier")]
    TooLarge {
        /// The bucket being written.
        id: BucketId,
        /// What is too large.
        what: &'static str,
        /// How large it is.
        found: u64,
        /// What the format allows.
        limit: u64,
    },
    /// Options that do not fit together.
    #[error("write option {option} is {found}, must be {expected}")]
    Options {
        /// The option.
        option: &'static str,
        /// Its value.
        found: u64,
        /// The rule it breaks.
        expected: &'static str,
    },
    /// The encoder refused.
    #[error("bucket {id}: encoding failed")]
    Encode {
        /// The bucket being written.
        id: BucketId,
        /// The encoder's reason.
        #[source]
        source: parquet::errors::ParquetError,
    },
    /// Stored bytes are not what was written.
    #[error("bucket object \"{path}\" is corrupt: {section}: {reason}; restore it from a copy")]
    Corrupt {
        /// The object.
        path: String,
        /// Which part of it.
        section: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// Written by a newer Karst.
    #[error("bucket object \"{path}\" has format {found}, this version reads up to {supported}")]
    Version {
        /// The object.
        path: String,
        /// Its format.
        found: u32,
        /// The newest format known here.
        supported: u32,
    },
    /// A column that the bucket does not have.
    #[error("bucket object \"{path}\" has no column \"{column}\"; see its field catalogue")]
    NoColumn {
        /// The object.
        path: String,
        /// The name asked for.
        column: String,
    },
    /// The store failed.
    #[error("reading bucket object \"{path}\" failed")]
    Store {
        /// The object.
        path: String,
        /// The store's reason.
        #[source]
        source: object_store::Error,
    },
}

impl Error {
    /// What a caller can do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Schema { .. } | Self::Encode { .. } => ErrorKind::Internal,
            Self::Empty { .. } | Self::Options { .. } => ErrorKind::Invalid,
            Self::TooLarge { .. } => ErrorKind::Exhausted,
            Self::Corrupt { .. } => ErrorKind::Corrupt,
            Self::Version { .. } => ErrorKind::Invalid,
            Self::NoColumn { .. } => ErrorKind::NotFound,
            Self::Store { source: object_store::Error::NotFound { .. }, .. } => ErrorKind::NotFound,
            Self::Store { .. } => ErrorKind::Unavailable,
        }
    }
}
