//! The lifecycle of stored buckets: small ones are merged, old ones are frozen (archived or deleted),
//! archived ones are thawed, and discarded objects are deleted.
//!
//! Decisions are pure (`merge`, `retention`). Every change is one catalog commit, so that a search sees a
//! bucket or its successor, never both and never neither. An object without a bucket is in the catalog's list
//! of discarded objects: new objects are listed before they are written, and replaced ones in the commit that
//! replaces them. So a process that is killed at any moment neither loses an event nor leaves an object
//! behind, and nothing is deleted before the grace period for running searches is over.
//!
//! One process does this for a deployment: the one that has the catalog open. The format of buckets is left
//! to `bucket`, hot buckets to `hot`.

mod archive;
mod archive_id;
mod freezing;
mod join;
mod merge;
mod missing;
mod not_frozen;
mod refused;
mod retention;
mod same_events;

use std::cmp::Reverse;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bucket::FieldSource;
use catalog::{Buckets, Catalog, Commit, Discarded};
use foldhash::{HashMap, HashSet};
use model::{BucketEntry, BucketHeader, BucketId, BucketState, EventTime, IndexName, TimeRange};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use parking_lot::Mutex;
use runtime::{Clock, Shutdown, metrics as names};
use tokio::sync::watch;

use self::archive::Archive;
use self::missing::{Known, is_as_before, is_missing};
use self::not_frozen::NotFrozen;
use self::refused::Refused;
use self::retention::Reason;
use crate::fields::KnownFields;
use crate::hot::limits::HotLimits;
use crate::hot::one_object::is_of_object;
use crate::hot::store::HotStore;
use crate::{Error, Parts, Settings};

/// Number of discarded objects that are deleted between two commits.
const DELETED_AT_A_TIME: usize = 256;
/// Time for which an object counts as being written; after it, another process may delete the object as an
/// orphan.
const UNDER_WAY: Duration = Duration::from_secs(3600);

/// The archived buckets to thaw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thaw {
    /// The index.
    pub index: IndexName,
    /// Time range; buckets with events in it are thawed.
    pub range: TimeRange,
    /// The archive, in the form of `coldToFrozenDir`; `None` for that of the index.
    pub from: Option<String>,
}

/// The result of thawing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Thawed {
    /// Number of buckets that were made searchable.
    pub buckets: u64,
    /// Number of their events.
    pub events: u64,
    /// Number of archived buckets of the range whose events were already searchable.
    pub present: u64,
    /// Why objects of the archive cannot be read; they may have events of the range.
    pub unreadable: Vec<String>,
}

impl Thawed {
    fn note_unreadable(&mut self, index: &IndexName, error: &Error) {
        let mut reason = error.to_string();
        if let Error::BucketRead(read) = error
            && let bucket::Error::Store { source, .. } = &**read
        {
            reason.push_str(&format!(": {source}"));
        }
        tracing::error!(%index, error = reason, "an archived bucket cannot be thawed");
        self.unreadable.push(reason);
    }
}

/// See the module.
pub(crate) struct Lifecycle {
    store: Arc<dyn ObjectStore>,
    catalog: Arc<Catalog>,
    fields: Arc<dyn FieldSource>,
    limits: Arc<HotLimits>,
    hot: Arc<HotStore>,
    clock: Arc<dyn Clock>,
    settings: Arc<Settings>,
    shutdown: Shutdown,
    /// Paths of objects that this process is writing.
    under_way: Mutex<HashSet<String>>,
    /// The time at which each bucket was first seen in the catalog.
    seen: Mutex<HashMap<IndexName, HashMap<BucketId, Instant>>>,
    /// The parts of the merges that are running.
    merging: Mutex<HashSet<BucketId>>,
    /// Held while a bucket is frozen or thawed in the catalog: a thaw may keep the ID and the path.
    changing: tokio::sync::Mutex<()>,
    not_frozen: NotFrozen,
    refused: Refused,
}

impl fmt::Debug for Lifecycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lifecycle").field("under_way", &self.under_way).finish_non_exhaustive()
    }
}

