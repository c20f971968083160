//! A follower of the catalog: it has the same snapshots as the leader, slightly later, and sends changes to
//! the leader.
//!
//! A background task keeps the state up to date. If the connection is lost, readers keep the current state,
//! and following continues from its number once a leader answers. The state never goes back: a leader with an
//! older state or with another catalog is not followed.

use std::sync::Arc;
use std::time::Duration;

use protocol::catalog::{CommitRequest, FollowRequest, FollowResponse};
use runtime::{Clock, Shutdown, metrics as names};
use tokio::sync::watch;
use transport::Transport;

use crate::client::{Leader, jittered};
use crate::codec::{self, Damage, Deleted, Entry, Shared};
use crate::commit::Documents;
use crate::contents::Contents;
use crate::error::Result;
use crate::summaries::Summaries;
use crate::wire;
use crate::writer::count;
use crate::{Commit, Error, Settings, Snapshot};

pub(crate) struct Follower {
    pub(crate) settings: Settings,
    pub(crate) summaries: Arc<Summaries>,
    pub(crate) leader: Arc<Leader>,
    pub(crate) view: Arc<watch::Sender<Arc<Snapshot>>>,
    shutdown: Shutdown,
}

impl std::fmt::Debug for Follower {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follower").field("leader", &self.leader).finish_non_exhaustive()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.shutdown.stop();
    }
}

impl Follower {
    /// Starts to follow; returns once there is a state. Until then `failure` has the reason.
    pub(crate) async fn start(
        (addresses, transport): (&[String], &Transport),
        settings: Settings,
        clock: Arc<dyn Clock>,
        failure: watch::Sender<String>,
    ) -> Result<Self> {
        let leader = Arc::new(Leader::new(addresses, transport, &settings, failure)?);
        let view = Arc::new(watch::channel(Arc::new(Snapshot::default())).0);
        let summaries = Arc::new(Summaries::new(settings.summary_bytes));
        let shutdown = Shutdown::new();
        let follower = Self {
            settings,
            summaries: Arc::clone(&summaries),
            leader: Arc::clone(&leader),
            view: Arc::clone(&view),
            shutdown: shutdown.clone(),
        };
        let (has_state, mut ready) = watch::channel(false);
        let (refused, mut refusal) = watch::channel(None);
        let state = State::default();
        let task = Task { leader, view, summaries, clock, has_state, refused, state };
        shutdown.spawn(task.run(shutdown.clone()));
        let deadline = follower.leader.deadline();
        let waiting = async {
            tokio::select! {
                _ = ready.wait_for(|ready| *ready) => None,
                refused = refusal.wait_for(Option::is_some) => refused.ok()?.clone(),
            }
        };
        match tokio::time::timeout(deadline, waiting).await {
            Ok(None) => Ok(follower),
            Ok(Some(reason)) => Err(Error::Refused { reason }),
            Err(_) => Err(follower.leader.unreachable(deadline, None)),
        }
    }

    pub(crate) async fn commit(&self, commit: &Commit) -> Result<()> {
        let request = wire::commit_request(commit);
        self.send(request.map_err(|damage| self.unsendable(damage))?).await
    }

    pub(crate) async fn documents(&self, documents: &Documents) -> Result<()> {
        let request = wire::documents_request(documents);
        self.send(request.map_err(|damage| self.unsendable(damage))?).await
    }

    /// Sends a change to the leader, and waits until the local state includes it.
    async fn send(&self, request: CommitRequest) -> Result<()> {
        let store_id = self.view.borrow().store_id().map(|id| id.to_string());
        let request = CommitRequest { store_id, ..request };
        let number = self.leader.commit(request).await?;
        let mut view = self.view.subscribe();
        let seen = view.wait_for(|snapshot| snapshot.number() >= number);
        let deadline = self.leader.deadline();
        if tokio::time::timeout(deadline, seen).await.is_ok() {
            return Ok(());
        }
        let reason = "it has made the change, which has not arrived here".to_owned();
        Err(self.leader.unreachable(deadline, Some(reason)))
    }

    pub(crate) fn path(&self) -> String {
        self.leader.addresses()
    }

    pub(crate) fn close(&self) {
        self.shutdown.stop();
    }

    /// Stops following: the view does not change from then on.
    pub(crate) async fn end(&self) {
        self.shutdown.stop();
        while self.shutdown.finish(Duration::from_secs(1)).await.is_err() {}
    }

    fn unsendable(&self, damage: Damage) -> Error {
        damage.at(&self.path(), b"request")
    }
}

/// The task that follows the leader.
struct Task {
    leader: Arc<Leader>,
    view: Arc<watch::Sender<Arc<Snapshot>>>,
    summaries: Arc<Summaries>,
    clock: Arc<dyn Clock>,
    has_state: watch::Sender<bool>,
    /// Why a process that was asked belongs to another cluster.
    refused: watch::Sender<Option<String>>,
    state: State,
}

impl Task {
    async fn run(mut self, shutdown: Shutdown) {
        let (shortest, longest) = self.leader.pauses();
        let mut pause = shortest;
        loop {
            let before = self.state.next.number();
            let ended = tokio::select! {
                () = shutdown.stopped() => return,
                ended = self.follow() => ended,
            };
            let addresses = self.leader.addresses();
            metrics::gauge!(names::CATALOG_FOLLOWS).set(0.0);
            if self.leader.note(None) {
                tracing::warn!(addresses, reason = ended, "the catalog's leader is lost");
            }
            self.leader.fail(ended);
            if self.state.next.number() > before {
                pause = shortest;
            }
            if !shutdown.sleep(jittered(pause)).await {
                return;
            }
            pause = (pause * 2).min(longest);
        }
    }

