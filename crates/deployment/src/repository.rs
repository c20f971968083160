//! The directory of apps: each subdirectory is an app that can be distributed.
//!
//! Guarantees: an app is read completely, and its archive matches its checksum. An app that cannot be
//! distributed (a link, a device, too many bytes) is listed with the reason, and forwarders keep the
//! installed version.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::Error;
use crate::archive::{Limits, pack, path_of, too_large, too_many_files};
use crate::checksum::{AppFile, checksum};

/// Maximum length of an app's name in bytes.
const MAX_NAME: usize = 100;
/// The suffix of archives.
const ENDING: &str = ".tar.gz";

/// Whether a text is a valid name of an app: of a directory, on every system.
#[must_use]
pub fn is_app_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_NAME
        && !name.starts_with('.')
        && !name.contains(['/', '\\', ':', '*'])
        && !name.chars().any(char::is_control)
}

/// An app of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownApp {
    /// Its contents, or the reason why it is not distributed.
    pub content: Result<Content, String>,
    /// When it was read, in seconds of Unix time.
    pub loaded: i64,
    /// A hash of the names, sizes and times of its files.
    fingerprint: u64,
}

/// The contents of an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Its checksum.
    pub checksum: String,
    /// Size of its files in bytes.
    pub bytes: u64,
    /// Number of its files.
    pub files: usize,
}

/// The apps of a directory.
#[derive(Debug, Clone, Default)]
pub struct Repository {
    /// By name.
    pub apps: BTreeMap<String, KnownApp>,
}

impl Repository {
    /// Reads a directory, and packs apps without an archive into `archives`. Apps that have not changed
    /// since `before` are not read again. The directory need not exist, unless it existed before or all of
    /// its apps are assigned (`is_needed`): a file system that is not mounted must not remove apps from
    /// forwarders.
    ///
    /// # Errors
    /// If the directory cannot be listed, or an archive cannot be written.
    pub(crate) fn read(
        directory: &Path,
        archives: &Path,
        before: Option<&Self>,
        (limits, is_needed): (Limits, bool),
        now: i64,
    ) -> Result<Self, Error> {
        let mut apps = BTreeMap::new();
        let is_needed = is_needed || before.is_some_and(|before| !before.apps.is_empty());
        for (name, path) in directories(directory, is_needed)? {
            let fingerprint = fingerprint(&path);
            let known = before.and_then(|before| before.apps.get(&name)).filter(|known| {
                let is_packed = |content: &Content| archive(archives, &content.checksum).exists();
                known.fingerprint == fingerprint && known.content.as_ref().is_ok_and(is_packed)
            });
            let app = match known {
                Some(known) => known.clone(),
                None => {
                    let content = match read_app(&path, limits) {
                        Ok(files) => Ok(packed(&files, archives)?),
                        Err(error) => Err(error.to_string()),
                    };
                    KnownApp { content, loaded: now, fingerprint }
                }
            };
            apps.insert(name, app);
        }
        Ok(Self { apps })
    }
}

