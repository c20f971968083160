//! Time series: commands that relate rows in time order to their predecessors and successors.

pub mod localize;
pub mod makecontinuous;
pub mod predict;
pub mod timewrap;
pub mod trendline;
pub mod x11;
