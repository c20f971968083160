//! The term index: which granules have which word and how often, in blocks. A lookup of a word reads one
//! block.

pub(crate) mod bits;
pub(crate) mod block;
mod builder;
mod vocabulary;

pub(crate) use builder::{BuiltIndex, GranuleTerms, IndexBuilder};
pub(crate) use vocabulary::Vocabulary;
