//! `eventcount` and `dbinspect`: properties of indexes and buckets from the catalog.
//!
//! Split: answered from bucket summaries and from the properties of hot buckets; no event is read.

use std::collections::BTreeMap;

use frames::Frame;
use futures::future::BoxFuture;
use model::IndexName;
use spl::ast::{DbinspectCommand, EventcountCommand, SearchCommand, SearchPattern};

use super::{Begin, CommandPlan, First, Input, Origin, OutputFields, Place, RequiredFields, Step};
use crate::{Error, Message, MessageKind, MetadataKind};
use context::indexes::covers;
use context::planning::{PlanningContext, SourceRows};
use context::range::bounds;
use context::stage::Rows;

impl CommandPlan for EventcountCommand {
    fn place(&self) -> Place {
        Place::Generating(Origin::TwoStep)
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.all();
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn begin<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Begin, Error>> {
        Box::pin(async move { eventcount(self, first.env).await.map(Begin::Rows) })
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        input.only_begins()
    }
}

pub(super) async fn eventcount(
    command: &EventcountCommand,
    env: &PlanningContext<'_>,
) -> Result<SourceRows, Error> {
    let mut indexes = meant(&command.indexes, env);
    // Wildcards leave out data points, as in searches of events.
    let metric = env.context.source.metric_indexes();
    let is_named = |index: &IndexName| {
        command.indexes.iter().any(|pattern| !pattern.has_wildcard() && covers(pattern, index))
    };
    indexes.retain(|index| !metric.contains(index) || is_named(index));
    let range = env.context.range;
    let mut counts: BTreeMap<&IndexName, u64> = BTreeMap::new();
    for index in &indexes {
        let only = std::slice::from_ref(index);
        let found = env.context.source.metadata(MetadataKind::Sourcetypes, only, &range).await?;
        counts.insert(index, found.iter().map(|value| value.count).sum());
    }
    let mut sizes: BTreeMap<String, u64> = BTreeMap::new();
    if command.report_size {
        let buckets = env.context.host.buckets(&indexes, &range).await?;
        for (index, size) in buckets.texts("index")?.into_iter().zip(buckets.numbers("rawSize")?) {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let bytes = size.unwrap_or_default() as u64;
            *sizes.entry(index.unwrap_or_default()).or_default() += bytes;
        }
    }
    let server = env.context.host.server_name();
    let one = |name: &str, value: String| (name.to_owned(), vec![value]);
    let mut records = Vec::new();
    if command.summarize {
        records.push(vec![one("count", counts.values().sum::<u64>().to_string())]);
        if command.report_size {
            records[0].push(one("size_bytes", sizes.values().sum::<u64>().to_string()));
        }
    } else {
        for (index, count) in counts {
            let mut record = vec![one("count", count.to_string()), one("index", index.to_string())];
            record.push(one("server", server.clone()));
            if command.report_size {
                let size = sizes.get(index.as_str()).copied().unwrap_or_default();
                record.push(one("size_bytes", size.to_string()));
            }
            records.push(record);
        }
    }
    started(Rows::of_records(records), env)
}

pub(super) async fn dbinspect(
    command: &DbinspectCommand,
    env: &PlanningContext<'_>,
) -> Result<SourceRows, Error> {
    let indexes = meant(&command.indexes, env);
    let own = SearchCommand { expr: None, time: command.time.clone() };
    let range = bounds(&own, env.context)?.time;
    let found = env.context.host.buckets(&indexes, &range).await?;
    let messages = without_effect(&command.ignored);
    Ok(SourceRows { messages, ..started(found, env)? })
}

/// Returns a warning for each of these options.
fn without_effect(options: &[(&'static str, String)]) -> Vec<Message> {
    let warning = |(name, value): &(&'static str, String)| {
        let text = format!(
            "dbinspect: {name}={value} has no effect; filter the rows with where after the command"
        );
        Message { kind: MessageKind::Warning, text }
    };
    options.iter().map(warning).collect()
}

/// The indexes that match the patterns; the default indexes if there are no patterns.
pub(super) fn meant(patterns: &[SearchPattern], env: &PlanningContext<'_>) -> Vec<IndexName> {
    let mut indexes = env.context.source.indexes();
    indexes.sort();
    match patterns {
        [] => indexes.retain(|index| env.context.default_indexes.contains(index)),
        some => indexes.retain(|index| some.iter().any(|pattern| covers(pattern, index))),
    }
    indexes
}

fn started(rows: Rows, env: &PlanningContext<'_>) -> Result<SourceRows, Error> {
    let range = env.context.range;
    Ok(SourceRows {
        frame: Frame::of_rows(rows)?,
        range,
        indexes: Vec::new(),
        messages: Vec::new(),
    })
}
