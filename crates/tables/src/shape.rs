//! Commands that change the shape of a table: columns from values, values from columns, several rows merged
//! into one.

pub mod geostats;
pub mod join;
pub mod mvcombine;
pub mod reshape;
pub mod selfjoin;
pub mod set;
pub mod totals;
pub mod transaction;
