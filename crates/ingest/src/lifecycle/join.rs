//! Merging: the rows of small buckets are written to a large bucket, which replaces them in one commit.
//!
//! Memory (`mergeMaxBytes`) and CPU time are bounded: after each merge its worker pauses for so long that it
//! uses no more than `mergeCpuPercent` of a core.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use bucket::BucketReader;
use catalog::Commit;
use foldhash::HashMap;
use futures::{StreamExt, TryStreamExt};
use model::{BucketEntry, BucketHeader, BucketId, BucketState, EventTime, IndexName};
use object_store::path::Path;
use runtime::metrics as names;

use super::Lifecycle;
use super::freezing::noted;
use super::merge::{MergeLimits, plan};
use crate::Error;
use crate::hot::put::{Content, put};

/// The kind of the catalog documents about damaged buckets, which are not merged.
pub(super) const QUARANTINE: &str = "quarantine";
/// Number of rows of one batch.
const BATCH_ROWS: usize = 16_384;

impl Lifecycle {
    /// Merges what is due in all indexes.
    pub(super) async fn join_small(self: &Arc<Self>, indexes: &[IndexName]) {
        let settings = &self.settings.lifecycle;
        if settings.merge_max_bytes == 0 {
            return;
        }
        let groups: Vec<_> = indexes.iter().flat_map(|index| self.groups(index)).collect();
        let workers = settings.merge_concurrency;
        let merges = futures::stream::iter(groups);
        let merge = |group| async move {
            let began = Instant::now();
            self.join_one(group).await;
            self.shutdown.sleep(self.rest(began.elapsed())).await;
        };
        merges.for_each_concurrent(workers, merge).await;
    }

    /// Returns how long to pause after a merge that took `worked`.
    fn rest(&self, worked: Duration) -> Duration {
        let percent = self.settings.lifecycle.merge_cpu_percent.clamp(1, 100);
        worked * (100 - percent) / percent
    }

    /// Returns the groups to merge in an index now. Buckets that are hot, or were until a moment ago, are
    /// left out: a search may hold them as hot, and would see their events again in the merged bucket. So are
    /// those that may have a copy in the archive, see `freezing`.
    fn groups(&self, index: &IndexName) -> Vec<Vec<Arc<BucketHeader>>> {
        let snapshot = self.catalog.snapshot();
        let settings = &self.settings.lifecycle;
        let lanes = self.limits.lanes(index);
        let limits = MergeLimits {
            max_bytes: self.limits.max_data_size(index).min(settings.merge_max_bytes),
            max_span: lanes.max_span,
            min_buckets: settings.merge_min_buckets.max(2),
        };
        let mut seen = self.seen.lock();
        let seen = seen.entry(index.clone()).or_default();
        let copied = noted(&snapshot, index);
        let mut now = HashMap::default();
        let mut warm = Vec::new();
        // Filtered before anything else, because an index may have millions of buckets, few of which are
        // small.
        for bucket in snapshot.buckets(index).iter().filter(|bucket| limits.is_small(bucket)) {
            let since = seen.get(&bucket.id).copied().unwrap_or_else(Instant::now);
            now.insert(bucket.id, since);
            let settled = since.elapsed() >= settings.merge_min_age;
            if copied.contains(&bucket.id)
                || snapshot.document(QUARANTINE, &bucket.id.to_string()).is_some()
            {
                continue;
            }
            if settled && bucket.state == BucketState::Warm && !self.hot.has(index, bucket.id) {
                warm.push(Arc::new(bucket));
            }
        }
        *seen = now;
        plan(&warm, limits)
    }

