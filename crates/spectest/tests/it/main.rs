//! Searches and their results: specs, the corpus, and random configurations.

mod corpus;
mod narrowed;
mod plan_sizes;
mod specs;
