//! The start of an indexer, with the same steps as `ingest/startup.rs` and the server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use catalog::{Catalog, Commit, OWN_EPOCH, Takeover};
use ingest::simulation::{
    Agreed, Content, Log, ReadRecord, Stream, agree, decode_object, read_records,
};
use model::{BucketId, IndexerId, JournalPosition, StreamId};
use object_store::{ObjectStore, ObjectStoreExt};
use peers::Registration;

mod incarnation;

use crate::Mutant;
use crate::adoption;
use crate::control::Followed;
use crate::disk::{DiskJournal, SetKey, Stored};
use crate::failover::{registration, replicas};
use crate::hot::Event;
use crate::indexer::{Indexer, SetState};
use crate::process::Life;
use crate::store::Store;
use crate::world::{World, process};

/// First and longest pause between attempts.
const RETRY: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(30));
/// Positions skipped if the disk has lost records.
const LOST: u64 = 1 << 32;

/// Committed positions of each stream, by set.
type Committed = BTreeMap<u16, BTreeMap<Stream, JournalPosition>>;

/// Starts an indexer; it accepts events when this returns. The error is the reason why the process ends.
pub(crate) async fn start(world: &Arc<World>, life: &Life) -> Result<Arc<Indexer>, String> {
    let (followed, catalog) = Followed::begin(world, life);
    followed.ready().await;
    let incarnation = incarnation::begin(world, life, &catalog).await?;
    if let Some(process) = world.state().processes.get_mut(&life.pid) {
        process.has_copies = true;
    }
    if !world.is(Mutant::StartsBesideTheNewOwner) {
        wait_until_returned(&catalog, incarnation.indexer).await;
    }
    let store: Arc<dyn ObjectStore> = Arc::new(Store { world: Arc::clone(world), pid: life.pid });
    let replicas = replicas(world, life, &catalog);
    let own = (life, incarnation);
    let indexer = Arc::new(Indexer::new(world, own, catalog, (store, replicas)));
    if let Some(process) = world.state().processes.get_mut(&life.pid) {
        process.indexer = Some(Arc::clone(&indexer));
    }
    let late = recover(&indexer).await?;
    for log in late {
        life.spawn(resume_later(Arc::clone(&indexer), log));
    }
    for log in &indexer.logs {
        life.spawn(log.clone().run(indexer.shutdown.clone()));
        life.spawn(log.clone().clean(indexer.shutdown.clone()));
    }
    for (stream, position) in indexer.catalog.positions(indexer.id).await {
        indexer.release(&stream, position);
    }
    world.open(life.pid);
    life.spawn(adoption::recover(Arc::clone(&indexer)));
    let own = registration(life, "indexer", world.config.local);
    let listed = Registration::of(&indexer.catalog.snapshot(), &indexer.id.to_string());
    if listed.is_none_or(|listed| listed.address != own.address) {
        world.truth(|truth| truth.joined.insert(life.pid, world.now()));
    }
    let written = own.write(&indexer.catalog, &indexer.id.to_string()).await;
    written.map_err(|error| format!("it cannot join the cluster: {error}"))?;
    // Registered before events are accepted, because searches ask only listed indexers.
    indexer.take_events();
    Ok(indexer)
}

