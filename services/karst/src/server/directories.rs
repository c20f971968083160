//! `--journal-dir`, `--spool-dir` and `--cache-dir`: parts of the data directory on other disks.
//!
//! `DATA_DIR/journal` and `DATA_DIR/spool` become links, so that whatever reads the data directory, and a
//! start without the flag, finds them. Nothing is moved: where there is something already, the start is
//! refused with the commands that move it. A directory belongs to one data directory, whose identity is in a
//! file beside it.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::config::ServerOptions;

/// The file with the identity of a data directory.
const IDENTITY: &str = "directories.id";

/// The directories in use, locked against other servers until this is dropped.
#[derive(Debug)]
pub(crate) struct Directories {
    cache: PathBuf,
    _locks: Vec<File>,
}

impl Directories {
    /// Makes the directories that the options name.
    ///
    /// # Errors
    /// If one cannot be made, belongs to another data directory, or has to be moved first.
    pub(crate) fn arrange(options: &ServerOptions, data: &Path) -> Result<Self> {
        let mut locks = Vec::new();
        for (name, flag, directory) in [
            ("journal", "--journal-dir", &options.journal_dir),
            ("spool", "--spool-dir", &options.spool_dir),
        ] {
            let known = linked(data, name)?;
            if let Some(directory) = directory.as_ref().or(known.as_ref()) {
                let (place, lock) =
                    own(data, name, directory).with_context(|| failed(flag, directory))?;
                locks.push(lock);
                link(data, name, &place, flag)?;
            }
        }
        let cache = match &options.cache_dir {
            None => data.join("cache"),
            Some(directory) => {
                let owned = own(data, "cache", directory);
                let (place, lock) = owned.with_context(|| failed("--cache-dir", directory))?;
                locks.push(lock);
                place
            }
        };
        Ok(Self { cache, _locks: locks })
    }

    /// Returns the directory of the cache.
    pub(crate) fn cache(&self) -> &Path {
        &self.cache
    }
}

fn failed(flag: &str, directory: &Path) -> String {
    format!("{flag} {}", directory.display())
}

/// The directory of an earlier start, as the link has it; `None` if there is no link, or one that is not
/// ours.
fn linked(data: &Path, name: &str) -> Result<Option<PathBuf>> {
    let link = data.join(name);
    if !link.is_symlink() {
        return Ok(None);
    }
    let place = fs::canonicalize(&link).with_context(|| {
        format!("{} leads to a directory that is not there: is its disk mounted?", link.display())
    })?;
    let directory = place.parent().filter(|directory| owner_file(directory, name).exists());
    Ok(directory.filter(|_| place.file_name() == link.file_name()).map(Path::to_owned))
}

fn owner_file(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.owner"))
}

/// The directory of this name below another one, for this data directory only, and its lock.
fn own(data: &Path, name: &str, directory: &Path) -> Result<(PathBuf, File)> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory).context("cannot create it")?;
    let directory = fs::canonicalize(directory).context("cannot use it")?;
    let identity = identity(data)?;
    let path = owner_file(&directory, name);
    // A disk that is not mounted looks like a new one, without the journal.
    if data.join(name).is_symlink() && !path.exists() {
        bail!(
            "{} is missing, and {} is a link: is the disk of {name} mounted? To move it to this directory, \
             copy {name}.owner, too",
            path.display(),
            data.join(name).display()
        );
    }
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .with_context(|| format!("cannot write {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => bail!("another server uses it ({})", path.display()),
        Err(TryLockError::Error(error)) => {
            return Err(error).with_context(|| format!("cannot lock {}", path.display()));
        }
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    let mut lines = written.lines();
    match (lines.next(), lines.next()) {
        (None | Some(""), _) => {
            let text = format!("{identity}\n{}\n", data.display());
            let done = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
            done.with_context(|| format!("cannot write {}", path.display()))?;
        }
        (Some(owner), _) if owner == identity => {}
        (Some(_), other) => bail!(
            "it belongs to the data directory {}: give another directory, or, if that data directory is \
             gone for good, remove {}",
            other.unwrap_or("of another server"),
            path.display()
        ),
    }
    let place = directory.join(name);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&place)
        .with_context(|| format!("cannot create {}", place.display()))?;
    sync(&directory)?;
    Ok((place, file))
}

/// The identity of a data directory, which it keeps when it is moved.
fn identity(data: &Path) -> Result<String> {
    let path = data.join(IDENTITY);
    match fs::read_to_string(&path) {
        Ok(text) if !text.trim().is_empty() => return Ok(text.trim().to_owned()),
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot read {}", path.display()));
        }
        _ => {}
    }
    let identity = runtime::random::uuid().to_string();
    super::identity::write_once(&path, identity.as_bytes(), 0o600)
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(identity)
}

/// Makes the part of the data directory a link to its place.
fn link(data: &Path, name: &str, place: &Path, flag: &str) -> Result<()> {
    let link = data.join(name);
    let (from, to) = (link.display(), place.display());
    match fs::symlink_metadata(&link) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(|| format!("cannot read {from}")),
        Ok(known) if known.is_symlink() => {
            let now = fs::canonicalize(&link).with_context(|| format!("cannot follow {from}"))?;
            if now == place {
                return Ok(());
            }
            let now = now.display();
            bail!(
                "{flag}: the {name} is in {now}, and would be in {to}: with the server stopped, copy it \
                 (cp -a {now}/. {to}/), and then change the link (ln -sfn {to} {from}); or give the old \
                 directory"
            );
        }
        // An empty directory is left from a first start that failed early.
        Ok(known) if known.is_dir() && fs::remove_dir(&link).is_ok() => {}
        Ok(_) => bail!(
            "{flag}: the {name} is in {from}: with the server stopped, move it (cp -a {from}/. {to}/ && \
             mv {from} {from}.moved), start, and remove {from}.moved once everything is there"
        ),
    }
    std::os::unix::fs::symlink(place, &link)
        .with_context(|| format!("cannot make {from} a link to {to}"))?;
    // A start after a crash of the machine must not find neither.
    sync(data)
}

