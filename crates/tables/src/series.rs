//! Series: rows in the order of time, and what is before, between and behind them.

pub mod localize;
pub mod makecontinuous;
pub mod predict;
pub mod timewrap;
pub mod trendline;
pub mod x11;
