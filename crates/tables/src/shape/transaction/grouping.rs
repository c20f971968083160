//! Which events belong together.
//!
//! Events are seen newest first, as the search delivers them: a transaction begins with its last
//! event, takes in what shares the values of its fields, and is closed by its first event, by a
//! constraint, or by the end of the events. Guarantees: an event is part of at most one
//! transaction; of several that it could be part of, the one with most values in common takes it,
//! then the one that took an event last.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::error::Error;
use crate::rows::{Rows, Values};

/// What a transaction is.
#[derive(Debug)]
pub struct Rules {
    /// Microseconds from the first to the last event at most.
    pub max_span: Option<i64>,
    /// Microseconds between neighbours at most.
    pub max_pause: Option<i64>,
    /// Maximum number of events of a transaction.
    pub max_events: Option<usize>,
    /// Whether first events are marked.
    pub starts: bool,
    /// Whether last events are marked.
    pub ends: bool,
    /// Whether an event must share a value to belong.
    pub connected: bool,
    /// Whether marked events must have one of the fields.
    pub unify_ends: bool,
    /// Maximum number of transactions that are not closed yet.
    pub max_open: Option<usize>,
    /// Maximum number of their events.
    pub max_open_events: Option<usize>,
}

/// The events by row.
#[derive(Debug)]
pub(super) struct Events {
    /// Microseconds.
    pub(super) times: Vec<i64>,
    /// One for each field that events are joined by.
    pub(super) keys: Vec<Keys>,
    pub(super) starts: Vec<bool>,
    pub(super) ends: Vec<bool>,
}

/// The values of a field as numbers, equal for equal texts.
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
    /// The fields that an event has, as bits.
    fn mask(&self, row: usize) -> u64 {
        let has = |(at, keys): (usize, &Keys)| u64::from(!keys.get(row).is_empty()) << at;
        self.keys.iter().enumerate().map(has).sum()
    }
}

/// Events that belong together.
#[derive(Debug)]
pub(super) struct Group {
    /// Rows, newest first.
    pub(super) rows: Vec<usize>,
    /// Whether a rule closed it.
    pub(super) closed: bool,
    /// Whether it lacks its first or its last event.
    pub(super) evicted: bool,
    /// Whether it is an event that is part of no transaction.
    pub(super) orphan: bool,
    /// How many values its events have in the fields they are joined by.
    pub(super) matches: usize,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Groups {
    /// In the order they were closed.
    pub(super) found: Vec<Group>,
    /// Rows that are part of no transaction.
    orphans: Vec<usize>,
    /// How many were closed because there were too many.
    pub(super) crowded: usize,
}

impl Groups {
    /// Groups events that are given newest first.
    pub(super) fn of(rules: &Rules, events: &Events, order: &[usize]) -> Self {
        let groups = Self { found: Vec::new(), orphans: Vec::new(), crowded: 0 };
        let mut builder = Builder { rules, events, open: Pool::default(), groups };
        for row in order {
            builder.take(*row);
        }
        let last = order.last().map(|row| events.times[*row]);
        builder.end(last)
    }

    /// Makes a group of each event that is part of none; those of groups that were left out count.
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

/// A transaction that may take in more events.
#[derive(Debug)]
struct Open {
    rows: Vec<usize>,
    newest: i64,
    oldest: i64,
    /// The values seen of each field.
    values: Vec<Vec<u32>>,
    /// The fields with values, as bits.
    mask: u64,
    matches: usize,
    /// Whether its newest event is marked as the last one.
    ended: bool,
    /// When it took an event, as a number that grows.
    touched: u64,
}

/// The transactions that are open, by what they have in common with events.
#[derive(Debug, Default)]
struct Pool {
    open: HashMap<u64, Open>,
    /// Transactions with these fields (a mask) and this value of a field.
    by_value: HashMap<(u64, usize, u32), BTreeSet<u64>>,
    /// How many transactions have these fields.
    masks: BTreeMap<u64, usize>,
    /// Transactions by when they took an event.
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

    /// The transaction that took an event last.
    fn latest(&self) -> Option<u64> {
        self.by_use.last_key_value().map(|(_, id)| *id)
    }

    /// The transaction that an event shares most values with and contradicts in none.
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

    /// The field that fewest transactions share a value of with an event.
    fn rarest(&self, mask: u64, common: u64, row: usize, events: &Events) -> Option<usize> {
        let shared = |field: &usize| -> usize {
            let ids = |value| self.by_value.get(&(mask, *field, value)).map_or(0, BTreeSet::len);
            events.keys[*field].get(row).iter().map(|value| ids(*value)).sum()
        };
        (0..events.keys.len()).filter(|field| common >> field & 1 == 1).min_by_key(shared)
    }

    /// The last used transaction that an event contradicts in no field.
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

/// Whether an event and a transaction share a value of each of the fields.
fn consistent(group: &Open, common: u64, row: usize, events: &Events) -> bool {
    let mut fields = (0..events.keys.len()).filter(|field| common >> field & 1 == 1);
    fields.all(|field| {
        let values = &group.values[field];
        events.keys[field].get(row).iter().any(|value| values.contains(value))
    })
}

/// Why a transaction is closed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// Its first event came.
    SourceRows,
    /// The last event of another one came.
    Displaced,
    /// It is as long or as large as it may be.
    Constraint,
    /// There are too many.
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
        let (starts, ends) = (self.events.starts[row], self.events.ends[row]);
        let joined = !self.events.keys.is_empty();
        let keyless = joined && self.events.mask(row) == 0;
        if keyless && (self.rules.unify_ends || !(starts || ends)) {
            self.groups.orphans.push(row);
            return;
        }
        let mut group = match (joined, keyless) {
            (false, _) | (_, true) => self.open.latest(),
            _ => self.matching(row),
        };
        if let Some(id) = group
            && self.is_over(id, self.events.times[row])
        {
            self.close(id, Reason::Constraint);
            group = None;
        }
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

    /// Whether an event of a time is too far from a transaction.
    fn is_over(&self, id: u64, time: i64) -> bool {
        self.open.open.get(&id).is_some_and(|group| self.is_past(group, time))
    }

    fn is_past(&self, group: &Open, time: i64) -> bool {
        let beyond = |from: i64, most: Option<i64>| {
            most.is_some_and(|most| from.saturating_sub(time) > most)
        };
        beyond(group.newest, self.rules.max_span) || beyond(group.oldest, self.rules.max_pause)
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

    /// Closes the transactions that took no event for longest, if there are too many.
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

    fn end(mut self, last: Option<i64>) -> Groups {
        let ids: Vec<u64> = self.open.by_use.values().copied().collect();
        for id in ids {
            let past = match (last, self.open.open.get(&id)) {
                (Some(last), Some(group)) => self.is_past(group, last),
                _ => false,
            };
            self.close(id, if past { Reason::Constraint } else { Reason::End });
        }
        self.groups
    }
}
