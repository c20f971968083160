//! `setfields`: the same values in all rows.
//!
//! Split: runs where the rows are.

use exprs::Typed;
use exprs::types::ValueType;
use spl::ast::SetfieldsCommand;

use super::composed::is_text;
use super::eval::{convert, is_time};
use super::required::is_source;
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};

impl CommandPlan for SetfieldsCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        self.values.iter().for_each(|(field, _)| fields.name(&field.node));
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn changes_source(&self) -> bool {
        self.values.iter().any(|(field, _)| is_source(&field.node))
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let mut frame = input.frame;
        for (field, text) in &self.values {
            let value = Typed::text(text);
            let is_text = is_text(text);
            let is_time = is_time(&field.node) && !is_text;
            let value = if is_time { convert(value, ValueType::Time) } else { value };
            frame = frame.with_columns(vec![(field.node.clone(), value)])?;
            frame = frame.with_composed(is_text.then(|| field.node.clone()));
        }
        Ok(Step::Next(frame))
    }
}
