//! The registry of aggregation functions.
//!
//! Guarantees: one entry per function; parser, completion and documents read it. Leaves to others: the
//! implementation of the functions.

/// The aggregation functions; aliases have no variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "named after the functions; `STATS_FUNCTIONS` describes them")]
pub enum StatsKind {
    /// `eval(...)`: an expression over aggregations.
    Eval,
    /// `count`, `c`.
    Count,
    /// `dc`, `distinct_count`.
    DistinctCount,
    /// `estdc`.
    EstimatedDistinctCount,
    /// `estdc_error`.
    EstimatedDistinctCountError,
    Sum,
    /// `sumsq`.
    SumOfSquares,
    /// `avg`, `mean`.
    Average,
    Min,
    Max,
    Range,
    /// `stdev`: of a sample.
    StandardDeviation,
    /// `stdevp`: of a population.
    StandardDeviationPopulation,
    /// `var`: of a sample.
    Variance,
    /// `varp`: of a population.
    VariancePopulation,
    Median,
    Mode,
    /// `perc<N>`, `p<N>`.
    Percentile,
    /// `upperperc<N>`.
    UpperPercentile,
    /// `exactperc<N>`.
    ExactPercentile,
    Values,
    List,
    First,
    Last,
    Earliest,
    Latest,
    EarliestTime,
    LatestTime,
    Rate,
    /// `rate_avg`, only in `mstats`.
    RateAverage,
    /// `rate_sum`, only in `mstats`.
    RateSum,
    Sparkline,
    /// `per_second`, only in `timechart`.
    PerSecond,
    PerMinute,
    PerHour,
    PerDay,
}

/// The registry entry of an aggregation function.
#[derive(Debug, Clone, Copy)]
pub struct StatsFunctionDefinition {
    /// The kind of the function.
    pub kind: StatsKind,
    /// The registered name, in lower case, without the parameter.
    pub name: &'static str,
    /// Aliases of the name.
    pub aliases: &'static [&'static str],
    /// Whether the name ends with a number: `perc95`.
    pub parameter: bool,
    /// Whether the field may be left out.
    pub argument_optional: bool,
    /// Whether only `chart` and `timechart` support it.
    pub chart_only: bool,
    /// Whether only `mstats` supports it.
    pub metrics_only: bool,
    /// A one-line description.
    pub summary: &'static str,
}

const fn function(
    kind: StatsKind,
    name: &'static str,
    summary: &'static str,
) -> StatsFunctionDefinition {
    StatsFunctionDefinition {
        kind,
        name,
        aliases: &[],
        parameter: false,
        argument_optional: false,
        chart_only: false,
        metrics_only: false,
        summary,
    }
}

impl StatsFunctionDefinition {
    const fn or(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    const fn with_parameter(mut self) -> Self {
        self.parameter = true;
        self
    }

    const fn argument_optional(mut self) -> Self {
        self.argument_optional = true;
        self
    }

    const fn chart_only(mut self) -> Self {
        self.chart_only = true;
        self
    }

    const fn metrics_only(mut self) -> Self {
        self.metrics_only = true;
        self
    }
}

/// Returns the function with this lower-case name, and the parameter in the name.
pub fn find(name: &str) -> Option<(&'static StatsFunctionDefinition, Option<&str>)> {
    let exact = STATS_FUNCTIONS.iter().find(|function| {
        !function.parameter && (function.name == name || function.aliases.contains(&name))
    });
    if let Some(function) = exact {
        return Some((function, None));
    }
    let digits = name.find(|c: char| c.is_ascii_digit())?;
    let (stem, parameter) = name.split_at(digits);
    let is_number = parameter.chars().all(|c| c.is_ascii_digit() || c == '.');
    STATS_FUNCTIONS
        .iter()
        .find(|function| {
            is_number
                && function.parameter
                && (function.name == stem || function.aliases.contains(&stem))
        })
        .map(|function| (function, Some(parameter)))
}

/// Returns whether a lower-case name is that of a function whose number is missing: `perc`.
pub(crate) fn lacks_number(name: &str) -> bool {
    let is_meant = |function: &StatsFunctionDefinition| {
        function.parameter && (function.name == name || function.aliases.contains(&name))
    };
    STATS_FUNCTIONS.iter().any(is_meant)
}

/// Iterates over all names, including aliases, without parameters.
pub fn names() -> impl Iterator<Item = &'static str> {
    STATS_FUNCTIONS
        .iter()
        .flat_map(|function| std::iter::once(function.name).chain(function.aliases.iter().copied()))
}

