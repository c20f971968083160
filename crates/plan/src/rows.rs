//! Rows held in memory: between two stages, of lookups, of what the host gives.

mod batch;
mod cells;
mod gather;
mod places;
mod size;

pub(crate) use batch::convert;
pub use batch::{Column, Rows};
pub use cells::Record;
pub(crate) use gather::{check_cells, check_count, places};
pub(crate) use size::array_bytes;
pub use size::batch_bytes;
