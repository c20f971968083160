//! Work that keeps a thread busy, or waits for the local disk, kept off the threads that wait for sockets.

use tokio::runtime::{Handle, RuntimeFlavor};

use crate::Error;

/// Works on another thread. The work comes to its end even if nobody waits for it any more.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(Error::NotReloadable("the server is stopping".to_owned())),
    }
}

/// Works with what is borrowed; the other tasks of this thread move to another one.
pub(crate) fn in_place<T>(work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    match flavor {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}
