//! The planned fields that the configuration adds to displayed events of a search.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use model::columns;
use parking_lot::Mutex;
use plan::ShownFields;

/// A cache of these plans; see the module documentation. Previews and the result of a job usually have the
/// same source types.
#[derive(Debug, Default)]
pub(crate) struct Shown(Mutex<Option<Known>>);

#[derive(Debug)]
struct Known {
    sourcetypes: HashSet<String>,
    /// The fields that the events were known to have, if the plan depends on them.
    present: Option<HashSet<String>>,
    fields: Option<Arc<ShownFields>>,
}

impl Shown {
    /// Returns the fields added to events of these source types. The outer `None` means that they are not
    /// planned yet, or depend on the fields of the events.
    pub(crate) fn of(&self, sourcetypes: &HashSet<String>) -> Option<Option<Arc<ShownFields>>> {
        let known = self.0.lock();
        let known = known.as_ref().filter(|known| known.present.is_none())?;
        sourcetypes.is_subset(&known.sourcetypes).then(|| known.fields.clone())
    }

    /// Returns the fields added to events that have these fields.
    pub(crate) fn of_fields(
        &self,
        sourcetypes: &HashSet<String>,
        present: &HashSet<String>,
    ) -> Option<Option<Arc<ShownFields>>> {
        let known = self.0.lock();
        let known = known.as_ref().filter(|known| sourcetypes.is_subset(&known.sourcetypes))?;
        let has_all = known.present.as_ref().is_some_and(|known| present.is_subset(known));
        has_all.then(|| known.fields.clone())
    }

    /// Whether the plan depends on the fields of the events.
    pub(crate) fn is_wide(&self) -> bool {
        self.0.lock().as_ref().is_some_and(|known| known.present.is_some())
    }

    /// Caches a plan.
    pub(crate) fn keep(
        &self,
        sourcetypes: HashSet<String>,
        present: Option<HashSet<String>>,
        fields: Option<Arc<ShownFields>>,
    ) {
        *self.0.lock() = Some(Known { sourcetypes, present, fields });
    }
}

/// Returns the source types of events.
pub(crate) fn sourcetypes(batches: &[RecordBatch]) -> HashSet<String> {
    let mut found = HashSet::new();
    for batch in batches {
        let column = batch.column_by_name(columns::SOURCETYPE);
        let Some(names) = column.and_then(|column| column.as_string_view_opt()) else { continue };
        let mut last = None;
        for name in names.iter().flatten().filter(|name| last.replace(*name) != Some(*name)) {
            if !found.contains(name) {
                found.insert(name.to_owned());
            }
        }
    }
    found
}
