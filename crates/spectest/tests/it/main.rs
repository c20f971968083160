//! Searches and their results: specs, the corpus, and random configurations.
#![allow(clippy::unwrap_used)]

mod corpus;
mod held_rows;
mod many_series;
mod narrowed;
mod plan_sizes;
mod specs;
mod wildcards;
