//! `gauge`: one row with a value and the bounds of the ranges it is shown in.
//!
//! Split: runs at the search head, over all rows.

use async_trait::async_trait;
use spl::ast::{GaugeCommand, GaugeNumber};

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use crate::context::PlanningContext;
use crate::stage::{Breaker, Rows, TableOp};
use crate::value::parse_number;

impl CommandPlan for GaugeCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        for number in std::iter::once(&self.value).chain(&self.bounds) {
            if let GaugeNumber::Field(field) = number {
                fields.name(&field.node);
            }
        }
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        Ok(Step::Materialize(frame, Breaker::table(Gauge(self.clone()))))
    }
}

#[derive(Debug)]
struct Gauge(GaugeCommand);

#[async_trait]
impl TableOp for Gauge {
    async fn apply(&self, rows: Rows, _: &PlanningContext<'_>) -> Result<Rows, Error> {
        let mut bounds = Vec::new();
        for bound in &self.0.bounds {
            bounds.push(number(bound, &rows)?);
        }
        if bounds.is_empty() {
            bounds = vec![Some(0.0), Some(100.0)];
        }
        let count = rows.count.min(1);
        let mut gauge = Rows::blank(count);
        gauge.set_numbers("x", vec![number(&self.0.value, &rows)?; count]);
        for (at, bound) in bounds.into_iter().enumerate() {
            gauge.set_numbers(&format!("y{}", at + 1), vec![bound; count]);
        }
        Ok(gauge)
    }
}

/// The number, or the first one of a field.
fn number(number: &GaugeNumber, rows: &Rows) -> Result<Option<f64>, Error> {
    match number {
        GaugeNumber::Number(text) => Ok(parse_number(text)),
        GaugeNumber::Field(field) => Ok(rows.numbers(&field.node)?.into_iter().flatten().next()),
    }
}
