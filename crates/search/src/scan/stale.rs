//! Whose columns of fields are out of date: rules may have changed since a bucket was written.
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

/// Buckets whose comparison is kept until the rules change again.
const KEPT: usize = 10_000;

/// The source types of a bucket whose rules are not those by which its columns were made.
#[derive(Debug, Clone)]
pub(super) enum Stale {
    /// All columns are what extraction would give.
    Nothing,
    /// Those of some source types are not.
    Some(Arc<BTreeSet<String>>),
    /// No column is known to be.
    Everything,
}

fn names(values: &[ValueCount]) -> Vec<&str> {
    values.iter().map(|known| known.value.as_str()).collect()
}

/// What was found out about buckets with the rules of today.
#[derive(Debug, Default)]
struct Compared(Mutex<HashMap<BucketId, Stale>>);

impl Stale {
    /// By the fingerprints of a summary alone, which is sure of all source types or of none.
    pub(super) fn unless(rules_hold: bool) -> Self {
        if rules_hold { Self::Nothing } else { Self::Everything }
    }

    /// By an open bucket. If any rule has changed, it has to try the stanzas of sources and hosts on all
    /// sources and hosts of the bucket, which is done once.
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
        let (sources, hosts) = (names(&summary.sources), names(&summary.hosts));
        let applied = rules.applied_to_some(&sources, &hosts);
        let Some(then) = reader.made_by_origin_rules(&applied.into_iter().collect()) else {
            return Self::Everything;
        };
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

    /// Whether columns are out of date for events of a source type.
    pub(super) fn has(&self, sourcetype: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::Some(sourcetypes) => sourcetypes.contains(sourcetype),
            Self::Everything => true,
        }
    }

    /// Which rows are events of such source types, by the column of source types as it is stored; `None` if
    /// they are all alike.
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

    /// What finds events that may have words in a value of a field. Those of the values are in the term index
    /// where the columns hold.
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
