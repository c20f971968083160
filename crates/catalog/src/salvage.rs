//! Reads as much as possible of a catalog without opening it for writing: for checks next to a
//! running server, and for a rebuild if it can no longer be opened.
//!
//! The objects of the catalog are copied into memory and read there, so the store is unchanged and
//! no writer is fenced. The newest readable manifest is used, then every readable write-ahead file,
//! in order. Unreadable parts are listed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use futures::TryStreamExt;
use model::{BucketEntry, BucketHeader, EventTime, JournalPosition, StreamId};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use object_store_slatedb as theirs;
use serde_json::Value;
use slatedb::config::DbReaderOptions;
use slatedb::{DbReader, DbReaderMode, ValueDeletable, WalReader};
use theirs::ObjectStoreExt as _;
use theirs::memory::InMemory;

use crate::codec::{self, Entry, Shared};
use crate::error::{Result, chain, opened};
use crate::load::packed;
use crate::{Error, Snapshot, Takeover};

/// Maximum number of manifests to try, the newest first.
const MANIFESTS: usize = 16;

/// The readable contents of a catalog.
#[derive(Debug, Clone, Default)]
pub struct Salvaged {
    /// Buckets.
    pub buckets: Vec<BucketEntry>,
    /// Journal positions.
    pub positions: Vec<(StreamId, JournalPosition)>,
    /// Owners of hot sets: indexer, set, epoch, owner.
    pub owners: Vec<Takeover>,
    /// Kind, name and content.
    pub documents: Vec<(String, String, Value)>,
    /// Objects that no bucket refers to.
    pub discarded: Vec<(String, EventTime)>,
    /// What could not be read. If empty, the catalog is complete.
    pub damage: Vec<String>,
    /// How the headers that opening reads from packs differ from their own entries, if they do. The buckets
    /// above are those of the entries. `None` if there is damage.
    pub difference: Option<String>,
    /// Why opening may not use the packs, if the catalog has some: it then takes longer. `None` if there is
    /// damage.
    pub unused_packs: Option<String>,
    /// Objects below the catalog's prefix.
    pub objects: usize,
}

/// Reads as much as possible of the catalog below `path`.
///
/// # Errors
/// [`Error::Store`] if the store cannot be listed or read; damage is not an error.
pub async fn salvage(store: &Arc<dyn ObjectStore>, path: &str) -> Result<Salvaged> {
    let objects = fetch(store, path).await?;
    let mut salvaged = Salvaged { objects: objects.len(), ..Salvaged::default() };
    if objects.is_empty() {
        return Ok(salvaged);
    }
    // Opening does not need entries that repeat headers.
    let (damage, mut of_packs) = (&mut salvaged.damage, Vec::new());
    let mut pairs = compacted(&objects, path, (damage, &mut of_packs)).await;
    apply_write_ahead(&objects, path, &mut pairs, &mut salvaged.damage).await;
    let packed = packed::of_entries(&pairs);
    let mut shared = Shared::default();
    let (mut headers, mut summaries) = (Vec::new(), HashMap::new());
    for (key, value) in pairs {
        if codec::is_repetition(&key) {
            continue;
        }
        match codec::decode(&key, &value, &mut shared) {
            Ok(Entry::Bucket(entry)) => salvaged.buckets.push(*entry),
            Ok(Entry::Header(header)) => headers.push(*header),
            Ok(Entry::Summary(id, summary)) => {
                summaries.insert(id, summary);
            }
            Ok(Entry::Number(_)) => {}
            Ok(Entry::Owner(indexer, set, epoch, owner)) => {
                salvaged.owners.push(Takeover { indexer, set, epoch, owner });
            }
            Ok(Entry::Document { kind, name, json }) => {
                salvaged.documents.push((kind, name, json));
            }
            Ok(Entry::Discarded(path, time)) => salvaged.discarded.push((path, time)),
            Ok(Entry::Position(stream, position)) => salvaged.positions.push((stream, position)),
            Err(damage) => salvaged.damage.push(damage.at(path, &key).to_string()),
        }
    }
    if salvaged.damage.is_empty() {
        let mut has_packs = false;
        match packed {
            Ok(Some(packed)) => {
                salvaged.difference = difference(path, &packed, &headers);
                // Of entries that are left over.
                of_packs.clear();
            }
            Ok(None) => {}
            Err(damage) => {
                has_packs = true;
                of_packs.push(damage.reason());
            }
        }
        let first = of_packs.into_iter().next();
        salvaged.unused_packs = first.map(|reason| unused_packs(path, has_packs, &reason));
    }
    for header in headers {
        match summaries.remove(&header.id) {
            Some(summary) => salvaged.buckets.push(header.with_summary(summary)),
            None => salvaged.damage.push(without_summary(path, &header)),
        }
    }
    salvaged.damage.extend(
        summaries.into_keys().map(|id| {
            format!("catalog \"{path}\" has the summary of bucket {id} and not its header")
        }),
    );
    Ok(salvaged)
}

