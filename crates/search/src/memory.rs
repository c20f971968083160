//! The memory of searches. Each search has a pool of its own, above which it spills to disk. It has a small
//! part of the pool from the start and takes the rest when it needs it. If other searches hold too much for
//! that, it gives its turn to another search, waits, and goes on without a turn. The number of searches
//! without a turn is limited to those that the rests suffice for at a time, and to the number of turns: a
//! search that waits holds batches and buffers that no pool counts. Beyond this limit a search keeps its turn
//! while it waits, so that further searches stay queued, in order.
//!
//! A search that waits for its reader gives its turn up, too, and goes on without one: a client that stops
//! reading could otherwise hold a turn for ever. It keeps its memory, but its small part does not count any
//! more, because other searches cannot begin without one. The quotas of the roles limit how many such
//! searches there are.
//!
//! Guarantees: the pools of all searches together hold `total_mem_usage_mb` at most, or the memory of one
//! search and the small parts of the others where that is more, beside the small parts of searches that wait
//! for their readers. A search that has the rest of its memory waits for neither memory nor a turn, only for
//! its reader, so every search that waits for memory gets its own in the end, unless readers stand still.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::common::resources_err;
use datafusion::error::{DataFusionError, Result as PlanResult};
use metrics::{counter, gauge, histogram};
use parking_lot::{Mutex, MutexGuard};
use plan::{MemoryRoom, PlanningTime, SearchMemory, Session};
use runtime::metrics as names;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{Error, Settings};

const MEBIBYTE: usize = 1 << 20;
/// Divisor of all memory that is reserved for the initial shares of searches.
const SMALL_PARTS: usize = 4;
/// Divisor of a search's memory that it has from the start.
const FIRST: usize = 16;
/// Interval at which a waiting search checks for cancellation.
const LOOK: Duration = Duration::from_millis(50);

/// Memory and turns of searches. A memory permit stands for one MiB.
#[derive(Debug)]
pub(crate) struct Memory {
    first: Arc<Semaphore>,
    rest: Arc<Semaphore>,
    /// Searches that may run concurrently.
    turns: Arc<Semaphore>,
    /// Started jobs that may be without a turn.
    beyond: Arc<Semaphore>,
    /// Maximum memory of one search.
    search: usize,
}

/// The session, turn and memory of a search, released on drop.
#[derive(Debug)]
pub(crate) struct MemoryGrant {
    pub(crate) session: Session,
    room: Arc<Room>,
    since: Instant,
}

