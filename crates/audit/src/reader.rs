//! Reads records in order from a given number, following the files as they grow.

use std::path::{Path, PathBuf};

use model::EventTime;

use crate::Error;
use crate::files::{self, Lines};
use crate::record::Line;

/// A raw record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its number.
    pub seq: u64,
    /// Its time, if readable.
    pub time: Option<EventTime>,
    /// Its text.
    pub text: String,
}

/// Reads records; see the module.
pub struct Reader {
    directory: PathBuf,
    next: u64,
    open: Option<(u64, Lines)>,
    held: Option<Entry>,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("next", &self.next).finish_non_exhaustive()
    }
}

impl Reader {
    /// Starts at the record with that number, or the next existing one.
    #[must_use]
    pub fn new(directory: &Path, from: u64) -> Self {
        Self { directory: directory.to_owned(), next: from, open: None, held: None }
    }

    /// The next records up to the synced number, at most `most`.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn read(&mut self, synced: u64, most: usize) -> Result<Vec<Entry>, Error> {
        let mut found = Vec::new();
        while found.len() < most && self.next <= synced {
            let Some(entry) = self.entry()? else { break };
            if entry.seq > synced {
                self.held = Some(entry);
                break;
            }
            self.next = entry.seq + 1;
            found.push(entry);
        }
        Ok(found)
    }

    fn entry(&mut self) -> Result<Option<Entry>, Error> {
        if let Some(held) = self.held.take() {
            return Ok(Some(held));
        }
        let mut line = Vec::new();
        loop {
            let Some((_, lines)) = &mut self.open else {
                if !self.open_next()? {
                    return Ok(None);
                }
                continue;
            };
            if lines.next(&mut line)?.is_none() {
                // The synced records are not in this file but in the next.
                if !self.open_next()? {
                    return Ok(None);
                }
                continue;
            }
            // A torn line was never acknowledged; a later record reports it.
            let Some(read) = Line::parse(&line) else { continue };
            if read.seq >= self.next {
                let (seq, time) = (read.seq, read.time());
                let text = String::from_utf8_lossy(&line).into_owned();
                return Ok(Some(Entry { seq, time, text }));
            }
        }
    }

    /// Opens the file with the next record, or the one after the current file; false if there is
    /// none.
    fn open_next(&mut self) -> Result<bool, Error> {
        let files = files::list(&self.directory)?;
        let next = match &self.open {
            Some((first, _)) => files.iter().find(|file| file.first > *first),
            None => {
                let holds = |file: &&files::LogFile| file.first <= self.next;
                files.iter().rev().find(holds).or(files.first())
            }
        };
        let Some(file) = next else { return Ok(false) };
        self.open = Some((file.first, Lines::open(&file.path)?));
        Ok(true)
    }
}
