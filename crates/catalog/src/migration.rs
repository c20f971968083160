//! Catalogs that have buckets as one entry: opening replaces each by a header and a summary.
//!
//! The entries of a bucket are replaced in one write. If a process is killed meanwhile, some buckets are
//! replaced and others are not, and the next process continues.

use model::BucketHeader;
use slatedb::config::ScanOptions;
use slatedb::{Db, WriteBatch};

use crate::Error;
use crate::codec::{self, Entry, Shared};
use crate::error::Result;

/// Number of buckets in one write.
const AT_A_TIME: usize = 500;

/// Replaces all entries of whole buckets; returns their number.
pub(crate) async fn split_buckets(database: &Db, path: &str) -> Result<usize> {
    let mut count = 0;
    let mut from = codec::WHOLE_BUCKETS.start.to_vec();
    while let Some((replaced, last)) = split_some(database, path, &from).await? {
        if count == 0 {
            tracing::info!(path, "the catalog is of an earlier version; its buckets are rewritten");
        }
        count += replaced;
        from = last;
        from.push(0);
    }
    if count > 0 {
        tracing::info!(path, buckets = count, "the catalog has been migrated to this version");
    }
    Ok(count)
}

/// Replaces the next entries. Returns their number and the last key, or `None` if there are none.
async fn split_some(database: &Db, path: &str, from: &[u8]) -> Result<Option<(usize, Vec<u8>)>> {
    let read = |error: slatedb::Error| Error::from_database(path, "read", &error);
    let ahead = ScanOptions::default().with_read_ahead_bytes(1 << 20);
    let range = from.to_vec()..codec::WHOLE_BUCKETS.end.to_vec();
    let mut entries = database.scan_with_options(range, &ahead).await.map_err(read)?;
    let (mut count, mut last) = (0, None);
    let mut batch = WriteBatch::new();
    // This write is not in the log, so no packs may be read.
    batch.delete(codec::PACK_LIST);
    while count < AT_A_TIME
        && let Some(pair) = entries.next().await.map_err(read)?
    {
        let damaged = |damage: codec::Damage| damage.at(path, &pair.key);
        let decoded = codec::decode(&pair.key, &pair.value, &mut Shared::default());
        let Entry::Bucket(entry) = decoded.map_err(damaged)? else { continue };
        let (summary, fingerprint) = codec::summary_value(&entry.summary).map_err(damaged)?;
        let header = BucketHeader { fingerprint, ..BucketHeader::of(&entry) };
        batch.put(codec::header_key(&entry.index, entry.id), codec::header_value(&header));
        batch.put(codec::summary_key(entry.id), summary);
        batch.delete(&pair.key);
        last = Some(pair.key.to_vec());
        count += 1;
    }
    let Some(last) = last else { return Ok(None) };
    let writing = async {
        let handle = database.write(batch).await?;
        database.flush().await?;
        handle.await_durable().await
    };
    let written = Box::pin(writing).await;
    written.map_err(|error| Error::from_database(path, "rewrite its buckets", &error))?;
    Ok(Some((count, last)))
}
