//! `uniq`: removes rows that equal the previous row.
//!
//! Split: runs at the search head, which sees rows in order.

use std::sync::Arc;

use frames::column;
use frames::stream::{StreamNode, Uniq};
use spl::ast::UniqCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};

impl CommandPlan for UniqCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.all();
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        // The index time is not part of the content of an event.
        let names = frame.names().into_iter().filter(|name| name != "_indextime");
        let arguments: Vec<_> = names.map(|name| column(&name)).collect();
        let order = frame.sort_exprs();
        let plan = frame.plan().clone();
        let node = StreamNode::try_new(plan, Arc::new(Uniq), arguments, order, Vec::new())?;
        Ok(Step::Next(frame.stream(node)))
    }
}
