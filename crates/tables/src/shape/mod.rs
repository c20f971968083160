//! Rows of other shapes: columns from values, values from columns, one row of several.

pub mod geostats;
pub mod mvcombine;
pub mod reshape;
pub mod selfjoin;
pub mod totals;
pub mod transaction;
