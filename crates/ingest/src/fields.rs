//! The extraction rules of `knowledge` as the bucket writer asks for them.

use std::sync::Arc;

use bucket::{FieldExtractor, FieldSource, OriginRules};
use knowledge::{FieldRules, Knowledge};
use parking_lot::RwLock;

/// Field rules by origin, as of now.
#[derive(Debug)]
pub(crate) struct KnownFields(RwLock<Arc<Knowledge>>);

impl KnownFields {
    pub(crate) fn new(knowledge: Arc<Knowledge>) -> Self {
        Self(RwLock::new(knowledge))
    }

    /// Buckets that are written from now on have the fields of these rules.
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
        // The fingerprint covers all rules the sourcetype can meet, whatever source and host, so
        // that a reader needs to know no more than the sourcetype to compare it.
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
