//! Decides which events belong to the same transaction.
//!
//! Events are processed newest first, in the order of the search: a transaction begins with its last event,
//! takes events that share the values of its fields, and is closed by its first event, by a constraint, or at
//! the end of the events. Guarantees: an event is part of at most one transaction. If several transactions
//! could take it, the one with the most common values does; of these, the one that took an event last.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::error::Error;
use crate::rows::{Rows, Values};

/// The rules of a transaction.
#[derive(Debug)]
pub struct Rules {
    /// Maximum time between the first and the last event, in microseconds.
    pub max_span: Option<i64>,
    /// Maximum time between successive events, in microseconds.
    pub max_pause: Option<i64>,
    /// Maximum number of events of a transaction.
    pub max_events: Option<usize>,
    /// Whether first events are marked (`startswith`).
    pub starts: bool,
    /// Whether last events are marked (`endswith`).
    pub ends: bool,
    /// Whether an event must share a value with a transaction to be taken.
    pub connected: bool,
    /// Whether marked events must have at least one of the fields.
    pub unify_ends: bool,
    /// Maximum number of open transactions.
    pub max_open: Option<usize>,
    /// Maximum number of events in open transactions.
    pub max_open_events: Option<usize>,
}

/// The events, indexed by row.
#[derive(Debug)]
pub(super) struct Events {
    /// Times in microseconds.
    pub(super) times: Vec<i64>,
    /// The values of each field that joins events.
    pub(super) keys: Vec<Keys>,
    pub(super) starts: Vec<bool>,
    pub(super) ends: Vec<bool>,
}

/// The values of a field as integers; equal texts have equal integers.
#[derive(Debug)]
pub(super) struct Keys {
    offsets: Vec<u32>,
    values: Vec<u32>,
}

impl Keys {
    pub(super) fn of(rows: &Rows, name: &str) -> Result<Self, Error> {
        let mut keys = Self { offsets: vec![0; rows.count + 1], values: Vec::new() };
        let Some(column) = rows.column(name) else { return Ok(keys) };
        let array = Values::new(&column.array)?;
        let mut known: HashMap<String, u32> = HashMap::new();
        for row in 0..rows.count {
            array.get(row).each_text(|text| {
                let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
                let value = match known.get(text) {
                    Some(value) => *value,
                    None => *known.entry(text.to_owned()).or_insert(next),
                };
                keys.values.push(value);
            });
            keys.offsets[row + 1] = u32::try_from(keys.values.len()).unwrap_or(u32::MAX);
        }
        Ok(keys)
    }

    fn get(&self, row: usize) -> &[u32] {
        &self.values[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }
}

impl Events {
    /// Returns a bit mask of the fields that an event has.
    fn mask(&self, row: usize) -> u64 {
        let has = |(at, keys): (usize, &Keys)| u64::from(!keys.get(row).is_empty()) << at;
        self.keys.iter().enumerate().map(has).sum()
    }
}

/// A group of related events.
#[derive(Debug)]
pub(super) struct Group {
    /// Rows, newest first.
    pub(super) rows: Vec<usize>,
    /// Whether a rule closed it.
    pub(super) closed: bool,
    /// Whether its first or its last event is missing.
    pub(super) evicted: bool,
    /// Whether it is a single event that belongs to no transaction.
    pub(super) orphan: bool,
    /// Number of values of its events in the fields that join them.
    pub(super) matches: usize,
}

/// The resulting groups.
#[derive(Debug)]
pub(super) struct Groups {
    /// The groups in the order in which they were closed.
    pub(super) found: Vec<Group>,
    /// Rows that belong to no transaction.
    orphans: Vec<usize>,
    /// Number of groups that were closed because too many were open.
    pub(super) crowded: usize,
}

impl Groups {
    /// Groups events, which are given newest first.
    pub(super) fn of(rules: &Rules, events: &Events, order: &[usize]) -> Self {
        let groups = Self { found: Vec::new(), orphans: Vec::new(), crowded: 0 };
        let mut builder = Builder { rules, events, open: Pool::default(), groups };
        for row in order {
            builder.take(*row);
        }
        builder.end()
    }

