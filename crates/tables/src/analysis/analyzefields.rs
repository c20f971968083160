//! How well numeric fields predict a class: the predicted class of a number is the one with the nearest mean,
//! where the distance is measured in standard deviations of the class.

use std::collections::BTreeMap;

use eval::value::NumberText;

use super::statistics;
use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::{Record, Rows};

/// A row for each numeric field: the number of rows that have it, and how well it predicts a class.
#[derive(Debug)]
pub struct Analyzefields {
    /// The field whose values are the classes.
    pub class: String,
}

impl Operation for Analyzefields {
    fn apply(&self, rows: Rows, _: &mut Context) -> Result<Rows, Error> {
        let classes = rows.texts(&self.class)?;
        let names = rows.matching(&[]);
        let mut records = Vec::new();
        for name in names.into_iter().filter(|name| *name != self.class) {
            let numbers = rows.numbers(&name)?;
            let present = rows.texts(&name)?;
            let numeric =
                numbers.iter().zip(&present).all(|(n, text)| n.is_some() || text.is_none());
            if numeric && numbers.iter().any(Option::is_some) {
                records.push(record(name, &classes, &numbers));
            }
        }
        Ok(Rows::of_records(records))
    }
}

/// Returns the statistics of a field: its number of rows, and the quality of its predictions.
fn record(name: String, classes: &[Option<String>], numbers: &[Option<f64>]) -> Record {
    let mut by_class: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut both = 0;
    for (class, number) in classes.iter().zip(numbers) {
        if let (Some(class), Some(number)) = (class, number) {
            by_class.entry(class).or_default().push(*number);
            both += 1;
        }
    }
    let models: Vec<(f64, f64)> =
        by_class.values().filter_map(|numbers| statistics::moments(numbers)).collect();
    let predicted = |number: f64| {
        let away = |(mean, deviation): &(f64, f64)| match number - mean {
            0.0 => 0.0,
            distance => distance.abs() / deviation,
        };
        let distances = models.iter().map(away).enumerate();
        distances.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(class, _)| class)
    };
    let hits = by_class.values().enumerate().map(|(class, numbers)| {
        let right = numbers.iter().filter(|number| predicted(**number) == Some(class));
        (statistics::number(right.count()), statistics::number(numbers.len()))
    });
    let hits: Vec<(f64, f64)> = hits.collect();
    let right: f64 = hits.iter().map(|(right, _)| right).sum();
    let balanced: f64 = hits.iter().map(|(right, all)| right / all).sum();
    let with_class = classes.iter().flatten().count();
    let count = numbers.iter().flatten().count();
    let share = |part: f64, all: usize| match all {
        0 => Vec::new(),
        all => vec![NumberText::float(part / statistics::number(all)).to_string()],
    };
    let cells = [
        ("field", vec![name]),
        ("count", vec![count.to_string()]),
        ("cocur", share(statistics::number(both), with_class)),
        ("acc", share(right, both)),
        ("balacc", share(balanced, hits.len())),
    ];
    cells.into_iter().map(|(name, values)| (name.to_owned(), values)).collect()
}
