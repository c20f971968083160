//! What a command does with all rows at once: rows in, other rows out, within limits.

use std::fmt::Debug;

use crate::error::Error;
use crate::rows::Rows;

/// What a command does with all rows at once.
pub trait Operation: Debug + Send + Sync {
    /// The rows that come of rows.
    ///
    /// # Errors
    /// If the command cannot do that with these rows, or they exceed a limit.
    fn apply(&self, rows: Rows, context: &mut Context) -> Result<Rows, Error>;
}

/// Limits of what a command makes. Reaching one is an error or a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of rows.
    pub rows: usize,
    /// Maximum number of columns that come of values.
    pub columns: usize,
    /// Maximum number of bins of time or of numbers.
    pub bins: usize,
    /// Maximum memory of the rows, in bytes.
    pub bytes: usize,
}

/// Something that the user should know about the rows, in one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// Good to know.
    Info(String),
    /// The rows may not be what was meant.
    Warning(String),
}

/// What an [`Operation`] runs with: the limits, and where it leaves notes.
#[derive(Debug)]
pub struct Context {
    /// The limits.
    pub limits: Limits,
    /// What the user should know, in the order in which it was found.
    pub notes: Vec<Note>,
}

impl Context {
    /// Limits, and no notes.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, notes: Vec::new() }
    }

    pub(crate) fn inform(&mut self, text: impl Into<String>) {
        self.notes.push(Note::Info(text.into()));
    }

    pub(crate) fn warn(&mut self, text: impl Into<String>) {
        self.notes.push(Note::Warning(text.into()));
    }
}
