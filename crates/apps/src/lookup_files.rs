//! Lookup files: CSV in the `lookups` directory of an app, or in object storage where a search or a user
//! put them. A file in object storage takes precedence over one of the app.

use std::io::{self, Write};
use std::path::PathBuf;

use bytes::Bytes;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStoreExt};

use crate::lookups::{Lookups, ROOT};
use crate::package::{GZIP, Limits};
use crate::{AppFiles, Apps, Error, NOBODY, Namespace, SEARCH};

/// Maximum decompressed size of a lookup, in bytes.
const MAX_UNPACKED: u64 = 4 << 30;

/// Suffix of a lookup file that is used where the file without the suffix is missing.
const SHIPPED: &str = ".default";

/// A lookup file and where it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LookupFile {
    /// The name of the file, such as `hosts.csv`.
    pub name: String,
    /// Its app.
    pub app: String,
    /// Its owner.
    pub owner: String,
    /// Whether it is in object storage and can be removed.
    pub removable: bool,
}

impl LookupFile {
    /// `<owner>/<app>/lookups/<name>`: names it among all objects.
    #[must_use]
    pub fn place(&self) -> String {
        format!("{}/{}/{ROOT}/{}", self.owner, self.app, self.name)
    }

    /// The file that an object is, with the names that it was stored under: paths of objects have some
    /// characters percent-encoded.
    fn stored_at(location: &Path) -> Option<Self> {
        let parts: Vec<_> = location.parts().collect();
        let [_, owner, app, name] = parts.as_slice() else { return None };
        let [owner, app, name] = [owner, app, name].map(|part| decoded(part.as_ref()));
        Some(Self { name, app, owner, removable: true })
    }
}

/// The content of a lookup file.
#[derive(Debug, Clone)]
pub struct LookupBytes {
    /// CSV, unpacked.
    pub bytes: Bytes,
    /// Changes whenever the content may have changed.
    pub version: String,
}

impl Apps {
    /// A file in the `lookups` directory of an app.
    fn lookup_file(&self, files: &AppFiles, app: &str, name: &str) -> Option<PathBuf> {
        let directory = self.directory_at(files, app)?;
        Some(directory.join("apps").join(app).join("lookups").join(name))
    }

    /// Reads the content of a lookup file: the user's own, the app's, or that of another app.
    ///
    /// # Errors
    /// If the file exists but cannot be read, or its name is invalid.
    pub async fn read_lookup(
        &self,
        name: &str,
        namespace: &Namespace,
    ) -> Result<Option<LookupBytes>, Error> {
        self.read_lookup_where(name, namespace, |_| true).await
    }

    /// As [`Self::read_lookup`], but only for files that `readable` accepts.
    ///
    /// # Errors
    /// As [`Self::read_lookup`].
    pub async fn read_lookup_where(
        &self,
        name: &str,
        namespace: &Namespace,
        readable: impl Fn(&LookupFile) -> bool,
    ) -> Result<Option<LookupBytes>, Error> {
        self.read_lookup_at(&self.files(), name, namespace, readable).await
    }