/// The memory of one search beyond its initial share.
#[derive(Debug)]
struct Room {
    rest: Arc<Semaphore>,
    beyond: Arc<Semaphore>,
    mebibytes: u32,
    planning: PlanningTime,
    held: Mutex<Held>,
    /// Ensures that only one of the threads of the search waits, on behalf of all.
    waiting: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Held {
    /// The permit of the small part.
    first: Option<OwnedSemaphorePermit>,
    turn: Option<OwnedSemaphorePermit>,
    /// The permit that replaces the turn of the search.
    beyond: Option<OwnedSemaphorePermit>,
    rest: Option<OwnedSemaphorePermit>,
    is_over: bool,
}

impl Memory {
    /// Creates the memory of jobs.
    pub(crate) fn new(settings: &Settings) -> Self {
        let search = settings.search_memory_bytes;
        let total = settings.memory_bytes.max(search) / MEBIBYTE;
        let first = (total / SMALL_PARTS).max(mebibytes(search / FIRST));
        let rest = total.saturating_sub(first).max(mebibytes(search));
        let semaphore =
            |permits: usize| Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS)));
        let turns = settings.max_searches().max(1);
        let at_a_time = rest / mebibytes(search - search / FIRST);
        let beyond = semaphore(at_a_time.clamp(1, turns));
        let turns = semaphore(turns);
        Self { first: semaphore(first), rest: semaphore(rest), turns, beyond, search }
    }

    /// Creates the memory of parts of searches. Every part that waits gives up its turn: a part that has its
    /// memory may depend on another part of the same search, which waits here for a turn.
    pub(crate) fn of_parts(settings: &Settings) -> Self {
        let beyond = Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));
        Self { beyond, ..Self::new(settings) }
    }

    /// Waits for the turn of a search and returns its session.
    ///
    /// # Errors
    /// If the session cannot be set up, and [`Error::Stopping`] after [`Self::close`].
    pub(crate) async fn grant_turn(
        &self,
        session: &Session,
        planning: &PlanningTime,
    ) -> Result<MemoryGrant, Error> {
        let queued = Queued::new();
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        drop(queued);
        let turn = turn.map_err(|_| Error::Stopping)?;
        let granted = self.grant(session, planning).await?;
        granted.room.held().turn = Some(turn);
        Ok(granted)
    }

    /// Refuses the searches that wait for a turn, and all later ones.
    pub(crate) fn close(&self) {
        self.turns.close();
    }

    /// Returns a session without a turn.
    ///
    /// # Errors
    /// If the session cannot be set up.
    async fn grant(
        &self,
        session: &Session,
        planning: &PlanningTime,
    ) -> Result<MemoryGrant, Error> {
        // Only the turns are ever closed, so acquiring cannot fail.
        let first = self.search / FIRST;
        let permits = permits(mebibytes(first));
        let small = Arc::clone(&self.first).acquire_many_owned(permits).await.ok();
        let room = Arc::new(Room {
            rest: Arc::clone(&self.rest),
            beyond: Arc::clone(&self.beyond),
            mebibytes: self::permits(mebibytes(self.search - first)),
            planning: planning.clone(),
            held: Mutex::default(),
            waiting: tokio::sync::Mutex::default(),
        });
        let rest = Arc::clone(&room) as Arc<dyn MemoryRoom>;
        let memory = SearchMemory { bytes: self.search, first, room: Some(rest) };
        let session = session.for_search(memory, planning);
        let session = session.map_err(|error| Error::Internal(error.to_string()))?;
        room.held().first = small;
        gauge!(names::SEARCHES_RUNNING).increment(1);
        Ok(MemoryGrant { session, room, since: Instant::now() })
    }
}

fn mebibytes(bytes: usize) -> usize {
    (bytes / MEBIBYTE).max(1)
}

fn permits(mebibytes: usize) -> u32 {
    u32::try_from(mebibytes).unwrap_or(u32::MAX)
}

impl MemoryGrant {
    /// Gives up the turn of a search that waits for its reader, and lets another search have its small part.
    pub(crate) fn give_up_turn(&self) {
        let mut held = self.room.held();
        held.turn = None;
        held.first = None;
    }
}

impl Drop for MemoryGrant {
    fn drop(&mut self) {
        // The memory pool lives as long as there are references to the job.
        *self.room.held() = Held { is_over: true, ..Held::default() };
        gauge!(names::SEARCHES_RUNNING).decrement(1);
        histogram!(names::SEARCH_SECONDS).record(self.since.elapsed());
    }
}

/// A guard that counts a queued search.
struct Queued;

impl Queued {
    fn new() -> Self {
        gauge!(names::SEARCHES_QUEUED).increment(1);
        Self
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        gauge!(names::SEARCHES_QUEUED).decrement(1);
    }
}

