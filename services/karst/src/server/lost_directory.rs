//! Notices that the data directory, the directory of the journal, or a segment of the journal was removed or
//! replaced while the server runs. Files that are open go on working, so nothing else fails: events would be
//! acknowledged that no start finds.
//!
//! A directory counts as lost if a file that is open in it has no name any more, or another file has its
//! name, twice in a row. For `server.lock`, so must the directory itself, or another file in it: who deletes
//! an old lock file has deleted no events. If `server.lock` is not at its path, the directory there is
//! compared: another one was put there, or the disk of the data directory was unmounted. Lock and directory
//! are compared with those that were locked before anything else, not with those that are found when the
//! watch begins: a start may take minutes. A file that cannot be looked at is not lost: the server of a
//! network file system may be away for a while.
//!
//! If a path shows the same file on another device, its network file system was mounted again, or a clone of
//! its disk was mounted over it. Nothing is lost then, and the condition is a warning: the server goes on
//! with the file system that it has open, but may remove and replace no files at the path
//! ([`runtime::OpenDirectory`]) until it is restarted.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ingest::Ingest;
use runtime::health::{self, Severity};
use runtime::{FileMark, Health, Place, Shutdown};
use tokio::fs::{self, File};

use super::lock::Opened;

/// Time between two looks.
const LOOK: Duration = Duration::from_secs(1);

/// The components that are stopped when a directory is lost.
#[derive(Debug)]
pub(crate) struct Watch {
    /// The data directory.
    pub(crate) data: PathBuf,
    /// The owner of the journal.
    pub(crate) ingest: Arc<Ingest>,
    /// Learns of the loss.
    pub(crate) health: Health,
    /// Whether this process is an indexer. Other processes have only their own events in the journal, and
    /// continue to serve searches.
    pub(crate) is_indexer: bool,
    /// The inputs.
    pub(crate) intake: Shutdown,
}

impl Watch {
    /// Looks at the lock file and the data directory that were `locked`, and at the lock of the journal,
    /// until the server stops. When a directory is lost, stops the intake and puts hot buckets into object
    /// storage.
    pub(crate) async fn run(self, locked: (Opened, Opened), shutdown: Shutdown) {
        let (lock, directory) = locked;
        let mut beside = vec![OpenFile::from(directory)];
        beside.extend(OpenFile::open(self.data.join("instance.id")).await.ok());
        let mut files =
            vec![Watched { file: lock.into(), what: "the data directory is lost", beside }];
        let path = self.data.join("journal/lock");
        match OpenFile::open(path.clone()).await {
            Ok(file) => {
                files.push(Watched { file, what: "the journal is lost", beside: Vec::new() });
            }
            Err(error) => tracing::warn!(
                path = %path.display(), %error,
                "cannot open the file: a removal of its directory will not be noticed"
            ),
        }
        let journal = Some(&self.ingest);
        let Some(loss) = noticed(&files, journal, (LOOK, &shutdown), &self.health).await else {
            return;
        };
        self.stop_intake(&loss);
        tokio::select! {
            // The stop puts them there itself.
            () = shutdown.stopped() => {}
            rolled = self.ingest.roll_all(None) => match rolled {
                Ok(()) => tracing::warn!(
                    "hot buckets are in object storage: restart the server, with a data directory at {}",
                    self.data.display()
                ),
                Err(error) => tracing::error!(%error, "cannot put hot buckets into object storage"),
            }
        }
    }

    fn stop_intake(&self, loss: &str) {
        let severity = if self.is_indexer { Severity::Fatal } else { Severity::Error };
        let text = format!(
            "{loss}, and no events are accepted. Hot buckets are going to object storage; events that are \
             not there yet are lost if the process is killed. Wait for the log line \"hot buckets are in \
             object storage\", or stop the server (SIGTERM), then start it with a data directory at {}",
            self.data.display()
        );
        // First: the condition is seen when nothing more is acknowledged.
        self.ingest.refuse(
            "no events are accepted: the data directory, or the journal in it, was removed or replaced",
        );
        self.health.set(health::DATA_DIRECTORY_LOST, severity, text);
        // Inputs that continue would log each refusal.
        self.intake.stop();
    }
}

