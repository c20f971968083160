//! The rows of a chart over bins: in bin order, including empty bins in between.
//!
//! Guarantees: every bin that has events is a row, whatever the limit is. It leaves to others where the bins
//! begin and end.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Float64Array, StringViewArray, TimestampMicrosecondArray};
use exprs::column::Values;
use exprs::types::ValueType;
use model::EventTime;
use tables::Column;
use tables::bins::{NumberBins, TimeBins, range_of, write_range};

use frames::Error;

/// The type of bins of the row field.
#[derive(Debug, Clone)]
pub enum Cut {
    /// The values are starts of bins: times, or numbers in epoch seconds.
    Times(TimeBins),
    /// The values are texts of bins such as `10-20`.
    Numbers(NumberBins),
}

/// A row axis of bins.
#[derive(Debug, Clone)]
pub struct RowBins {
    pub cut: Cut,
    /// Whether empty bins between the first and the last non-empty bin are rows.
    pub fill: bool,
}

/// The rows of the result.
pub(super) struct Placed {
    pub(super) keys: ArrayRef,
    /// The index of each long row among the keys; `None` for rows without a value.
    pub(super) places: Vec<Option<usize>>,
    /// Whether empty bins are included; false if they exceed the limit.
    pub(super) is_complete: bool,
}

impl RowBins {
    /// The rows for the keys of long rows, with at most `most` bins where bins without events are rows.
    pub(super) fn place(&self, key: &Column, most: usize) -> Result<Placed, Error> {
        let values = Values::new(&key.array)?;
        let rows = 0..key.array.len();
        Ok(match &self.cut {
            Cut::Times(bins) => {
                let times: Vec<Option<i64>> = rows.map(|row| values.get(row).micros()).collect();
                self.place_times(bins, &times, key.kind, most)
            }
            Cut::Numbers(bins) => {
                let text = |row| values.get(row).text().map(|text| text.to_string());
                let texts: Vec<Option<String>> = rows.map(text).collect();
                self.place_ranges(*bins, &texts, most)
            }
        })
    }

    fn place_times(
        &self,
        bins: &TimeBins,
        times: &[Option<i64>],
        kind: ValueType,
        most: usize,
    ) -> Placed {
        let mut starts: BTreeSet<i64> = times.iter().flatten().copied().collect();
        let range = starts.first().copied().zip(starts.last().copied());
        // When clocks are set back, a bin may end before it begins; continue with the next instant.
        let next = |start: i64| Some(bins.around(start).1.max(start.saturating_add(1)));
        let between = self.between(range, next, most);
        let is_complete = between.is_some();
        starts.extend(between.unwrap_or_default());
        let found: HashMap<i64, usize> =
            starts.iter().enumerate().map(|(at, start)| (*start, at)).collect();
        let places = times.iter().map(|time| found.get(time.as_ref()?).copied()).collect();
        let starts: Vec<i64> = starts.into_iter().collect();
        let keys: ArrayRef = match kind {
            ValueType::Time => {
                Arc::new(TimestampMicrosecondArray::from(starts).with_timezone("UTC"))
            }
            _ => {
                let seconds = starts.into_iter().map(|start| EventTime(start).seconds());
                Arc::new(Float64Array::from_iter_values(seconds))
            }
        };
        Placed { keys, places, is_complete }
    }

