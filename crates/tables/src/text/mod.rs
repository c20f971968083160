//! Texts as commands over tables read and write them.

pub mod tabular;