    /// Creates a group for each event that belongs to none, including events of discarded groups.
    pub(super) fn adopt_orphans(&mut self, events: &Events) {
        let mut part = vec![false; events.times.len()];
        self.found.iter().flat_map(|group| &group.rows).for_each(|row| part[*row] = true);
        self.orphans = (0..part.len()).filter(|row| !part[*row]).collect();
        let orphan = |row| Group {
            rows: vec![row],
            closed: false,
            evicted: false,
            orphan: true,
            matches: 0,
        };
        self.found.extend(self.orphans.drain(..).map(orphan));
    }
}

/// A transaction that may take more events.
#[derive(Debug)]
struct Open {
    rows: Vec<usize>,
    newest: i64,
    oldest: i64,
    /// The values of each field so far.
    values: Vec<Vec<u32>>,
    /// A bit mask of the fields with values.
    mask: u64,
    matches: usize,
    /// Whether its newest event is marked as the last one.
    ended: bool,
    /// The sequence number of its last change.
    touched: u64,
}

/// The open transactions, indexed by the fields and values that they share with events.
#[derive(Debug, Default)]
struct Pool {
    /// By ID, so those that began first, with the newest events, come first.
    open: BTreeMap<u64, Open>,
    /// Transactions by their set of fields (a mask) and their value of a field.
    by_value: HashMap<(u64, usize, u32), BTreeSet<u64>>,
    /// Number of transactions by set of fields.
    masks: BTreeMap<u64, usize>,
    /// Transactions by sequence number of their last change.
    by_use: BTreeMap<u64, u64>,
    events: usize,
    next: u64,
}

impl Pool {
    fn tick(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn index(&mut self, id: u64, mask: u64, field: usize, value: u32) {
        self.by_value.entry((mask, field, value)).or_default().insert(id);
    }

    fn unindex(&mut self, id: u64, mask: u64, field: usize, value: u32) {
        if let Some(ids) = self.by_value.get_mut(&(mask, field, value)) {
            ids.remove(&id);
            if ids.is_empty() {
                self.by_value.remove(&(mask, field, value));
            }
        }
    }

    fn count_mask(&mut self, mask: u64) {
        *self.masks.entry(mask).or_default() += 1;
    }

    fn uncount_mask(&mut self, mask: u64) {
        if let Some(count) = self.masks.get_mut(&mask) {
            *count -= 1;
            if *count == 0 {
                self.masks.remove(&mask);
            }
        }
    }

    fn insert(&mut self, row: usize, events: &Events, ended: bool) -> u64 {
        let id = self.tick();
        let time = events.times[row];
        let group = Open {
            rows: Vec::new(),
            newest: time,
            oldest: time,
            values: vec![Vec::new(); events.keys.len()],
            mask: 0,
            matches: 0,
            ended,
            touched: id,
        };
        self.open.insert(id, group);
        self.by_use.insert(id, id);
        self.count_mask(0);
        self.add(id, row, events);
        id
    }

    fn add(&mut self, id: u64, row: usize, events: &Events) {
        let now = self.tick();
        let Some(mut group) = self.open.remove(&id) else { return };
        self.by_use.remove(&group.touched);
        self.by_use.insert(now, id);
        group.touched = now;
        group.rows.push(row);
        group.oldest = events.times[row];
        self.events += 1;
        let mask = group.mask | events.mask(row);
        if mask != group.mask {
            for (field, values) in group.values.iter().enumerate() {
                for value in values {
                    self.unindex(id, group.mask, field, *value);
                    self.index(id, mask, field, *value);
                }
            }
            self.uncount_mask(group.mask);
            self.count_mask(mask);
            group.mask = mask;
        }
        for (field, keys) in events.keys.iter().enumerate() {
            let values = keys.get(row);
            group.matches += usize::from(!values.is_empty());
            for value in values {
                if !group.values[field].contains(value) {
                    group.values[field].push(*value);
                    self.index(id, mask, field, *value);
                }
            }
        }
        self.open.insert(id, group);
    }

    fn remove(&mut self, id: u64) -> Option<Open> {
        let group = self.open.remove(&id)?;
        self.by_use.remove(&group.touched);
        self.uncount_mask(group.mask);
        self.events -= group.rows.len();
        for (field, values) in group.values.iter().enumerate() {
            values.iter().for_each(|value| self.unindex(id, group.mask, field, *value));
        }
        Some(group)
    }

    /// Returns the transaction that took an event last.
    fn latest(&self) -> Option<u64> {
        self.by_use.last_key_value().map(|(_, id)| *id)
    }

    /// Returns the transaction that has the most values in common with an event, and no conflicting value.
    fn matching(&self, row: usize, events: &Events) -> Option<u64> {
        let own = events.mask(row);
        let mut best: Option<(u32, u64, u64)> = None;
        for mask in self.masks.keys() {
            let Some(field) = self.rarest(*mask, own & mask, row, events) else { continue };
            for value in events.keys[field].get(row) {
                let Some(ids) = self.by_value.get(&(*mask, field, *value)) else { continue };
                for id in ids {
                    let Some(group) = self.open.get(id) else { continue };
                    if consistent(group, own & mask, row, events) {
                        let found = ((own & mask).count_ones(), group.touched, *id);
                        best = best.max(Some(found));
                    }
                }
            }
        }
        best.map(|(_, _, id)| id)
    }

    /// Returns the field in which the fewest transactions share a value with an event.
    fn rarest(&self, mask: u64, common: u64, row: usize, events: &Events) -> Option<usize> {
        let shared = |field: &usize| -> usize {
            let ids = |value| self.by_value.get(&(mask, *field, value)).map_or(0, BTreeSet::len);
            events.keys[*field].get(row).iter().map(|value| ids(*value)).sum()
        };
        (0..events.keys.len()).filter(|field| common >> field & 1 == 1).min_by_key(shared)
    }

    /// Returns the last used transaction that has no value in conflict with an event.
    fn compatible(&self, row: usize, events: &Events) -> Option<u64> {
        let own = events.mask(row);
        let mut used = self.by_use.values().rev();
        used.find(|id| {
            let group = self.open.get(id);
            group.is_some_and(|group| consistent(group, own & group.mask, row, events))
        })
        .copied()
    }
}

/// Whether an event and a transaction share a value in each of the fields.
fn consistent(group: &Open, common: u64, row: usize, events: &Events) -> bool {
    let mut fields = (0..events.keys.len()).filter(|field| common >> field & 1 == 1);
    fields.all(|field| {
        let values = &group.values[field];
        events.keys[field].get(row).iter().any(|value| values.contains(value))
    })
}

/// The reason why a transaction is closed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// Its first event was found.
    SourceRows,
    /// The last event of another transaction was found.
    Displaced,
    /// It reached a maximum length or size.
    Constraint,
    /// Too many transactions are open.
    Crowded,
    /// There are no more events.
    End,
}

struct Builder<'e> {
    rules: &'e Rules,
    events: &'e Events,
    open: Pool,
    groups: Groups,
}

