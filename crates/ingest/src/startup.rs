//! The start of an indexer: its sets, with what their journals hold.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use catalog::{Catalog, Commit, OWN_EPOCH, Takeover};
use foldhash::HashMap;
use model::{IndexerId, JournalPosition};
use runtime::Shutdown;
use tokio::time::Instant;

use crate::channels::Channels;
use crate::fence::Fence;
use crate::hot::recovery::{Before, Destination, Lost, Recovered, missing, recover_set};
use crate::hot::sift::Sifter;
use crate::hot::store::HotStore;
use crate::hot::stored::StoredRecords;
use crate::journal::{Known, Ledger, number_of, restoring, segments};
use crate::parts::{Parts, STATES};
use crate::remote::{self, Agreed, Committed, Logs, RemoteLog, Shipments, agree};
use crate::set::{SetId, SetState};
use crate::{Error, restore};

/// How often the log repeats what a start waits for.
const SAY: Duration = Duration::from_secs(60);

pub(crate) type RecoveredSet = (Arc<SetState>, Outcome);

/// What is left of a recovery once the journal is in its set.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) last_index_time: i64,
    pub(crate) events: u64,
    pub(crate) orphans: Vec<String>,
    pub(crate) kept: Vec<String>,
    pub(crate) lost: Vec<Lost>,
}

/// Ends what runs in the background if a start fails, or if its future is dropped.
pub(crate) struct Starting {
    shutdown: Shutdown,
    sifter: Arc<Sifter>,
    is_done: bool,
}

impl Starting {
    pub(crate) fn new(shutdown: &Shutdown, sifter: &Arc<Sifter>) -> Self {
        Self { shutdown: shutdown.clone(), sifter: Arc::clone(sifter), is_done: false }
    }

    /// The start is complete.
    pub(crate) fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        if !self.is_done {
            self.shutdown.stop();
            // The process ends, although not because of the buckets that are being encoded.
            self.sifter.attempts.end();
        }
    }
}

/// Told what a start waits for.
pub(crate) type Tell<'a> = &'a (dyn Fn(String) + Send + Sync);

