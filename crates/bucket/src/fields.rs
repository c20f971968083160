//! The interface through which the writer gets the fields of an event, without knowing extraction rules.

use std::collections::BTreeSet;
use std::sync::Arc;

/// Extraction rules of all origins.
pub trait FieldSource: Send + Sync {
    /// Returns the rules for events of one origin. Called once per distinct origin and bucket, so it may be
    /// expensive; the returned extractor must be cheap.
    fn extractor(&self, sourcetype: &str, source: &str, host: &str) -> Arc<dyn FieldExtractor>;
}

/// The rules of sources and hosts that produced the fields of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginRules {
    /// The contribution of all existing rules of this kind, whether they applied or not, to
    /// [`FieldExtractor::fingerprint`]: the exclusive or of both is the fingerprint of the other rules.
    pub all: u64,
    /// The fingerprints of the rules that applied.
    pub applied: BTreeSet<u64>,
}

/// Extraction rules of one origin.
pub trait FieldExtractor: Send + Sync {
    /// Returns a fingerprint that changes whenever the fields of some event could change. It is stored per
    /// source type in the summary of the bucket, and a column is used only while the rules still have this
    /// fingerprint.
    fn fingerprint(&self) -> u64;

    /// Returns the rules that do not depend on the source type, if they are known separately from the others.
    fn origin_rules(&self) -> Option<OriginRules> {
        None
    }

    /// Calls `emit(name, value)` for every field of the event, in a fixed order; a name emitted twice is a
    /// multivalue. A value should be a slice of `raw` if possible: then it is stored without a copy. Returns
    /// whether these are all fields: false if a limit has cut off fields that an extraction of fewer fields
    /// might return.
    fn extract(&self, raw: &str, emit: &mut dyn FnMut(&str, &str)) -> bool;
}

/// A source without fields: every search extracts from `_raw`.
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
