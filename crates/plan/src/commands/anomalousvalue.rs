//! `anomalousvalue`: values that are rare or far from the mean.
//!
//! Split: runs at the search head, over all rows. A number is anomalous if its distance from the mean is
//! improbable in a normal distribution; any other value is anomalous if it is rare.

use frames::Frame;
use spl::ast::{AnomalousvalueCommand, AnomalousvalueOptions, FieldPattern};
use tables::analysis::anomalousvalue::Anomalousvalue;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use crate::value::parse_number;
use context::stage::Breaker;

impl CommandPlan for AnomalousvalueCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.patterns_or_all(&self.fields);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(&self.options, &self.fields, input.frame)
    }
}

pub(super) fn plan(
    options: &AnomalousvalueOptions,
    fields: &[FieldPattern],
    frame: Frame,
) -> Result<Step, Error> {
    let share = |text: &str| {
        parse_number(text)
            .ok_or_else(|| Error::invalid_anywhere(format!("\"{text}\" is not a number")))
    };
    let op = Anomalousvalue {
        action: options.action,
        threshold: share(&options.pthresh)?,
        least_count: usize::try_from(options.minsupcount).unwrap_or(usize::MAX),
        least_support: share(&options.minsupfreq)?,
        most_anomalous: share(&options.maxanofreq)?,
        least_anomalous: share(&options.minnormfreq)?,
        fields: fields.to_vec(),
    };
    Ok(Step::Materialize(frame, Breaker::table(op)))
}