impl Room {
    fn held(&self) -> MutexGuard<'_, Held> {
        // The state is consistent between statements, so a panic elsewhere cannot corrupt it.
        self.held.lock()
    }

    async fn wait(&self) -> PlanResult<()> {
        let _waits = self.waiting.lock().await;
        if self.take_if_free() {
            return Ok(());
        }
        counter!(names::SEARCH_MEMORY_WAITS).increment(1);
        // Waiting for a turn while holding the rest would risk a deadlock: a search with a turn may wait for
        // a small part, and a search with a small part for the rest.
        let rest = Arc::clone(&self.rest).acquire_many_owned(self.mebibytes);
        let rest = self.unless_cancelled(self.aside_until(rest)).await?;
        let mut held = self.held();
        if held.is_over {
            return Err(cancelled());
        }
        held.rest = rest.ok();
        Ok(())
    }

    /// Waits for a future, without the turn as soon as another search may be without one.
    async fn aside_until<T>(&self, rest: impl Future<Output = T>) -> T {
        let mut rest = std::pin::pin!(rest);
        tokio::select! {
            // The position in the queue for the rest has priority.
            biased;
            done = rest.as_mut() => return done,
            () = self.step_aside() => {}
        }
        rest.await
    }

    /// Gives up the turn, if there is one, as soon as this is allowed.
    async fn step_aside(&self) {
        let has_turn = self.held().turn.is_some();
        if !has_turn {
            return;
        }
        let beyond = Arc::clone(&self.beyond).acquire_owned().await.ok();
        let mut held = self.held();
        // It may have been given up to the reader meanwhile.
        if !held.is_over && held.turn.is_some() {
            held.beyond = beyond;
            held.turn = None;
        }
    }

    async fn unless_cancelled<T>(&self, waiting: impl Future<Output = T>) -> PlanResult<T> {
        let mut waiting = std::pin::pin!(waiting);
        loop {
            if let Ok(done) = tokio::time::timeout(LOOK, waiting.as_mut()).await {
                return Ok(done);
            }
            if self.planning.is_cancelled() || self.held().is_over {
                return Err(cancelled());
            }
        }
    }
}

impl MemoryRoom for Room {
    fn take(&self) -> PlanResult<()> {
        if self.take_if_free() {
            return Ok(());
        }
        match Handle::try_current() {
            Ok(runtime) if runtime.runtime_flavor() == RuntimeFlavor::MultiThread => {
                tokio::task::block_in_place(|| runtime.block_on(self.wait()))
            }
            _ => resources_err!("other searches hold the memory of total_mem_usage_mb"),
        }
    }

    fn take_if_free(&self) -> bool {
        let mut held = self.held();
        if held.rest.is_none() && !held.is_over {
            held.rest = Arc::clone(&self.rest).try_acquire_many_owned(self.mebibytes).ok();
        }
        held.rest.is_some()
    }
}