fn sync(directory: &Path) -> Result<()> {
    let synced = File::open(directory).and_then(|open| open.sync_all());
    synced.with_context(|| format!("cannot sync {}", directory.display()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::config::{Arguments, Command};

    fn arrange(data: &Path, flags: &[(&str, &Path)]) -> Result<Directories> {
        let flags = flags.iter().map(|(flag, path)| format!("{flag}={}", path.display()));
        let words = ["karst".to_owned(), "server".to_owned()].into_iter().chain(flags);
        let Command::Server(options) = Arguments::parse_from(words).command else {
            unreachable!("it is server")
        };
        Directories::arrange(&options, data)
    }

    /// Two data directories and another disk.
    fn three() -> (tempfile::TempDir, [PathBuf; 3]) {
        let root = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(root.path()).unwrap();
        let all = ["one", "two", "disk"].map(|name| base.join(name));
        fs::create_dir(&all[0]).unwrap();
        fs::create_dir(&all[1]).unwrap();
        (root, all)
    }

    #[test]
    fn parts_of_the_data_directory_are_links_to_the_other_disk() {
        let (_root, [data, _, disk]) = three();
        let flags: [(&str, &Path); 3] =
            [("--journal-dir", &disk), ("--spool-dir", &disk), ("--cache-dir", &disk)];
        let directories = arrange(&data, &flags).unwrap();
        assert_eq!(directories.cache(), disk.join("cache"));
        fs::write(data.join("journal/segment"), b"x").unwrap();
        assert!(disk.join("journal/segment").exists() && data.join("spool").is_symlink());
        drop(directories);
        // The same again, and without the flags: the links stay.
        drop(arrange(&data, &flags).unwrap());
        assert_eq!(arrange(&data, &[]).unwrap().cache(), data.join("cache"));
        assert!(data.join("journal/segment").exists());
    }

    #[test]
    fn a_directory_of_another_server_is_refused_whether_it_runs_or_not() {
        let (_root, [one, two, disk]) = three();
        let flags: [(&str, &Path); 1] = [("--journal-dir", &disk)];
        let running = arrange(&one, &flags).unwrap();
        let refused = arrange(&two, &flags).unwrap_err();
        assert!(format!("{refused:#}").contains("another server uses it"), "{refused:#}");
        drop(running);
        let refused = format!("{:#}", arrange(&two, &flags).unwrap_err());
        let owner = format!("belongs to the data directory {}", one.display());
        assert!(refused.contains(&owner) && refused.contains("journal.owner"), "{refused}");
        assert!(!two.join("journal").exists());
        // A data directory that was moved is the same one.
        let moved = one.with_file_name("moved");
        fs::rename(&one, &moved).unwrap();
        arrange(&moved, &flags).unwrap();
    }

    #[test]
    fn a_journal_that_is_there_is_not_left_behind() {
        let (_root, [data, _, disk]) = three();
        fs::create_dir(data.join("journal")).unwrap();
        fs::write(data.join("journal/segment"), b"x").unwrap();
        let flags: [(&str, &Path); 1] = [("--journal-dir", &disk)];
        let refused = arrange(&data, &flags).unwrap_err().to_string();
        assert!(refused.contains("move it (cp -a "), "{refused}");
        fs::remove_file(data.join("journal/segment")).unwrap();
        drop(arrange(&data, &flags).unwrap());
        let other = disk.with_file_name("other");
        fs::create_dir(&other).unwrap();
        fs::copy(disk.join("journal.owner"), other.join("journal.owner")).unwrap();
        let refused = arrange(&data, &[("--journal-dir", &other)]).unwrap_err().to_string();
        assert!(refused.contains("ln -sfn"), "{refused}");
        fs::remove_file(data.join("journal")).unwrap();
        std::os::unix::fs::symlink(other.join("journal"), data.join("journal")).unwrap();
        arrange(&data, &[("--journal-dir", &other)]).unwrap();
    }

    #[test]
    fn a_disk_that_is_not_mounted_is_not_taken_for_an_empty_journal() {
        let (_root, [data, _, disk]) = three();
        let flags: [(&str, &Path); 1] = [("--journal-dir", &disk)];
        drop(arrange(&data, &flags).unwrap());
        fs::rename(&disk, disk.with_file_name("unmounted")).unwrap();
        fs::create_dir_all(disk.join("journal")).unwrap();
        let refused = format!("{:#}", arrange(&data, &flags).unwrap_err());
        assert!(refused.contains("is the disk of journal mounted?"), "{refused}");
        fs::remove_dir(disk.join("journal")).unwrap();
        for flags in [&flags[..], &[]] {
            let refused = format!("{:#}", arrange(&data, flags).unwrap_err());
            assert!(refused.contains("is its disk mounted?"), "{refused}");
        }
    }
}
