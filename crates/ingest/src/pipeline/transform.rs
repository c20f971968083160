//! Index-time rules over batches: events are edited, moved to other indexes, given another host,
//! source or sourcetype, dropped and cloned, as `props.conf` and `transforms.conf` say.
//!
//! Guarantees: a batch whose origins have no rules is unchanged; events of an index keep their order; every
//! change of `_raw`, drop and clone is counted for its rule, and the first of each is logged. An event cannot
//! be routed to an index that does not exist, is disabled or is that of the audit trail: the event stays in
//! its own index, which is counted and logged.

use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::FixedState;
use foldhash::{HashMap, HashSet};
use knowledge::IndexTimeRules;
use knowledge::index_time::{EventDraft, Queue, RuleTally, Tally};
use model::{EventBatch, EventBatchBuilder, EventTime, IndexName, Origin};
use runtime::metrics as names;

use super::rules::RuleBook;

/// Maximum number of origins whose rules are remembered; the table is emptied when there are more.
const ORIGINS: usize = 100_000;

/// The result of the rules for a batch.
pub(super) enum Outcome {
    /// No rule applied.
    Untouched(EventBatch),
    /// The remaining events, by index; may be empty.
    Changed(Vec<EventBatch>),
}

/// See the module.
#[derive(Debug)]
pub(super) struct Transforms {
    rules: RuleBook,
    /// Whether there are rules for any event.
    any: bool,
    known: HashMap<Arc<Origin>, Arc<IndexTimeRules>>,
    origins: NewOrigins,
    /// Rules and effects that have been logged.
    logged: HashSet<(String, &'static str)>,
}

/// Batches that are being filled.
struct Filling {
    /// Bytes of text to reserve for a batch.
    room: usize,
    builders: Vec<(IndexName, EventBatchBuilder)>,
}

impl Filling {
    fn of(&mut self, index: &IndexName) -> &mut EventBatchBuilder {
        let place = self.builders.iter().position(|(known, _)| known == index);
        let place = place.unwrap_or_else(|| {
            let builder = EventBatchBuilder::new(index.clone(), self.room);
            self.builders.push((index.clone(), builder));
            self.builders.len() - 1
        });
        &mut self.builders[place].1
    }
}

impl Transforms {
    pub(super) fn new(rules: RuleBook) -> Self {
        let any = rules.has_index_time();
        Self {
            rules,
            any,
            known: HashMap::default(),
            origins: NewOrigins::default(),
            logged: HashSet::default(),
        }
    }

    /// Applies the rules to a batch.
    pub(super) fn run(&mut self, batch: EventBatch, now: EventTime) -> Outcome {
        if !self.any {
            return Outcome::Untouched(batch);
        }
        let rules: Vec<_> = batch.origins.iter().map(|origin| self.rules_of(origin)).collect();
        if rules.iter().all(|rules| rules.is_empty()) {
            return Outcome::Untouched(batch);
        }
        let mut tallies: Vec<Tally> = rules.iter().map(|rules| Tally::new(rules)).collect();
        let mut filling = Filling { room: batch.raw.len(), builders: Vec::new() };
        let mut fields = batch.fields.iter().peekable();
        let mut row = 0;
        for run in &batch.runs {
            let place = run.origin as usize;
            let (origin, rules) = (&batch.origins[place], &rules[place]);
            for _ in 0..run.rows {
                // Batches have only whole characters by construction.
                let raw = std::str::from_utf8(batch.row(row)).unwrap_or_default();
                let mut draft = EventDraft::new(raw, batch.time[row], origin);
                while let Some(field) = fields.next_if(|field| field.row as usize <= row) {
                    draft.fields.push((Arc::clone(&field.name), (&*field.value).into()));
                }
                if rules.is_empty() {
                    keep(filling.of(&batch.index), origin, &draft);
                } else {
                    let mut clones = Vec::new();
                    rules.apply(&mut draft, now, &mut tallies[place], &mut clones);
                    self.put(&draft, origin, &mut filling);
                    if !clones.is_empty() {
                        self.put_clones(clones, origin, now, &mut filling);
                    }
                }
                row += 1;
            }
        }
        for (rules, tally) in rules.iter().zip(&tallies) {
            self.report(rules, tally);
        }
        let finished = filling.builders.into_iter().map(|(_, builder)| builder.finish());
        Outcome::Changed(finished.filter(|batch| !batch.is_empty()).collect())
    }

    /// Applies their own rules to clones, and to clones of those.
    fn put_clones(
        &mut self,
        mut clones: Vec<EventDraft<'_>>,
        own: &Arc<Origin>,
        now: EventTime,
        filling: &mut Filling,
    ) {
        let mut seen = vec![own.sourcetype.to_string()];
        while let Some(mut clone) = clones.pop() {
            if seen.iter().any(|sourcetype| *sourcetype == clone.sourcetype) {
                // Prevents an endless loop of stanzas that clone each other's events.
                self.warn_of_circle(&clone.sourcetype);
                continue;
            }
            seen.push(clone.sourcetype.to_string());
            let rules = self.rules.index_time(&clone.sourcetype, &clone.source, &clone.host);
            let mut tally = Tally::new(&rules);
            rules.apply(&mut clone, now, &mut tally, &mut clones);
            self.put(&clone, own, filling);
            self.report(&rules, &tally);
        }
    }

