//! The feed for followers of the catalog: a complete state in parts, and every later write.
//!
//! The last writes are kept once for all followers, up to a number of bytes. The stream of a follower only
//! remembers the number up to which it has sent, so a slow follower costs no memory: if the writes that it
//! lacks are no longer kept, it gets a complete state again.

use std::collections::VecDeque;
use std::sync::Arc;

use protocol::catalog::{Entry as Pair, FollowResponse};

use crate::Snapshot;
use crate::change::Writes;
use crate::codec::{self, Damage};
use crate::wire::{PART, bytes_of, pair};

/// The entries of one write that followers have in memory.
#[derive(Debug)]
pub(crate) struct Delta {
    number: u64,
    entries: Vec<Pair>,
    bytes: usize,
}

impl Delta {
    pub(crate) fn of(number: u64, writes: &Writes) -> Self {
        let in_memory = writes.entries.iter().filter(|(key, _)| codec::is_in_memory(key));
        let entries: Vec<Pair> = in_memory
            .map(|(key, value)| Pair {
                key: key.clone().into(),
                value: value.as_ref().map(|value| value.clone().into()),
            })
            .collect();
        let bytes = entries.iter().map(bytes_of).sum();
        Self { number, entries, bytes }
    }

    /// Returns the entries as messages, filtered by kind.
    pub(crate) fn responses(&self, kinds: &Kinds) -> VecDeque<FollowResponse> {
        let entries = self.entries.iter().filter(|pair| kinds.has(&pair.key)).cloned();
        let mut parts = Parts { entries: entries.map(Ok), number: self.number, is_over: false };
        let mut responses = VecDeque::new();
        // Entries of a write are valid, so this cannot fail.
        while let Some(Ok(response)) = parts.next() {
            responses.push_back(response);
        }
        responses
    }
}

/// The last writes, in order.
#[derive(Debug)]
pub(crate) struct Feed {
    deltas: VecDeque<Arc<Delta>>,
    bytes: usize,
    limit: usize,
}

impl Feed {
    pub(crate) fn new(limit: usize) -> Self {
        Self { deltas: VecDeque::new(), bytes: 0, limit }
    }

    pub(crate) fn push(&mut self, delta: Delta) {
        self.bytes += delta.bytes;
        self.deltas.push_back(Arc::new(delta));
        while self.bytes > self.limit
            && let Some(oldest) = self.deltas.pop_front()
        {
            self.bytes -= oldest.bytes;
        }
    }

    /// Returns the write that follows a state; `None` if it is not kept.
    pub(crate) fn after(&self, number: u64) -> Option<Arc<Delta>> {
        let first = self.deltas.front()?.number;
        let place = usize::try_from((number + 1).checked_sub(first)?).ok()?;
        self.deltas.get(place).cloned()
    }
}

/// First bytes of the keys that a follower wants; empty for all.
#[derive(Debug, Clone)]
pub(crate) struct Kinds(pub(crate) Vec<u8>);

impl Kinds {
    fn has(&self, key: &[u8]) -> bool {
        self.0.is_empty() || key.first().is_some_and(|kind| self.0.contains(kind))
    }
}

/// An iterator that packs entries into messages of a bounded size.
#[derive(Debug)]
struct Parts<I> {
    entries: I,
    number: u64,
    is_over: bool,
}

impl<I: Iterator<Item = Result<Pair, Damage>>> Iterator for Parts<I> {
    type Item = Result<FollowResponse, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let mut response = FollowResponse { number: self.number, ..FollowResponse::default() };
        let mut bytes = 0;
        while bytes < PART {
            match self.entries.next() {
                Some(Ok(pair)) => {
                    bytes += bytes_of(&pair);
                    response.entries.push(pair);
                }
                Some(Err(damage)) => {
                    self.is_over = true;
                    return Some(Err(damage));
                }
                None => {
                    response.ends = true;
                    self.is_over = true;
                    break;
                }
            }
        }
        Some(Ok(response))
    }
}

/// The messages of a complete state.
pub(crate) type Whole = Box<dyn Iterator<Item = Result<FollowResponse, Damage>> + Send>;

