//! `kmeans`: clusters rows with similar numbers.
//!
//! Split: runs at the search head, over all rows. The starting points are random with a fixed seed, so that
//! the same rows give the same clusters.

use spl::ast::{FieldPattern, KmeansCommand};
use tables::analysis::kmeans::Kmeans;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use crate::value::parse_number;
use context::stage::Breaker;

impl CommandPlan for KmeansCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.patterns_or_all(&self.fields);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn reads_declared(&self) -> bool {
        !self.fields.iter().any(FieldPattern::has_wildcard)
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let op = Kmeans {
            fields: self.fields.clone(),
            least: count(self.least),
            greatest: count(self.greatest),
            distance: self.distance,
            tries: self.reps,
            steps: self.maxiters,
            tolerance: parse_number(&self.t).unwrap_or(0.0),
            label_field: self.cfield.clone(),
            show_centers: self.showcentroid,
        };
        let frame = input.frame;
        Ok(Step::Materialize(frame, Breaker::table(op)))
    }
}
