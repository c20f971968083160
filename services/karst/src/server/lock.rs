//! The lock on the data directory: one server at a time, taken before anything else is touched.
//!
//! It is an operating system lock on the open file `server.lock` and ends with the process, however
//! it ends; a lock that can be taken proves that the previous server is gone. The contents of the
//! file are for people and for the message of a second server.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use runtime::{FileMark, Place};
use serde::{Deserialize, Serialize};

use super::ports;
use super::roles::Roles;
use crate::config::ServerOptions;

/// The holder of the lock.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Owner {
    pub(crate) pid: u32,
    /// RFC 3339.
    pub(crate) started: String,
    pub(crate) management: String,
    /// `None` without the role `search-head`.
    pub(crate) web: Option<String>,
    /// `None` without the role `indexer`.
    pub(crate) hec: Option<String>,
}

/// A file or directory that is open, and how it was at its path when it was opened.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    pub(crate) place: Place,
    /// The file that was found at the path.
    pub(crate) named: FileMark,
}

impl Opened {
    /// Creates the mark of a file that has just been opened at the path.
    ///
    /// # Errors
    /// If the file's metadata cannot be read.
    pub(crate) fn new(path: PathBuf, file: File) -> io::Result<Self> {
        let open = FileMark::from(&file.metadata()?);
        let named = FileMark::from(&fs::metadata(&path)?);
        Ok(Self { path, file, place: Place::between(&open, &named), named })
    }

    fn share(&self) -> io::Result<Self> {
        let (path, file) = (self.path.clone(), self.file.try_clone()?);
        Ok(Self { path, file, ..*self })
    }

    fn loss(&self) -> Option<String> {
        self.place.loss(&self.file, &self.path)
    }
}

/// The locked data directory; unlocked on drop.
#[derive(Debug)]
pub(crate) struct DataLock {
    directory: Opened,
    lock: Opened,
}

impl DataLock {
    /// Creates the directory if necessary, locks it, and makes it private to its owner.
    ///
    /// # Errors
    /// If another server uses the directory, it cannot be written, or it was replaced meanwhile.
    pub(crate) fn take(options: &ServerOptions) -> Result<Self> {
        let given = &options.data.data_dir;
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(given)
            .with_context(|| format!("cannot create the data directory {}", given.display()))?;
        let unusable = || format!("cannot use the data directory {}", given.display());
        let canonical = fs::canonicalize(given).with_context(unusable)?;
        let open = File::open(&canonical).and_then(|open| Opened::new(canonical, open));
        let directory = open.with_context(unusable)?;
        let path = directory.path.join("server.lock");
        let unwritable = || format!("cannot write {}", path.display());
        // The contents are replaced only once the lock is held.
        let open = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path);
        let lock =
            open.and_then(|open| Opened::new(path.clone(), open)).with_context(unwritable)?;
        match lock.file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!(occupied(&path, &directory.path)),
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", path.display()));
            }
        }
        // A file that was removed before it was locked keeps no second server out.
        if let Some(loss) = directory.loss().or_else(|| lock.loss()) {
            bail!("{loss} while the server locked the data directory; start it again");
        }
        close_to_others(&directory.path);
        let taken = Self { directory, lock };
        taken.tell(options)?;
        Ok(taken)
    }

    /// Writes who has it. On a full disk, the file may keep the text of the last server: the lock is held all
    /// the same, and the start waits for space where clients are told so.
    ///
    /// # Errors
    /// If the file cannot be written for another reason.
    pub(crate) fn tell(&self, options: &ServerOptions) -> Result<()> {
        let text = serde_json::to_vec(&Owner::of(options))?;
        let mut file = &self.lock.file;
        // Over the old text, which has its place on a full disk.
        let told = file.rewind().and_then(|()| file.write_all(&text));
        let told = told.and_then(|()| file.set_len(text.len() as u64));
        if let Err(error) = &told
            && runtime::store::is_full(error)
        {
            eprintln!("karst: cannot write {}: {error}", self.lock.path.display());
            return Ok(());
        }
        told.with_context(|| format!("cannot write {}", self.lock.path.display()))
    }

    /// The directory, absolute.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory.path
    }

    /// The lock file and the directory, as they were locked. The lock is held as long as one of the files
    /// is open.
    ///
    /// # Errors
    /// The process has too many open files.
    pub(crate) fn opened(&self) -> io::Result<(Opened, Opened)> {
        Ok((self.lock.share()?, self.directory.share()?))
    }

    /// Identifies this lock until the next reboot: distinct from a copy in a copied directory, and
    /// from the same path on another machine.
    pub(crate) fn identity(&self) -> Option<String> {
        identity_of(&self.lock.file)
    }
}

