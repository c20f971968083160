//! Field names of hot rows, which are not in a field catalogue yet. They are extracted once per row and
//! cached while searches ask for the bucket.
//!
//! Guarantees that each field of each hot row is known, so that wildcards mean the same fields before and
//! after a bucket rolls.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use bucket::HotBucket;
use hashbrown::HashMap;
use knowledge::Knowledge;
use model::BucketId;
use parking_lot::Mutex;
use plan::FieldInfo;

use crate::recipes::configuration;
use crate::scan::discover;

/// Field names with their properties.
pub(crate) type Fields = BTreeMap<String, FieldInfo>;

/// Number of cached buckets above which buckets that the current search did not ask for are evicted.
const REMEMBERED: usize = 1_024;

/// Number of rows processed before the task yields to others on its thread.
const AT_ONCE: usize = 4_096;

/// The cache of the fields of hot buckets.
#[derive(Debug, Default)]
pub(crate) struct Discovered {
    buckets: Mutex<HashMap<BucketId, Known>>,
}

/// The fields of the first rows of a bucket. Rows are in the order of arrival and never change.
#[derive(Debug, Clone)]
struct Known {
    /// Fingerprint of the rules that extracted the fields. Keeping the rules themselves would hold old rules
    /// in memory after a change. Most users share the same rules.
    configuration: u64,
    rows: usize,
    fields: Arc<Fields>,
}

impl Discovered {
    /// Returns the fields of all hot rows.
    pub(crate) async fn fields(&self, hot: &[HotBucket], knowledge: &Arc<Knowledge>) -> Fields {
        let mut found = Fields::new();
        let rules = configuration(knowledge);
        for bucket in hot {
            let mut known = self.known(bucket, rules);
            let before = known.rows;
            for part in parts(&bucket.batches, before) {
                discover(&part, knowledge, Arc::make_mut(&mut known.fields));
                known.rows += part.num_rows();
                tokio::task::yield_now().await;
            }
            for (name, info) in known.fields.iter() {
                let field = found
                    .entry(name.clone())
                    .or_insert_with(|| FieldInfo { count: 0, ..info.clone() });
                field.count += info.count;
                field.multivalue |= info.multivalue;
            }
            if known.rows > before {
                self.remember(bucket.id, known, hot);
            }
        }
        found
    }

    /// Returns the cached fields of a bucket if they were extracted with the current rules.
    fn known(&self, bucket: &HotBucket, configuration: u64) -> Known {
        let known = self.buckets.lock().get(&bucket.id).cloned();
        let none = || Known { configuration, rows: 0, fields: Arc::default() };
        known.filter(|known| known.configuration == configuration).unwrap_or_else(none)
    }

    fn remember(&self, id: BucketId, known: Known, hot: &[HotBucket]) {
        let mut buckets = self.buckets.lock();
        if buckets.len() >= REMEMBERED {
            buckets.retain(|known, _| hot.iter().any(|bucket| bucket.id == *known));
        }
        buckets.insert(id, known);
    }
}

/// Splits the rows after the first `first` ones into parts.
fn parts(batches: &[RecordBatch], first: usize) -> impl Iterator<Item = RecordBatch> {
    let mut skip = first;
    let behind = batches.iter().filter_map(move |batch| {
        let skipped = skip.min(batch.num_rows());
        skip -= skipped;
        let left = batch.num_rows() - skipped;
        (left > 0).then(|| batch.slice(skipped, left))
    });
    behind.flat_map(|batch| {
        let starts = (0..batch.num_rows()).step_by(AT_ONCE);
        starts.map(move |start| batch.slice(start, AT_ONCE.min(batch.num_rows() - start)))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::{
        ArrayRef, DictionaryArray, StringArray, StringViewArray, TimestampMicrosecondArray,
    };
    use arrow::datatypes::Int32Type;
    use bucket::hot_schema;
    use model::{EventTime, IndexName};

    use super::*;

    /// A batch in which only the first row has the field `first`.
    fn batch(rows: usize, first: &str) -> RecordBatch {
        let times = || -> ArrayRef {
            Arc::new(TimestampMicrosecondArray::from(vec![1; rows]).with_timezone("UTC"))
        };
        let name = || -> ArrayRef {
            Arc::new(vec!["x"; rows].into_iter().collect::<DictionaryArray<Int32Type>>())
        };
        let text = |row| if row == 0 { format!("{first}=1") } else { format!("n={row}") };
        let raw = StringViewArray::from_iter_values((0..rows).map(text));
        let fields = StringArray::from(vec![None::<&str>; rows]);
        let columns: Vec<ArrayRef> =
            vec![times(), times(), Arc::new(raw), name(), name(), name(), Arc::new(fields)];
        RecordBatch::try_new(hot_schema(), columns).unwrap()
    }

    fn bucket(number: u128, batches: Vec<RecordBatch>) -> HotBucket {
        HotBucket {
            id: BucketId(uuid::Uuid::from_u128(number)),
            index: IndexName::new("main").unwrap(),
            first_time: EventTime(1),
            last_time: EventTime(1),
            rows: batches.iter().map(|batch| batch.num_rows() as u64).sum(),
            raw_bytes: 0,
            batches,
            stored: None,
            owner: None,
            elsewhere: None,
        }
    }

    fn names(fields: &Fields) -> Vec<&str> {
        fields.keys().map(String::as_str).collect()
    }

    #[tokio::test]
    async fn fields_of_the_oldest_of_many_rows_are_found() {
        let (discovered, knowledge) = (Discovered::default(), Arc::new(Knowledge::builtin()));
        let hot = [bucket(1, vec![batch(30_000, "old")]), bucket(2, vec![batch(2, "other")])];
        let found = discovered.fields(&hot, &knowledge).await;
        assert_eq!(names(&found), ["n", "old", "other"]);
        assert_eq!(found["n"].count, 30_000);
    }

    #[tokio::test]
    async fn rows_that_arrive_later_are_added_however_batches_are_joined() {
        let (discovered, knowledge) = (Discovered::default(), Arc::new(Knowledge::builtin()));
        let (one, two) = (batch(3, "a"), batch(5_000, "b"));
        let mut hot = [bucket(1, vec![one.clone()])];
        assert_eq!(names(&discovered.fields(&hot, &knowledge).await), ["a", "n"]);
        hot[0].batches = vec![arrow::compute::concat_batches(&hot_schema(), [&one, &two]).unwrap()];
        for _ in 0..2 {
            let found = discovered.fields(&hot, &knowledge).await;
            assert_eq!(names(&found), ["a", "b", "n"]);
            assert_eq!(found["n"].count, 2 + 4_999);
        }
    }

    #[tokio::test]
    async fn other_rules_look_at_all_rows_again() {
        let discovered = Discovered::default();
        let hot = [bucket(1, vec![batch(2, "a")])];
        let one = Arc::new(Knowledge::builtin());
        assert_eq!(names(&discovered.fields(&hot, &one).await), ["a", "n"]);
        let props = "[x]\nKV_MODE = none\n";
        let layers = conf::Layers::builtin().with(conf::Layer::SystemLocal, "props", props);
        let other = Arc::new(Knowledge::new(layers));
        assert!(discovered.fields(&hot, &other).await.is_empty());
        assert_eq!(Arc::strong_count(&one), 1, "rules of before are not kept");
    }
}
