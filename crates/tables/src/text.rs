//! Text processing for commands over tables: tables, XML and JSON in texts, differences, examples, filters.

pub mod diff;
pub mod erex;
pub mod excerpt;
pub mod filter;
pub mod found;
pub mod geometry;
pub mod json;
pub mod leaves;
mod lines;
pub mod multikv;
pub mod quantities;
pub mod scrub;
pub mod template;
pub mod xml;
