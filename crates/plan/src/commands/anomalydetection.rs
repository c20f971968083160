//! `anomalydetection`: events that are improbable.
//!
//! Split: runs at the search head, over all rows. The probability of an event is the product of the
//! frequencies of its values; the frequency of a number is that of its bin in a histogram.

use spl::ast::{AnomalyMethod, AnomalydetectionCommand};
use tables::analysis::anomalydetection::Histogram;

use super::{
    CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, anomalousvalue, outlier,
};
use crate::value::parse_number;
use context::stage::Breaker;

impl CommandPlan for AnomalydetectionCommand {
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
        let frame = input.frame;
        match &self.method {
            AnomalyMethod::Zscore(options) => anomalousvalue::plan(options, &self.fields, frame),
            AnomalyMethod::Iqr(options) => outlier::plan(options, &self.fields, frame),
            AnomalyMethod::Histogram { action, pthresh, cutoff } => {
                let threshold = pthresh.as_deref().and_then(parse_number).map(f64::ln);
                let fields = self.fields.clone();
                let op = Histogram { action: *action, threshold, cutoff: *cutoff, fields };
                Ok(Step::Materialize(frame, Breaker::table(op)))
            }
        }
    }
}
