//! The map part of a search on workers: where a plan is cut, and how the parts of the workers come together.
//!
//! ```text
//! search head: whole plan -> cut -> reduce part
//!                                     '- GatherExec <- datafusion-distributed <- MapExec, one task a worker
//! worker:      MapExec -> MapPlanner: the same search over its events -> cut -> map part -> rows
//! ```
//!
//! What travels is a recipe, not a plan: the worker plans the search again over its share of the events and
//! takes of its own plan what is below the cut. The functions of SPL are closures, which have no form on the
//! wire; the text of a search has one.
//!
//! Guarantees: [`cut()`] is one function for both sides, so that they agree on what is cut where. The rows of
//! the cut plan are those of the whole one for any split of the events. A task that fails ends the search
//! with an error; nothing is left out silently.
//!
//! It leaves to others: what a recipe says and how it is planned ([`MapPlanner`]), which buckets go to which
//! task (whoever makes the recipes), and the connections ([`datafusion_distributed::ChannelResolver`]).

mod cut;
mod gather;
mod map_part;
mod workers;

pub use cut::{Cut, Gather, cut};
pub use datafusion_distributed::{ChannelResolver, Worker, WorkerChannel, grpc};
pub use map_part::{MapPlanner, Planned, Recipe};
pub use workers::{Workers, worker};
