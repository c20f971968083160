//! Recovers the events of a lost indexer, with the same steps as `ingest/adoption.rs` and the server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use catalog::{Commit, JournalRange, Takeover};
use ingest::simulation::{Existing, delete, seal};
use model::{IndexerId, JournalPosition, StreamId};
use object_store::ObjectStore;
use peers::Registration;
use replication::{NamedCopies, ReplicaStore};

use crate::Mutant;
use crate::disk::{DiskJournal, SetKey};
use crate::indexer::{Indexer, SetState};
use crate::startup::{fetch, recover_set};
use crate::world::process;

/// Pause after a failed recovery.
const AGAIN: Duration = Duration::from_secs(5);
/// Interval in which a recovery checks whether its buckets are stored.
const LOOK: Duration = Duration::from_millis(50);
/// First and longest pause between attempts to give sets back.
const RETRY: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(30));

/// Why a recovery stopped.
#[derive(Debug)]
enum Failed {
    /// Another process has taken over the recovery.
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

/// What this process has done so far for the indexers that it recovers.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// The epochs that this process has begun.
    epochs: BTreeMap<SetKey, u64>,
    /// The epochs in which this process sealed logs in object storage, with the numbers of the seals.
    seals: BTreeMap<IndexerId, (u64, u64)>,
}

/// The sets of a lost indexer that this indexer owns, with their epochs.
#[derive(Debug, Default)]
struct Owned {
    epochs: BTreeMap<u16, u64>,
    /// The newest epoch in which this process or an earlier life of it owned all of the sets, if they had
    /// no other owner since.
    before: Option<u64>,
}

impl Owned {
    fn newest(&self) -> u64 {
        self.epochs.values().copied().max().unwrap_or_default()
    }
}

/// A log to be read.
struct Source {
    store: Arc<dyn ObjectStore>,
    existing: Existing,
}

/// The sealed logs of an indexer.
struct Sealed {
    existing: Existing,
    copies: Option<NamedCopies>,
    sources: Vec<Source>,
    has_lost_copies: bool,
}

/// Recovers the indexers that the catalog assigns to this one. An indexer whose journal cannot be read yet
/// does not block the others, because one of them may have a copy of that journal.
pub(crate) async fn recover(indexer: Arc<Indexer>) {
    let mut changes = indexer.catalog.subscribe();
    // Registrations as of the assignment of the sets: a lost indexer may start again as soon as its sets
    // are given back.
    let mut gone: BTreeMap<IndexerId, Option<Registration>> = BTreeMap::new();
    loop {
        let snapshot = changes.borrow_and_update().clone();
        let taken = snapshot.taken_over();
        let given = taken.filter(|taken| taken.owner == indexer.id && taken.indexer != indexer.id);
        let given: BTreeSet<IndexerId> = given.map(|taken| taken.indexer).collect();
        gone.retain(|from, _| given.contains(from));
        for from in given {
            let registered = || Registration::of(&snapshot, &from.to_string());
            gone.entry(from).or_insert_with(registered);
        }
        let mut is_done = true;
        for (from, registered) in &gone {
            is_done &= recover_from(&indexer, *from, registered.as_ref()).await;
        }
        if !is_done {
            tokio::time::sleep(AGAIN).await;
        } else if changes.changed().await.is_err() {
            return;
        }
    }
}

/// Recovers an indexer if it is assigned to this one; `false` if it has to be retried.
async fn recover_from(
    indexer: &Arc<Indexer>,
    from: IndexerId,
    registered: Option<&Registration>,
) -> bool {
    let snapshot = indexer.catalog.snapshot();
    let mut taken = snapshot.taken_over();
    if !taken.any(|taken| taken.indexer == from && taken.owner == indexer.id) {
        return true;
    }
    let (own, of) = (indexer.pid(), process(from));
    let has_lost_copies = match adopt(indexer, from).await {
        Ok(has_lost_copies) => has_lost_copies,
        Err(Failed::TakenOver) => return true,
        Err(Failed::For(reason)) => {
            indexer.world.note(format_args!("{own} does not recover {of} yet: {reason}"));
            return false;
        }
    };
    let known = registered.filter(|known| !known.local_acks);
    if let Some(known) = known.filter(|_| has_lost_copies) {
        let id = from.to_string();
        // Retried with the recovery, because the leader assigns it again.
        let _ = peers::note_local_acks(&indexer.catalog, &id, &known.started).await;
    } else if let Some(known) = known {
        let left = peers::leave(&indexer.catalog, &from.to_string(), &known.started).await;
        let is_out = left.is_ok_and(|is_out| is_out);
        indexer.world.note(format_args!("{own} takes {of} out of the list: {is_out}"));
    }
    true
}