fn cancelled() -> DataFusionError {
    DataFusionError::External(Box::new(Error::Cancelled))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Instant;

    use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
    use plan::SessionSettings;

    use super::*;

    /// Room for two large searches, and two turns.
    fn memory() -> (Arc<Memory>, Session) {
        made(Memory::new)
    }

    fn made(new: fn(&Settings) -> Memory) -> (Arc<Memory>, Session) {
        let settings = Settings {
            search_memory_bytes: 64 << 20,
            memory_bytes: 170 << 20,
            base_max_searches: 2,
            max_searches_per_cpu: 0,
            ..Settings::default()
        };
        let session = Session::new(&SessionSettings::default(), Vec::new()).unwrap();
        (Arc::new(new(&settings)), session)
    }

    fn groups(granted: &MemoryGrant) -> MemoryReservation {
        MemoryConsumer::new("groups").register(granted.session.memory_pool())
    }

    /// A search that holds the rest of its memory.
    async fn large(memory: &Memory, session: &Session) -> (MemoryReservation, MemoryGrant) {
        let granted = memory.grant(session, &PlanningTime::default()).await.unwrap();
        let groups = groups(&granted);
        groups.try_grow(50 << 20).unwrap();
        (groups, granted)
    }

    /// A job that needs the rest of its memory, and ends when it has it.
    fn large_job(memory: &Arc<Memory>, session: &Session) -> tokio::task::JoinHandle<()> {
        let (memory, session) = (Arc::clone(memory), session.clone());
        tokio::spawn(async move {
            let granted = memory.grant_turn(&session, &PlanningTime::default()).await.unwrap();
            let groups = groups(&granted);
            let grown = tokio::task::spawn_blocking(move || groups.try_grow(50 << 20)).await;
            grown.unwrap().unwrap();
            drop(granted);
        })
    }

    async fn until(is_so: impl Fn() -> bool) {
        let start = Instant::now();
        while !is_so() {
            assert!(start.elapsed() < Duration::from_secs(60));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn who_needs_much_waits_and_gives_its_turn_to_who_needs_little() {
        let (memory, session) = memory();
        let planning = PlanningTime::default();
        let (one_large, other_large) =
            (large(&memory, &session).await, large(&memory, &session).await);

        let waits = Arc::new(memory.grant_turn(&session, &planning).await.unwrap());
        let of_waits = Arc::new(groups(&waits));
        let waiting = tokio::task::spawn_blocking({
            let of_waits = Arc::clone(&of_waits);
            move || of_waits.try_grow(50 << 20)
        });
        until(|| waits.room.held().turn.is_none()).await;
        // It has given up its turn: two others have one.
        let one = memory.grant_turn(&session, &planning).await.unwrap();
        let two = memory.grant_turn(&session, &planning).await.unwrap();
        groups(&one).try_grow(3 << 20).unwrap();
        assert!(!waiting.is_finished());

        // It goes on as soon as there is room, although the turns are taken.
        drop(one_large);
        waiting.await.unwrap().unwrap();
        assert_eq!((of_waits.size(), memory.turns.available_permits()), (50 << 20, 0));
        drop((one, two, other_large, waits));
        assert_eq!((memory.turns.available_permits(), memory.first.available_permits()), (2, 42));
        assert_eq!(memory.rest.available_permits(), 128);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn searches_that_wait_for_turns_parts_and_rests_do_not_wait_for_each_other() {
        let (memory, session) = made(Memory::of_parts);
        let held = [large(&memory, &session).await, large(&memory, &session).await];
        let job = || large_job(&memory, &session);
        // They take what is left of the small parts, and have given up their turns.
        let mut jobs: Vec<_> = (0..8).map(|_| job()).collect();
        let left = || (memory.first.available_permits(), memory.turns.available_permits());
        until(|| left() == (2, 2)).await;
        // Two have turns and wait for small parts, the first of them with what is left; two wait for turns.
        jobs.extend((0..4).map(|_| job()));
        until(|| left() == (0, 0)).await;
        drop(held);
        let all = futures::future::join_all(jobs);
        let done = tokio::time::timeout(Duration::from_secs(60), all).await;
        done.unwrap().into_iter().for_each(|job| job.unwrap());
        assert_eq!((left(), memory.rest.available_permits()), ((42, 2), 128));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn searches_stay_queued_while_many_wait_for_memory() {
        let (memory, session) = memory();
        let held = [large(&memory, &session).await, large(&memory, &session).await];
        let jobs: Vec<_> = (0..8).map(|_| large_job(&memory, &session)).collect();
        let left = || {
            let (turns, beyond) = (&memory.turns, &memory.beyond);
            let first = memory.first.available_permits();
            (first, turns.available_permits(), beyond.available_permits())
        };
        // Two wait without a turn and two with one; of the small parts, those of the others are left.
        until(|| left() == (42 - 6 * 4, 0, 0)).await;
        assert!(jobs.iter().all(|job| !job.is_finished()));
        drop(held);
        let all = futures::future::join_all(jobs);
        let done = tokio::time::timeout(Duration::from_secs(60), all).await;
        done.unwrap().into_iter().for_each(|job| job.unwrap());
        assert_eq!((left(), memory.rest.available_permits()), ((42, 2, 2), 128));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_cancelled_search_does_not_wait() {
        let (memory, session) = memory();
        let _held = [large(&memory, &session).await, large(&memory, &session).await];
        let own = PlanningTime::default();
        let granted = memory.grant(&session, &own).await.unwrap();
        let groups = groups(&granted);
        let waiting = tokio::task::spawn_blocking(move || groups.try_grow(50 << 20));
        own.cancel();
        let refused = waiting.await.unwrap().unwrap_err().to_string();
        assert!(refused.contains("cancelled"), "{refused}");
    }

    #[tokio::test]
    async fn a_thread_that_cannot_wait_is_refused() {
        let (memory, session) = memory();
        let _held = [large(&memory, &session).await, large(&memory, &session).await];
        let granted = memory.grant(&session, &PlanningTime::default()).await.unwrap();
        let refused = groups(&granted).try_grow(50 << 20).unwrap_err().to_string();
        assert!(refused.contains("total_mem_usage_mb"), "{refused}");
    }
}
