//! The condition `disk_full`: a file system of the data directory, the journal or the spool has less free
//! space than `minFreeSpace`, or hardly any free inodes. The cache observes its own file system
//! (`cache_full`).
//!
//! Guarantees: a file system whose free space swings around `minFreeSpace` does not begin and end the
//! condition at each check. Its begin and its end are logged, and such events, too, take space.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ingest::DiskCheck;
use runtime::health::{self, Severity};
use runtime::{Health, Shutdown};

/// Interval between the checks.
const LOOK: Duration = Duration::from_secs(2);
/// Time after which the condition ends although there is hardly more space than `minFreeSpace`.
const CALM: Duration = Duration::from_secs(60);

/// Sets and clears the condition until the server stops.
pub(crate) async fn watch((data, min_free): (PathBuf, u64), health: Health, shutdown: Shutdown) {
    let mut watched = Watched::default();
    loop {
        let checked = places(&data);
        // A network file system that hangs blocks this thread, and none of the asynchronous ones.
        let look = tokio::task::spawn_blocking(move || ingest::full_disks(&checked, min_free));
        let check = tokio::select! {
            () = shutdown.stopped() => return,
            check = look => check,
        };
        if let Ok(check) = check {
            watched.note(&health, check, Instant::now());
        }
        if !shutdown.sleep(LOOK).await {
            return;
        }
    }
}

/// The directories whose file systems are checked. The journal and the spool may be links to other disks.
fn places(data: &Path) -> Vec<PathBuf> {
    vec![data.to_owned(), data.join("journal"), data.join("spool")]
}

/// What was seen before.
#[derive(Debug, Default)]
struct Watched {
    /// The time since which no file system is full; `None` while one is.
    since: Option<Instant>,
}

impl Watched {
    /// Sets the condition while a file system is full, and clears it once all have a margin above
    /// `minFreeSpace`, or were above it for some time.
    fn note(&mut self, health: &Health, check: DiskCheck, now: Instant) {
        if let Some(text) = check.full {
            self.since = None;
            return health.set(health::DISK_FULL, Severity::Warning, text);
        }
        let since = *self.since.get_or_insert(now);
        if !check.is_close || now.duration_since(since) >= CALM {
            health.clear(health::DISK_FULL);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn full(text: &str) -> DiskCheck {
        DiskCheck { full: Some(text.to_owned()), is_close: true }
    }

    #[test]
    fn the_condition_holds_while_a_disk_is_full_and_has_the_last_text() {
        let (health, mut watched, now) = (Health::default(), Watched::default(), Instant::now());
        let texts = || health.conditions().into_iter().map(|one| (one.name, one.text.to_string()));
        for text in ["/data: 9 of 100 bytes are free", "/data: 8 of 100 bytes are free"] {
            watched.note(&health, full(text), now);
            let all: Vec<_> = texts().collect();
            assert_eq!(all, [(health::DISK_FULL, text.to_owned())]);
        }
        assert!(health.is_ready(), "refused events are a condition of their own");
        watched.note(&health, DiskCheck::default(), now);
        assert_eq!(texts().count(), 0);
    }

    #[test]
    fn a_disk_that_swings_around_its_reserve_stays_full_until_it_is_calm() {
        let (health, mut watched, begin) = (Health::default(), Watched::default(), Instant::now());
        let close = || DiskCheck { full: None, is_close: true };
        let mut is_full_after = |check, seconds| {
            watched.note(&health, check, begin + Duration::from_secs(seconds));
            !health.conditions().is_empty()
        };
        assert!(!is_full_after(close(), 0), "it was not full");
        assert!(is_full_after(full("full"), 2));
        assert!(is_full_after(close(), 4) && is_full_after(close(), 62));
        assert!(is_full_after(full("full"), 63) && is_full_after(close(), 65));
        assert!(is_full_after(close(), 124) && !is_full_after(close(), 125));
    }

    #[tokio::test]
    async fn a_disk_with_room_is_no_condition() {
        let directory = tempfile::tempdir().unwrap();
        let (health, shutdown) = (Health::default(), Shutdown::new());
        Watched::default().note(&health, full("full"), Instant::now());
        let data = directory.path().to_owned();
        shutdown.spawn(watch((data, 0), health.clone(), shutdown.clone()));
        while !health.conditions().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        shutdown.finish(Duration::from_secs(20)).await.unwrap();
    }
}