impl Lifecycle {
    pub(crate) fn new(
        parts: &Parts,
        fields: &Arc<KnownFields>,
        limits: &Arc<HotLimits>,
        hot: &Arc<HotStore>,
        shutdown: Shutdown,
    ) -> Arc<Self> {
        Arc::new(Self {
            store: Arc::clone(&parts.store),
            catalog: Arc::clone(&parts.catalog),
            fields: Arc::clone(fields) as Arc<dyn FieldSource>,
            limits: Arc::clone(limits),
            hot: Arc::clone(hot),
            clock: Arc::clone(&parts.clock),
            settings: Arc::new(parts.settings.clone()),
            shutdown,
            under_way: Mutex::default(),
            seen: Mutex::default(),
            merging: Mutex::default(),
            changing: tokio::sync::Mutex::default(),
            not_frozen: NotFrozen::new(),
            refused: Refused::default(),
        })
    }

    /// Returns why due buckets are not frozen; `None` if all are.
    pub(crate) fn not_frozen(&self) -> watch::Receiver<Option<Arc<str>>> {
        self.not_frozen.text()
    }

    /// Runs from the time when this process has the catalog open until the shutdown signal.
    pub(crate) async fn run(self: Arc<Self>) {
        tokio::select! {
            () = self.shutdown.stopped() => return,
            () = self.catalog.leads() => {}
        }
        while self.shutdown.sleep(self.settings.lifecycle.rotate_period).await {
            tokio::select! {
                () = self.shutdown.stopped() => return,
                () = self.round() => {}
            }
        }
    }

    /// Freezes, merges and cleans up what is due.
    pub(crate) async fn round(self: &Arc<Self>) {
        self.forget_copies().await;
        let snapshot = self.catalog.snapshot();
        let mut indexes: Vec<IndexName> = snapshot.indexes().cloned().collect();
        indexes.sort();
        for index in &indexes {
            self.report(index, snapshot.buckets(index));
            self.retain(index).await;
        }
        self.not_frozen.keep(&indexes);
        self.join_small(&indexes).await;
        self.clean_up().await;
    }

    fn report(&self, index: &IndexName, buckets: &Buckets) {
        let label = index.as_str().to_owned();
        let bytes = buckets.totals().size;
        #[allow(clippy::cast_precision_loss)]
        {
            metrics::gauge!(names::INDEX_BYTES, "index" => label.clone()).set(bytes as f64);
            metrics::gauge!(names::INDEX_BUCKETS, "index" => label).set(buckets.len() as f64);
        }
    }

    fn in_future(&self, time: Duration) -> EventTime {
        let micros = i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        EventTime(self.clock.now().0.saturating_add(micros))
    }

    /// Returns the entry that discards the object at `path` after the grace period for running searches.
    fn discarded(&self, path: &str) -> Discarded {
        let delete_after = self.in_future(self.settings.lifecycle.merge_delete_grace);
        Discarded { path: path.to_owned(), delete_after }
    }

    async fn commit(&self, commit: Commit) -> Result<(), Error> {
        let done = self.catalog.commit(commit).await;
        done.map_err(|error| Error::Catalog(Arc::new(error)))
    }

    /// Protects an object from the clean-up.
    fn protect(self: &Arc<Self>, path: String) -> UnderWay {
        self.under_way.lock().insert(path.clone());
        UnderWay { of: Arc::clone(self), path }
    }

    /// Lists an object that is about to be written as discarded, so that it does not outlive a crash.
    async fn begin(self: &Arc<Self>, path: String) -> Result<UnderWay, Error> {
        let guard = self.protect(path.clone());
        let discard = vec![Discarded { path, delete_after: self.in_future(UNDER_WAY) }];
        self.commit(Commit { discard, ..Commit::default() }).await?;
        Ok(guard)
    }

    /// Freezes buckets that exceed the retention of the index. A bucket that cannot be frozen is kept.
    pub(crate) async fn retain(&self, index: &IndexName) {
        match self.freeze_due(index).await {
            Ok(()) => self.not_frozen.note(index, None),
            // A merge has replaced the bucket, or the catalog cannot be written, which has a condition of its
            // own.
            Err(Error::Catalog(_)) => {}
            Err(error) => self.not_frozen.note(index, Some(error.to_string())),
        }
    }

