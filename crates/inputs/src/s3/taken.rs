//! The list of indexed objects: a bounded log of names that survives crashes.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use foldhash::HashSet;
use runtime::OpenDirectory;

/// See the module.
#[derive(Debug)]
pub struct Taken {
    directory: OpenDirectory,
    name: PathBuf,
    log: File,
    lines: usize,
    known: HashSet<String>,
    order: VecDeque<String>,
    limit: usize,
}

impl Taken {
    /// Opens or creates the log; the last `limit` names are remembered.
    ///
    /// # Errors
    /// The log cannot be read or written.
    pub fn open(path: &Path, limit: usize) -> io::Result<Self> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let text = match fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        // A torn last line is not a name.
        let whole = memchr::memrchr(b'\n', &text).map_or(0, |end| end + 1);
        let log = fs::OpenOptions::new().create(true).append(true).open(path)?;
        log.set_len(whole as u64)?;
        let directory = OpenDirectory::of_file(path)?;
        let name = PathBuf::from(path.file_name().unwrap_or_default());
        let (known, order) = (HashSet::default(), VecDeque::new());
        let mut taken = Self { directory, name, log, lines: 0, known, order, limit };
        for line in String::from_utf8_lossy(&text[..whole]).lines() {
            taken.lines += 1;
            taken.remember(line.to_owned());
        }
        Ok(taken)
    }

    /// Whether an object was taken in.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.known.contains(&clean(name))
    }

    /// Notes an object; it is on the disk when this returns.
    ///
    /// # Errors
    /// The log cannot be written.
    pub fn insert(&mut self, name: &str) -> io::Result<()> {
        let name = clean(name);
        if self.known.contains(&name) {
            return Ok(());
        }
        self.log.write_all(format!("{name}\n").as_bytes())?;
        self.log.sync_data()?;
        self.lines += 1;
        self.remember(name);
        if self.lines > 2 * self.limit { self.rewrite() } else { Ok(()) }
    }

    fn remember(&mut self, name: String) {
        if self.known.insert(name.clone()) {
            self.order.push_back(name);
        }
        while self.order.len() > self.limit {
            if let Some(oldest) = self.order.pop_front() {
                self.known.remove(&oldest);
            }
        }
    }

    fn rewrite(&mut self) -> io::Result<()> {
        let next = self.name.with_extension("next");
        let mut file = self.directory.create(&next)?;
        for name in &self.order {
            writeln!(file, "{name}")?;
        }
        file.sync_all()?;
        self.directory.rename(&next, &self.name)?;
        self.log = self.directory.append(&self.name)?;
        self.lines = self.order.len();
        Ok(())
    }
}

/// A name on one line.
fn clean(name: &str) -> String {
    name.replace(['\n', '\r'], "?")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_log_whose_directory_was_replaced_leaves_the_log_of_another_server() {
        let root = tempfile::tempdir().unwrap();
        let (data, moved) = (root.path().join("data"), root.path().join("moved"));
        let mut taken = Taken::open(&data.join("taken"), 1).unwrap();
        fs::rename(&data, &moved).unwrap();
        Taken::open(&data.join("taken"), 1).unwrap().insert("other").unwrap();
        for number in 0..5 {
            taken.insert(&format!("own {number}")).unwrap();
        }
        assert_eq!(fs::read(data.join("taken")).unwrap(), b"other\n");
        assert!(fs::read_to_string(moved.join("taken")).unwrap().ends_with("own 4\n"));
    }

    #[test]
    fn names_survive_restarts_and_torn_ends_and_the_oldest_go_first() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("taken");
        let mut taken = Taken::open(&path, 3).unwrap();
        for name in 0..10 {
            taken.insert(&format!("object {name}")).unwrap();
        }
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"object 1").unwrap();
        let taken = Taken::open(&path, 3).unwrap();
        let known: Vec<_> =
            (0..10).filter(|name| taken.contains(&format!("object {name}"))).collect();
        assert_eq!(known, [7, 8, 9]);
        assert!(fs::read(&path).unwrap().len() < 100);
    }
}
