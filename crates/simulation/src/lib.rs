//! A simulation of a cluster: several indexers, two control planes, a search head, the catalog and the
//! object store, over virtual time and from a seed. Each run of a seed is the same.
//!
//! ```text
//! seed -> chance -> faults, delays, senders
//!                      |
//!         processes (tasks of one thread, time is virtual) -> checks at each write, ack and search
//! ```
//!
//! The code of the product that runs here as it is: `cluster` (`Takeovers`, `Restarts`, `Leaving`,
//! `Placement`), `replication` (the owner's side of copies, and the store that they are), the rules of
//! `catalog` (positions, epochs, owners, documents) and its packs (writing, opening), the log in other places
//! of `ingest` (writing, sealing, listing, agreement with the journal, records as bytes), and the documents
//! and incarnations of `peers`.
//!
//! Models of the product, which follow it step by step and have to be changed together with it:
//! - the pipeline, journal files, hot buckets and uploads of `ingest` (`indexer`, `disk`, `hot`, `upload`);
//! - the start of an indexer and the recovery of another one (`startup`, `adoption`);
//! - the tasks of the server around `cluster` (`failover`, `leaving`), and the file of a copy (`copies`);
//! - the database of the catalog, its lease, its feed (`control`, `database`); gRPC (`network`);
//! - the data directory of an incarnation, and the comparison of a journal with buckets (`startup`);
//! - searches (`search`): which events are found, not how they are read.
//!
//! Checked invariants, numbered as in the study: (1) an acknowledged event is not lost, with as many lost
//! disks as its level allows; (2) no event and no record is in two buckets, and positions never go back; (3)
//! epochs grow, each has one owner, and the catalog takes no bucket of an owner of an earlier one; (4) a
//! search finds each acknowledged event once, or reports that it is incomplete. Exempt are events of an
//! indexer that joined after the search head last heard of the leader, or in the ten seconds before; (6) when
//! faults are over, the cluster comes to rest; (7) a step decides at most once for each indexer; (8) no
//! object of a committed bucket is deleted; (9) a rolling restart never restarts all processes that have the
//! journal of an indexer or a copy of it at the same time, while events are in no bucket. Not checked: (5)
//! which process reads which bucket. Further ones: (10) at any moment, packs and log of the catalog have the
//! headers that have entries of their own, unless a release without packs has written since, and an opened
//! catalog is the one that was written; (11) a disk that was not copied keeps its identity, and at the end
//! each identity has one process. Events that only one of two processes with an identity has are exempt from
//! (4) until they are stored, and those that a process with a new identity stores because no bucket had them
//! from (2).
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod adoption;
mod chance;
mod control;
mod copies;
mod database;
mod disk;
mod failover;
mod faults;
mod hot;
mod indexer;
mod leaving;
mod network;
mod process;
mod search;
mod startup;
mod store;
mod supervisor;
mod tasks;
mod truth;
mod upload;
mod world;

use std::fmt;
use std::sync::Arc;

use tasks::Executor;
use tokio::task::unconstrained;
use world::World;

/// A deliberate defect, to test that the simulation detects it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// Events are acknowledged before the journal is synced.
    AcknowledgesBeforeSync,
    /// The catalog takes commits of owners of earlier epochs.
    CommitsOfOldEpochs,
    /// A log is read without being sealed.
    RecoversWithoutSeal,
    /// The journal is released before the bucket is in the catalog.
    ReleasesBeforeCommit,
    /// A hot bucket is hidden before the catalog has it.
    HidesBeforeCommit,
    /// An indexer that returns neither waits for the one that has taken it over, nor checks that it owns its
    /// sets.
    StartsBesideTheNewOwner,
    /// A replay leaves out a record.
    ReplaysFromWrongPosition,
    /// Objects of committed buckets are deleted.
    DeletesNamedObjects,
    /// An object counts as replicated although a copy has not confirmed it.
    AcknowledgesWithFewerCopies,
    /// A copy confirms before it has the object.
    ConfirmsBeforeCopyIsSynced,
    /// A sealed copy accepts objects, including those of an earlier epoch.
    SealedCopiesTakeMore,
    /// Objects of the log overwrite others with the same number.
    PutsWithoutCondition,
    /// Sets are given back before all of their events are stored.
    HandsBackBeforeStored,
    /// A former leader of the catalog still writes.
    LeadersAreNotFenced,
    /// Searches do not wait for the floor: for commits of buckets that have left the indexers.
    SearchesIgnoreTheFloor,
    /// A rolling restart restarts all indexers at the same time.
    RestartsAllAtOnce,
    /// A former leader of the catalog still writes packs.
    PacksAreNotFenced,
    /// Packs are deleted before the list that replaces them is durable.
    DeletesPacksBeforeTheList,
    /// A write of the release before packs does not look like a gap in the log.
    GapsOfTheLogAreNotSeen,
    /// A start does not compare its incarnation with the catalog, and a process not with later ones.
    IgnoresIncarnations,
    /// The number of a start is noted on the disk only after the catalog has it, up to two seconds later.
    NotesNumbersLate,
    /// The journal of a process with a new identity is not compared with the buckets.
    SplitsWithoutComparison,
}

