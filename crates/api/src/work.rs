//! Work that keeps a thread busy for milliseconds, kept off the threads that wait for sockets.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::JoinError;

/// Decodes so many bytes. Large bodies take milliseconds: they are decoded beside the threads that
/// wait for sockets. Small ones take less than the hand-over would.
pub(crate) fn work<T>(bytes: usize, decode: impl FnOnce() -> T) -> T {
    const LARGE: usize = 64 << 10;
    let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    if bytes > LARGE && matches!(flavor, Ok(RuntimeFlavor::MultiThread)) {
        tokio::task::block_in_place(decode)
    } else {
        decode()
    }
}

/// The same for so many rows of results, which are made or written.
pub(crate) fn work_on_rows<T>(rows: usize, make: impl FnOnce() -> T) -> T {
    /// About what a row has as text.
    const ROW: usize = 256;
    work(rows.saturating_mul(ROW), make)
}

/// Makes one of the many parts of an answer. With [`work`], a busy machine would start a thread for each part
/// before the first of them gets to work, and every thread keeps some megabytes: here an answer is made by
/// one thread at a time.
///
/// # Errors
/// If the server stops.
pub(crate) async fn work_on_part<T: Send + 'static>(
    make: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    match tokio::task::spawn_blocking(make).await {
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        done => done,
    }
}
