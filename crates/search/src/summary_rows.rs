//! Detects whether hot rows may be rows of summary indexes, which have fields that no command names.
//!
//! Looked up before each aggregation: finding all fields of the rows for it would take a second for 0.3 GB of
//! text. The name of their version is in their text, so the texts are searched for it, each once.

use arrow::array::{AsArray, RecordBatch};
use bucket::HotBucket;
use hashbrown::HashMap;
use memchr::memmem;
use model::{BucketId, columns};
use parking_lot::Mutex;

/// Number of cached buckets above which buckets that the current search did not ask for are evicted.
const REMEMBERED: usize = 1_024;

/// The cache of examined buckets; see the module documentation.
#[derive(Debug, Default)]
pub(crate) struct SummaryRows {
    /// Number of first rows of each bucket that are known not to be summary rows. Rows never change.
    without: Mutex<HashMap<BucketId, usize>>,
}

impl SummaryRows {
    /// Whether some of the rows in memory of this process may be summary rows. If false, none is.
    pub(crate) fn may_be_in(&self, hot: &[HotBucket]) -> bool {
        hot.iter().any(|bucket| self.may_be_in_bucket(bucket, hot))
    }

    fn may_be_in_bucket(&self, bucket: &HotBucket, hot: &[HotBucket]) -> bool {
        let known = self.without.lock().get(&bucket.id).copied().unwrap_or(0);
        let mut rows = 0;
        for batch in &bucket.batches {
            rows += batch.num_rows();
            if rows > known && mentions(batch) {
                return true;
            }
        }
        if rows > known {
            let mut without = self.without.lock();
            if without.len() >= REMEMBERED {
                without.retain(|known, _| hot.iter().any(|bucket| bucket.id == *known));
            }
            without.insert(bucket.id, rows);
        }
        false
    }
}

/// Whether texts or indexed fields contain the name. Texts of up to 12 bytes are too short for a summary.
fn mentions(batch: &RecordBatch) -> bool {
    let name = memmem::Finder::new(columns::SUMMARY_VERSION);
    batch.columns().iter().any(|column| {
        if let Some(texts) = column.as_string_view_opt() {
            texts.data_buffers().iter().any(|buffer| name.find(buffer).is_some())
        } else if let Some(texts) = column.as_string_opt::<i32>() {
            name.find(texts.value_data()).is_some()
        } else {
            false
        }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, StringArray, StringViewArray};
    use model::{EventTime, IndexName};

    use super::*;

    fn hot(number: u128, text: &str, fields: &str) -> [HotBucket; 1] {
        let texts = StringViewArray::from_iter_values(["an event without any", text]);
        let fields = StringArray::from(vec![None, Some(fields)]);
        let columns: [(_, ArrayRef); 2] =
            [(columns::RAW, Arc::new(texts)), ("fields", Arc::new(fields))];
        [HotBucket {
            id: BucketId(uuid::Uuid::from_u128(number)),
            index: IndexName::new("main").unwrap(),
            first_time: EventTime(1),
            last_time: EventTime(1),
            rows: 2,
            raw_bytes: 0,
            batches: vec![RecordBatch::try_from_iter(columns).unwrap()],
            stored: None,
            owner: None,
            elsewhere: None,
        }]
    }

    #[test]
    fn texts_and_indexed_fields_tell() {
        let rows = SummaryRows::default();
        let mut plain = hot(1, "another one of those", "a\u{1}b");
        assert!(!rows.may_be_in(&plain) && !rows.may_be_in(&plain));
        for summary in [hot(2, "psrsvd_gc=1, psrsvd_v=1, x", ""), hot(3, "", "psrsvd_v\u{1}1")] {
            assert!(rows.may_be_in(&summary) && rows.may_be_in(&summary));
            plain[0].batches.extend(summary[0].batches.clone());
        }
        assert!(rows.may_be_in(&plain), "rows that came later");
    }
}
