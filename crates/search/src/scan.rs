//! The leaf of every plan: rows of hot and stored buckets, pruned, filtered, with their fields.
//!
//! ```text
//! table (what to read) -> prune (which buckets) -> queue (pieces) -> exec (partitions) -> rows
//!                                                    wanted: what a sort above still wants
//!                                                    direction: newest or oldest rows first
//!                                                    slice: parts of a partition, for previews
//!                                                    count, counted: rows that need not be read
//!                                                    unit: open, candidates, read
//!                                                    hot: granules of hot rows, by their words
//!                                                    work: shortcut (filters on stored columns)
//!                                                          -> ready columns -> filter -> extract
//!                                                          -> filter -> count -> output
//!                                                    selectivity: whether small columns are tested first
//!                                                    typed: what a plan takes of columns: parts, keys
//!                                                    pushed, computed: values that the plan computes
//!                                                    passed, known: rows that pass filters, values;
//!                                                    remembered
//! ```
//!
//! Guarantees: every event of the request that passes the filters comes out once; pruning removes only
//! events that the filters would reject; the counters of the job's report add up.
//!
//! Reasons are in docs/decisions: exact filters (3), parts and keys of columns (8), row tests (9).

mod computed;
mod conversion;
mod count;
mod counted;
mod direction;
mod exec;
mod fields;
mod hot;
mod keys;
mod known;
mod passed;
mod prune;
mod pushed;
mod queue;
mod selectivity;
mod shortcut;
mod slice;
mod stale;
mod table;
mod typed;
mod unit;
mod wanted;
mod work;

use model::columns;

pub(crate) use counted::CountBySummary;
pub(crate) use direction::OldestFirst;
pub(crate) use exec::BucketScanExec;
pub(crate) use fields::{added_to, discover, each_sent, present_in, sourcetypes_of};
pub(crate) use passed::{ComputedValues, PassedRows};
pub(crate) use prune::index_expression;
pub(crate) use pushed::ComputedInScans;
pub(crate) use slice::Slices;
pub(crate) use table::{Ahead, EventsTable, ScanContext, Share};
pub(crate) use typed::TypedColumns;

/// The columns that every event has. A bucket stores them first, but for `index`, as all its events have the
/// same.
pub(crate) const FIXED: [&str; 7] = columns::ALL;