/// Adopts the sets of an indexer. Returns whether all copies of its journal were lost.
async fn adopt(indexer: &Arc<Indexer>, from: IndexerId) -> Result<bool, Failed> {
    let (own, of) = (indexer.pid(), process(from));
    indexer.world.note(format_args!("{own} recovers {of}"));
    let snapshot = indexer.catalog.snapshot();
    let known = snapshot.taken_over().filter(|taken| taken.indexer == from);
    let mut owned = take(indexer, from, known.map(|taken| taken.set).collect()).await?;
    let is_fetched = prepare(indexer, from, &owned);
    let sealed = seal_all(indexer, from, owned.newest(), is_fetched).await?;
    if !is_fetched {
        read(indexer, from, owned.newest(), &sealed.sources).await?;
    }
    let unlisted = {
        let state = indexer.world.state();
        let machine = state.machines.get(&own);
        let sets = machine.into_iter().flat_map(|machine| machine.journals.keys());
        let found = sets.filter(|set| set.0 == from).map(|set| set.1);
        found.filter(|set| !owned.epochs.contains_key(set)).collect()
    };
    owned.epochs.extend(take(indexer, from, unlisted).await?.epochs);
    let epochs = owned.epochs;
    for (set, epoch) in &epochs {
        recover_one(indexer, (from, *set), *epoch).await;
    }
    let has_lost_copies = sealed.has_lost_copies;
    if !has_lost_copies {
        indexer.memory.lock().hot.adopted.insert(from, epochs.clone());
    }
    indexer.world.note(format_args!("{own} has the events of {of}"));
    for set in epochs.keys() {
        let streams = indexer.memory.lock().hot.open_streams((from, *set));
        streams.iter().for_each(|stream| indexer.roll(stream));
    }
    let stored = match indexer.world.is(Mutant::HandsBackBeforeStored) {
        true => Ok(()),
        false => stored(indexer, from, &epochs).await,
    };
    let done = match stored {
        Ok(()) => hand_back(indexer, from, &epochs).await,
        failed => failed,
    };
    forget(indexer, from, &epochs);
    if let Err(failed) = done {
        // Buckets of this attempt that are being uploaded must be committed before the sets are given back.
        indexer.idle().await;
        return Err(failed);
    }
    clear(indexer, from, sealed).await;
    if let Some(machine) = indexer.world.state().machines.get_mut(&own) {
        machine.journals.retain(|set, _| set.0 != from);
        machine.fetched.remove(&from);
    }
    indexer.world.note(format_args!("{own} has stored the events of {of}"));
    Ok(has_lost_copies)
}

/// Takes ownership of sets, in epochs that this process has begun.
async fn take(indexer: &Indexer, from: IndexerId, sets: Vec<u16>) -> Result<Owned, Failed> {
    let snapshot = indexer.catalog.snapshot();
    let mut commit = Commit::default();
    let (mut owned, mut before) = (Owned::default(), Some(0));
    for set in sets {
        let (epoch, owner) = snapshot.owner(from, set);
        if owner != indexer.id && owner != from {
            return Err(Failed::TakenOver);
        }
        let begun = indexer.progress.lock().epochs.get(&(from, set)).copied();
        let is_own = owner == indexer.id;
        before = before.filter(|_| is_own).map(|before: u64| before.max(epoch));
        let own = if is_own && begun == Some(epoch) { epoch } else { epoch + 1 };
        if own != epoch {
            let taken = Takeover { indexer: from, set, epoch: own, owner: indexer.id };
            commit.take_over.push(taken);
        }
        owned.epochs.insert(set, own);
    }
    if !commit.take_over.is_empty() {
        indexer.catalog.commit(commit).await?;
    }
    let of_set = |(set, epoch): (&u16, &u64)| ((from, *set), *epoch);
    indexer.progress.lock().epochs.extend(owned.epochs.iter().map(of_set));
    owned.before = before.filter(|before| *before > 0);
    Ok(owned)
}

