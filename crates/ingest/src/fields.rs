//! An adapter that gives the extraction rules of `knowledge` to the bucket writer.

use std::sync::Arc;

use bucket::{FieldExtractor, FieldSource, OriginRules};
use knowledge::{FieldRules, Knowledge};
use parking_lot::RwLock;

/// The current field rules by origin.
#[derive(Debug)]
pub(crate) struct KnownFields(RwLock<Arc<Knowledge>>);

impl KnownFields {
    pub(crate) fn new(knowledge: Arc<Knowledge>) -> Self {
        Self(RwLock::new(knowledge))
    }

    /// Replaces the rules for buckets that are written from now on.
    pub(crate) fn set(&self, knowledge: Arc<Knowledge>) {
        *self.0.write() = knowledge;
    }
}

struct Rules {
    rules: Arc<FieldRules>,
    fingerprint: u64,
    of_origin: OriginRules,
}

impl FieldSource for KnownFields {
    fn extractor(&self, sourcetype: &str, source: &str, host: &str) -> Arc<dyn FieldExtractor> {
        // The fingerprint covers all rules that can apply to the source type, whatever source and host, so
        // that a reader can compare it when it knows only the source type.
        let knowledge = Arc::clone(&self.0.read());
        let fingerprint = knowledge.fingerprint(sourcetype);
        let known = knowledge.origin_rules();
        let applied = known.applied(source, host).collect();
        let of_origin = OriginRules { all: known.fingerprint(), applied };
        let rules = knowledge.field_rules(sourcetype, source, host);
        Arc::new(Rules { rules, fingerprint, of_origin })
    }
}

impl FieldExtractor for Rules {
    fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    fn origin_rules(&self) -> Option<OriginRules> {
        Some(self.of_origin.clone())
    }

    fn extract(&self, raw: &str, emit: &mut dyn FnMut(&str, &str)) -> bool {
        !self.rules.extract(raw, &mut |name, value| emit(name, &value)).lacks_columns
    }
}
