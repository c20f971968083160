//! `sparkline(count)`, `sparkline(avg(x), 5m)`: a statistic per time bin, as a list of values.
//!
//! Guarantees: the bins of all groups are the same; the first value is a mark by which clients recognize a
//! sparkline. More than [`MOST_BINS`] bins are truncated, with a message.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, ListBuilder, StringViewBuilder};
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use eval::value::{NumberText, parse_number};
use jiff::tz::TimeZone;
use spl::ast::{StatsCall, StatsKind, TimeSpan};
use tables::bins::{TimeBins, default_span};

use crate::Report;
use crate::aggregates::moments::{Moment, Moments};
use crate::aggregates::state;
use crate::aggregates::summary::Summary;
use crate::column::{Row, Value};

/// The first value of a sparkline, by which clients recognize it.
const MARK: &str = "##__SPARKLINE__##";
/// Maximum number of bins of a sparkline (`[stats] sparkline_maxsize`).
const MOST_BINS: usize = 100;

/// The time axis of sparklines.
#[derive(Debug, Clone)]
pub struct SparklineAxis {
    /// The zone in which days begin.
    pub zone: TimeZone,
    /// The first and the last time, in microseconds.
    pub range: (i64, i64),
}

/// The statistic of each bin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Inner {
    /// The number of events, or of values of a field.
    Count,
    /// The number of distinct values.
    Distinct,
    /// A numeric statistic.
    Moment(Moment),
}

impl Inner {
    /// Returns the statistic of a function, if it is allowed in a sparkline.
    pub(super) fn of(call: Option<&StatsCall>) -> Option<Self> {
        let Some(call) = call else { return Some(Self::Count) };
        Some(match call.function.kind {
            StatsKind::Count => Self::Count,
            StatsKind::DistinctCount | StatsKind::EstimatedDistinctCount => Self::Distinct,
            StatsKind::Sum => Self::Moment(Moment::Sum),
            StatsKind::SumOfSquares => Self::Moment(Moment::SumOfSquares),
            StatsKind::Average => Self::Moment(Moment::Average),
            StatsKind::Min => Self::Moment(Moment::Least),
            StatsKind::Max => Self::Moment(Moment::Most),
            StatsKind::Range => Self::Moment(Moment::Range),
            StatsKind::StandardDeviation => Self::Moment(Moment::DeviationOfSample),
            StatsKind::StandardDeviationPopulation => Self::Moment(Moment::DeviationOfPopulation),
            StatsKind::Variance => Self::Moment(Moment::VarianceOfSample),
            StatsKind::VariancePopulation => Self::Moment(Moment::VarianceOfPopulation),
            _ => return None,
        })
    }
}

/// The state of a bin.
#[derive(Debug, Clone)]
enum Bin {
    Count(i64),
    Distinct(BTreeSet<String>),
    Numbers(Moments),
}

impl Bin {
    fn new(inner: Inner) -> Self {
        match inner {
            Inner::Count => Self::Count(0),
            Inner::Distinct => Self::Distinct(BTreeSet::new()),
            Inner::Moment(moment) => Self::Numbers(Moments::new(moment)),
        }
    }

    fn add(&mut self, value: Value<'_>) {
        match self {
            Self::Count(count) => *count += i64::try_from(value.count()).unwrap_or(0),
            Self::Distinct(texts) => value.each_text(|text| {
                texts.insert(text.to_owned());
            }),
            Self::Numbers(numbers) => value.each_text(|text| {
                if let Some(number) = parse_number(text) {
                    numbers.add_number(number);
                }
            }),
        }
    }

    #[allow(clippy::cast_precision_loss)]
    fn value(&self) -> f64 {
        match self {
            Self::Count(count) => *count as f64,
            Self::Distinct(texts) => texts.len() as f64,
            Self::Numbers(numbers) => numbers.value().unwrap_or(0.0),
        }
    }
}

/// Properties shared by the sparklines of all groups.
#[derive(Debug)]
struct Axis {
    inner: Inner,
    cut: TimeBins,
    range: (i64, i64),
    /// Maximum number of values of a result.
    values: usize,
    report: Report,
}

impl Axis {
    /// Returns the starts of the bins of the range, and whether there are more bins than can be shown.
    fn starts(cut: &TimeBins, range: (i64, i64)) -> (Vec<i64>, bool) {
        let mut starts = Vec::new();
        let (mut start, last) = (cut.floor(range.0), cut.floor(range.1));
        while start <= last {
            if starts.len() == MOST_BINS {
                return (starts, true);
            }
            starts.push(start);
            // Bins outside the calendar have no end, so the loop must still advance.
            start = cut.around(start).1.max(start + 1);
        }
        (starts, false)
    }
}

