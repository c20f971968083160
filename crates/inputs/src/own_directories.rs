//! The directories of the program itself, which inputs leave out: keys, passwords and sessions are among
//! their files, and logs and checkpoints there grow while they are read.
//!
//! Guarantees: no name leads into them, neither a link nor a directory above them. Not covered: files that a
//! hard link or a mount shows elsewhere.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// See the module. None by default.
#[derive(Debug, Clone, Default)]
pub struct OwnDirectories(Arc<[Own]>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Own {
    /// Without links.
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl OwnDirectories {
    /// Those of these directories that exist.
    #[must_use]
    pub fn new(directories: impl IntoIterator<Item = PathBuf>) -> Self {
        let own = |directory: PathBuf| {
            let path = fs::canonicalize(directory).ok()?;
            let metadata = fs::metadata(&path).ok()?;
            Some(Own { path, device: metadata.dev(), inode: metadata.ino() })
        };
        Self(directories.into_iter().filter_map(own).collect())
    }

    /// The one that a path leads to or into; `None` also if the path does not exist.
    #[must_use]
    pub fn holding(&self, path: &Path) -> Option<&Path> {
        if self.0.is_empty() {
            return None;
        }
        let real = fs::canonicalize(path).ok()?;
        self.find(|own| real.starts_with(&own.path))
    }

    /// The one that this is, for a directory that is not behind a link.
    pub(crate) fn same(&self, directory: &Metadata) -> Option<&Path> {
        self.find(|own| (own.device, own.inode) == (directory.dev(), directory.ino()))
    }

    fn find(&self, is_wanted: impl Fn(&Own) -> bool) -> Option<&Path> {
        self.0.iter().find(|own| is_wanted(own)).map(|own| own.path.as_path())
    }
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
}
