//! The trees of `chart` and `timechart`, and the bins they share with `bin`.
//!
//! Guarantees: spans and limits are typed. Leaves to others: default spans, and choosing the series that a
//! limit keeps.

use super::{ComparisonOperator, Field, Span, StatsCall};

/// A unit of time in spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "units name themselves")]
pub enum TimeUnit {
    Microsecond,
    Millisecond,
    Centisecond,
    Decisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

/// `15m`, `1mon`, `7d@w1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeSpan {
    /// Number of units, at least one.
    pub count: u64,
    /// The unit.
    pub unit: TimeUnit,
    /// The snap unit after `@`: `d`, `w1`.
    pub snap: Option<String>,
}

/// The width of a bin.
#[derive(Debug, Clone, PartialEq)]
pub enum BinSpan {
    /// `span=5m`.
    Time(TimeSpan),
    /// `span=10`, exact text of a number above 0.
    Number(String),
    /// `span=2log10`; the texts of both numbers, `1` and `10` if left out.
    Log {
        /// The factor.
        coefficient: String,
        /// The base, above 1.
        base: String,
    },
}

/// How the values of a field are grouped into bins.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BinOptions {
    /// `span=`.
    pub span: Option<BinSpan>,
    /// `minspan=`.
    pub minspan: Option<BinSpan>,
    /// `bins=`: maximum number of bins.
    pub bins: Option<u64>,
    /// `start=`, exact text of a number.
    pub start: Option<String>,
    /// `end=`, exact text of a number.
    pub end: Option<String>,
    /// `aligntime=`: `earliest`, `latest`, or a time.
    pub aligntime: Option<String>,
}

/// The series that `limit=` keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesLimit {
    /// `limit=5`, `limit=top5`; 0 keeps all.
    Top(u64),
    /// `limit=bottom5`.
    Bottom(u64),
}

/// Options for the series that result from a split.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SeriesOptions {
    /// `limit=` (default top 10).
    pub limit: Option<SeriesLimit>,
    /// `useother=` (default true).
    pub useother: Option<bool>,
    /// `usenull=` (default true).
    pub usenull: Option<bool>,
    /// `otherstr=` (default `OTHER`).
    pub otherstr: Option<String>,
    /// `nullstr=` (default `NULL`).
    pub nullstr: Option<String>,
    /// `sep=`: separator between aggregation and series in column names.
    pub sep: Option<String>,
    /// `format=`: template of column names with `$AGG$` and `$VAL$`.
    pub format: Option<String>,
    /// `agg=`: the aggregation that ranks series for the limit, as written.
    pub agg: Option<StatsCall>,
    /// `cont=`: whether empty bins are shown (default true).
    pub cont: Option<bool>,
    /// `dedup_splitvals=`: whether a repeated value of a multivalue split field counts once.
    pub dedup_splitvals: bool,
}

/// A field whose values split the results into rows or series, with its bins.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitBy {
    /// The field.
    pub field: Field,
    /// Its bins.
    pub bins: BinOptions,
}

/// `where sum in top10`, `where count > 5`: the series that are kept.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitWhere {
    /// The aggregation that ranks a series; without an argument, it aggregates the charted field.
    pub call: StatsCall,
    /// The condition on its result.
    pub condition: SplitWhereCondition,
    /// The position of the clause.
    pub span: Span,
}

/// The condition of a [`SplitWhere`].
#[derive(Debug, Clone, PartialEq)]
pub enum SplitWhereCondition {
    /// `in top5`, `notin bottom3`.
    In {
        /// Number of series, and whether they are the highest or the lowest ones.
        limit: SeriesLimit,
        /// Whether `notin` was written.
        negated: bool,
    },
    /// `> 5`, with the text of the number.
    Compare(ComparisonOperator, String),
}
