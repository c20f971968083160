//! Field names of hot rows, which no catalogue lists yet: found once per batch, remembered as long as
//! the batch lives.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use arrow::array::{Array, RecordBatch};
use bucket::HotBucket;
use hashbrown::HashMap;
use knowledge::Knowledge;
use model::columns;
use parking_lot::Mutex;
use plan::FieldInfo;

use crate::scan::discover;

type Fields = BTreeMap<String, FieldInfo>;
/// A batch's column of texts, and what was found in it.
type Known = (Weak<dyn Array>, Arc<Fields>);

/// Batches remembered before those that are gone are forgotten.
const REMEMBERED: usize = 4_096;

/// What was found in batches; a batch is known by its column of texts.
#[derive(Debug, Default)]
pub(crate) struct Discovered {
    batches: Mutex<HashMap<usize, Known>>,
}

impl Discovered {
    /// The fields of the newest rows, so many at most.
    pub(crate) fn fields(
        &self,
        hot: &[HotBucket],
        rows: usize,
        knowledge: &Knowledge,
    ) -> BTreeMap<String, FieldInfo> {
        let mut found = Fields::new();
        let mut left = rows;
        // Newest first: what arrives now tells most about what is asked for.
        for batch in hot.iter().flat_map(|bucket| bucket.batches.iter().rev()) {
            let taken = batch.num_rows().min(left);
            let whole = taken == batch.num_rows();
            let newest = batch.slice(batch.num_rows() - taken, taken);
            let fields = if whole { self.of(batch, knowledge) } else { look(&newest, knowledge) };
            for (name, info) in fields.iter() {
                let known = found
                    .entry(name.clone())
                    .or_insert_with(|| FieldInfo { count: 0, ..info.clone() });
                known.count += info.count;
                known.multivalue |= info.multivalue;
            }
            left -= taken;
            if left == 0 {
                break;
            }
        }
        found
    }

    fn of(&self, batch: &RecordBatch, knowledge: &Knowledge) -> Arc<Fields> {
        let Some(texts) = batch.column_by_name(columns::RAW) else { return Arc::default() };
        let key = Arc::as_ptr(texts).cast::<()>() as usize;
        let lock = || self.batches.lock();
        if let Some((of, fields)) = lock().get(&key)
            && of.upgrade().is_some_and(|of| Arc::ptr_eq(&of, texts))
        {
            return Arc::clone(fields);
        }
        let fields = look(batch, knowledge);
        let mut batches = lock();
        if batches.len() >= REMEMBERED {
            batches.retain(|_, (of, _)| of.strong_count() > 0);
        }
        if batches.len() < REMEMBERED {
            batches.insert(key, (Arc::downgrade(texts), Arc::clone(&fields)));
        }
        fields
    }
}

fn look(batch: &RecordBatch, knowledge: &Knowledge) -> Arc<Fields> {
    let mut found = Fields::new();
    discover(batch, knowledge, &mut found);
    Arc::new(found)
}