/// Returns a complete state as messages, which are made one by one as they are sent.
pub(crate) fn whole(snapshot: &Arc<Snapshot>, kinds: &Kinds) -> Whole {
    let number = snapshot.number();
    let documents = (*snapshot.documents).clone().into_iter();
    let documents = documents.map(|((kind, name), json)| {
        Ok(pair(codec::document_key(&kind, &name), codec::json_value(&*json)?))
    });
    let discarded = (*snapshot.discarded).clone().into_iter();
    let discarded = discarded
        .map(|(path, time)| Ok(pair(codec::discarded_key(&path), codec::time_value(time))));
    let indexes: Vec<_> = snapshot.indexes.values().cloned().collect();
    let headers = indexes.into_iter().flat_map(crate::Buckets::all);
    let headers = headers.map(|header| {
        Ok(pair(codec::header_key(&header.index, header.id), codec::header_value(&header)))
    });
    let owners = (*snapshot.owners).clone().into_iter();
    let owners = owners.map(|((indexer, set), (epoch, owner))| {
        Ok(pair(codec::owner_key(indexer, set), codec::owner_value(epoch, owner)))
    });
    let positions = (*snapshot.positions).clone().into_iter();
    let positions = positions.map(|(stream, position)| {
        Ok(pair(codec::position_key(&stream), codec::position_value(position)))
    });
    let kinds = kinds.clone();
    let entries = documents.chain(discarded).chain(headers).chain(owners).chain(positions);
    let entries = entries.filter(move |entry: &Result<Pair, Damage>| match entry {
        Ok(pair) => kinds.has(&pair.key),
        Err(_) => true,
    });
    let mut begins = true;
    Box::new(Parts { entries, number, is_over: false }.map(move |response| {
        let response = response.map(|response| FollowResponse { begins, ..response });
        begins = false;
        response
    }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn write(documents: usize, bytes: usize) -> Writes {
        let mut writes = Writes::default();
        for number in 0..documents {
            let value = codec::json_value(&"x".repeat(bytes)).unwrap();
            writes.put(codec::document_key("user", &number.to_string()), value);
        }
        writes.put(codec::discarded_key("a"), codec::time_value(model::EventTime(1)));
        writes.put(codec::NUMBER.to_vec(), codec::number_value(9));
        writes.put(codec::summary_key(model::BucketId(uuid::Uuid::nil())), vec![2]);
        writes
    }

    #[test]
    fn a_write_is_sent_without_what_is_not_in_memory_and_of_the_kinds_that_are_wanted() {
        let delta = Delta::of(9, &write(3, 10));
        let all = delta.responses(&Kinds(Vec::new()));
        assert_eq!((all.len(), all[0].entries.len()), (1, 4));
        assert!(all[0].ends && !all[0].begins && all[0].number == 9);
        let documents = delta.responses(&Kinds(b"d".to_vec()));
        assert_eq!(documents[0].entries.len(), 3);
        let none = delta.responses(&Kinds(b"h".to_vec()));
        assert!(none[0].entries.is_empty() && none[0].ends, "its number is told");
    }

    #[test]
    fn what_is_long_is_sent_in_parts() {
        let mut writes = Writes::default();
        for number in 0..5_u8 {
            writes.put(codec::document_key("user", &number.to_string()), vec![1; PART / 2]);
        }
        let parts = Delta::of(3, &writes).responses(&Kinds(Vec::new()));
        assert_eq!(parts.iter().map(|part| part.entries.len()).sum::<usize>(), 5);
        assert!(parts.len() > 2);
        let ends: Vec<bool> = parts.iter().map(|part| part.ends).collect();
        assert!(ends.last().unwrap() & !ends[..ends.len() - 1].contains(&true));
    }

    #[test]
    fn the_last_writes_are_kept_up_to_a_number_of_bytes() {
        let one = Delta::of(1, &write(1, 10)).bytes;
        let mut feed = Feed::new(one * 3);
        assert!(feed.after(0).is_none());
        for number in 6..20 {
            feed.push(Delta::of(number, &write(1, 10)));
            assert_eq!(feed.after(number - 1).unwrap().number, number);
        }
        assert!(feed.after(15).is_none(), "it is not kept any more");
        assert_eq!(feed.after(16).unwrap().number, 17);
        assert!(feed.after(19).is_none() && feed.after(0).is_none());
        feed.push(Delta::of(20, &write(100, 100)));
        assert!(feed.after(19).is_none() && feed.bytes == 0, "it is larger than all that is kept");
    }
}
