//! Work on a thread of its own, for results with many allocations.
//!
//! The allocator keeps pages for each thread, in every size that the thread has allocated. Memory that other
//! threads free returns to these pages, and is neither used by other threads nor returned to the system while
//! the thread lives. Threads that block are many, and requests every few seconds keep all of them alive: each
//! of them that reads one app keeps some tens of megabytes. When a thread ends, its pages belong to nobody,
//! and the last free of a page releases it.

use std::io;
use std::panic::resume_unwind;
use std::thread::{Builder, scope};

/// Stack size: as large as that of threads of the runtime, as the work may parse nested expressions. The
/// system allocates only the used part.
const STACK: usize = 32 << 20;

/// Works on a new thread with this name (at most 15 bytes), which ends before the result is returned. Waits
/// for it: only for threads that may block.
///
/// # Errors
/// If the system starts no thread; nothing of the work has run then.
pub fn on_own_thread<T: Send>(name: &str, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    scope(|threads| {
        let thread = Builder::new().name(name.to_owned()).stack_size(STACK);
        match thread.spawn_scoped(threads, work)?.join() {
            Ok(done) => Ok(done),
            Err(panic) => resume_unwind(panic),
        }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::thread::current;

    use super::*;

    #[test]
    fn the_thread_has_a_name_and_may_borrow() {
        let text = "borrowed".to_owned();
        let (name, read) = on_own_thread("one-of-its-own", || {
            (current().name().map(str::to_owned), text.as_str())
        })
        .unwrap();
        assert_eq!((name.as_deref(), read), (Some("one-of-its-own"), "borrowed"));
    }

    #[test]
    #[should_panic(expected = "of the work")]
    fn a_panic_is_passed_on() {
        let _ = on_own_thread("panics", || assert!(current().name().is_none(), "of the work"));
    }
}
