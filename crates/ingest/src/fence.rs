//! A flag that permanently stops this process from accepting events, with the reason: another process owns
//! its catalog or its sets.

use std::sync::{Arc, OnceLock};

use crate::Error;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Fence(OnceLock<Arc<str>>);

impl Fence {
    /// Closes the fence; the first reason is kept. Returns whether it was open.
    pub(crate) fn close(&self, reason: &Arc<str>) -> bool {
        self.0.set(Arc::clone(reason)).is_ok()
    }

    /// Fails with the reason if the fence is closed.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let fenced = |reason: &Arc<str>| Err(Error::Fenced { reason: Arc::clone(reason) });
        self.0.get().map_or(Ok(()), fenced)
    }
}