/// Recovers every set that is configured or has a directory; also tells which are only left over, and of
/// which logs in other places it is not known yet what they have.
pub(crate) async fn recover(
    parts: &Parts,
    root: &Path,
    to: &Destination,
    (channels, logs): (&Arc<Channels>, &Logs),
    tell: Tell<'_>,
) -> Result<(Vec<RecoveredSet>, Vec<u16>, Vec<Arc<RemoteLog>>), Error> {
    let configured = parts.settings.parallel_ingestion_pipelines;
    let mut numbers: Vec<u16> = (0..configured).collect();
    let leftovers = leftover_sets(root, configured)?;
    numbers.extend(&leftovers);
    // Before anything of a set is read, also its positions: a commit that this indexer has sent before it was
    // restarted is in the catalog now, or never will be.
    let mut epochs: HashMap<u16, u64> = HashMap::default();
    let was_started = was_started(parts, &numbers);
    for number in &numbers {
        let id = SetId { indexer: parts.indexer, set: *number };
        let epoch = own(parts, id).await?;
        to.hot.own(id, epoch);
        epochs.insert(*number, epoch);
    }
    let mut committed = Committed::default();
    for (stream, position) in parts.catalog.positions(parts.indexer).await {
        let set = committed.entry(stream.set).or_default();
        set.insert((stream.index, stream.lane), position);
    }
    if let Some(replicas) = &parts.replicas {
        replicas.note_epoch(epochs.get(&0).copied().unwrap_or(OWN_EPOCH));
    }
    let states = parts.data.join(STATES);
    let is_restoring = restoring::is_under_way(root);
    let is_lost = (was_started || !committed.is_empty())
        && (is_restoring || lacks_records((root, &states), parts.indexer, &numbers, &committed)?);
    if is_lost && !is_restoring {
        restoring::begin(root)?;
    }
    let mut known = Vec::new();
    let mut late = Vec::new();
    for log in logs.iter() {
        let at = (root, &*numbers, &**log, owned(parts.indexer, &epochs));
        match agreed(parts, at, &committed, is_lost.then_some(tell)).await? {
            Some(agreed) => known.push((log, agreed)),
            None => late.push(Arc::clone(log)),
        }
    }
    // Over a catalog that it follows, each start takes an epoch.
    let is_known = epochs.values().any(|epoch| *epoch > OWN_EPOCH + 1);
    let verify = restore::to_verify(parts, &committed, is_known);
    // From before `begin`, which replaces what an earlier start has noted.
    let noted = parts.catalog.snapshot();
    verify.begin(parts).await?;
    let mut highest = HashMap::default();
    let mut recovered = Vec::new();
    for number in numbers {
        let id = SetId { indexer: parts.indexer, set: number };
        let directory = root.join(number.to_string());
        let committed = committed.remove(&number).unwrap_or_default();
        let stored = match verify.upto(number) {
            Some(upto) => {
                let among = (&parts.store, &*parts.catalog, parts.replicas.is_none());
                StoredRecords::of_journal(among, &directory, &committed, upto).await?
            }
            None => StoredRecords::default(),
        };
        let keep = restore::kept(&noted, id);
        let (states, to) = (states.clone(), to.clone());
        let segment = parts.settings.journal_segment_size;
        let (clock, channels) = (Arc::clone(&parts.clock), Arc::clone(channels));
        let logs = logs.clone();
        let work = tokio::task::spawn_blocking(move || {
            let with = (&channels, clock.now());
            let (ledger, known) = Ledger::open(&states, number, id.indexer)?;
            let committed_before = committed.clone();
            let before = Before {
                ledger,
                known,
                committed: committed_before,
                stored,
                keep,
                may_repeat: false,
            };
            let found = recover_set(&directory, segment, id, before, &to, with)?;
            let Recovered { journal, last_position, last_index_time, .. } = found;
            let Recovered { events, orphans, kept, lost, stored, .. } = found;
            let next = last_position + 1 + if is_lost { LOST } else { 0 };
            let state = SetState::new(id, clock, channels, journal, committed, (next, logs));
            let outcome = Outcome { last_index_time, events, orphans, kept, lost };
            Ok((Arc::new(state), outcome, stored, last_position))
        });
        let (state, outcome, stored, last) = work.await.unwrap_or(Err(Error::Abandoned))?;
        let epoch = epochs.get(&number).copied().unwrap_or(OWN_EPOCH);
        restore::commit_positions(parts, (id, epoch), stored).await?;
        highest.insert(number, JournalPosition(last));
        recovered.push((state, outcome));
    }
    verify.note(parts, &highest).await?;
    note_start(parts).await?;
    if is_lost {
        restoring::end(root)?;
    }
    let states: Vec<_> = recovered.iter().map(|(state, _)| Arc::clone(state)).collect();
    for (log, agreed) in known {
        resume(log, &states, agreed);
    }
    Ok((recovered, leftovers, late))
}

/// Positions that are left out where the disk has lost records: what of them is nowhere else may have had
/// these, and copies of it that come late must not be taken for other records.
const LOST: u64 = 1 << 32;
/// The kind of the documents that name indexers which have been started over the catalog.
const STARTED: &str = "journals";

/// Whether this indexer has been started over this catalog before, as far as is known.
fn was_started(parts: &Parts, sets: &[u16]) -> bool {
    let snapshot = parts.catalog.snapshot();
    let has_epoch = |set: &u16| snapshot.owner(parts.indexer, *set).0 > OWN_EPOCH;
    sets.iter().any(has_epoch) || snapshot.document(STARTED, &parts.indexer.to_string()).is_some()
}

/// Notes that this indexer has been started, where no epoch does.
async fn note_start(parts: &Parts) -> Result<(), Error> {
    let name = parts.indexer.to_string();
    if parts.catalog.follows() || parts.catalog.snapshot().document(STARTED, &name).is_some() {
        return Ok(());
    }
    let noted = parts.catalog.put_document(STARTED, &name, serde_json::json!({})).await;
    noted.map_err(|error| Error::Catalog(Arc::new(error)))
}

