//! Uploads and commits rolled buckets, in the order in which they rolled.

use std::sync::Arc;
use std::time::Duration;

use catalog::Commit;
use inputs::Durability;
use model::{BucketEntry, BucketState, BucketSummary, EventTime};
use object_store::path::Path;
use object_store::{PutMode, PutOptions, PutPayload};
use tokio::sync::oneshot;

use crate::Mutant;
use crate::hot::Rolled;
use crate::indexer::Indexer;

/// First and longest pause between attempts.
const RETRY: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(30));

/// Starts the upload of a bucket.
pub(crate) fn submit(indexer: &Arc<Indexer>, rolled: Arc<Rolled>) {
    indexer.world.truth(|truth| truth.rolled(&rolled));
    indexer.uploads.send_modify(|waiting| *waiting += 1);
    let (finished, after) = oneshot::channel();
    let before = indexer.memory.lock().before.insert(rolled.stream.clone(), after);
    let own = Arc::clone(indexer);
    indexer.life.spawn(async move {
        if store(&own, &rolled, before).await {
            // Dropping the sender instead tells the successor not to commit.
            let _ = finished.send(());
            own.uploads.send_modify(|waiting| *waiting -= 1);
        }
    });
}

async fn store(indexer: &Indexer, rolled: &Rolled, before: Option<oneshot::Receiver<()>>) -> bool {
    // Time of encoding.
    indexer.world.sleep(5, 60).await;
    let entry = entry(rolled);
    put(indexer, rolled).await;
    if let Some(before) = before
        && before.await.is_err()
    {
        return false;
    }
    if indexer.world.is(Mutant::ReleasesBeforeCommit) {
        indexer.release(&rolled.stream, rolled.upto);
        indexer.world.sleep(100, 1000).await;
    }
    if indexer.world.is(Mutant::HidesBeforeCommit) {
        indexer.memory.lock().hot.remove(rolled);
        indexer.world.sleep(100, 1000).await;
    }
    let Some(outcome) = commit(indexer, rolled, entry).await else { return false };
    for waiter in std::mem::take(&mut *rolled.waiting.lock()) {
        // The caller may have ended.
        let _ = waiter.send(Durability::Remote);
    }
    indexer.memory.lock().hot.remove(rolled);
    if outcome == Outcome::Stored {
        indexer.release(&rolled.stream, rolled.upto);
    }
    true
}

/// The outcome for a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The bucket is committed.
    Stored,
    /// Another process stores its events.
    Dropped,
}

fn entry(rolled: &Rolled) -> BucketEntry {
    let times = || rolled.events.iter().map(|e| EventTime(i64::try_from(e.number).unwrap_or(0)));
    let (first, last) = (times().min().unwrap_or_default(), times().max().unwrap_or_default());
    let rows = rolled.events.len() as u64;
    BucketEntry {
        id: rolled.id,
        index: rolled.stream.index.clone(),
        path: rolled.path.clone(),
        size: 8 * rows,
        state: BucketState::Warm,
        summary: Arc::new(BucketSummary::bare(rows, first, last)),
    }
}

/// Uploads the object, with retries until it exists.
async fn put(indexer: &Indexer, rolled: &Rolled) {
    let content: Vec<u8> = rolled.events.iter().flat_map(|e| e.number.to_le_bytes()).collect();
    let (path, mut pause) = (Path::from(rolled.path.as_str()), RETRY.0);
    loop {
        let payload = PutPayload::from(content.clone());
        let put = indexer.store.put_opts(&path, payload, PutOptions::from(PutMode::Create));
        match put.await {
            // Names are unique, so that an existing object is from an earlier attempt whose answer was
            // lost.
            Ok(_) | Err(object_store::Error::AlreadyExists { .. }) => return,
            Err(_) => tokio::time::sleep(pause).await,
        }
        pause = (pause * 2).min(RETRY.1);
    }
}

/// Commits until the outcome is known; `None` if another process owns the set.
async fn commit(indexer: &Indexer, rolled: &Rolled, entry: BucketEntry) -> Option<Outcome> {
    let mut pause = RETRY.0;
    loop {
        let (add, ranges) = (vec![entry.clone()], vec![rolled.range()]);
        let committed = indexer.catalog.commit(Commit { add, ranges, ..Commit::default() }).await;
        match committed {
            Ok(()) => return Some(Outcome::Stored),
            Err(catalog::Error::OldEpoch { .. }) if rolled.stream.indexer != indexer.id => {
                return Some(Outcome::Dropped);
            }
            Err(catalog::Error::OldEpoch { .. }) => {
                indexer.fence.close("taken over");
                return None;
            }
            Err(error) => {
                indexer.world.refused(indexer.pid(), &error);
                tokio::time::sleep(pause).await;
            }
        }
        pause = (pause * 2).min(RETRY.1);
    }
}
