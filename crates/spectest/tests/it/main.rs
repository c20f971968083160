//! Searches and their results: specs, the corpus, and random configurations.

mod corpus;
mod held_rows;
mod narrowed;
mod plan_sizes;
mod specs;
