//! The versions of apps on this machine, and which of them are installed.
//!
//! ```text
//! <data>/deployment/state.json                          the installed version of each app
//! <data>/deployment/versions/<app>-<checksum>/apps/<app>  a version, never changed by the forwarder
//! ```
//!
//! Guarantees: a version is complete on disk before the state names it, and the state is replaced
//! atomically, so that a crash leaves either all previous or all new apps. The previous apps are kept until
//! the new ones have started; if these do not start, the previous ones are restored, also after a crash in
//! between.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use deployment::{AppFile, Outcome};
use serde::{Deserialize, Serialize};

use crate::Error;

/// Checksums by app.
pub(crate) type Apps = BTreeMap<String, String>;

/// The content of `state.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    apps: Apps,
    /// The previous versions, until the installed ones have started.
    before: Option<Apps>,
    /// Versions that could not be installed; this process does not try them again.
    #[serde(default)]
    failed: Vec<Outcome>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Versions {
    directory: PathBuf,
    state: State,
}

impl Versions {
    /// Reads the installed versions. Removes leftovers of a crash, and forgets apps whose files are
    /// missing.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub(crate) fn open(data: &Path) -> Result<Self, Error> {
        let directory = data.join("deployment");
        let path = directory.join("state.json");
        let state = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
                let reason =
                    format!("it is damaged ({error}); remove it, and apps are loaded again");
                Error::setting(path.display(), reason)
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => State::default(),
            Err(error) => return Err(Error::setting(path.display(), error.to_string())),
        };
        let mut versions = Self { directory, state };
        let here = |app: &String, sum: &mut String| versions.path(app, sum).join("apps").is_dir();
        let mut apps = versions.state.apps.clone();
        apps.retain(|app, sum| here(app, sum));
        let mut before = versions.state.before.clone();
        if let Some(before) = &mut before {
            before.retain(|app, sum| here(app, sum));
        }
        (versions.state.apps, versions.state.before) = (apps, before);
        // The configuration may have changed since, so that failed versions may be valid now.
        if versions.state.before.is_none() {
            versions.state.failed.clear();
        }
        versions.clean_up();
        Ok(versions)
    }

    /// The installed versions.
    pub(crate) fn apps(&self) -> &Apps {
        &self.state.apps
    }

    /// The versions that could not be installed.
    pub(crate) fn failed(&self) -> &[Outcome] {
        &self.state.failed
    }

    /// The directory of each app of some versions, with `apps/<app>`.
    pub(crate) fn directories(&self, apps: &Apps) -> BTreeMap<String, PathBuf> {
        apps.iter().map(|(app, sum)| (app.clone(), self.path(app, sum))).collect()
    }

    fn path(&self, app: &str, checksum: &str) -> PathBuf {
        self.directory.join("versions").join(format!("{app}-{checksum}"))
    }

    /// The path of an archive during its download.
    pub(crate) fn download_path(&self) -> Result<PathBuf, Error> {
        let create = fs::create_dir_all(&self.directory);
        create.map_err(|error| Error::queue("create", &self.directory, error))?;
        Ok(self.directory.join("download.tar.gz"))
    }

    /// Writes a version without installing it. Top-level entries named by `exclude` are copied from the
    /// installed version.
    ///
    /// # Errors
    /// If the disk fails.
    pub(crate) fn add(
        &self,
        app: &str,
        checksum: &str,
        files: &[AppFile],
        exclude: &[String],
    ) -> Result<(), Error> {
        let target = self.path(app, checksum);
        let draft = self.directory.join("versions").join(format!(".{app}-{checksum}"));
        let fail = |what| move |path: &Path, error| Error::queue(what, path, error);
        for old in [&draft, &target] {
            remove(old).map_err(|error| fail("remove")(old, error))?;
        }
        let folder = draft.join("apps").join(app);
        fs::create_dir_all(&folder).map_err(|error| fail("create")(&folder, error))?;
        let before = self.state.apps.get(app).map(|sum| self.path(app, sum).join("apps").join(app));
        let kept: Vec<&String> = exclude
            .iter()
            .filter(|path| before.as_ref().is_some_and(|before| before.join(path).exists()))
            .collect();
        for file in files {
            let top = file.path.split('/').next().unwrap_or_default();
            if kept.iter().any(|path| *path == top) {
                continue;
            }
            let path = folder.join(&file.path);
            write(&path, file).map_err(|error| fail("write")(&path, error))?;
        }
        for path in kept {
            let Some(before) = &before else { continue };
            let (from, to) = (before.join(path), folder.join(path));
            copy(&from, &to).map_err(|error| fail("copy")(&from, error))?;
        }
        sync_directories(&draft).map_err(|error| fail("write")(&draft, error))?;
        fs::rename(&draft, &target).map_err(|error| fail("create")(&target, error))?;
        let versions = self.directory.join("versions");
        sync(&versions).map_err(|error| fail("write")(&versions, error))
    }

    /// Installs versions, which are complete on disk; the previous ones are kept until [`Self::confirm`].
    ///
    /// # Errors
    /// If the disk fails; then the previous ones stay installed.
    pub(crate) fn commit(&mut self, apps: Apps) -> Result<(), Error> {
        let before = self.state.before.clone().unwrap_or_else(|| self.state.apps.clone());
        let state = State { apps, before: Some(before), failed: self.state.failed.clone() };
        self.write(state)
    }

    /// Confirms that the installed versions have started: the previous ones are no longer needed.
    ///
    /// # Errors
    /// If the disk fails; the next call retries.
    pub(crate) fn confirm(&mut self) -> Result<(), Error> {
        if self.state.before.is_some() {
            self.write(State { before: None, ..self.state.clone() })?;
            self.clean_up();
        }
        Ok(())
    }

    /// Restores the previous versions, with a reason; false if there are none.
    ///
    /// # Errors
    /// If the disk fails.
    pub(crate) fn go_back(&mut self, reason: &str) -> Result<bool, Error> {
        let Some(before) = self.state.before.clone() else { return Ok(false) };
        let changed: Vec<(String, String)> = self
            .state
            .apps
            .iter()
            .filter(|(app, sum)| before.get(*app) != Some(sum))
            .map(|(app, sum)| (app.clone(), sum.clone()))
            .collect();
        for (app, checksum) in changed {
            self.note(Outcome { app, checksum, reason: reason.to_owned() });
        }
        self.write(State { apps: before, before: None, failed: self.state.failed.clone() })?;
        Ok(true)
    }

    /// Records that a version cannot be installed.
    pub(crate) fn note(&mut self, outcome: Outcome) {
        self.state.failed.retain(|known| known.app != outcome.app);
        self.state.failed.push(outcome);
    }

    /// Forgets failures of versions that are no longer assigned.
    pub(crate) fn forget_failures(&mut self, is_wanted: impl Fn(&Outcome) -> bool) {
        self.state.failed.retain(is_wanted);
    }

    /// Whether the installation of a version has failed.
    pub(crate) fn has_failed(&self, app: &str, checksum: &str) -> bool {
        self.state.failed.iter().any(|one| one.app == app && one.checksum == checksum)
    }

    fn write(&mut self, state: State) -> Result<(), Error> {
        let path = self.directory.join("state.json");
        let draft = self.directory.join("state.next");
        let write = || {
            fs::create_dir_all(&self.directory)?;
            let mut file = File::create(&draft)?;
            file.write_all(&serde_json::to_vec_pretty(&state)?)?;
            file.sync_all()?;
            fs::rename(&draft, &path)?;
            sync(&self.directory)
        };
        write().map_err(|error| Error::queue("write", &path, error))?;
        self.state = state;
        Ok(())
    }

    /// Removes versions that are neither installed nor could be restored.
    pub(crate) fn clean_up(&self) {
        let all = [Some(&self.state.apps), self.state.before.as_ref()].into_iter().flatten();
        let used: BTreeSet<PathBuf> =
            all.flatten().map(|(app, checksum)| self.path(app, checksum)).collect();
        let entries = fs::read_dir(self.directory.join("versions")).into_iter().flatten();
        for path in entries.flatten().map(|entry| entry.path()) {
            if !used.contains(&path)
                && let Err(error) = remove(&path)
            {
                tracing::warn!(%error, path = %path.display(), "cannot remove an old version of an app");
            }
        }
        let _ = fs::remove_file(self.directory.join("download.tar.gz"));
    }
}

