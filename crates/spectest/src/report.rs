//! What came of a run.

use std::fmt;

/// A block that did not give what it says.
#[derive(Debug, Clone)]
pub struct Failure {
    /// File and line.
    pub place: String,
    /// The block's sentence.
    pub title: String,
    /// Where the events lay.
    pub topology: String,
    /// What came instead.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} [{}]", self.place, self.topology)?;
        writeln!(f, "  {}", self.title)?;
        for line in self.message.lines() {
            writeln!(f, "    {line}")?;
        }
        Ok(())
    }
}

/// The blocks run and those that failed.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Blocks, each counted once however many topologies it ran over.
    pub blocks: usize,
    /// Failures, one for each block and topology.
    pub failures: Vec<Failure>,
}

impl Report {
    /// Adds another file's.
    pub fn add(&mut self, other: Self) {
        self.blocks += other.blocks;
        self.failures.extend(other.failures);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for failure in &self.failures {
            writeln!(f, "{failure}")?;
        }
        write!(f, "{} blocks, {} failures", self.blocks, self.failures.len())
    }
}