/// Whether the disk lacks records that an indexer has acknowledged, as far as the disk tells: there is
/// nothing at all of it, or a segment is missing or shorter than it was.
///
/// # Errors
/// The disk refuses.
fn lacks_records(
    (root, states): (&Path, &Path),
    indexer: IndexerId,
    sets: &[u16],
    committed: &Committed,
) -> Result<bool, Error> {
    let mut is_known = false;
    for set in sets {
        let directory = root.join(set.to_string());
        let found = if directory.exists() { segments(&directory)? } else { Vec::new() };
        is_known |= !found.is_empty();
        let known = Known::read(states, *set);
        if known.indexer != Some(indexer) {
            continue;
        }
        is_known = true;
        let none = HashMap::default();
        let committed = committed.get(set).unwrap_or(&none);
        if !missing(&directory, &found, &known, committed).is_empty() {
            return Ok(true);
        }
        let is_short = |path: &PathBuf| {
            let acknowledged = number_of(path).and_then(|number| known.acknowledged(number));
            let bytes = path.metadata().map_or(0, |meta| meta.len());
            acknowledged.is_some_and(|(acknowledged, _)| bytes < acknowledged)
        };
        if found.iter().any(is_short) {
            return Ok(true);
        }
    }
    Ok(!is_known)
}

