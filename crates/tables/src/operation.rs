//! The interface of commands that process all rows at once, within limits.

use std::fmt::{self, Debug};
use std::sync::Arc;

use crate::error::Error;
use crate::rows::Rows;

/// A command that processes all rows at once.
pub trait Operation: Debug + Send + Sync {
    /// Processes the rows.
    ///
    /// # Errors
    /// If the command cannot process these rows, or they exceed a limit.
    fn apply(&self, rows: Rows, context: &mut Context) -> Result<Rows, Error>;
}

/// Limits of the output of a command. Reaching one is an error or a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of rows.
    pub rows: usize,
    /// Maximum number of columns created from values.
    pub columns: usize,
    /// Maximum number of bins of time or of numbers.
    pub bins: usize,
    /// Maximum memory of the rows, in bytes.
    pub bytes: usize,
}

/// A note for the user about the rows, in one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// For information.
    Info(String),
    /// The rows may differ from the user's intention.
    Warning(String),
}

/// A cancellation check for long computations.
#[derive(Clone, Default)]
pub struct Stop(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Stop {
    /// Creates a check that cancels when the function returns true.
    pub fn when(is_over: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(is_over)))
    }

    /// Returns an error if the search is cancelled. To be called every few milliseconds.
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

/// A counter of work that checks for cancellation periodically.
#[derive(Debug, Clone, Default)]
pub struct Steps {
    stop: Stop,
    /// Steps since the last check.
    taken: usize,
}

impl Steps {
    /// Steps between two checks: a step takes up to a microsecond, a check a tenth of that.
    const MANY: usize = 4096;

    /// Creates a counter with this check.
    #[must_use]
    pub fn new(stop: Stop) -> Self {
        Self { stop, taken: 0 }
    }

    /// Counts steps. Costs next to nothing between checks.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    #[inline]
    pub fn take(&mut self, values: usize) -> Result<(), Error> {
        self.taken = self.taken.saturating_add(values);
        if self.taken < Self::MANY {
            return Ok(());
        }
        self.taken = 0;
        self.stop.check()
    }
}

/// The context of an [`Operation`]: the limits, and the collected notes.
#[derive(Debug)]
pub struct Context {
    /// The limits.
    pub limits: Limits,
    /// The cancellation check.
    pub stop: Stop,
    /// Notes for the user, in order.
    pub notes: Vec<Note>,
}

impl Context {
    /// Creates a context with these limits and without notes.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, stop: Stop::default(), notes: Vec::new() }
    }

    /// Sets the cancellation check.
    #[must_use]
    pub fn until(self, stop: Stop) -> Self {
        Self { stop, ..self }
    }

    /// Returns a counter of work with the cancellation check.
    pub(crate) fn steps(&self) -> Steps {
        Steps::new(self.stop.clone())
    }

    pub(crate) fn inform(&mut self, text: impl Into<String>) {
        self.notes.push(Note::Info(text.into()));
    }

    pub(crate) fn warn(&mut self, text: impl Into<String>) {
        self.notes.push(Note::Warning(text.into()));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;

    #[test]
    fn whether_anybody_waits_is_asked_every_few_thousand_values() {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let mut steps = Steps::new(Stop::when(move || count.fetch_add(1, Relaxed) == 2));
        let taken = (0..100_000).take_while(|_| steps.take(1).is_ok()).count();
        assert_eq!((taken, asked.load(Relaxed)), (3 * Steps::MANY - 1, 3));
        // A large step checks immediately.
        assert!(steps.take(1_000_000).is_ok());
        assert_eq!(asked.load(Relaxed), 4);
    }
}
