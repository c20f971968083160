//! Where the columns of a frame are by their names.
//!
//! Commands ask for each of thousands of fields by its name, or for a few of them. The places are only noted
//! once somebody asks for a column of many.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::FrameColumn;

/// Columns that are looked through faster than their places are noted.
const FEW: usize = 64;

/// The places of the columns of one frame. Other columns need other places.
#[derive(Debug, Clone, Default)]
pub(super) struct Places(OnceLock<Arc<HashMap<String, usize>>>);

impl Places {
    /// Where the column of this name is among the columns.
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
