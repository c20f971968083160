//! Which waiting files have been logged: once for each reason, until more of the file is safe.
//!
//! A process monitors its own log: a log line for each attempt would cause the next attempt, and so on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Maximum number of remembered files. Above it, all files are logged again.
const MOST: usize = 10_000;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// The reason, and how much of the file was safe then.
    told: BTreeMap<PathBuf, (String, u64)>,
}

impl Waiting {
    /// Whether this is to be said: it has not been since more of the file became safe. Notes that it was.
    pub(super) fn is_new(&mut self, path: &Path, safe: u64, reason: &str) -> bool {
        let told = self.told.get(path);
        if told.is_some_and(|(said, at)| said == reason && *at == safe) {
            return false;
        }
        if self.told.len() >= MOST {
            self.told.clear();
        }
        self.told.insert(path.to_owned(), (reason.to_owned(), safe));
        true
    }

    /// Notes that all of the file was taken in.
    pub(super) fn end(&mut self, path: &Path) {
        self.told.remove(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_said_once_until_the_file_goes_on() {
        let (mut waiting, a, b) = (Waiting::default(), Path::new("a"), Path::new("b"));
        assert!(waiting.is_new(a, 0, "fenced") && waiting.is_new(b, 0, "fenced"));
        assert!(!waiting.is_new(a, 0, "fenced"));
        assert!(waiting.is_new(a, 0, "the disk is full"));
        assert!(waiting.is_new(a, 7, "the disk is full"));
        assert!(!waiting.is_new(b, 0, "fenced"));
        waiting.end(b);
        assert!(waiting.is_new(b, 0, "fenced"));
    }
}
