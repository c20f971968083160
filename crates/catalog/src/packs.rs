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
//! packing:  c 7, c 8, ... changed chunks                             some batches
//!           x = [3, 5, 7, 8, ...] of write N, packs 4 and 6 deleted  one batch
//!           w 1 to w N deleted                                       some batches
//! ```
//!
//! The entries of single headers remain the truth. Packs and log are only used if the log has every write
//! after that of the list: an earlier release, which writes neither, leaves a gap, and the headers are then
//! read one by one. A pack is never overwritten while a list has it, so a crash during packing leaves the
//! list before or the list after; packs that belong to no list are overwritten later. Packing is not a write
//! of the catalog: it has no number, and followers do not see it (docs/decisions/0055).

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use slatedb::config::ScanOptions;
use slatedb::{Db, WriteBatch};

use crate::buckets::Chunk;
use crate::codec::{self, Damage, PackList};
use crate::error::{Error, Result};
use crate::snapshot::Snapshot;

/// The headers are packed again when this part of them has changed: a 32nd. It bounds the bytes that packing
/// writes: all headers, at about 45 bytes each, per 32nd that has changed are 1.4 KB per changed header.
pub(crate) const PART: usize = 32;
/// Number of packs that are written together: about 1 MB, so that commits do not wait long behind them.
const WRITTEN_TOGETHER: usize = 24;
/// Number of entries that are deleted together.
const DELETED_TOGETHER: usize = 4_096;
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
}

impl Packed {
    /// Returns what the database has, for a process that already has the newest state.
    pub(crate) async fn of(database: &Db, path: &str, snapshot: &Snapshot) -> Result<Self> {
        let list = list_of(database, path).await?;
        let logged = match &list {
            // The headers that these writes have changed are not counted: that would mean reading them.
            Some(list) => snapshot.number().saturating_sub(list.number),
            None => snapshot.len() as u64,
        };
        Ok(Self { list, logged })
    }
}

/// Returns the list of the packs, if there is one that this release can read.
pub(crate) async fn list_of(database: &Db, path: &str) -> Result<Option<PackList>> {
    let value = database.get(codec::PACK_LIST).await;
    let value = value.map_err(|error| Error::from_database(path, "read", &error))?;
    let Some(value) = value else { return Ok(None) };
    match codec::pack_list(&value) {
        Ok(list) => Ok(Some(list)),
        Err(damage) => {
            let error = damage.at(path, codec::PACK_LIST);
            tracing::warn!(path, %error, "the list of packed headers is not used");
            Ok(None)
        }
    }
}

/// Writes the headers of a state as packs: the chunks that have no pack yet, and the list. `list` is the one
/// that the database has. It must not be cancelled, because `list` would be out of date.
pub(crate) async fn write(
    database: &Db,
    path: &str,
    snapshot: &Snapshot,
    list: &mut Option<PackList>,
) -> Result<()> {
    if list.as_ref().is_some_and(|known| known.number == snapshot.number()) {
        return Ok(());
    }
    if list.is_none() {
        *list = Some(Box::pin(begin(database, path)).await?);
    }
    let list = list.get_or_insert_default();
    let (mut packs, mut unpacked) = (Vec::new(), Vec::new());
    for chunk in snapshot.chunks() {
        let pack = chunk.pack().unwrap_or_else(|| {
            let pack = list.next;
            list.next += 1;
            unpacked.push((pack, Arc::clone(chunk)));
            pack
        });
        packs.push(pack);
    }
    for some in unpacked.chunks(WRITTEN_TOGETHER) {
        let batch = encoded(path, some.to_vec()).await?;
        put(database, path, batch).await?;
        some.iter().for_each(|(pack, chunk)| chunk.set_pack(*pack));
    }
    let kept: HashSet<u64> = packs.iter().copied().collect();
    let (number, cleaned, next) = (snapshot.number(), list.cleaned, list.next);
    let new = PackList { number, cleaned, next, packs };
    let mut batch = WriteBatch::new();
    for pack in list.packs.iter().filter(|pack| !kept.contains(*pack)) {
        batch.delete(codec::pack_key(*pack));
    }
    batch.put(codec::PACK_LIST, codec::pack_list_value(&new));
    put(database, path, batch).await?;
    *list = new;
    if list.cleaned < list.number {
        let entries = codec::log_keys(list.cleaned + 1..list.number + 1);
        Box::pin(delete(database, path, entries)).await?;
        list.cleaned = list.number;
    }
    let (all, written) = (list.packs.len(), unpacked.len());
    tracing::debug!(path, number, packs = all, written, "the headers of buckets are packed");
    Ok(())
}

/// Prepares a database whose packs have no list that this release can read: deletes the list, then the packs.
async fn begin(database: &Db, path: &str) -> Result<PackList> {
    let mut batch = WriteBatch::new();
    batch.delete(codec::PACK_LIST);
    put(database, path, batch).await?;
    Box::pin(delete(database, path, codec::pack_keys(0..u64::MAX))).await?;
    Ok(PackList { next: 1, ..PackList::default() })
}

/// Encodes packs on a thread that may be busy for long.
async fn encoded(path: &str, chunks: Vec<(u64, Arc<Chunk>)>) -> Result<WriteBatch> {
    let encoding = tokio::task::spawn_blocking(move || {
        let mut batch = WriteBatch::new();
        for (pack, chunk) in chunks {
            batch.put(codec::pack_key(pack), codec::pack_value(&chunk.encoded())?);
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
async fn put(database: &Db, path: &str, batch: WriteBatch) -> Result<()> {
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

#[cfg(test)]
mod tests;
