//! Errors of writing and reading buckets.

use arrow::error::ArrowError;
use model::{BucketId, ErrorKind};

/// Why a bucket could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The batches passed to the writer are not hot rows.
    #[error("bucket {id}: batch {batch} has {found}, expected {expected}")]
    Schema {
        /// The bucket being written.
        id: BucketId,
        /// The number of the batch, from 0.
        batch: usize,
        /// The schema of the batch.
        found: String,
        /// The schema of hot rows.
        expected: String,
    },
    /// There are no rows to write.
    #[error("bucket {id}: no rows to write; drop the hot bucket instead")]
    Empty {
        /// The bucket being written.
        id: BucketId,
    },
    /// The rows exceed what the format can address.
    #[error("bucket {id}: {what} is {found}, over the format's limit of {limit}; roll it earlier")]
    TooLarge {
        /// The bucket being written.
        id: BucketId,
        /// The quantity that is too large.
        what: &'static str,
        /// Its value.
        found: u64,
        /// The maximum of the format.
        limit: u64,
    },
    /// The options are inconsistent.
    #[error("write option {option} is {found}, must be {expected}")]
    Options {
        /// The option.
        option: &'static str,
        /// Its value.
        found: u64,
        /// The violated rule.
        expected: &'static str,
    },
    /// The encoder failed.
    #[error("bucket {id}: encoding failed")]
    Encode {
        /// The bucket being written.
        id: BucketId,
        /// The error of the encoder.
        #[source]
        source: parquet::errors::ParquetError,
    },
    /// Stored bytes are damaged.
    #[error("bucket object \"{path}\" is corrupt: {section}: {reason}; restore it from a copy")]
    Corrupt {
        /// The object.
        path: String,
        /// The damaged part.
        section: &'static str,
        /// Why it is invalid.
        reason: String,
    },
    /// The bucket was written by a newer version of Karst.
    #[error("bucket object \"{path}\" has format {found}, this version reads up to {supported}")]
    Version {
        /// The object.
        path: String,
        /// Its format.
        found: u32,
        /// The newest format that this version supports.
        supported: u32,
    },
    /// The bucket does not have the requested column.
    #[error("bucket object \"{path}\" has no column \"{column}\"; see its field catalogue")]
    NoColumn {
        /// The object.
        path: String,
        /// The requested name.
        column: String,
    },
    /// A row test failed: the bucket is intact.
    #[error("a filter failed")]
    Test {
        /// The error of the test.
        #[source]
        source: ArrowError,
    },
    /// A request to the store failed.
    #[error("reading bucket object \"{path}\" failed")]
    Store {
        /// The object.
        path: String,
        /// The error of the store.
        #[source]
        source: object_store::Error,
    },
}

impl Error {
    /// Returns the kind of the error, which tells the caller how to react.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Schema { .. } | Self::Encode { .. } => ErrorKind::Internal,
            Self::Empty { .. } | Self::Options { .. } => ErrorKind::Invalid,
            Self::TooLarge { .. } => ErrorKind::Exhausted,
            Self::Corrupt { .. } => ErrorKind::Corrupt,
            Self::Version { .. } | Self::Test { .. } => ErrorKind::Invalid,
            Self::NoColumn { .. } => ErrorKind::NotFound,
            Self::Store { source: object_store::Error::NotFound { .. }, .. } => ErrorKind::NotFound,
            Self::Store { .. } => ErrorKind::Unavailable,
        }
    }
}
