//! Summaries of buckets, read from the database when they are asked for, and kept up to a number of bytes.
//!
//! Summaries that are not kept are read together, in one pass over the database in the order of keys. IDs
//! begin with the time at which a bucket was opened, so buckets of neighbouring times are neighbours there.

use std::collections::HashMap;
use std::sync::Arc;

use model::{BucketId, BucketSummary, FieldSummary, ValueCount};
use parking_lot::Mutex;
use runtime::metrics as names;
use slatedb::Db;
use slatedb::config::{DurabilityLevel, ScanOptions};

use crate::Error;
use crate::codec::{self, Entry, Shared};
use crate::error::Result;

/// Bytes of one request while several summaries are read.
const READ_AHEAD: usize = 256 << 10;
/// Summaries between two wanted ones that are skipped one by one; over it, their place is looked up.
const SKIPPED: usize = 64;

/// The summaries that are kept.
#[derive(Debug)]
pub(crate) struct Summaries {
    limit: usize,
    kept: Mutex<Kept>,
}

/// Two generations. What is used moves to the young one; when that has half of the bytes, it becomes the old
/// one, and what was in the old one and has not been used since is forgotten.
#[derive(Debug, Default)]
struct Kept {
    young: Generation,
    old: Generation,
}

#[derive(Debug, Default)]
struct Generation {
    summaries: HashMap<BucketId, Arc<BucketSummary>>,
    bytes: usize,
}

impl Generation {
    fn insert(&mut self, id: BucketId, summary: Arc<BucketSummary>) {
        self.bytes += bytes_of(&summary);
        if let Some(before) = self.summaries.insert(id, summary) {
            self.bytes -= bytes_of(&before);
        }
    }

    fn remove(&mut self, id: BucketId) -> Option<Arc<BucketSummary>> {
        let found = self.summaries.remove(&id)?;
        self.bytes -= bytes_of(&found);
        Some(found)
    }
}

impl Kept {
    fn get(&mut self, id: BucketId, limit: usize) -> Option<Arc<BucketSummary>> {
        if let Some(found) = self.young.summaries.get(&id) {
            return Some(Arc::clone(found));
        }
        let found = self.old.remove(id)?;
        self.insert(id, Arc::clone(&found), limit);
        Some(found)
    }

    fn insert(&mut self, id: BucketId, summary: Arc<BucketSummary>, limit: usize) {
        let half = limit / 2;
        let size = bytes_of(&summary);
        if size > half {
            return;
        }
        if self.young.bytes + size > half {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(id, summary);
    }
}

impl Summaries {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, kept: Mutex::default() }
    }

    pub(crate) fn insert(&self, id: BucketId, summary: Arc<BucketSummary>) {
        self.kept.lock().insert(id, summary, self.limit);
    }

    pub(crate) fn forget(&self, id: BucketId) {
        let mut kept = self.kept.lock();
        kept.young.remove(id);
        kept.old.remove(id);
    }

    /// The summaries of buckets, in their order; `None` for a bucket that the database does not have.
    pub(crate) async fn of(
        &self,
        ids: &[BucketId],
        (database, path): (&Db, &str),
    ) -> Result<Vec<Option<Arc<BucketSummary>>>> {
        let mut found: Vec<_> = {
            let mut kept = self.kept.lock();
            ids.iter().map(|id| kept.get(*id, self.limit)).collect()
        };
        let mut missing: Vec<BucketId> = ids
            .iter()
            .zip(&found)
            .filter(|(_, found)| found.is_none())
            .map(|(id, _)| *id)
            .collect();
        let hits = (ids.len() - missing.len()) as u64;
        metrics::counter!(names::CATALOG_SUMMARIES, "from" => "memory").increment(hits);
        if missing.is_empty() {
            return Ok(found);
        }
        metrics::counter!(names::CATALOG_SUMMARIES, "from" => "store")
            .increment(missing.len() as u64);
        missing.sort_unstable();
        missing.dedup();
        let read = Box::pin(read(database, path, &missing)).await?;
        {
            let mut kept = self.kept.lock();
            for (id, summary) in &read {
                kept.insert(*id, Arc::clone(summary), self.limit);
            }
            #[allow(clippy::cast_precision_loss)]
            metrics::gauge!(names::CATALOG_SUMMARY_BYTES)
                .set((kept.young.bytes + kept.old.bytes) as f64);
        }
        for (id, found) in ids.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
            *found = read.get(id).cloned();
        }
        Ok(found)
    }
}

