//! The arguments of a command, as clients of the parser read them.

use spl::ast::{StatsArgument, StatsCall};

/// Arguments of a command, as clients of the parser read them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arguments {
    /// Of a filter.
    Search(String),
    /// Aggregations and what they are grouped by.
    Stats {
        /// Each aggregation.
        calls: Vec<AggregateCall>,
        /// Fields of the groups.
        by: Vec<String>,
    },
    /// Aggregations over time.
    Timechart {
        /// Each aggregation.
        calls: Vec<AggregateCall>,
        /// The field that makes series.
        series: Option<String>,
    },
    /// The most or least frequent values.
    Top {
        /// How many.
        limit: u64,
        /// Whether the count is shown.
        showcount: bool,
        /// Whether the share is shown.
        showperc: bool,
        /// The field of the count.
        countfield: String,
        /// The field of the share.
        percentfield: String,
        /// The fields.
        fields: Vec<String>,
    },
    /// Of any other command, as text.
    Text(String),
}

/// An aggregation as clients of the parser read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AggregateCall {
    /// The function.
    pub function: String,
    /// The field it is of.
    pub field: Option<String>,
    /// The field of the result.
    pub rename: String,
}

/// An aggregation as clients of the parser read it.
pub(crate) fn aggregate_call(call: &StatsCall) -> AggregateCall {
    let field = match &call.argument {
        StatsArgument::Field(pattern) => Some(pattern.text.clone()),
        StatsArgument::Eval(expr) => Some(format!("eval({expr})")),
        _ => None,
    };
    let function = call.function.name.node.to_ascii_lowercase();
    AggregateCall { function, field, rename: call.output_name().to_owned() }
}
