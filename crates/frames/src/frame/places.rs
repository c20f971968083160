//! An index of the columns of a frame by name.
//!
//! Commands look up either each of thousands of fields by name, or only a few of them. So the index of a
//! frame with many columns is built on the first lookup.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::FrameColumn;

/// Number of columns below which a linear search is faster than building the index.
const FEW: usize = 64;

/// The index of the columns of one frame. Invalid for other columns.
#[derive(Debug, Clone, Default)]
pub(super) struct Places(OnceLock<Arc<HashMap<String, usize>>>);

impl Places {
    /// Returns the position of the column with this name.
    pub(super) fn of(&self, name: &str, columns: &[FrameColumn]) -> Option<usize> {
        if columns.len() <= FEW {
            return columns.iter().position(|column| column.name == name);
        }
        let noted = || {
            let each = columns.iter().enumerate();
            Arc::new(each.map(|(at, column)| (column.name.clone(), at)).collect())
        };
        self.0.get_or_init(noted).get(name).copied()
    }
}
