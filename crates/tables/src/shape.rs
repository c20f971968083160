//! Rows of other shapes: columns from values, values from columns, one row of several.

pub mod geostats;
pub mod join;
pub mod mvcombine;
pub mod reshape;
pub mod selfjoin;
pub mod set;
pub mod totals;
pub mod transaction;
