//! Detects outdated columns of fields: rules may have changed since a bucket was written.
//!
//! A bucket mostly has events of several source types. An extraction that is added for one of them leaves the
//! columns of the others as they are, and texts of theirs need not be taken apart.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::datatypes::Int32Type;
use bucket::{BucketReader, TermQuery};
use knowledge::Knowledge;
use model::{BucketId, ValueCount};
use parking_lot::Mutex;

use crate::readers::rules_hold;

/// Number of buckets whose comparison is cached until the rules change again.
const KEPT: usize = 10_000;

/// The source types of a bucket whose rules have changed since its columns were made.
#[derive(Debug, Clone)]
pub(super) enum Stale {
    /// All columns are up to date.
    Nothing,
    /// The columns are outdated for these source types.
    Some(Arc<BTreeSet<String>>),
    /// No column is known to be up to date.
    Everything,
}

fn names(values: &[ValueCount]) -> Vec<&str> {
    values.iter().map(|known| known.value.as_str()).collect()
}

/// A cache of the results for buckets, for the current rules.
#[derive(Debug, Default)]
struct Compared(Mutex<HashMap<BucketId, Stale>>);

impl Stale {
    /// Returns the result by the fingerprints of a summary alone, which covers all source types or none.
    pub(super) fn unless(rules_hold: bool) -> Self {
        if rules_hold { Self::Nothing } else { Self::Everything }
    }

    /// Returns the result for an open bucket. If any rule has changed, it matches the stanzas of sources and
    /// hosts with all sources and hosts of the bucket, once.
    pub(super) fn of(id: BucketId, reader: &BucketReader, knowledge: &Knowledge) -> Self {
        if rules_hold(knowledge, &reader.summary().rules) {
            return Self::Nothing;
        }
        let compared = knowledge.compiled_of(&knowledge::OF_FIELDS, |_| Compared::default());
        if let Some(known) = compared.0.lock().get(&id) {
            return known.clone();
        }
        let stale = Self::compare(reader, knowledge);
        let mut kept = compared.0.lock();
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(id, stale.clone());
        stale
    }

    fn compare(reader: &BucketReader, knowledge: &Knowledge) -> Self {
        let summary = reader.summary();
        let rules = knowledge.origin_rules();
        let applied = || {
            let (sources, hosts) = (names(&summary.sources), names(&summary.hosts));
            rules.applied_to_some(&sources, &hosts).into_iter().collect()
        };
        let Some(then) = reader.made_by_origin_rules(applied) else { return Self::Everything };
        let now = rules.fingerprint();
        let changed = summary.rules.iter().filter(|(sourcetype, made_by)| {
            made_by ^ then != knowledge.fingerprint(sourcetype) ^ now
        });
        let changed: BTreeSet<String> = changed.map(|(sourcetype, _)| sourcetype.clone()).collect();
        match changed.len() {
            0 => Self::Nothing,
            all if all == summary.sourcetypes.len() => Self::Everything,
            _ => Self::Some(Arc::new(changed)),
        }
    }

    pub(super) fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    /// Whether columns are outdated for events of a source type.
    pub(super) fn has(&self, sourcetype: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::Some(sourcetypes) => sourcetypes.contains(sourcetype),
            Self::Everything => true,
        }
    }

    /// Returns which rows are events of outdated source types, from the stored column of source types; `None`
    /// if all rows give the same answer.
    pub(super) fn rows(&self, sourcetypes: &ArrayRef) -> Option<BooleanArray> {
        if !matches!(self, Self::Some(_)) {
            return None;
        }
        let column = sourcetypes.as_dictionary_opt::<Int32Type>()?;
        let names = column.values().as_string_opt::<i32>()?;
        let stale: Vec<bool> = (0..names.len()).map(|at| self.has(names.value(at))).collect();
        let rows = (0..column.len()).map(|row| column.key(row).is_none_or(|key| stale[key]));
        Some(rows.collect::<Vec<_>>().into())
    }

    /// Returns a query for events that may have these words in a value of a field. The term index has words
    /// of values only where columns are up to date.
    pub(super) fn terms(&self, words: &TermQuery) -> TermQuery {
        match self {
            Self::Nothing => words.clone(),
            Self::Some(sourcetypes) => {
                let stale = sourcetypes.iter().map(|name| TermQuery::for_text(name));
                TermQuery::or(std::iter::once(words.clone()).chain(stale).collect())
            }
            Self::Everything => TermQuery::All,
        }
    }
}
