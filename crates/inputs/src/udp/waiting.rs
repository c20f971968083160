//! Datagrams that were received and wait for the sink.
//!
//! One task adds them, one takes them. Their memory is bounded: the task that adds waits for room, and the
//! kernel keeps what it does not receive.

use std::collections::VecDeque;
use std::net::SocketAddr;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// Bytes that are taken together, and by which the limit may be exceeded.
pub(super) const GROUP: usize = 1 << 20;

/// Datagrams, one after the other.
#[derive(Debug, Default)]
pub(super) struct Group {
    bytes: Vec<u8>,
    /// The end of each datagram in `bytes`, and its sender.
    ends: Vec<(usize, SocketAddr)>,
}

impl Group {
    pub(super) fn push(&mut self, datagram: &[u8], peer: SocketAddr) {
        self.bytes.extend_from_slice(datagram);
        self.ends.push((self.bytes.len(), peer));
    }

    pub(super) fn is_full(&self) -> bool {
        self.memory() >= GROUP
    }

    pub(super) fn datagrams(&self) -> impl Iterator<Item = (&[u8], SocketAddr)> {
        let mut start = 0;
        self.ends.iter().map(move |(end, peer)| {
            let datagram = &self.bytes[start..*end];
            start = *end;
            (datagram, *peer)
        })
    }

    fn memory(&self) -> usize {
        self.bytes.len() + self.ends.len() * size_of::<(usize, SocketAddr)>()
    }

    /// Moves the datagrams of another group to the end of this one.
    fn append(&mut self, other: &mut Self) {
        let start = self.bytes.len();
        self.bytes.append(&mut other.bytes);
        self.ends.extend(other.ends.drain(..).map(|(end, peer)| (start + end, peer)));
    }
}

/// The queue.
#[derive(Debug)]
pub(super) struct Waiting {
    limit: usize,
    state: Mutex<State>,
    added: Notify,
    taken: Notify,
}

#[derive(Debug, Default)]
struct State {
    groups: VecDeque<Group>,
    memory: usize,
    has_ended: bool,
}

impl Waiting {
    /// An empty queue for that many bytes.
    pub(super) fn new(limit: usize) -> Self {
        let (added, taken) = (Notify::new(), Notify::new());
        Self { limit, state: Mutex::default(), added, taken }
    }

    /// Waits until there is room for a group.
    pub(super) async fn room(&self) {
        while self.state.lock().memory >= self.limit {
            self.taken.notified().await;
        }
    }

    /// Adds the datagrams of a group, and leaves it empty.
    pub(super) fn add(&self, group: &mut Group) {
        if group.ends.is_empty() {
            return;
        }
        {
            let mut state = self.state.lock();
            state.memory += group.memory();
            let joins = state.groups.back().is_some_and(|last| !last.is_full());
            match state.groups.back_mut() {
                Some(last) if joins => last.append(group),
                _ => state.groups.push_back(std::mem::take(group)),
            }
        }
        self.added.notify_one();
    }

    /// Says that nothing more will be added.
    pub(super) fn end(&self) {
        self.state.lock().has_ended = true;
        self.added.notify_one();
    }

    /// Waits for datagrams; `None` at the end.
    pub(super) async fn take(&self) -> Option<Group> {
        loop {
            let (group, has_ended) = self.try_take();
            if group.is_some() || has_ended {
                return group;
            }
            self.added.notified().await;
        }
    }

    /// Returns how many datagrams wait.
    #[cfg(test)]
    pub(super) fn datagrams(&self) -> usize {
        self.state.lock().groups.iter().map(|group| group.ends.len()).sum()
    }

    fn try_take(&self) -> (Option<Group>, bool) {
        let mut state = self.state.lock();
        let group = state.groups.pop_front();
        if let Some(group) = &group {
            state.memory -= group.memory();
            self.taken.notify_one();
        }
        (group, state.has_ended)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn group(texts: &[&str]) -> Group {
        let mut group = Group::default();
        for (port, text) in (1..).zip(texts) {
            group.push(text.as_bytes(), ([127, 0, 0, 1], port).into());
        }
        group
    }

    fn texts(group: &Group) -> Vec<(String, u16)> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        group.datagrams().map(|(bytes, peer)| (text(bytes), peer.port())).collect()
    }

    #[test]
    fn small_groups_are_taken_together_in_their_order() {
        let waiting = Waiting::new(1_000);
        let mut added = group(&["a", "", "bc"]);
        waiting.add(&mut added);
        assert!(texts(&added).is_empty());
        waiting.add(&mut group(&["d"]));
        let taken = waiting.take().now_or_never().unwrap().unwrap();
        let expected = [("a", 1_u16), ("", 2), ("bc", 3), ("d", 1)];
        assert_eq!(texts(&taken), expected.map(|(text, port)| (text.to_owned(), port)));
        assert!(waiting.take().now_or_never().is_none());
        waiting.end();
        assert!(waiting.take().now_or_never().unwrap().is_none());
    }

    #[test]
    fn there_is_no_room_above_the_limit_until_a_group_is_taken() {
        let waiting = Waiting::new(1_000);
        assert!(waiting.room().now_or_never().is_some());
        waiting.add(&mut group(&[&"x".repeat(GROUP)]));
        assert!(waiting.room().now_or_never().is_none());
        waiting.add(&mut group(&["y"]));
        waiting.end();
        assert_eq!(texts(&waiting.take().now_or_never().unwrap().unwrap()).len(), 1);
        assert!(waiting.room().now_or_never().is_some());
        let last = waiting.take().now_or_never().unwrap().unwrap();
        assert_eq!(texts(&last), [("y".to_owned(), 1_u16)]);
        assert!(waiting.take().now_or_never().unwrap().is_none());
    }
}
