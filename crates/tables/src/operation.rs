//! What a command does with all rows at once: rows in, other rows out, within limits.

use std::fmt::{self, Debug};
use std::sync::Arc;

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

/// Tells long work whether anybody still waits for it.
#[derive(Clone, Default)]
pub struct Stop(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Stop {
    /// Where this becomes true, nobody waits any more.
    pub fn when(is_over: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(is_over)))
    }

    /// Ends work that nobody waits for: to be asked every few milliseconds.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub fn check(&self) -> Result<(), Error> {
        match &self.0 {
            Some(is_over) if is_over() => Err(Error::Cancelled),
            _ => Ok(()),
        }
    }
}

impl Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stop({:?})", self.0.as_ref().map(|is_over| is_over()))
    }
}

/// What an [`Operation`] runs with: the limits, and where it leaves notes.
#[derive(Debug)]
pub struct Context {
    /// The limits.
    pub limits: Limits,
    /// Whether anybody still waits.
    pub stop: Stop,
    /// What the user should know, in the order in which it was found.
    pub notes: Vec<Note>,
}

impl Context {
    /// Limits, and no notes.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, stop: Stop::default(), notes: Vec::new() }
    }

    /// The same, with work that ends when nobody waits for it.
    #[must_use]
    pub fn until(self, stop: Stop) -> Self {
        Self { stop, ..self }
    }

    pub(crate) fn inform(&mut self, text: impl Into<String>) {
        self.notes.push(Note::Info(text.into()));
    }

    pub(crate) fn warn(&mut self, text: impl Into<String>) {
        self.notes.push(Note::Warning(text.into()));
    }
}
