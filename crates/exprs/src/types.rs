//! The types of values inside a plan: every column that a plan produces has the Arrow type of its type.

pub use eval::ValueType;
pub use tables::ArrowType;
