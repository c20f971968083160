//! `sendalert` and `sendemail`: run an alert action with the rows, and pass the rows on.
//!
//! Split: runs at the search head, over all rows.

use frames::Frame;
use futures::future::BoxFuture;
use spl::ast::{SendalertCommand, SendemailCommand};

use super::{CommandPlan, Input, OutputFields, Place, RequiredFields, Step};
use crate::{Action, Error, MessageKind};
use context::planning::PlanningContext;
use context::stage::{Breaker, Rows, TableOp};

impl CommandPlan for SendalertCommand {
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
        Ok(alert(self, input.frame))
    }
}

pub(super) fn alert(command: &SendalertCommand, frame: Frame) -> Step {
    let action =
        Action { name: command.action.node.clone(), parameters: command.parameters.clone() };
    Step::Materialize(frame, Breaker::table(Act(action)))
}

pub(super) fn email(command: &SendemailCommand, frame: Frame) -> Step {
    let action = Action { name: "email".to_owned(), parameters: command.options.clone() };
    Step::Materialize(frame, Breaker::table(Act(action)))
}

#[derive(Debug)]
struct Act(Action);

impl TableOp for Act {
    fn apply<'a>(
        &'a self,
        rows: Rows,
        env: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            if !env.is_dry_run()
                && let Err(error) = env.context.host.act(&self.0, &rows).await
            {
                // A failed action is only a message, as the rows are valid without it.
                let text = format!("the action \"{}\" was not carried out: {error}", self.0.name);
                env.log.add(MessageKind::Warning, text);
            }
            Ok(rows)
        })
    }
}
