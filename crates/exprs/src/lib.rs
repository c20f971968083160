//! Expressions, filters and aggregates of SPL as DataFusion expressions and functions over columns.
//!
//! Guarantees: a null operand gives null, `AND`, `OR` and `NOT` are three-valued, an unknown field is null;
//! results do not depend on how events are split into batches and partitions; literal regular expressions and
//! time formats are compiled once, during planning. Values and the functions of one row are left to `eval`;
//! values of arrays and bins to `tables`; syntax to `spl`; commands, pipelines, frames, sessions and external
//! services to `plan`: an expression accesses these through its [`Scope`].
//!
//! ```text
//!            compile: AST -> Typed      aggregates: stats functions      top
//!         identity: filters that later searches recognize
//!      by_origin: many filters
//!         predicate: filters   operators   order
//!      convert: types, precision  compare  udf: functions of eval
//!            kernel: closures as DataFusion functions   parts
//!      column: arguments, rows   compact   typed   scope   report   ledger: memory   stopping     bottom
//! ```

pub mod aggregates;
pub mod by_origin;
pub mod carried;
pub mod column;
pub mod compact;
mod compare;
pub mod compile;
mod convert;
mod error;
pub mod identity;
pub mod kernel;
pub mod leaf;
pub mod ledger;
mod literal;
mod membership;
mod operators;
pub mod order;
mod parts;
pub mod pass_through;
mod pattern;
pub mod predicate;
pub mod present;
pub mod repeated;
mod report;
pub mod required_fields;
mod scope;
pub mod split;
pub mod stopping;
mod typed;
pub mod types;
mod udf;

pub use compare::{ColumnComparison, column_comparison};
pub use compile::compile;
pub use error::Error;
pub use parts::{FieldPart, part_of};
pub use pattern::Pattern;
pub use report::Report;
pub use scope::{AskedLookup, Scope};
pub use typed::Typed;
