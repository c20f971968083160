//! The trees of the stats family: `stats`, `eventstats`, `streamstats`, `tstats`.
//!
//! Guarantees: functions are known and their parameters in range; a call keeps its own text,
//! because results are named after it. Leaves to others: aggregation, and wildcard expansion.

use super::{BinSpan, Expr, FieldPattern, Span, Spanned, StatsKind, TimeSpan};

/// One aggregation: `sum(bytes) AS total`.
#[derive(Debug, Clone, PartialEq)]
pub struct StatsCall {
    /// The function.
    pub function: StatsFunction,
    /// What it aggregates.
    pub argument: StatsArgument,
    /// The name after `AS`; holds `*` where the argument does.
    pub alias: Option<Spanned<String>>,
    /// The call as written, without the alias: `count(eval(status=404))`.
    pub text: String,
    /// The place of the call, alias included.
    pub span: Span,
}

impl StatsCall {
    /// The name of the result column (a pattern if the argument is one): the alias, else the text
    /// of the call; plain counts are `count` however they are written.
    pub fn output_name(&self) -> &str {
        match (&self.alias, &self.argument) {
            (Some(alias), _) => &alias.node,
            (None, StatsArgument::None) if self.function.kind == StatsKind::Count => "count",
            (None, _) => &self.text,
        }
    }
}

/// The field that stands for an aggregation inside an expression over aggregations.
pub fn aggregation_name(place: usize) -> String {
    format!("__aggregation{place}")
}

/// What an aggregation works on.
#[derive(Debug, Clone, PartialEq)]
pub enum StatsArgument {
    /// Nothing: `count`, or another function without argument, which means all fields (`*`).
    None,
    /// A field or a wildcard pattern.
    Field(FieldPattern),
    /// `eval(...)`.
    Eval(Expr),
    /// What stands in `eval(sum(a) / count)`: an expression over aggregations.
    Over {
        /// The expression; the aggregation at place `n` is the field [`aggregation_name`] of `n`.
        expr: Expr,
        /// The aggregations in it, at least one, none of them with an alias.
        calls: Vec<StatsCall>,
    },
    /// `PREFIX(x=)`, of `tstats` only.
    Prefix(Spanned<String>),
    /// The inside of `sparkline(avg(x), 1h)`.
    Sparkline {
        /// The aggregation per step; `None` counts events.
        call: Option<Box<StatsCall>>,
        /// The step.
        step: Option<TimeSpan>,
    },
}

/// An aggregation function with its parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatsFunction {
    /// Which one.
    pub kind: StatsKind,
    /// The percentile of [`StatsKind::Percentile`] and its variants, exact text: `95`, `99.9`.
    pub parameter: Option<String>,
    /// The name as written, parameter included: `p95`, `distinct_count`.
    pub name: Spanned<String>,
}

impl StatsFunction {
    /// The percentile, between 0 and 100.
    pub fn percent(&self) -> Option<f64> {
        self.parameter.as_deref()?.parse().ok()
    }
}

/// The fields after `BY`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StatsBy {
    /// The fields; may hold wildcards in `stats` and `tstats`.
    pub fields: Vec<FieldPattern>,
    /// `span=` after `_time`.
    pub span: Option<BinSpan>,
    /// `PREFIX(x=)` group keys of `tstats`: index into `fields` of each field that is a prefix.
    pub prefixes: Vec<usize>,
}

impl StatsBy {
    /// Whether nothing is grouped by.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }
}