/// The bins so far, in the order of their starts. Each of a million groups may have a sparkline, and most of
/// these have few events: only bins with events use memory.
#[derive(Debug, Clone)]
pub(crate) struct Sparkline {
    axis: Arc<Axis>,
    bins: Vec<(i64, Bin)>,
}

impl Sparkline {
    pub(super) fn new(
        inner: Inner,
        step: Option<&TimeSpan>,
        axis: &SparklineAxis,
        report: Report,
    ) -> Self {
        let (from, to) = axis.range;
        let most = u64::try_from(MOST_BINS - 1).unwrap_or(1);
        let length = to.saturating_sub(from).saturating_add(1);
        let step = step.cloned().unwrap_or_else(|| default_span(length, most, None));
        let cut = TimeBins::new(step, axis.zone.clone(), None);
        let values = 1 + Axis::starts(&cut, axis.range).0.len();
        let axis = Axis { inner, cut, range: axis.range, values, report };
        Self { axis: Arc::new(axis), bins: Vec::new() }
    }

    /// Returns all parameters that identify it.
    pub(super) fn parameters(&self) -> String {
        let Axis { inner, cut, range, .. } = &*self.axis;
        format!("{inner:?} {cut:?} {range:?}")
    }

    fn bin(&mut self, start: i64) -> &mut Bin {
        let at = match self.bins.binary_search_by_key(&start, |(start, _)| *start) {
            Ok(at) => at,
            Err(at) => {
                // Doubling the capacity would waste memory for groups with one event.
                if self.bins.len() == self.bins.capacity() {
                    self.bins.reserve_exact((self.bins.len() / 2).max(1));
                }
                self.bins.insert(at, (start, Bin::new(self.axis.inner)));
                at
            }
        };
        &mut self.bins[at].1
    }

    /// Returns the values of the bins that begin at these times.
    fn values(&self, starts: &[i64]) -> impl Iterator<Item = f64> {
        let mut bins = self.bins.iter().peekable();
        starts.iter().map(move |start| {
            while bins.next_if(|(before, _)| before < start).is_some() {}
            bins.next_if(|(found, _)| found == start).map_or(0.0, |(_, bin)| bin.value())
        })
    }
}

/// Size of a text in a column in bytes, in addition to its bytes in the buffer.
const VIEW: usize = 16;

impl Summary for Sparkline {
    const WHOLE_EVENTS: bool = true;

    fn add(&mut self, row: Row<'_>, _: &[u8]) {
        let Value::Time(time) = row.value(1) else { return };
        let start = self.axis.cut.floor(time);
        self.bin(start).add(row.value(0));
    }

    fn state_types(&self) -> Vec<DataType> {
        vec![
            state::list_of(DataType::Int64),
            state::list_of(DataType::Int64),
            state::list_of(DataType::Float64),
            state::list_of(DataType::Utf8View),
        ]
    }

