//! Texts as commands over tables read and write them.

pub(crate) mod json;
pub mod tabular;
