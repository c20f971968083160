//! Search bundles that are kept: the installed apps by which searches were planned before other ones were in
//! force.
//!
//! ```text
//! installed/bundle-<SHA-256>   an object: the names of the apps, and the digests of their manifests
//! ```
//!
//! Guarantees: the name of an object has the digest of its content, which is the version of the bundle
//! (`bundle_version` of a search). While a bundle is kept, the files of its apps are not garbage. Leaves to
//! others: when apps change (`Apps::note_bundle`), and what their files mean.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use model::EventTime;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt};

use super::{AT_ONCE, Directories, InstalledApps, ROOT, digests_of, failed, is_older};
use crate::Error;
use crate::digest::sha256;
use crate::installation::{apps_of, listing};

/// The beginning of the names of bundles.
const PREFIX: &str = "bundle-";
/// Maximum number of bundles that are kept.
const MOST: usize = 500;
/// Maximum number of bundles that a message names.
const NAMED: usize = 20;

/// A bundle in object storage.
#[derive(Debug)]
struct Kept {
    checksum: String,
    /// When it was noted last.
    noted: EventTime,
}

impl InstalledApps {
    /// Notes the apps on the local disk as a bundle. The same bundle is written again only after another
    /// one: the next bundle after its note is the one that has replaced it.
    pub(crate) async fn note_bundle(&self) -> Result<(), Error> {
        let text = listing(digests_of(&self.directories()));
        let checksum = sha256(text.as_bytes());
        {
            let noted = self.noted.lock();
            // A server without installed apps writes nothing.
            let is_first = noted.is_none() && text.is_empty();
            if is_first || noted.as_ref() == Some(&checksum) {
                return Ok(());
            }
        }
        let path = place(&checksum);
        let written = self.store.put(&path, Bytes::from(text).into()).await;
        written.map_err(failed("write", &path))?;
        *self.noted.lock() = Some(checksum);
        Ok(())
    }

    /// Copies the apps of a bundle to the local disk, where they stay for an hour; [`Self::keep_copies`]
    /// keeps them for longer.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the bundle is not kept, with those that are. If object storage fails.
    pub(crate) async fn copy_bundle(&self, checksum: &str) -> Result<Directories, Error> {
        let Some(apps) = self.bundle(checksum).await? else {
            return Err(self.not_kept(checksum).await?);
        };
        let _copying = self.copying.lock().await;
        let mut directories = Directories::new();
        for (app, manifest) in &apps {
            directories.insert(app.clone(), self.copy_app_alone(app, manifest).await?);
        }
        self.keep_copies(&directories);
        // Those of bundles that were used before.
        self.remove_copies();
        Ok(directories)
    }

    /// Keeps copies that are not in force for at least another hour.
    pub(crate) fn keep_copies(&self, directories: &Directories) {
        let now = self.clock.now();
        let mut copies = self.copies.lock();
        for directory in directories.values() {
            // The hour of one that is in force begins when it is replaced.
            let is_current = copies.current.values().any(|current| current == directory);
            if !is_current && directory.is_dir() {
                copies.replaced.insert(directory.clone(), now);
            }
        }
    }

    /// Returns the apps of a bundle with their manifests; `None` if it is not kept.
    async fn bundle(&self, checksum: &str) -> Result<Option<BTreeMap<String, String>>, Error> {
        let empty = sha256(b"");
        if checksum == empty {
            return Ok(Some(BTreeMap::new()));
        }
        // Other texts can be too long for the name of an object.
        if checksum.len() != empty.len() || !checksum.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let path = place(checksum);
        let bytes = match self.store.get(&path).await {
            Ok(found) => found.bytes().await.map_err(failed("read", &path))?,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(source) => return Err(failed("read", &path)(source)),
        };
        let apps = std::str::from_utf8(&bytes).ok().and_then(apps_of);
        let apps = apps.filter(|_| sha256(&bytes) == checksum);
        apps.map(Some).ok_or_else(|| {
            let reason = "its content has another digest".to_owned();
            Error::Damaged { what: path.to_string(), reason }
        })
    }

