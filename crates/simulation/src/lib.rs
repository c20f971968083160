//! A simulation of a cluster: several indexers, two control planes, a process that searches, the catalog and
//! the object store, over virtual time and from a seed. A run of a seed is the same each time.
//!
//! ```text
//! seed -> chance -> faults, delays, senders
//!                      |
//!         processes (tasks of one thread, time is virtual) -> checks at each write, ack and search
//! ```
//!
//! The code of the product that runs here as it is: `cluster` (`Takeovers`, `Restarts`, `Leaving`,
//! `Placement`), `replication` (the owner's side of copies, and the store that they are), the rules of
//! `catalog` (positions, epochs, owners, documents), the log in other places of `ingest` (writing, sealing,
//! listing, agreement with the journal, records as bytes), and the documents of `peers`.
//!
//! What is a model of the product, which follows it step by step and has to be changed with it:
//! - the pipeline, journal files, hot buckets and uploads of `ingest` (`indexer`, `disk`, `hot`, `upload`);
//! - the start of an indexer and the recovery of another one (`startup`, `adoption`);
//! - the tasks of the server around `cluster` (`failover`, `leaving`), and the file of a copy (`copies`);
//! - the database of the catalog, its lease, its feed (`control`, `database`); gRPC (`network`);
//! - searches (`search`): which events are met, not how they are read.
//!
//! What has to hold (the numbers are those of the study): (1) an event that was acknowledged is not lost,
//! with as many lost disks as its level allows; (2) no event and no record is in two buckets, positions
//! never go back; (3) epochs grow, and each has one owner; (4) a search meets each acknowledged event once,
//! or says that it is incomplete, but for those of an indexer that has joined since the process has last
//! heard of who leads, or in the ten seconds before; (6) when faults are over, everything comes to rest;
//! (7) a step decides at most once for each indexer; (8) no object of a bucket in the catalog is deleted.
//! Not checked: (5) which process reads which bucket, and (9) restarts that take all holders of a set.
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

/// A deliberate defect, to see that it is found.
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
    /// An indexer that returns does not wait for the one that has taken it over.
    StartsBesideTheNewOwner,
    /// A replay leaves out a record.
    ReplaysFromWrongPosition,
    /// Objects are deleted that buckets have.
    DeletesNamedObjects,
    /// An object counts as put although a copy does not confirm.
    AcknowledgesWithFewerCopies,
    /// A copy confirms before it has the object.
    ConfirmsBeforeCopyIsSynced,
    /// A sealed copy takes objects, also those of an earlier epoch.
    SealedCopiesTakeMore,
    /// Objects of the log are put over others of the same number.
    PutsWithoutCondition,
    /// Sets are given back before everything of them is stored.
    HandsBackBeforeStored,
    /// A former leader of the catalog still writes.
    LeadersAreNotFenced,
    /// Searches do not wait for what has left the indexers.
    SearchesIgnoreTheFloor,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Self; 15] = [
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
    ];
}

impl Mutant {
    /// The faults beside which it is found soon: where all are, some defects need a rare sequence of them.
    #[must_use]
    pub fn faults(self) -> Kinds {
        match self {
            Self::StartsBesideTheNewOwner => Kinds { kills: true, pauses: true, ..Kinds::NONE },
            _ => Kinds::ALL,
        }
    }
}

/// Which faults there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kinds {
    /// Processes are killed.
    pub kills: bool,
    /// Machines lose what is not synced; disks are slow.
    pub power: bool,
    /// Disks are lost.
    pub disks: bool,
    /// Processes stand still.
    pub pauses: bool,
    /// Messages are lost, doubled and late, links are cut.
    pub network: bool,
    /// Requests of the object store fail, or seem to.
    pub store: bool,
    /// Clocks jump.
    pub clocks: bool,
    /// Operators restart the cluster, process by process.
    pub restarts: bool,
    /// Operators take indexers out of the cluster.
    pub leaving: bool,
}

impl Kinds {
    /// All of them.
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
    };
    /// None.
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
    };
}

/// What a run is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// What everything follows from.
    pub seed: u64,
    /// How many indexers there are.
    pub indexers: u8,
    /// Hot sets of each.
    pub sets: u16,
    /// Disks that have an event with `ackLevel = replicated`, the receiving one included.
    pub copies: usize,
    /// Disks that are lost in the run, less than `copies`.
    pub disk_losses: u64,
    /// Whether there are events with `ackLevel = local`.
    pub local: bool,
    /// Which faults there are.
    pub faults: Kinds,
    /// A deliberate defect.
    pub mutant: Option<Mutant>,
    /// How many of the last things that happened the report has.
    pub lines: usize,
}

impl Config {
    /// What a seed makes of these faults.
    #[must_use]
    pub fn of(seed: u64, faults: Kinds) -> Self {
        let mut chance = chance::Chance::new(seed ^ 0x5eed);
        let copies = if chance.permille(500) { 2 } else { 3 };
        let indexers = u8::try_from(copies as u64 + chance.between(0, 2)).unwrap_or(4);
        let sets = if chance.permille(300) { 2 } else { 1 };
        let local = chance.permille(400);
        let disk_losses = copies as u64 - 1;
        let lines = 400;
        Self { seed, indexers, sets, copies, disk_losses, local, faults, mutant: None, lines }
    }

    /// The same with a deliberate defect.
    #[must_use]
    pub fn with(self, mutant: Mutant) -> Self {
        Self { mutant: Some(mutant), ..self }
    }
}

/// What became of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// What the run was about.
    pub config: Config,
    /// The hash of everything that happened, the same for the same seed.
    pub hash: u64,
    /// How much happened.
    pub lines: u64,
    /// Events that were acknowledged.
    pub acknowledged: u64,
    /// Searches that were complete, and that said that they were not.
    pub searches: (u64, u64),
    /// What was not as it has to be.
    pub violation: Option<String>,
    /// The last things that happened.
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
/// If there is no runtime for it.
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
        // Tokio's budget would let tasks wait that can go on.
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
