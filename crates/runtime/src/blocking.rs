//! Work that keeps a thread busy, or waits for the local disk, kept off the threads that wait for sockets.

use std::panic::resume_unwind;

use tokio::task::{JoinError, spawn_blocking};

/// Works on another thread. The work comes to its end even if nobody waits for it any more; if it panics, so
/// does the caller.
///
/// # Errors
/// If the runtime ends; the work may not have begun then.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    match spawn_blocking(work).await {
        Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
        done => done,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::thread::current;

    use super::*;

    #[tokio::test]
    async fn the_work_is_done_on_another_thread_and_its_panic_is_that_of_the_caller() {
        let own = current().id();
        assert_ne!(blocking(|| current().id()).await.unwrap(), own);
        let caller = tokio::spawn(blocking(|| -> u8 { resume_unwind(Box::new("broken")) }));
        let panic = caller.await.unwrap_err().into_panic();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"broken"));
    }
}
