//! A start that a full disk ends: the process waits until there is space, and starts again.
//!
//! A server that is killed on a full disk, and not started again by itself, would take its events out of the
//! searches of its cluster until somebody starts it. Guarantees: the wait ends only once a file of [`PROBE`]
//! bytes can be written to each directory of the server, so that the next start does not fail at once. Leaves
//! to others: a disk that becomes full while the server runs (`full_disks`, `ingest`).

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use runtime::Shutdown;

use super::full_disks;
use super::gateway::Progress;

/// Pause between the checks.
const PAUSE: Duration = Duration::from_secs(5);
/// Number of checks between two lines in the log: one a minute.
const CHECKS_PER_LINE: u64 = 12;
/// Maximum time for the tasks of a failed start to end.
const END: Duration = Duration::from_secs(30);
/// Size of the file that tells whether there is space.
const PROBE: usize = 1 << 20;
/// Its name; no component reads it.
const PROBE_FILE: &str = ".free-space";

/// Whether the error is that a disk, its inodes or a quota are used up.
pub(crate) fn is_cause_of(error: &anyhow::Error) -> bool {
    runtime::store::is_full(&**error)
}

/// Ends the tasks of a start that has failed. While this process waits, it is reachable by nobody: as a
/// standby, it would take the lease and renew it, and nobody could follow it; and it would upload and recover
/// events beside the processes that do so in its place. Returns `false` if a task goes on; only a new start
/// ends it.
pub(crate) async fn end_start(work: &Shutdown) -> bool {
    end_within(END, work).await
}

async fn end_within(time: Duration, work: &Shutdown) -> bool {
    let ended = work.finish(time).await;
    if let Err(error) = &ended {
        tracing::warn!(%error, "the start has failed without free space, and this process starts again at once");
    }
    ended.is_ok()
}

/// Waits until there is space in the directories of the server. Clients that connect meanwhile are told the
/// kind of the problem, the log has the file.
pub(crate) async fn wait(data: &Path, error: &anyhow::Error, progress: &Progress) {
    check_every(PAUSE, data, error, progress).await;
}

async fn check_every(pause: Duration, data: &Path, error: &anyhow::Error, progress: &Progress) {
    progress.set("waiting for free space on a disk (disk_full); the log names the file");
    for check in 0_u64.. {
        if check.is_multiple_of(CHECKS_PER_LINE) {
            tracing::warn!(
                condition = runtime::health::DISK_FULL,
                "this process cannot start without free space, and starts again when there is some: {error:#}"
            );
        }
        tokio::time::sleep(pause).await;
        let directories = full_disks::places(data);
        // A network file system that hangs blocks this thread, and none of the asynchronous ones.
        let look = tokio::task::spawn_blocking(move || have_space(&directories));
        if look.await.unwrap_or(true) {
            tracing::info!("there is free space: this process starts again");
            return;
        }
    }
}

fn have_space(directories: &[PathBuf]) -> bool {
    directories.iter().all(|directory| {
        let probe = directory.join(PROBE_FILE);
        let written = File::create(&probe).and_then(|mut file| {
            file.write_all(&vec![0; PROBE])?;
            // Network file systems report a lack of space only here.
            file.sync_all()
        });
        // It may not have been created.
        let _ = fs::remove_file(&probe);
        // Other errors, such as that of a missing directory, are those of the start.
        !written.is_err_and(|error| runtime::store::is_full(&error))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::{self, ErrorKind};
    use std::sync::Arc;

    use anyhow::Context;

    use super::*;

    #[test]
    fn a_lack_of_space_is_found_below_the_errors_of_components() {
        let full = || io::Error::from(ErrorKind::StorageFull);
        let own = Err::<(), _>(full()).context("cannot write data/journal/incarnation.json");
        assert!(is_cause_of(&own.unwrap_err()));
        let quota = io::Error::from(ErrorKind::QuotaExceeded);
        assert!(is_cause_of(&anyhow::Error::from(quota).context("cannot clear data/spill")));
        let of_ingest =
            ingest::Error::JournalWrite { path: "journal/0".into(), source: Arc::new(full()) };
        assert!(is_cause_of(&anyhow::Error::from(of_ingest).context("cannot start ingest")));
        let denied = io::Error::from(ErrorKind::PermissionDenied);
        assert!(!is_cause_of(
            &anyhow::Error::from(denied).context("cannot write data/server.lock")
        ));
        assert!(!is_cause_of(&anyhow::anyhow!("no space left on device")));
    }

    #[test]
    fn directories_with_space_keep_no_file_of_the_check() {
        let directory = tempfile::tempdir().unwrap();
        assert!(have_space(&full_disks::places(directory.path())), "others do not exist yet");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_device_that_is_always_full_has_no_space() {
        // The probe is written through the link.
        if !Path::new("/dev/full").exists() {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/full", directory.path().join(PROBE_FILE)).unwrap();
        assert!(!have_space(&[directory.path().to_owned()]));
        assert!(have_space(&[directory.path().to_owned()]), "the link is removed, not its target");
    }

    #[tokio::test]
    async fn the_tasks_of_a_failed_start_end_and_its_listeners_go_on() {
        let whole = Shutdown::new();
        let (standby, busy) = (whole.part(), whole.part());
        let is_standing_by = {
            let stop = standby.clone();
            standby.spawn(async move { stop.stopped().await })
        };
        assert!(end_within(Duration::from_secs(20), &standby).await);
        assert!(!whole.is_stopped());
        is_standing_by.await.unwrap();
        busy.spawn(std::future::pending::<()>());
        assert!(!end_within(Duration::from_millis(1), &busy).await);
    }

    #[tokio::test]
    async fn a_start_that_waits_for_space_says_so_without_paths() {
        let directory = tempfile::tempdir().unwrap();
        let progress = Progress::new("recovering the journal");
        let error = anyhow::anyhow!("cannot write {}", directory.path().display());
        check_every(Duration::from_millis(5), directory.path(), &error, &progress).await;
        let step = progress.get();
        assert!(step.contains("disk_full") && !step.contains('/'), "{step}");
    }
}