impl Mutant {
    /// All mutants.
    pub const ALL: [Self; 22] = [
        Self::AcknowledgesBeforeSync,
        Self::CommitsOfOldEpochs,
        Self::RecoversWithoutSeal,
        Self::ReleasesBeforeCommit,
        Self::HidesBeforeCommit,
        Self::StartsBesideTheNewOwner,
        Self::ReplaysFromWrongPosition,
        Self::DeletesNamedObjects,
        Self::AcknowledgesWithFewerCopies,
        Self::ConfirmsBeforeCopyIsSynced,
        Self::SealedCopiesTakeMore,
        Self::PutsWithoutCondition,
        Self::HandsBackBeforeStored,
        Self::LeadersAreNotFenced,
        Self::SearchesIgnoreTheFloor,
        Self::RestartsAllAtOnce,
        Self::PacksAreNotFenced,
        Self::DeletesPacksBeforeTheList,
        Self::GapsOfTheLogAreNotSeen,
        Self::IgnoresIncarnations,
        Self::NotesNumbersLate,
        Self::SplitsWithoutComparison,
    ];
}

impl Mutant {
    /// The kinds of faults that reveal it quickly: with all kinds, some defects need a rare sequence of
    /// faults.
    #[must_use]
    pub fn faults(self) -> Kinds {
        match self {
            Self::CommitsOfOldEpochs => Kinds { pauses: true, network: true, ..Kinds::NONE },
            Self::StartsBesideTheNewOwner => {
                Kinds { kills: true, network: true, store: true, ..Kinds::NONE }
            }
            Self::PacksAreNotFenced => Kinds { pauses: true, ..Kinds::NONE },
            Self::GapsOfTheLogAreNotSeen => {
                Kinds { kills: true, pauses: true, releases: true, ..Kinds::NONE }
            }
            Self::NotesNumbersLate => {
                Kinds { kills: true, power: true, pauses: true, network: true, ..Kinds::NONE }
            }
            Self::IgnoresIncarnations | Self::SplitsWithoutComparison => {
                Kinds { kills: true, pauses: true, twins: true, ..Kinds::NONE }
            }
            // In maintenance mode no set is given to another owner, and defects stay hidden.
            _ => Kinds { maintenance: false, ..Kinds::ALL },
        }
    }
}

/// The kinds of faults of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kinds {
    /// Processes are killed.
    pub kills: bool,
    /// Machines lose unsynced data; disks are slow.
    pub power: bool,
    /// Disks are lost.
    pub disks: bool,
    /// Processes are paused.
    pub pauses: bool,
    /// Messages are lost, duplicated and delayed, and links are cut.
    pub network: bool,
    /// Requests to the object store fail, or only seem to.
    pub store: bool,
    /// Clocks jump.
    pub clocks: bool,
    /// Operators restart the cluster, one process at a time.
    pub restarts: bool,
    /// Operators remove indexers from the cluster.
    pub leaving: bool,
    /// Operators turn maintenance mode on for some time.
    pub maintenance: bool,
    /// The disk of an indexer is copied, and a process is started over the copy.
    pub twins: bool,
    /// Some control planes run the release before packs.
    pub releases: bool,
}

impl Kinds {
    /// All kinds.
    pub const ALL: Self = Self {
        kills: true,
        power: true,
        disks: true,
        pauses: true,
        network: true,
        store: true,
        clocks: true,
        restarts: true,
        leaving: true,
        maintenance: true,
        twins: true,
        releases: true,
    };
    /// No kind.
    pub const NONE: Self = Self {
        kills: false,
        power: false,
        disks: false,
        pauses: false,
        network: false,
        store: false,
        clocks: false,
        restarts: false,
        leaving: false,
        maintenance: false,
        twins: false,
        releases: false,
    };
}

