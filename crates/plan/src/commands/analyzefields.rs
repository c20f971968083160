//! `analyzefields`: how well numbers predict a field.
//!
//! Split: runs at the search head, over all rows. A number predicts the class whose mean it is
//! nearest to, in deviations of the numbers of that class.

use std::collections::BTreeMap;

use async_trait::async_trait;
use spl::ast::AnalyzefieldsCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, sample};
use crate::context::PlanningContext;
use crate::stage::{Breaker, Record, Rows, TableOp};
use crate::value::NumberText;

impl CommandPlan for AnalyzefieldsCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.all();
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        Ok(Step::Materialize(frame, Breaker::table(Analyzefields(self.classfield.node.clone()))))
    }
}

#[derive(Debug)]
struct Analyzefields(String);

#[async_trait]
impl TableOp for Analyzefields {
    async fn apply(&self, rows: Rows, _: &PlanningContext<'_>) -> Result<Rows, Error> {
        let classes = rows.texts(&self.0)?;
        let names = sample::fields(&rows, &[]);
        let mut records = Vec::new();
        for name in names.into_iter().filter(|name| *name != self.0) {
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

/// What is known of a field: how many rows have it, and how good it is.
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
        by_class.values().filter_map(|numbers| sample::moments(numbers)).collect();
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
        (sample::number(right.count()), sample::number(numbers.len()))
    });
    let hits: Vec<(f64, f64)> = hits.collect();
    let right: f64 = hits.iter().map(|(right, _)| right).sum();
    let balanced: f64 = hits.iter().map(|(right, all)| right / all).sum();
    let with_class = classes.iter().flatten().count();
    let count = numbers.iter().flatten().count();
    let share = |part: f64, all: usize| match all {
        0 => Vec::new(),
        all => vec![NumberText::float(part / sample::number(all)).to_string()],
    };
    let cells = [
        ("field", vec![name]),
        ("count", vec![count.to_string()]),
        ("cocur", share(sample::number(both), with_class)),
        ("acc", share(right, both)),
        ("balacc", share(balanced, hits.len())),
    ];
    cells.into_iter().map(|(name, values)| (name.to_owned(), values)).collect()
}