/// Waits until another indexer has stored the events of the sets that it took over from this one.
async fn wait_until_returned(catalog: &Catalog, own: IndexerId) {
    let mut changes = catalog.subscribe();
    loop {
        let snapshot = changes.borrow_and_update().clone();
        let mut taken = snapshot.taken_over();
        if !taken.any(|taken| taken.indexer == own && taken.owner != own) {
            return;
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}

/// Recovers every set. Returns the logs whose contents are not known yet.
async fn recover(indexer: &Arc<Indexer>) -> Result<Vec<Log>, String> {
    let snapshot = indexer.catalog.snapshot();
    let was_started = indexer.sets().any(|set| snapshot.owner(indexer.id, set).0 > OWN_EPOCH);
    for set in indexer.sets() {
        let epoch = own(indexer, set).await?;
        indexer.memory.lock().hot.own((indexer.id, set), epoch);
    }
    let committed = committed(indexer).await;
    indexer.replicas.note_epoch(indexer.memory.lock().hot.epoch((indexer.id, 0)));
    let is_lost =
        (was_started || !committed.is_empty()) && (is_restoring(indexer) || lacks_records(indexer));
    note_restoring(indexer, is_lost);
    let (mut known, mut late) = (Vec::new(), Vec::new());
    for log in &indexer.logs {
        match agreed(indexer, log, &committed, is_lost).await? {
            Some(agreed) => known.push((log.clone(), agreed)),
            None => late.push(log.clone()),
        }
    }
    for set in indexer.sets() {
        let committed = committed.get(&set).cloned().unwrap_or_default();
        let last = recover_set(indexer, (indexer.id, set), &committed, false);
        let mut memory = indexer.memory.lock();
        memory.last.insert(set, last.0 + if is_lost { LOST } else { 0 });
        memory.states.insert((indexer.id, set), SetState { committed });
    }
    note_restoring(indexer, false);
    for (log, agreed) in known {
        resume(indexer, &log, agreed);
    }
    Ok(late)
}

fn is_restoring(indexer: &Indexer) -> bool {
    let state = indexer.world.state();
    state.machines.get(&indexer.pid()).is_some_and(|machine| machine.is_restoring)
}

fn note_restoring(indexer: &Indexer, is_restoring: bool) {
    let mut state = indexer.world.state();
    state.machines.entry(indexer.pid()).or_default().is_restoring = is_restoring;
}

/// Whether the disk has no data of this indexer at all.
fn lacks_records(indexer: &Indexer) -> bool {
    let state = indexer.world.state();
    let machine = state.machines.get(&indexer.pid());
    let mut journals = machine.into_iter().flat_map(|machine| machine.journals.keys());
    !journals.any(|set| set.0 == indexer.id)
}

/// The epoch in which this process owns a set.
async fn own(indexer: &Indexer, set: u16) -> Result<u64, String> {
    let (known, owner) = indexer.catalog.snapshot().owner(indexer.id, set);
    if indexer.world.is(Mutant::StartsBesideTheNewOwner) && owner != indexer.id {
        return Ok(known);
    }
    if owner != indexer.id {
        return Err(format!("set {set} is taken over by {}", process(owner)));
    }
    let epoch = known + 1;
    let taken = Takeover { indexer: indexer.id, set, epoch, owner };
    let commit = Commit { take_over: vec![taken], ..Commit::default() };
    let taken = indexer.catalog.commit(commit).await;
    taken.map_err(|error| format!("its sets cannot be taken: {error}"))?;
    Ok(epoch)
}

async fn committed(indexer: &Indexer) -> Committed {
    let mut committed = Committed::new();
    for (stream, position) in indexer.catalog.positions(indexer.id).await {
        let set = committed.entry(stream.set).or_default();
        set.insert((stream.index, stream.lane), position);
    }
    committed
}

async fn compare(
    indexer: &Indexer,
    log: &Log,
    committed: &Committed,
) -> Result<Agreed, ingest::Error> {
    let journals = {
        let state = indexer.world.state();
        let machine = state.machines.get(&indexer.pid());
        let bytes = |set| {
            let journal = machine.and_then(|machine| machine.journals.get(&(indexer.id, set)));
            (set, journal.map(DiskJournal::bytes).unwrap_or_default())
        };
        indexer.sets().map(bytes).collect()
    };
    agree(log.store(), indexer.id, (&journals, log.place()), committed).await
}

/// Compares journals and log, and adds missing records to the journals. `None` if the place of the log does
/// not answer. If the disk has lost records, this waits instead, because the log may have them.
async fn agreed(
    indexer: &Indexer,
    log: &Log,
    committed: &Committed,
    is_lost: bool,
) -> Result<Option<Agreed>, String> {
    let (mut pause, mut is_begun) = (RETRY.0, false);
    loop {
        let tried = async {
            if !is_begun {
                begin(indexer, log).await?;
                is_begun = true;
            }
            let agreed = compare(indexer, log, committed).await?;
            restore(indexer, log, &agreed).await?;
            Ok::<_, ingest::Error>(agreed)
        };
        match tried.await {
            Ok(agreed) => return Ok(Some(agreed)),
            Err(ingest::Error::Storage { .. }) if is_lost => {}
            Err(ingest::Error::Storage { .. }) => return Ok(None),
            Err(error) => return Err(error.to_string()),
        }
        if log.lost().await.is_some() {
            let pid = indexer.pid();
            indexer.world.note(format_args!("{pid} has lost its journal and all copies of it"));
            return Ok(Some(Agreed::default()));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(RETRY.1);
    }
}

/// Seals the log, and checks that this process still owns its sets.
async fn begin(indexer: &Indexer, log: &Log) -> Result<(), ingest::Error> {
    log.begin().await?;
    if indexer.world.is(Mutant::StartsBesideTheNewOwner) {
        return Ok(());
    }
    let owned = |set| {
        let epoch = indexer.memory.lock().hot.epoch((indexer.id, set));
        Takeover { indexer: indexer.id, set, epoch, owner: indexer.id }
    };
    let commit = Commit { take_over: indexer.sets().map(owned).collect(), ..Commit::default() };
    let confirmed = indexer.catalog.commit(commit).await;
    confirmed.map_err(|error| ingest::Error::Catalog(Arc::new(error)))
}

/// Writes records that the journals lack to the disk.
async fn restore(indexer: &Indexer, log: &Log, agreed: &Agreed) -> Result<(), ingest::Error> {
    if agreed.behind.is_empty() {
        return Ok(());
    }
    let objects = agreed.existing.with_records();
    let read = fetch(log.store(), indexer.id, objects).await?;
    let pid = indexer.pid();
    for (set, last) in &agreed.behind {
        let records = read.get(set).map(Vec::as_slice).unwrap_or_default();
        let lacking = records.iter().filter(|record| Some(record.position) > *last);
        let mut state = indexer.world.state();
        let machine = state.machines.entry(pid).or_default();
        let journal = machine.journals.entry((indexer.id, *set)).or_default();
        let lacking: Vec<Stored> = lacking.cloned().collect();
        if !lacking.is_empty() {
            journal.segments.push(lacking);
        }
    }
    indexer.world.note(format_args!("{pid} restores its journal from {:?}", log.place()));
    Ok(())
}

/// Reads the records of some objects of a log, by set.
pub(crate) async fn fetch(
    store: &Arc<dyn ObjectStore>,
    indexer: IndexerId,
    numbers: &[u64],
) -> Result<BTreeMap<u16, Vec<Stored>>, ingest::Error> {
    let mut sets: BTreeMap<u16, Vec<Stored>> = BTreeMap::new();
    for number in numbers {
        let path = format!("journal/{}/{number:020}.journal", indexer.0).into();
        let fail = |source| ingest::Error::Storage {
            operation: "read",
            path: format!("{path}"),
            source: Arc::new(source),
        };
        let object = match store.get(&path).await {
            Ok(found) => found.bytes().await.map_err(fail)?,
            Err(object_store::Error::NotFound { .. }) => continue,
            Err(error) => return Err(fail(error)),
        };
        let damaged = |reason| ingest::Error::JournalDamaged {
            path: path.to_string().into(),
            offset: 0,
            reason,
        };
        for (set, records) in decode_object(&object).map_err(damaged)? {
            sets.entry(set).or_default().extend(stored_of(&records));
        }
    }
    Ok(sets)
}

/// The records of a part of a log, in the form of the disk.
fn stored_of(records: &[u8]) -> Vec<Stored> {
    let mut all = Vec::new();
    ingest::simulation::split_records(records, |stream, position, bytes| {
        let bytes = bytes::Bytes::copy_from_slice(bytes);
        all.push(Stored { stream, position, bytes, is_synced: true });
    });
    all
}

/// Reads the journal of a set and fills the hot buckets. Returns a position that no record exceeds.
pub(crate) fn recover_set(
    indexer: &Indexer,
    set: SetKey,
    committed: &BTreeMap<Stream, JournalPosition>,
    may_repeat: bool,
) -> JournalPosition {
    let (records, mark) = {
        let mut state = indexer.world.state();
        let machine = state.machines.entry(indexer.pid()).or_default();
        let journal = machine.journals.entry(set).or_default();
        (read_records(&journal.bytes()), journal.mark)
    };
    let mut last = committed.values().copied().max().unwrap_or_default().max(mark);
    let compared = compared(indexer, set);
    let mut seen = BTreeSet::new();
    let mut orphans = Vec::new();
    let mut events = 0;
    let now = indexer.world.now();
    for ReadRecord { stream, position, content } in records {
        last = last.max(position);
        let known = committed.get(&stream).copied();
        let is_covered = known >= Some(position);
        let is_skipped = indexer.world.is(Mutant::ReplaysFromWrongPosition)
            && known.is_some_and(|known| known.0 + 1 == position.0);
        match content {
            Content::Events(texts) => {
                let is_repeated = !seen.insert((stream.clone(), position)) && may_repeat;
                if is_covered || is_repeated || is_skipped {
                    continue;
                }
                let numbers = || texts.iter().filter_map(|text| text.parse::<u64>().ok());
                if let Some(compared) = compared.as_ref().filter(|all| position <= all.upto) {
                    if numbers().any(|number| compared.stored.contains(&number)) {
                        continue;
                    }
                    indexer.world.truth(|truth| truth.repeated.extend(numbers()));
                }
                let id = StreamId { indexer: set.0, set: set.1, index: stream.0, lane: stream.1 };
                let mut memory = indexer.memory.lock();
                for number in numbers() {
                    events += 1;
                    let new = || BucketId(indexer.world.id());
                    memory.hot.append(&id, Event { number, position }, new, now);
                }
            }
            Content::Roll(path) if !is_covered => {
                let is_named = compared.as_ref().is_some_and(|all| all.paths.contains(&path));
                orphans.extend((!is_named).then_some(path));
            }
            Content::Roll(_) | Content::Other => {}
        }
    }
    let release = |machine: &mut crate::disk::Machine| {
        if let Some(journal) = machine.journals.get_mut(&set) {
            journal.release(committed);
        }
    };
    indexer.world.state().machines.get_mut(&indexer.pid()).map(release);
    let (own, of) = (indexer.pid(), process(set.0));
    indexer.world.note(format_args!("{own} recovers {events} events of {of}/{}", set.1));
    if !orphans.is_empty() {
        indexer.life.spawn(delete_orphans(
            (Arc::clone(&indexer.world), indexer.pid(), indexer.catalog.clone()),
            Arc::clone(&indexer.store),
            orphans,
        ));
    }
    last
}

/// What buckets have of a journal whose indexer has got a new identity, as `hot::stored`.
struct Compared {
    /// Later records have reliable positions.
    upto: JournalPosition,
    stored: BTreeSet<u64>,
    paths: BTreeSet<String>,
}

/// Compares the journal of a set with the buckets, if its indexer has got a new identity.
fn compared(indexer: &Indexer, set: SetKey) -> Option<Compared> {
    let snapshot = indexer.catalog.snapshot();
    let state = indexer.world.state();
    let upto = state.compared.get(&set).copied()?;
    if indexer.world.is(Mutant::SplitsWithoutComparison) {
        return None;
    }
    let (mut stored, mut paths) = (BTreeSet::new(), BTreeSet::new());
    for index in snapshot.indexes() {
        for bucket in snapshot.buckets(index).iter() {
            stored.extend(state.truth.events(bucket.id));
            paths.extend(state.truth.path(bucket.id).map(str::to_owned));
        }
    }
    Some(Compared { upto, stored, paths })
}

/// Records uncommitted objects as garbage objects.
async fn delete_orphans(
    (world, pid, catalog): (Arc<World>, crate::process::Pid, Catalog),
    store: Arc<dyn ObjectStore>,
    paths: Vec<String>,
) {
    if world.is(Mutant::DeletesNamedObjects) {
        let snapshot = catalog.snapshot();
        for index in snapshot.indexes() {
            for bucket in snapshot.buckets(index).iter() {
                let _ = store.delete(&bucket.path().as_str().into()).await;
            }
        }
    }
    let delete_after = model::EventTime(world.clock(pid));
    let discarded = |path| catalog::Discarded { path, delete_after };
    let discard: Vec<_> = paths.into_iter().map(discarded).collect();
    loop {
        let commit = Commit { discard: discard.clone(), ..Commit::default() };
        if catalog.commit(commit).await.is_ok() {
            return;
        }
        tokio::time::sleep(RETRY.0).await;
    }
}

/// Starts writing to the log, beginning with the records that it lacks.
fn resume(indexer: &Indexer, log: &Log, agreed: Agreed) {
    let mut last = BTreeMap::new();
    {
        let state = indexer.world.state();
        let machine = state.machines.get(&indexer.pid());
        for (set, journal) in machine.into_iter().flat_map(|machine| &machine.journals) {
            if set.0 != indexer.id {
                continue;
            }
            for record in journal.records() {
                if record.stream.1.place() == log.place() {
                    let known: &mut JournalPosition =
                        last.entry((set.1, record.stream.clone())).or_default();
                    *known = (*known).max(record.position);
                }
            }
        }
    }
    log.resume(agreed, &last);
}

/// Calls [`resume`] once the place of the log answers, after a start without it.
async fn resume_later(indexer: Arc<Indexer>, log: Log) {
    let mut pause = RETRY.0;
    loop {
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(RETRY.1);
        let committed = committed(&indexer).await;
        let agreed = async {
            begin(&indexer, &log).await?;
            compare(&indexer, &log, &committed).await
        };
        match agreed.await {
            Ok(agreed) if agreed.behind.is_empty() => return resume(&indexer, &log, agreed),
            Ok(_) => {
                let pid = indexer.pid();
                indexer.world.note(format_args!("{pid} lacks records of {:?}", log.place()));
                indexer.fence.close("the journal lacks records");
                return;
            }
            Err(ingest::Error::Catalog(error))
                if matches!(*error, catalog::Error::OldEpoch { .. }) =>
            {
                indexer.fence.close("its sets are taken over");
                return;
            }
            Err(_) => {}
        }
    }
}
