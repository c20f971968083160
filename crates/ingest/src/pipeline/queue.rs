//! A queue bounded in bytes between two stages.
//!
//! A writer waits while the queue is full: this back-pressure propagates from a slow stage to the sender. An
//! item larger than the whole queue is accepted when the queue is empty, so the bound is the capacity or one
//! item, whichever is larger. Items leave in the order of their arrival; items in a closed queue are still
//! delivered.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

/// Counts of a queue, for metrics and the status page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueueStatus {
    /// The pipeline set the queue belongs to.
    pub set: u16,
    /// The stage that reads the queue.
    pub stage: &'static str,
    /// Bytes waiting now.
    pub bytes: u64,
    /// Items waiting now.
    pub items: u64,
    /// Maximum number of waiting bytes.
    pub capacity: u64,
    /// Number of bytes that have passed.
    pub passed_bytes: u64,
    /// Number of items that have passed.
    pub passed_items: u64,
    /// Total time that writers have waited for room.
    pub blocked: Duration,
    /// Maximum number of waiting items since the previous [`Ingest::window`](crate::Ingest::window).
    pub largest: u64,
    /// Minimum number of waiting items since then.
    pub smallest: u64,
}

/// Why an item was refused; it is returned to the writer.
#[derive(Debug)]
pub(crate) enum Refused<T> {
    /// The queue stayed full for the allowed time.
    Full(T),
    /// The queue is closed.
    Closed(T),
}

/// The result of a read with a timeout.
#[derive(Debug)]
pub(crate) enum Popped<T> {
    Item(T),
    Timeout,
    Closed,
}

#[derive(Debug)]
struct State<T> {
    items: VecDeque<(T, u64)>,
    bytes: u64,
    closed: bool,
    passed_bytes: u64,
    passed_items: u64,
    blocked: Duration,
    largest: usize,
    smallest: usize,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    set: u16,
    stage: &'static str,
    capacity: u64,
    state: Mutex<State<T>>,
    filled: Condvar,
    freed: Condvar,
    freed_async: Notify,
}

impl<T> Queue<T> {
    pub(crate) fn new(set: u16, stage: &'static str, capacity: u64) -> Self {
        let state = State {
            items: VecDeque::new(),
            bytes: 0,
            closed: false,
            passed_bytes: 0,
            passed_items: 0,
            blocked: Duration::ZERO,
            largest: 0,
            smallest: 0,
        };
        Self {
            set,
            stage,
            capacity,
            state: Mutex::new(state),
            filled: Condvar::new(),
            freed: Condvar::new(),
            freed_async: Notify::new(),
        }
    }

    fn has_room(&self, state: &State<T>, bytes: u64) -> bool {
        state.items.is_empty() || state.bytes + bytes <= self.capacity
    }

    fn admit(&self, state: &mut State<T>, item: T, bytes: u64) {
        state.items.push_back((item, bytes));
        state.bytes += bytes;
        state.largest = state.largest.max(state.items.len());
        self.filled.notify_one();
    }

    /// Waits without a time limit for room; returns the item if the queue is closed.
    pub(crate) fn push(&self, item: T, bytes: u64) -> Result<(), T> {
        let mut state = self.state.lock();
        let mut waiting: Option<Instant> = None;
        while !state.closed && !self.has_room(&state, bytes) {
            waiting.get_or_insert_with(Instant::now);
            self.freed.wait(&mut state);
        }
        if let Some(since) = waiting {
            state.blocked += since.elapsed();
        }
        if state.closed {
            return Err(item);
        }
        self.admit(&mut state, item, bytes);
        Ok(())
    }

