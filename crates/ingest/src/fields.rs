//! The extraction rules of `knowledge` as the bucket writer asks for them.

use std::sync::Arc;

use bucket::{FieldExtractor, FieldSource};
use knowledge::{FieldRules, Knowledge};

/// Field rules by origin.
pub(crate) struct KnownFields(pub(crate) Arc<Knowledge>);

struct Rules(Arc<FieldRules>);

impl FieldSource for KnownFields {
    fn extractor(&self, sourcetype: &str, source: &str, host: &str) -> Arc<dyn FieldExtractor> {
        Arc::new(Rules(self.0.field_rules(sourcetype, source, host)))
    }
}

impl FieldExtractor for Rules {
    fn fingerprint(&self) -> u64 {
        self.0.fingerprint()
    }

    fn extract(&self, raw: &str, emit: &mut dyn FnMut(&str, &str)) {
        // What a limit cuts off, a search cuts off as well: the column says the same as `_raw`.
        let _ = self.0.extract(raw, &mut |name, value| emit(name, &value));
    }
}
