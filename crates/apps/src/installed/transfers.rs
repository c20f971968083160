//! Files of installed apps on their way from and to object storage: many at a time, as a small file is mostly
//! waiting.
//!
//! Guarantees: a process has at most [`AT_ONCE`] files on their way, of at most 64 MiB together; a larger
//! file is on its way alone. An installation writes no file that stays in object storage until the version is
//! in force. Leaves to others: digests of what was read (`installed/copying.rs`), and when objects are
//! garbage (`installed.rs`).

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use model::EventTime;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::copying::Before;
use super::{AT_ONCE, InstalledApps, Listed, OBJECT_GRACE, ROOT, failed, is_older, object};
use crate::Error;
use crate::blocking::blocking;

/// Bytes of a file that is one of [`AT_ONCE`]. A larger one counts as several.
const SHARE: u64 = 2 << 20;

/// The files of a process that are on their way.
#[derive(Debug)]
pub(super) struct OnTheWay(Semaphore);

impl Default for OnTheWay {
    fn default() -> Self {
        Self(Semaphore::new(AT_ONCE))
    }
}

impl OnTheWay {
    /// Waits until a file may be on its way, which ends when the result is dropped.
    pub(super) async fn begin(&self, bytes: u64) -> Option<SemaphorePermit<'_>> {
        let all = u32::try_from(AT_ONCE).unwrap_or(u32::MAX);
        let shares = u32::try_from(bytes.div_ceil(SHARE)).unwrap_or(u32::MAX);
        // Nobody closes it.
        self.0.acquire_many(shares.clamp(1, all)).await.ok()
    }
}

impl InstalledApps {
    /// Writes the files of a version that object storage does not have, or may not have much longer. The
    /// contents of those that are `kept` are read first, mostly from the copy in force.
    pub(super) async fn write_files(
        &self,
        app: &str,
        files: &[(Listed, Bytes)],
        kept: &[Listed],
    ) -> Result<(), Error> {
        let mut there = self.staying(app).await?;
        let new = files.iter().map(|(file, bytes)| (file, Some(bytes.clone())));
        let mut missing: Vec<(&Listed, Option<Bytes>)> =
            new.chain(kept.iter().map(|file| (file, None))).collect();
        missing.retain(|(file, _)| there.insert(file.sha256.clone()));
        let needs_copy = missing.iter().any(|(_, bytes)| bytes.is_none());
        let before = if needs_copy { self.before(app).map(Before::of) } else { None };
        let before = Arc::new(before);
        let mut writes = Vec::with_capacity(missing.len());
        for (file, bytes) in missing {
            writes.push(self.write_file(app, file, bytes, Arc::clone(&before)));
        }
        stream::iter(writes).buffer_unordered(AT_ONCE).try_collect().await
    }

    async fn write_file(
        &self,
        app: &str,
        file: &Listed,
        bytes: Option<Bytes>,
        before: Arc<Option<Before>>,
    ) -> Result<(), Error> {
        let _on_the_way = self.on_the_way.begin(file.bytes).await;
        let bytes = match bytes {
            Some(bytes) => bytes,
            None => self.kept_content(app, file, before).await?,
        };
        self.write(app, &file.sha256, bytes).await
    }

    /// The content of a file of an earlier version.
    async fn kept_content(
        &self,
        app: &str,
        file: &Listed,
        before: Arc<Option<Before>>,
    ) -> Result<Bytes, Error> {
        let wanted = file.clone();
        let here = blocking(move || Ok((*before).as_ref().and_then(|copy| copy.read(&wanted))));
        match here.await? {
            Some(content) => Ok(content),
            None => self.object(app, &file.sha256).await,
        }
    }

    /// Reads an object in pieces. Its digest is not compared.
    pub(super) async fn pieces(
        &self,
        app: &str,
        digest: &str,
    ) -> Result<BoxStream<'static, Result<Bytes, Error>>, Error> {
        let path = object(app, digest);
        let found = self.store.get(&path).await.map_err(failed("read", &path))?;
        Ok(found.into_stream().map_err(move |source| failed("read", &path)(source)).boxed())
    }

    pub(super) async fn write(&self, app: &str, digest: &str, bytes: Bytes) -> Result<(), Error> {
        let path = object(app, digest);
        self.store.put(&path, bytes.into()).await.map(drop).map_err(failed("write", &path))
    }

    /// The digests of the files of an app in object storage that no process removes as garbage for hours.
    async fn staying(&self, app: &str) -> Result<BTreeSet<String>, Error> {
        let root = ObjectPath::from_iter([ROOT, app]);
        let now = self.clock.now();
        let mut staying = BTreeSet::new();
        let mut listed = self.store.list(Some(&root));
        while let Some(object) = listed.try_next().await.map_err(failed("list", &root))? {
            let written = EventTime(object.last_modified.timestamp_micros());
            if !is_older(written, now, OBJECT_GRACE / 2) {
                staying.extend(object.location.filename().map(str::to_owned));
            }
        }
        Ok(staying)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn small_files_are_on_their_way_together_and_large_ones_alone() {
        let on_the_way = OnTheWay::default();
        let begin = |bytes| on_the_way.begin(bytes).now_or_never().map(Option::unwrap);
        let small: Vec<_> = (0..AT_ONCE).map(|_| begin(1).unwrap()).collect();
        assert!(begin(0).is_none());
        drop(small);
        let half = begin(SHARE * AT_ONCE as u64 / 2).unwrap();
        assert!(begin(SHARE * AT_ONCE as u64 / 2 + 1).is_none());
        let other_half = begin(SHARE * AT_ONCE as u64 / 2).unwrap();
        assert!(begin(1).is_none());
        drop((half, other_half));
        let large = begin(u64::MAX).unwrap();
        assert!(begin(1).is_none());
        drop(large);
        assert!(begin(1).is_some());
    }
}
