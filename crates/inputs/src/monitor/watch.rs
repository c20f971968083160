//! Notifications of changes, where inotify exists, as an alternative to polling.
//!
//! Only an optimization: every file is also checked from time to time, because a watch can be refused
//! (`fs.inotify.max_user_watches`), can overflow, and does not notice changes by other machines.

use std::path::PathBuf;

/// A possible change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// A file was made or written.
    File(PathBuf),
    /// Names came, went or moved, or changes were missed: everything is to be looked at.
    Names,
}

pub(crate) use system::Watch;

#[cfg(target_os = "linux")]
mod system {
    use std::path::{Path, PathBuf};

    use foldhash::HashMap;
    use inotify::{EventMask, Inotify, WatchDescriptor, WatchMask};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    use super::Change;

    /// Watches directories.
    #[derive(Debug)]
    pub(crate) struct Watch {
        inotify: Option<AsyncFd<Inotify>>,
        /// The names of a watched directory: links may lead to one that is watched already.
        places: HashMap<WatchDescriptor, Vec<PathBuf>>,
        watched: HashMap<PathBuf, WatchDescriptor>,
        refused: bool,
    }

    impl Watch {
        /// Must be called inside tokio.
        pub(crate) fn new() -> Self {
            // Unsound for types whose descriptor may change; that of an `Inotify` stays the same.
            #[allow(deprecated)]
            let register = |inotify| AsyncFd::with_interest(inotify, Interest::READABLE);
            let inotify = Inotify::init().and_then(register);
            if let Err(error) = &inotify {
                tracing::warn!(%error, "the system does not report changes; files are polled");
            }
            let (places, watched) = (HashMap::default(), HashMap::default());
            Self { inotify: inotify.ok(), places, watched, refused: false }
        }

        /// Watches exactly these directories from now on.
        pub(crate) fn set(&mut self, directories: &[PathBuf]) {
            let Some(inotify) = &self.inotify else { return };
            let mut watches = inotify.get_ref().watches();
            let mask = WatchMask::MODIFY
                | WatchMask::CREATE
                | WatchMask::DELETE
                | WatchMask::MOVE
                | WatchMask::CLOSE_WRITE
                | WatchMask::DELETE_SELF
                | WatchMask::ONLYDIR;
            let mut old = std::mem::take(&mut self.watched);
            for directory in directories {
                if let Some(known) = old.remove(directory) {
                    self.watched.insert(directory.clone(), known);
                    continue;
                }
                if self.watched.contains_key(directory) {
                    continue;
                }
                match watches.add(directory, mask) {
                    Ok(descriptor) => {
                        let names = self.places.entry(descriptor.clone()).or_default();
                        names.push(directory.clone());
                        self.watched.insert(directory.clone(), descriptor);
                    }
                    Err(error) if !self.refused => {
                        self.refused = true;
                        tracing::warn!(directory = %directory.display(), %error,
                            "a directory cannot be watched; its files are polled instead");
                    }
                    Err(_) => {}
                }
            }
            for (directory, descriptor) in old {
                if let Some(names) = self.places.get_mut(&descriptor) {
                    names.retain(|name| *name != directory);
                    if !names.is_empty() {
                        continue;
                    }
                }
                self.places.remove(&descriptor);
                // The directory may have been removed, and its watch with it.
                let _ = watches.remove(descriptor);
            }
        }

