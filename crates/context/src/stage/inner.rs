//! Searches within a search: where a command takes the rows of another pipeline.
//!
//! Guarantees: what the commands behind such a command mention is read by the inner search too.

use spl::Span;
use spl::ast::{
    Command, Dataset, HeadCommand, NamedDataset, NamedDatasetKind, Pipeline, Spanned,
    SubsearchOptions,
};

use super::Rows;
use crate::planning::{PlanningContext, plan_before};
use crate::run::{run_inner, within_time};
use frames::{Error, MessageKind};

/// What a command says of the size of its search; the limits bound it in any case.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bounds {
    /// `maxout=`.
    pub rows: Option<u64>,
    /// `maxtime=`.
    pub seconds: Option<u64>,
}

impl From<&SubsearchOptions> for Bounds {
    fn from(options: &SubsearchOptions) -> Self {
        Self { rows: options.maxout, seconds: options.maxtime }
    }
}

/// A search whose rows a command takes.
#[derive(Debug, Clone)]
pub struct Inner {
    pub pipeline: Pipeline,
    /// What its rows go through afterwards.
    pub tail: Vec<Spanned<Command>>,
    /// What the command says of its size.
    pub bounds: Bounds,
    /// Who takes the rows, for messages.
    pub command: &'static str,
}

impl Inner {
    /// The rows, as many as the command may take; no more than one beyond them is ever collected.
    pub async fn rows(&self, env: &PlanningContext<'_>) -> Result<Rows, Error> {
        let most = env.context.limits.joined_rows;
        let limit = self.bounds.rows.filter(|limit| *limit > 0);
        let most = limit.map_or(most, |limit| most.min(usize::try_from(limit).unwrap_or(most)));
        let mut pipeline = self.pipeline.clone();
        let span = pipeline.commands.last().map_or_else(Span::default, |command| command.span);
        let limit = Some(u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1));
        let head = HeadCommand { limit, condition: None, keeplast: false, null: false };
        pipeline.commands.push(Spanned::new(Command::Head(head), span));
        let rows = self.run(&pipeline, env).await?;
        if rows.count <= most {
            return Ok(rows);
        }
        let text = format!(
            "{} took the first {most} rows of its subsearch, which has more (maxout)",
            self.command
        );
        env.log.add(MessageKind::Warning, text);
        Ok(rows.slice(0, most))
    }

    /// The rows, as many as a stage may hold.
    pub async fn all_rows(&self, env: &PlanningContext<'_>) -> Result<Rows, Error> {
        self.run(&self.pipeline, env).await
    }

    async fn run(&self, pipeline: &Pipeline, env: &PlanningContext<'_>) -> Result<Rows, Error> {
        let env = env.deeper()?;
        let planned = plan_before(pipeline, Some(&self.tail), &env).await?;
        for message in &planned.messages {
            env.log.add(message.kind, message.text.clone());
        }
        let rows = run_inner(planned, Some(&self.tail), &env);
        within_time(self.command, self.bounds.seconds, &env, rows).await
    }
}

/// The commands that give the rows of a dataset.
pub fn pipeline_of(dataset: &Dataset) -> Result<Pipeline, Error> {
    let named = match dataset {
        Dataset::Subsearch(subsearch) => return Ok((*subsearch.pipeline).clone()),
        Dataset::Named(named) => named,
    };
    let NamedDataset { kind, name, span } = named;
    let name = crate::subsearch::quoted(name);
    let text = match kind {
        NamedDatasetKind::Datamodel => format!("| from datamodel:{name}"),
        NamedDatasetKind::Inputlookup => format!("| inputlookup {name}"),
        NamedDatasetKind::Savedsearch => format!("| savedsearch {name}"),
    };
    spl::parse(&text).map_err(|error| Error::at(error.to_string(), *span)).map(|mut pipeline| {
        pipeline.commands.iter_mut().for_each(|command| command.span = *span);
        pipeline
    })
}
