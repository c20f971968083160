//! `sendalert` and `sendemail`: something is done with the rows, which go on.
//!
//! Split: runs at the search head, over all rows.

use async_trait::async_trait;
use spl::ast::{SendalertCommand, SendemailCommand};

use super::Step;
use crate::frame::Frame;
use crate::pipeline::Env;
use crate::stage::{Finish, Rows, TableOp};
use crate::{Action, Error, MessageKind};

pub(super) fn alert(command: &SendalertCommand, frame: Frame) -> Step {
    let action =
        Action { name: command.action.node.clone(), parameters: command.parameters.clone() };
    Step::Finish(frame, Finish::table(Act(action)))
}

pub(super) fn email(command: &SendemailCommand, frame: Frame) -> Step {
    let action = Action { name: "email".to_owned(), parameters: command.options.clone() };
    Step::Finish(frame, Finish::table(Act(action)))
}

#[derive(Debug)]
struct Act(Action);

#[async_trait]
impl TableOp for Act {
    async fn apply(&self, rows: Rows, env: &Env<'_>) -> Result<Rows, Error> {
        if env.may_act()
            && let Err(error) = env.context.surroundings.act(&self.0, &rows).await
        {
            // The rows are the answer all the same.
            let text = format!("the action \"{}\" was not carried out: {error}", self.0.name);
            env.log.add(MessageKind::Warning, text);
        }
        Ok(rows)
    }
}
