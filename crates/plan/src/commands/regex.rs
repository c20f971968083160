//! `regex`: keeps rows whose field matches a regular expression.
//!
//! Split: runs where the rows are, pruned by what every match holds.

use spl::ast::RegexCommand;

use super::{CommandPlan, Input, Step};
use crate::Error;
use crate::frame::Frame;
use crate::pipeline::PlanningContext;
use crate::place::Place;
use crate::predicate::{RegexTest, regex};
use crate::required_fields::{OutputFields, RequiredFields};

impl CommandPlan for RegexCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.fields(&self.field);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(self, input.frame, input.env).map(Step::Next)
    }
}

pub(super) fn plan(
    command: &RegexCommand,
    frame: Frame,
    env: &PlanningContext<'_>,
) -> Result<Frame, Error> {
    let test = RegexTest::new(&command.pattern.node, command.negated).map_err(|reason| {
        let message = format!("the regular expression is not valid: {reason}");
        Error::at(message, command.pattern.span)
    })?;
    let name = command.field.as_ref().map_or("_raw", |field| field.node.as_str());
    let condition = regex(name, test, &env.scope(&frame));
    frame.filter(condition)
}
