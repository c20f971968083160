//! The trees of `chart` and `timechart`, and the bins they share with `bin`.
//!
//! Guarantees: spans and limits are typed. Leaves to others: default spans, and the choice of
//! the series that a limit keeps.

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
    /// How many units, at least one.
    pub count: u64,
    /// The unit.
    pub unit: TimeUnit,
    /// What follows `@`: `d`, `w1`.
    pub snap: Option<String>,
}

/// The width of a bin.
#[derive(Debug, Clone, PartialEq)]
pub enum BinSpan {
    /// `span=5m`.
    Time(TimeSpan),
    /// `span=10`, exact text of a number above 0.
    Number(String),
    /// `span=2log10`; both exact texts, `1` and `10` when left out.
    Log {
        /// The factor.
        coefficient: String,
        /// The base, above 1.
        base: String,
    },
}

/// How a field is cut into bins.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BinOptions {
    /// `span=`.
    pub span: Option<BinSpan>,
    /// `minspan=`.
    pub minspan: Option<BinSpan>,
    /// `bins=`: at most so many.
    pub bins: Option<u64>,
    /// `start=`, exact text of a number.
    pub start: Option<String>,
    /// `end=`, exact text of a number.
    pub end: Option<String>,
    /// `aligntime=`: `earliest`, `latest`, or a time.
    pub aligntime: Option<String>,
}

/// Which series `limit=` keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesLimit {
    /// `limit=5`, `limit=top5`; 0 keeps all.
    Top(u64),
    /// `limit=bottom5`.
    Bottom(u64),
}

/// What happens with the series a split makes.
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
    /// `sep=`: between aggregation and series in column names.
    pub sep: Option<String>,
    /// `format=`: a template of column names, `$AGG$` and `$VAL$`.
    pub format: Option<String>,
    /// `agg=`: the call that scores series for the limit, as written.
    pub agg: Option<StatsCall>,
    /// `cont=`: whether empty bins are shown (default true).
    pub cont: Option<bool>,
    /// `dedup_splitvals=`: a repeated value of a multivalue split field counts once.
    pub dedup_splitvals: bool,
}

/// A field that splits rows or series, with its bins.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitBy {
    /// The field.
    pub field: Field,
    /// Its bins.
    pub bins: BinOptions,
}

/// `where sum in top10`, `where count > 5`: which series are kept.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitWhere {
    /// The score of a series; without argument it is of the charted field.
    pub call: StatsCall,
    /// What the score must satisfy.
    pub condition: SplitWhereCondition,
    /// The place of the clause.
    pub span: Span,
}

/// The condition of a [`SplitWhere`].
#[derive(Debug, Clone, PartialEq)]
pub enum SplitWhereCondition {
    /// `in top5`, `notin bottom3`.
    In {
        /// The best or worst of how many.
        limit: SeriesLimit,
        /// Whether `notin` was written.
        negated: bool,
    },
    /// `> 5`; exact text of the number.
    Compare(ComparisonOperator, String),
}
