//! The trees of the stats family: `stats`, `eventstats`, `streamstats`, `tstats`.
//!
//! Guarantees: functions are known and their parameters in range; a call keeps its own text, because results
//! are named after it. Leaves to others: aggregation, and expansion of wildcards.

use super::{BinSpan, Expr, FieldPattern, Span, Spanned, StatsKind, TimeSpan};

/// One aggregation: `sum(bytes) AS total`.
#[derive(Debug, Clone, PartialEq)]
pub struct StatsCall {
    /// The function.
    pub function: StatsFunction,
    /// The argument that it aggregates.
    pub argument: StatsArgument,
    /// The name after `AS`; it contains `*` if the argument does.
    pub alias: Option<Spanned<String>>,
    /// The call as written, without its alias: `count(eval(status=404))`.
    pub text: String,
    /// The position of the call, including its alias.
    pub span: Span,
}

impl StatsCall {
    /// Returns the name of the result column (a pattern if the argument is one): the alias, else the text of
    /// the call. A count without an argument is always named `count`.
    pub fn output_name(&self) -> &str {
        match (&self.alias, &self.argument) {
            (Some(alias), _) => &alias.node,
            (None, StatsArgument::None) if self.function.kind == StatsKind::Count => "count",
            (None, _) => &self.text,
        }
    }
}

/// Returns the name of the field that stands for an aggregation in an expression over aggregations.
pub fn aggregation_name(place: usize) -> String {
    format!("__aggregation{place}")
}

/// The argument of an aggregation.
#[derive(Debug, Clone, PartialEq)]
pub enum StatsArgument {
    /// No argument: `count`, or another function, which then aggregates all fields (`*`).
    None,
    /// A field or a wildcard pattern.
    Field(FieldPattern),
    /// `eval(...)`.
    Eval(Expr),
    /// The content of `eval(sum(a) / count)`: an expression over aggregations.
    Over {
        /// The expression; in it, the field [`aggregation_name`] of `n` stands for aggregation `n`.
        expr: Expr,
        /// Its aggregations, at least one; none has an alias.
        calls: Vec<StatsCall>,
    },
    /// `PREFIX(x=)`, of `tstats` only.
    Prefix(Spanned<String>),
    /// The content of `sparkline(avg(x), 1h)`.
    Sparkline {
        /// The aggregation per step; `None` is `count`.
        call: Option<Box<StatsCall>>,
        /// The length of a step.
        step: Option<TimeSpan>,
    },
}

/// An aggregation function with its parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatsFunction {
    /// The kind of the function.
    pub kind: StatsKind,
    /// The percentile of [`StatsKind::Percentile`] and its variants, as text: `95`, `99.9`.
    pub parameter: Option<String>,
    /// The name as written, including the parameter: `p95`, `distinct_count`.
    pub name: Spanned<String>,
}

impl StatsFunction {
    /// Returns the percentile, between 0 and 100.
    pub fn percent(&self) -> Option<f64> {
        self.parameter.as_deref()?.parse().ok()
    }
}

/// The fields after `BY`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StatsBy {
    /// The fields; in `stats` and `tstats` they may contain wildcards.
    pub fields: Vec<FieldPattern>,
    /// `span=` after `_time`.
    pub span: Option<BinSpan>,
    /// `span=auto`: the planner chooses the span.
    pub auto_span: bool,
    /// `PREFIX(x=)` group keys of `tstats`: indexes into `fields` of the fields that are prefixes.
    pub prefixes: Vec<usize>,
}

impl StatsBy {
    /// Returns whether there are no group keys.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Returns whether there is a `span=`.
    pub fn has_span(&self) -> bool {
        self.auto_span || self.span.is_some()
    }
}
