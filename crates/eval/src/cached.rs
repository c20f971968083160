//! A cache of objects compiled from texts (regular expressions, time formats), kept from one row to the next.
//!
//! Guarantees: a text that repeats is compiled once. Literals are not cached here: functions compile them
//! when planning.

use std::sync::Arc;

use parking_lot::Mutex;

/// Maximum number of compiled objects per function; few different patterns come from fields.
const KEPT: usize = 16;

/// A compiled object; `None` if the text does not compile.
pub type Compiled<T> = Option<Arc<T>>;

/// The most recently compiled objects.
#[derive(Debug)]
pub struct Cached<T> {
    compile: fn(&str) -> Option<T>,
    kept: Mutex<Vec<(String, Compiled<T>)>>,
}

impl<T> Cached<T> {
    /// Creates an empty cache that compiles texts with `compile`.
    #[must_use]
    pub fn new(compile: fn(&str) -> Option<T>) -> Self {
        Self { compile, kept: Mutex::new(Vec::new()) }
    }

    /// Returns the compiled form of a text; `None` if the text does not compile.
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
