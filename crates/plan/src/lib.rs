//! SPL as a query plan: text in, DataFusion stages out, over an abstract source of events.
//!
//! Guarantees: the rows of a planned search do not depend on how its source splits events into
//! batches and partitions; every search has a defined row order; nothing is cut without a message.
//! It leaves to others where events lie and how they are scanned ([`EventSource`], implemented by
//! `search`), when stages run (the caller of [`execute`]), what commands are planned against (`context`),
//! what they make of all rows at once (`tables`), how a plan is built and run by the engine (`frames`),
//! and the text of SPL (`spl`).
//!
//! ```text
//! text -> spl tree -> Frame over source columns -> LogicalPlan           (stage 1, streams)
//!                                        | pivot, transpose, ... -> rows (bounded)
//!                                        '-> Frame over those rows -> LogicalPlan (stage 2) ...
//! ```
//!
//! Modules use only those below them; what commands need of the planner above them is in
//! `context::planning`:
//!
//! ```text
//! shown, sql_table                    fields of events that are looked at; columns of SQL
//! pipeline, execute, report           all commands: planning, running, outline and SQL
//! commands                            one file each
//! arguments                           arguments of a command, for clients of the parser
//! ```
//!
//! Every field of a frame is one Arrow type, decided when planning: source fields are text or lists
//! of text, computed ones may be numbers. Field names are case-sensitive and hold any character,
//! so nothing here goes through SQL identifier parsing.

mod arguments;
mod commands;
mod execute;
mod pipeline;
mod report;
mod shown;
mod sql_table;

pub use arguments::{AggregateCall, Arguments};
pub use commands::{check_calculated_field, place_of};
pub use context::compiled_lookup::CompiledLookups;
pub use context::event_types::check_event_type;
pub use context::host::{
    Action, CollectedEvent, EventsOnly, Host, Location, LookupQuestion, LookupSource, LookupWrite,
    ProgramSession, RestRequest, ScriptRequest, SessionRequest,
};
pub use context::limits::Limits;
pub use context::macros::Macros;
pub use context::place::{Origin, Place, TwoStep};
pub use context::placeholders::fill_placeholders;
pub use context::plan_context::PlanContext;
pub use context::planning::{
    Completed, InnerSearch, LookedUp, OnBatch, PlanOf, PlannedSearch, Stage, Subsearches, Watch,
};
pub use context::renames::excluding_renamed;
pub use context::rights;
pub use context::sql::{NoSql, SqlText};
pub use context::subsearch::check as check_syntax;
pub use eval::value;
pub use execute::{execute, execute_from, execute_watched};
pub use exprs::types::{ArrowType, ValueType};
pub use frames::stream::HeadWhile;
pub use frames::{
    Column, EmptySource, Error, EventSource, EventsRequest, FieldFilter, FieldInfo, MemoryRoom,
    Message, MessageKind, MessageLog, MetadataKind, OutputColumn, PlanningTime, Record,
    Restriction, ResultKind, Rows, SearchMemory, Session, SessionSettings, SourceField, TypeErased,
    Waiting, batch_bytes, collected, over_parts,
};
pub use pipeline::depth::check_sql as check_sql_depth;
pub use pipeline::{plan_after, plan_inner, plan_search, plan_search_watched};
pub use report::{CommandPlace, Outline, OutlinedCommand, outline, sql_text};
pub use shown::{ShownFields, ShownPlan, shown_fields};
pub use spl::ast::{ComparisonOperator, PatternPart as WordPattern, SearchPattern};
pub use spl::{
    CommandKind, CustomCommands, Suggestion, begins_with_command, complete, with_implied_search,
    with_pipe, without_leading_comments,
};
pub use sql_table::{OpenEvents, SqlColumns, SqlLogs, sql_table};