/// Compares the buckets that opening reads from packs with the headers that have entries.
pub(crate) fn difference(
    path: &str,
    packed: &Snapshot,
    headers: &[BucketHeader],
) -> Option<String> {
    let is_other = |header: &&BucketHeader| packed.bucket(header.id).as_ref() != Some(*header);
    let mut others = headers.iter().filter(is_other);
    let first = others.next();
    if first.is_none() && packed.len() == headers.len() {
        return None;
    }
    let example = first.map(|first| format!(", for example of bucket {}", first.id));
    let (other, all) = (usize::from(first.is_some()) + others.count(), headers.len());
    Some(format!(
        "catalog \"{path}\" is opened from the packed headers of {} buckets, but has entries of {all} \
         headers, and {other} of them differ{}",
        packed.len(),
        example.unwrap_or_default()
    ))
}

/// Describes why opening may read the headers one by one. Packs behind a damaged block are not read here.
/// `has_packs`: false if the list of packs may be in a damaged block, or there is none.
fn unused_packs(path: &str, has_packs: bool, reason: &str) -> String {
    let has = if has_packs { " has packed headers, but" } else { ", if it has packed headers," };
    format!("catalog \"{path}\"{has} may be opened from single ones, which takes longer: {reason}")
}

/// Describes the loss of a bucket that only has a header.
fn without_summary(path: &str, header: &BucketHeader) -> String {
    let BucketHeader { id, index, .. } = header;
    format!("catalog \"{path}\" has bucket {id} of index {index} without its summary")
}

type Objects = BTreeMap<String, Bytes>;
type Pairs = BTreeMap<Vec<u8>, Bytes>;

async fn fetch(store: &Arc<dyn ObjectStore>, path: &str) -> Result<Objects> {
    let failed = |error: object_store::Error| Error::Store {
        path: path.to_owned(),
        what: "read its objects",
        reason: chain(&error),
    };
    let listed = store.list(Some(&Path::from(path)));
    let listed: Vec<_> = listed.try_collect().await.map_err(failed)?;
    let mut objects = Objects::new();
    for meta in listed {
        let bytes = match store.get(&meta.location).await {
            Ok(found) => found.bytes().await.map_err(failed)?,
            // A running server may have deleted it.
            Err(object_store::Error::NotFound { .. }) => continue,
            Err(error) => return Err(failed(error)),
        };
        objects.insert(meta.location.to_string(), bytes);
    }
    Ok(objects)
}

/// Returns an in-memory copy of the objects without some of them.
async fn copy(objects: &Objects, without: &[String]) -> Arc<InMemory> {
    let store = InMemory::new();
    for (path, bytes) in objects.iter().filter(|(path, _)| !without.contains(path)) {
        let put = store.put(&theirs::path::Path::from(path.as_str()), bytes.clone().into()).await;
        put.expect("memory takes every object");
    }
    Arc::new(store)
}

/// Reads the sorted files of the newest readable manifest. Damage of entries that repeat headers is listed
/// apart.
async fn compacted(
    objects: &Objects,
    path: &str,
    (damage, of_packs): (&mut Vec<String>, &mut Vec<String>),
) -> Pairs {
    let folder = format!("{path}/manifest/");
    let manifests = objects.keys().filter(|path| path.starts_with(&folder));
    let manifests: Vec<String> = manifests.rev().take(MANIFESTS).cloned().collect();
    for tried in 0..manifests.len() {
        let store = copy(objects, &manifests[..tried]).await;
        let options = DbReaderOptions { skip_wal_replay: true, ..DbReaderOptions::default() };
        let opening = DbReader::open(path.to_owned(), store, DbReaderMode::FollowLatest, options);
        match Box::pin(opened(path, opening)).await {
            Ok(reader) => {
                let pairs = scan(&reader, (damage, of_packs)).await;
                // Nothing was written, so an error on close is irrelevant.
                let _ = reader.close().await;
                return pairs;
            }
            Err(error) => damage.push(format!("{}: {}", manifests[tried], chain(&error))),
        }
    }
    if manifests.is_empty() {
        damage.push(format!("{folder}: there is no manifest"));
    }
    Pairs::new()
}

