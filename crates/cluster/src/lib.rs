//! The decisions of the leading control plane, as a state machine without clock and I/O: which indexers are
//! lost, and which ones recover their events; which process restarts next in a rolling restart; which
//! indexers get copies of a journal; which indexer may be removed.
//!
//! Leaves to others: polling the indexers, listing the journals in object storage, writing the decisions to
//! the catalog, which makes them effective (`services/karst/src/server/failover.rs`), and the recovery
//! (`ingest`). The next leader can observe everything again, so the state is not stored.
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
pub use settings::{Place, Settings, is_server_name};
pub use takeovers::{Action, Owned, Seen, Takeovers};
pub use wave::{Present, Restarts, Wave};

/// The declarations of settings.
pub const DECLARED: &[&[conf::Setting]] =
    &[Place::SETTINGS, Settings::SETTINGS, Placement::SETTINGS];
