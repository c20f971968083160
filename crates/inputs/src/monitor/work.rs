//! Turns: starts them, handles their outcomes, and runs periodic tasks.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use tokio::task::JoinError;

use super::packed::{PackedFile, Taken};
use super::place::{FileId, Seen};
use super::status::FileState;
use super::tail::{Goal, Outcome, Tail};
use super::{Monitor, ParkReason, Slot};
use crate::Error;

/// Turns at the same time; most of them wait for acknowledgements.
const TURNS: usize = 512;

/// A turn that has ended.
#[derive(Debug)]
pub(super) enum Done {
    Tail(Box<Tail>, Outcome),
    Packed(Box<PackedFile>, Taken),
}

impl Monitor {
    /// Asks for a turn.
    pub(super) fn request(&mut self, id: FileId, goal: Goal) {
        match self.tails.get_mut(&id) {
            Some(Slot::Here(tail)) if !tail.queued => {
                tail.queued = true;
                self.ready.push_back((id, goal));
            }
            Some(Slot::Busy { .. }) => {
                self.again.insert(id);
            }
            _ => {}
        }
    }

    pub(super) fn start_turns(&mut self) {
        let Some(shared) = self.shared.clone() else { return };
        while self.active.len() < TURNS {
            let Some((id, goal)) = self.ready.pop_front() else { return };
            let Some(slot) = self.tails.get_mut(&id) else { continue };
            let generation = match slot {
                Slot::Here(tail) => tail.generation,
                Slot::Busy { .. } => continue,
            };
            let Slot::Here(mut tail) = std::mem::replace(slot, Slot::Busy { generation }) else {
                continue;
            };
            tail.queued = false;
            let shared = Arc::clone(&shared);
            self.active.spawn(async move {
                let outcome = tail.turn(&shared, goal).await;
                Done::Tail(tail, outcome)
            });
        }
    }

    pub(super) fn absorb(&mut self, done: Result<Done, JoinError>) {
        match done {
            Ok(Done::Tail(tail, outcome)) => self.absorb_tail(tail, outcome),
            Ok(Done::Packed(file, taken)) => self.absorb_packed(&file, taken),
            Err(error) => tracing::error!(%error, "a followed file can no longer be found"),
        }
    }

    /// Writes the checkpoints, so that they survive the process.
    pub(super) fn write(&self) {
        if let Err(error) = self.book.lock().write() {
            tracing::debug!(%error, "checkpoints wait; the next sync tells if that fails too");
        }
    }

    fn absorb_tail(&mut self, mut tail: Box<Tail>, outcome: Outcome) {
        // A turn sees the identity of the file it read, which is that of the slot.
        let id = tail.seen.id;
        if let Some(Slot::Busy { generation }) = self.tails.get(&id) {
            tail.generation = tail.generation.max(*generation);
        }
        let mut goal = self.again.remove(&id).then_some(Goal::Read);
        match outcome {
            Outcome::UpToDate => {}
            Outcome::More => goal = Some(Goal::Read),
            Outcome::Replaced => {
                let path = tail.path.display();
                tracing::info!(%path, "a file was truncated or rewritten");
                tail.replaced = true;
                let key = tail.key;
                let copies = [ParkReason::CopyOf(key), ParkReason::CopyOfUnread(key)];
                let has_copy = self.parked.values().any(|parked| copies.contains(&parked.why));
                goal = Some(Goal::Close { with_held: !has_copy });
            }
            Outcome::Missing if tail.gone => goal = Some(Goal::Close { with_held: true }),
            Outcome::Missing => self.stale = true,
            Outcome::Closed if tail.gone || tail.replaced => {
                self.tails.remove(&id);
                self.leave(&tail, tail.replaced);
                self.stale = true;
                return;
            }
            Outcome::Closed => {}
            Outcome::Failed(Error::Closed | Error::Unacknowledged) => self.sink_closed = true,
            Outcome::Failed(error) => {
                if self.waiting.is_new(&tail.path, tail.safe(), &error.to_string()) {
                    tracing::warn!(path = %tail.path.display(), %error, "a monitored file waits");
                }
                // The next look takes the file for changed.
                tail.seen.modified = i64::MIN;
            }
        }
        self.note(&tail);
        self.tails.insert(id, Slot::Here(tail));
        if let Some(goal) = goal {
            self.request(id, goal);
        }
    }

    fn note(&self, tail: &Tail) {
        self.book.lock().put(tail.record());
        if tail.gone {
            return;
        }
        let state = match tail.is_open() && !tail.is_idle() {
            true => FileState::Open,
            false => FileState::Finished,
        };
        self.status.set(&tail.path, tail.safe(), tail.seen.size, state);
    }

