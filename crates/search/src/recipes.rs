//! The information that other processes need to plan a search again: the normalized search, and the answers
//! that its planning received.

mod recipe;
mod recording;

pub(crate) use recipe::{
    HotShare, Inner, PartOf, Recipe, Search, columns, configuration, fingerprint,
    fingerprint_with_rules, version,
};
pub(crate) use recording::{Answers, Asked, Compared, KnownField, Lookups, Recorded, Recording};
