//! What commands of SPL are planned against: the searched events, lookups, macros, event types, rights and
//! stages.
//!
//! Guarantees: nothing here knows a command, so that an edit of a command does not compile it again. Who
//! plans a pipeline inside of a command, such as the one of `append`, is a [`planning::Planner`] that `plan`
//! implements. It leaves to others how a frame becomes a plan (`frames`), expressions (`exprs`), what
//! commands make of all rows (`tables`), and where events lie: an [`frames::EventSource`] that `search`
//! implements.
//!
//! Modules use only those below them:
//!
//! ```text
//! stage, subsearch, event_types       what commands share
//! run                                 rows of plans
//! planning                            what commands are planned against; stages
//! lookup, rights, indexes, range      what a search asks of its context
//! plan_context                        where events are, who asks
//! host, stanzas                       the outside; which stanzas apply to events
//! compiled_lookup, limits, macros,    what needs none of these
//! place, placeholders, renames, sql
//! ```

pub mod compiled_lookup;
pub mod event_types;
pub mod host;
pub mod indexes;
pub mod limits;
pub mod lookup;
pub mod macros;
pub mod place;
pub mod placeholders;
pub mod plan_context;
pub mod planning;
pub mod range;
pub mod renames;
pub mod rights;
pub mod run;
pub mod sql;
pub mod stage;
pub mod stanzas;
pub mod subsearch;
