//! Work that keeps a thread busy, or waits for the local disk, kept off the threads that wait for sockets.

use tokio::runtime::{Handle, RuntimeFlavor};

use crate::Error;

/// Works on another thread. The work comes to its end even if nobody waits for it any more.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let done = runtime::blocking(work).await;
    done.unwrap_or_else(|_| Err(Error::NotReloadable("the server is stopping".to_owned())))
}

/// Works on a thread of its own: the result is much memory in many pieces, such as the files of an app or the
/// rules of all apps. The work comes to its end even if nobody waits for it any more.
pub(crate) async fn blocking_apart<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    blocking(move || on_own_thread(work)).await
}

/// The same for work with what is borrowed, while this thread waits.
pub(crate) fn on_own_thread<T: Send>(
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> Result<T, Error> {
    let done = runtime::on_own_thread("karst-apps", work);
    done.unwrap_or_else(|error| Err(Error::Busy(format!("cannot start a thread: {error}"))))
}

/// Works with what is borrowed; the other tasks of this thread move to another one.
pub(crate) fn in_place<T>(work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    match flavor {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}
