//! Packs: the headers of all buckets a second time, in few entries, from which a large catalog opens fast.
//!
//! The database returns its entries one by one, at about 3 µs each, so reading an entry per bucket takes 15 s
//! for 5 million of them. The headers of a chunk, up to 1,024, are therefore also in one entry, a *pack*. A
//! list has the packs in order, and the number of the write whose state they are. Each write has an entry of
//! a *log*, in the same batch, with the headers that it changes. Opening reads the packs of the list, and
//! applies the log of all later writes (`load::packed`).
//!
//! ```text
//! write N:  h entries, s entries, v = N, w N = the same headers      one batch
//! packing:  y 7, y 8, ... changed chunks                             some batches
//!           x = [3, 5, 7, 8, ...] of write N, packs 4 and 6 deleted  one batch
//!           w 1 to w N deleted                                       some batches
//! ```
//!
//! The entries of single headers remain the truth. Packs and log are only used if the log has every write
//! after that of the list: an earlier release, which writes neither, leaves a gap, and the headers are then
//! read one by one. A pack is never overwritten while a list has it, so a crash during packing leaves the
//! list before or the list after; packs that a killed process has left in no list are overwritten later.
//! Packing is not a write of the catalog: it has no number, and followers do not see it
//! (docs/decisions/0055).

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use futures::future::BoxFuture;
use slatedb::config::ScanOptions;
use slatedb::{Db, WriteBatch};

use crate::buckets::Chunk;
use crate::codec::{self, Batch, Damage, PackList};
use crate::error::{Error, Result};
use crate::snapshot::Snapshot;

/// The headers are packed again when this part of them has changed: a 32nd. It bounds the bytes that packing
/// writes: all headers, at about 45 bytes each, per 32nd that has changed are 1.4 KB per changed header.
const PART: usize = 32;
/// Chunks, each with the number of its pack.
pub(crate) type Numbered = Vec<(u64, Arc<Chunk>)>;

/// Number of entries that are deleted together.
const DELETED_TOGETHER: usize = 4_096;
/// Maximum number of entries that are deleted without having been found: more than the log of a catalog of 5
/// million buckets has when it is packed.
const UNREAD: u64 = 1 << 18;
/// Size of one request when entries to be deleted are looked for, in bytes.
const READ_AHEAD: usize = 256 << 10;

/// What the database has besides the entries of single headers.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    /// The list of the packs; `None` if there is none that this release can read.
    pub(crate) list: Option<PackList>,
    /// Number of writes since the state of the packs, and of the headers that they have changed. Without
    /// usable packs, the number of all headers.
    pub(crate) logged: u64,
    /// Whether the state was read from the packs.
    pub(crate) is_read: bool,
}

impl Packed {
    /// Returns what the database has, for a process that already has the newest state.
    pub(crate) async fn of(database: &Db, path: &str, snapshot: &Snapshot) -> Result<Self> {
        let list = list_of(database, path).await?;
        let mut logged = snapshot.len() as u64;
        if let Some(list) = &list
            && has_log(database, path, list.number, snapshot.number()).await?
        {
            // The headers that these writes have changed are not counted: that would mean reading them.
            logged = snapshot.number() - list.number;
        }
        Ok(Self { list, logged, is_read: false })
    }
}

/// Where packs are written: the database, or that of a simulation. Each operation returns once it is durable.
pub(crate) trait Destination: Sync {
    /// Writes a batch.
    fn put(&self, batch: Batch) -> BoxFuture<'_, Result<()>>;

    /// Writes packs in one batch.
    fn put_packs(&self, chunks: Numbered) -> BoxFuture<'_, Result<()>>;

    /// Deletes the entries of a range of keys.
    fn delete(&self, keys: Range<Vec<u8>>) -> BoxFuture<'_, Result<()>>;

    /// Deletes the log of these writes without reading it.
    fn delete_unread(&self, writes: Range<u64>) -> BoxFuture<'_, Result<()>>;
}

/// An open database, and its path.
struct InDatabase<'a>(&'a Db, &'a str);

impl Destination for InDatabase<'_> {
    fn put(&self, batch: Batch) -> BoxFuture<'_, Result<()>> {
        let mut writes = WriteBatch::new();
        for (key, value) in batch {
            match value {
                Some(value) => writes.put(key, value),
                None => writes.delete(key),
            }
        }
        Box::pin(put(self.0, self.1, writes))
    }

    fn put_packs(&self, chunks: Numbered) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let batch = encoded(self.1, chunks).await?;
            put(self.0, self.1, batch).await
        })
    }

    fn delete(&self, keys: Range<Vec<u8>>) -> BoxFuture<'_, Result<()>> {
        Box::pin(delete(self.0, self.1, keys))
    }

    fn delete_unread(&self, writes: Range<u64>) -> BoxFuture<'_, Result<()>> {
        Box::pin(delete_unread(self.0, self.1, writes))
    }
}