    fn warn_of_circle(&mut self, sourcetype: &str) {
        if self.logged.insert((sourcetype.to_owned(), "clones in a circle")) {
            tracing::warn!(
                sourcetype,
                "CLONE_SOURCETYPE leads back to a source type that the event already had; it is not \
                 cloned again"
            );
        }
    }

    fn put(&mut self, draft: &EventDraft<'_>, own: &Arc<Origin>, filling: &mut Filling) {
        if draft.queue != Queue::Index {
            return;
        }
        let origin = self.origins.origin(draft, own, &self.rules);
        keep(filling.of(&origin.index), &origin, draft);
    }

    fn rules_of(&mut self, origin: &Arc<Origin>) -> Arc<IndexTimeRules> {
        if let Some(known) = self.known.get(origin) {
            return Arc::clone(known);
        }
        let rules = self.rules.index_time(&origin.sourcetype, &origin.source, &origin.host);
        if self.known.len() >= ORIGINS {
            self.known.clear();
        }
        self.known.insert(Arc::clone(origin), Arc::clone(&rules));
        rules
    }

    fn report(&mut self, rules: &IndexTimeRules, tally: &Tally) {
        for (rule, counts) in rules.rules().iter().zip(&tally.rules) {
            let RuleTally { changed, dropped, cloned } = *counts;
            for (count, metric, what) in [
                (changed, names::INGEST_CHANGED, "changes the text of events"),
                (dropped, names::INGEST_DROPPED, "drops events"),
                (cloned, names::INGEST_CLONED, "clones events"),
            ] {
                if count == 0 {
                    continue;
                }
                metrics::counter!(metric, "rule" => rule.name.clone()).increment(count);
                if self.logged.insert((rule.name.clone(), what)) {
                    tracing::info!(rule = %rule.name, place = %rule.place, "a rule {what}");
                }
            }
        }
    }
}

fn keep(builder: &mut EventBatchBuilder, origin: &Arc<Origin>, draft: &EventDraft<'_>) {
    builder.push(origin, draft.time, &draft.raw);
    for (name, value) in &draft.fields {
        builder.push_field(Arc::clone(name), value);
    }
}

/// Origins that rules have created, deduplicated.
#[derive(Debug, Default)]
struct NewOrigins {
    known: HashMap<u64, Vec<Arc<Origin>>>,
    count: usize,
    /// Indexes that rules name; `None` if events cannot go there.
    indexes: HashMap<String, Option<IndexName>>,
}

impl NewOrigins {
    /// Returns the origin of an event after the rules.
    fn origin(
        &mut self,
        draft: &EventDraft<'_>,
        own: &Arc<Origin>,
        rules: &RuleBook,
    ) -> Arc<Origin> {
        let moved = draft.index != own.index.as_str();
        let index = if moved { self.index(&draft.index, own, rules) } else { own.index.clone() };
        let is_same = |origin: &Origin| {
            origin.index == index
                && *origin.host == *draft.host
                && *origin.source == *draft.source
                && *origin.sourcetype == *draft.sourcetype
        };
        if is_same(own) {
            return Arc::clone(own);
        }
        let parts = (index.as_str(), &*draft.host, &*draft.source, &*draft.sourcetype);
        let hash = FixedState::with_seed(11).hash_one(parts);
        if self.count >= ORIGINS {
            self.known.clear();
            self.count = 0;
        }
        let slot = self.known.entry(hash).or_default();
        if let Some(known) = slot.iter().find(|origin| is_same(origin)) {
            return Arc::clone(known);
        }
        let (host, source) = (draft.host.as_ref().into(), draft.source.as_ref().into());
        let sourcetype = draft.sourcetype.as_ref().into();
        let made = Arc::new(Origin { index: index.clone(), host, source, sourcetype });
        slot.push(Arc::clone(&made));
        self.count += 1;
        made
    }

    /// Returns the index with a name, or the event's own if events cannot go there.
    fn index(&mut self, name: &str, own: &Arc<Origin>, rules: &RuleBook) -> IndexName {
        if !self.indexes.contains_key(name) {
            if self.indexes.len() >= ORIGINS {
                self.indexes.clear();
            }
            let may_go =
                |index: &IndexName| index.check_open().is_ok() && rules.has_index(index.as_str());
            let found = IndexName::new(name).ok().filter(may_go);
            if found.is_none() {
                tracing::warn!(
                    index = name, stays_in = %own.index, source = %own.source,
                    sourcetype = %own.sourcetype,
                    "a rule sends events to an index that does not exist, is disabled or is not for them"
                );
            }
            self.indexes.insert(name.to_owned(), found);
        }
        match &self.indexes[name] {
            Some(index) => index.clone(),
            None => {
                metrics::counter!(names::INGEST_MISROUTED).increment(1);
                own.index.clone()
            }
        }
    }
}
