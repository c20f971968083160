//! Notices that the data directory, or the directory of the journal, was removed or replaced while the server
//! runs. Files that are open go on working, so nothing else fails: events would be acknowledged that no start
//! finds.
//!
//! A directory counts as lost if a file that is open in it has no name any more, or another file has its
//! name, twice in a row. A file that cannot be looked at is not lost: the server of a network file system may
//! be away for a while.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ingest::Ingest;
use runtime::health::{self, Severity};
use runtime::{Health, Shutdown};
use tokio::fs::{self, File};

/// Time between two looks.
const LOOK: Duration = Duration::from_secs(1);
/// Files that are in these directories as long as the server runs.
const FILES: [&str; 2] = ["server.lock", "journal/lock"];

/// What is stopped when a directory is lost.
#[derive(Debug)]
pub(crate) struct Watch {
    /// The data directory.
    pub(crate) data: PathBuf,
    /// Whose journal it is.
    pub(crate) ingest: Arc<Ingest>,
    /// Learns of the loss.
    pub(crate) health: Health,
    /// Whether events are received here. Other processes have only their own events in the journal, and go on
    /// serving searches.
    pub(crate) is_indexer: bool,
    /// The inputs.
    pub(crate) intake: Shutdown,
}

impl Watch {
    /// Looks at the files until the server stops. When a directory is lost, stops the intake and puts hot
    /// buckets into object storage.
    pub(crate) async fn run(self, shutdown: Shutdown) {
        let mut files = Vec::new();
        for name in FILES {
            let path = self.data.join(name);
            match OpenFile::open(path.clone()).await {
                Ok(file) => files.push(file),
                Err(error) => tracing::warn!(
                    path = %path.display(), %error,
                    "cannot open the file: a removal of its directory will not be noticed"
                ),
            }
        }
        let Some(loss) = noticed(&files, LOOK, &shutdown).await else { return };
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
            "{loss} while the server runs: the journal is lost, and no events are accepted. Hot buckets are \
             going to object storage; events that are not there yet are lost if the process is killed. Wait \
             for the log line \"hot buckets are in object storage\", or stop the server (SIGTERM), then \
             start it with a data directory at {}",
            self.data.display()
        );
        // First: the condition is seen when nothing more is acknowledged.
        self.ingest.refuse("no events are accepted: the data directory was removed or replaced");
        self.health.set(health::DATA_DIRECTORY_LOST, severity, text);
        // What is refused would be logged by every input that goes on.
        self.intake.stop();
    }
}

/// A file that is open as long as the server runs.
#[derive(Debug)]
struct OpenFile {
    path: PathBuf,
    file: File,
    /// Whether the file system counts the names of a file.
    counts_names: bool,
    /// Whether an open file has the inode of its path. With some layers of file systems it has another one.
    has_inode_of_path: bool,
}

impl OpenFile {
    async fn open(path: PathBuf) -> io::Result<Self> {
        let file = File::open(&path).await?;
        let (open, named) = (file.metadata().await?, fs::metadata(&path).await?);
        let (counts_names, has_inode_of_path) = (open.nlink() > 0, open.ino() == named.ino());
        Ok(Self { path, file, counts_names, has_inode_of_path })
    }

    /// What happened to the file, if it was removed or replaced.
    async fn loss(&self) -> Option<String> {
        let open = self.file.metadata().await.ok()?;
        if self.counts_names && open.nlink() == 0 {
            return Some(format!("{} was removed", self.path.display()));
        }
        let named = fs::metadata(&self.path).await.ok()?;
        // Not the device: a mounted network file system may get another one.
        let is_other = self.has_inode_of_path && named.ino() != open.ino();
        is_other.then(|| format!("{} was replaced", self.path.display()))
    }
}

/// Waits until two looks in a row find the same loss, and returns it; `None` if the server stops before.
async fn noticed(files: &[OpenFile], pause: Duration, shutdown: &Shutdown) -> Option<String> {
    let mut before = None;
    while shutdown.sleep(pause).await {
        let mut now = None;
        for file in files {
            now = file.loss().await;
            if now.is_some() {
                break;
            }
        }
        if now.is_some() && now == before {
            return now;
        }
        before = now;
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    async fn lock(directory: &std::path::Path) -> OpenFile {
        let path = directory.join("server.lock");
        fs::write(&path, "1").unwrap();
        OpenFile::open(path).await.unwrap()
    }

    #[tokio::test]
    async fn a_removed_and_a_replaced_file_are_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let (first, pause) = (lock(directory.path()).await, Duration::from_millis(1));
        fs::remove_file(&first.path).unwrap();
        let (files, shutdown) = ([first], Shutdown::new());
        let loss = noticed(&files, pause, &shutdown).await.unwrap();
        assert!(loss.ends_with("server.lock was removed"), "{loss}");
        // A file with a second name is not removed, and its path leads to another file.
        let second = lock(directory.path()).await;
        fs::hard_link(&second.path, directory.path().join("kept")).unwrap();
        fs::write(directory.path().join("other"), "2").unwrap();
        fs::rename(directory.path().join("other"), &second.path).unwrap();
        let loss = noticed(&[second], pause, &shutdown).await.unwrap();
        assert!(loss.ends_with("server.lock was replaced"), "{loss}");
    }

    #[tokio::test]
    async fn a_file_that_is_written_or_away_is_not_lost() {
        let directory = tempfile::tempdir().unwrap();
        let file = lock(directory.path()).await;
        assert_eq!(file.loss().await, None);
        fs::write(&file.path, "longer").unwrap();
        assert_eq!(file.loss().await, None);
        // As a network file system whose server is away, or a directory that was moved: it still has a name.
        fs::rename(&file.path, directory.path().join("moved")).unwrap();
        assert_eq!(file.loss().await, None);
        let shutdown = Shutdown::new();
        shutdown.stop();
        assert_eq!(noticed(&[file], Duration::from_millis(1), &shutdown).await, None);
    }
}
