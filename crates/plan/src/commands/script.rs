//! `script` and the custom commands of apps: a program transforms or generates rows.
//!
//! Split: runs at the search head, over all rows before it.

use frames::Frame;
use futures::future::BoxFuture;
use knowledge::CustomCommand;
use spl::ast::ScriptCommand;

use super::{CommandPlan, Input, OutputFields, Place, RequiredFields, Step};
use crate::{Error, MessageKind, ScriptRequest};
use context::planning::PlanningContext;
use context::stage::{Breaker, Rows, TableOp};

impl CommandPlan for ScriptCommand {
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
        let (span, env) = (input.span(), input.env);
        let found = env.context.knowledge.custom_command(self.name());
        let found = found.map_err(|message| Error::at(message, span))?;
        match (found, &self.custom) {
            (Some(command), _) => {
                let run = Run { command, arguments: self.program_arguments() };
                Ok(Step::Materialize(input.frame, Breaker::table(run)))
            }
            // The command was known when the search was parsed, but not to the apps it is planned with.
            (None, Some(name)) => Err(Error::at(format!("Unknown search command '{name}'."), span)),
            (None, None) => Ok(Step::Next(not_run(self, input.frame, env))),
        }
    }
}

fn not_run(command: &ScriptCommand, frame: Frame, env: &PlanningContext<'_>) -> Frame {
    let name = command.name();
    let text = format!(
        "the script \"{name}\" was not run, and its rows are as they were before it: no app that you see \
         defines [{name}] in commands.conf"
    );
    env.log.add(MessageKind::Warning, text);
    frame
}

#[derive(Debug)]
struct Run {
    command: CustomCommand,
    arguments: String,
}

impl TableOp for Run {
    fn apply<'a>(
        &'a self,
        rows: Rows,
        env: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            // A preview would run the program again, which may have side effects.
            if env.is_dry_run() {
                return Ok(Rows::blank(0));
            }
            let limits = &env.context.limits;
            let request = ScriptRequest {
                command: self.command.clone(),
                arguments: self.arguments.clone(),
                range: env.context.range,
                first: rows.columns.is_empty() && rows.count == 0,
                max_rows: limits.stage_rows,
                max_bytes: limits.memory_bytes,
            };
            let (rows, messages) = env.context.host.run_script(&request, rows).await?;
            for message in messages {
                env.log.add(message.kind, message.text);
            }
            Ok(rows)
        })
    }
}