/// The identity of the lock file.
pub(super) fn identity_of(file: &File) -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let metadata = file.metadata().ok()?;
    Some(format!("{}:{}:{}", boot.trim(), metadata.dev(), metadata.ino()))
}

impl Owner {
    /// Returns the server that is running on a data directory; `None` if there is none, or it is not known.
    pub(crate) fn running(directory: &Path) -> Option<Self> {
        Self::find(directory).ok().flatten()
    }

    /// Returns the server that is running on a data directory; `None` if its lock is free. Takes no lock, so
    /// that a server that starts meanwhile is not disturbed.
    ///
    /// # Errors
    /// The lock file is missing, or this user may not read it or the open files of the process in it.
    pub(crate) fn find(directory: &Path) -> io::Result<Option<Self>> {
        let path = fs::canonicalize(directory)?.join("server.lock");
        let owner: Self = serde_json::from_slice(&fs::read(&path)?)?;
        // The number may belong to another process by now; the one that has the file open is it.
        let open = match fs::read_dir(format!("/proc/{}/fd", owner.pid)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            open => open?,
        };
        let holds =
            open.flatten().any(|entry| fs::read_link(entry.path()).is_ok_and(|to| to == path));
        Ok(holds.then_some(owner))
    }

    fn of(options: &ServerOptions) -> Self {
        let url =
            |plain: bool, address| format!("{}://{address}", if plain { "http" } else { "https" });
        // A start with contradictory roles fails a moment later, and names them.
        let roles = Roles::of(options).ok();
        let serves = |port| roles.is_some_and(|roles| roles.serve(port));
        let web = url(!options.web_tls.at(options.web_address), options.web_address);
        let hec = url(!options.hec_tls.at(options.hec_address), options.hec_address);
        Self {
            pid: std::process::id(),
            started: super::ownership::now_text(),
            management: url(options.management_plain, options.management_address),
            web: serves(ports::Role::Web).then_some(web),
            hec: serves(ports::Role::Hec).then_some(hec),
        }
    }
}

fn occupied(lock: &Path, directory: &Path) -> String {
    let owner: Option<Owner> =
        fs::read(lock).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let who = owner.map_or_else(
        // The holder has not written its data yet.
        || "a server".to_owned(),
        |Owner { pid, started, management, web, .. }| {
            let web = web.map(|web| format!(", web {web}")).unwrap_or_default();
            format!("a server (pid {pid}, since {started}, management {management}{web})")
        },
    );
    format!(
        "{who} is already running on {}; nothing was started and nothing was changed. Use that one, stop \
         it first, or give this one a directory of its own (--data-dir)",
        directory.display()
    )
}

