//! The result of a run.

use std::fmt;

/// A block whose result differs from its expectation.
#[derive(Debug, Clone)]
pub struct Failure {
    /// File and line.
    pub place: String,
    /// The title of the block.
    pub title: String,
    /// The name of the topology.
    pub topology: String,
    /// The actual result.
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

/// The number of blocks, and the failures.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Number of blocks; each is counted once, whatever the number of topologies.
    pub blocks: usize,
    /// Failures: one per block and topology.
    pub failures: Vec<Failure>,
}

impl Report {
    /// Adds the report of another file.
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