/// Reads summaries by sorted IDs.
async fn read(
    database: &Db,
    path: &str,
    ids: &[BucketId],
) -> Result<HashMap<BucketId, Arc<BucketSummary>>> {
    let failed = |error: slatedb::Error| Error::from_database(path, "read", &error);
    let (Some(first), Some(last)) = (ids.first(), ids.last()) else { return Ok(HashMap::new()) };
    // A removal that is not durable yet is not in the snapshot either: its bucket is still to be found.
    let mut options = ScanOptions::default().with_durability_filter(DurabilityLevel::Remote);
    if ids.len() > 1 {
        options = options.with_read_ahead_bytes(READ_AHEAD).with_max_fetch_tasks(4);
    }
    let range = codec::summary_key(*first)..=codec::summary_key(*last);
    let mut entries = database.scan_with_options(range, &options).await.map_err(failed)?;
    let mut read = HashMap::with_capacity(ids.len());
    let mut entry = entries.next().await.map_err(failed)?;
    let mut skipped = 0;
    let mut wanted = ids.iter().peekable();
    while let (Some(pair), Some(id)) = (&entry, wanted.peek()) {
        let key = codec::summary_key(**id);
        if pair.key.as_ref() > key.as_slice() {
            wanted.next();
            continue;
        }
        if pair.key.as_ref() == key.as_slice() {
            let decoded = codec::decode(&pair.key, &pair.value, &mut Shared::default());
            if let Entry::Summary(id, summary) =
                decoded.map_err(|damage| damage.at(path, &pair.key))?
            {
                read.insert(id, summary);
            }
            wanted.next();
            skipped = 0;
        } else {
            skipped += 1;
            if skipped > SKIPPED {
                entries.seek(&key).await.map_err(failed)?;
                skipped = 0;
            }
        }
        entry = entries.next().await.map_err(failed)?;
    }
    Ok(read)
}

/// Bytes that a summary takes in memory.
fn bytes_of(summary: &BucketSummary) -> usize {
    let BucketSummary { hosts, sources, sourcetypes, fields, rules, .. } = summary;
    let values = [hosts, sources, sourcetypes].into_iter().flatten();
    let values: usize = values.map(|known| size_of::<ValueCount>() + known.value.capacity()).sum();
    let fields = fields.iter().map(|field| size_of::<FieldSummary>() + field.name.capacity());
    let rules = rules.iter().map(|(name, _)| size_of::<(String, u64)>() + name.capacity());
    // With the entry of the table, and what the allocator adds to each text.
    size_of::<BucketSummary>() + 64 + values + fields.sum::<usize>() + rules.sum::<usize>()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use model::EventTime;

    use super::*;

    fn summary(hosts: usize) -> Arc<BucketSummary> {
        let time = EventTime(1);
        let host = |at: usize| ValueCount {
            value: format!("host-{at}"),
            count: 1,
            first_time: time,
            last_time: time,
            recent_time: time,
        };
        Arc::new(BucketSummary {
            rows: 1,
            raw_bytes: 1,
            first_time: time,
            last_time: time,
            first_index_time: time,
            last_index_time: time,
            hosts: (0..hosts).map(host).collect(),
            sources: vec![],
            sourcetypes: vec![],
            fields: vec![],
            fields_complete: true,
            rules: vec![],
        })
    }

    fn id(number: u128) -> BucketId {
        BucketId(uuid::Uuid::from_u128(number))
    }

    #[test]
    fn what_is_not_used_is_forgotten_and_bytes_have_a_bound() {
        let (one, limit) = (summary(10), 20 * bytes_of(&summary(10)));
        let mut kept = Kept::default();
        for number in 0..1_000 {
            kept.insert(id(number), Arc::clone(&one), limit);
            assert!(kept.get(id(0), limit).is_some(), "{number}: it is used all the time");
            assert!(kept.young.bytes + kept.old.bytes <= limit);
        }
        assert!(kept.get(id(1), limit).is_none());
        assert!(kept.get(id(999), limit).is_some());
        kept.insert(id(5), summary(1_000), limit);
        assert!(kept.get(id(5), limit).is_none(), "it is larger than all that is kept");
    }

    #[test]
    fn what_is_forgotten_takes_no_bytes() {
        let summaries = Summaries::new(1 << 20);
        for number in 0..100 {
            summaries.insert(id(number), summary(3));
            summaries.insert(id(number), summary(5));
        }
        (0..100).for_each(|number| summaries.forget(id(number)));
        let kept = summaries.kept.lock();
        assert_eq!((kept.young.bytes, kept.old.bytes), (0, 0));
    }
}
