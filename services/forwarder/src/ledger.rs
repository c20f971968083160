//! The ledger of a queue: which indexer may have which batches, and which batches are acknowledged. A
//! restart needs it besides the queue.
//!
//! Before batches are sent to an indexer, a run of batch numbers is bound to it durably: after any crash, a
//! batch that may be in the journal of that indexer is not sent to another one. Acknowledgements are
//! written without waiting for the disk, because a lost one costs only a question to the indexer.
//!
//! The ledger is a log of JSON lines, of which later ones override earlier ones; it is rewritten when it
//! has become large.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use protocol::Sequences;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Error;

/// Size at which the log is rewritten.
const LARGE: u64 = 256 << 10;

/// The numbers from `from` to (excluding) `to` belong to that indexer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Run {
    /// Its address.
    server: String,
    /// Its identity; `None` in a log of an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    indexer: Option<Uuid>,
    from: u64,
    to: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Run(Run),
    Acked {
        below: u64,
        ranges: Vec<(u64, u64)>,
    },
    /// The sequence of batch numbers that the log belongs to.
    Channel(Uuid),
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Ledger {
    path: PathBuf,
    channel: Uuid,
    file: File,
    size: u64,
    runs: Vec<Run>,
    acked: Sequences,
}

impl Ledger {
    /// Reads the log in a queue's directory. A log of another channel is replaced by an empty one.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub(crate) fn open(directory: &Path, channel: Uuid) -> Result<Self, Error> {
        let path = directory.join("ledger");
        let (mut runs, mut acked) = (Vec::new(), Sequences::default());
        let mut of = None;
        match File::open(&path) {
            Ok(file) => {
                for line in BufReader::new(file).lines() {
                    let line = line.map_err(|error| Error::queue("read", &path, error))?;
                    // A torn line is the last one, and was never relied upon.
                    let Ok(line) = serde_json::from_str(&line) else { continue };
                    match line {
                        Line::Run(run) => runs.push(run),
                        Line::Acked { below, ranges } => {
                            acked.merge(&Sequences::of(below, ranges));
                        }
                        Line::Channel(channel) => of = Some(channel),
                    }
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::queue("read", path, error)),
        }
        if of != Some(channel) {
            (runs, acked) = (Vec::new(), Sequences::default());
        }
        let (file, size) = rewrite(&path, channel, &runs, &acked)?;
        Ok(Self { path, channel, file, size, runs, acked })
    }

    /// The address and the identity of the indexer that may have a batch.
    pub(crate) fn owner(&self, sequence: u64) -> Option<(&str, Option<Uuid>)> {
        let mut runs = self.runs.iter().rev();
        let run = runs.find(|run| (run.from..run.to).contains(&sequence))?;
        Some((&run.server, run.indexer))
    }

    /// The number from which on no batch is bound.
    pub(crate) fn bound_below(&self) -> u64 {
        self.runs.iter().map(|run| run.to).max().unwrap_or(0)
    }

    /// Binds numbers to an indexer durably.
    ///
    /// # Errors
    /// If the file cannot be written; then nothing may be sent.
    pub(crate) fn bind(
        &mut self,
        (server, indexer): (&str, Option<Uuid>),
        from: u64,
        to: u64,
    ) -> Result<(), Error> {
        let run = Run { server: server.to_owned(), indexer, from, to };
        self.write(&Line::Run(run.clone()))?;
        self.file.sync_data().map_err(|error| Error::queue("write", &self.path, error))?;
        self.runs.push(run);
        Ok(())
    }

    /// The acknowledged batches.
    pub(crate) fn acked(&self) -> &Sequences {
        &self.acked
    }

    /// Records an acknowledgement, which [`Ledger::save`] writes.
    pub(crate) fn ack(&mut self, sequence: u64) {
        self.acked.insert(sequence);
    }

    /// Writes the acknowledgements.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn save(&mut self) -> Result<(), Error> {
        let below = self.acked.below();
        let ranges = self.acked.ranges().to_vec();
        self.write(&Line::Acked { below, ranges })?;
        if self.size > LARGE {
            self.runs.retain(|run| run.to > below);
            (self.file, self.size) = rewrite(&self.path, self.channel, &self.runs, &self.acked)?;
        }
        Ok(())
    }

    fn write(&mut self, line: &Line) -> Result<(), Error> {
        let fail = |error| Error::queue("write", &self.path, error);
        let mut text = serde_json::to_vec(line).map_err(|error| fail(error.into()))?;
        text.push(b'\n');
        self.file.write_all(&text).map_err(fail)?;
        self.size += text.len() as u64;
        Ok(())
    }
}

fn rewrite(
    path: &Path,
    channel: Uuid,
    runs: &[Run],
    acked: &Sequences,
) -> Result<(File, u64), Error> {
    let work = || -> io::Result<(File, u64)> {
        let draft = path.with_extension("next");
        let mut text = Vec::new();
        let acked = Line::Acked { below: acked.below(), ranges: acked.ranges().to_vec() };
        let runs = runs.iter().map(|run| Line::Run(run.clone()));
        for line in [Line::Channel(channel), acked].into_iter().chain(runs) {
            serde_json::to_writer(&mut text, &line)?;
            text.push(b'\n');
        }
        let mut file = File::create(&draft)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        if let Some(parent) = path.parent() {
            File::open(parent)?.sync_all()?;
        }
        Ok((OpenOptions::new().append(true).open(path)?, text.len() as u64))
    };
    work().map_err(|error| Error::queue("write", path, error))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_last_run_that_has_a_number_owns_it_also_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let channel = Uuid::from_u128(1);
        let mut ledger = Ledger::open(folder.path(), channel).unwrap();
        let id = Some(Uuid::from_u128(7));
        ledger.bind(("a", None), 0, 100).unwrap();
        ledger.bind(("b", id), 50, 60).unwrap();
        ledger.ack(3);
        ledger.save().unwrap();
        OpenOptions::new()
            .append(true)
            .open(folder.path().join("ledger"))
            .unwrap()
            .write_all(b"{\"run\":{\"ser")
            .unwrap();
        let ledger = Ledger::open(folder.path(), channel).unwrap();
        let owners = [0, 50, 60, 100].map(|number| ledger.owner(number));
        assert_eq!(owners, [Some(("a", None)), Some(("b", id)), Some(("a", None)), None]);
        assert!(ledger.acked().contains(3) && !ledger.acked().contains(2));
        assert_eq!(ledger.bound_below(), 100);
        let other = Ledger::open(folder.path(), Uuid::from_u128(2)).unwrap();
        assert_eq!(other.owner(0), None);
    }

    #[test]
    fn runs_without_an_identity_are_those_of_an_older_version() {
        let run: Run = serde_json::from_str(r#"{"server":"a:1","from":0,"to":256}"#).unwrap();
        assert_eq!(run.indexer, None);
        assert!(!serde_json::to_string(&run).unwrap().contains("indexer"));
    }

    #[test]
    fn it_does_not_grow_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(folder.path(), Uuid::nil()).unwrap();
        for number in 0..20_000 {
            ledger.ack(number);
            ledger.save().unwrap();
        }
        assert!(fs::metadata(folder.path().join("ledger")).unwrap().len() < 2 * LARGE);
    }
}
