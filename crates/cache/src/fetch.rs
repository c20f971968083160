//! Missing blocks from the store: neighbours in one request, each block once for all who wait.
//!
//! A fetch is a task of its own, so that a search that is cancelled does not fail the others that
//! wait for the same block, and what is on its way still reaches the cache.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use futures::future::{BoxFuture, Shared};
use futures::{FutureExt, StreamExt};
use object_store::path::Path;
use object_store::{Error, GetOptions, GetRange, ObjectStore, Result};

use crate::block::{Block, BlockKey};
use crate::counters::Account;
use crate::store::Blocks;

/// Blocks from one request, by number.
type Fetched = std::result::Result<Arc<HashMap<u64, Block>>, Arc<Error>>;
type Waiting = Shared<BoxFuture<'static, Fetched>>;

/// Blocks that are on their way.
#[derive(Debug, Default)]
pub(crate) struct InFlight(Mutex<HashMap<BlockKey, Waiting>>);

impl InFlight {
    fn lock(&self) -> MutexGuard<'_, HashMap<BlockKey, Waiting>> {
        // The map is whole between statements, so a panic elsewhere does not spoil it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes a run's blocks off the list however its task ends.
struct Landing {
    blocks: Arc<Blocks>,
    keys: Vec<BlockKey>,
}

impl Drop for Landing {
    fn drop(&mut self) {
        let mut flying = self.blocks.in_flight.lock();
        for key in &self.keys {
            flying.remove(key);
        }
    }
}

/// Consecutive blocks that one request brings, some of which nobody asked for.
struct Run {
    first: u64,
    last: u64,
    wanted: Vec<BlockKey>,
}

/// Gets missing blocks, given in ascending order. The result has each that lies in the object.
pub(crate) async fn fetch(
    blocks: &Arc<Blocks>,
    location: &Path,
    missing: &[BlockKey],
    account: &Account,
) -> Result<HashMap<u64, Block>> {
    let mut found = HashMap::new();
    let waiting = claim(blocks, location, missing, account, &mut found);
    let mut landed = futures::stream::iter(waiting).buffer_unordered(usize::MAX);
    while let Some(run) = landed.next().await {
        let run = run.map_err(|error| again(&error))?;
        for key in missing {
            if let Some(block) = run.get(&key.number) {
                found.insert(key.number, block.clone());
            }
        }
    }
    Ok(found)
}

/// Joins fetches under way and starts those that are missing, under one lock so that no block is
/// started twice.
fn claim(
    blocks: &Arc<Blocks>,
    location: &Path,
    missing: &[BlockKey],
    account: &Account,
    found: &mut HashMap<u64, Block>,
) -> Vec<Waiting> {
    let longest = blocks.longest_run();
    let mut waiting: Vec<Waiting> = Vec::new();
    let mut runs: Vec<Run> = Vec::new();
    let mut flying = blocks.in_flight.lock();
    for key in missing {
        if let Some(fetch) = flying.get(key) {
            if !waiting.iter().any(|other| other.ptr_eq(fetch)) {
                waiting.push(fetch.clone());
            }
            continue;
        }
        // It may have landed since it was looked up.
        if let Some(entry) = blocks.cache.memory().get(key) {
            found.insert(key.number, entry.value().clone());
            continue;
        }
        match runs.last_mut() {
            Some(run)
                if key.number - run.last <= blocks.settings.gap_blocks + 1
                    && key.number - run.first < longest =>
            {
                run.last = key.number;
                run.wanted.push(key.clone());
            }
            _ => {
                let (first, last) = (key.number, key.number);
                runs.push(Run { first, last, wanted: vec![key.clone()] });
            }
        }
    }
    for run in runs {
        let keys = run.wanted.clone();
        let fetch = start(Arc::clone(blocks), location.clone(), run, account.clone());
        for key in keys {
            flying.insert(key, fetch.clone());
        }
        waiting.push(fetch);
    }
    waiting
}

fn start(blocks: Arc<Blocks>, location: Path, run: Run, account: Account) -> Waiting {
    let task = tokio::spawn(async move {
        let landing = Landing { blocks, keys: run.wanted.clone() };
        let fetched = get(&landing.blocks, &location, &run, &account).await;
        drop(landing);
        fetched.map(Arc::new).map_err(Arc::new)
    });
    let joined = async move {
        task.await.unwrap_or_else(|error| {
            Err(Arc::new(Error::Generic { store: "cache", source: error.into() }))
        })
    };
    joined.boxed().shared()
}

async fn get(
    blocks: &Blocks,
    location: &Path,
    run: &Run,
    account: &Account,
) -> Result<HashMap<u64, Block>> {
    let permit = blocks.fetches.acquire().await;
    let size = blocks.settings.block_bytes as u64;
    let range = GetRange::Bounded(run.first * size..(run.last + 1) * size);
    let start = Instant::now();
    let options = GetOptions { range: Some(range), ..GetOptions::default() };
    let got = blocks.inner.get_opts(location, options).await?;
    let meta = got.meta.clone();
    let bytes = got.bytes().await?;
    drop(permit);
    account.request(bytes.len() as u64, start.elapsed());
    blocks.remember(&meta);
    let path: Arc<str> = Arc::from(location.as_ref());
    let mut fetched = HashMap::new();
    for (number, chunk) in (run.first..).zip(bytes.chunks(blocks.settings.block_bytes)) {
        // A copy, so that one block that stays does not keep the whole run's memory.
        let block = Block::new(&meta, Bytes::copy_from_slice(chunk));
        let key = BlockKey { path: Arc::clone(&path), number };
        blocks.cache.insert(key, block.clone());
        fetched.insert(number, block);
    }
    blocks.report_use();
    Ok(fetched)
}

/// The error once more for each who waited; what callers decide on keeps its kind.
fn again(error: &Arc<Error>) -> Error {
    let source = Box::new(Arc::clone(error));
    match error.as_ref() {
        Error::NotFound { path, .. } => Error::NotFound { path: path.clone(), source },
        Error::PermissionDenied { path, .. } => {
            Error::PermissionDenied { path: path.clone(), source }
        }
        Error::Unauthenticated { path, .. } => {
            Error::Unauthenticated { path: path.clone(), source }
        }
        _ => Error::Generic { store: "cache", source },
    }
}
