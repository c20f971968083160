//! A temporary directory, removed when it is dropped.

use std::path::{Path, PathBuf};

/// A fresh directory for one test.
#[derive(Debug)]
pub struct TestDir(tempfile::TempDir);

impl TestDir {
    /// Creates it in the system's temporary directory.
    ///
    /// # Panics
    /// If it cannot be created, because no test could run then.
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

    /// The path of an entry in it.
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