/// The parameters of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The seed of all random decisions.
    pub seed: u64,
    /// Number of indexers.
    pub indexers: u8,
    /// Number of hot sets per indexer.
    pub sets: u16,
    /// Number of disks with each event of `ackLevel = replicated`, including the receiving one.
    pub copies: usize,
    /// Number of disks lost during the run; less than `copies`.
    pub disk_losses: u64,
    /// Number of disks that are copied during the run, at most 1. Each counts as one that is lost, because
    /// only one of both processes keeps the identity, and with it the copies of other journals.
    pub twins: u64,
    /// Whether some lives of control planes run the release before packs.
    pub previous: bool,
    /// Whether there are events with `ackLevel = local`.
    pub local: bool,
    /// The kinds of faults.
    pub faults: Kinds,
    /// A deliberate defect.
    pub mutant: Option<Mutant>,
    /// Number of trace lines kept for the report.
    pub lines: usize,
}

impl Config {
    /// The parameters that a seed yields for these faults.
    #[must_use]
    pub fn of(seed: u64, faults: Kinds) -> Self {
        let mut chance = chance::Chance::new(seed ^ 0x5eed);
        let copies = if chance.permille(500) { 2 } else { 3 };
        let indexers = u8::try_from(copies as u64 + chance.between(0, 2)).unwrap_or(4);
        let sets = if chance.permille(300) { 2 } else { 1 };
        let local = chance.permille(400);
        let disk_losses = copies as u64 - 1;
        let twins = u64::from(chance.permille(300) && faults.twins);
        let previous = chance.permille(300) && faults.releases;
        Self {
            seed,
            indexers,
            sets,
            copies,
            disk_losses,
            twins,
            previous,
            local,
            faults,
            mutant: None,
            lines: 400,
        }
    }

    /// The same parameters with a deliberate defect.
    #[must_use]
    pub fn with(self, mutant: Mutant) -> Self {
        let own = Self { mutant: Some(mutant), ..self };
        match mutant {
            // What the other process covers with its positions is lost if only a disk has it.
            Mutant::IgnoresIncarnations => Self { twins: 1, local: true, ..own },
            Mutant::SplitsWithoutComparison => Self { twins: 1, ..own },
            Mutant::GapsOfTheLogAreNotSeen => Self { previous: true, ..own },
            _ => own,
        }
    }
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The parameters of the run.
    pub config: Config,
    /// The hash of the whole trace, the same for the same seed.
    pub hash: u64,
    /// Number of lines of the whole trace.
    pub lines: u64,
    /// Number of acknowledged events.
    pub acknowledged: u64,
    /// Number of complete searches, and of those that reported to be incomplete.
    pub searches: (u64, u64),
    /// The violated invariant; `None` if there is none.
    pub violation: Option<String>,
    /// The last lines of the trace.
    pub trace: Vec<String>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { config, violation, trace, .. } = self;
        for line in trace {
            writeln!(f, "{line}")?;
        }
        let said = violation.as_deref().unwrap_or("nothing is wrong");
        write!(
            f,
            "seed {}: {said} ({config:?}); SIMULATE_SEED={} replays it",
            config.seed, config.seed
        )
    }
}

/// Runs a seed.
///
/// # Panics
/// If the runtime cannot be created.
#[must_use]
pub fn run(config: Config) -> Report {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build().expect("a runtime without I/O");
    runtime.block_on(async {
        let world = World::new(config);
        let own = Arc::clone(&world);
        let main = world.tasks.spawn(async move {
            tokio::select! {
                biased;
                _ = own.is_violated() => {}
                () = faults::run(&own) => {}
            }
        });
        // With Tokio's budget, tasks that are ready could have to wait.
        unconstrained(Executor::new(&world.tasks, config.seed, main)).await;
        let (hash, lines) = world.hash();
        let (acknowledged, searches) = world.truth(|truth| {
            let all = truth.sent.values().filter(|sent| sent.acknowledged.is_some());
            (all.count() as u64, truth.searches)
        });
        let (violation, trace) = (world.violation(), world.trace());
        world.end();
        Report { config, hash, lines, acknowledged, searches, violation, trace }
    })
}
