//! `fieldsummary`: a row of statistics for each field.
//!
//! Split: runs at the search head, over all rows.

use std::collections::HashMap;

use async_trait::async_trait;
use exprs::required_fields::wildcard;
use serde_json::json;
use spl::ast::{FieldPattern, FieldsummaryCommand};

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use crate::context::PlanningContext;
use crate::stage::{Breaker, Rows, TableOp};
use crate::value::{NumberText, parse_number};

impl CommandPlan for FieldsummaryCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.patterns_or_all(&self.fields);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        let values = usize::try_from(self.maxvals).unwrap_or(usize::MAX);
        let op = Fieldsummary { values, fields: self.fields.clone() };
        Ok(Step::Materialize(frame, Breaker::table(op)))
    }
}

#[derive(Debug)]
struct Fieldsummary {
    /// How many values are listed.
    values: usize,
    fields: Vec<FieldPattern>,
}

impl Fieldsummary {
    fn wants(&self, name: &str) -> bool {
        let named = self.fields.iter().any(|pattern| wildcard(&pattern.text, name));
        named || (self.fields.is_empty() && !name.starts_with('_'))
    }
}

#[async_trait]
impl TableOp for Fieldsummary {
    async fn apply(&self, rows: Rows, _: &PlanningContext<'_>) -> Result<Rows, Error> {
        let mut records = Vec::new();
        for name in rows.names().iter().filter(|name| self.wants(name)) {
            let lists = rows.lists(name)?;
            let summary = Summary::of(lists.iter().flatten());
            if summary.count > 0 {
                let cells = summary.cells(self.values);
                let field = ("field".to_owned(), vec![name.clone()]);
                records.push(std::iter::once(field).chain(cells).collect());
            }
        }
        Ok(Rows::of_records(records))
    }
}

/// What is known of the values of a field.
#[derive(Default)]
struct Summary<'v> {
    count: usize,
    numbers: Vec<f64>,
    counts: HashMap<&'v str, usize>,
}

impl<'v> Summary<'v> {
    fn of(values: impl Iterator<Item = &'v String>) -> Self {
        let mut summary = Self::default();
        for value in values {
            summary.count += 1;
            summary.numbers.extend(parse_number(value));
            *summary.counts.entry(value).or_default() += 1;
        }
        summary
    }

    fn cells(&self, values: usize) -> Vec<(String, Vec<String>)> {
        let mut counts: Vec<(&str, usize)> = self.counts.iter().map(|(v, n)| (*v, *n)).collect();
        counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let listed = counts.iter().take(values);
        let listed: Vec<_> = listed.map(|(value, n)| json!({"value": value, "count": n})).collect();
        let is_exact = counts.len() <= values;
        let number = |number: f64| vec![NumberText::float(number).to_string()];
        let mut cells = vec![
            ("count", vec![self.count.to_string()]),
            ("distinct_count", vec![counts.len().to_string()]),
            ("is_exact", vec![u8::from(is_exact).to_string()]),
            ("max", Vec::new()),
            ("mean", Vec::new()),
            ("min", Vec::new()),
            ("numeric_count", vec![self.numbers.len().to_string()]),
            ("stdev", Vec::new()),
            ("values", vec![serde_json::Value::from(listed).to_string()]),
        ];
        if let Some((mean, deviation)) = moments(&self.numbers) {
            let extreme = |pick: fn(f64, f64) -> f64| self.numbers.iter().copied().reduce(pick);
            cells[3].1 = extreme(f64::max).map(number).unwrap_or_default();
            cells[4].1 = number(mean);
            cells[5].1 = extreme(f64::min).map(number).unwrap_or_default();
            cells[7].1 = number(deviation);
        }
        cells.into_iter().map(|(name, values)| (name.to_owned(), values)).collect()
    }
}

/// The mean and the standard deviation of a sample.
#[allow(clippy::cast_precision_loss)]
fn moments(numbers: &[f64]) -> Option<(f64, f64)> {
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    let deviation = if numbers.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
    (!numbers.is_empty()).then_some((mean, deviation))
}