/// Restricts the directory's mode: it contains raw events, keys and passwords. A directory created by an
/// earlier release or manually may be readable by others.
fn close_to_others(directory: &Path) {
    let Ok(metadata) = directory.metadata() else { return };
    if metadata.permissions().mode() & 0o077 == 0 {
        return;
    }
    // The log is not set up yet, and nothing may be created before the ports are bound.
    match fs::set_permissions(directory, fs::Permissions::from_mode(0o700)) {
        Ok(()) => eprintln!("karst: {} is closed to other users now", directory.display()),
        Err(error) => eprintln!(
            "karst: {} is open to other users, and cannot be closed: {error}",
            directory.display()
        ),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::config::{Arguments, Command, Role};

    #[test]
    fn the_second_lock_names_the_holder_and_leaves_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let first = DataLock::take(&options(dir.path(), "127.0.0.1:7001")).unwrap();
        let before = fs::read(dir.path().join("server.lock")).unwrap();
        let refused = DataLock::take(&options(dir.path(), "127.0.0.1:7002")).unwrap_err();
        let text = refused.to_string();
        let pid = format!("a server (pid {}, since 2", std::process::id());
        assert!(text.starts_with(&pid), "{text}");
        assert!(text.contains("management https://127.0.0.1:7001, web"), "{text}");
        assert_eq!(fs::read(dir.path().join("server.lock")).unwrap(), before);
        drop(first);
        DataLock::take(&options(dir.path(), "127.0.0.1:7002")).unwrap();
    }

    #[test]
    fn the_server_over_a_directory_is_found_while_it_has_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Owner::running(dir.path()).is_none());
        let lock = DataLock::take(&options(dir.path(), "127.0.0.1:7001")).unwrap();
        let owner = Owner::running(dir.path()).unwrap();
        let web = owner.web.as_deref();
        assert_eq!((owner.pid, web), (std::process::id(), Some("http://127.0.0.1:8000")));
        drop(lock);
        assert!(Owner::running(dir.path()).is_none());
        assert!(Owner::find(dir.path()).unwrap().is_none(), "the lock is there, and free");
    }

    #[test]
    fn a_longer_text_of_an_earlier_server_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("server.lock"), vec![b'}'; 10_000]).unwrap();
        let _lock = DataLock::take(&options(dir.path(), "127.0.0.1:7001")).unwrap();
        assert_eq!(Owner::running(dir.path()).unwrap().pid, std::process::id());
    }

    #[test]
    fn a_directory_without_a_lock_is_not_one_whose_lock_is_free() {
        let dir = tempfile::tempdir().unwrap();
        for path in [dir.path().to_owned(), dir.path().join("missing")] {
            let error = Owner::find(&path).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound);
        }
    }

    #[test]
    fn only_ports_that_the_process_has_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let named = [Role::SearchHead, Role::Indexer].map(|role| {
            let mut options = options(dir.path(), "127.0.0.1:7001");
            options.roles = vec![role];
            options.manager_uri = vec!["127.0.0.1:9887".to_owned()];
            options.cluster_address = Some("127.0.0.1:9888".parse().unwrap());
            let _lock = DataLock::take(&options).unwrap();
            let refused = DataLock::take(&options).unwrap_err().to_string();
            let Owner { web, hec, .. } = Owner::running(dir.path()).unwrap();
            (web.is_some(), hec.is_some(), refused.contains(", web "))
        });
        assert_eq!(named, [(true, false, true), (false, true, false)]);
    }

    #[test]
    fn a_directory_that_was_open_is_closed_to_others() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let lock = DataLock::take(&options(dir.path(), "127.0.0.1:7001")).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(dir.path()), 0o700);
        assert_eq!(mode(&lock.directory().join("server.lock")), 0o600);
    }

    #[test]
    fn a_copied_directory_has_another_identity() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let first = DataLock::take(&options(one.path(), "127.0.0.1:7001")).unwrap();
        let copied = two.path().join("server.lock");
        fs::copy(one.path().join("server.lock"), copied).unwrap();
        let second = DataLock::take(&options(two.path(), "127.0.0.1:7001")).unwrap();
        assert_ne!(first.identity(), second.identity());
    }

    fn options(data: &Path, management: &str) -> ServerOptions {
        let data = data.to_str().unwrap();
        let words = ["karst", "server", "--data-dir", data, "--management-address", management];
        let Command::Server(options) = Arguments::try_parse_from(words).unwrap().command else {
            panic!("not the server")
        };
        *options
    }
}
