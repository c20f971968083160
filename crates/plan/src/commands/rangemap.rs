//! `rangemap`: the names of the ranges that contain a number.
//!
//! Split: runs where the rows are.

use exprs::kernel::multi;
use spl::ast::RangemapCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use crate::value::parse_number;

impl CommandPlan for RangemapCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(&self.field.node);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        let bound = |text: &str| parse_number(text).unwrap_or(f64::NAN);
        let ranges: Vec<(String, f64, f64)> = self
            .ranges
            .iter()
            .map(|range| (range.name.clone(), bound(&range.least), bound(&range.greatest)))
            .collect();
        let default = self.default.clone();
        let parameters = format!("{ranges:?} {default}");
        let name = multi("rangemap", move |row, out| {
            let number = row.value(0).number();
            let mut found = false;
            for (name, least, greatest) in &ranges {
                if number.is_some_and(|number| *least <= number && number <= *greatest) {
                    out.append_value(name);
                    found = true;
                }
            }
            if !found {
                out.append_value(&default);
            }
            Some(())
        });
        let value = name.with(parameters).call(vec![frame.field(&self.field.node)]);
        frame.with_columns(vec![(TARGET.to_owned(), value)]).map(Step::Next)
    }
}

/// Default output field.
const TARGET: &str = "range";
