//! Searches and what they give: specs, the corpus, and random configurations.

mod corpus;
mod narrowed;
mod plan_sizes;
mod specs;