    async fn freeze_due(&self, index: &IndexName) -> Result<(), Error> {
        let Some(keep) = self.limits.keep(index) else { return Ok(()) };
        let snapshot = self.catalog.snapshot();
        let due = retention::due(snapshot.buckets(index).oldest_first(), self.clock.now(), keep);
        if due.is_empty() {
            return Ok(());
        }
        let configured = self.limits.configured(index);
        let place = configured.as_ref().and_then(|index| index.cold_to_frozen.as_deref());
        // A directory is on the machine of the leading process, which freezes a little later.
        if place.is_some() && self.catalog.follows() {
            return Ok(());
        }
        let failed = |count: u64| {
            metrics::counter!(names::FROZEN_FAILURES, "index" => index.as_str().to_owned())
                .increment(count);
        };
        let archive = match place {
            Some(place) => self.archive(place, true).await.map(Some),
            None => Ok(None),
        };
        let archive = archive.inspect_err(|error| {
            tracing::error!(%index, %error, "frozen buckets stay: their archive cannot be used");
            failed(due.len() as u64);
        })?;
        self.refused.retain(index, (place, keep), due.iter().map(|(bucket, _)| bucket.id));
        let (mut refused, mut is_by_place) = (None, false);
        let mut wanted = Vec::with_capacity(due.len());
        for (bucket, reason) in due {
            if self.hot.has(index, bucket.id) {
                continue;
            }
            match self.refused.recent(index, bucket.id) {
                Some(error) => {
                    is_by_place |= matches!(error, Error::Archive { .. });
                    refused.get_or_insert(error);
                }
                None => wanted.push((bucket, reason)),
            }
        }
        // The place was found to be that of the buckets themselves: see below.
        if is_by_place && self.has_originals(archive.as_ref(), &wanted).await {
            wanted.clear();
        }
        if archive.is_some() {
            freezing::noted_first(&mut wanted, &freezing::noted(&snapshot, index));
        }
        let mut is_logged = false;
        for some in wanted.chunks(freezing::AT_A_TIME) {
            if archive.is_some() {
                self.note_copies(index, some).await?;
            }
            let mut by_place = 0;
            for (bucket, reason) in some {
                if self.is_changed(bucket) {
                    continue;
                }
                let frozen = self.freeze(bucket, *reason, archive.as_ref()).await;
                let Err(error) = frozen else { continue };
                failed(1);
                by_place += usize::from(matches!(error, Error::Archive { .. }));
                // What the archive has in the place of one bucket, or the loss of its object; other errors
                // concern all buckets.
                let is_of_bucket =
                    matches!(error, Error::Archive { .. } | Error::ObjectConflict { .. })
                        || is_missing(&error, bucket);
                if !(is_of_bucket && is_logged) {
                    tracing::warn!(%index, bucket = %bucket.id, %error, "a bucket is not frozen yet");
                }
                if !is_of_bucket {
                    // A failure of the archive matters more than one bucket; those of the catalog have a
                    // condition of their own.
                    let is_of_catalog = matches!(error, Error::Catalog(_));
                    return Err(if is_of_catalog { refused.unwrap_or(error) } else { error });
                }
                is_logged = true;
                self.refused.note(index, (place, keep), (bucket.id, error.clone()));
                refused.get_or_insert(error);
            }
            // The archive is the place of the buckets themselves: each would be noted, and not merged.
            if by_place == some.len() && self.has_originals(archive.as_ref(), &wanted).await {
                break;
            }
        }
        refused.map_or(Ok(()), Err)
    }

    async fn has_originals(
        &self,
        archive: Option<&Archive>,
        of: &[(BucketHeader, Reason)],
    ) -> bool {
        let Some(archive) = archive else { return false };
        archive.has_originals(&self.store, of).await
    }

    /// Whether a merge takes the bucket, or it has been merged or thawed since it was found to be due. Asked
    /// after the bucket has been noted, as a merge looks at the notes after it has begun: one of the two
    /// leaves the bucket to the other. A merge replaces the bucket in the catalog before it ends.
    fn is_changed(&self, bucket: &BucketHeader) -> bool {
        let is_merging = self.merging.lock().contains(&bucket.id);
        is_merging || !is_as_before(self.catalog.snapshot().bucket(bucket.id).as_ref(), bucket)
    }

