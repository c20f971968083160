//! A start that a full disk ends: the process waits until there is space, and starts again.
//!
//! A server that is killed on a full disk, and not started again by itself, would take its events out of the
//! searches of its cluster until somebody starts it. Guarantees: the wait ends only once a file of [`PROBE`]
//! bytes can be written to each directory in which a start writes. If starts fail all the same, for example
//! because they need more, the pause before the next one grows: each of them takes the lease for a moment.
//! Leaves to others: a disk that becomes full while the server runs (`full_disks`, `ingest`).

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use runtime::Shutdown;

use super::gateway::Progress;
use super::inputs;
use crate::config::ServerOptions;

/// Pause between the checks, and before the first one after the first start.
const PAUSE: Duration = Duration::from_secs(5);
/// The longest pause before the first check.
const LONGEST: Duration = Duration::from_secs(300);
/// The variable that tells a start how many have failed directly before it.
const STARTS: &str = "KARST_STARTS_WITHOUT_SPACE";
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
    runtime::store::is_full(&**error) || error.chain().any(is_of_full_catalog)
}

/// Whether the catalog of this process could not be written because its directory is on a full disk.
fn is_of_full_catalog(error: &(dyn std::error::Error + 'static)) -> bool {
    let Some(error) = error.downcast_ref::<catalog::Error>() else { return false };
    let (catalog::Error::Store { reason, .. } | catalog::Error::Slow { reason, .. }) = error else {
        return false;
    };
    // The text of the system's error, as the database passes it on.
    reason.to_ascii_lowercase().contains("no space left on device")
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

/// The number of starts of this process that a full disk has ended directly before this one.
#[expect(clippy::disallowed_methods, reason = "not an option: the process tells its next start")]
pub(crate) fn starts_before() -> u32 {
    std::env::var(STARTS).ok().and_then(|starts| starts.parse().ok()).unwrap_or(0)
}

/// Restarts the program after so many starts that a full disk has ended. Returns only on failure.
#[must_use]
pub(crate) fn begin_again(starts: u32) -> io::Error {
    let starts = (starts > 0).then(|| starts.to_string());
    runtime::process::begin_again_with(STARTS, starts.as_deref())
}

/// Waits until there is space in the directories of the server; `before` is the number of starts that have
/// failed in the same way. Clients that connect meanwhile are told the kind of the problem, the log has the
/// file.
pub(crate) async fn wait(
    (options, before): (&ServerOptions, u32),
    error: &anyhow::Error,
    progress: &Progress,
) {
    check_every((first_pause(before), PAUSE), places(options), error, progress).await;
}

/// The pause before the first check: it may find space although the start has found none.
fn first_pause(before: u32) -> Duration {
    PAUSE.saturating_mul(2_u32.saturating_pow(before)).min(LONGEST)
}

/// The directories in which a start needs space. A cache that has files is opened without any, and may take
/// all of its disk.
fn places(options: &ServerOptions) -> Vec<PathBuf> {
    let mut all = inputs::written_directories(options);
    let cache = inputs::cache_directory(options);
    if fs::read_dir(&cache).is_ok_and(|mut files| files.next().is_some()) {
        all.retain(|directory| *directory != cache);
    }
    all
}

async fn check_every(
    (first, later): (Duration, Duration),
    places: Vec<PathBuf>,
    error: &anyhow::Error,
    progress: &Progress,
) {
    progress.set("waiting for free space on a disk (disk_full); the log names the file");
    let mut pause = first;
    for check in 0_u64.. {
        if check.is_multiple_of(CHECKS_PER_LINE) {
            tracing::warn!(
                condition = runtime::health::DISK_FULL,
                "this process cannot start without free space, and starts again when there is some: {error:#}"
            );
        }
        tokio::time::sleep(pause).await;
        pause = later;
        let places = places.clone();
        // A network file system that hangs blocks this thread, and none of the asynchronous ones.
        let look = tokio::task::spawn_blocking(move || have_space(&places));
        if look.await.unwrap_or(true) {
            tracing::info!("there seems to be free space: this process starts again");
            return;
        }
    }
}

fn have_space(directories: &[PathBuf]) -> bool {
    directories.iter().all(|directory| {
        let probe = directory.join(PROBE_FILE);
        let file = File::create(&probe);
        // Before it is written: a process that is killed leaves none in the object store. It may not have
        // been created.
        let _ = fs::remove_file(&probe);
        let written = file.and_then(|mut file| {
            file.write_all(&vec![0; PROBE])?;
            // Network file systems report a lack of space only here.
            file.sync_all()
        });
        // Other errors, such as that of a missing directory, are those of the start.
        !written.is_err_and(|error| runtime::store::is_full(&error))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::ErrorKind;
    use std::path::Path;
    use std::sync::Arc;

    use anyhow::Context;
    use clap::Parser;

    use super::*;
    use crate::config::{Arguments, Command};

    fn options(flags: &[(&str, PathBuf)]) -> ServerOptions {
        let flags = flags.iter().map(|(flag, path)| format!("{flag}={}", path.display()));
        let words = ["karst".to_owned(), "server".to_owned()].into_iter().chain(flags);
        let Command::Server(options) = Arguments::parse_from(words).command else {
            unreachable!("it is server")
        };
        *options
    }

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
        let reason = "no space left on device: cannot write objects/catalog/wal/1".to_owned();
        let slow = catalog::Error::Slow { path: "catalog".to_owned(), seconds: 20, reason };
        assert!(is_cause_of(&anyhow::Error::from(slow).context("cannot record the start")));
        let denied = io::Error::from(ErrorKind::PermissionDenied);
        assert!(!is_cause_of(
            &anyhow::Error::from(denied).context("cannot write data/server.lock")
        ));
        assert!(!is_cause_of(&anyhow::anyhow!("no space left on device")));
    }

    #[test]
    fn directories_with_space_keep_no_file_of_the_check() {
        let directory = tempfile::tempdir().unwrap();
        let options = options(&[("--data-dir", directory.path().to_owned())]);
        assert!(have_space(&places(&options)), "others do not exist yet");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn each_directory_that_a_start_writes_to_is_checked() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let flags = [("--data-dir", "data"), ("--object-store", "store"), ("--cache-dir", "disk")];
        let options = options(&flags.map(|(flag, name)| (flag, at(name))));
        let parts = ["data", "data/journal", "data/spool", "disk/cache", "store"].map(at);
        assert_eq!(places(&options), parts);
        fs::create_dir_all(at("disk/cache")).unwrap();
        assert!(places(&options).contains(&at("disk/cache")), "its files are still to be created");
        fs::write(at("disk/cache/blocks"), b"x").unwrap();
        assert!(!places(&options).contains(&at("disk/cache")), "it may have filled its disk");
    }

    #[test]
    fn starts_that_fail_one_after_the_other_are_further_and_further_apart() {
        let seconds = [0, 1, 2, 5, 6, u32::MAX].map(|before| first_pause(before).as_secs());
        assert_eq!(seconds, [5, 10, 20, 160, 300, 300]);
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
        let pauses = (Duration::from_millis(5), Duration::from_millis(5));
        check_every(pauses, vec![directory.path().to_owned()], &error, &progress).await;
        let step = progress.get();
        assert!(step.contains("disk_full") && !step.contains('/'), "{step}");
    }
}
