//! Outliers: values that are rare in the distribution of a field, within the group of their row.

use std::collections::BTreeMap;

use super::{Distribution, Learnt, Model, Settings, moments};
use crate::error::Error;
use crate::rows::Rows;

/// Default share of values that are outliers.
const THRESHOLD: f64 = 0.01;

/// A distribution with its parameters.
#[derive(Debug, Clone, Copy)]
enum Fitted {
    Normal { mean: f64, deviation: f64 },
    Exponential { least: f64, scale: f64 },
}

/// Returns the group of each row; `None` if a `by` field is missing.
fn groups(model: &Model, rows: &Rows) -> Result<Vec<Option<String>>, Error> {
    let columns: Vec<Vec<Option<String>>> =
        model.groups.iter().map(|field| rows.texts(field)).collect::<Result<_, _>>()?;
    let group = |row: usize| {
        let values = columns.iter().map(|column| column[row].as_deref());
        values.collect::<Option<Vec<&str>>>().map(|values| values.join("\t"))
    };
    Ok((0..rows.count).map(group).collect())
}

pub(super) fn fit(model: &Model, settings: &Settings, rows: &Rows) -> Result<Vec<Learnt>, Error> {
    let [field] = model.features.as_slice() else {
        let message = "fit DensityFunction: name one field, and the others after BY";
        return Err(Error::invalid_anywhere(message));
    };
    let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (group, number) in groups(model, rows)?.into_iter().zip(rows.numbers(field)?) {
        if let (Some(group), Some(number)) = (group, number) {
            values.entry(group).or_default().push(number);
        }
    }
    if values.is_empty() {
        let message = format!("fit DensityFunction: the field \"{field}\" has no number");
        return Err(Error::invalid_anywhere(message));
    }
    let mut learnt = Vec::new();
    for (group, numbers) in values {
        let put = |name: &str, value: f64| Learnt::new(&group, name, None, value);
        let found = Fitted::of(&numbers, settings.distribution);
        learnt.extend(match found {
            Fitted::Normal { mean, deviation } => [put("mean", mean), put("std", deviation)],
            Fitted::Exponential { least, scale } => [put("loc", least), put("scale", scale)],
        });
    }
    let (lower, upper) = settings.thresholds.unwrap_or((THRESHOLD / 2.0, THRESHOLD / 2.0));
    learnt.push(Learnt::new("", "lower_threshold", None, lower));
    learnt.push(Learnt::new("", "upper_threshold", None, upper));
    Ok(learnt)
}

impl Fitted {
    #[allow(clippy::cast_precision_loss)]
    fn of(numbers: &[f64], wanted: Distribution) -> Self {
        let (mean, deviation) = moments(numbers);
        let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let normal = Self::Normal { mean, deviation };
        let exponential = Self::Exponential { least, scale: mean - least };
        match wanted {
            Distribution::Normal => normal,
            Distribution::Exponential => exponential,
            Distribution::Auto => {
                let likelihood = |fitted: Self| -> f64 {
                    numbers.iter().map(|number| fitted.density(*number).max(1e-300).ln()).sum()
                };
                if likelihood(exponential) > likelihood(normal) { exponential } else { normal }
            }
        }
    }

    fn density(self, number: f64) -> f64 {
        match self {
            Self::Normal { mean, deviation } if deviation > 0.0 => {
                let distance = (number - mean) / deviation;
                (-distance * distance / 2.0).exp()
                    / (deviation * (2.0 * std::f64::consts::PI).sqrt())
            }
            Self::Exponential { least, scale } if scale > 0.0 && number >= least => {
                (-(number - least) / scale).exp() / scale
            }
            _ => 0.0,
        }
    }

    /// Returns the lower and the upper bound beyond which values are outliers.
    fn bounds(self, (lower, upper): (f64, f64)) -> (Option<f64>, Option<f64>) {
        match self {
            Self::Normal { mean, deviation } => {
                let at = |share: f64| mean + deviation * quantile(share);
                ((lower > 0.0).then(|| at(lower)), (upper > 0.0).then(|| at(1.0 - upper)))
            }
            // In an exponential distribution, small values are the most frequent: only great ones are
            // outliers.
            Self::Exponential { least, scale } => {
                let share = lower + upper;
                (None, (share > 0.0).then(|| least - scale * share.ln()))
            }
        }
    }
}

