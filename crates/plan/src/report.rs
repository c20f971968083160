//! Descriptions of a search without running it: its commands and their places, and its SQL.

mod outline;
mod sql_text;

pub use outline::{CommandPlace, Outline, OutlinedCommand, outline};
pub use sql_text::sql_text;
