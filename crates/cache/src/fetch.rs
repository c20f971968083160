//! Fetches missing blocks from the store: neighbours with one request, each block once for all readers.
//!
//! Each fetch is a task of its own: cancelling a search does not fail the others that wait for the same
//! block, and blocks already requested still reach the cache. Fetches run on the runtime that opened the
//! cache, so that a search that computes for long does not delay the reads of others.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use futures::future::{Either, select};
use futures::{FutureExt, StreamExt};
use object_store::path::Path;
use object_store::{Error, GetOptions, GetRange, ObjectMeta, ObjectStore, Result};
use runtime::metrics as names;
use runtime::store::Attempts;

use crate::block::{Block, BlockKey, Kind};
use crate::blocks::Blocks;
use crate::counters::Account;
use crate::in_flight::Waiting;
use crate::waits::Times;

/// Removes the blocks of a run from the list of requests in flight, however its task ends.
struct Landing {
    blocks: Arc<Blocks>,
    kind: Kind,
    keys: Vec<BlockKey>,
}

impl Drop for Landing {
    fn drop(&mut self) {
        let mut flying = self.blocks.pool(self.kind).in_flight.lock();
        for key in &self.keys {
            flying.remove(key);
        }
    }
}

/// Consecutive blocks that are fetched with one request, including unwanted ones in gaps.
struct Run {
    first: u64,
    last: u64,
    wanted: Vec<BlockKey>,
}

