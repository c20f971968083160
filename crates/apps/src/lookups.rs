//! Where lookup files are: in object storage, and in the directories of apps.

use std::sync::Arc;

use object_store::ObjectStore;
use object_store::path::Path;

/// Where they are in object storage.
pub(crate) const ROOT: &str = "lookups";

#[derive(Debug)]
pub(crate) struct Lookups {
    pub(crate) store: Arc<dyn ObjectStore>,
}

impl Lookups {
    pub(crate) fn new(store: Arc<dyn ObjectStore>) -> Self {
        Self { store }
    }

    pub(crate) fn object(owner: &str, app: &str, name: &str) -> Path {
        Path::from_iter([ROOT, owner, app, name])
    }
}
