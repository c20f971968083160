//! Values that are rare or far from the mean. A number is anomalous if its distance from the mean is
//! improbable in a normal distribution; any other value is anomalous if it is rare.

use std::collections::HashMap;

use eval::value::{NumberText, parse_number};
use spl::ast::{AnomalyAction, FieldPattern};

use super::statistics;
use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::{Record, Rows};

/// Rows with anomalous values, scores of the values, or a row of statistics for each field.
#[derive(Debug)]
pub struct Anomalousvalue {
    /// Whether rows are filtered, annotated or summarized.
    pub action: AnomalyAction,
    /// The probability below which a value is anomalous.
    pub threshold: f64,
    /// Minimum number of rows in which a field must occur to be analyzed.
    pub least_count: usize,
    /// Minimum share of the rows in which a field must occur.
    pub least_support: f64,
    /// Maximum share of anomalous values of a field; fields with more are ignored.
    pub most_anomalous: f64,
    /// Minimum share of anomalous values of a field; fields with fewer are ignored.
    pub least_anomalous: f64,
    /// The fields; all except internal ones if empty.
    pub fields: Vec<FieldPattern>,
}

/// The analysis of a field.
struct Finding {
    count: usize,
    distinct: usize,
    numeric: bool,
    moments: Option<(f64, f64)>,
    /// For each row, the score of the value if it is anomalous.
    scores: Vec<Option<f64>>,
    anomalous: f64,
    support: f64,
    used: bool,
}

impl Operation for Anomalousvalue {
    fn apply(&self, mut rows: Rows, _: &mut Context) -> Result<Rows, Error> {
        let mut stays = vec![false; rows.count];
        let mut records = Vec::new();
        for name in rows.matching(&self.fields) {
            let lists = rows.lists(&name)?;
            let found = self.finding(&lists);
            if self.action == AnomalyAction::Summary {
                records.push(found.record(&name));
            } else if found.used {
                let kind = if found.numeric { "Num" } else { "Cat" };
                let scored = stays.iter_mut().zip(&found.scores);
                scored.for_each(|(stays, score)| *stays |= score.is_some());
                rows.set_numbers(&format!("Anomaly_Score_{kind}({name})"), found.scores);
            }
        }
        match self.action {
            AnomalyAction::Summary => Ok(Rows::of_records(records)),
            AnomalyAction::Annotate => Ok(rows),
            AnomalyAction::Filter => {
                let kept: Vec<usize> = (0..rows.count).filter(|row| stays[*row]).collect();
                rows.take(&kept)
            }
        }
    }
}

impl Anomalousvalue {
    fn finding(&self, lists: &[Vec<String>]) -> Finding {
        let rows = statistics::number(lists.len());
        let mut counts: HashMap<&str, usize> = HashMap::new();
        let mut numbers = Vec::new();
        let mut values = 0;
        for value in lists.iter().flatten() {
            *counts.entry(value).or_default() += 1;
            numbers.extend(parse_number(value));
            values += 1;
        }
        let count = lists.iter().filter(|list| !list.is_empty()).count();
        let numeric = values > 0 && numbers.len() == values;
        let moments = if numeric { statistics::moments(&numbers) } else { None };
        let probability = |value: &String| match (moments, parse_number(value)) {
            (Some((mean, deviation)), Some(number)) if deviation > 0.0 => {
                beyond((number - mean) / deviation)
            }
            (Some(_), _) => 1.0,
            _ => statistics::number(counts[value.as_str()]) / rows,
        };
        let score = |list: &Vec<String>| {
            let least = list.iter().map(probability).fold(f64::INFINITY, f64::min);
            (least < self.threshold).then_some(least)
        };
        let scores: Vec<Option<f64>> = lists.iter().map(score).collect();
        let found = statistics::number(scores.iter().flatten().count());
        let anomalous = if count > 0 { found / statistics::number(count) } else { 0.0 };
        let support = statistics::number(count) / rows.max(1.0);
        let used = count >= self.least_count
            && support >= self.least_support
            && (self.least_anomalous..=self.most_anomalous).contains(&anomalous);
        let distinct = counts.len();
        Finding { count, distinct, numeric, moments, scores, anomalous, support, used }
    }
}

impl Finding {
    fn record(&self, name: &str) -> Record {
        let percent = |share: f64| NumberText::float(share * 100.0).to_string();
        let yes = |truth: bool| if truth { "YES" } else { "NO" }.to_owned();
        let number = |number: f64| NumberText::float(number).to_string();
        let when = |truth: bool, text: String| if truth { vec![text] } else { Vec::new() };
        let moment = |pick: fn((f64, f64)) -> f64| {
            self.moments.map(|moments| number(pick(moments))).into_iter().collect()
        };
        let cells = [
            ("fieldname", vec![name.to_owned()]),
            ("count", vec![self.count.to_string()]),
            ("distinct_count", vec![self.distinct.to_string()]),
            ("mean", moment(|(mean, _)| mean)),
            ("stdev", moment(|(_, deviation)| deviation)),
            ("catAnoFreq%", when(!self.numeric, percent(self.anomalous))),
            ("catNormFreq%", when(!self.numeric, percent(1.0 - self.anomalous))),
            ("numAnoFreq%", when(self.numeric, percent(self.anomalous))),
            ("supportFreq%", vec![percent(self.support)]),
            ("useCat", vec![yes(self.used && !self.numeric)]),
            ("useNum", vec![yes(self.used && self.numeric)]),
            ("isNum", vec![yes(self.numeric)]),
        ];
        cells.into_iter().map(|(name, values)| (name.to_owned(), values)).collect()
    }
}

/// Returns the probability that a normally distributed number is at least this many standard deviations from
/// the mean.
fn beyond(deviations: f64) -> f64 {
    let x = deviations.abs() / std::f64::consts::SQRT_2;
    if x < 2.5 {
        // The power series of the error function converges fast near zero.
        let (mut term, mut sum, mut n) = (x, x, 0.0);
        while term.abs() > 1e-17 * sum.abs() && n < 200.0 {
            n += 1.0;
            term *= -x * x / n;
            sum += term / (2.0 * n + 1.0);
        }
        return 1.0 - sum * std::f64::consts::FRAC_2_SQRT_PI;
    }
    // Far from zero, its continued fraction converges fast.
    let fraction = (1..=60).rev().fold(x, |rest, k| x + f64::from(k) / 2.0 / rest);
    (-x * x).exp() / (fraction * std::f64::consts::PI.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tails_are_those_of_the_normal_distribution() {
        let cases = [(0.0, 1.0), (1.0, 0.317_310_508), (2.0, 0.045_500_264), (4.0, 6.334_2e-5)];
        for (deviations, expected) in cases {
            assert!((beyond(deviations) - expected).abs() < 1e-8, "{deviations}");
            assert_eq!(beyond(-deviations), beyond(deviations));
        }
    }
}
