//! Work that keeps a thread busy for milliseconds, kept off the threads that wait for sockets, and work that
//! outlasts the connection of its client.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::JoinError;

use crate::error::RestError;

/// Makes a change to its end. A client that disconnects does not leave half of it behind.
///
/// # Errors
/// The error of the change, or if the server stops.
pub(crate) async fn to_its_end<T, E>(
    change: impl Future<Output = Result<T, E>> + Send + 'static,
) -> Result<T, RestError>
where
    T: Send + 'static,
    E: Into<RestError> + Send + 'static,
{
    let done = runtime::detached(change).await.map_err(|_| RestError::stopping())?;
    done.map_err(Into::into)
}

/// Decodes this number of bytes. Large bodies take milliseconds: they are decoded outside the threads that
/// wait for sockets. For small ones, the hand-over would take longer than the decoding.
pub(crate) fn work<T>(bytes: usize, decode: impl FnOnce() -> T) -> T {
    const LARGE: usize = 64 << 10;
    let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    if bytes > LARGE && matches!(flavor, Ok(RuntimeFlavor::MultiThread)) {
        tokio::task::block_in_place(decode)
    } else {
        decode()
    }
}

/// Runs `make`, which creates or writes this number of rows, in the same way.
pub(crate) fn work_on_rows<T>(rows: usize, make: impl FnOnce() -> T) -> T {
    /// Estimated bytes of a row as text.
    const ROW: usize = 256;
    work(rows.saturating_mul(ROW), make)
}

/// Creates one of the many parts of a response. With [`work`], a busy machine would start a thread for each
/// part before the first of them runs, and every thread keeps some megabytes: here, one thread at a time
/// creates a response.
///
/// # Errors
/// If the server stops.
pub(crate) async fn work_on_part<T: Send + 'static>(
    make: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    runtime::blocking(make).await
}