    /// Returns the starts; for each bin, its count or its number of texts; the numbers; the texts.
    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let (mut starts, mut counts) = (Vec::new(), Vec::new());
        let (mut numbers, mut texts) = (Vec::new(), Vec::new());
        for (start, bin) in std::mem::take(&mut self.bins) {
            starts.push(start);
            match bin {
                Bin::Count(count) => counts.push(count),
                Bin::Distinct(own) => {
                    counts.push(i64::try_from(own.len()).unwrap_or(0));
                    texts.extend(own);
                }
                Bin::Numbers(own) => {
                    counts.push(0);
                    numbers.extend(own.parts());
                }
            }
        }
        Ok(vec![
            state::integers(starts),
            state::integers(counts),
            state::numbers(numbers),
            state::texts(texts),
        ])
    }

    fn merge(&mut self, states: &[ArrayRef], row: usize) -> Result<()> {
        let (mut starts, mut counts) = (Vec::new(), Vec::new());
        state::each_integer(&states[0], row, |start| starts.push(start));
        state::each_integer(&states[1], row, |count| counts.push(count));
        let numbers = state::read_numbers(&states[2], row);
        let mut numbers = numbers.chunks_exact(Moments::PARTS);
        let mut texts = Vec::new();
        state::each_text(&states[3], row, |text| texts.push(text.to_owned()));
        let mut texts = texts.into_iter();
        for (start, count) in starts.into_iter().zip(counts) {
            match self.bin(start) {
                Bin::Count(held) => *held = held.saturating_add(count),
                Bin::Distinct(held) => {
                    held.extend(texts.by_ref().take(usize::try_from(count).unwrap_or(0)));
                }
                Bin::Numbers(held) => {
                    let parts = numbers.next().unwrap_or_default();
                    held.add_parts(std::array::from_fn(|at| {
                        parts.get(at).copied().unwrap_or_default()
                    }));
                }
            }
        }
        Ok(())
    }

    fn result(&mut self) -> Result<ScalarValue> {
        let column = self.results(vec![Some(self.clone())])?;
        ScalarValue::try_from_array(&column, 0)
    }

    /// Returns all results in one array: separate lists for 100,000 groups would need as much memory as the
    /// column again.
    fn results(&self, groups: Vec<Option<Self>>) -> Result<ArrayRef> {
        let Axis { cut, range, report, .. } = &*self.axis;
        let (starts, is_cut) = Axis::starts(cut, *range);
        if is_cut && !groups.is_empty() {
            report.say(&format!(
                "sparkline() shows the first {MOST_BINS} steps of the time range; use a longer step"
            ));
        }
        let texts = StringViewBuilder::with_capacity(groups.len() * (1 + starts.len()));
        let mut lists = ListBuilder::new(texts.with_deduplicate_strings());
        for group in groups {
            let group = group.as_ref().unwrap_or(self);
            lists.values().append_value(MARK);
            for value in group.values(&starts) {
                lists.values().append_value(&*NumberText::float(value));
            }
            lists.append(true);
        }
        Ok(Arc::new(lists.finish()))
    }

    /// Includes the result, which is created for all groups at once and is much larger than the bins of a
    /// group with one event. It is 0 before the first event, so that the increase is accounted for.
    fn heap_size(&self) -> usize {
        if self.bins.is_empty() {
            return 0;
        }
        let own = |(_, bin): &(i64, Bin)| match bin {
            Bin::Distinct(texts) => texts.iter().map(|text| text.len() + TEXT).sum(),
            _ => 0,
        };
        let held: usize = self.bins.iter().map(own).sum();
        held + self.bins.capacity() * size_of::<(i64, Bin)>() + self.axis.values * VIEW
    }

    /// The result is a part of the other size, and the state is smaller.
    fn emitted_size(&self) -> usize {
        0
    }
}

/// Size of a set entry in bytes in addition to its text, in a tree node that may be half full, or contain
/// only this entry.
const TEXT: usize = 96;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::AsArray;
    use datafusion::logical_expr::{EmitTo, GroupsAccumulator};

    use super::*;
    use crate::aggregates::groups::Groups;
    use crate::aggregates::summary::Order;

    /// Returns a sparkline of one-second bins over this number of seconds.
    fn seconds(count: i64) -> Sparkline {
        let axis = SparklineAxis { zone: TimeZone::UTC, range: (0, count * 1_000_000 - 1) };
        let second = TimeSpan { count: 1, unit: spl::ast::TimeUnit::Second, snap: None };
        Sparkline::new(Inner::Count, Some(&second), &axis, Report::new(|_| ()))
    }

    #[test]
    fn bins_are_shown_in_order_however_they_came() {
        let mut sparkline = seconds(5);
        for second in [3, 1, 3, 0] {
            sparkline.bin(second * 1_000_000).add(Value::Text("x"));
        }
        let found = seconds(5).results(vec![Some(sparkline), None]).unwrap();
        let lists = found.as_list::<i32>();
        let texts = |row| {
            let texts = lists.value(row);
            let texts = texts.as_string_view().iter().skip(1).flatten().map(str::to_owned);
            texts.collect::<Vec<_>>()
        };
        assert_eq!(texts(0), ["1", "1", "0", "2", "0"]);
        assert_eq!(texts(1), ["0"; 5]);
    }

    #[test]
    fn groups_with_an_event_each_count_what_their_results_will_take() {
        let mut groups = Groups::of(seconds(100), Order { values: 2, directions: Vec::new() });
        let rows = 8192;
        let values: ArrayRef = Arc::new(arrow::array::StringViewArray::from(vec!["x"; rows]));
        let times = arrow::array::TimestampMicrosecondArray::from(vec![7_000_000; rows]);
        let times: ArrayRef = Arc::new(times.with_timezone("UTC"));
        let of_row: Vec<usize> = (0..rows).collect();
        groups.update_batch(&[values, times], &of_row, None, rows).unwrap();
        let counted = groups.size();
        let column = groups.evaluate(EmitTo::All).unwrap();
        let made = column.get_array_memory_size();
        assert!(counted > made && counted < 2 * made, "{counted} {made}");
    }
}
