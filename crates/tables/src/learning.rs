//! Models of `fit` and `apply`: fitting, prediction, and their representation as rows.
//! Guarantees: the same rows give the same model, and a model that is read from its rows gives the same
//! predictions as the fitted one. Storing models is left to `plan`.

mod clusters;
mod density;
mod inputs;
mod regression;
mod solve;

use spl::ast::FieldPattern;

use crate::error::Error;
use crate::operation::Stop;
use crate::rows::Rows;

/// The algorithm of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// Detects values that are rare in the distribution of a field.
    DensityFunction,
    /// Clusters rows around centres.
    KMeans,
    /// Predicts a number as a weighted sum of others.
    LinearRegression,
    /// Predicts the class of a row by its likelihood.
    LogisticRegression,
    /// Scales numbers to the mean 0 and the standard deviation 1.
    StandardScaler,
}

/// The algorithms by name.
pub const ALGORITHMS: [(&str, Algorithm); 5] = [
    ("DensityFunction", Algorithm::DensityFunction),
    ("KMeans", Algorithm::KMeans),
    ("LinearRegression", Algorithm::LinearRegression),
    ("LogisticRegression", Algorithm::LogisticRegression),
    ("StandardScaler", Algorithm::StandardScaler),
];

impl Algorithm {
    /// Returns the algorithm with this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        let found = ALGORITHMS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, algorithm)| *algorithm)
    }

    /// Returns the name of the algorithm.
    #[must_use]
    pub fn name(self) -> &'static str {
        ALGORITHMS.iter().find(|(_, known)| *known == self).map_or("", |(name, _)| name)
    }

    /// Whether the algorithm predicts a target field.
    #[must_use]
    pub fn has_target(self) -> bool {
        matches!(self, Self::LinearRegression | Self::LogisticRegression)
    }
}

/// The type of distribution of a [`Algorithm::DensityFunction`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    /// The more likely of the two.
    Auto,
    /// `norm`.
    Normal,
    /// `expon`.
    Exponential,
}

/// Parameters of the algorithms; each algorithm uses some of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// `k=` of `KMeans`.
    pub clusters: usize,
    /// `dist=` of `DensityFunction`.
    pub distribution: Distribution,
    /// `lower_threshold=` and `upper_threshold=`, or the halves of `threshold=`, of `DensityFunction`.
    pub thresholds: Option<(f64, f64)>,
    /// `show_density=` of `DensityFunction`.
    pub show_density: bool,
    /// `fit_intercept=` of the regressions.
    pub intercept: bool,
    /// `with_mean=` of `StandardScaler`.
    pub with_mean: bool,
    /// `with_std=` of `StandardScaler`.
    pub with_deviation: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            clusters: 8,
            distribution: Distribution::Auto,
            thresholds: None,
            show_density: false,
            intercept: true,
            with_mean: true,
            with_deviation: true,
        }
    }
}

/// A learned parameter of a model.
#[derive(Debug, Clone, PartialEq)]
struct Learnt {
    /// The class, the cluster or the values of the `by` fields.
    group: String,
    /// The field, or the kind of the parameter.
    name: String,
    /// The value of the field to which the parameter belongs.
    category: Option<String>,
    value: f64,
}

impl Learnt {
    fn new(group: &str, name: &str, category: Option<&str>, value: f64) -> Self {
        let (group, name) = (group.to_owned(), name.to_owned());
        Self { group, name, category: category.map(str::to_owned), value }
    }
}

/// The context of learning.
#[derive(Debug, Clone, Copy)]
pub struct Learning<'a> {
    /// The parameters.
    pub settings: &'a Settings,
    /// The cancellation check.
    pub stop: &'a Stop,
}

/// A fitted model.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    algorithm: Algorithm,
    target: Option<String>,
    features: Vec<String>,
    /// The `by` fields.
    groups: Vec<String>,
    learnt: Vec<Learnt>,
}

impl Model {
    /// Fits a model to rows.
    ///
    /// # Errors
    /// If the rows contain nothing to learn from.
    pub fn fit(
        algorithm: Algorithm,
        target: Option<&str>,
        features: &[FieldPattern],
        groups: &[String],
        learning: Learning<'_>,
        rows: &Rows,
    ) -> Result<Self, Error> {
        let Learning { settings, stop } = learning;
        let mut names = rows.matching(features);
        names.retain(|name| Some(name.as_str()) != target && !groups.contains(name));
        if names.is_empty() {
            let message = format!("fit {}: no row has a field to learn from", algorithm.name());
            return Err(Error::invalid_anywhere(message));
        }
        let mut model = Self {
            algorithm,
            target: target.map(str::to_owned),
            features: names,
            groups: groups.to_vec(),
            learnt: Vec::new(),
        };
        model.learnt = match algorithm {
            Algorithm::DensityFunction => density::fit(&model, settings, rows)?,
            Algorithm::KMeans => clusters::fit(&model, settings.clusters, rows, stop)?,
            Algorithm::LinearRegression => {
                regression::linear(&model, settings.intercept, rows, stop)?
            }
            Algorithm::LogisticRegression => {
                regression::logistic(&model, settings.intercept, rows, stop)?
            }
            Algorithm::StandardScaler => scaled(&model, settings, rows)?,
        };
        Ok(model)
    }