        /// Waits for changes; for ever where there is no inotify.
        pub(crate) async fn changes(&mut self) -> Vec<Change> {
            let Some(inotify) = &mut self.inotify else { return std::future::pending().await };
            loop {
                let Ok(mut ready) = inotify.readable_mut().await else {
                    return std::future::pending().await;
                };
                let mut buffer = [0; 16 << 10];
                let mut changes = Vec::new();
                let read = ready.try_io(|inner| {
                    let events = inner.get_mut().read_events(&mut buffer)?;
                    for event in events {
                        if event.mask.contains(EventMask::IGNORED) {
                            // The directory has been removed: a new directory of that name needs a new watch.
                            if self.places.remove(&event.wd).is_some() {
                                self.watched.retain(|_, descriptor| *descriptor != event.wd);
                                changes.push(Change::Names);
                            }
                            continue;
                        }
                        let places = self.places.get(&event.wd).map_or(&[][..], Vec::as_slice);
                        if places.is_empty() {
                            changes.extend(change(event.mask, None, event.name));
                        }
                        for place in places {
                            changes.extend(change(event.mask, Some(place), event.name));
                        }
                    }
                    Ok(())
                });
                match read {
                    Ok(Ok(())) => {}
                    Ok(Err(_)) => changes.push(Change::Names),
                    Err(_) => continue,
                }
                changes.dedup();
                return changes;
            }
        }
    }

    fn change(
        mask: EventMask,
        place: Option<&Path>,
        name: Option<&std::ffi::OsStr>,
    ) -> Option<Change> {
        let written = EventMask::MODIFY | EventMask::CLOSE_WRITE | EventMask::CREATE;
        let plain = mask.intersects(written) && !mask.contains(EventMask::ISDIR);
        match (place, name) {
            (Some(place), Some(name)) if plain => Some(Change::File(place.join(name))),
            // A pending event of a removed watch.
            (None, _) if !mask.contains(EventMask::Q_OVERFLOW) => None,
            _ => Some(Change::Names),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn changes_have_every_name_of_their_directory_that_is_still_watched() {
        let root = tempfile::tempdir().unwrap();
        let (real, link) = (root.path().join("real"), root.path().join("link"));
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink("real", &link).unwrap();
        let mut watch = Watch::new();
        let both = [real.clone(), link.clone()];
        watch.set(&both);
        std::fs::write(real.join("a"), "x").unwrap();
        assert_eq!(told(&mut watch, "a", 2).await, [real.join("a"), link.join("a")]);
        watch.set(&both[..1]);
        std::fs::write(real.join("b"), "x").unwrap();
        assert_eq!(told(&mut watch, "b", 1).await, [real.join("b")]);
    }

    #[tokio::test]
    async fn a_directory_that_is_made_again_is_watched_again() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("logs");
        let file = directory.join("a");
        std::fs::create_dir(&directory).unwrap();
        let mut watch = Watch::new();
        watch.set(std::slice::from_ref(&directory));
        std::fs::remove_dir(&directory).unwrap();
        std::fs::create_dir(&directory).unwrap();
        let told = async {
            loop {
                // The monitor does the same after each full listing.
                watch.set(std::slice::from_ref(&directory));
                std::fs::write(&file, "x").unwrap();
                let changes = tokio::time::timeout(Duration::from_millis(100), watch.changes());
                let changes = changes.await.unwrap_or_default();
                if changes.contains(&Change::File(file.clone())) {
                    return;
                }
            }
        };
        tokio::time::timeout(PATIENCE, told).await.unwrap();
    }

    /// The first names under which a file is said to have changed.
    async fn told(watch: &mut Watch, file: &str, count: usize) -> Vec<PathBuf> {
        let mut names = Vec::new();
        while names.len() < count {
            let changes = tokio::time::timeout(PATIENCE, watch.changes()).await.unwrap();
            for change in changes {
                if let Change::File(path) = change
                    && path.ends_with(file)
                    && !names.contains(&path)
                {
                    names.push(path);
                }
            }
        }
        names
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::path::PathBuf;

    use super::Change;

    /// A watch for systems without notifications.
    #[derive(Debug)]
    pub(crate) struct Watch;

    impl Watch {
        pub(crate) fn new() -> Self {
            Self
        }

        pub(crate) fn set(&mut self, _directories: &[PathBuf]) {}

        pub(crate) async fn changes(&mut self) -> Vec<Change> {
            std::future::pending().await
        }
    }
}