    /// Values that are not numbers have no bin; they come last. Numbers without a bin, below all logarithmic
    /// bins, come first.
    fn place_ranges(&self, bins: NumberBins, texts: &[Option<String>], most: usize) -> Placed {
        let decimals = bins.decimals();
        let name = |bin: (f64, f64)| {
            let mut text = String::new();
            write_range(bin, decimals, &mut text);
            text
        };
        let start_of = |text: &str| {
            let bin = bins.around(range_of(text)?.0)?;
            (name(bin) == text).then_some(bin.0)
        };
        let mut seen: HashSet<String> = HashSet::new();
        let (mut starts, mut others): (Vec<(f64, String)>, Vec<String>) = (Vec::new(), Vec::new());
        let mut below: Vec<(f64, String)> = Vec::new();
        for text in texts.iter().flatten() {
            if !seen.insert(text.clone()) {
                continue;
            }
            match (start_of(text), bins.number_without_bin(text)) {
                (Some(start), _) => starts.push((start, text.clone())),
                (None, Some(number)) => below.push((number, text.clone())),
                (None, None) => others.push(text.clone()),
            }
        }
        below.sort_by(|one, two| one.0.total_cmp(&two.0));
        starts.sort_by(|one, two| one.0.total_cmp(&two.0));
        let range = starts.first().zip(starts.last()).map(|(first, last)| (first.0, last.0));
        let next = |start: f64| Some(bins.around(bins.around(start)?.1)?.0);
        let between = self.between(range, next, most);
        let is_complete = between.is_some();
        for bin in between.unwrap_or_default().into_iter().filter_map(|start| bins.around(start)) {
            let text = name(bin);
            if seen.insert(text.clone()) {
                starts.push((bin.0, text));
            }
        }
        starts.sort_by(|one, two| one.0.total_cmp(&two.0));
        let binned = below.into_iter().chain(starts).map(|(_, text)| text);
        let keys: Vec<String> = binned.chain(others).collect();
        let found: HashMap<&String, usize> =
            keys.iter().enumerate().map(|(at, text)| (text, at)).collect();
        let places = texts.iter().map(|text| found.get(text.as_ref()?).copied()).collect();
        let keys: StringViewArray = keys.iter().map(Some).collect();
        Placed { keys: Arc::new(keys), places, is_complete }
    }

    /// The starts of all bins of a range; none if there are more than `most`.
    fn between<T: Copy + PartialOrd>(
        &self,
        range: Option<(T, T)>,
        next: impl Fn(T) -> Option<T>,
        most: usize,
    ) -> Option<Vec<T>> {
        let Some((first, last)) = range.filter(|_| self.fill) else { return Some(Vec::new()) };
        let mut starts = vec![first];
        let mut at = first;
        // Far from zero, rounding may make the next bin begin where this one does.
        while let Some(start) = next(at).filter(|start| *start > at && *start <= last) {
            if starts.len() >= most {
                return None;
            }
            starts.push(start);
            at = start;
        }
        Some(starts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(fill: bool, most: usize) -> (Vec<String>, Vec<Option<usize>>, bool) {
        let cut = NumberBins::Linear { start: 0.0, step: 10.0 };
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec![
            Some("100-110"),
            Some("none"),
            Some("80-90"),
            None,
        ]));
        let key = Column { name: "v".to_owned(), kind: ValueType::Text, array: texts };
        let bins = RowBins { cut: Cut::Numbers(cut), fill };
        let placed = bins.place(&key, most).expect("the keys are texts");
        let values = Values::new(&placed.keys).expect("keys are values");
        let keys = (0..placed.keys.len()).filter_map(|row| values.get(row).text());
        (keys.map(|key| key.to_string()).collect(), placed.places, placed.is_complete)
    }

    #[test]
    fn bins_between_are_rows_in_the_order_of_numbers() {
        let (keys, places, is_complete) = ranges(true, 10);
        assert_eq!(keys, ["80-90", "90-100", "100-110", "none"]);
        assert_eq!(places, [Some(2), Some(3), Some(0), None]);
        assert!(is_complete);
    }

    #[test]
    fn numbers_below_logarithmic_bins_come_first() {
        let cut = NumberBins::Log { coefficient: 1.0, base: 2.0 };
        let texts = vec![Some("4-8"), Some("none"), Some("0"), Some("1-2"), Some("-3")];
        let array: ArrayRef = Arc::new(StringViewArray::from(texts));
        let key = Column { name: "v".to_owned(), kind: ValueType::Text, array };
        let bins = RowBins { cut: Cut::Numbers(cut), fill: true };
        let placed = bins.place(&key, 10).expect("the keys are texts");
        let values = Values::new(&placed.keys).expect("keys are values");
        let keys = (0..placed.keys.len()).filter_map(|row| values.get(row).text());
        let keys: Vec<String> = keys.map(|key| key.to_string()).collect();
        assert_eq!(keys, ["-3", "0", "1-2", "2-4", "4-8", "none"]);
    }

    #[test]
    fn bins_that_have_events_are_rows_beyond_the_limit() {
        let expected = ["80-90", "100-110", "none"];
        let (keys, _, is_complete) = ranges(true, 2);
        assert_eq!((keys.as_slice(), is_complete), (expected.map(str::to_owned).as_slice(), false));
        let (keys, _, is_complete) = ranges(false, 2);
        assert_eq!((keys.as_slice(), is_complete), (expected.map(str::to_owned).as_slice(), true));
    }
}
