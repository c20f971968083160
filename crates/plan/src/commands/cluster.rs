//! `cluster`: groups similar events.
//!
//! Split: runs at the search head, over all rows: each event is compared with the first event of each
//! existing cluster.

use spl::ast::ClusterCommand;
use tables::analysis::cluster::Cluster;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::stage::Breaker;

impl CommandPlan for ClusterCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(&self.field);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        let threshold = self.t.parse::<f64>();
        let Some(threshold) = threshold.ok().filter(|t| 0.0 < *t && *t < 1.0) else {
            return Err(Error::invalid_anywhere("t= must be a number between 0 and 1"));
        };
        let op = Cluster {
            threshold,
            field: self.field.clone(),
            matching: self.matching,
            delimiters: self.delims.clone(),
            label_only: self.labelonly,
            label_field: self.labelfield.clone(),
            count_field: self.showcount.then(|| self.countfield.clone()),
        };
        Ok(Step::Materialize(frame, Breaker::table(op)))
    }
}
