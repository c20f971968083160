//! Whether the file system of the NVMe tier has room for more blocks.
//!
//! The tier's files have their final size from the start, but the system gives them room only where they
//! are written: a full disk would show as errors of writes long after. So blocks go to NVMe only while more
//! than a reserve is free, and stay in DRAM otherwise. What is on NVMe stays readable.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::Duration;

use runtime::metrics as names;
use tokio::sync::watch;

use crate::Settings;

/// How often the file system is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// Free bytes beyond the reserve below which nothing is written; twice as many are needed to begin again.
const LEAST: u64 = 2 << 20;
/// Unit of what the system says files take.
const SECTOR: u64 = 512;

/// See the module.
#[derive(Debug)]
pub(crate) struct Room {
    directory: PathBuf,
    /// What the files of the tier take once all of them was written.
    capacity: u64,
    reserve: u64,
    /// What may be written until the next look.
    left: AtomicI64,
    /// What was handed over since the last look, some of which may not be written yet.
    taken: AtomicI64,
    full: watch::Sender<Option<Arc<str>>>,
}

impl Room {
    pub(crate) fn open(settings: &Settings) -> Arc<Self> {
        let room = Arc::new(Self {
            directory: settings.directory.clone(),
            capacity: settings.nvme_bytes as u64,
            reserve: settings.nvme_reserve_bytes as u64,
            left: AtomicI64::new(0),
            taken: AtomicI64::new(0),
            full: watch::Sender::new(None),
        });
        room.look();
        runtime::detached(keep_looking(Arc::downgrade(&room)));
        room
    }

    /// Why nothing is written, while that is so.
    pub(crate) fn full(&self) -> watch::Receiver<Option<Arc<str>>> {
        self.full.subscribe()
    }

    /// Whether a block of so many bytes may be written.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        // With its key and its header, in whole pages.
        let bytes = i64::try_from(bytes + bytes / 2).unwrap_or(i64::MAX);
        if self.left.load(Relaxed) < bytes {
            metrics::counter!(names::CACHE_SKIPPED).increment(1);
            return false;
        }
        self.left.fetch_sub(bytes, Relaxed);
        self.taken.fetch_add(bytes, Relaxed);
        true
    }

    fn look(&self) {
        let taken = self.taken.swap(0, Relaxed);
        let Ok(stat) = rustix::fs::statvfs(&self.directory) else {
            // Where the system does not tell, the writes will.
            self.left.store(i64::MAX / 2, Relaxed);
            return;
        };
        let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
        let (free, all) = (bytes(stat.f_bavail), bytes(stat.f_blocks));
        // On a small disk a fixed reserve would be more than there ever is.
        let reserve = self.reserve.min(all / 20);
        let was_full = self.full.borrow().is_some();
        let needed = reserve + if was_full { 2 * LEAST } else { LEAST };
        if free < needed && used(&self.directory) < self.capacity {
            self.left.store(0, Relaxed);
            let directory = self.directory.display();
            let text = format!(
                "no space left for the cache in {directory}: less than eviction_padding ({reserve} bytes) is \
                 free; blocks stay in DRAM or are read from object storage again; free space, or lower \
                 max_cache_size"
            );
            self.full.send_if_modified(|full| full.replace(text.into()).is_none());
            return;
        }
        let left = i64::try_from(free.saturating_sub(reserve)).unwrap_or(i64::MAX / 2);
        // Overwriting what the files have already needs no room; only then is less free than needed.
        let left = if free < needed { i64::MAX / 2 } else { left - taken };
        self.left.store(left, Relaxed);
        self.full.send_if_modified(|full| full.take().is_some());
    }
}

async fn keep_looking(room: Weak<Room>) {
    loop {
        tokio::time::sleep(LOOK).await;
        let Some(room) = room.upgrade() else { return };
        room.look();
    }
}

/// What the files of a directory and those below it take.
fn used(directory: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(directory) else { return 0 };
    let of = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => used(&entry.path()),
        Ok(found) => found.blocks() * SECTOR,
        Err(_) => 0,
    };
    entries.flatten().map(of).sum()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_handed_over_is_not_handed_over_again_until_the_next_look() {
        let directory = std::env::temp_dir();
        let settings = Settings { directory, nvme_bytes: 1 << 40, ..Settings::default() };
        let room = Room::open(&settings);
        room.left.store(300, Relaxed);
        assert!(room.take(100) && room.take(100) && !room.take(100));
    }
}