/// A file that is open as long as the server runs.
#[derive(Debug)]
struct OpenFile {
    path: PathBuf,
    file: File,
    place: Place,
    /// The file at the path when it was opened.
    named: FileMark,
    /// Directories change while the server runs; the files that are watched do not.
    is_directory: bool,
}

impl From<Opened> for OpenFile {
    fn from(opened: Opened) -> Self {
        let Opened { path, file, place, named } = opened;
        let is_directory = file.metadata().is_ok_and(|about| about.is_dir());
        Self { path, file: File::from_std(file), place, named, is_directory }
    }
}

impl OpenFile {
    async fn open(path: PathBuf) -> io::Result<Self> {
        let file = File::open(&path).await?.into_std().await;
        let opened = tokio::task::spawn_blocking(move || Opened::new(path, file));
        Ok(opened.await??.into())
    }

    /// Returns a description of the loss, if the file was removed or replaced.
    async fn loss(&self) -> Option<String> {
        let open = FileMark::from(&self.file.metadata().await.ok()?);
        if self.place.is_removed(&open) {
            return Some(format!("{} was removed", self.path.display()));
        }
        let named = FileMark::from(&fs::metadata(&self.path).await.ok()?);
        // A network file system that is mounted again may have another device number, and is the same one.
        // Another disk with the same inode numbers is not: they are equal if both were set up alike.
        let is_other = if self.is_directory {
            self.place.has_other_inode(&open, &named)
        } else {
            !self.place.is_same(&open, &named)
        };
        is_other.then(|| format!("{} was replaced", self.path.display()))
    }

    /// Whether the path shows the same file on another device than when it was opened.
    async fn is_on_other_device(&self) -> bool {
        let now = fs::metadata(&self.path).await;
        now.is_ok_and(|now| self.named.is_on_other_device(&FileMark::from(&now)))
    }
}

/// A file whose loss shows that a directory is lost.
#[derive(Debug)]
struct Watched {
    file: OpenFile,
    what: &'static str,
    /// Files and directories of which one must be lost, too, if there are some.
    beside: Vec<OpenFile>,
}

impl Watched {
    /// Returns the loss with its evidence, and whether the directory is lost. Otherwise only the file is.
    async fn loss(&self) -> Option<(String, bool)> {
        let Some(loss) = self.file.loss().await else { return self.other_directory().await };
        let mut is_all = self.beside.is_empty();
        for beside in &self.beside {
            is_all = is_all || beside.loss().await.is_some();
        }
        let what = if is_all { self.what } else { "nothing else is lost" };
        Some((format!("{loss} while the server runs: {what}"), is_all))
    }

    /// Returns the loss if the file is not at its path because another directory is there: the own one was
    /// moved, or its disk was unmounted (`umount -l`), so that the file still has a name.
    ///
    /// `is_same` compares the times of the directories although they may change between the two calls. Inodes
    /// alone do not distinguish the roots of two file systems, and a change matters only if the device number
    /// has changed, too: the directory of a network file system that was mounted again, in which the file
    /// was deleted. Two looks in a row have to find that ([`noticed`]).
    async fn other_directory(&self) -> Option<(String, bool)> {
        let directory = self.beside.iter().find(|beside| beside.is_directory)?;
        let found = fs::metadata(&self.file.path).await;
        if !found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return None;
        }
        let open = FileMark::from(&directory.file.metadata().await.ok()?);
        let named = FileMark::from(&fs::metadata(&directory.path).await.ok()?);
        let (path, what) = (directory.path.display(), self.what);
        let is_same = directory.place.is_same(&open, &named);
        (!is_same).then(|| (format!("{path} was replaced while the server runs: {what}"), true))
    }
}