    /// Returns the bundles in object storage, the newest first.
    async fn kept(&self) -> Result<Vec<Kept>, Error> {
        let root = ObjectPath::from(ROOT);
        let listed = self.store.list_with_delimiter(Some(&root)).await;
        let listed = listed.map_err(failed("list", &root))?;
        let bundle = |object: object_store::ObjectMeta| {
            let checksum = object.location.filename()?.strip_prefix(PREFIX)?.to_owned();
            let noted = EventTime(object.last_modified.timestamp_micros());
            Some(Kept { checksum, noted })
        };
        let mut kept: Vec<Kept> = listed.objects.into_iter().filter_map(bundle).collect();
        kept.sort_by_key(|bundle| Reverse(bundle.noted));
        Ok(kept)
    }

    async fn not_kept(&self, checksum: &str) -> Result<Error, Error> {
        let kept = self.kept().await?;
        let named: Vec<&str> =
            kept.iter().take(NAMED).map(|bundle| bundle.checksum.as_str()).collect();
        let kept = match named.is_empty() {
            true => "none is kept".to_owned(),
            false => format!("those that are kept, the newest first: {}", named.join(", ")),
        };
        Ok(Error::Invalid(format!(
            "the bundle \"{checksum}\" is unknown, or is not kept any more: a bundle is kept for {} s after \
             another one replaces it (bundle_retention in distsearch.conf [replicationSettings]); {kept}",
            self.retention.as_secs()
        )))
    }

    /// Deletes the bundles that were replaced longer ago than the retention, and returns the objects of the
    /// apps of those that are kept.
    pub(super) async fn objects_of_kept(&self) -> Result<BTreeSet<ObjectPath>, Error> {
        let (now, latest) = (self.clock.now(), self.latest_checksum()?);
        let mut left = Vec::new();
        let (mut replaced, mut newer_noted): (Option<EventTime>, Option<EventTime>) = (None, None);
        for (newer, bundle) in self.kept().await?.into_iter().enumerate() {
            // Object storage may have whole seconds: it is not known which bundle of a second is the last.
            if newer_noted.is_some_and(|noted| noted > bundle.noted) {
                replaced = newer_noted;
            }
            newer_noted = Some(bundle.noted);
            let is_old = replaced.is_some_and(|at| is_older(at, now, self.retention));
            let is_over = is_old || newer >= MOST;
            if !is_over || bundle.checksum == latest {
                left.push(bundle.checksum);
                continue;
            }
            let path = place(&bundle.checksum);
            match self.store.delete(&path).await {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
                Err(source) => return Err(failed("delete", &path)(source)),
            }
        }
        let bundles: Vec<_> = left.iter().map(|checksum| self.bundle(checksum)).collect();
        let bundles: Vec<Option<BTreeMap<String, String>>> =
            stream::iter(bundles).buffer_unordered(AT_ONCE).try_collect().await?;
        let apps: BTreeSet<(String, String)> = bundles.into_iter().flatten().flatten().collect();
        let reads: Vec<_> =
            apps.iter().map(|(app, digest)| self.objects_if_any(app, digest)).collect();
        let mut reads = stream::iter(reads).buffer_unordered(AT_ONCE);
        // Versions of an app have most files in common.
        let mut objects = BTreeSet::new();
        while let Some(of_version) = reads.try_next().await? {
            objects.extend(of_version);
        }
        Ok(objects)
    }

    /// As [`Self::objects_of`]. Nothing is left of an app whose manifest an earlier version of Karst, which
    /// knows no kept bundles, has deleted.
    pub(super) async fn objects_if_any(
        &self,
        app: &str,
        digest: &str,
    ) -> Result<Vec<ObjectPath>, Error> {
        match self.objects_of(app, digest).await {
            Err(Error::Store { source: object_store::Error::NotFound { .. }, .. }) => {
                Ok(Vec::new())
            }
            objects => objects,
        }
    }
}

fn place(checksum: &str) -> ObjectPath {
    ObjectPath::from_iter([ROOT, format!("{PREFIX}{checksum}").as_str()])
}