/// Removes the data of earlier recoveries of the indexer, except for events read in the previous epoch;
/// returns whether there are such events.
fn prepare(indexer: &Indexer, from: IndexerId, owned: &Owned) -> bool {
    let mut state = indexer.world.state();
    let machine = state.machines.entry(indexer.pid()).or_default();
    let fetched = machine.fetched.get(&from).copied();
    if fetched.is_some() && (fetched == Some(owned.newest()) || fetched == owned.before) {
        machine.fetched.insert(from, owned.newest());
        return true;
    }
    machine.journals.retain(|set, _| set.0 != from);
    machine.fetched.remove(&from);
    false
}

async fn sealed(
    indexer: &Indexer,
    store: &dyn ObjectStore,
    from: IndexerId,
) -> Result<Existing, ingest::Error> {
    match indexer.world.is(Mutant::RecoversWithoutSeal) {
        true => Existing::list(store, from).await,
        false => seal(store, from).await,
    }
}

/// Seals the logs of an indexer in an epoch.
async fn seal_all(
    indexer: &Indexer,
    from: IndexerId,
    epoch: u64,
    is_fetched: bool,
) -> Result<Sealed, Failed> {
    let existing = match is_fetched {
        true => Existing::list(indexer.store.as_ref(), from).await?,
        false => seal_stored(indexer, from, epoch).await?,
    };
    let sources = vec![Source { store: Arc::clone(&indexer.store), existing: existing.clone() }];
    let mut all = Sealed { existing, copies: None, sources, has_lost_copies: false };
    if !indexer.replicas.has_copies(from) {
        return Ok(all);
    }
    all.copies = Some(indexer.replicas.named(from));
    if is_fetched {
        all.has_lost_copies = indexer.replicas.lost(from).await.is_some();
        return Ok(all);
    }
    let store: Arc<dyn ObjectStore> = Arc::new(ReplicaStore(Arc::clone(&indexer.replicas)));
    match sealed(indexer, store.as_ref(), from).await {
        Ok(existing) => all.sources.push(Source { store, existing }),
        Err(error) => {
            if indexer.replicas.lost(from).await.is_none() {
                return Err(error.into());
            }
            all.has_lost_copies = true;
            let (own, of) = (indexer.pid(), process(from));
            indexer.world.note(format_args!("{own} finds that all copies of {of} are lost"));
        }
    }
    Ok(all)
}

/// Seals the log in object storage, once per epoch.
async fn seal_stored(
    indexer: &Indexer,
    from: IndexerId,
    epoch: u64,
) -> Result<Existing, ingest::Error> {
    let known = indexer.progress.lock().seals.get(&from).copied();
    if let Some((_, seal)) = known.filter(|(of, _)| *of == epoch) {
        let existing = Existing::list(indexer.store.as_ref(), from).await?;
        let is_last = existing.with_records().last() < Some(&seal);
        if existing.seals().last() == Some(&seal) && is_last {
            return Ok(existing);
        }
    }
    let existing = sealed(indexer, indexer.store.as_ref(), from).await?;
    if let Some(seal) = existing.seals().last() {
        indexer.progress.lock().seals.insert(from, (epoch, *seal));
    }
    Ok(existing)
}

/// Reads the logs to the local disk, all or nothing.
async fn read(
    indexer: &Indexer,
    from: IndexerId,
    epoch: u64,
    sources: &[Source],
) -> Result<(), Failed> {
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
        journal.mark = JournalPosition::default();
        machine.journals.insert((from, set), journal);
    }
    machine.fetched.insert(from, epoch);
    Ok(())
}

async fn recover_one(indexer: &Indexer, set: SetKey, epoch: u64) {
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
    // Commits during the recovery have not released any journal segment.
    for (stream, position) in of_set(indexer) {
        indexer.release(&stream, position);
    }
}