/// Returns the lost part of the journal, with the evidence.
async fn lost_journal(ingest: &Arc<Ingest>) -> Option<String> {
    let ingest = Arc::clone(ingest);
    let look = tokio::task::spawn_blocking(move || ingest.journal_loss());
    let loss = look.await.ok()??;
    Some(format!("{loss} while the server runs: the journal is lost"))
}

/// Waits until two looks in a row find the same loss, and returns it; `None` if the server stops before.
/// The loss of a file alone is logged once. A file system that may have been mounted again is a condition
/// until the end.
async fn noticed(
    files: &[Watched],
    journal: Option<&Arc<Ingest>>,
    (pause, shutdown): (Duration, &Shutdown),
    health: &Health,
) -> Option<String> {
    let mut before = None;
    let mut is_told = false;
    while shutdown.sleep(pause).await {
        let mut now = None;
        for file in files {
            match file.loss().await {
                Some((loss, true)) => {
                    now = Some(loss);
                    break;
                }
                Some((loss, false)) if !is_told => {
                    is_told = true;
                    tracing::error!(
                        "{loss}. A second server could start over the same directory: restart this \
                         one, which writes the file again"
                    );
                }
                _ => {}
            }
        }
        if let Some(journal) = journal.filter(|_| now.is_none()) {
            now = tokio::select! {
                // A disk that does not answer may keep the journal busy.
                () = shutdown.stopped() => return None,
                loss = lost_journal(journal) => loss,
            };
        }
        if now.is_some() && now == before {
            return now;
        }
        if now.is_none() {
            warn_of_other_devices(files, health).await;
        }
        before = now;
    }
    None
}

