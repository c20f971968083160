//! Requests for blocks that are under way, so that each block is fetched once for all readers.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::{BoxFuture, Shared};
use object_store::Error;
use parking_lot::{Mutex, MutexGuard};

use crate::block::{Block, BlockKey};
use crate::waits::Times;

/// Blocks from one request, by number.
pub(crate) type Fetched = Result<Arc<HashMap<u64, Block>>, Arc<Error>>;

/// A request, for all who wait for its blocks.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    pub(crate) fetched: Shared<BoxFuture<'static, Fetched>>,
    /// When the store had it.
    pub(crate) times: Arc<Times>,
}

/// Blocks that are on their way.
#[derive(Debug, Default)]
pub(crate) struct InFlight(Mutex<HashMap<BlockKey, Waiting>>);

impl InFlight {
    pub(crate) fn lock(&self) -> MutexGuard<'_, HashMap<BlockKey, Waiting>> {
        // The map is whole between statements, so a panic elsewhere does not spoil it.
        self.0.lock()
    }
}
