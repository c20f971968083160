//! Values of SPL, and expressions over them for one event at a time.
//!
//! ```text
//!                 spl::Expr
//!                 /       \
//!   interpret: one event   exprs: columns of a search
//!                 \       /
//!                 functions: Kernel(Row) -> value
//! ```
//!
//! Guarantees: there is one library of values, comparisons and functions. Rules that run on events as they
//! arrive and macros use it ([`Expression`]), and so does `exprs`, which wraps each function for columns; a
//! test in `exprs` compares both for every function. Pure: no I/O, no clock of its own. Leaves to others: the
//! syntax (`spl`) and columns (`exprs`).

mod cached;
pub mod functions;
pub mod fuzzing;
mod interpret;
mod json_scan;
mod json_tree;
mod kernel;
pub mod operators;
mod pattern;
mod row;
mod sed;
pub mod tabular;
pub mod time;
pub mod value;
pub mod xml;

pub use cached::{Cached, Compiled};
pub use functions::{Function, Network, Networks, json};
pub use interpret::{Expression, Scope};
pub use json_tree::JsonTree;
pub use kernel::{IntegerKernel, Kernel, MultiKernel, NumberKernel, TextKernel, TruthKernel};
pub use pattern::{Groups, Pattern};
pub use row::{Environment, LONGEST_TEXT, Row, Several, TextSink};
pub use sed::Sed;
pub use value::{Datum, Value, ValueType};
