//! `collect`: writes the rows to an index as events, and passes them on.
//!
//! Split: runs at the search head, over all rows.

use exprs::column::Values;
use futures::future::BoxFuture;
use model::{EventTime, IndexName, columns};
use serde_json::{Map, Value};
use spl::ast::CollectCommand;

use super::{CommandPlan, Input, OutputFields, Place, RequiredFields, Step, addinfo, summary};
use crate::{CollectedEvent, Error, MessageKind};
use context::indexes::absence;
use context::planning::PlanningContext;
use context::stage::{Breaker, Rows, TableOp};
use context::subsearch::quoted;

impl CommandPlan for CollectCommand {
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
        let Input { frame, env, .. } = input;
        let name = &self.index;
        let index = IndexName::new(&name.node)
            .map_err(|error| Error::at(format!("index=: {error}"), name.span))?;
        index.check_open().map_err(|error| Error::at(error.to_string(), name.span))?;
        if !self.testmode && !env.context.source.indexes().contains(&index) {
            let disabled = env.context.source.disabled_indexes();
            return Err(Error::at(absence(index.as_str(), &disabled), name.span));
        }
        if !self.testmode && env.context.source.metric_indexes().contains(&index) {
            let text = format!(
                "the index \"{index}\" has datatype=metric, so searches of events do not find what collect \
                 writes to it: use another index, or set datatype=event"
            );
            env.log.add(MessageKind::Warning, text);
        }
        let info = if self.addinfo { info(env) } else { Vec::new() };
        let op = Collect { command: self.clone(), index, info };
        Ok(Step::Materialize(frame, Breaker::table(op)))
    }
}

/// The source type of events whose text consists of the fields of rows.
const STASH: &str = "stash";
/// The field that contains the name of the saved search.
const SEARCH_NAME: &str = "search_name";

/// Fields that describe the search: names and values.
fn info(env: &PlanningContext<'_>) -> Vec<(&'static str, String)> {
    let name = env.context.search_name.clone().map(|name| (SEARCH_NAME, name));
    name.into_iter().chain(addinfo::times(env.context)).collect()
}

#[derive(Debug)]
struct Collect {
    command: CollectCommand,
    index: IndexName,
    /// Fields that describe the search; in the text of an event they precede the fields of the row.
    info: Vec<(&'static str, String)>,
}

impl TableOp for Collect {
    fn apply<'a>(
        &'a self,
        rows: Rows,
        env: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            if rows.count == 0 || env.is_dry_run() {
                return Ok(rows);
            }
            let events = self.events(&rows, env)?;
            if self.command.testmode {
                let mut shown = rows;
                shown.set_texts(columns::RAW, events.iter().map(|event| Some(&event.raw)));
                return Ok(shown);
            }
            env.context.host.collect(&self.index, events).await?;
            Ok(rows)
        })
    }
}

impl Collect {
    fn events(&self, rows: &Rows, env: &PlanningContext<'_>) -> Result<Vec<CollectedEvent>, Error> {
        let times = match rows.column(columns::TIME) {
            Some(column) => Some(Values::new(&column.array)?),
            None => None,
        };
        let raws = rows.texts(columns::RAW)?;
        let [hosts, sources, sourcetypes] = columns::ORIGIN.map(|name| rows.texts(name));
        let (hosts, sources, sourcetypes) = (hosts?, sources?, sourcetypes?);
        let names: Vec<String> =
            rows.names().into_iter().filter(|name| !name.starts_with('_')).collect();
        let mut fields = Vec::with_capacity(names.len());
        for name in &names {
            fields.push((name, rows.lists(name)?));
        }
        // For each field that describes the search, the column of the rows with the same name.
        let own = self.info.iter().map(|(name, _)| fields.iter().find(|(own, _)| own == name));
        let own: Vec<_> = own.map(|found| found.map(|(_, cells)| cells)).collect();
        let server = env.context.host.server_name();
        let mut events = Vec::with_capacity(rows.count);
        for row in 0..rows.count {
            let seconds = times.as_ref().and_then(|times| times.get(row).number());
            let time = seconds.map_or(env.context.now, EventTime::from_seconds);
            let values = fields.iter().map(|(name, cells)| (name.as_str(), &cells[row]));
            // Fields of these names that the row has itself are kept.
            let info = self.info.iter().zip(&own).filter_map(|((name, value), own)| {
                let is_new = own.is_none_or(|cells| cells[row].is_empty());
                is_new.then_some((*name, value.as_str()))
            });
            let (raw, is_event) = match &raws[row] {
                Some(raw) if !self.command.json => (self.marked(raw.clone()), true),
                _ if self.command.json => (json(info, values), false),
                _ => (self.text(time, info, values), false),
            };
            // An event keeps its host, source and source type; a row of a report gets those of the search.
            let pick = |given: &Option<String>, own: &Option<String>, default: &str| {
                let own = own.clone().filter(|_| is_event);
                given.clone().or(own).unwrap_or_else(|| default.to_owned())
            };
            events.push(CollectedEvent {
                time,
                raw,
                host: pick(&self.command.host, &hosts[row], &server),
                source: pick(&self.command.source, &sources[row], "search"),
                sourcetype: pick(&self.command.sourcetype, &sourcetypes[row], STASH),
                fields: Vec::new(),
            });
        }
        Ok(events)
    }

    fn marked(&self, raw: String) -> String {
        match &self.command.marker {
            Some(marker) => format!("{raw}, {marker}"),
            None => raw,
        }
    }

    /// Returns `10/27/2026 10:00:00 +0000, info_min_time=1793095200.000, ..., name="value", ...`.
    fn text<'v>(
        &self,
        time: EventTime,
        info: impl Iterator<Item = (&'v str, &'v str)>,
        values: impl Iterator<Item = (&'v str, &'v Vec<String>)>,
    ) -> String {
        let mut parts = Vec::new();
        if self.command.addtime {
            parts.push(written(time));
        }
        parts.extend(info.map(|(name, value)| match name {
            SEARCH_NAME => format!("{name}={}", quoted(value)),
            _ => format!("{name}={value}"),
        }));
        for (name, values) in values {
            let name = summary::collected_name(name);
            parts.extend(values.iter().map(|value| format!("{name}={}", quoted(value))));
        }
        self.marked(parts.join(", "))
    }
}

fn written(time: EventTime) -> String {
    let format = knowledge::time::TimeFormat::parse("%m/%d/%Y %H:%M:%S %z");
    let mut text = String::new();
    format.strftime(time, &knowledge::time::LocalClock::utc(), &mut text);
    text
}

fn json<'v>(
    info: impl Iterator<Item = (&'v str, &'v str)>,
    values: impl Iterator<Item = (&'v str, &'v Vec<String>)>,
) -> String {
    let mut object = Map::new();
    for (name, value) in info {
        object.insert(name.to_owned(), Value::String(value.to_owned()));
    }
    for (name, values) in values {
        let value = match values.as_slice() {
            [] => continue,
            [one] => Value::String(one.clone()),
            several => several.iter().cloned().map(Value::String).collect(),
        };
        object.insert(name.to_owned(), value);
    }
    Value::Object(object).to_string()
}