    /// Applies the model to rows. The output field has the name `output`, if there is one.
    ///
    /// # Errors
    /// If SPL has no values of the type of a column.
    pub fn apply(
        &self,
        mut rows: Rows,
        settings: &Settings,
        output: Option<&str>,
    ) -> Result<Rows, Error> {
        match self.algorithm {
            Algorithm::DensityFunction => density::apply(self, settings, output, &mut rows)?,
            Algorithm::KMeans => clusters::apply(self, output, &mut rows)?,
            Algorithm::LinearRegression => {
                let predicted = regression::numbers(self, &rows)?;
                rows.set_numbers(&self.output(output), predicted);
            }
            Algorithm::LogisticRegression => {
                let classes = regression::classes(self, &rows)?;
                rows.set_texts(&self.output(output), classes);
            }
            Algorithm::StandardScaler => self.scale(output, &mut rows)?,
        }
        Ok(rows)
    }

    fn output(&self, output: Option<&str>) -> String {
        let target = self.target.as_deref().unwrap_or_default();
        output.map_or_else(|| format!("predicted({target})"), str::to_owned)
    }

    /// Returns the model as rows of a lookup.
    #[must_use]
    pub fn to_rows(&self) -> Rows {
        let mut parts: Vec<[Option<String>; 5]> = Vec::new();
        let mut part = |part: &str, name: &str| {
            parts.push([Some(part.to_owned()), None, Some(name.to_owned()), None, None]);
        };
        part("algorithm", self.algorithm.name());
        self.target.iter().for_each(|target| part("target", target));
        self.features.iter().for_each(|feature| part("feature", feature));
        self.groups.iter().for_each(|group| part("by", group));
        for learnt in &self.learnt {
            parts.push([
                Some("learnt".to_owned()),
                Some(learnt.group.clone()),
                Some(learnt.name.clone()),
                learnt.category.clone(),
                Some(format!("{:?}", learnt.value)),
            ]);
        }
        let mut rows = Rows::blank(parts.len());
        for (at, name) in COLUMNS.iter().enumerate() {
            rows.set_texts(name, parts.iter().map(|part| part[at].clone()));
        }
        rows
    }

    /// Reads a model from the rows of a lookup.
    ///
    /// # Errors
    /// If the rows are not those of a model.
    pub fn of_rows(rows: &Rows) -> Result<Self, Error> {
        let texts: Vec<Vec<Option<String>>> =
            COLUMNS.iter().map(|name| rows.texts(name)).collect::<Result<_, _>>()?;
        let cell = |column: usize, row: usize| texts[column][row].clone().unwrap_or_default();
        let invalid = || Error::invalid_anywhere("the file of the model is not one that fit wrote");
        let mut model = Self {
            algorithm: Algorithm::StandardScaler,
            target: None,
            features: Vec::new(),
            groups: Vec::new(),
            learnt: Vec::new(),
        };
        let mut known = false;
        for (row, category) in texts[3].iter().enumerate() {
            let name = cell(2, row);
            match cell(0, row).as_str() {
                "algorithm" => {
                    model.algorithm = Algorithm::find(&name).ok_or_else(invalid)?;
                    known = true;
                }
                "target" => model.target = Some(name),
                "feature" => model.features.push(name),
                "by" => model.groups.push(name),
                "learnt" => {
                    let value = cell(4, row).parse().map_err(|_| invalid())?;
                    let group = cell(1, row);
                    let category = category.clone().filter(|category| !category.is_empty());
                    model.learnt.push(Learnt { group, name, category, value });
                }
                _ => return Err(invalid()),
            }
        }
        if known { Ok(model) } else { Err(invalid()) }
    }

    fn scale(&self, output: Option<&str>, rows: &mut Rows) -> Result<(), Error> {
        for feature in &self.features {
            let of = |part: &str| {
                let mut learnt = self.learnt.iter();
                let is_it = |learnt: &&Learnt| learnt.name == *feature && learnt.group == part;
                learnt.find(is_it).map(|learnt| learnt.value)
            };
            let (Some(mean), Some(deviation)) = (of("mean"), of("std")) else { continue };
            let numbers = rows.numbers(feature)?.into_iter();
            let scaled = numbers.map(|number| Some((number? - mean) / deviation));
            let prefix = output.map_or("SS", |output| output);
            rows.set_numbers(&format!("{prefix}_{feature}"), scaled.collect::<Vec<_>>());
        }
        Ok(())
    }
}

/// The columns of the lookup of a model.
const COLUMNS: [&str; 5] = ["part", "group", "name", "category", "value"];

fn scaled(model: &Model, settings: &Settings, rows: &Rows) -> Result<Vec<Learnt>, Error> {
    let mut learnt = Vec::new();
    for feature in &model.features {
        let numbers: Vec<f64> = rows.numbers(feature)?.into_iter().flatten().collect();
        if numbers.is_empty() {
            continue;
        }
        let (mean, deviation) = moments(&numbers);
        let mean = if settings.with_mean { mean } else { 0.0 };
        let scales = settings.with_deviation && deviation > 0.0;
        let deviation = if scales { deviation } else { 1.0 };
        learnt.push(Learnt::new("mean", feature, None, mean));
        learnt.push(Learnt::new("std", feature, None, deviation));
    }
    match learnt.is_empty() {
        true => Err(Error::invalid_anywhere("fit StandardScaler: no field has a number")),
        false => Ok(learnt),
    }
}

/// Returns mean and standard deviation of a population.
#[allow(clippy::cast_precision_loss)]
fn moments(numbers: &[f64]) -> (f64, f64) {
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let squares = numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>();
    (mean, (squares / count).sqrt())
}

#[cfg(test)]
mod tests;