/// The directories of the installed apps of a data directory, which a running forwarder may change.
pub(crate) fn in_force(data: &Path) -> BTreeMap<String, PathBuf> {
    let directory = data.join("deployment");
    let state = fs::read(directory.join("state.json")).ok();
    let state: Option<State> = state.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let versions = Versions { directory, state: state.unwrap_or_default() };
    versions.directories(versions.apps())
}

fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn write(path: &Path, content: &AppFile) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut file = File::create_new(path)?;
    file.write_all(&content.bytes)?;
    if content.executable {
        let mode = file.metadata()?.permissions().mode();
        // Users who may read a program may execute it.
        file.set_permissions(fs::Permissions::from_mode(mode | (mode & 0o444) >> 2))?;
    }
    file.sync_all()
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(from)?;
    if metadata.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    // A link may lead anywhere, and its target may change.
    if metadata.is_file() {
        fs::copy(from, to)?;
        File::open(to)?.sync_all()?;
    }
    Ok(())
}

fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

fn sync_directories(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_directories(&entry.path())?;
        }
    }
    sync(directory)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> AppFile {
        let executable = path.starts_with("bin");
        AppFile { path: path.to_owned(), bytes: text.as_bytes().to_vec(), executable }
    }

    fn apps(all: &[(&str, &str)]) -> Apps {
        all.iter().map(|(app, sum)| ((*app).to_owned(), (*sum).to_owned())).collect()
    }

    fn text(versions: &Versions, app: &str, path: &str) -> io::Result<String> {
        let directories = versions.directories(versions.apps());
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let directory = directories.get(app).ok_or_else(missing)?;
        fs::read_to_string(directory.join("apps").join(app).join(path))
    }

    #[test]
    fn what_is_not_committed_is_gone_after_a_crash() {
        let data = tempfile::tempdir().unwrap();
        let mut versions = Versions::open(data.path()).unwrap();
        versions.add("a", "1", &[file("default/x.conf", "one"), file("bin/y", "#!")], &[]).unwrap();
        versions.commit(apps(&[("a", "1")])).unwrap();
        versions.confirm().unwrap();
        versions.add("a", "2", &[file("default/x.conf", "two")], &[]).unwrap();
        fs::create_dir_all(data.path().join("deployment/versions/.a-3/apps/a")).unwrap();
        let versions = Versions::open(data.path()).unwrap();
        assert_eq!(text(&versions, "a", "default/x.conf").unwrap(), "one");
        let left = fs::read_dir(data.path().join("deployment/versions")).unwrap().count();
        assert_eq!(left, 1);
        let program = versions.path("a", "1").join("apps/a/bin/y");
        assert_eq!(fs::metadata(program).unwrap().permissions().mode() & 0o100, 0o100);
    }

    #[test]
    fn what_does_not_start_gives_way_to_what_was_before_also_after_a_crash() {
        let data = tempfile::tempdir().unwrap();
        let mut versions = Versions::open(data.path()).unwrap();
        versions.add("a", "1", &[file("x", "one")], &[]).unwrap();
        versions.add("gone", "1", &[file("x", "gone")], &[]).unwrap();
        versions.commit(apps(&[("a", "1"), ("gone", "1")])).unwrap();
        versions.confirm().unwrap();
        versions.add("a", "2", &[file("x", "two")], &[]).unwrap();
        versions.commit(apps(&[("a", "2")])).unwrap();
        let mut versions = Versions::open(data.path()).unwrap();
        assert_eq!(text(&versions, "a", "x").unwrap(), "two");
        assert!(versions.go_back("it does not start").unwrap());
        assert_eq!(text(&versions, "a", "x").unwrap(), "one");
        assert_eq!(text(&versions, "gone", "x").unwrap(), "gone");
        assert!(versions.has_failed("a", "2") && !versions.has_failed("gone", "1"));
        assert!(!versions.go_back("again").unwrap());
        // The next start retries.
        assert!(!Versions::open(data.path()).unwrap().has_failed("a", "2"));
    }

    #[test]
    fn what_is_confirmed_is_all_there_is() {
        let data = tempfile::tempdir().unwrap();
        let mut versions = Versions::open(data.path()).unwrap();
        for sum in ["1", "2"] {
            versions.add("a", sum, &[file("x", sum)], &[]).unwrap();
            versions.commit(apps(&[("a", sum)])).unwrap();
            versions.confirm().unwrap();
        }
        let names: Vec<_> = fs::read_dir(data.path().join("deployment/versions"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["a-2"]);
        // The files were removed: the app is downloaded again.
        fs::remove_dir_all(versions.path("a", "2")).unwrap();
        assert!(Versions::open(data.path()).unwrap().apps().is_empty());
    }

    #[test]
    fn what_an_update_is_to_leave_stays() {
        let data = tempfile::tempdir().unwrap();
        let mut versions = Versions::open(data.path()).unwrap();
        let exclude = ["local".to_owned(), "state".to_owned()];
        let first = [file("local/x", "1"), file("default/x", "1")];
        versions.add("a", "1", &first, &exclude).unwrap();
        versions.commit(apps(&[("a", "1")])).unwrap();
        versions.confirm().unwrap();
        let app = versions.path("a", "1").join("apps/a");
        fs::write(app.join("local/y"), "mine").unwrap();
        fs::create_dir_all(app.join("state/deep")).unwrap();
        fs::write(app.join("state/deep/z"), "kept").unwrap();
        let second = [file("local/x", "2"), file("default/x", "2")];
        versions.add("a", "2", &second, &exclude).unwrap();
        versions.commit(apps(&[("a", "2")])).unwrap();
        let read = |path: &str| text(&versions, "a", path).unwrap();
        assert_eq!([read("default/x"), read("local/x")], ["2", "1"]);
        assert_eq!([read("local/y"), read("state/deep/z")], ["mine", "kept"]);
    }

    #[test]
    fn a_damaged_state_names_its_file() {
        let data = tempfile::tempdir().unwrap();
        fs::create_dir_all(data.path().join("deployment")).unwrap();
        fs::write(data.path().join("deployment/state.json"), "{").unwrap();
        let error = Versions::open(data.path()).unwrap_err().to_string();
        assert!(error.contains("state.json: it is damaged"), "{error}");
    }
}
