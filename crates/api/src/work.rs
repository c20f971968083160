//! Work that keeps a thread busy for milliseconds, kept off the threads that wait for sockets.

use tokio::runtime::{Handle, RuntimeFlavor};

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
