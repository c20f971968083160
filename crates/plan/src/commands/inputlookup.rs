//! `inputlookup` and `inputcsv`: the rows of a lookup, alone or appended to other rows.
//!
//! Split: runs at the search head.

use exprs::predicate;
use frames::Frame;
use futures::future::BoxFuture;
use spl::ast::{InputlookupCommand, Span};

use super::{Begin, CommandPlan, First, Input, Origin, OutputFields, Place, RequiredFields, Step};
use crate::{Error, LookupSource, MessageKind};
use context::lookup;
use context::planning::{PlanningContext, SourceRows};
use context::run::collect;
use context::stage::stack::Stack;
use context::stage::{Breaker, Rows, TableOp};

impl CommandPlan for InputlookupCommand {
    fn place(&self) -> Place {
        Place::Generating(Origin::SearchHead)
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn begin<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Begin, Error>> {
        Box::pin(async move { start(self, Named::Lookup, first.env).await.map(Begin::Rows) })
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(self, Named::Lookup, input.frame, input.command.span)
    }
}

/// The kind of object that a name refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    /// A lookup definition or a lookup file.
    Lookup,
    /// A file; the extension `.csv` may be omitted.
    File,
}

pub(super) async fn start(
    command: &InputlookupCommand,
    named: Named,
    env: &PlanningContext<'_>,
) -> Result<SourceRows, Error> {
    let frame = frame(command, named, env).await?;
    let range = env.context.range;
    Ok(SourceRows { frame, range, indexes: Vec::new(), messages: Vec::new() })
}

/// Plans the command; with `append=`, its rows follow the current rows.
pub(super) fn plan(
    command: &InputlookupCommand,
    named: Named,
    frame: Frame,
    span: Span,
) -> Result<Step, Error> {
    if !command.append {
        let message = "this command begins a search, or is used with append=true after other rows";
        return Err(Error::at(message, span));
    }
    Ok(Step::Materialize(frame, Breaker::table(Append { command: command.clone(), named })))
}

#[derive(Debug)]
struct Append {
    command: InputlookupCommand,
    named: Named,
}

impl TableOp for Append {
    fn apply<'a>(
        &'a self,
        rows: Rows,
        env: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            let frame = frame(&self.command, self.named, env).await?;
            let (plan, columns) = frame.finish()?;
            let mut stack = Stack::new(env)?;
            stack.push(rows)?;
            stack.push(collect(&plan, &columns, env).await?)?;
            stack.stacked(usize::MAX)
        })
    }
}

async fn frame(
    command: &InputlookupCommand,
    named: Named,
    env: &PlanningContext<'_>,
) -> Result<Frame, Error> {
    let rows = match Box::pin(rows(command, named, env)).await {
        Ok(rows) => rows,
        Err(Error::Invalid { message, .. }) if !command.strict => {
            env.log.add(MessageKind::Warning, message);
            Rows::blank(0)
        }
        Err(Error::Invalid { message, span: None }) => {
            return Err(Error::at(message, command.name.span));
        }
        Err(error) => return Err(error),
    };
    let start = usize::try_from(command.start).unwrap_or(usize::MAX);
    let mut rows = rows.slice(start, rows.count);
    let max = command.max.map(|max| usize::try_from(max).unwrap_or(usize::MAX));
    if let (None, Some(max)) = (&command.filter, max) {
        rows = rows.slice(0, max);
    }
    let mut frame = Frame::of_rows(rows)?;
    if let Some(expr) = command.filter.as_ref().and_then(|filter| filter.expr.as_ref()) {
        let condition = predicate::compile_search(expr, &env.scope(&frame))?;
        frame = frame.filter(condition)?;
        if let Some(max) = max {
            frame = frame.limit(max);
        }
    }
    Ok(frame)
}

async fn rows(
    command: &InputlookupCommand,
    named: Named,
    env: &PlanningContext<'_>,
) -> Result<Rows, Error> {
    let name = &command.name.node;
    match named {
        Named::Lookup => {
            let definition = lookup::table(name, env.context)?;
            let (_, rows) = lookup::read(name, env.context).await?;
            let mut rows = rows.as_ref().clone();
            // A collection returns the fields of its definition; keys are returned only if they are among
            // them.
            if !definition.fields.is_empty() {
                rows.columns.retain(|column| definition.fields.contains(&column.name));
                for field in &definition.fields {
                    if rows.column(field).is_none() {
                        let nulls = vec![None::<String>; rows.count];
                        rows.set_texts(field, nulls);
                    }
                }
            }
            Ok(rows)
        }
        Named::File => {
            let file = super::outputlookup::file_name(name);
            let found = env.context.host.read_lookup(&LookupSource::File(file)).await?;
            let missing = || Error::invalid_anywhere(format!("the file \"{name}\" does not exist"));
            Ok(found.ok_or_else(missing)?.as_ref().clone())
        }
    }
}