    fn absorb_packed(&mut self, file: &PackedFile, taken: Taken) {
        let (path, seen) = (&file.path, file.seen);
        match taken {
            Taken::Whole(key) => {
                self.waiting.end(path);
                self.park(path.clone(), seen, ParkReason::Ignored);
                self.status.set(path, seen.size, seen.size, FileState::Finished);
                if file.target.delete_when_read {
                    self.taken_in.push((path.clone(), seen, key));
                }
            }
            Taken::Moved => {
                self.parked.remove(path);
                self.status.remove(path);
                self.stale = true;
            }
            Taken::CopyOf(key) => self.park(path.clone(), seen, ParkReason::CopyOf(key)),
            Taken::Binary => {
                tracing::info!(path = %path.display(), "the content of a compressed file is not text");
                self.park(path.clone(), seen, ParkReason::Ignored);
                self.status.explain(path, "binary".to_owned());
            }
            Taken::Broken(error) => {
                tracing::warn!(%error, "a compressed file is incomplete; reading continues when it changes");
                self.park(path.clone(), seen, ParkReason::Ignored);
            }
            Taken::Again(Error::Closed | Error::Unacknowledged) => self.sink_closed = true,
            Taken::Again(error) => {
                if self.waiting.is_new(path, 0, &error.to_string()) {
                    tracing::warn!(path = %path.display(), %error, "a monitored file waits");
                }
                self.park(path.clone(), seen, ParkReason::Failed);
            }
        }
    }

    /// Runs the periodic tasks: completes unfinished events, closes and deletes files.
    pub(super) fn tick(&mut self) {
        let mut wanted = Vec::new();
        let mut finished = Vec::new();
        let mut open = Vec::new();
        for (id, slot) in &mut self.tails {
            let Slot::Here(tail) = slot else { continue };
            if tail.queued {
                continue;
            }
            let idle = tail.is_idle();
            if tail.gone {
                let goal = if idle { Goal::Close { with_held: true } } else { Goal::Read };
                wanted.push((*id, goal));
                continue;
            }
            if idle && tail.is_at_end() {
                if tail.is_unfinished() {
                    wanted.push((*id, Goal::Finish));
                    continue;
                }
                if tail.is_open() {
                    tail.rest();
                    self.status.set(&tail.path, tail.safe(), tail.seen.size, FileState::Finished);
                }
                if self.targets[tail.target].delete_when_read {
                    finished.push((tail.path.clone(), tail.seen, tail.key));
                }
            } else if tail.is_open() {
                open.push((tail.last_growth, *id));
            }
        }
        for (id, goal) in wanted {
            self.request(id, goal);
        }
        self.close_some(open);
        finished.append(&mut self.taken_in);
        for (path, seen, key) in finished {
            let is_dirty = self.book.lock().is_dirty(key);
            match is_dirty {
                true => self.taken_in.push((path, seen, key)),
                false => self.delete(&path, seen, key),
            }
        }
    }

    /// Closes the files that have been still for longest when too many are open.
    fn close_some(&mut self, mut open: Vec<(Instant, FileId)>) {
        let excess = open.len().saturating_sub(self.settings.max_fd);
        if excess == 0 {
            return;
        }
        open.sort_unstable_by_key(|(growth, _)| *growth);
        for (_, id) in &open[..excess] {
            if let Some(Slot::Here(tail)) = self.tails.get_mut(id) {
                tail.rest();
            }
        }
    }

    /// Events that wait for their next line are asked for.
    pub(super) fn close_events(&mut self) {
        let here = self.tails.iter_mut().filter_map(|(id, slot)| match slot {
            Slot::Here(tail) if tail.is_unfinished() => {
                tail.queued = false;
                Some(*id)
            }
            _ => None,
        });
        let unfinished: Vec<FileId> = here.collect();
        for id in unfinished {
            self.request(id, Goal::Close { with_held: false });
        }
    }

    /// Deletes a file that was taken in whole, unless it has changed since.
    pub(super) fn delete(&mut self, path: &Path, seen: Seen, key: u64) {
        match Seen::at(path) {
            Ok(now) if now.id == seen.id && now.size == seen.size => {}
            _ => return,
        }
        if let Err(error) = std::fs::remove_file(path) {
            tracing::warn!(path = %path.display(), %error, "cannot delete a file that was indexed");
            return;
        }
        tracing::info!(path = %path.display(), bytes = seen.size, "a file was indexed and deleted");
        self.tails.remove(&seen.id);
        self.parked.remove(path);
        self.status.remove(path);
        self.book.lock().remove(key);
    }

    pub(super) async fn flush_when_due(&mut self) {
        if self.flushed.elapsed() < self.settings.checkpoint_interval {
            return;
        }
        if let Err(error) = self.flush().await {
            tracing::warn!(%error, "cannot write the monitor's checkpoints; more data would be read again after a crash");
        }
    }

    /// Writes and syncs the checkpoints.
    pub(super) async fn flush(&mut self) -> Result<(), Error> {
        self.flushed = Instant::now();
        let fail = |error| Error::read("the monitor's checkpoints", error);
        let book = Arc::clone(&self.book);
        let work = tokio::task::spawn_blocking(move || {
            let Some(flush) = book.lock().flush()? else { return Ok(()) };
            let written = flush.run();
            if written.is_err() {
                book.lock().flush_failed(flush);
            }
            written
        });
        work.await.unwrap_or_else(|error| Err(std::io::Error::other(error))).map_err(fail)
    }
}
