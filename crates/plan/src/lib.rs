//! SPL as a query plan: text in, DataFusion stages out, over an abstract source of events.
//!
//! Guarantees: the rows of a planned search do not depend on how its source splits events into
//! batches and partitions; every search has a defined row order; nothing is cut without a message.
//! It leaves to others where events lie and how they are scanned ([`EventSource`], implemented by
//! `search`), when stages run (the caller of [`execute`]), and the text of SPL (`spl`).
//!
//! ```text
//! text -> spl tree -> Frame over source columns -> LogicalPlan           (stage 1, streams)
//!                                        | pivot, transpose, ... -> rows (bounded)
//!                                        '-> Frame over those rows -> LogicalPlan (stage 2) ...
//! ```
//!
//! Every field of a frame is one Arrow type, decided when planning: source fields are text or lists
//! of text, computed ones may be numbers. Field names are case-sensitive and hold any character,
//! so nothing here goes through SQL identifier parsing. Columns whose name starts with `__` are the
//! plan's own and never shown.

pub mod aggregates;
mod arguments;
mod bins;
mod bounded;
mod commands;
mod compact;
mod depth;
mod empty;
mod error;
mod event_types;
mod execute;
pub mod expr;
mod filters;
mod formats;
mod frame;
pub mod functions;
mod host;
mod indexes;
mod json;
mod ledger;
mod limits;
mod lines;
mod lookup;
mod macros;
mod memory;
mod order;
mod outline;
mod parts;
mod pipeline;
mod place;
mod planned;
mod planning;
pub mod predicate;
mod projections;
mod range;
mod required_fields;
mod restriction;
pub mod rights;
mod rules;
mod session;
mod slices;
mod source;
mod sql;
mod sql_text;
mod stage;
mod stream;
mod subsearch;
mod tables;
mod type_erased;
pub mod types;
mod xml;

pub use arguments::{AggregateCall, Arguments};
pub use commands::place_of;
pub use empty::EmptySource;
pub use error::Error;
pub use eval::value;
pub use execute::{Completed, OnBatch, Stage, Watch, batch_bytes, execute, execute_watched};
pub use host::{
    Action, CollectedEvent, EventsOnly, Host, Location, LookupSource, LookupWrite, RestRequest,
};
pub use limits::Limits;
pub use macros::Macros;
pub use memory::{MemoryRoom, SearchMemory};
pub use outline::{CommandPlace, Outline, OutlinedCommand, outline};
pub use parts::{FieldPart, part_of};
pub use pipeline::plan_search;
pub use place::{Origin, Place, TwoStep};
pub use planned::{
    FieldFilter, Message, MessageKind, MessageLog, OutputColumn, PlanContext, PlannedSearch,
    ResultKind,
};
pub use planning::{PlanningTime, Waiting};
pub use restriction::Restriction;
pub use session::{Session, SessionSettings};
pub use source::{EventSource, EventsRequest, FieldInfo, MetadataKind, SourceField};
pub use spl::ast::{ComparisonOperator, PatternPart as WordPattern, SearchPattern};
pub use spl::{CommandKind, Suggestion, complete};
pub use sql::{NoSql, SqlText};
pub use sql_text::sql_text;
pub use stage::{Column, Record, Rows};
pub use subsearch::Subsearches;
pub use type_erased::TypeErased;
pub use types::{ArrowType, ValueType};
