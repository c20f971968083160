//! The map part of a search on other processes: where a plan is cut, and the conversation about a part.
//!
//! ```text
//! search head: whole plan -> cut -> reduce part <- rows of all parts <- Conversation
//!                                                                          | gRPC, karst.search.v1
//! worker:      PartService -> PartRunner: the same search, its buckets -> cut -> map part -> rows
//! ```
//!
//! What travels is a recipe, not a plan: the worker plans the search again over the buckets that it is given
//! and takes of its own plan what is below the cut. The functions of SPL are closures, which have no form on
//! the wire; the text of a search has one.
//!
//! Guarantees: [`cut()`] is one function for both sides, so that they agree on what is cut where. The rows of
//! the cut plan are those of the whole one for any split of the events. Whoever does not say for a while that
//! it works on a part is taken for lost, also if its connection stands.
//!
//! It leaves to others: what a recipe says and how it is run ([`PartRunner`]), which buckets are read by
//! whom, and what happens when a worker is lost.

mod context;
mod conversation;
mod cut;
mod describe;
mod ipc;
mod service;

use std::time::Duration;

pub use context::CallContext;
pub use conversation::{Conversation, Failure, Said};
pub use cut::{Cut, Gather, cut};
pub use describe::describe;
pub use service::{PartRunner, PartService, RunningPart};
use tonic::codegen::http::uri::PathAndQuery;
pub use tonic::transport::Channel;

/// The service and its methods.
pub(crate) const SERVICE: &str = "karst.search.v1.MapParts";
pub(crate) const RUN: &str = "/karst.search.v1.MapParts/Run";
pub(crate) const DESCRIBE: &str = "/karst.search.v1.MapParts/Describe";
/// Longest message: the longest event fits, and a recipe of a million buckets.
pub(crate) const MAX_MESSAGE: usize = 256 << 20;
/// Longest recipe that fits into a message.
pub const MAX_RECIPE: usize = MAX_MESSAGE - (1 << 20);
/// How often a worker says that it works.
pub(crate) const BEAT: Duration = Duration::from_millis(500);

fn path_of(method: &'static str) -> PathAndQuery {
    PathAndQuery::from_static(method)
}

/// What a search wants of the parts that run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Valve {
    /// They run.
    #[default]
    Open,
    /// They wait.
    Paused,
    /// They end with what they have found.
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

    /// A number that a later version knows leaves things as they are.
    pub(crate) const fn of(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Open,
            1 => Self::Paused,
            2 => Self::Closed,
            _ => return None,
        })
    }
}
