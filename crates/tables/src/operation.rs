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

/// Long work over rows and values, which ends soon after nobody waits for it any more.
#[derive(Debug, Clone, Default)]
pub struct Steps {
    stop: Stop,
    /// Since it was asked whether anybody waits.
    taken: usize,
}

impl Steps {
    /// Steps between two questions: a step takes up to a microsecond, a question a tenth.
    const MANY: usize = 4096;

    /// Work that ends where this says so.
    #[must_use]
    pub fn new(stop: Stop) -> Self {
        Self { stop, taken: 0 }
    }

    /// Counts work with some values. Without the question in between it costs next to nothing.
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

    /// Work that ends when nobody waits for it.
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
        // A step of many values asks at once.
        assert!(steps.take(1_000_000).is_ok());
        assert_eq!(asked.load(Relaxed), 4);
    }
}
