//! Single phases of writing, for the example that measures them.

#[doc(hidden)]
pub use crate::write::phases;