pub(super) fn apply(
    model: &Model,
    settings: &Settings,
    output: Option<&str>,
    rows: &mut Rows,
) -> Result<(), Error> {
    let Some(field) = model.features.first() else { return Ok(()) };
    let number = |group: &str, name: &str| {
        let mut learnt = model.learnt.iter();
        let found = learnt.find(|learnt| learnt.group == group && learnt.name == name);
        found.map(|learnt| learnt.value)
    };
    let half = THRESHOLD / 2.0;
    let thresholds = settings.thresholds.unwrap_or((
        number("", "lower_threshold").unwrap_or(half),
        number("", "upper_threshold").unwrap_or(half),
    ));
    let mut fitted: BTreeMap<String, Fitted> = BTreeMap::new();
    for learnt in &model.learnt {
        let group = learnt.group.as_str();
        let normal = number(group, "mean").zip(number(group, "std"));
        let exponential = number(group, "loc").zip(number(group, "scale"));
        let found = normal.map(|(mean, deviation)| Fitted::Normal { mean, deviation });
        let found =
            found.or(exponential.map(|(least, scale)| Fitted::Exponential { least, scale }));
        if let Some(found) = found.filter(|_| !fitted.contains_key(group)) {
            fitted.insert(group.to_owned(), found);
        }
    }
    let of: Vec<Option<Fitted>> =
        groups(model, rows)?.into_iter().map(|group| fitted.get(&group?).copied()).collect();
    let numbers = rows.numbers(field)?;
    let known = || of.iter().zip(&numbers).map(|(fitted, number)| (*fitted).zip(*number));
    let outliers = known().map(|known| {
        let (fitted, number) = known?;
        let (low, high) = fitted.bounds(thresholds);
        let is_rare = low.is_some_and(|low| number < low) || high.is_some_and(|high| number > high);
        Some(f64::from(u8::from(is_rare)))
    });
    let outliers: Vec<_> = outliers.collect();
    let ranges = of.iter().map(|fitted| {
        let Some(fitted) = fitted else { return Vec::new() };
        let (low, high) = fitted.bounds(thresholds);
        let shares = match low {
            Some(_) => thresholds,
            None => (0.0, thresholds.0 + thresholds.1),
        };
        let low = low.map(|low| format!("-Infinity:{low:.4}:{}", shares.0));
        let high = high.map(|high| format!("{high:.4}:Infinity:{}", shares.1));
        low.into_iter().chain(high).collect()
    });
    let ranges: Vec<Vec<String>> = ranges.collect();
    let densities: Vec<_> =
        known().map(|known| known.map(|(fitted, number)| fitted.density(number))).collect();
    let name = output.map_or_else(|| format!("IsOutlier({field})"), str::to_owned);
    rows.set_numbers(&name, outliers);
    if settings.show_density {
        rows.set_numbers(&format!("ProbabilityDensity({field})"), densities);
    }
    rows.set_lists(&format!("BoundaryRanges({field})"), ranges);
    Ok(())
}

/// Returns the quantile of the standard normal distribution (Acklam's approximation, within 1.15e-9).
fn quantile(share: f64) -> f64 {
    const A: [f64; 6] = [
        -39.696_830_286_653_76,
        220.946_098_424_520_5,
        -275.928_510_446_968_7,
        138.357_751_867_269,
        -30.664_798_066_147_16,
        2.506_628_277_459_239,
    ];
    const B: [f64; 5] = [
        -54.476_098_798_224_06,
        161.585_836_858_040_9,
        -155.698_979_859_886_6,
        66.801_311_887_719_72,
        -13.280_681_552_885_72,
    ];
    const C: [f64; 6] = [
        -0.007_784_894_002_430_293,
        -0.322_396_458_041_136_5,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 4] = [
        0.007_784_695_709_041_462,
        0.322_467_129_070_039_8,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
    ];
    let polynomial = |numbers: &[f64], x: f64| numbers.iter().fold(0.0, |sum, n| sum * x + n);
    let tail = |share: f64| {
        let q = (-2.0 * share.ln()).sqrt();
        polynomial(&C, q) / (polynomial(&D, q) * q + 1.0)
    };
    if share < 0.02425 {
        return tail(share);
    }
    if share > 1.0 - 0.02425 {
        return -tail(1.0 - share);
    }
    let q = share - 0.5;
    let r = q * q;
    polynomial(&A, r) * q / (polynomial(&B, r) * r + 1.0)
}