    async fn join_one(self: &Arc<Self>, group: Vec<Arc<BucketHeader>>) {
        let began = Instant::now();
        let Some(index) = group.first().map(|bucket| bucket.index.clone()) else { return };
        let ids = || group.iter().map(|bucket| bucket.id);
        let merging = Merging::begin(self, ids().collect());
        // Buckets may have been noted since the group was chosen, after a change of the retention.
        let copied = noted(&self.catalog.snapshot(), &index);
        if ids().any(|id| copied.contains(&id)) {
            return;
        }
        let joined = self.join(&index, &group).await;
        drop(merging);
        let outcome = match joined {
            Ok(joined) => {
                metrics::counter!(names::MERGED_BUCKETS).increment(group.len() as u64);
                tracing::info!(
                    %index, bucket = %joined.id, buckets = group.len(), size = joined.size,
                    rows = joined.summary.rows, "buckets joined"
                );
                "done"
            }
            Err(error) => {
                tracing::warn!(%index, buckets = group.len(), %error, "buckets are not joined");
                "failed"
            }
        };
        metrics::counter!(names::MERGES, "outcome" => outcome).increment(1);
        metrics::histogram!(names::MERGE_SECONDS).record(began.elapsed().as_secs_f64());
    }

    /// Reads all rows of a bucket, with their indexed fields.
    async fn rows(&self, entry: &BucketHeader) -> Result<Vec<RecordBatch>, Error> {
        let failed = |error: bucket::Error| Error::BucketRead(Arc::new(error));
        let path = Path::from(entry.path());
        let reader = BucketReader::open(Arc::clone(&self.store), &path, entry.size).await;
        let rows = reader.map_err(failed)?.read_rows(BATCH_ROWS).await.map_err(failed)?;
        rows.try_collect().await.map_err(failed)
    }

    async fn join(
        self: &Arc<Self>,
        index: &IndexName,
        group: &[Arc<BucketHeader>],
    ) -> Result<BucketEntry, Error> {
        let id = BucketId(runtime::random::time_ordered_uuid());
        let last = group.iter().map(|bucket| bucket.last_time).max();
        let path = id.object_path(index, &last.unwrap_or(EventTime(0)).day());
        let _note = self.begin(path.clone()).await?;
        let mut batches = Vec::new();
        for bucket in group {
            batches.extend(self.rows(bucket).await?);
        }
        let (fields, settings) = (Arc::clone(&self.fields), Arc::clone(&self.settings));
        let name = index.clone();
        let work = self.shutdown.spawn_blocking(move || {
            bucket::write_bucket(id, &name, &batches, &*fields, &settings.bucket)
                .map_err(|error| Error::Bucket(Arc::new(error)))
        });
        let written = work.await.unwrap_or(Err(Error::Abandoned))?;
        let sum = |of: fn(&BucketHeader) -> u64| group.iter().map(|bucket| of(bucket)).sum::<u64>();
        let expected = (sum(|b| b.rows), sum(|b| b.raw_bytes));
        let found = (written.summary.rows, written.summary.raw_bytes);
        if expected != found {
            return Err(Error::Merge { path, expected, found });
        }
        let size = written.bytes.len() as u64;
        let content = Content::Memory(written.bytes);
        let threshold = self.settings.multipart_threshold;
        put(self.store.as_ref(), &path, &content, size, threshold).await?;
        let summary = Arc::new(written.summary);
        let state = BucketState::Warm;
        let entry = BucketEntry { id, index: index.clone(), path, size, state, summary };
        let ids: Vec<_> = group.iter().map(|bucket| bucket.id).collect();
        self.commit(Commit {
            expect: ids.clone(),
            remove: ids,
            discard: group.iter().map(|bucket| self.discarded(&bucket.path())).collect(),
            forget: vec![entry.path.clone()],
            add: vec![entry.clone()],
            ..Commit::default()
        })
        .await?;
        Ok(entry)
    }
}

/// The parts of a merge that is running: they are not frozen until it has ended.
#[derive(Debug)]
struct Merging<'a> {
    of: &'a Lifecycle,
    ids: Vec<BucketId>,
}

impl<'a> Merging<'a> {
    fn begin(of: &'a Lifecycle, ids: Vec<BucketId>) -> Self {
        of.merging.lock().extend(ids.iter().copied());
        Self { of, ids }
    }
}

impl Drop for Merging<'_> {
    fn drop(&mut self) {
        self.of.merging.lock().retain(|id| !self.ids.contains(id));
    }
}
