//! The directories of the program itself, which inputs leave out: their files include keys, passwords and
//! sessions, and logs and checkpoints there grow while they are read.
//!
//! Guarantees: no path leads into them, neither through a link nor through a directory above them. Not
//! covered: files that a hard link or a mount makes visible elsewhere.

use std::fs::{self, File, Metadata};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The excluded directories (see the module). Empty by default.
#[derive(Debug, Clone, Default)]
pub struct OwnDirectories {
    own: Arc<[Own]>,
    /// Directories in them that inputs read all the same, without links.
    open: Arc<[PathBuf]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Own {
    /// The path with links resolved.
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl OwnDirectories {
    /// Creates the list from those of the directories that exist.
    #[must_use]
    pub fn new(directories: impl IntoIterator<Item = PathBuf>) -> Self {
        let own = |directory: PathBuf| {
            let path = fs::canonicalize(directory).ok()?;
            let metadata = fs::metadata(&path).ok()?;
            Some(Own { path, device: metadata.dev(), inode: metadata.ino() })
        };
        Self { own: directories.into_iter().filter_map(own).collect(), open: Arc::default() }
    }

    /// Adds exceptions within the program's directories: the directories of apps, which have logs beside
    /// their scripts. They need not exist yet.
    #[must_use]
    pub fn except(self, directories: impl IntoIterator<Item = PathBuf>) -> Self {
        let open = directories.into_iter().filter_map(|directory| without_links(&directory));
        Self { open: open.collect(), ..self }
    }

    /// The one that a path leads to or into; `None` also if the path does not exist.
    #[must_use]
    pub fn holding(&self, path: &Path) -> Option<&Path> {
        if self.own.is_empty() {
            return None;
        }
        self.above(&fs::canonicalize(path).ok()?)
    }

    /// The one that an open file is in: a link on its path may have led elsewhere when the path was compared.
    /// `None` also where the system does not tell the path of an open file.
    pub(crate) fn holding_open(&self, file: &File) -> Option<&Path> {
        if self.own.is_empty() {
            return None;
        }
        self.above(&fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?)
    }

    /// The one that a path without links is in.
    fn above(&self, real: &Path) -> Option<&Path> {
        if self.open.iter().any(|open| real.starts_with(open)) {
            return None;
        }
        self.find(|own| real.starts_with(&own.path))
    }

    /// The one that this is, for a directory that is not behind a link.
    pub(crate) fn same(&self, directory: &Metadata) -> Option<&Path> {
        self.find(|own| (own.device, own.inode) == (directory.dev(), directory.ino()))
    }

    fn find(&self, is_wanted: impl Fn(&Own) -> bool) -> Option<&Path> {
        self.own.iter().find(|own| is_wanted(own)).map(|own| own.path.as_path())
    }
}

/// A path without links, as far as it exists.
fn without_links(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    path.ancestors().find_map(|above| {
        let below = path.strip_prefix(above).ok()?;
        Some(fs::canonicalize(above).ok()?.join(below))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn whatever_leads_into_an_own_directory_is_held_by_it() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("data/auth")).unwrap();
        fs::create_dir(at("logs")).unwrap();
        fs::write(at("data/auth/key"), "x").unwrap();
        std::os::unix::fs::symlink(at("data/auth"), at("logs/link")).unwrap();
        std::os::unix::fs::symlink(at("data"), at("linked")).unwrap();
        let own = OwnDirectories::new([at("linked"), at("none")]);
        let data = fs::canonicalize(at("data")).unwrap();
        for inside in ["data", "data/auth/key", "logs/link/key", "logs/../data/auth", "linked"] {
            assert_eq!(own.holding(&at(inside)), Some(data.as_path()), "{inside}");
        }
        for outside in ["", "logs", "none", "data/none"] {
            assert_eq!(own.holding(&at(outside)), None, "{outside}");
        }
        assert_eq!(own.same(&fs::metadata(at("data")).unwrap()), Some(data.as_path()));
        assert_eq!(own.same(&fs::metadata(at("logs")).unwrap()), None);
        assert_eq!(OwnDirectories::default().holding(&at("data")), None);
    }

    #[test]
    fn the_directories_of_apps_are_read_also_if_they_come_later() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir(at("data")).unwrap();
        std::os::unix::fs::symlink(at("data"), at("linked")).unwrap();
        let own = OwnDirectories::new([at("data")]);
        let own = own.except([at("linked/installed"), at("data/deployment/versions")]);
        for directory in
            ["installed/1/apps/a/logs", "deployment/versions/a-1", "installed-not", "auth"]
        {
            fs::create_dir_all(at("data").join(directory)).unwrap();
        }
        std::os::unix::fs::symlink(at("data/auth"), at("data/installed/keys")).unwrap();
        for open in ["data/installed/1/apps/a/logs", "linked/deployment/versions/a-1"] {
            assert_eq!(own.holding(&at(open)), None, "{open}");
        }
        let data = fs::canonicalize(at("data")).unwrap();
        for held in
            ["data", "data/auth", "data/deployment", "data/installed-not", "data/installed/keys"]
        {
            assert_eq!(own.holding(&at(held)), Some(data.as_path()), "{held}");
        }
    }
}