    /// The same, where apps had these files.
    ///
    /// # Errors
    /// As [`Self::read_lookup`].
    pub async fn read_lookup_at(
        &self,
        files: &AppFiles,
        name: &str,
        namespace: &Namespace,
        readable: impl Fn(&LookupFile) -> bool,
    ) -> Result<Option<LookupBytes>, Error> {
        check_file_name(name)?;
        let seen = |owner: &str, app: &str| {
            let [name, app, owner] = [name, app, owner].map(str::to_owned);
            readable(&LookupFile { name, app, owner, removable: false })
        };
        let lookups = self.lookup_files();
        let mut apps = vec![namespace.app.clone()];
        // In the order of the definitions that name the file.
        apps.extend(files.apps().into_iter().rev().filter(|app| *app != namespace.app));
        apps.retain(|app| !files.is_disabled(app));
        let stored = lookups.stored().await;
        let stored = stored.map_err(|source| failed("list", &Path::from(ROOT), source))?;
        for app in &apps {
            if *app != namespace.app && !files.shows_lookup(app, name) {
                continue;
            }
            let own = (*app == namespace.app).then_some(namespace.owner.as_str());
            for owner in own.into_iter().filter(|owner| *owner != NOBODY).chain([NOBODY]) {
                if !seen(owner, app) {
                    continue;
                }
                let path = Lookups::object(owner, app, name);
                if !stored.contains(&path) {
                    continue;
                }
                match lookups.store.get(&path).await {
                    Ok(found) => {
                        let tag = found.meta.e_tag.clone().unwrap_or_default();
                        let version = format!(
                            "{path} {tag} {} {}",
                            found.meta.last_modified, found.meta.size
                        );
                        let bytes = found.bytes().await;
                        let bytes = bytes.map_err(|source| failed("read", &path, source))?;
                        let bytes = unpacked(name, bytes)?;
                        return Ok(Some(LookupBytes { bytes, version }));
                    }
                    Err(object_store::Error::NotFound { .. }) => {}
                    Err(source) => return Err(failed("read", &path, source)),
                }
            }
            if !seen(NOBODY, app) {
                continue;
            }
            for name_there in [name.to_owned(), format!("{name}{SHIPPED}")] {
                let Some(file) = self.lookup_file(files, app, &name_there) else { continue };
                let fail = |source| {
                    let path = file.display().to_string();
                    Error::File { action: "read", path, source }
                };
                // Read before the content, so that rows of a file that is replaced meanwhile are not kept as
                // those of the new version.
                let changed = tokio::fs::metadata(&file).await.and_then(|m| m.modified());
                match tokio::fs::read(&file).await {
                    Ok(bytes) => {
                        let version =
                            format!("{} {:?} {}", file.display(), changed.ok(), bytes.len());
                        let bytes = unpacked(name, bytes.into())?;
                        return Ok(Some(LookupBytes { bytes, version }));
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(fail(error)),
                }
            }
        }
        Ok(None)
    }

    /// Writes a lookup file to object storage, and replaces an existing one. A file whose name ends in `.gz`
    /// is compressed, unless it is already.
    ///
    /// # Errors
    /// If the name is not a valid file name, or the write fails.
    pub async fn write_lookup(
        &self,
        name: &str,
        namespace: &Namespace,
        bytes: Bytes,
    ) -> Result<(), Error> {
        check_file_name(name)?;
        let app = if namespace.app == "-" { SEARCH } else { &namespace.app };
        let path = Lookups::object(&namespace.owner, app, name);
        let bytes = packed(name, bytes).map_err(|source| Error::File {
            action: "compress",
            path: name.to_owned(),
            source,
        })?;
        let put = self.lookup_files().put(&path, bytes.into()).await;
        put.map_err(|source| failed("write", &path, source))
    }

    /// Removes a lookup file from object storage.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Builtin`] for one of an app's files, or if object storage fails.
    pub async fn remove_lookup(&self, name: &str, namespace: &Namespace) -> Result<(), Error> {
        let files = self.list_lookups(namespace).await?;
        let found = files.into_iter().find(|file| file.name == name);
        let found = found.ok_or_else(|| Error::NotFound(name.to_owned()))?;
        if !found.removable {
            return Err(Error::Builtin(name.to_owned()));
        }
        let path = Lookups::object(&found.owner, &found.app, name);
        let deleted = self.lookup_files().delete(&path).await;
        deleted.map_err(|source| failed("remove", &path, source))
    }

    /// Returns the shared lookup files of an app that are in object storage, by name.
    ///
    /// # Errors
    /// If object storage cannot be read.
    pub(crate) async fn shared_lookups(
        &self,
        app: &str,
    ) -> Result<Vec<(String, ObjectMeta)>, Error> {
        let root = Path::from(ROOT);
        let listed: Vec<_> = self
            .lookup_files()
            .store
            .list(Some(&root))
            .try_collect()
            .await
            .map_err(|source| failed("list", &root, source))?;
        let own = listed.into_iter().filter_map(|object: ObjectMeta| {
            let file = LookupFile::stored_at(&object.location)?;
            (file.app == app && file.owner == NOBODY).then_some((file.name, object))
        });
        let mut found: Vec<_> = own.collect();
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(found)
    }

    /// Reads a lookup file as it is stored; `None` if it has been removed meanwhile.
    ///
    /// # Errors
    /// If object storage cannot be read, or the file is too large for a package.
    pub(crate) async fn stored_lookup(
        &self,
        object: &ObjectMeta,
        limits: &mut Limits,
    ) -> Result<Option<Bytes>, Error> {
        let fail = |source| failed("read", &object.location, source);
        let got = match self.lookup_files().store.get(&object.location).await {
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            got => got.map_err(fail)?,
        };
        limits.take_file()?;
        limits.take_bytes(got.meta.size)?;
        Ok(Some(got.bytes().await.map_err(fail)?))
    }

    /// Returns the lookup files that a namespace sees, by name. An owner or app of `-` stands for all.
    ///
    /// # Errors
    /// If a directory or object storage cannot be read.
    pub async fn list_lookups(&self, namespace: &Namespace) -> Result<Vec<LookupFile>, Error> {
        let root = Path::from(ROOT);
        let lookups = self.lookup_files();
        let listed: Vec<_> = lookups
            .store
            .list(Some(&root))
            .try_collect()
            .await
            .map_err(|source| failed("list", &root, source))?;
        let mut found = Vec::new();
        for object in listed {
            let Some(file) = LookupFile::stored_at(&object.location) else { continue };
            let owner = file.owner.as_str();
            if owner == NOBODY || namespace.owner == "-" || owner == namespace.owner {
                found.push(file);
            }
        }
        let files = self.files();
        for app in files.apps() {
            let Some(folder) = self.lookup_file(&files, &app, "") else { continue };
            let Ok(mut entries) = tokio::fs::read_dir(&folder).await else { continue };
            while let Ok(Some(entry)) = entries.next_entry().await {
                let name = entry.file_name().to_string_lossy().into_owned();
                let name = name.strip_suffix(SHIPPED).map(ToOwned::to_owned).unwrap_or(name);
                let known = found.iter().any(|file| file.name == name && file.app == app);
                if check_file_name(&name).is_ok() && !known {
                    let (app, owner) = (app.clone(), NOBODY.to_owned());
                    found.push(LookupFile { name, app, owner, removable: false });
                }
            }
        }
        let own = |app: &String| namespace.app == "-" || *app == namespace.app;
        found.retain(|file| own(&file.app) || files.shows_lookup(&file.app, &file.name));
        found.retain(|file| !files.is_disabled(&file.app));
        found.sort();
        Ok(found)
    }
}

/// Returns the name that was encoded as this part of a path; the part itself if it is not an encoded name.
fn decoded(part: &str) -> String {
    let name = Path::from_url_path(part).ok().map(String::from);
    let name = name.filter(|name| Path::from_iter([name.as_str()]).as_ref() == part);
    name.unwrap_or_else(|| part.to_owned())
}

fn check_file_name(name: &str) -> Result<(), Error> {
    let plain = !name.is_empty()
        && name.len() <= 200
        && !name.starts_with('.')
        && !name.contains(['/', '\\', '\0'])
        && !name.chars().any(char::is_control);
    if plain {
        return Ok(());
    }
    Err(Error::Invalid(format!("\"{name}\" cannot be the name of a lookup file")))
}

/// Returns the bytes of a file, decompressed if its name says that it is compressed.
fn unpacked(name: &str, bytes: Bytes) -> Result<Bytes, Error> {
    if !name.ends_with(".gz") {
        return Ok(bytes);
    }
    let mut out = Vec::new();
    let mut decoder = io::Read::take(GzDecoder::new(bytes.as_ref()), MAX_UNPACKED);
    io::Read::read_to_end(&mut decoder, &mut out).map_err(|error| Error::Damaged {
        what: format!("the lookup file {name}"),
        reason: error.to_string(),
    })?;
    Ok(out.into())
}

/// Returns the bytes of a file, compressed if its name says so and they are not.
fn packed(name: &str, bytes: Bytes) -> io::Result<Bytes> {
    if !name.ends_with(".gz") || bytes.starts_with(&GZIP) {
        return Ok(bytes);
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&bytes)?;
    Ok(encoder.finish()?.into())
}

fn failed(action: &'static str, path: &Path, source: object_store::Error) -> Error {
    Error::Store { action, path: path.to_string(), source }
}
