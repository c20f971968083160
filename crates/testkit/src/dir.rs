//! A directory that is removed with its owner.

use std::path::{Path, PathBuf};

/// A fresh directory for one test.
#[derive(Debug)]
pub struct TestDir(tempfile::TempDir);

impl TestDir {
    /// Makes it below the system's temporary directory.
    ///
    /// # Panics
    /// When that is not possible; there is no test to run then.
    #[must_use]
    pub fn new() -> Self {
        let made = tempfile::Builder::new().prefix("karst-test-").tempdir();
        Self(made.expect("the temporary directory can be written"))
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The path of something in it.
    #[must_use]
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

impl Default for TestDir {
    fn default() -> Self {
        Self::new()
    }
}