/// All aggregation functions.
pub const STATS_FUNCTIONS: &[StatsFunctionDefinition] = &[
    function(StatsKind::Average, "avg", "the mean of the numbers").or(&["mean"]),
    function(StatsKind::Count, "count", "number of events, or of values of a field")
        .or(&["c"])
        .argument_optional(),
    function(StatsKind::DistinctCount, "dc", "number of distinct values").or(&["distinct_count"]),
    function(StatsKind::Earliest, "earliest", "the value with the smallest time"),
    function(StatsKind::EarliestTime, "earliest_time", "the time of the earliest value"),
    function(StatsKind::EstimatedDistinctCount, "estdc", "estimated number of distinct values"),
    function(StatsKind::EstimatedDistinctCountError, "estdc_error", "estimated error of estdc"),
    function(StatsKind::ExactPercentile, "exactperc", "a percentile, exact").with_parameter(),
    function(StatsKind::First, "first", "the first value seen"),
    function(StatsKind::Last, "last", "the last value seen"),
    function(StatsKind::Latest, "latest", "the value with the largest time"),
    function(StatsKind::LatestTime, "latest_time", "the time of the latest value"),
    function(StatsKind::List, "list", "all values in order, up to a limit"),
    function(StatsKind::Max, "max", "the largest value"),
    function(StatsKind::Median, "median", "the middle value"),
    function(StatsKind::Min, "min", "the smallest value"),
    function(StatsKind::Mode, "mode", "the most frequent value"),
    function(StatsKind::PerDay, "per_day", "the sum per day").chart_only(),
    function(StatsKind::PerHour, "per_hour", "the sum per hour").chart_only(),
    function(StatsKind::PerMinute, "per_minute", "the sum per minute").chart_only(),
    function(StatsKind::PerSecond, "per_second", "the sum per second").chart_only(),
    function(StatsKind::Percentile, "perc", "a percentile")
        .or(&["p", "percentile"])
        .with_parameter(),
    function(StatsKind::Range, "range", "the largest minus the smallest number"),
    function(StatsKind::Rate, "rate", "the change of a counter per second"),
    function(StatsKind::RateAverage, "rate_avg", "the mean of the rates of several counters")
        .metrics_only(),
    function(StatsKind::RateSum, "rate_sum", "the sum of the rates of several counters")
        .metrics_only(),
    function(StatsKind::Sparkline, "sparkline", "values over time as a small chart")
        .argument_optional(),
    function(StatsKind::StandardDeviation, "stdev", "the standard deviation of a sample"),
    function(
        StatsKind::StandardDeviationPopulation,
        "stdevp",
        "the standard deviation of a population",
    ),
    function(StatsKind::Sum, "sum", "the sum of the numbers"),
    function(StatsKind::SumOfSquares, "sumsq", "the sum of the squares"),
    function(StatsKind::UpperPercentile, "upperperc", "a percentile, bounded from above")
        .with_parameter(),
    function(StatsKind::Values, "values", "the distinct values, sorted as text"),
    function(StatsKind::Variance, "var", "the variance of a sample"),
    function(StatsKind::VariancePopulation, "varp", "the variance of a population"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_carry_their_number() {
        let found = |name| find(name).map(|(function, parameter)| (function.name, parameter));
        assert_eq!(found("p95"), Some(("perc", Some("95"))));
        assert_eq!(found("exactperc99.9"), Some(("exactperc", Some("99.9"))));
        assert_eq!(found("perc"), None);
        assert_eq!(found("count5"), None);
    }
}
