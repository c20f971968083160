//! `multireport`: runs several pipelines over the current rows, and appends their results to each other.
//!
//! Split: the search head runs the pipelines over the rows that it has collected.

use frames::Frame;
use futures::future::BoxFuture;
use spl::ast::{MultireportCommand, Pipeline};

use super::required::add_commands;
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::planning::{PlanningContext, plan_stage};
use context::run::run_to_rows;
use context::stage::{Breaker, Rows, TableOp};

impl CommandPlan for MultireportCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        for report in &self.reports {
            add_commands(fields, &report.pipeline.commands);
        }
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let pipelines = self.reports.iter().map(|report| (*report.pipeline).clone()).collect();
        Ok(Step::Materialize(input.frame, Breaker::table(Reports(pipelines))))
    }
}

/// The pipelines; their results are appended in this order.
#[derive(Debug)]
struct Reports(Vec<Pipeline>);

impl TableOp for Reports {
    fn apply<'a>(
        &'a self,
        rows: Rows,
        env: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            let mut all: Option<Rows> = None;
            for pipeline in &self.0 {
                let frame = Frame::of_rows(rows.clone())?;
                let report =
                    run_to_rows(plan_stage(frame, &pipeline.commands, env).await?, env).await?;
                all = Some(match all {
                    Some(before) => before.append(report)?,
                    None => report,
                });
            }
            Ok(all.unwrap_or_default())
        })
    }
}
