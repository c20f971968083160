//! The arguments of a command, as clients of the parser read them.

use spl::ast::{StatsArgument, StatsCall};

/// Arguments of a command, as clients of the parser read them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arguments {
    /// The arguments of a filter.
    Search(String),
    /// Aggregations and their group fields.
    Stats {
        /// The aggregations.
        calls: Vec<AggregateCall>,
        /// The group fields.
        by: Vec<String>,
    },
    /// Aggregations over time.
    Timechart {
        /// The aggregations.
        calls: Vec<AggregateCall>,
        /// The split field.
        series: Option<String>,
    },
    /// The most or least frequent values.
    Top {
        /// Maximum number of values.
        limit: u64,
        /// Whether the count is shown.
        showcount: bool,
        /// Whether the percentage is shown.
        showperc: bool,
        /// Name of the count field.
        countfield: String,
        /// Name of the percentage field.
        percentfield: String,
        /// The fields.
        fields: Vec<String>,
    },
    /// The arguments of any other command, as text.
    Text(String),
}

/// An aggregation as clients of the parser read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AggregateCall {
    /// The function.
    pub function: String,
    /// The aggregated field.
    pub field: Option<String>,
    /// The name of the result field.
    pub rename: String,
}

/// Converts an aggregation for clients of the parser.
pub(crate) fn aggregate_call(call: &StatsCall) -> AggregateCall {
    let field = match &call.argument {
        StatsArgument::Field(pattern) => Some(pattern.text.clone()),
        StatsArgument::Eval(expr) => Some(format!("eval({expr})")),
        _ => None,
    };
    let function = call.function.name.node.to_ascii_lowercase();
    AggregateCall { function, field, rename: call.output_name().to_owned() }
}
