//! The compiled knowledge for the searches of namespaces.
//!
//! Guarantees: a view is compiled again if an object or an app has changed, and parts compiled from unchanged
//! files are kept; concurrent requests for the same view wait for the first of them to compile it. When the
//! apps in force change, no view of the previous apps is kept.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use conf::Layers;
use knowledge::Knowledge;
use parking_lot::Mutex;

use crate::Namespace;
use crate::objects::{Stored, changed_confs};

/// Views that are kept at most.
const KEPT: usize = 256;

/// Maximum size of the settings and data models from which all cached views are compiled, in bytes. The
/// requested view is always cached.
///
/// A view takes at least ten times as much memory as its settings, because its patterns are compiled: about
/// 30 MB with 500 apps, so that about 16 are cached. If more are in use alternately, each request compiles
/// one.
const KEPT_TEXT: usize = 48 << 20;

/// A namespace, and the keys of shared objects that are left out of it.
pub(crate) type View = (Namespace, Vec<String>);

/// The sources of views.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// The knowledge from files.
    pub(crate) files: Arc<Knowledge>,
    /// Stored objects, by the names of their documents.
    pub(crate) objects: Arc<BTreeMap<String, Stored>>,
}

/// The views that were asked for last.
#[derive(Debug, Default)]
pub(crate) struct Views(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    slots: HashMap<View, Slot>,
    /// Requests until now.
    requests: u64,
}

#[derive(Debug, Default)]
struct Slot {
    made: Arc<Mutex<Option<Made>>>,
    /// The number of the last request.
    used: u64,
    /// Bytes of the settings and data models of which the view is made.
    text: usize,
}

#[derive(Debug)]
struct Made {
    of: Source,
    knowledge: Arc<Knowledge>,
}

impl Kept {
    fn slot(&mut self, view: View) -> Arc<Mutex<Option<Made>>> {
        self.requests += 1;
        let slot = self.slots.entry(view).or_default();
        slot.used = self.requests;
        Arc::clone(&slot.made)
    }

    /// Records the size of a view's sources, and evicts the least recently used views.
    fn weigh(&mut self, view: &View, text: usize) {
        if let Some(slot) = self.slots.get_mut(view) {
            slot.text = text;
        }
        while self.slots.len() > 1 && (self.slots.len() > KEPT || self.text() > KEPT_TEXT) {
            let oldest = self.slots.iter().filter(|(other, _)| *other != view);
            let oldest = oldest.min_by_key(|(_, slot)| slot.used).map(|(view, _)| view.clone());
            let Some(oldest) = oldest else { break };
            self.slots.remove(&oldest);
        }
    }

    fn text(&self) -> usize {
        self.slots.values().map(|slot| slot.text).sum()
    }
}

impl Views {
    /// The view of a source; `layers` makes its layers.
    pub(crate) fn get(
        &self,
        view: View,
        source: Source,
        layers: impl FnOnce() -> Layers,
    ) -> Arc<Knowledge> {
        let slot = self.0.lock().slot(view.clone());
        let mut slot = slot.lock();
        if let Some(made) = slot.as_ref().filter(|made| made.is_of(&source)) {
            return Arc::clone(&made.knowledge);
        }
        let layers = layers();
        let text = layers.text_bytes();
        let knowledge = match &*slot {
            Some(made) if Arc::ptr_eq(&made.of.files, &source.files) => {
                let changed = changed_confs(&made.of.objects, &source.objects);
                made.knowledge.changed(layers, &changed)
            }
            _ => Knowledge::new(layers),
        };
        let knowledge = Arc::new(knowledge);
        *slot = Some(Made { of: source, knowledge: Arc::clone(&knowledge) });
        drop(slot);
        self.0.lock().weigh(&view, text);
        knowledge
    }

    /// Drops all views, because the apps in force have changed. A namespace that is not requested again, such
    /// as that of a search that runs once a day, would keep the compiled rules of the previous apps.
    pub(crate) fn forget(&self) {
        let outdated = std::mem::take(&mut self.0.lock().slots);
        // Dropped outside the lock, because it takes some time.
        drop(outdated);
    }
}

impl Made {
    fn is_of(&self, source: &Source) -> bool {
        Arc::ptr_eq(&self.of.files, &source.files) && Arc::ptr_eq(&self.of.objects, &source.objects)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgotten_views_leave_nothing_in_memory_and_are_made_again() {
        let views = Views::default();
        let of = Source { files: Arc::new(Knowledge::builtin()), objects: Arc::default() };
        let seen = || views.get(view(0), of.clone(), Layers::builtin);
        let first = Arc::downgrade(&seen());
        assert!(first.upgrade().is_some_and(|first| Arc::ptr_eq(&first, &seen())));
        views.forget();
        assert!(first.upgrade().is_none());
        let again = seen();
        assert!(Arc::ptr_eq(&again, &seen()));
    }

    fn view(number: usize) -> View {
        (Namespace { owner: format!("user{number}"), app: "search".to_owned() }, Vec::new())
    }

    #[test]
    fn views_that_were_not_asked_for_the_longest_are_forgotten() {
        let mut kept = Kept::default();
        let large = KEPT_TEXT / 3;
        for number in 0..3 {
            kept.slot(view(number));
            kept.weigh(&view(number), large);
        }
        kept.slot(view(0));
        kept.slot(view(3));
        kept.weigh(&view(3), large);
        let mut left: Vec<usize> =
            (0..4).filter(|number| kept.slots.contains_key(&view(*number))).collect();
        left.sort_unstable();
        assert_eq!(left, [0, 2, 3]);
        kept.slot(view(4));
        kept.weigh(&view(4), 2 * KEPT_TEXT);
        assert_eq!(kept.slots.len(), 1, "one that is larger than all of the room stands alone");
        for number in 5..5 + 2 * KEPT {
            kept.slot(view(number));
            kept.weigh(&view(number), 1);
        }
        assert_eq!(kept.slots.len(), KEPT);
    }
}