/// Fetches missing blocks, given in ascending order. The result has each block that lies in the object.
pub(crate) async fn fetch(
    blocks: &Arc<Blocks>,
    kind: Kind,
    location: &Path,
    missing: &[BlockKey],
    account: &Account,
) -> Result<HashMap<u64, Block>> {
    let mut found = HashMap::new();
    let waiting = claim(blocks, kind, location, missing, account, &mut found);
    // Includes blocks that another search is fetching; this one waits for the remaining time only.
    let waiting: Vec<_> = waiting
        .into_iter()
        .map(|Waiting { fetched, times }| {
            let wait = account.wait(times);
            async move {
                let fetched = fetched.await;
                drop(wait);
                fetched
            }
        })
        .collect();
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
    kind: Kind,
    location: &Path,
    missing: &[BlockKey],
    account: &Account,
    found: &mut HashMap<u64, Block>,
) -> Vec<Waiting> {
    let (pool, longest, gap) = (blocks.pool(kind), blocks.longest_run(kind), blocks.gap(kind));
    let mut waiting: Vec<Waiting> = Vec::new();
    let mut runs: Vec<Run> = Vec::new();
    let mut flying = pool.in_flight.lock();
    for key in missing {
        if let Some(fetch) = flying.get(key) {
            if !waiting.iter().any(|other| other.fetched.ptr_eq(&fetch.fetched)) {
                waiting.push(fetch.clone());
            }
            continue;
        }
        // The block may have arrived since the lookup.
        if let Some(block) = pool.in_dram(key) {
            found.insert(key.number, block);
            continue;
        }
        match runs.last_mut() {
            Some(run) if key.number - run.last <= gap + 1 && key.number - run.first < longest => {
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
        let fetch = start(Arc::clone(blocks), kind, location.clone(), run, account.clone());
        for key in keys {
            flying.insert(key, fetch.clone());
        }
        waiting.push(fetch);
    }
    waiting
}

fn start(blocks: Arc<Blocks>, kind: Kind, location: Path, run: Run, account: Account) -> Waiting {
    let io = blocks.io.clone();
    let times = Arc::new(Times::default());
    let of_request = Arc::clone(&times);
    let task = io.spawn(async move {
        let landing = Landing { blocks, kind, keys: run.wanted.clone() };
        let request = (&account, &*of_request);
        let fetched = get(&landing.blocks, kind, &location, &run, request).await;
        drop(landing);
        fetched.map(Arc::new).map_err(Arc::new)
    });
    let joined = async move {
        task.await.unwrap_or_else(|error| {
            Err(Arc::new(Error::Generic { store: "cache", source: error.into() }))
        })
    };
    Waiting { fetched: joined.boxed().shared(), times }
}

async fn get(
    blocks: &Blocks,
    kind: Kind,
    location: &Path,
    run: &Run,
    (account, times): (&Account, &Times),
) -> Result<HashMap<u64, Block>> {
    let pool = blocks.pool(kind);
    let size = pool.block_bytes as u64;
    let permit = blocks.requests.acquire().await;
    let start = Instant::now();
    let range = run.first * size..(run.last + 1) * size;
    times.send();
    account.request();
    let got = hedged(blocks, location, &range, account).await;
    times.answer();
    let (meta, bytes) = got?;
    drop(permit);
    account.answer(bytes.len() as u64, start.elapsed());
    if !account.is_warming {
        pool.reuse.fetched(run.wanted.len());
    }
    blocks.remember(&meta);
    let path: Arc<str> = Arc::from(location.as_ref());
    let mut fetched = HashMap::new();
    for (number, chunk) in (run.first..).zip(bytes.chunks(pool.block_bytes)) {
        // Copied: a slice would keep the memory of the whole run while any of its blocks is cached.
        let block = Block::new(&meta, Bytes::copy_from_slice(chunk));
        let key = BlockKey { path: Arc::clone(&path), number };
        pool.insert(key, block.clone());
        fetched.insert(number, block);
    }
    pool.report_use();
    Ok(fetched)
}

/// Reads one range, with a hedged request if the first one is slow; the first answer is used.
async fn hedged(
    blocks: &Blocks,
    location: &Path,
    range: &Range<u64>,
    account: &Account,
) -> Result<(ObjectMeta, Bytes)> {
    let (start, length) = (Instant::now(), range.end - range.start);
    let wait = blocks.hedging().begin(length);
    let mut first = pin!(request(blocks, location, range, account));
    let got = match wait {
        None => first.await,
        Some(wait) => match select(first.as_mut(), pin!(tokio::time::sleep(wait))).await {
            Either::Left((got, _)) => got,
            Either::Right(_) => {
                // If all permits are taken, another request would only slow down the others.
                let permit = blocks.requests.try_acquire();
                if permit.is_ok() && blocks.hedging().spend() {
                    account.hedge();
                    let second = pin!(request(blocks, location, range, account));
                    sooner(first, second).await
                } else {
                    first.await
                }
            }
        },
    };
    if got.is_ok() {
        blocks.hedging().observe(length, start.elapsed());
    }
    got
}

/// The result of the first request that succeeds.
async fn sooner<T>(
    first: impl Future<Output = Result<T>> + Unpin,
    second: impl Future<Output = Result<T>> + Unpin,
) -> Result<T> {
    let outcome =
        |outcome| metrics::counter!(names::CACHE_HEDGES, "outcome" => outcome).increment(1);
    let (got, by) = match select(first, second).await {
        Either::Left((Ok(got), _)) => (Ok(got), "first"),
        Either::Right((Ok(got), _)) => (Ok(got), "second"),
        Either::Left((Err(_), second)) => (second.await, "second"),
        Either::Right((Err(_), first)) => (first.await, "first"),
    };
    outcome(if got.is_ok() { by } else { "failed" });
    got
}

/// Sends one request, including the retries of the store, which are counted.
async fn request(
    blocks: &Blocks,
    location: &Path,
    range: &Range<u64>,
    account: &Account,
) -> Result<(ObjectMeta, Bytes)> {
    let attempts = Attempts::default();
    let range = Some(GetRange::Bounded(range.clone()));
    let mut options = GetOptions { range, ..GetOptions::default() };
    options.extensions.insert(attempts.clone());
    let read = async {
        let got = blocks.inner.get_opts(location, options).await?;
        let meta = got.meta.clone();
        Ok((meta, got.bytes().await?))
    };
    let got = read.await;
    account.retries(u64::from(attempts.retries()));
    got
}

/// Copies an error for each waiting reader. Kinds that callers handle differently are kept.
fn again(error: &Arc<Error>) -> Error {
    let source = Box::new(Cause(Arc::clone(error)));
    match error.as_ref() {
        Error::NotFound { path, .. } => Error::NotFound { path: path.clone(), source },
        Error::PermissionDenied { path, .. } => {
            Error::PermissionDenied { path: path.clone(), source }
        }
        Error::Unauthenticated { path, .. } => {
            Error::Unauthenticated { path: path.clone(), source }
        }
        Error::Generic { store, .. } => Error::Generic { store, source },
        _ => Error::Generic { store: "cache", source },
    }
}

/// The shared cause of a copied error. Its message omits the kind, which the copy states.
#[derive(Debug)]
struct Cause(Arc<Error>);

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_ref() {
            Error::Generic { source, .. } => source.fmt(f),
            other => other.fmt(f),
        }
    }
}

impl std::error::Error for Cause {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(self.0.as_ref())
    }
}
