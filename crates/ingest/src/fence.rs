//! Whether this process takes nothing in any more, for good, and why: what it has received is another one's.

use std::sync::{Arc, OnceLock};

use crate::Error;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Fence(OnceLock<Arc<str>>);

impl Fence {
    /// Closes it; the first reason is the one that counts. Whether it was open.
    pub(crate) fn close(&self, reason: &Arc<str>) -> bool {
        self.0.set(Arc::clone(reason)).is_ok()
    }

    /// The answer to everybody, once it is closed.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let fenced = |reason: &Arc<str>| Err(Error::Fenced { reason: Arc::clone(reason) });
        self.0.get().map_or(Ok(()), fenced)
    }
}
