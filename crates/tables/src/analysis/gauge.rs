//! One row with a value and the bounds of the ranges for its display.

use eval::value::parse_number;
use spl::ast::GaugeNumber;

use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::Rows;

/// One row with a value, `x`, and bounds, `y1` and so on; no row if there are no input rows.
#[derive(Debug)]
pub struct Gauge {
    /// The value.
    pub value: GaugeNumber,
    /// The bounds of the ranges; 0 and 100 if empty.
    pub bounds: Vec<GaugeNumber>,
}

impl Operation for Gauge {
    fn apply(&self, rows: Rows, _: &mut Context) -> Result<Rows, Error> {
        let mut bounds = Vec::new();
        for bound in &self.bounds {
            bounds.push(number(bound, &rows)?);
        }
        if bounds.is_empty() {
            bounds = vec![Some(0.0), Some(100.0)];
        }
        let count = rows.count.min(1);
        let mut gauge = Rows::blank(count);
        gauge.set_numbers("x", vec![number(&self.value, &rows)?; count]);
        for (at, bound) in bounds.into_iter().enumerate() {
            gauge.set_numbers(&format!("y{}", at + 1), vec![bound; count]);
        }
        Ok(gauge)
    }
}

/// Returns the number, or the first number of a field.
fn number(number: &GaugeNumber, rows: &Rows) -> Result<Option<f64>, Error> {
    match number {
        GaugeNumber::Number(text) => Ok(parse_number(text)),
        GaugeNumber::Field(field) => Ok(rows.numbers(&field.node)?.into_iter().flatten().next()),
    }
}
