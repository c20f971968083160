//! Requests in flight, so that each block is fetched once for all readers.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::{BoxFuture, Shared};
use object_store::Error;
use parking_lot::{Mutex, MutexGuard};

use crate::block::{Block, BlockKey};
use crate::waits::Times;

/// The blocks of one request, by number.
pub(crate) type Fetched = Result<Arc<HashMap<u64, Block>>, Arc<Error>>;

/// A request in flight, shared by all readers that wait for its blocks.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    pub(crate) fetched: Shared<BoxFuture<'static, Fetched>>,
    /// When the request was sent and answered.
    pub(crate) times: Arc<Times>,
}

/// Blocks that are being fetched.
#[derive(Debug, Default)]
pub(crate) struct InFlight(Mutex<HashMap<BlockKey, Waiting>>);

impl InFlight {
    pub(crate) fn lock(&self) -> MutexGuard<'_, HashMap<BlockKey, Waiting>> {
        // No statement leaves the map inconsistent, so a poisoned lock is still usable.
        self.0.lock()
    }
}
