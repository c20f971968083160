//! Searches over real buckets in a store, with a real catalog and cache.
#![allow(clippy::disallowed_methods)]
#![allow(clippy::unwrap_used)]

mod arrivals;
mod control;
mod damaged;
mod early;
mod elsewhere;
mod estimate;
mod far_away;
mod filters_again;
mod hot_parts;
mod hot_words;
mod inspector;
mod large;
mod listed;
mod memory;
mod numbers;
mod parts;
mod paused_parts;
mod previews;
mod rare;
mod saved;
mod shortcuts;
mod specs;
mod sql;
mod sql_objects;
mod stale;
mod summaries;
mod support;
mod traces;
mod typed;
mod warming;