/// Reads all entries, kind by kind, so that damage in one kind does not affect the others.
async fn scan(
    reader: &DbReader,
    (damage, of_packs): (&mut Vec<String>, &mut Vec<String>),
) -> Pairs {
    let mut pairs = Pairs::new();
    for kind in codec::KINDS.into_iter().chain(codec::REPETITIONS) {
        let is_needed = codec::KINDS.contains(&kind);
        let damage = if is_needed { &mut *damage } else { &mut *of_packs };
        let failed = |error: &slatedb::Error| {
            let kind = char::from(kind);
            format!("entries of kind '{kind}': {}", chain(error))
        };
        let mut entries = match reader.scan(vec![kind]..vec![kind + 1]).await {
            Ok(entries) => entries,
            Err(error) => {
                damage.push(failed(&error));
                continue;
            }
        };
        loop {
            match entries.next().await {
                Ok(Some(pair)) => pairs.insert(pair.key.to_vec(), pair.value),
                Ok(None) => break,
                Err(error) => {
                    damage.push(failed(&error));
                    break;
                }
            };
        }
    }
    pairs
}

/// Applies the write-ahead files. A file that is already compacted has no newer value of a key than the
/// sorted files, unless a later file has the key too.
async fn apply_write_ahead(
    objects: &Objects,
    path: &str,
    pairs: &mut Pairs,
    damage: &mut Vec<String>,
) {
    let reader = WalReader::new(path, copy(objects, &[]).await);
    let files = match reader.list(..).await {
        Ok(files) => files,
        Err(error) => return damage.push(format!("{path}/wal: {}", chain(&error))),
    };
    for file in files {
        let name = format!("{path}/wal/{:020}.sst", file.id);
        let mut entries = match file.iterator().await {
            Ok(entries) => entries,
            Err(error) => {
                damage.push(format!("{name}: {}", chain(&error)));
                continue;
            }
        };
        loop {
            match entries.next().await {
                Ok(Some(row)) => match row.value {
                    ValueDeletable::Value(value) => {
                        pairs.insert(row.key.to_vec(), value);
                    }
                    ValueDeletable::Tombstone => {
                        pairs.remove(row.key.as_ref());
                    }
                    ValueDeletable::Merge(_) => {
                        damage.push(format!("{name}: an entry of an unknown kind"));
                    }
                },
                Ok(None) => break,
                Err(error) => {
                    damage.push(format!("{name}: {}", chain(&error)));
                    break;
                }
            }
        }
    }
}

/// Copies every object below `path` to the same relative path below `to`; returns their number.
///
/// # Errors
/// [`Error::Store`].
pub async fn copy_aside(store: &Arc<dyn ObjectStore>, path: &str, to: &str) -> Result<usize> {
    let objects = names(store, path).await?;
    for from in &objects {
        let rest = from.as_ref().strip_prefix(path).unwrap_or(from.as_ref());
        let target = Path::from(format!("{to}{rest}"));
        let copied = store.copy(from, &target).await;
        copied.map_err(|error| failed(path, "copy its objects aside", &error))?;
    }
    Ok(objects.len())
}

/// Deletes every object below `path`.
///
/// # Errors
/// [`Error::Store`].
pub async fn clear(store: &Arc<dyn ObjectStore>, path: &str) -> Result<()> {
    for object in names(store, path).await? {
        match store.delete(&object).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
            Err(error) => return Err(failed(path, "delete its objects", &error)),
        }
    }
    Ok(())
}

async fn names(store: &Arc<dyn ObjectStore>, path: &str) -> Result<Vec<Path>> {
    let listed = store.list(Some(&Path::from(path))).map_ok(|meta| meta.location);
    listed.try_collect().await.map_err(|error| failed(path, "list its objects", &error))
}

fn failed(path: &str, what: &'static str, error: &object_store::Error) -> Error {
    Error::Store { path: path.to_owned(), what, reason: chain(error) }
}
