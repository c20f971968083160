//! A row of statistics for each field.

use std::collections::HashMap;

use eval::value::{NumberText, parse_number};
use serde_json::json;
use spl::ast::FieldPattern;

use super::statistics::moments;
use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::Rows;

/// A row of statistics for each field.
#[derive(Debug)]
pub struct Fieldsummary {
    /// How many values are listed.
    pub values: usize,
    /// The fields; all that are not internal if empty.
    pub fields: Vec<FieldPattern>,
}

impl Fieldsummary {
    fn wants(&self, name: &str) -> bool {
        let named = self.fields.iter().any(|pattern| pattern.matches(name));
        named || (self.fields.is_empty() && !name.starts_with('_'))
    }
}

impl Operation for Fieldsummary {
    fn apply(&self, rows: Rows, _: &mut Context) -> Result<Rows, Error> {
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