/// What journals and log lack of each other; journals get it. None if the place of the log does not answer,
/// unless the disk has lost records, which the log may have: then it is waited for, and `tell` is told.
async fn agreed(
    parts: &Parts,
    (root, sets, log, owned): (&Path, &[u16], &RemoteLog, Vec<Takeover>),
    committed: &Committed,
    tell: Option<Tell<'_>>,
) -> Result<Option<Agreed>, Error> {
    let (mut pause, longest) = parts.settings.upload_retry;
    let (mut said, mut is_begun): (Option<Instant>, bool) = (None, false);
    loop {
        let tried = async {
            if !is_begun {
                begin(&parts.catalog, log, &owned).await?;
                is_begun = true;
            }
            let at = (root, sets, log.place());
            let agreed = agree(log.store(), parts.indexer, at, committed).await?;
            remote::restore(log.store(), parts.indexer, root, &agreed).await?;
            Ok(agreed)
        };
        let error = match tried.await {
            Ok(agreed) => return Ok(Some(agreed)),
            Err(error @ Error::Storage { .. }) => error,
            Err(error) => return Err(error),
        };
        let Some(tell) = tell else {
            tracing::warn!(%error, place = ?log.place(), "acknowledgements wait for their buckets");
            return Ok(None);
        };
        if let Some(lost) = log.lost().await {
            tracing::error!(
                copies = lost,
                "acknowledged events may be lost: the journal on the disk is lost, and every indexer that had a \
                 copy of it has lost its disk, or was removed from the cluster"
            );
            return Ok(Some(Agreed::default()));
        }
        tell(format!(
            "waiting for {}: the journal on the disk is lost, and only it has the acknowledged events ({error})",
            log.where_it_is()
        ));
        if said.is_none_or(|at| at.elapsed() >= SAY) {
            said = Some(Instant::now());
            tracing::warn!(
                %error, place = ?log.place(),
                "the journal on the disk is lost: waiting for the place that has acknowledged events"
            );
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
}

/// The sets as this process owns them.
fn owned(indexer: IndexerId, epochs: &HashMap<u16, u64>) -> Vec<Takeover> {
    let owned =
        |(set, epoch): (&u16, &u64)| Takeover { indexer, set: *set, epoch: *epoch, owner: indexer };
    epochs.iter().map(owned).collect()
}

/// Seals the log, so that no former process puts anything there, and makes sure that the sets are this
/// process's still: another one may have recovered them before the seal, and would not meet it.
async fn begin(catalog: &Catalog, log: &RemoteLog, owned: &[Takeover]) -> Result<(), Error> {
    log.begin().await?;
    // Nobody takes anything over without the process that has the catalog open.
    if !catalog.follows() {
        return Ok(());
    }
    // Changes nothing, or is refused.
    let commit = Commit { take_over: owned.to_vec(), ..Commit::default() };
    let confirmed = catalog.commit(commit).await;
    confirmed.map_err(|error| Error::Catalog(Arc::new(error)))
}

/// Begins to write to the log, with what it lacks.
fn resume(remote: &RemoteLog, states: &[Arc<SetState>], agreed: Agreed) {
    let Agreed { existing, mut unshipped, .. } = agreed;
    let mut last = HashMap::default();
    for state in states {
        let positions = state.journal().last_positions().into_iter();
        let positions = positions.filter(|((_, lane), _)| lane.place() == remote.place());
        last.extend(positions.map(|(stream, last)| ((state.id.set, stream), last)));
    }
    remote.resume(existing, &last);
    for state in states {
        let mut shipments = Shipments::default();
        if let Some(shipment) = shipments.to(remote.place()) {
            *shipment = unshipped.remove(&state.id.set).unwrap_or_default();
        }
        state.ship(shipments);
    }
}

/// Does the same once the place of the log answers, after a start without it.
pub(crate) async fn resume_later(
    (catalog, indexer, root, hot): (Arc<Catalog>, IndexerId, PathBuf, Arc<HotStore>),
    remote: Arc<RemoteLog>,
    states: Vec<Arc<SetState>>,
    (mut pause, longest): (Duration, Duration),
    (fence, shutdown): (Arc<Fence>, Shutdown),
) {
    let sets: Vec<u16> = states.iter().map(|state| state.id.set).collect();
    let epochs = states.iter().map(|state| (state.id.set, hot.epoch(state.id))).collect();
    let owned = owned(indexer, &epochs);
    while shutdown.sleep(pause).await {
        pause = (pause * 2).min(longest);
        let mut committed = Committed::default();
        for (stream, position) in catalog.positions(indexer).await {
            let set = committed.entry(stream.set).or_default();
            set.insert((stream.index, stream.lane), position);
        }
        let at = (&*root, &*sets, remote.place());
        let agreed = async {
            begin(&catalog, &remote, &owned).await?;
            agree(remote.store(), indexer, at, &committed).await
        };
        match agreed.await {
            Ok(agreed) if agreed.behind.is_empty() => {
                return resume(&remote, &states, agreed);
            }
            Ok(_) => {
                return stop_intake(&fence, &Error::JournalBehind);
            }
            Err(Error::Catalog(error)) if matches!(*error, catalog::Error::OldEpoch { .. }) => {
                return stop_intake(&fence, &Error::Catalog(error));
            }
            Err(error) => {
                tracing::debug!(%error, place = ?remote.place(), "the journal in another place is not known yet")
            }
        }
    }
}

fn stop_intake(fence: &Fence, error: &Error) {
    let reason: Arc<str> = error.to_string().into();
    fence.close(&reason);
    tracing::error!(reason = &*reason, "intake stops");
}

/// The epoch in which this process owns a set. Where the catalog is another process, it is a new one: a
/// commit of this indexer that is still on its way is refused from then on, so that its events can be
/// replayed.
///
/// # Errors
/// Another indexer owns the set: its events are the new owner's, and so are its objects.
async fn own(parts: &Parts, id: SetId) -> Result<u64, Error> {
    let (known, owner) = parts.catalog.snapshot().owner(id.indexer, id.set);
    if owner != id.indexer {
        return Err(Error::TakenOver { set: id.set, by: owner, epoch: known });
    }
    if !parts.catalog.follows() {
        return Ok(known);
    }
    let epoch = known + 1;
    let taken = Takeover { indexer: id.indexer, set: id.set, epoch, owner };
    let commit = Commit { take_over: vec![taken], ..Commit::default() };
    let taken = parts.catalog.commit(commit).await;
    taken.map_err(|error| Error::Catalog(Arc::new(error)))?;
    Ok(epoch)
}

/// Sets with a directory that are not configured any more; empty directories are removed.
fn leftover_sets(root: &Path, configured: u16) -> Result<Vec<u16>, Error> {
    let fail = |error| Error::journal_read(root, error);
    let mut found = Vec::new();
    for entry in fs::read_dir(root).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let number = name.and_then(|name| name.parse::<u16>().ok());
        // Removing fails, as wanted, while there is something inside.
        if let Some(number) = number.filter(|number| *number >= configured)
            && path.is_dir()
            && fs::remove_dir(&path).is_err()
        {
            found.push(number);
        }
    }
    Ok(found)
}
