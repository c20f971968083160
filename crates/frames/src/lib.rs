//! Frames: the rows of a pipeline as a DataFusion plan with named, typed columns, and the sessions that run
//! it.
//!
//! Guarantees: the rows of a frame have an order, which its operators keep; names are exact; a session stays
//! within its memory and planning time limits. Expressions are in `exprs`, rows in memory in `tables`;
//! commands, pipelines, lookups and external services are in `plan`: this crate does not know commands.
//!
//! ```text
//! restriction, presence     the readable part of a source; the columns of a result that have values
//! session                   the engine: rules, operators, memory, planning time
//! rows                      rows in memory as a frame, batches as rows
//! frame                     a plan with visible columns and an order
//! stream                    operators over rows in order
//! scan, source              stored events, as planning sees them
//! planned, error, exhausted messages and columns of a result; errors
//! ```
//!
//! Columns whose name starts with `__` are the plan's own and never shown.

mod error;
mod exhausted;
mod frame;
mod planned;
mod presence;
pub mod restriction;
mod rows;
pub mod scan;
mod session;
mod source;
pub mod stream;
mod type_erased;

pub use error::Error;
pub use frame::{Formats, Frame, FrameColumn, column, null, projection};
pub use planned::{FieldFilter, Message, MessageKind, MessageLog, OutputColumn, ResultKind};
pub use presence::Presence;
pub use restriction::Restriction;
pub use rows::{Column, Record, Rows, batch_bytes, collected, filtered};
pub use session::weight;
pub use session::{
    MemoryRoom, PlanningTime, SearchMemory, Session, SessionSettings, Waiting, over_parts,
};
pub use source::{EmptySource, EventSource, EventsRequest, FieldInfo, MetadataKind, SourceField};
pub use type_erased::TypeErased;
