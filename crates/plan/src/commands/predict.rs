//! `predict`: forecasts of time series.
//!
//! Split: runs at the search head, over all rows.

use spl::ast::{PredictAlgorithm, PredictCommand};
use tables::series::predict::Predict;

use super::composed::timed;
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::stage::Breaker;

impl CommandPlan for PredictCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        for group in &self.groups {
            group.fields.iter().for_each(|field| fields.name(&field.field.node));
            fields.fields(&group.options.correlate);
        }
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let span = input.span();
        let Input { frame, env, .. } = input;
        let frame = timed(frame, TIME)?;
        if frame.kind(TIME).is_none() {
            let message = "predict needs the field _time; use it after timechart";
            return Err(Error::at(message, span));
        }
        for group in &self.groups {
            let fields = group.fields.len();
            let options = &group.options;
            match options.algorithm {
                PredictAlgorithm::Bivariate if options.correlate.is_none() => {
                    return Err(Error::at("algorithm=LLB needs correlate=<field>", span));
                }
                PredictAlgorithm::Both if fields != 2 => {
                    return Err(Error::at("algorithm=BiLL predicts two fields together", span));
                }
                _ => {}
            }
            if options.future_timespan > u64::try_from(env.context.limits.bins).unwrap_or(u64::MAX)
            {
                return Err(Error::at(
                    "future_timespan is too large (maxbins in limits.conf [discretize])",
                    span,
                ));
            }
        }
        let op = Predict { groups: self.groups.clone(), zone: env.context.timezone.clone() };
        Ok(Step::Materialize(frame, Breaker::table(op)))
    }
}

const TIME: &str = "_time";
