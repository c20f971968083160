//! Pipeline sets: four stages and a committer, each a thread, connected by queues bounded in bytes.
//!
//! ```text
//! submit -> parsing -> merging -> typing -> indexing -> commit (journal, hot buckets, acks)
//!           lines      events     where     bytes        fsync
//! ```
//!
//! Sets share only the clock of arrival times. A stream always goes to the same set, by its key.

mod backlog;
mod breaker;
pub(crate) mod commit;
mod cut;
mod decode;
mod gather;
mod guess;
mod indexing;
mod merge;
pub(crate) mod messages;
mod meter;
mod parse;
mod place;
pub(crate) mod preview;
pub(crate) mod queue;
mod resume;
pub(crate) mod rules;
mod spans;
pub(crate) mod trace;
mod transform;
pub(crate) mod typing;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use self::backlog::Backlog;
use self::commit::Commit;
use self::indexing::Indexing;
use self::merge::Merge;
use self::messages::Work;
use self::meter::{Meter, StatusOf};
use self::parse::Parse;
use self::queue::{Queue, QueueStatus};
use self::rules::RuleBook;
use self::typing::Typing;
use crate::gate::Gate;
use crate::hot::limits::HotLimits;
use crate::hot::spool::Spool;
use crate::hot::store::HotStore;
use crate::hot::upload::Uploads;
use crate::set::{Arrivals, SetState};
use crate::tally::Tally;
use crate::{Error, Settings};

/// The components that all sets share.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    pub(crate) settings: Arc<Settings>,
    pub(crate) limits: Arc<HotLimits>,
    pub(crate) rules: RuleBook,
    pub(crate) hot: Arc<HotStore>,
    pub(crate) uploads: Arc<Uploads>,
    pub(crate) spool: Arc<Spool>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) arrivals: Arc<Arrivals>,
    pub(crate) tally: Arc<Tally>,
}

/// A running pipeline set.
pub(crate) struct PipelineSet {
    pub(crate) entrance: Arc<Queue<Work>>,
    queues: Vec<StatusOf>,
    /// The status of the queues with the extremes since the last call.
    windows: Vec<StatusOf>,
    threads: Vec<JoinHandle<()>>,
    stopping: Arc<AtomicBool>,
}

impl std::fmt::Debug for PipelineSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PipelineSet").field("queues", &self.status()).finish_non_exhaustive()
    }
}

impl PipelineSet {
    /// Starts the threads of a set.
    pub(crate) fn start(state: Arc<SetState>, shared: Shared) -> Result<Self, Error> {
        let Shared { settings, limits, rules, hot, uploads, spool, gate, arrivals, tally } = shared;
        let (set, size) = (state.id.set, settings.queue_size);
        let clock = Arc::clone(&state.clock);
        let parsing = Arc::new(Queue::new(set, "parsing", size));
        let merging = Arc::new(Queue::new(set, "merging", size));
        let typing = Arc::new(Queue::new(set, "typing", size));
        let indexing = Arc::new(Queue::new(set, "indexing", size));
        let committing = Arc::new(Queue::new(set, "journal", size));
        let stopping = Arc::new(AtomicBool::new(false));
        let typed_rules = rules.clone();
        let merge = Merge::new(
            Arc::clone(&merging),
            Arc::clone(&typing),
            Arc::clone(&clock),
            settings.batch_size,
        );
        let typer = Typing {
            from: Arc::clone(&typing),
            to: Arc::clone(&indexing),
            clock,
            limits: Arc::clone(&limits),
            rules: typed_rules,
            events: settings.event_limits(),
        };
        let indexer = Indexing {
            from: Arc::clone(&indexing),
            to: Arc::clone(&committing),
            set: Arc::clone(&state),
            arrivals,
            codec: settings.journal_codec,
            limits: Arc::clone(&limits),
        };
        let entrance = Arc::clone(&parsing);
        let queues = vec![
            status_of(&parsing),
            status_of(&merging),
            status_of(&typing),
            status_of(&indexing),
            status_of(&committing),
        ];
        let windows = vec![
            window_of(&parsing),
            window_of(&merging),
            window_of(&typing),
            window_of(&indexing),
            window_of(&committing),
        ];
        let backlog = Backlog::new(
            queues[1..].to_vec(),
            Arc::clone(&hot),
            state.id,
            settings.max_rolled_buckets,
        );
        let behind = backlog.clone();
        let is_behind = Box::new(move || behind.is_long());
        let parse = Parse::new(parsing, merging, rules, settings.batch_size, is_behind);
        let commit = Commit {
            backlog,
            set: state,
            queue: Arc::clone(&committing),
            hot,
            uploads,
            settings,
            limits,
            spool,
            gate,
            tally,
            meters: queues.iter().map(|status| Meter::new(Arc::clone(status))).collect(),
            stopping: Arc::clone(&stopping),
        };
        let threads = vec![
            spawn(set, "parsing", move || parse.run())?,
            spawn(set, "merging", move || merge.run())?,
            spawn(set, "typing", move || typer.run())?,
            spawn(set, "indexing", move || indexer.run())?,
            spawn(set, "journal", move || commit.run())?,
        ];
        Ok(Self { entrance, queues, windows, threads, stopping })
    }

    pub(crate) fn status(&self) -> Vec<QueueStatus> {
        self.queues.iter().map(|status| status()).collect()
    }

    /// Returns the status of the queues, and resets their extremes.
    pub(crate) fn window(&self) -> Vec<QueueStatus> {
        self.windows.iter().map(|window| window()).collect()
    }

    /// Accepts nothing more; what is in the queues is still processed.
    pub(crate) fn close(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.entrance.close();
    }

    /// Waits until all threads have ended.
    pub(crate) fn join(&mut self) {
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of a pipeline set has panicked");
            }
        }
    }
}

fn status_of<T: Send + 'static>(queue: &Arc<Queue<T>>) -> StatusOf {
    let queue = Arc::clone(queue);
    Arc::new(move || queue.status())
}

fn window_of<T: Send + 'static>(queue: &Arc<Queue<T>>) -> StatusOf {
    let queue = Arc::clone(queue);
    Arc::new(move || queue.window())
}

fn spawn(
    set: u16,
    stage: &str,
    work: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, Error> {
    let builder = thread::Builder::new().name(format!("{stage}-{set}"));
    builder.spawn(work).map_err(|error| Error::Thread(Arc::new(error)))
}
