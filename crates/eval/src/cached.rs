//! What is compiled from a text (a regular expression, a time format), kept for the next row.
//!
//! Guarantees: a text that repeats is compiled once. Literals never come here: functions compile
//! them when planning.

use std::sync::Arc;

use parking_lot::Mutex;

/// How many compiled things are kept per function; patterns taken from fields are few.
const KEPT: usize = 16;

/// A compiled thing, or that the text does not compile.
pub type Compiled<T> = Option<Arc<T>>;

/// The last things compiled.
#[derive(Debug)]
pub struct Cached<T> {
    compile: fn(&str) -> Option<T>,
    kept: Mutex<Vec<(String, Compiled<T>)>>,
}

impl<T> Cached<T> {
    /// Nothing yet; texts are compiled by `compile`.
    #[must_use]
    pub fn new(compile: fn(&str) -> Option<T>) -> Self {
        Self { compile, kept: Mutex::new(Vec::new()) }
    }

    /// The compiled text; `None` if it does not compile.
    #[must_use]
    pub fn get(&self, text: &str) -> Compiled<T> {
        let mut kept = self.kept.lock();
        if let Some((_, found)) = kept.iter().find(|(known, _)| known == text) {
            return found.clone();
        }
        let compiled = (self.compile)(text).map(Arc::new);
        if kept.len() == KEPT {
            kept.remove(0);
        }
        kept.push((text.to_owned(), compiled.clone()));
        compiled
    }
}