/// The app directories of a directory, by name.
fn directories(directory: &Path, is_needed: bool) -> Result<Vec<(String, PathBuf)>, Error> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !is_needed => {
            return Ok(Vec::new());
        }
        entries => entries.map_err(Error::file("list", directory))?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(Error::file("list", directory))?;
        let name = entry.file_name().to_str().filter(|name| is_app_name(name)).map(str::to_owned);
        // A link to a directory counts as an app, because administrators link to working copies.
        if let Some(name) = name.filter(|_| entry.path().is_dir()) {
            found.push((name, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

/// The path of an archive.
pub(crate) fn archive(archives: &Path, checksum: &str) -> PathBuf {
    archives.join(format!("{checksum}{ENDING}"))
}

fn packed(files: &[AppFile], archives: &Path) -> Result<Content, Error> {
    let checksum = checksum(files);
    let path = archive(archives, &checksum);
    if !path.exists() {
        let draft = path.with_extension("draft");
        let write = || {
            fs::create_dir_all(archives)?;
            let mut file = io::BufWriter::new(File::create(&draft)?);
            pack(files, &mut file)?;
            file.flush()?;
            // After a crash of the machine, there must not be an archive without content.
            file.get_ref().sync_all()?;
            fs::rename(&draft, &path)
        };
        write().map_err(Error::file("write", &path))?;
    }
    let bytes = files.iter().map(|file| file.bytes.len() as u64).sum();
    Ok(Content { checksum, bytes, files: files.len() })
}

/// Removes archives that no app uses.
pub(crate) fn clean_up(archives: &Path, is_used: impl Fn(&str) -> bool) {
    let Ok(entries) = fs::read_dir(archives) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        if name.strip_suffix(ENDING).is_none_or(|checksum| !is_used(checksum)) {
            // Retried with the next reload.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The files of an app, by path.
fn read_app(root: &Path, limits: Limits) -> Result<Vec<AppFile>, Error> {
    let mut files = Vec::new();
    let mut left = limits.bytes;
    let mut waiting = vec![root.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).map_err(Error::file("list", &folder))? {
            let entry = entry.map_err(Error::file("list", &folder))?;
            let path = entry.path();
            // The metadata of the entry itself, not of the target of a link.
            let metadata = entry.metadata().map_err(Error::file("read", &path))?;
            if metadata.is_dir() {
                waiting.push(path);
                continue;
            }
            if !metadata.is_file() {
                let kind = match metadata.file_type().is_symlink() {
                    true => "a symbolic link: replace it with a copy",
                    false => "not a regular file: remove it",
                };
                return Err(Error::App(format!("{} is {kind}", path.display())));
            }
            if files.len() >= limits.files {
                return Err(too_many_files(limits));
            }
            left = left.checked_sub(metadata.len()).ok_or_else(|| too_large(limits))?;
            let bytes = fs::read(&path).map_err(Error::file("read", &path))?;
            let inside = path_of(path.strip_prefix(root).unwrap_or(&path))?;
            let executable = metadata.permissions().mode() & 0o111 != 0;
            files.push(AppFile { path: inside, bytes, executable });
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(Error::App(format!("{} has no files", root.display())));
    }
    Ok(files)
}

/// A fingerprint of the files, without reading their contents.
pub(crate) fn fingerprint(root: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(path) = waiting.pop() {
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        let is_root_link = path == root && metadata.is_symlink();
        if metadata.is_dir() || is_root_link {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            let mut inside: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
            inside.sort();
            waiting.extend(inside);
        }
        let changed = (metadata.mtime(), metadata.mtime_nsec(), metadata.ctime_nsec());
        (path, metadata.len(), metadata.mode(), metadata.ino(), changed).hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { bytes: 1_000, files: 5 };

    struct Place {
        root: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Self {
            Self { root: tempfile::tempdir().unwrap() }
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.root.path().join("apps").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn read(&self, before: Option<&Repository>, now: i64) -> Repository {
            let (apps, archives) = (self.root.path().join("apps"), self.root.path().join("packed"));
            Repository::read(&apps, &archives, before, (LIMITS, false), now).unwrap()
        }
    }

    #[test]
    fn apps_are_read_again_when_they_have_changed_only() {
        let place = Place::new();
        assert!(place.read(None, 1).apps.is_empty());
        place.write("one/default/inputs.conf", "[monitor:///x]\n");
        place.write("two/bin/run.sh", "#!");
        place.write("note.txt", "not an app");
        place.write(".git/config", "not an app");
        let first = place.read(None, 2);
        assert_eq!(first.apps.keys().collect::<Vec<_>>(), ["one", "two"]);
        place.write("two/bin/run.sh", "#!/bin/sh");
        let second = place.read(Some(&first), 3);
        assert_eq!(second.apps["one"], first.apps["one"]);
        assert_eq!((second.apps["one"].loaded, second.apps["two"].loaded), (2, 3));
        let content = second.apps["one"].content.clone().unwrap();
        assert_eq!((content.bytes, content.files), (15, 1));
        let archives = place.root.path().join("packed");
        let packed = File::open(archive(&archives, &content.checksum)).unwrap();
        let files = crate::unpack(packed, LIMITS).unwrap();
        assert_eq!(checksum(&files), content.checksum);
        assert_eq!(fs::read_dir(&archives).unwrap().count(), 3);
        let used = |sum: &str| sum == content.checksum;
        clean_up(&archives, used);
        assert_eq!(fs::read_dir(&archives).unwrap().count(), 1);
        // A missing archive is packed again.
        let third = place.read(Some(&second), 4);
        assert_eq!((third.apps["one"].loaded, third.apps["two"].loaded), (2, 4));
        assert_eq!(fs::read_dir(&archives).unwrap().count(), 2);
    }

    #[test]
    fn a_directory_that_is_gone_is_not_one_without_apps() {
        let place = Place::new();
        place.write("one/default/inputs.conf", "");
        let first = place.read(None, 1);
        let (apps, archives) = (place.root.path().join("apps"), place.root.path().join("packed"));
        fs::rename(&apps, place.root.path().join("away")).unwrap();
        let again = |before: Option<&Repository>, is_needed| {
            Repository::read(&apps, &archives, before, (LIMITS, is_needed), 2)
        };
        assert!(again(None, false).unwrap().apps.is_empty());
        for read in [again(None, true), again(Some(&first), false)] {
            assert!(read.unwrap_err().to_string().contains("cannot list"));
        }
    }

    #[test]
    fn what_cannot_be_handed_out_has_a_reason() {
        let place = Place::new();
        place.write("good/default/a.conf", "x");
        place.write("large/default/a.conf", &"x".repeat(1_001));
        place.write("link/default/a.conf", "x");
        place.write("many/0", "x");
        for n in 1..6 {
            place.write(&format!("many/{n}"), "x");
        }
        fs::create_dir_all(place.root.path().join("apps/empty/default")).unwrap();
        let apps = place.root.path().join("apps");
        std::os::unix::fs::symlink("/etc/passwd", apps.join("link/default/b.conf")).unwrap();
        let read = place.read(None, 1);
        let reason = |name: &str| read.apps[name].content.clone().unwrap_err();
        assert!(read.apps["good"].content.is_ok());
        assert!(reason("large").contains("more than 1000 bytes"), "{}", reason("large"));
        assert!(reason("many").contains("more than 5 files"), "{}", reason("many"));
        assert!(reason("link").contains("b.conf is a symbolic link"), "{}", reason("link"));
        assert!(reason("empty").contains("has no files"), "{}", reason("empty"));
    }
}