    async fn freeze(
        &self,
        bucket: &BucketHeader,
        reason: Reason,
        archive: Option<&Archive>,
    ) -> Result<(), Error> {
        if let Some(archive) = archive {
            archive.keep(&self.store, bucket, self.settings.multipart_threshold).await?;
        }
        {
            // It may have been thawed while it was copied.
            let _changing = self.changing.lock().await;
            if self.is_changed(bucket) {
                return Ok(());
            }
            self.remove(bucket).await?;
        }
        let index = bucket.index.as_str().to_owned();
        tracing::info!(%index, bucket = %bucket.id, reason = reason.name(),
            archived = archive.is_some(), "bucket frozen");
        metrics::counter!(names::FROZEN_BUCKETS, "index" => index, "reason" => reason.name())
            .increment(1);
        Ok(())
    }

    /// Removes a bucket from the catalog; its object is deleted after the grace period.
    async fn remove(&self, bucket: &BucketHeader) -> Result<(), Error> {
        self.commit(Commit {
            expect: vec![bucket.id],
            remove: vec![bucket.id],
            discard: vec![self.discarded(&bucket.path())],
            ..Commit::default()
        })
        .await
    }

    /// Removes every bucket of an index from the catalog. Returns their number.
    pub(crate) async fn empty(&self, index: &IndexName) -> Result<u64, Error> {
        let mut count = 0;
        loop {
            let snapshot = self.catalog.snapshot();
            let Some(bucket) = snapshot.buckets(index).first() else { return Ok(count) };
            match self.remove(&bucket).await {
                Ok(()) => count += 1,
                // A merge has replaced it; the merged bucket is in the next snapshot.
                Err(error) if error.kind() == model::ErrorKind::Conflict => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Freezes thawed buckets of the range again. Returns their number.
    pub(crate) async fn freeze_thawed(
        &self,
        index: &IndexName,
        range: &TimeRange,
    ) -> Result<u64, Error> {
        let snapshot = self.catalog.snapshot();
        let thawed = snapshot
            .buckets(index)
            .iter()
            .filter(|bucket| bucket.state == BucketState::Thawed && bucket.overlaps(range));
        let mut count = 0;
        for bucket in thawed {
            self.remove(&bucket).await?;
            count += 1;
        }
        Ok(count)
    }

    /// Opens the archive at a place. A directory into which buckets were frozen must have the known identity,
    /// see `archive_id`; a directory that is used for the first time gets one, and is made only to be filled.
    async fn archive(&self, place: &str, is_to_be_filled: bool) -> Result<Archive, Error> {
        let options = &self.settings.lifecycle.archive_options;
        let Some(directory) = archive_id::directory_of(place) else {
            return Archive::open(place, options);
        };
        if let Some(id) = archive_id::known(&self.catalog.snapshot(), directory)? {
            archive_id::expect_directory(directory, id)?;
            let archive = Archive::open(place, options)?;
            archive_id::expect(archive.store(&self.store).as_ref(), directory, id).await?;
            return Ok(archive);
        }
        if !is_to_be_filled {
            return Archive::open_existing(place, options);
        }
        let archive = Archive::open(place, options)?;
        let id = archive_id::give(archive.store(&self.store).as_ref(), directory).await?;
        let document = archive_id::document(id);
        let noted = self.catalog.put_document(archive_id::KIND, directory, document).await;
        noted.map_err(|error| Error::Catalog(Arc::new(error)))?;
        tracing::info!(directory, %id, "first freeze into this directory: its id is remembered");
        Ok(archive)
    }

    /// Thaws archived buckets.
    pub(crate) async fn thaw(self: &Arc<Self>, wanted: &Thaw) -> Result<Thawed, Error> {
        let configured = self.limits.configured(&wanted.index);
        let own = configured.as_ref().and_then(|index| index.cold_to_frozen.as_deref());
        let place = wanted.from.as_deref().or(own);
        let place = place.ok_or_else(|| Error::NoArchive { index: wanted.index.clone() })?;
        let archive = match &wanted.from {
            Some(from) => Archive::open_existing(from, &self.settings.lifecycle.archive_options)?,
            None => self.archive(place, false).await?,
        };
        if archive.has_own_buckets(&self.store, &wanted.index).await {
            let reason =
                "it has the buckets of this deployment itself: name another place".to_owned();
            return Err(Error::Archive { place: place.to_owned(), reason });
        }
        let (mut all, unreadable) = archive.find(&self.store, &wanted.index, &wanted.range).await?;
        // Large ones first, so that a bucket that was merged is searchable before its parts are compared.
        all.sort_by_key(|found| Reverse(found.entry.summary.rows));
        // A wrong archive name must be reported as such, not as a time range without buckets.
        if all.is_empty()
            && wanted.from.is_some()
            && !archive.has_any(&self.store, &wanted.index).await?
        {
            return Err(Error::Archive {
                place: place.to_owned(),
                reason: format!(
                    "it has no buckets of the index {}; correct the place",
                    wanted.index
                ),
            });
        }
        let mut thawed = Thawed::default();
        unreadable.iter().for_each(|error| thawed.note_unreadable(&wanted.index, error));
        let mut failed = None;
        let there = self.there(&all).await;
        for found in all {
            let known = self.known(&found, &there).await?;
            if matches!(known, Known::Searchable) || self.has_events_of(&archive, &found).await? {
                thawed.present += 1;
                continue;
            }
            let (path, note) = match known {
                Known::Refused(error) => {
                    thawed.note_unreadable(&wanted.index, &error);
                    continue;
                }
                // The catalog has this path, so that nobody takes the object for one without a bucket, unless
                // the bucket is frozen meanwhile.
                Known::Missing(path) => (path.clone(), self.protect(path)),
                Known::Nothing | Known::Searchable => {
                    let path = thawed_path(&found.entry.path);
                    let note = self.begin(path.clone()).await?;
                    (path, note)
                }
            };
            let threshold = self.settings.multipart_threshold;
            match archive.bring_back(&self.store, &found, &path, threshold).await {
                Ok(()) => {}
                Err(error) if is_of_object(&error) => {
                    thawed.note_unreadable(&wanted.index, &error);
                    failed = failed.or(Some(error));
                    continue;
                }
                Err(error) => return Err(error),
            }
            let (rows, state) = (found.entry.summary.rows, BucketState::Thawed);
            let entry = BucketEntry { path: path.clone(), state, ..found.entry };
            let add = vec![entry.clone()];
            let changing = self.changing.lock().await;
            self.commit(Commit { add, forget: vec![path], ..Commit::default() }).await?;
            drop((changing, note));
            self.release(&entry).await?;
            thawed.buckets += 1;
            thawed.events += rows;
        }
        // If none comes back, the cause may be the store of the deployment, which cannot be written.
        if thawed.buckets == 0
            && thawed.present == 0
            && let Some(error) = failed
        {
            return Err(error);
        }
        let label = wanted.index.as_str().to_owned();
        metrics::counter!(names::THAWED_BUCKETS, "index" => label).increment(thawed.buckets);
        Ok(thawed)
    }

    /// Deletes discarded objects whose grace period is over.
    pub(crate) async fn clean_up(&self) {
        let snapshot = self.catalog.snapshot();
        #[allow(clippy::cast_precision_loss)]
        metrics::gauge!(names::GARBAGE_OBJECTS).set(snapshot.discarded().count() as f64);
        let now = self.clock.now();
        let due: Vec<String> = {
            let under_way = self.under_way.lock();
            let all = snapshot.discarded();
            let due = all.filter(|(path, time)| *time <= now && !under_way.contains(*path));
            due.map(|(path, _)| path.to_owned()).collect()
        };
        for some in due.chunks(DELETED_AT_A_TIME) {
            let mut forget = Vec::new();
            for path in some {
                match self.store.delete(&Path::from(path.as_str())).await {
                    Ok(()) | Err(object_store::Error::NotFound { .. }) => forget.push(path.clone()),
                    Err(error) => {
                        tracing::warn!(%path, %error, "a discarded object is not deleted yet");
                    }
                }
            }
            if let Err(error) = self.commit(Commit { forget, ..Commit::default() }).await {
                tracing::warn!(%error, "deleted objects could not be forgotten");
                return;
            }
        }
    }
}

/// Returns a new path for the object of a thawed bucket.
fn thawed_path(path: &str) -> String {
    let unique = runtime::random::time_ordered_uuid();
    format!("{}-thawed-{}.parquet", path.trim_end_matches(".parquet"), unique.as_simple())
}

/// Protects an object from the clean-up while it is being written.
#[derive(Debug)]
struct UnderWay {
    of: Arc<Lifecycle>,
    path: String,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.of.under_way.lock().remove(&self.path);
    }
}

#[cfg(test)]
mod tests;
