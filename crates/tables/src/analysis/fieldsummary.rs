//! Converts the result of the field statistics aggregate to one row per field.

use serde_json::json;

use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::Rows;

/// A row for each column of the only input row. A column contains a list: numbers about the values of
/// a field, followed by alternating values and counts.
#[derive(Debug)]
pub struct Fieldsummary {
    /// Maximum number of listed values.
    pub values: usize,
    /// The names of the numbers; a number with an empty name is skipped.
    pub numbers: &'static [&'static str],
}

impl Operation for Fieldsummary {
    fn apply(&self, rows: Rows, _: &mut Context) -> Result<Rows, Error> {
        let mut records = Vec::new();
        for name in rows.names() {
            let Some(summary) = rows.lists(&name)?.pop().filter(|summary| !summary.is_empty())
            else {
                continue;
            };
            let field = ("field".to_owned(), vec![name]);
            records.push(std::iter::once(field).chain(self.cells(&summary)).collect());
        }
        Ok(Rows::of_records(records))
    }
}

impl Fieldsummary {
    fn cells(&self, summary: &[String]) -> Vec<(String, Vec<String>)> {
        let (numbers, values) = summary.split_at(self.numbers.len().min(summary.len()));
        let (pairs, _) = values.as_chunks();
        let is_exact = pairs.len() <= self.values;
        let listed: Vec<_> = pairs
            .iter()
            .take(self.values)
            .map(|[value, count]| {
                json!({"value": value, "count": count.parse::<i64>().unwrap_or_default()})
            })
            .collect();
        let numbers = self.numbers.iter().zip(numbers).map(|(name, text)| {
            let text = Some(text.clone()).filter(|text| !text.is_empty());
            ((*name).to_owned(), text.into_iter().collect())
        });
        let mut cells: Vec<(String, Vec<String>)> = numbers.collect();
        cells.push(("is_exact".to_owned(), vec![u8::from(is_exact).to_string()]));
        cells.push(("values".to_owned(), vec![serde_json::Value::from(listed).to_string()]));
        cells.sort_by(|a, b| a.0.cmp(&b.0));
        cells
    }
}
