//! What the configuration adds to the events of a search that are shown, as far as it is planned.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use model::columns;
use parking_lot::Mutex;
use plan::ShownFields;

/// See the module. Previews and the result of a job have the same source types most of the time.
#[derive(Debug, Default)]
pub(crate) struct Shown(Mutex<Option<Known>>);

#[derive(Debug)]
struct Known {
    sourcetypes: HashSet<String>,
    /// The fields that the events were known to have, if the plan depends on that.
    present: Option<HashSet<String>>,
    fields: Option<Arc<ShownFields>>,
}

impl Shown {
    /// What is added to events of these source types; the outer `None` if that is not planned, or depends on
    /// which fields they have.
    pub(crate) fn of(&self, sourcetypes: &HashSet<String>) -> Option<Option<Arc<ShownFields>>> {
        let known = self.0.lock();
        let known = known.as_ref().filter(|known| known.present.is_none())?;
        sourcetypes.is_subset(&known.sourcetypes).then(|| known.fields.clone())
    }

    /// The same of events that have these fields.
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

    /// Whether it depends on which fields events have.
    pub(crate) fn is_wide(&self) -> bool {
        self.0.lock().as_ref().is_some_and(|known| known.present.is_some())
    }

    /// Keeps what was planned.
    pub(crate) fn keep(
        &self,
        sourcetypes: HashSet<String>,
        present: Option<HashSet<String>>,
        fields: Option<Arc<ShownFields>>,
    ) {
        *self.0.lock() = Some(Known { sourcetypes, present, fields });
    }
}

/// The source types of events.
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
