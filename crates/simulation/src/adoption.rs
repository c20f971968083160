//! Recovering the events of an indexer that is gone, step by step as `ingest/adoption.rs` does it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use catalog::{Commit, Takeover};
use ingest::simulation::{Existing, delete, seal};
use model::IndexerId;
use object_store::ObjectStore;
use peers::Registration;
use replication::ReplicaStore;

use crate::Mutant;
use crate::disk::DiskJournal;
use crate::indexer::{Indexer, SetState};
use crate::startup::{fetch, recover_set};
use crate::world::process;

/// Pause after a recovery that failed.
const AGAIN: Duration = Duration::from_secs(5);
/// How often a recovery looks whether its buckets are stored.
const LOOK: Duration = Duration::from_millis(50);

/// Why events are not recovered now.
#[derive(Debug)]
enum Failed {
    /// Another process does it.
    TakenOver,
    For(String),
}

impl From<ingest::Error> for Failed {
    fn from(error: ingest::Error) -> Self {
        Self::For(error.to_string())
    }
}

impl From<catalog::Error> for Failed {
    fn from(error: catalog::Error) -> Self {
        Self::For(error.to_string())
    }
}

/// A log to read.
struct Source {
    store: Arc<dyn ObjectStore>,
    existing: Existing,
}

/// Recovers what the catalog gives to this indexer.
pub(crate) async fn recover(indexer: Arc<Indexer>) {
    let mut changes = indexer.catalog.subscribe();
    loop {
        let snapshot = changes.borrow_and_update().clone();
        let mut taken = snapshot.taken_over();
        let given = taken.find(|taken| taken.owner == indexer.id && taken.indexer != indexer.id);
        let Some(Takeover { indexer: from, .. }) = given else {
            if changes.changed().await.is_err() {
                return;
            }
            continue;
        };
        loop {
            match adopt(&indexer, from).await {
                Ok(()) => break let_go(&indexer, from).await,
                Err(Failed::TakenOver) => break,
                Err(Failed::For(reason)) => {
                    let (own, of) = (indexer.pid(), process(from));
                    let reason = reason.split(':').next().unwrap_or_default();
                    indexer.world.note(format_args!("{own} does not recover {of} yet: {reason}"));
                }
            }
            tokio::time::sleep(AGAIN).await;
        }
    }
}

/// Takes an indexer out of the list of the cluster, if all that it can have acknowledged is stored.
async fn let_go(indexer: &Indexer, from: IndexerId) {
    let id = from.to_string();
    let all = Registration::all(&indexer.catalog.snapshot());
    let Some((_, known)) = all.into_iter().find(|(known, _)| *known == id) else { return };
    if known.local_acks {
        return;
    }
    let left = peers::leave(&indexer.catalog, &id).await;
    let (own, of) = (indexer.pid(), process(from));
    indexer.world.note(format_args!("{own} takes {of} out of the list: {}", left.is_ok()));
}

async fn adopt(indexer: &Arc<Indexer>, from: IndexerId) -> Result<(), Failed> {
    let (own, of) = (indexer.pid(), process(from));
    indexer.world.note(format_args!("{own} recovers {of}"));
    let existing = sealed(indexer, indexer.store.as_ref(), from).await?;
    let epochs = own_sets(indexer, from).await?;
    let mut sources =
        vec![Source { store: Arc::clone(&indexer.store), existing: existing.clone() }];
    if indexer.replicas.has_copies(from) {
        let store: Arc<dyn ObjectStore> = Arc::new(ReplicaStore(Arc::clone(&indexer.replicas)));
        let existing = sealed(indexer, store.as_ref(), from).await?;
        sources.push(Source { store, existing });
    }
    let newest = epochs.values().copied().max().unwrap_or_default();
    prepare(indexer, from, newest, &sources).await?;
    for (set, epoch) in &epochs {
        recover_one(indexer, (from, *set), *epoch).await;
    }
    indexer.memory.lock().hot.adopted.insert(from);
    indexer.world.note(format_args!("{own} has the events of {of}"));
    for set in epochs.keys() {
        let streams = indexer.memory.lock().hot.open_streams((from, *set));
        streams.iter().for_each(|stream| indexer.roll(stream));
    }
    if !indexer.world.is(Mutant::HandsBackBeforeStored)
        && let Err(failed) = stored(indexer, from, &epochs).await
    {
        forget(indexer, from, &epochs);
        indexer.idle().await;
        return Err(failed);
    }
    hand_back(indexer, from, &epochs, &existing).await?;
    forget(indexer, from, &epochs);
    let mut state = indexer.world.state();
    if let Some(machine) = state.machines.get_mut(&own) {
        machine.journals.retain(|set, _| set.0 != from);
        machine.fetched.remove(&from);
    }
    drop(state);
    indexer.world.note(format_args!("{own} has stored the events of {of}"));
    Ok(())
}

async fn sealed(
    indexer: &Indexer,
    store: &dyn ObjectStore,
    from: IndexerId,
) -> Result<Existing, Failed> {
    match indexer.world.is(Mutant::RecoversWithoutSeal) {
        true => Ok(Existing::list(store, from).await?),
        false => Ok(seal(store, from).await?),
    }
}

