//! The seam through which the writer learns an event's fields, without knowing any extraction rule.

use std::collections::BTreeSet;
use std::sync::Arc;

/// Extraction rules of all origins.
pub trait FieldSource: Send + Sync {
    /// The rules for events of one origin. Asked once per distinct origin and bucket, so it may be
    /// expensive; what it returns must not be.
    fn extractor(&self, sourcetype: &str, source: &str, host: &str) -> Arc<dyn FieldExtractor>;
}

/// Which rules of sources and hosts the fields of events were made by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginRules {
    /// What all such rules that there were, whether they applied or not, contribute to
    /// [`FieldExtractor::fingerprint`]: its exclusive or with this is the fingerprint of the other rules.
    pub all: u64,
    /// The fingerprints of those that applied.
    pub applied: BTreeSet<u64>,
}

/// Extraction rules of one origin.
pub trait FieldExtractor: Send + Sync {
    /// Changes whenever the fields of some event could change. It is stored per sourcetype in the
    /// bucket's summary, and a column is used only while the rules still have this fingerprint.
    fn fingerprint(&self) -> u64;

    /// The rules that do not depend on the source type, if they are known apart from the others.
    fn origin_rules(&self) -> Option<OriginRules> {
        None
    }

    /// Calls `emit(name, value)` for every field of the event, in a fixed order; a name emitted
    /// twice is a multivalue. A value should be a slice of `raw` where it can be: then it is stored
    /// without a copy. Gives whether these are all fields: false if a limit has cut off some that an
    /// extraction of fewer fields may give.
    fn extract(&self, raw: &str, emit: &mut dyn FnMut(&str, &str)) -> bool;
}

/// No fields at all: every search extracts from `_raw`.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFields;

impl FieldSource for NoFields {
    fn extractor(&self, _sourcetype: &str, _source: &str, _host: &str) -> Arc<dyn FieldExtractor> {
        Arc::new(Self)
    }
}

impl FieldExtractor for NoFields {
    fn fingerprint(&self) -> u64 {
        0
    }

    fn extract(&self, _raw: &str, _emit: &mut dyn FnMut(&str, &str)) -> bool {
        true
    }
}
