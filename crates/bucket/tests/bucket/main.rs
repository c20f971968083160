//! The bucket format as its users see it: what is written is read, what is asked is found, what is
//! damaged is refused.
#![allow(clippy::unwrap_used)]

extern crate karst_bucket as bucket;

mod columns;
mod damage;
mod fields;
mod golden;
mod layout;
mod rewrite;
mod round_trip;
mod row_test;
mod support;
mod term_index;
mod words;
