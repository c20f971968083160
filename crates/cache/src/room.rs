//! Checks that the file system of the NVMe tier has space for more blocks.
//!
//! The files of the tier have their final size from the start, but are sparse: the system allocates space
//! as they are written, so that a full disk would cause write errors much later. Blocks are therefore
//! written to NVMe only while more than a reserve is free, and stay in DRAM otherwise. Blocks already on
//! NVMe stay readable.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::Duration;

use runtime::metrics as names;
use tokio::sync::watch;

use crate::Settings;

/// Interval between checks of the file system.
const LOOK: Duration = Duration::from_secs(1);
/// Minimum of free bytes beyond the reserve: writing stops below it, and resumes above twice that.
const LEAST: u64 = 2 << 20;
/// Unit in which the system reports the allocated size of files.
const SECTOR: u64 = 512;

/// The free space of a file system; see the module.
#[derive(Debug)]
pub(crate) struct Room {
    directory: PathBuf,
    /// Allocated size of the tier's files once all of them is written.
    capacity: u64,
    reserve: u64,
    /// Bytes that may be written until the next check.
    left: AtomicI64,
    /// Bytes submitted since the last check; some may not be written yet.
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

    /// The reason why nothing is written at the moment; `None` while blocks are written.
    pub(crate) fn full(&self) -> watch::Receiver<Option<Arc<str>>> {
        self.full.subscribe()
    }

    /// Reserves space for a block of `bytes` bytes; false if it must not be written.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        // The block with its key and header, rounded up to whole pages.
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
            // If the system does not report free space, failed writes will show that it is used up.
            self.left.store(i64::MAX / 2, Relaxed);
            return;
        };
        let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
        let (free, all) = (bytes(stat.f_bavail), bytes(stat.f_blocks));
        // On a small disk, a fixed reserve could exceed the whole disk.
        let reserve = self.reserve.min(all / 20);
        let was_full = self.full.borrow().is_some();
        let needed = reserve + if was_full { 2 * LEAST } else { LEAST };
        if free < needed && used(&self.directory) < self.capacity {
            self.left.store(0, Relaxed);
            let directory = self.directory.display();
            let text = format!(
                "no space left for the cache in {directory}: {free} bytes are free, and eviction_padding \
                 ({reserve} bytes) stays free; blocks stay in DRAM or are read from object storage again; \
                 free space, or lower max_cache_size"
            );
            self.full.send_if_modified(|full| {
                let is_new = full.as_deref() != Some(text.as_str());
                *full = Some(text.into());
                is_new
            });
            return;
        }
        let left = i64::try_from(free.saturating_sub(reserve)).unwrap_or(i64::MAX / 2);
        // Free space is below the need only if the files are allocated already: overwriting needs no space.
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

/// The allocated size of the files in a directory and its subdirectories.
pub(crate) fn used(directory: &Path) -> u64 {
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
