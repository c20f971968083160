//! Commands over whole tables and texts: their algorithms, on Arrow arrays and plain values.
//!
//! ```text
//!   plan: options of a command -> an Operation
//!                                    |
//!   rows of a stage  ------------> apply -----> rows of the next stage, notes for the user
//! ```
//!
//! Guarantees: the same rows in the same order give the same rows, and the output is within the limits of the
//! [`Context`]. No DataFusion, no I/O, no clock. The meaning of options, the required fields and the place
//! where a command runs are left to `plan`.

pub mod analysis;
pub mod bins;
mod error;
pub mod learning;
mod operation;
mod rows;
pub mod series;
pub mod shape;
pub mod text;

pub use error::Error;
pub use operation::{Context, Limits, Note, Operation, Steps, Stop};
pub use rows::{
    ArrowType, Column, FreeNames, ListTexts, NameFormat, Record, Rows, Texts, Values, array_bytes,
    check_cells, check_count, convert, places, typed,
};
