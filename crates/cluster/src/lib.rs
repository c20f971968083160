//! The decisions of the control plane that leads, as a state machine without clock and I/O: which indexers
//! are gone, and who recovers their events; which process restarts next in a rolling restart; which indexers
//! have copies of a journal; which indexer may leave.
//!
//! It leaves to others: asking the indexers, listing the journals in object storage, writing what is decided
//! to the catalog, which is what makes it true (`services/karst/src/server/failover.rs`); and the recovery
//! (`ingest`). Everything it knows can be seen again by the next leader, so nothing of it is stored.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod guard;
mod leaving;
mod placement;
mod settings;
mod takeovers;
mod wave;

pub use guard::{Limits, Searches, Usual};
pub use leaving::{Handover, Leaving, Member, objection};
pub use placement::{NO_SITE, Placement, SiteFactor, is_site};
pub use settings::{Place, Settings};
pub use takeovers::{Action, Owned, Seen, Takeovers};
pub use wave::{Present, Restarts, Wave};

/// The declarations of settings.
pub const DECLARED: &[&[conf::Setting]] =
    &[Place::SETTINGS, Settings::SETTINGS, Placement::SETTINGS];
