//! The map part of a search on other processes: where a plan is cut, and the conversation about a part.
//!
//! ```text
//! search head: whole plan -> cut -> reduce part <- rows of all parts <- Conversation
//!                                                                          | gRPC, karst.search.v1
//! worker:      PartService -> PartRunner: the same search, its buckets -> cut -> map part -> rows
//! ```
//!
//! A recipe is sent, not a plan: the worker plans the search again over its share of the buckets, and runs
//! the part of its own plan below the cut. The functions of SPL are closures, which cannot be serialised;
//! the text of a search can.
//!
//! Guarantees: both sides use [`cut()`], so that they agree on the cut. The cut plan has the rows of the
//! whole plan for any split of the events. A worker that sends no sign of life for a while is considered
//! lost, even if its connection is open.
//!
//! Not here: the content of a recipe and how it is run ([`PartRunner`]), the assignment of buckets to
//! workers, and the handling of lost workers.

mod context;
mod conversation;
mod cut;
mod describe;
mod ipc;
mod service;
mod warm;

use std::time::Duration;

pub use context::CallContext;
pub use conversation::{Conversation, Failure, Said};
pub use cut::{Cut, Gather, cut};
pub use describe::describe;
pub use service::{PartRunner, PartService, RunningPart};
use tonic::codegen::http::uri::PathAndQuery;
pub use tonic::transport::Channel;
pub use warm::warm;

/// The gRPC service.
pub(crate) const SERVICE: &str = "karst.search.v1.MapParts";
pub(crate) const RUN: &str = "/karst.search.v1.MapParts/Run";
pub(crate) const DESCRIBE: &str = "/karst.search.v1.MapParts/Describe";
pub(crate) const WARM: &str = "/karst.search.v1.MapParts/Warm";
/// Maximum size of a message: fits the longest event, and a recipe with a million buckets.
pub(crate) const MAX_MESSAGE: usize = 256 << 20;
/// Maximum size of a recipe.
pub const MAX_RECIPE: usize = MAX_MESSAGE - (1 << 20);
/// Interval in which a worker sends a sign of life.
pub(crate) const BEAT: Duration = Duration::from_millis(500);

fn path_of(method: &'static str) -> PathAndQuery {
    PathAndQuery::from_static(method)
}

/// The state that a search requests of its running parts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Valve {
    /// They run.
    #[default]
    Open,
    /// They pause.
    Paused,
    /// They end with the rows found so far.
    Closed,
}

impl Valve {
    pub(crate) const fn number(self) -> u32 {
        match self {
            Self::Open => 0,
            Self::Paused => 1,
            Self::Closed => 2,
        }
    }

    /// The state of a number; `None` for numbers of later versions, which are ignored.
    pub(crate) const fn of(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Open,
            1 => Self::Paused,
            2 => Self::Closed,
            _ => return None,
        })
    }
}
