//! The extraction rules of `knowledge` as the bucket writer asks for them.

use std::sync::Arc;

use bucket::{FieldExtractor, FieldSource};
use knowledge::{FieldRules, Knowledge};

/// Field rules by origin.
pub(crate) struct KnownFields(pub(crate) Arc<Knowledge>);

struct Rules {
    rules: Arc<FieldRules>,
    fingerprint: u64,
}

impl FieldSource for KnownFields {
    fn extractor(&self, sourcetype: &str, source: &str, host: &str) -> Arc<dyn FieldExtractor> {
        // The fingerprint covers all rules the sourcetype can meet, whatever source and host, so
        // that a reader needs to know no more than the sourcetype to compare it.
        let fingerprint = self.0.fingerprint(sourcetype);
        Arc::new(Rules { rules: self.0.field_rules(sourcetype, source, host), fingerprint })
    }
}

impl FieldExtractor for Rules {
    fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    fn extract(&self, raw: &str, emit: &mut dyn FnMut(&str, &str)) {
        // What a limit cuts off, a search cuts off as well: the column says the same as `_raw`.
        let _ = self.rules.extract(raw, &mut |name, value| emit(name, &value));
    }
}
