//! The condition `disk_full`: a file system of the data directory, the journal or the spool has less free
//! space than `minFreeSpace`. The cache observes its own file system (`cache_full`).

use std::path::{Path, PathBuf};
use std::time::Duration;

use runtime::health::{self, Severity};
use runtime::{Health, Shutdown};

/// Interval between the checks.
const LOOK: Duration = Duration::from_secs(2);

/// Sets and clears the condition until the server stops.
pub(crate) async fn watch((data, min_free): (PathBuf, u64), health: Health, shutdown: Shutdown) {
    loop {
        let checked = places(&data);
        // A network file system that hangs blocks this thread, and none of the asynchronous ones.
        let look = tokio::task::spawn_blocking(move || ingest::full_disks(&checked, min_free));
        let full = tokio::select! {
            () = shutdown.stopped() => return,
            full = look => full,
        };
        if let Ok(full) = full {
            tell(&health, full);
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

fn tell(health: &Health, full: Option<String>) {
    match full {
        Some(text) => health.set(health::DISK_FULL, Severity::Warning, text),
        None => health.clear(health::DISK_FULL),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_condition_holds_while_a_disk_is_full_and_has_the_last_text() {
        let health = Health::default();
        let texts = || health.conditions().into_iter().map(|one| (one.name, one.text.to_string()));
        for text in ["/data: 9 of 100 bytes are free", "/data: 8 of 100 bytes are free"] {
            tell(&health, Some(text.to_owned()));
            let all: Vec<_> = texts().collect();
            assert_eq!(all, [(health::DISK_FULL, text.to_owned())]);
        }
        assert!(health.is_ready(), "refused events are a condition of their own");
        tell(&health, None);
        assert_eq!(texts().count(), 0);
    }

    #[tokio::test]
    async fn a_disk_with_room_is_no_condition() {
        let directory = tempfile::tempdir().unwrap();
        let (health, shutdown) = (Health::default(), Shutdown::new());
        tell(&health, Some("full".to_owned()));
        let data = directory.path().to_owned();
        shutdown.spawn(watch((data, 0), health.clone(), shutdown.clone()));
        while !health.conditions().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        shutdown.finish(Duration::from_secs(20)).await.unwrap();
    }
}
