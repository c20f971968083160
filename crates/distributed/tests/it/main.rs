//! Every spec with the map part of its search on three workers, over random splits of its events.
#![allow(clippy::disallowed_methods)]

mod events;
mod plans;