    fn try_push(&self, item: T, bytes: u64) -> Result<(), Refused<T>> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(Refused::Closed(item));
        }
        if !self.has_room(&state, bytes) {
            return Err(Refused::Full(item));
        }
        self.admit(&mut state, item, bytes);
        let room_left = state.bytes < self.capacity;
        drop(state);
        if room_left {
            // Another sender's item may fit as well, so the wake-up is passed on.
            self.freed_async.notify_one();
        }
        Ok(())
    }

    /// Waits for room up to `wait`, without blocking the thread.
    pub(crate) async fn push_async(
        &self,
        item: T,
        bytes: u64,
        wait: Duration,
    ) -> Result<(), Refused<T>> {
        let mut item = match self.try_push(item, bytes) {
            Err(Refused::Full(item)) => item,
            done => return done,
        };
        let since = Instant::now();
        let result = loop {
            let freed = self.freed_async.notified();
            match self.try_push(item, bytes) {
                Err(Refused::Full(back)) => item = back,
                done => break done,
            }
            let left = wait.saturating_sub(since.elapsed());
            if left.is_zero() || tokio::time::timeout(left, freed).await.is_err() {
                break self.try_push(item, bytes);
            }
        };
        self.state.lock().blocked += since.elapsed();
        result
    }

    /// Waits for an item; `None` once the queue is closed and empty.
    pub(crate) fn pop(&self) -> Option<T> {
        let mut state = self.state.lock();
        loop {
            if let Some(item) = self.take(&mut state) {
                return Some(item);
            }
            if state.closed {
                return None;
            }
            self.filled.wait(&mut state);
        }
    }

    /// Waits for an item for at most `wait`.
    pub(crate) fn pop_timeout(&self, wait: Duration) -> Popped<T> {
        let mut state = self.state.lock();
        let since = Instant::now();
        loop {
            if let Some(item) = self.take(&mut state) {
                return Popped::Item(item);
            }
            if state.closed {
                return Popped::Closed;
            }
            let left = wait.saturating_sub(since.elapsed());
            if left.is_zero() {
                return Popped::Timeout;
            }
            self.filled.wait_for(&mut state, left);
        }
    }

    /// Returns the next item if there is one.
    pub(crate) fn try_pop(&self) -> Option<T> {
        let mut state = self.state.lock();
        self.take(&mut state)
    }

    fn take(&self, state: &mut State<T>) -> Option<T> {
        let (item, bytes) = state.items.pop_front()?;
        state.bytes -= bytes;
        state.passed_bytes += bytes;
        state.passed_items += 1;
        state.smallest = state.smallest.min(state.items.len());
        self.freed.notify_one();
        self.freed_async.notify_one();
        Some(item)
    }

    /// Closes the queue: it accepts no more items, and readers get the remaining ones and then the end.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.filled.notify_all();
        self.freed.notify_all();
        self.freed_async.notify_waiters();
    }

    /// Returns the status, and resets the extremes of the number of items.
    pub(crate) fn window(&self) -> QueueStatus {
        let status = self.status();
        let mut state = self.state.lock();
        (state.largest, state.smallest) = (state.items.len(), state.items.len());
        status
    }

    pub(crate) fn status(&self) -> QueueStatus {
        let state = self.state.lock();
        QueueStatus {
            set: self.set,
            stage: self.stage,
            bytes: state.bytes,
            items: state.items.len() as u64,
            capacity: self.capacity,
            passed_bytes: state.passed_bytes,
            passed_items: state.passed_items,
            blocked: state.blocked,
            largest: state.largest as u64,
            smallest: state.smallest as u64,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn a_full_queue_refuses_after_the_wait_and_gives_the_item_back() {
        let queue = Queue::new(0, "parsing", 10);
        queue.push("a", 8).unwrap();
        let refused = queue.push_async("b", 8, Duration::from_millis(5)).await;
        assert!(matches!(refused, Err(Refused::Full("b"))));
        assert_eq!(queue.status().bytes, 8);
    }

    #[tokio::test]
    async fn a_waiting_sender_gets_in_when_room_appears() {
        let queue = Arc::new(Queue::new(0, "parsing", 10));
        queue.push("a", 8).unwrap();
        let sender = Arc::clone(&queue);
        let sent =
            tokio::spawn(async move { sender.push_async("b", 8, Duration::from_secs(60)).await });
        assert_eq!(queue.pop(), Some("a"));
        assert!(sent.await.unwrap().is_ok());
        assert_eq!(queue.pop(), Some("b"));
    }

    #[test]
    fn an_item_larger_than_the_queue_passes_when_it_is_alone() {
        let queue = Queue::new(0, "parsing", 10);
        queue.push("big", 1000).unwrap();
        assert_eq!(queue.pop(), Some("big"));
    }

    #[test]
    fn the_extremes_of_a_queue_are_of_the_time_since_they_were_asked_for() {
        let queue = Queue::new(0, "parsing", 10);
        queue.push("a", 1).unwrap();
        queue.push("b", 1).unwrap();
        queue.pop().unwrap();
        let extremes = |status: QueueStatus| (status.largest, status.smallest);
        assert_eq!(extremes(queue.window()), (2, 0));
        assert_eq!(extremes(queue.window()), (1, 1));
        queue.pop().unwrap();
        assert_eq!(extremes(queue.window()), (1, 0));
    }

    #[test]
    fn a_closed_queue_hands_out_what_is_left() {
        let queue = Queue::new(0, "parsing", 10);
        queue.push("a", 1).unwrap();
        queue.close();
        assert_eq!(queue.push("b", 1), Err("b"));
        assert_eq!((queue.pop(), queue.pop()), (Some("a"), None));
    }
}
