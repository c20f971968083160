//! What other processes need to plan a search again: the search as it was understood, and what its planning
//! has asked.

mod recipe;
mod recording;

pub(crate) use recipe::{PartOf, Recipe, Search, columns, fingerprint};
pub(crate) use recording::{Answers, Asked, Compared, Lookups, Recorded, Recording};
