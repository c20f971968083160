//! What the configuration adds to the events of a search that are shown, as far as it is planned.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use model::columns;
use parking_lot::Mutex;
use plan::ShownFields;

/// See the module. Previews and the result of a job have the same source types most of the time.
#[derive(Debug, Default)]
pub(crate) struct Shown(Mutex<Known>);

/// Some source types, and what is added to their events.
type Known = Option<(HashSet<String>, Option<Arc<ShownFields>>)>;

/// What is still to be planned.
#[derive(Debug)]
pub(crate) enum Planned {
    /// It is known; nothing is added if it is `None`.
    Known(Option<Arc<ShownFields>>),
    /// Nothing is known of some source types: it has to be planned for these.
    For(HashSet<String>),
}

impl Shown {
    /// What is known of these events.
    pub(crate) fn of(&self, batches: &[RecordBatch]) -> Planned {
        let mut sourcetypes = sourcetypes(batches);
        if let Some((known, fields)) = &*self.0.lock() {
            if sourcetypes.is_subset(known) {
                return Planned::Known(fields.clone());
            }
            sourcetypes.extend(known.iter().cloned());
        }
        Planned::For(sourcetypes)
    }

    /// Keeps what was planned for source types.
    pub(crate) fn keep(&self, sourcetypes: HashSet<String>, fields: Option<Arc<ShownFields>>) {
        *self.0.lock() = Some((sourcetypes, fields));
    }
}

/// The source types of events.
fn sourcetypes(batches: &[RecordBatch]) -> HashSet<String> {
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
