//! `fieldsummary`: a row of statistics for each field.
//!
//! Split: indexers summarize the values of each field; the search head merges the summaries and turns them
//! into rows.

use exprs::aggregates::{FIELD_NUMBERS, field_values};
use spl::ast::FieldsummaryCommand;
use tables::analysis::fieldsummary::Fieldsummary;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, TwoStep};
use context::stage::Breaker;

impl CommandPlan for FieldsummaryCommand {
    fn place(&self) -> Place {
        Place::TwoStep(TwoStep::Aggregate)
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.patterns_or_all(&self.fields);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        let listed = usize::try_from(self.maxvals).unwrap_or(usize::MAX);
        let wanted = |name: &String| match self.fields.is_empty() {
            true => !name.starts_with('_'),
            false => self.fields.iter().any(|pattern| pattern.matches(name)),
        };
        let fields = frame.names().into_iter().filter(wanted);
        let values = fields.map(|name| {
            let values = field_values(frame.field(&name), listed);
            (name, values)
        });
        let summaries = frame.clone().aggregate(Vec::new(), values.collect())?;
        let op = Fieldsummary { values: listed, numbers: &FIELD_NUMBERS };
        Ok(Step::Materialize(summaries, Breaker::table(op)))
    }
}
