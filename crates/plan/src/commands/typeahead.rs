//! `typeahead`: completions of a search text.
//!
//! Split: answered from bucket summaries: hosts, sources, source types and field names; no event is read.

use std::collections::BTreeMap;

use frames::Frame;
use futures::future::BoxFuture;
use spl::ast::TypeaheadCommand;
use tables::text::filter::comparison;

use super::eventcount::meant;
use super::{Begin, CommandPlan, First, Input, Origin, OutputFields, Place, RequiredFields, Step};
use crate::{Error, MetadataKind};
use context::indexes::leave_out_metrics;
use context::planning::{PlanningContext, SourceRows};
use context::stage::Rows;

impl CommandPlan for TypeaheadCommand {
    fn place(&self) -> Place {
        Place::Generating(Origin::TwoStep)
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn begin<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Begin, Error>> {
        Box::pin(async move { start(self, first.env).await.map(Begin::Rows) })
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        input.only_begins()
    }
}

pub(super) async fn start(
    command: &TypeaheadCommand,
    env: &PlanningContext<'_>,
) -> Result<SourceRows, Error> {
    let mut indexes = meant(&command.indexes, env);
    leave_out_metrics(&mut indexes, env.context);
    let range = env.context.range;
    let prefix = command.prefix.to_lowercase();
    let begins = |text: &str| text.to_lowercase().starts_with(&prefix);
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    let kinds = [
        ("host", MetadataKind::Hosts),
        ("source", MetadataKind::Sources),
        ("sourcetype", MetadataKind::Sourcetypes),
    ];
    for (name, kind) in kinds {
        for value in env.context.source.metadata(kind, &indexes, &range).await? {
            let content = comparison(name, &value.value);
            let unquoted = format!("{name}={}", value.value);
            if begins(&content) || begins(&unquoted) || begins(&value.value) {
                *found.entry(content).or_default() += value.count;
            }
        }
    }
    for field in env.context.source.fields(&indexes, &range).await? {
        if begins(&field.name) && !field.name.starts_with('_') {
            *found.entry(field.name).or_default() += field.count;
        }
    }
    let mut found: Vec<(String, u64)> = found.into_iter().collect();
    found.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    found.truncate(usize::try_from(command.count).unwrap_or(usize::MAX));
    let mut rows = Rows::blank(found.len());
    rows.set_texts("content", found.iter().map(|(content, _)| Some(content)));
    let count = |count: u64| Some(i64::try_from(count).unwrap_or(i64::MAX));
    rows.set_integers("count", found.iter().map(|(_, events)| count(*events)));
    Ok(SourceRows { frame: Frame::of_rows(rows)?, range, indexes, messages: Vec::new() })
}
