//! `outlier`: numbers far from the others.
//!
//! Split: runs at the search head, over all rows.

use frames::Frame;
use spl::ast::{FieldPattern, OutlierCommand, OutlierOptions};
use tables::analysis::outlier::Outlier;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use crate::value::parse_number;
use context::stage::Breaker;

impl CommandPlan for OutlierCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.patterns_or_all(&self.fields);
    }

    fn output_fields(&self) -> OutputFields {
        if self.fields.is_empty() { OutputFields::Unchanged } else { OutputFields::Collected }
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(&self.options, &self.fields, input.frame)
    }
}

pub(super) fn plan(
    options: &OutlierOptions,
    fields: &[FieldPattern],
    frame: Frame,
) -> Result<Step, Error> {
    let reach = parse_number(&options.param);
    let op = Outlier {
        action: options.action,
        mark: options.mark,
        lower: options.uselower,
        reach: reach.ok_or_else(|| Error::invalid_anywhere("param= is a number"))?,
        fields: fields.to_vec(),
    };
    Ok(Step::Materialize(frame, Breaker::table(op)))
}
