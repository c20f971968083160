//! `overlap`: finds gaps and overlaps in the time ranges covered by a summary index.
//!
//! Split: runs at the search head, over all rows.

use spl::ast::OverlapCommand;
use tables::analysis::overlap::Overlap;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::stage::Breaker;

impl CommandPlan for OverlapCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        for name in ["search_name", "info_min_time", "info_max_time"] {
            fields.name(name);
        }
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        Ok(Step::Materialize(frame, Breaker::table(Overlap)))
    }
}