    /// Follows until the connection ends. Returns why it ended.
    async fn follow(&mut self) -> String {
        let number = self.has_state.borrow().then(|| self.state.next.number());
        self.state.interrupted();
        let store_id = self.state.next.store_id().map(|id| id.to_string());
        let request = FollowRequest { number, kinds: bytes::Bytes::new(), store_id };
        let refused = |reason| {
            self.refused.send_replace(Some(reason));
        };
        let (place, mut responses) = self.leader.follow(request, &refused).await;
        // A follower that already has a state can answer requests now; it need not wait for the new one.
        if number.is_some() {
            self.followed(place);
        }
        loop {
            match responses.message().await {
                Ok(Some(response)) => match self.state.take(response, &self.summaries) {
                    Ok(true) => {
                        self.followed(place);
                        self.publish();
                    }
                    Ok(false) => {}
                    Err(damage) => {
                        let error = damage.at(self.leader.address(place), b"of the feed");
                        return error.to_string();
                    }
                },
                Ok(None) => return "the leader has ended".to_owned(),
                Err(status) => return transport::reason(&status),
            }
        }
    }

    fn followed(&self, place: usize) {
        metrics::gauge!(names::CATALOG_FOLLOWS).set(1.0);
        if self.leader.note(Some(place)) {
            tracing::info!(leader = self.leader.address(place), "the catalog is followed");
        }
    }

    fn publish(&mut self) {
        self.state.next.changed = self.clock.now();
        metrics::gauge!(names::CATALOG_BUCKETS).set(count(self.state.next.len()));
        self.view.send_replace(Arc::new(self.state.next.clone()));
        self.has_state.send_replace(true);
    }
}

/// The current state, and the received part of the next one.
#[derive(Default)]
struct State {
    next: Snapshot,
    shared: Shared,
    whole: Option<Contents>,
    write: Vec<Change>,
}

enum Change {
    Put(Entry),
    Delete(Deleted),
}

impl State {
    /// Discards the received part of an incomplete state.
    fn interrupted(&mut self) {
        self.whole = None;
        self.write.clear();
    }

    /// Applies a message. Returns whether the next state is complete.
    fn take(
        &mut self,
        response: FollowResponse,
        summaries: &Summaries,
    ) -> std::result::Result<bool, Damage> {
        let FollowResponse { number, begins, ends, entries, store_id } = response;
        let known = self.next.store_id();
        if let (Some(known), Some(theirs)) = (known, store_id)
            && known.to_string() != theirs
        {
            return Err(codec::content(format!("it is of catalog {theirs}, not of {known}")));
        }
        if begins {
            self.interrupted();
            self.whole = Some(Contents::default());
        }
        for pair in entries {
            match (&pair.value, &mut self.whole) {
                (Some(_), Some(whole)) => whole.take(wire::entry_of(&pair, &mut self.shared)?),
                (Some(_), None) => {
                    self.write.push(Change::Put(wire::entry_of(&pair, &mut self.shared)?));
                }
                (None, _) => self.write.push(Change::Delete(codec::deleted(&pair.key)?)),
            }
        }
        if !ends {
            return Ok(false);
        }
        let what = if self.whole.is_some() { "whole" } else { "write" };
        metrics::counter!(names::CATALOG_STATES, "what" => what).increment(1);
        if let Some(whole) = self.whole.take() {
            let next = whole.into_snapshot(number);
            // A leader of an earlier release compares no identities.
            if known.is_some() && next.store_id() != known {
                return Err(codec::content("it is the state of another catalog"));
            }
            self.next = next;
            return Ok(true);
        }
        let expected = self.next.number().saturating_add(1);
        if number != expected {
            return Err(codec::content(format!("write {number} came instead of {expected}")));
        }
        // A write has its entries in the order of their keys. Deletions are first, because that of a bucket's
        // header only names the ID, and the write may add the bucket to another index.
        self.write.sort_by_key(|change| matches!(change, Change::Put(_)));
        for change in self.write.drain(..) {
            match change {
                Change::Put(entry) => self.next.put(entry),
                Change::Delete(deleted) => {
                    if let Deleted::Bucket(id) = &deleted {
                        summaries.forget(*id);
                    }
                    self.next.delete(deleted);
                }
            }
        }
        self.next.number = number;
        Ok(true)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use protocol::catalog::Entry as Pair;

    use super::*;
    use crate::fuzzing::{Move, moved_bucket};

    #[test]
    fn a_bucket_that_a_write_moves_to_another_index_is_in_that_one() {
        let Move { before, after, entries } = moved_bucket();
        let mut state = State::default();
        state.next.insert_new(before);
        let pair = |(key, value): (Vec<u8>, Option<Vec<u8>>)| Pair {
            key: key.into(),
            value: value.map(Into::into),
        };
        let entries = entries.into_iter().map(pair).collect();
        let response =
            FollowResponse { number: 1, ends: true, entries, ..FollowResponse::default() };
        assert!(state.take(response, &Summaries::new(1 << 20)).unwrap());
        assert_eq!(state.next.bucket(after.id), Some(after));
        assert_eq!(state.next.len(), 1);
    }
}
