//! `sparkline(count)`, `sparkline(avg(x), 5m)`: a function per bin of time, as one value each.
//!
//! Guarantees: the bins of all groups are the same; the first value is the mark by which a sparkline is
//! known. More bins than [`MOST_BINS`] are cut off with a message.

use std::collections::{BTreeMap, BTreeSet};

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use eval::value::{NumberText, parse_number};
use jiff::tz::TimeZone;
use spl::ast::{StatsCall, StatsKind, TimeSpan};
use tables::bins::{TimeBins, default_span};

use crate::aggregates::moments::{Moment, Moments};
use crate::aggregates::summary::Summary;
use crate::aggregates::{Report, state};
use crate::column::{Row, Value};

/// What a sparkline begins with, by which clients draw it.
const MARK: &str = "##__SPARKLINE__##";
/// Bins of a sparkline at most (`[stats] sparkline_maxsize`).
const MOST_BINS: usize = 100;

/// The times that sparklines are drawn over.
#[derive(Debug, Clone)]
pub struct SparklineAxis {
    /// The zone in which days begin.
    pub zone: TimeZone,
    /// The first and the last time, in microseconds.
    pub range: (i64, i64),
}

/// What is computed in each bin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Inner {
    /// Events, or values of a field.
    Count,
    /// Different values.
    Distinct,
    /// Something about numbers.
    Moment(Moment),
}

impl Inner {
    /// That of a function, if it may stand in a sparkline.
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

/// What is known of a bin.
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

/// The bins so far, by their start.
#[derive(Debug, Clone)]
pub(crate) struct Sparkline {
    inner: Inner,
    cut: TimeBins,
    range: (i64, i64),
    bins: BTreeMap<i64, Bin>,
    report: Report,
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
        Self { inner, cut, range: axis.range, bins: BTreeMap::new(), report }
    }

    /// Everything that makes it what it is.
    pub(super) fn parameters(&self) -> String {
        format!("{:?} {:?} {:?}", self.inner, self.cut, self.range)
    }

    fn bin(&mut self, start: i64) -> &mut Bin {
        let inner = self.inner;
        self.bins.entry(start).or_insert_with(|| Bin::new(inner))
    }
}

impl Summary for Sparkline {
    const WHOLE_EVENTS: bool = true;

    fn add(&mut self, row: Row<'_>, _: &[u8]) {
        let Value::Time(time) = row.value(1) else { return };
        let start = self.cut.floor(time);
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

    /// The starts; for each bin a count, or how many texts are its own; numbers; texts.
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
            state::wholes(starts),
            state::wholes(counts),
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
        let mut texts = vec![MARK.to_owned()];
        let (mut start, last) = (self.cut.floor(self.range.0), self.cut.floor(self.range.1));
        while start <= last {
            if texts.len() > MOST_BINS {
                self.report.say(&format!(
                    "sparkline() shows the first {MOST_BINS} steps of the time range; \
                     use a longer step"
                ));
                break;
            }
            let value = self.bins.get(&start).map_or(0.0, Bin::value);
            texts.push(NumberText::float(value).to_string());
            // Where clocks are set back a bin may end before it begins; go on from the next instant.
            start = self.cut.around(start).1.max(start + 1);
        }
        Ok(state::multivalue(texts))
    }

    fn heap_size(&self) -> usize {
        let own = |bin: &Bin| match bin {
            Bin::Distinct(texts) => texts.iter().map(|text| text.len() + 48).sum(),
            _ => 0,
        };
        let held: usize = self.bins.values().map(own).sum();
        held + self.bins.len() * (size_of::<i64>() + size_of::<Bin>())
    }
}
