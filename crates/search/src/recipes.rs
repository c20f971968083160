//! What other processes need to plan a search again: the search as it was understood, and what its planning
//! has asked.

mod recipe;
mod recording;

pub(crate) use recipe::{
    HotShare, Inner, PartOf, Recipe, Search, columns, configuration, fingerprint,
    fingerprint_with_rules, version,
};
pub(crate) use recording::{Answers, Asked, Compared, KnownField, Lookups, Recorded, Recording};
