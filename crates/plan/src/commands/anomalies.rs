//! `anomalies`: how unexpected events are.
//!
//! Split: runs at the search head, over all rows in order. The information of a set of texts is measured by
//! its number of distinct character trigrams. The unexpectedness of an event is the share of trigrams that it
//! adds to those of the preceding events.

use futures::future::BoxFuture;
use spl::ast::{AnomaliesCommand, Field};
use tables::analysis::anomalies::Anomalies;

use super::{CommandPlan, Input, OutputFields, Place, RequiredFields, Step};
use crate::value::parse_number;
use crate::{Error, LookupSource};
use context::planning::PlanningContext;
use context::stage::{Breaker, Rows, TableOp};

impl CommandPlan for AnomaliesCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(&self.field);
        fields.patterns(&self.by);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        let number = |text: &str| parse_number(text).unwrap_or_default();
        let anomalies = Anomalies {
            field: self.field.clone(),
            by: self.by.clone(),
            window: usize::try_from(self.maxvalues).unwrap_or(usize::MAX),
            normalize: self.normalize,
            threshold: number(&self.threshold),
            alike: number(&self.denylistthreshold),
            label_only: self.labelonly,
        };
        let op = Unexpected { anomalies, denylist: self.denylist.clone() };
        Ok(Step::Materialize(frame, Breaker::table(op)))
    }
}

#[derive(Debug)]
struct Unexpected {
    anomalies: Anomalies,
    /// The lookup that contains the expected texts.
    denylist: Option<Field>,
}

impl TableOp for Unexpected {
    fn apply<'a>(
        &'a self,
        rows: Rows,
        env: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            let expected = self.expected(env).await?;
            Ok(self.anomalies.scored(rows, &expected, &env.context.planning.stop())?)
        })
    }
}

impl Unexpected {
    /// Reads the texts of the deny list.
    async fn expected(&self, env: &PlanningContext<'_>) -> Result<Vec<Option<String>>, Error> {
        let Some(name) = &self.denylist else { return Ok(Vec::new()) };
        for file in [name.node.clone(), format!("{}.csv", name.node)] {
            let source = LookupSource::File(file);
            let Some(rows) = env.context.host.read_lookup(&source).await? else { continue };
            let names = rows.names();
            let field = &self.anomalies.field;
            let column = names.iter().find(|column| *column == field).or(names.first());
            return Ok(column.map(|column| rows.texts(column)).transpose()?.unwrap_or_default());
        }
        let message = format!("there is no lookup \"{}\" (denylist)", name.node);
        Err(Error::at(message, name.span))
    }
}
