//! What the searches of namespaces see, compiled.
//!
//! Guarantees: a view is made again if an object or an app is another, and what was made of files without a
//! change is kept then; requests for the same view wait for the first of them to make it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use conf::Layers;
use knowledge::Knowledge;
use parking_lot::Mutex;

use crate::Namespace;
use crate::objects::{Stored, changed_confs};

/// Views that are kept; one more empties the cache.
const KEPT: usize = 256;

/// A namespace, and the places of shared objects that are left out of it.
pub(crate) type View = (Namespace, Vec<String>);

/// What views are made of.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// What files say.
    pub(crate) files: Arc<Knowledge>,
    /// By the names of their documents.
    pub(crate) objects: Arc<BTreeMap<String, Stored>>,
}

/// The views that were asked for.
#[derive(Debug, Default)]
pub(crate) struct Views(Mutex<HashMap<View, Arc<Mutex<Option<Made>>>>>);

#[derive(Debug)]
struct Made {
    of: Source,
    knowledge: Arc<Knowledge>,
}

impl Views {
    /// The view of a source; `layers` makes its layers.
    pub(crate) fn get(
        &self,
        view: View,
        source: Source,
        layers: impl FnOnce() -> Layers,
    ) -> Arc<Knowledge> {
        let slot = {
            let mut kept = self.0.lock();
            if kept.len() >= KEPT && !kept.contains_key(&view) {
                kept.clear();
            }
            Arc::clone(kept.entry(view).or_default())
        };
        let mut slot = slot.lock();
        let knowledge = match &*slot {
            Some(made) if made.is_of(&source) => return Arc::clone(&made.knowledge),
            Some(made) if Arc::ptr_eq(&made.of.files, &source.files) => {
                let changed = changed_confs(&made.of.objects, &source.objects);
                made.knowledge.changed(layers(), &changed)
            }
            _ => Knowledge::new(layers()),
        };
        let knowledge = Arc::new(knowledge);
        *slot = Some(Made { of: source, knowledge: Arc::clone(&knowledge) });
        knowledge
    }
}

impl Made {
    fn is_of(&self, source: &Source) -> bool {
        Arc::ptr_eq(&self.of.files, &source.files) && Arc::ptr_eq(&self.of.objects, &source.objects)
    }
}