/// Sets the condition if one of these files is on another device. The condition is never cleared: an
/// operation that has been refused once is refused until the restart.
async fn warn_of_other_devices(files: &[Watched], health: &Health) {
    for Watched { file, .. } in files {
        if file.is_on_other_device().await {
            let text = format!(
                "{} is on another device than at the start of the server: its file system was mounted \
                 again, or a clone of it was mounted over it. Files at its path may not be removed or \
                 replaced until the server is restarted: restart it. If another disk was mounted over it, \
                 unmount that first",
                file.path.display()
            );
            health.set(health::DATA_DIRECTORY_REMOUNTED, Severity::Warning, text);
            return;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    const PAUSE: Duration = Duration::from_millis(1);

    async fn lock(directory: &Path) -> Watched {
        let path = directory.join("server.lock");
        fs::write(&path, "1").unwrap();
        let file = OpenFile::open(path).await.unwrap();
        Watched { file, what: "all is lost", beside: Vec::new() }
    }

    #[tokio::test]
    async fn a_lock_file_that_is_deleted_alone_is_not_the_loss_of_its_directory() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("instance.id"), "1").unwrap();
        let mut lock = lock(directory.path()).await;
        for path in [directory.path().to_owned(), directory.path().join("instance.id")] {
            lock.beside.push(OpenFile::open(path).await.unwrap());
        }
        fs::remove_file(&lock.file.path).unwrap();
        let (loss, is_all) = lock.loss().await.unwrap();
        assert!(!is_all && loss.contains("server.lock was removed"), "{loss}");
        fs::remove_file(directory.path().join("instance.id")).unwrap();
        let (loss, is_all) = lock.loss().await.unwrap();
        assert!(is_all && loss.ends_with("all is lost"), "{loss}");
        // The same applies if another directory is there.
        lock.beside.pop();
        assert!(!lock.loss().await.unwrap().1);
        fs::remove_dir(directory.path()).unwrap();
        fs::create_dir(directory.path()).unwrap();
        assert!(lock.loss().await.unwrap().1);
    }

    #[tokio::test]
    async fn an_empty_directory_at_the_path_is_a_loss() {
        let root = tempfile::tempdir().unwrap();
        let data = root.path().join("data");
        fs::create_dir(&data).unwrap();
        let mut lock = lock(&data).await;
        lock.beside.push(OpenFile::open(data.clone()).await.unwrap());
        let away = data.join("away");
        fs::rename(&lock.file.path, &away).unwrap();
        assert_eq!(lock.loss().await, None, "the directory is the same");
        fs::rename(&away, &lock.file.path).unwrap();
        fs::rename(&data, root.path().join("moved")).unwrap();
        assert_eq!(lock.loss().await, None, "the directory was only moved");
        fs::create_dir(&data).unwrap();
        let (loss, is_all) = lock.loss().await.unwrap();
        assert!(is_all && loss.ends_with("data was replaced while the server runs: all is lost"));
    }

    #[tokio::test]
    async fn a_removed_and_a_replaced_file_are_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let (first, health) = (lock(directory.path()).await, Health::default());
        fs::remove_file(&first.file.path).unwrap();
        let (files, shutdown) = ([first], Shutdown::new());
        let loss = noticed(&files, None, (PAUSE, &shutdown), &health).await.unwrap();
        assert!(loss.ends_with("server.lock was removed while the server runs: all is lost"));
        // A file with a second name is not removed, and its path leads to another file.
        let second = lock(directory.path()).await;
        fs::hard_link(&second.file.path, directory.path().join("kept")).unwrap();
        fs::write(directory.path().join("other"), "2").unwrap();
        fs::rename(directory.path().join("other"), &second.file.path).unwrap();
        let loss = noticed(&[second], None, (PAUSE, &shutdown), &health).await.unwrap();
        assert!(loss.contains("server.lock was replaced"), "{loss}");
        assert_eq!(health.worst(), None);
    }

    #[tokio::test]
    async fn a_directory_that_was_replaced_before_the_watch_began_is_lost() {
        let root = tempfile::tempdir().unwrap();
        let data = root.path().join("data");
        let make = || {
            fs::create_dir(&data).unwrap();
            fs::write(data.join("server.lock"), "1").unwrap();
        };
        let open = |path: PathBuf| {
            let file = fs::File::open(&path).unwrap();
            Opened::new(path, file).unwrap()
        };
        make();
        let (file, directory) = (open(data.join("server.lock")), open(data.clone()));
        // The server recovers its journal meanwhile.
        fs::rename(&data, root.path().join("moved")).unwrap();
        make();
        let (file, beside) = (file.into(), vec![directory.into()]);
        let (loss, is_all) = Watched { file, what: "all is lost", beside }.loss().await.unwrap();
        assert!(is_all && loss.contains("server.lock was replaced"), "{loss}");
    }

    #[tokio::test]
    async fn a_file_system_that_was_mounted_again_is_a_warning() {
        // The roots of these two have the same inode number.
        let (before, now) = ("/proc", "/sys");
        let mut file = OpenFile::open(before.into()).await.unwrap();
        file.path = now.into();
        let files = [Watched { file, what: "all is lost", beside: Vec::new() }];
        let (health, shutdown) = (Health::default(), Shutdown::new());
        let told = async {
            let condition = health.begins(health::DATA_DIRECTORY_REMOUNTED).await;
            shutdown.stop();
            condition
        };
        let (loss, told) = tokio::join!(noticed(&files, None, (PAUSE, &shutdown), &health), told);
        assert_eq!((loss, told.severity), (None, Severity::Warning));
        assert!(told.text.starts_with("/sys is on another device"), "{}", told.text);
    }

    #[tokio::test]
    async fn a_file_that_is_written_or_away_is_not_lost() {
        let directory = tempfile::tempdir().unwrap();
        let file = lock(directory.path()).await;
        assert_eq!(file.loss().await, None);
        fs::write(&file.file.path, "longer").unwrap();
        assert_eq!(file.loss().await, None);
        // As if the server of a network file system were away, or a directory was moved: the file still has a
        // name.
        fs::rename(&file.file.path, directory.path().join("moved")).unwrap();
        assert_eq!(file.loss().await, None);
        let shutdown = Shutdown::new();
        shutdown.stop();
        let health = Health::default();
        assert_eq!(noticed(&[file], None, (PAUSE, &shutdown), &health).await, None);
    }
}