/// Waits until all events of the sets are committed.
async fn stored(
    indexer: &Indexer,
    from: IndexerId,
    epochs: &BTreeMap<u16, u64>,
) -> Result<(), Failed> {
    loop {
        // The snapshot is taken before the check, so that everything stored in these epochs counts.
        let snapshot = indexer.catalog.snapshot();
        let is_own =
            |(set, epoch): (&u16, &u64)| snapshot.owner(from, *set) == (*epoch, indexer.id);
        if !epochs.iter().all(is_own) {
            return Err(Failed::TakenOver);
        }
        let is_stored = {
            let state = indexer.world.state();
            let machine = state.machines.get(&indexer.pid());
            let mut journals = machine.into_iter().flat_map(|machine| &machine.journals);
            journals.all(|(set, journal)| set.0 != from || journal.segments.is_empty())
        };
        if is_stored {
            return Ok(());
        }
        store_rest(indexer, from, epochs).await;
        tokio::time::sleep(LOOK).await;
    }
}

/// Commits the last positions of journals: if buckets had the last records before the indexer got a new
/// identity, no bucket has these positions.
async fn store_rest(indexer: &Indexer, from: IndexerId, epochs: &BTreeMap<u16, u64>) {
    let is_stored = {
        let memory = indexer.memory.lock();
        epochs.keys().all(|set| memory.hot.is_stored((from, *set)))
    };
    if !is_stored {
        return;
    }
    let mut last: BTreeMap<StreamId, JournalPosition> = BTreeMap::new();
    {
        let state = indexer.world.state();
        let machine = state.machines.get(&indexer.pid());
        let journals = machine.into_iter().flat_map(|machine| &machine.journals);
        let compared =
            journals.filter(|(set, _)| set.0 == from && state.compared.contains_key(*set));
        for (set, journal) in compared {
            for record in journal.records() {
                let (index, lane) = record.stream.clone();
                let stream = StreamId { indexer: from, set: set.1, index, lane };
                let known = last.entry(stream).or_default();
                *known = (*known).max(record.position);
            }
        }
    }
    if last.is_empty() {
        return;
    }
    let range = |(stream, upto): (&StreamId, &JournalPosition)| {
        let epoch = epochs.get(&stream.set).copied().unwrap_or_default();
        JournalRange { stream: stream.clone(), from: None, upto: *upto, epoch }
    };
    let commit = Commit { ranges: last.iter().map(range).collect(), ..Commit::default() };
    if indexer.catalog.commit(commit).await.is_ok() {
        last.iter().for_each(|(stream, upto)| indexer.release(stream, *upto));
    }
}

/// Gives the sets back to their previous owner. Retries until the outcome is known.
async fn hand_back(
    indexer: &Indexer,
    from: IndexerId,
    epochs: &BTreeMap<u16, u64>,
) -> Result<(), Failed> {
    let returned = |(set, epoch): (&u16, &u64)| Takeover {
        indexer: from,
        set: *set,
        epoch: epoch + 1,
        owner: from,
    };
    let take_over: Vec<Takeover> = epochs.iter().map(returned).collect();
    let mut pause = RETRY.0;
    loop {
        let commit = Commit { take_over: take_over.clone(), ..Commit::default() };
        match indexer.catalog.commit(commit).await {
            Ok(()) => return Ok(()),
            // An earlier attempt succeeded, and the indexer was started since.
            Err(catalog::Error::OldEpoch { owner, .. }) if owner == from => return Ok(()),
            Err(error) if error.kind() != model::ErrorKind::Unavailable => {
                return Err(error.into());
            }
            Err(_) => {}
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(RETRY.1);
    }
}

/// Deletes logs whose records are all committed.
async fn clear(indexer: &Indexer, from: IndexerId, sealed: Sealed) {
    let Sealed { existing, copies, has_lost_copies, .. } = sealed;
    delete(&indexer.store, from, existing.with_records().to_vec()).await;
    if let Some(copies) = copies.filter(|_| !has_lost_copies) {
        // Remaining logs are recovered again, which finds that their events are stored.
        let _ = indexer.replicas.forget(&copies).await;
    }
}

fn forget(indexer: &Indexer, from: IndexerId, epochs: &BTreeMap<u16, u64>) {
    let mut memory = indexer.memory.lock();
    memory.hot.adopted.remove(&from);
    for set in epochs.keys() {
        memory.states.remove(&(from, *set));
        memory.hot.disown((from, *set));
    }
}
