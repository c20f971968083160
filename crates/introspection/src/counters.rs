//! The metrics of this process, parsed from their Prometheus text, because the metrics facade is
//! write-only.

use std::collections::BTreeMap;

/// The values of all series at one time, by name with labels.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counters(BTreeMap<String, f64>);

/// A selection of the series of a metric: pairs of label and value.
pub(crate) type Labels<'a> = &'a [(&'a str, &'a str)];

impl Counters {
    /// Parses the output of [`runtime::metrics::Recorder::render`].
    #[must_use]
    pub fn read(text: &str) -> Self {
        let mut series = BTreeMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some((name, value)) = line.rsplit_once(' ')
                && let Ok(value) = value.parse()
            {
                series.insert(name.to_owned(), value);
            }
        }
        Self(series)
    }

    fn of<'a>(&'a self, metric: &'a str) -> impl Iterator<Item = (&'a str, f64)> {
        let series = self.0.range(metric.to_owned()..);
        let series = series.take_while(move |(name, _)| name.starts_with(metric));
        let mine = |rest: &str| rest.is_empty() || rest.starts_with('{');
        series
            .filter(move |(name, _)| mine(&name[metric.len()..]))
            .map(|(name, value)| (name.as_str(), *value))
    }

    /// The sum over the series with these labels.
    pub(crate) fn sum(&self, metric: &str, labels: Labels<'_>) -> f64 {
        let has =
            |series: &str| labels.iter().all(|(name, value)| label(series, name) == Some(value));
        self.of(metric).filter(|(series, _)| has(series)).map(|(_, value)| value).sum()
    }

    /// The pairs of values of two labels that occur in the same series.
    pub(crate) fn pairs(&self, metric: &str, (one, two): (&str, &str)) -> Vec<(&str, &str)> {
        let pairs = self.0.range(metric.to_owned()..);
        let pairs = pairs.take_while(|(name, _)| name.starts_with(metric));
        let pairs =
            pairs.filter_map(|(series, _)| Some((label(series, one)?, label(series, two)?)));
        let mut pairs: Vec<_> = pairs.collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }
}

/// The difference between two samples of the counters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span<'a> {
    pub(crate) before: &'a Counters,
    pub(crate) now: &'a Counters,
}

impl Span<'_> {
    /// The growth of the counters with these labels.
    pub(crate) fn sum(&self, metric: &str, labels: Labels<'_>) -> f64 {
        (self.now.sum(metric, labels) - self.before.sum(metric, labels)).max(0.0)
    }

    /// The growth of the counters whose label has an accepted value.
    pub(crate) fn sum_if(
        &self,
        metric: &str,
        labels: Labels<'_>,
        (name, fits): (&str, &dyn Fn(&str) -> bool),
    ) -> f64 {
        let mut values: Vec<&str> =
            self.now.of(metric).filter_map(|(series, _)| label(series, name)).collect();
        values.sort_unstable();
        values.dedup();
        let fitting = values.into_iter().filter(|value| fits(value));
        let of = |value: &str| self.sum(metric, &[labels, &[(name, value)]].concat());
        fitting.map(of).sum()
    }

    /// The growth as an integer.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(crate) fn count(&self, metric: &str, labels: Labels<'_>) -> u64 {
        self.sum(metric, labels).round() as u64
    }

    /// A quantile in milliseconds of a histogram of seconds, interpolated within its buckets; `None` if
    /// there are no new values.
    pub(crate) fn millis(&self, metric: &str, labels: Labels<'_>, part: f64) -> Option<f64> {
        let buckets = format!("{metric}_bucket");
        let mut grown: Vec<(f64, f64)> = Vec::new();
        let has =
            |series: &str| labels.iter().all(|(name, value)| label(series, name) == Some(value));
        for (series, value) in self.now.of(&buckets).filter(|(series, _)| has(series)) {
            let Some(bound) = label(series, "le") else { continue };
            let bound = bound.parse().unwrap_or(f64::INFINITY);
            let more = value - self.before.0.get(series).copied().unwrap_or(0.0);
            match grown.iter_mut().find(|(known, _)| *known == bound) {
                Some((_, sum)) => *sum += more,
                None => grown.push((bound, more)),
            }
        }
        grown.sort_by(|a, b| a.0.total_cmp(&b.0));
        let all = grown.last()?.1;
        if all <= 0.0 {
            return None;
        }
        let wanted = all * part;
        let (mut low, mut seen) = (0.0, 0.0);
        for (bound, count) in grown {
            if count >= wanted && count > seen {
                // The bucket above the last bound is unbounded, so that its lower bound is used.
                let high = if bound.is_finite() { bound } else { low };
                return Some((low + (high - low) * (wanted - seen) / (count - seen)) * 1e3);
            }
            (low, seen) = (bound, count);
        }
        None
    }
}

/// The value of a label of a series. The labels used here have no quotes in their values.
fn label<'a>(series: &'a str, name: &str) -> Option<&'a str> {
    let (_, labels) = series.split_once('{')?;
    let mut rest = labels;
    loop {
        let (known, after) = rest.split_once("=\"")?;
        let end = after.find('"')?;
        if known == name {
            return Some(&after[..end]);
        }
        rest = after[end + 1..].strip_prefix(',')?;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const BEFORE: &str = "a_total{op=\"get\",set=\"0\"} 1\na_total{op=\"get\",set=\"1\"} 2\n";
    const NOW: &str = "# HELP a_total x\na_total{op=\"get\",set=\"0\"} 5\na_total{op=\"get\",set=\"1\"} 4\n\
        a_total{op=\"put\",set=\"0\"} 9\na_totals 100\nb 2.5\n";

    #[test]
    fn counters_are_summed_over_labels_that_are_not_asked_for() {
        let (before, now) = (Counters::read(BEFORE), Counters::read(NOW));
        let span = Span { before: &before, now: &now };
        assert_eq!(span.count("a_total", &[("op", "get")]), 6);
        assert_eq!(span.count("a_total", &[]), 15);
        let first = |set: &str| set == "0";
        assert!((span.sum_if("a_total", &[("op", "get")], ("set", &first)) - 4.0).abs() < 1e-9);
        assert_eq!(span.count("a_total", &[("op", "head")]), 0);
        assert!((now.sum("b", &[]) - 2.5).abs() < 1e-9);
        assert_eq!(now.pairs("a_total", ("op", "set")), [("get", "0"), ("get", "1"), ("put", "0")]);
    }

    #[test]
    fn quantiles_are_of_what_is_new() {
        let text = |one: u32, two: u32, all: u32| {
            let bucket =
                |bound: &str, count| format!("s_bucket{{op=\"x\",le=\"{bound}\"}} {count}\n");
            Counters::read(&[bucket("0.1", one), bucket("0.2", two), bucket("+Inf", all)].concat())
        };
        let (before, now) = (text(1_000, 1_000, 1_000), text(1_000, 1_010, 1_010));
        let span = Span { before: &before, now: &now };
        assert!((span.millis("s", &[("op", "x")], 0.5).unwrap() - 150.0).abs() < 1e-6);
        assert_eq!(span.millis("s", &[("op", "y")], 0.5), None);
        let unchanged = Span { before: &now, now: &now };
        assert_eq!(unchanged.millis("s", &[], 0.5), None);
        let above = text(1_000, 1_010, 1_020);
        let span = Span { before: &now, now: &above };
        assert!((span.millis("s", &[], 0.99).unwrap() - 200.0).abs() < 1e-6);
    }
}
