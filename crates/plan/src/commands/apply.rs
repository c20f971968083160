//! `apply`: applies a model of `fit` to each row.
//!
//! Split: each row is processed independently.

use futures::future::BoxFuture;
use spl::ast::{ApplyCommand, Spanned};
use tables::learning::{Model, Settings};

use super::fit::{file_of, settings};
use super::{CommandPlan, Input, OutputFields, Place, RequiredFields, Step};
use crate::{Error, LookupSource};
use context::planning::PlanningContext;
use context::stage::{Breaker, Rows, TableOp};

impl CommandPlan for ApplyCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    /// The fields that the model reads are unknown until the model is read.
    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.all();
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let op = Apply {
            model: self.model.clone(),
            file: file_of(&self.model)?,
            settings: settings(&self.parameters, input.env.log)?,
            alias: self.alias.clone(),
        };
        Ok(Step::Materialize(input.frame, Breaker::table(op)))
    }
}

#[derive(Debug)]
struct Apply {
    model: Spanned<String>,
    file: LookupSource,
    settings: Settings,
    alias: Option<String>,
}

impl TableOp for Apply {
    fn apply<'a>(
        &'a self,
        rows: Rows,
        env: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            let Some(kept) = env.context.host.read_lookup(&self.file).await? else {
                let name = &self.model.node;
                let message =
                    format!("there is no model \"{name}\"; make it with fit ... into {name}");
                return Err(Error::at(message, self.model.span));
            };
            let model = Model::of_rows(&kept)?;
            Ok(model.apply(rows, &self.settings, self.alias.as_deref())?)
        })
    }
}
