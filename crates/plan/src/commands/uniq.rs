//! `uniq`: rows that are not the same as the row before.
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
        // When an event arrived is no part of what it says.
        let names = frame.names().into_iter().filter(|name| name != "_indextime");
        let arguments: Vec<_> = names.map(|name| column(&name)).collect();
        let order = frame.sort_exprs();
        let plan = frame.plan().clone();
        let node = StreamNode::try_new(plan, Arc::new(Uniq), arguments, order, Vec::new())?;
        Ok(Step::Next(frame.stream(node)))
    }
}