/// The sets that are this indexer's, with their epochs. Those of their former owner are taken over.
async fn own_sets(indexer: &Indexer, from: IndexerId) -> Result<BTreeMap<u16, u64>, Failed> {
    let snapshot = indexer.catalog.snapshot();
    let mut commit = Commit::default();
    let mut epochs = BTreeMap::new();
    for taken in snapshot.taken_over().filter(|taken| taken.indexer == from) {
        let Takeover { set, epoch, owner, .. } = taken;
        if owner != indexer.id && owner != from {
            return Err(Failed::TakenOver);
        }
        let own = if owner == indexer.id { epoch } else { epoch + 1 };
        if own != epoch {
            let taken = Takeover { indexer: from, set, epoch: own, owner: indexer.id };
            commit.take_over.push(taken);
        }
        epochs.insert(set, own);
    }
    if !commit.take_over.is_empty() {
        indexer.catalog.commit(commit).await?;
    }
    Ok(epochs)
}

/// Reads the logs to the disk, unless that was done in this epoch.
async fn prepare(
    indexer: &Indexer,
    from: IndexerId,
    newest: u64,
    sources: &[Source],
) -> Result<(), Failed> {
    {
        let mut state = indexer.world.state();
        let machine = state.machines.entry(indexer.pid()).or_default();
        if machine.fetched.get(&from) == Some(&newest) {
            return Ok(());
        }
        machine.journals.retain(|set, _| set.0 != from);
        machine.fetched.remove(&from);
    }
    if sources.iter().all(|source| source.existing.with_records().is_empty()) {
        return Ok(());
    }
    let mut all: BTreeMap<u16, DiskJournal> = BTreeMap::new();
    for source in sources {
        let read = fetch(&source.store, from, source.existing.with_records()).await?;
        for (set, records) in read {
            let journal = all.entry(set).or_default();
            records.into_iter().for_each(|record| journal.append(record));
        }
    }
    indexer.world.sync().await;
    let mut state = indexer.world.state();
    let machine = state.machines.entry(indexer.pid()).or_default();
    for (set, mut journal) in all {
        journal.mark = model::JournalPosition::default();
        machine.journals.insert((from, set), journal);
    }
    machine.fetched.insert(from, newest);
    Ok(())
}

async fn recover_one(indexer: &Indexer, set: (IndexerId, u16), epoch: u64) {
    let is_there = {
        let state = indexer.world.state();
        let machine = state.machines.get(&indexer.pid());
        machine.is_some_and(|machine| machine.journals.contains_key(&set))
    };
    if !is_there {
        return;
    }
    indexer.memory.lock().hot.own(set, epoch);
    let of_set = |indexer: &Indexer| {
        let positions = indexer.catalog.snapshot().positions(set.0).into_iter();
        positions.filter(|(stream, _)| stream.set == set.1).collect::<Vec<_>>()
    };
    let committed: BTreeMap<_, _> = of_set(indexer)
        .into_iter()
        .map(|(stream, position)| ((stream.index, stream.lane), position))
        .collect();
    recover_set(indexer, set, &committed, true);
    indexer.memory.lock().states.insert(set, SetState { committed });
    // What was committed during the recovery has released nothing yet.
    for (stream, position) in of_set(indexer) {
        indexer.release(&stream, position);
    }
}

/// Waits until everything of the sets is in the catalog.
async fn stored(
    indexer: &Indexer,
    from: IndexerId,
    epochs: &BTreeMap<u16, u64>,
) -> Result<(), Failed> {
    loop {
        let is_stored = {
            let state = indexer.world.state();
            let machine = state.machines.get(&indexer.pid());
            let mut journals = machine.into_iter().flat_map(|machine| &machine.journals);
            journals.all(|(set, journal)| set.0 != from || journal.segments.is_empty())
        };
        if is_stored {
            return Ok(());
        }
        let snapshot = indexer.catalog.snapshot();
        if epochs.keys().any(|set| snapshot.owner(from, *set).1 != indexer.id) {
            return Err(Failed::TakenOver);
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Deletes the logs, and gives the sets back to the indexer that had them.
async fn hand_back(
    indexer: &Indexer,
    from: IndexerId,
    epochs: &BTreeMap<u16, u64>,
    existing: &Existing,
) -> Result<(), Failed> {
    let newest = existing.next().saturating_sub(1);
    let seals = existing.seals().iter().filter(|number| **number != newest);
    let gone: Vec<u64> = existing.with_records().iter().chain(seals).copied().collect();
    delete(&indexer.store, from, gone).await;
    indexer.replicas.forget(from).await?;
    let returned = |(set, epoch): (&u16, &u64)| Takeover {
        indexer: from,
        set: *set,
        epoch: epoch + 1,
        owner: from,
    };
    let take_over = epochs.iter().map(returned).collect();
    indexer.catalog.commit(Commit { take_over, ..Commit::default() }).await?;
    Ok(())
}

fn forget(indexer: &Indexer, from: IndexerId, epochs: &BTreeMap<u16, u64>) {
    let mut memory = indexer.memory.lock();
    memory.hot.adopted.remove(&from);
    for set in epochs.keys() {
        memory.states.remove(&(from, *set));
        memory.hot.disown((from, *set));
    }
}
