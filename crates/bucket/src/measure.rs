//! Single phases of writing, for the example that benchmarks them.

#[doc(hidden)]
pub use crate::write::phases;
