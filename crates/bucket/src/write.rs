//! From hot rows to one finished bucket object.

use arrow::array::RecordBatch;
use bytes::Bytes;
use model::{BucketId, BucketSummary, IndexName};

use crate::{Error, FieldSource};

/// How a bucket is laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOptions {
    /// Rows per granule, the unit of pruning and of reading. Smaller granules read less per needle
    /// and cost index bytes (1,024 rows: about 3.4 % of raw). A power of two from 64 to 65,536.
    pub granule_rows: usize,
    /// Rows per row group, a multiple of `granule_rows`. Larger ones compress dictionaries better,
    /// smaller ones let other engines read in parallel.
    pub row_group_rows: usize,
    /// zstd level, 1 to 19. Level 3 costs a third of the speed and is no smaller on logs.
    pub zstd_level: i32,
    /// At most this many fields become columns of their own, the most frequent ones. Indexed fields
    /// always do, since the column is their only copy.
    pub max_columns: usize,
    /// A field becomes a column when at least one in this many rows has it.
    pub column_rows_per_value: u64,
    /// At most this many distinct field names in the catalogue; beyond, `fields_complete` is false.
    pub max_fields: usize,
    /// At most this many distinct words without digits in the vocabulary; beyond, the bucket has
    /// none, and wildcards in it are decided by the scan alone.
    pub max_vocabulary: usize,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            granule_rows: 1024,
            row_group_rows: 131_072,
            zstd_level: 1,
            max_columns: 256,
            column_rows_per_value: 100,
            max_fields: 10_000,
            max_vocabulary: 200_000,
        }
    }
}

/// A finished bucket.
#[derive(Debug, Clone)]
pub struct Written {
    /// The object.
    pub bytes: Bytes,
    /// What is in it; also stored inside.
    pub summary: BucketSummary,
}

/// Sorts the rows by (`_time`, `_indextime`), makes frequent fields columns, builds the term index,
/// and encodes everything as one object. The same rows, rules and options give the same bytes.
/// It works for seconds on a full bucket: call it where blocking is allowed.
///
/// # Errors
/// [`Error::Empty`] without rows, [`Error::Schema`] where a batch is not hot rows,
/// [`Error::Options`] and [`Error::TooLarge`] where a limit is broken.
pub fn write_bucket(
    _id: BucketId,
    _index: &IndexName,
    _batches: &[RecordBatch],
    _fields: &dyn FieldSource,
    _options: &WriteOptions,
) -> Result<Written, Error> {
    todo!()
}
