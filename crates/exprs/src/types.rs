//! Types of values in a plan: every column that a plan produces has the Arrow type of its value type.

pub use eval::ValueType;
pub use tables::ArrowType;
