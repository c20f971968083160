//! The term index: which granules have which word, how often, in blocks that answer one word each.

pub(crate) mod bits;
pub(crate) mod block;
mod builder;
mod vocabulary;

pub(crate) use builder::{BuiltIndex, IndexBuilder};
pub(crate) use vocabulary::Vocabulary;
