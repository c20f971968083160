//! `metadata`: hosts, sources or source types with their counts and times.
//!
//! Split: answered from bucket summaries; no event is read.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringViewArray};
use exprs::types::ValueType;
use frames::Frame;
use futures::future::BoxFuture;
use spl::ast::MetadataCommand;

use super::{Begin, CommandPlan, First, Input, Origin, OutputFields, Place, RequiredFields, Step};
use crate::{Error, Message, MessageKind, MetadataKind};
use context::indexes::{absence, covers, leave_out_metrics, of_metrics};
use context::planning::{PlanningContext, SourceRows};
use context::stage::Rows;

impl CommandPlan for MetadataCommand {
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

/// Returns a warning for each of these options. The rows have no fields for such a filter.
fn without_effect(options: &[(&'static str, String)]) -> Vec<Message> {
    let warning = |(name, value): &(&'static str, String)| {
        let text = format!(
            "metadata: {name}={value} has no effect; write tstats count where ... by host, source or \
             sourcetype"
        );
        Message { kind: MessageKind::Warning, text }
    };
    options.iter().map(warning).collect()
}

pub(super) async fn start(
    command: &MetadataCommand,
    env: &PlanningContext<'_>,
) -> Result<SourceRows, Error> {
    let mut indexes = env.context.source.indexes();
    indexes.sort();
    let mut messages = without_effect(&command.ignored);
    if command.indexes.is_empty() {
        indexes.retain(|index| env.context.default_indexes.contains(index));
    } else {
        for value in &command.indexes {
            let meant = indexes.iter().any(|index| covers(&value.pattern, index));
            if !meant && !value.pattern.has_wildcard() {
                let disabled = env.context.source.disabled_indexes();
                let text = absence(&value.pattern.text(), &disabled);
                messages.push(Message { kind: MessageKind::Warning, text });
            }
        }
        indexes.retain(|index| command.indexes.iter().any(|v| covers(&v.pattern, index)));
    }
    let named = |index: &model::IndexName| {
        let mut patterns = command.indexes.iter().map(|value| &value.pattern);
        patterns.any(|pattern| !pattern.has_wildcard() && covers(pattern, index))
    };
    for index in env.context.source.metric_indexes() {
        if indexes.contains(&index) && named(&index) {
            messages.push(of_metrics(&index));
        }
    }
    leave_out_metrics(&mut indexes, env.context);
    if command.of_metrics {
        let text = "there is no metadata of metric data points; use mcatalog".to_owned();
        messages.push(Message { kind: MessageKind::Warning, text });
        indexes.clear();
    }
    let (kind, name, type_name) = match command.kind {
        spl::ast::MetadataKind::Hosts => (MetadataKind::Hosts, "host", "hosts"),
        spl::ast::MetadataKind::Sources => (MetadataKind::Sources, "source", "sources"),
        spl::ast::MetadataKind::Sourcetypes => {
            (MetadataKind::Sourcetypes, "sourcetype", "sourcetypes")
        }
    };
    let range = env.context.range;
    let mut found = env.context.source.metadata(kind, &indexes, &range).await?;
    found.sort_by(|a, b| a.value.cmp(&b.value));
    let number = |pick: fn(&model::ValueCount) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(found.iter().map(pick)))
    };
    let mut rows = Rows { columns: Vec::new(), count: found.len() };
    let first = number(|value| value.first_time.0.div_euclid(1_000_000));
    rows.push("firstTime", ValueType::Integer, first);
    rows.push("lastTime", ValueType::Integer, number(|v| v.last_time.0.div_euclid(1_000_000)));
    rows.push("recentTime", ValueType::Integer, number(|v| v.recent_time.0.div_euclid(1_000_000)));
    let count = number(|value| i64::try_from(value.count).unwrap_or(i64::MAX));
    rows.push("totalCount", ValueType::Integer, count);
    let types = StringViewArray::from(vec![type_name; found.len()]);
    rows.push("type", ValueType::Text, Arc::new(types));
    let names: StringViewArray = found.iter().map(|value| Some(value.value.as_str())).collect();
    rows.push(name, ValueType::Text, Arc::new(names));
    Ok(SourceRows { frame: Frame::of_rows(rows)?, range, indexes, messages })
}