/// Whether the headers are packed again, after a number of writes and of headers that they have changed.
/// `least`: the setting for small catalogs.
pub(crate) fn is_due(logged: u64, buckets: usize, least: usize) -> bool {
    logged >= least.max(buckets / PART) as u64
}

/// Whether the log has the first and the last of the writes after one, up to another one. A release that
/// keeps no log may have made them. A gap between these is not looked for, since that would mean reading the
/// whole log before this process leads. It is there if a process with packs has led after such a release and
/// ended before it had packed: then the next opening is slow, and finds it.
async fn has_log(database: &Db, path: &str, after: u64, upto: u64) -> Result<bool> {
    if after >= upto {
        return Ok(after == upto);
    }
    for write in [after + 1, upto] {
        let entry = database.get(codec::log_key(write)).await;
        match entry.map_err(|error| Error::from_database(path, "read", &error)) {
            Ok(Some(_)) => {}
            Ok(None) | Err(Error::Corrupt { .. }) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Returns the list of the packs, if there is one that this release can read.
pub(crate) async fn list_of(database: &Db, path: &str) -> Result<Option<PackList>> {
    let value = database.get(codec::PACK_LIST).await;
    let list = match value.map_err(|error| Error::from_database(path, "read", &error)) {
        Ok(None) => return Ok(None),
        Ok(Some(value)) => {
            codec::pack_list(&value).map_err(|damage| damage.at(path, codec::PACK_LIST))
        }
        // A block of the database is damaged. The entries of single headers may be intact.
        Err(error @ Error::Corrupt { .. }) => Err(error),
        Err(error) => return Err(error),
    };
    Ok(list.inspect_err(|error| not_used(path, error)).ok())
}

/// Logs why packs are not used. It is no reason to restore the catalog, which the error advises.
pub(crate) fn not_used(path: &str, error: &Error) {
    let reason = match error {
        Error::Corrupt { reason, .. } => reason.clone(),
        other => other.to_string(),
    };
    tracing::warn!(path, reason, "the packed headers of the catalog are not used");
}

/// Writes the headers of a state as packs: the chunks that have no pack yet, some at a time, and the list.
/// `list` is the one that the database has. It must not be cancelled, because `list` would be out of date.
/// After an error, it is not known whether the database has the new list. Then `list` is the former one, with
/// a number of the next pack that is above those of both, so that the packs of neither are overwritten.
pub(crate) async fn write(
    database: &Db,
    path: &str,
    state: (Arc<Snapshot>, usize),
    list: &mut Option<PackList>,
) -> Result<()> {
    Box::pin(write_to(&InDatabase(database, path), path, state, list)).await
}

/// As [`write`], to any destination.
pub(crate) async fn write_to(
    to: &dyn Destination,
    path: &str,
    (snapshot, together): (Arc<Snapshot>, usize),
    list: &mut Option<PackList>,
) -> Result<()> {
    let number = snapshot.number();
    if list.as_ref().is_some_and(|known| known.number == number) {
        return Ok(());
    }
    let (buckets, ids) = snapshot.chunks().fold((0, 0), |sum, chunk| chunk.counted(sum));
    if buckets != snapshot.len() as u64 {
        // Packs of such a state would be what the next process reads.
        let known = snapshot.len();
        let reason = format!(
            "its indexes have {buckets} buckets in memory, and the table of IDs has {known}; restart this \
             process"
        );
        return Err(Error::Store { path: path.to_owned(), what: "pack headers", reason });
    }
    if list.is_none() {
        *list = Some(Box::pin(begin(to, path)).await?);
    }
    let list = list.get_or_insert_default();
    let (mut packs, mut unpacked) = (Vec::new(), Vec::new());
    let mut chunks: Vec<&Arc<Chunk>> = snapshot.chunks().collect();
    // The indexes of a snapshot have no order. In the same order each time, numbers in the list are adjacent.
    chunks.sort_by(|one, other| one.index().cmp(other.index()));
    for chunk in chunks {
        let pack = chunk.pack().unwrap_or_else(|| {
            let pack = list.next;
            list.next += 1;
            unpacked.push((pack, Arc::clone(chunk)));
            pack
        });
        packs.push(pack);
    }
    // Commits copy what they change of a state that is in use.
    drop(snapshot);
    let (all, written) = (packs.len(), unpacked.len());
    let mut unpacked = unpacked.into_iter();
    loop {
        let some: Vec<_> = unpacked.by_ref().take(together.max(1)).collect();
        if some.is_empty() {
            break;
        }
        to.put_packs(some.clone()).await?;
        some.iter().for_each(|(pack, chunk)| chunk.set_pack(*pack));
    }
    let kept: HashSet<u64> = packs.iter().copied().collect();
    let (cleaned, next) = (list.cleaned, list.next);
    let new = PackList { number, buckets, ids, cleaned, next, packs };
    let replaced = list.packs.iter().filter(|pack| !kept.contains(*pack));
    let mut batch: Batch = replaced.map(|pack| (codec::pack_key(*pack), None)).collect();
    batch.insert(codec::PACK_LIST.to_vec(), Some(codec::pack_list_value(&new)));
    to.put(batch).await?;
    *list = new;
    clean_log(to, path, list).await?;
    tracing::debug!(path, number, packs = all, written, "the headers of buckets are packed");
    Ok(())
}

/// Deletes the log of the writes that the packs of a list have.
async fn clean_log(to: &dyn Destination, path: &str, list: &mut PackList) -> Result<()> {
    if list.cleaned < list.number {
        let writes = list.cleaned + 1..list.number + 1;
        match to.delete(codec::log_keys(writes.clone())).await {
            Ok(()) => {}
            Err(Error::Corrupt { reason, .. }) => {
                let (first, last) = (writes.start, list.number);
                tracing::warn!(
                    path,
                    first,
                    last,
                    reason,
                    "a block with the headers that these writes of the catalog have changed is damaged: no \
                     bucket is lost, since headers have entries of their own, but opening the catalog may \
                     take longer; run \"karst catalog check\", which says whether there is other damage"
                );
                to.delete_unread(writes).await?;
            }
            Err(error) => return Err(error),
        }
        list.cleaned = list.number;
    }
    Ok(())
}

/// Prepares a database whose packs have no list that this release can read: deletes the list, then the packs.
/// It must not be cancelled either.
async fn begin(to: &dyn Destination, path: &str) -> Result<PackList> {
    to.put(Batch::from([(codec::PACK_LIST.to_vec(), None)])).await?;
    let packs = codec::pack_keys(0..u64::MAX);
    let next = match to.delete(packs).await {
        Ok(()) => 1,
        // Packs in a damaged block stay. New ones have numbers far above those that are counted from 1.
        Err(error @ Error::Corrupt { .. }) => {
            not_used(path, &error);
            (1 << 62) | (runtime::random::uuid().as_u64_pair().0 >> 2)
        }
        Err(error) => return Err(error),
    };
    Ok(PackList { next, ..PackList::default() })
}

/// Returns key and value of a pack.
pub(crate) fn entry(pack: u64, chunk: &Chunk) -> std::result::Result<(Vec<u8>, Vec<u8>), Damage> {
    Ok((codec::pack_key(pack), codec::pack_value(&chunk.encoded())?))
}

/// Encodes packs on a thread that may be busy for long.
async fn encoded(path: &str, chunks: Numbered) -> Result<WriteBatch> {
    let encoding = tokio::task::spawn_blocking(move || {
        let mut batch = WriteBatch::new();
        for (pack, chunk) in chunks {
            let (key, value) = entry(pack, &chunk)?;
            batch.put(key, value);
        }
        Ok::<_, Damage>(batch)
    });
    let batch = encoding.await.map_err(|error| {
        let (path, reason) = (path.to_owned(), error.to_string());
        Error::Store { path, what: "pack headers", reason }
    })?;
    batch.map_err(|damage| damage.at(path, codec::PACK_LIST))
}

/// Writes a batch; returns once it is durable.
async fn put(database: &Db, path: &str, mut batch: WriteBatch) -> Result<()> {
    // The next process reads when it was written, for its clock ([`crate::ticks`]).
    batch.put(codec::PACKING, codec::PACKING_VALUE);
    let writing = async {
        let handle = database.write(batch).await?;
        database.flush().await?;
        handle.await_durable().await
    };
    let written = Box::pin(writing).await;
    written.map_err(|error| Error::from_database(path, "pack headers", &error))
}

/// Deletes the entries of a range of keys, some at a time.
async fn delete(database: &Db, path: &str, keys: Range<Vec<u8>>) -> Result<()> {
    let read = |error: slatedb::Error| Error::from_database(path, "read", &error);
    let ahead = ScanOptions::default().with_read_ahead_bytes(READ_AHEAD);
    let mut entries = Box::pin(database.scan_with_options(keys, &ahead)).await.map_err(read)?;
    loop {
        let (mut batch, mut count) = (WriteBatch::new(), 0);
        while count < DELETED_TOGETHER
            && let Some(pair) = entries.next().await.map_err(read)?
        {
            batch.delete(&pair.key);
            count += 1;
        }
        if count == 0 {
            return Ok(());
        }
        put(database, path, batch).await?;
    }
}

/// Deletes the log of these writes without reading it. If they are very many, as those before a first list,
/// the log of the older ones stays: it only takes space.
async fn delete_unread(database: &Db, path: &str, writes: Range<u64>) -> Result<()> {
    let first = writes.start.max(writes.end.saturating_sub(UNREAD));
    for from in (first..writes.end).step_by(DELETED_TOGETHER) {
        let mut batch = WriteBatch::new();
        for write in (from..writes.end).take(DELETED_TOGETHER) {
            batch.delete(codec::log_key(write));
        }
        put(database, path, batch).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
