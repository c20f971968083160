//! `contingency`: how often values of two fields occur together.
//!
//! Split: runs at the search head, over all rows.

use spl::ast::ContingencyCommand;
use tables::analysis::contingency::{Contingency, Side};

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use crate::value::parse_number;
use context::stage::Breaker;

impl CommandPlan for ContingencyCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(&self.row.node);
        fields.name(&self.column.node);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn reads_declared(&self) -> bool {
        true
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let side = |field: &str, most: u64, cover: &str| Side {
            field: field.to_owned(),
            most: usize::try_from(most).unwrap_or(usize::MAX),
            cover: parse_number(cover).unwrap_or(1.0),
        };
        let op = Contingency {
            rows: side(&self.row.node, self.maxrows, &self.minrowcover),
            columns: side(&self.column.node, self.maxcols, &self.mincolcover),
            total: self.usetotal.then(|| self.totalstr.clone()),
        };
        let frame = input.frame;
        Ok(Step::Materialize(frame, Breaker::table(op)))
    }
}