impl Builder<'_> {
    fn take(&mut self, row: usize) {
        self.close_past(self.events.times[row]);
        let (starts, ends) = (self.events.starts[row], self.events.ends[row]);
        let joined = !self.events.keys.is_empty();
        let keyless = joined && self.events.mask(row) == 0;
        if keyless && (self.rules.unify_ends || !(starts || ends)) {
            self.groups.orphans.push(row);
            return;
        }
        let group = match (joined, keyless) {
            (false, _) | (_, true) => self.open.latest(),
            _ => self.matching(row),
        };
        if let Some(id) = group.filter(|_| ends && !keyless) {
            self.close(id, Reason::Displaced);
        }
        let id = match group.filter(|_| !ends) {
            Some(id) => {
                self.open.add(id, row, self.events);
                id
            }
            None => self.open.insert(row, self.events, ends),
        };
        let count = self.open.open.get(&id).map_or(0, |group| group.rows.len());
        if starts {
            self.close(id, Reason::SourceRows);
        } else if self.rules.max_events.is_some_and(|most| count >= most) {
            self.close(id, Reason::Constraint);
        }
        self.make_room();
    }

    fn matching(&self, row: usize) -> Option<u64> {
        let found = self.open.matching(row, self.events);
        found.or_else(|| match self.rules.connected {
            true => None,
            false => self.open.compatible(row, self.events),
        })
    }

    /// Closes the transactions that are too far from a time: no later event is closer, and none of them may
    /// be chosen instead of one that can take the event.
    fn close_past(&mut self, time: i64) {
        while let Some(id) = self.past(time) {
            self.close(id, Reason::Constraint);
        }
    }

    /// Returns a transaction that is too far from a time. Events come newest first, so it is the one that
    /// began first, or the one that took no event for longest, if there is any.
    fn past(&self, time: i64) -> Option<u64> {
        let Pool { open, by_use, .. } = &self.open;
        let beyond = |from: i64, most: Option<i64>| {
            most.is_some_and(|most| from.saturating_sub(time) > most)
        };
        let begun = open.first_key_value();
        let begun = begun.filter(|(_, group)| beyond(group.newest, self.rules.max_span));
        if let Some((id, _)) = begun {
            return Some(*id);
        }
        let (_, id) = by_use.first_key_value()?;
        let unused = open.get(id).filter(|group| beyond(group.oldest, self.rules.max_pause));
        unused.map(|_| *id)
    }

    fn close(&mut self, id: u64, reason: Reason) {
        let Some(group) = self.open.remove(id) else { return };
        let has_start = !self.rules.starts || reason == Reason::SourceRows;
        let has_end = !self.rules.ends || group.ended;
        let evicted = !(has_start && has_end);
        let by_rule = matches!(reason, Reason::SourceRows | Reason::Displaced | Reason::Constraint);
        self.groups.found.push(Group {
            rows: group.rows,
            closed: by_rule && !evicted,
            evicted,
            orphan: false,
            matches: group.matches,
        });
    }

    /// Closes the least recently used transactions if too many are open.
    fn make_room(&mut self) {
        let over = |count: usize, most: Option<usize>| most.is_some_and(|most| count > most);
        while over(self.open.open.len(), self.rules.max_open)
            || over(self.open.events, self.rules.max_open_events)
        {
            let Some((_, id)) = self.open.by_use.first_key_value() else { return };
            self.groups.crowded += 1;
            self.close(*id, Reason::Crowded);
        }
    }

    fn end(mut self) -> Groups {
        let ids: Vec<u64> = self.open.by_use.values().copied().collect();
        for id in ids {
            self.close(id, Reason::End);
        }
        self.groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a field whose value is the number of the row, modulo a number.
    fn keys(rows: u32, modulus: u32) -> Keys {
        Keys { offsets: (0..=rows).collect(), values: (0..rows).map(|row| row % modulus).collect() }
    }

    fn most_open(rules: &Rules) -> usize {
        const ROWS: u32 = 2_000;
        // An event per second, the newest first.
        let times = (0..ROWS).map(|row| -i64::from(row) * 1_000_000).collect();
        let marks = vec![false; 2_000];
        let keys = vec![keys(ROWS, 10), keys(ROWS, 997)];
        let events = Events { times, keys, starts: marks.clone(), ends: marks };
        let groups = Groups { found: Vec::new(), orphans: Vec::new(), crowded: 0 };
        let mut builder = Builder { rules, events: &events, open: Pool::default(), groups };
        let mut most = 0;
        for row in 0..events.times.len() {
            builder.take(row);
            most = most.max(builder.open.open.len());
            assert_eq!(builder.open.by_use.len(), builder.open.open.len());
        }
        most
    }

    #[test]
    fn transactions_are_open_only_as_long_as_they_may_take_events() {
        let rules = || Rules {
            max_span: None,
            max_pause: None,
            max_events: None,
            starts: false,
            ends: false,
            connected: true,
            unify_ends: true,
            max_open: None,
            max_open_events: None,
        };
        let minute = Some(60_000_000);
        assert_eq!(most_open(&Rules { max_span: minute, ..rules() }), 61);
        assert_eq!(most_open(&Rules { max_pause: minute, ..rules() }), 61);
        assert!(most_open(&rules()) > 900);
    }
}
