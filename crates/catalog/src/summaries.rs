//! Summaries of buckets, read from the database on request, with a cache bounded in bytes.
//!
//! Summaries that are not cached are read together, in one pass over the database in the order of keys. IDs
//! begin with the time at which a bucket was opened, so buckets of similar times are adjacent there.

use std::collections::HashMap;
use std::sync::Arc;

use foyer::{Cache, CacheBuilder};
use model::{BucketId, BucketSummary, FieldSummary, ValueCount};
use runtime::metrics as names;
use slatedb::Db;
use slatedb::config::{DurabilityLevel, ScanOptions};

use crate::Error;
use crate::client::Leader;
use crate::codec::{self, Entry, Shared};
use crate::error::Result;

/// Size of one request when several summaries are read, in bytes.
const READ_AHEAD: usize = 256 << 10;
/// Maximum number of summaries between two wanted ones that are skipped one by one; beyond it, the next one
/// is looked up.
const SKIPPED: usize = 64;

/// Number of parts of the cache; each has a lock and an equal share of the bytes.
const SHARDS: usize = 8;

/// The source of summaries that are not cached.
pub(crate) enum Source<'a> {
    /// The database, and its path.
    Database(&'a Db, &'a str),
    Leader(&'a Leader),
}

/// The cache of recently used summaries.
#[derive(Debug)]
pub(crate) struct Summaries {
    kept: Cache<BucketId, Arc<BucketSummary>>,
}

impl Summaries {
    pub(crate) fn new(limit: usize) -> Self {
        let kept = CacheBuilder::new(limit.max(SHARDS))
            .with_shards(SHARDS)
            .with_weighter(|_, summary: &Arc<BucketSummary>| bytes_of(summary))
            .with_filter(move |_, summary: &Arc<BucketSummary>| bytes_of(summary) <= limit / SHARDS)
            .build();
        Self { kept }
    }

    pub(crate) fn insert(&self, id: BucketId, summary: Arc<BucketSummary>) {
        self.kept.insert(id, summary);
    }

    pub(crate) fn forget(&self, id: BucketId) {
        self.kept.remove(&id);
    }

    /// Returns the summaries of buckets, in their order; `None` for a bucket that the catalog does not have.
    /// Those that are not cached are read together, by sorted IDs.
    pub(crate) async fn of(
        &self,
        ids: &[BucketId],
        source: Source<'_>,
    ) -> Result<Vec<Option<Arc<BucketSummary>>>> {
        let kept = |id| self.kept.get(id).map(|found| Arc::clone(found.value()));
        let mut found: Vec<_> = ids.iter().map(kept).collect();
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
        let read = match source {
            Source::Database(database, path) => Box::pin(read(database, path, &missing)).await?,
            // A failure is harmless, because the objects of buckets have the summaries too.
            Source::Leader(leader) => match Box::pin(leader.summaries(&missing)).await {
                Err(Error::Unreachable { .. }) => HashMap::new(),
                other => other?,
            },
        };
        for (id, summary) in &read {
            self.insert(*id, Arc::clone(summary));
        }
        #[allow(clippy::cast_precision_loss)]
        metrics::gauge!(names::CATALOG_SUMMARY_BYTES).set(self.kept.usage() as f64);
        for (id, found) in ids.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
            *found = read.get(id).cloned();
        }
        Ok(found)
    }
}

/// Reads summaries from the database by sorted IDs.
async fn read(
    database: &Db,
    path: &str,
    ids: &[BucketId],
) -> Result<HashMap<BucketId, Arc<BucketSummary>>> {
    let failed = |error: slatedb::Error| Error::from_database(path, "read", &error);
    let (Some(first), Some(last)) = (ids.first(), ids.last()) else { return Ok(HashMap::new()) };
    // A removal that is not durable yet is not in the snapshot either, so its bucket must still be found.
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

/// Returns the memory that a summary takes, in bytes.
fn bytes_of(summary: &BucketSummary) -> usize {
    let BucketSummary { hosts, sources, sourcetypes, fields, rules, .. } = summary;
    let values = [hosts, sources, sourcetypes].into_iter().flatten();
    let values: usize = values.map(|known| size_of::<ValueCount>() + known.value.capacity()).sum();
    let fields = fields.iter().map(|field| size_of::<FieldSummary>() + field.name.capacity());
    let rules = rules.iter().map(|(name, _)| size_of::<(String, u64)>() + name.capacity());
    // Includes the entry of the table, and the overhead of the allocator for each text.
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
        let hosts = (0..hosts).map(host).collect();
        Arc::new(BucketSummary { hosts, ..BucketSummary::bare(1, time, time) })
    }

    fn id(number: u128) -> BucketId {
        BucketId(uuid::Uuid::from_u128(number))
    }

    #[test]
    fn bytes_have_a_bound() {
        let limit = 100 * bytes_of(&summary(10));
        let summaries = Summaries::new(limit);
        for number in 0..1_000 {
            summaries.insert(id(number), summary(10));
            assert!(summaries.kept.usage() <= limit);
            assert!(summaries.kept.get(&id(number)).is_some(), "{number}: it is the newest");
        }
        summaries.insert(id(5_000), summary(10_000));
        assert!(summaries.kept.get(&id(5_000)).is_none(), "it is larger than all that is kept");
        (0..1_000).for_each(|number| summaries.forget(id(number)));
        assert_eq!(summaries.kept.usage(), 0);
        let none = Summaries::new(0);
        none.insert(id(1), summary(1));
        assert!(none.kept.get(&id(1)).is_none());
    }
}
