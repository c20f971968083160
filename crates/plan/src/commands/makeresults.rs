//! `makeresults`: generates rows.
//!
//! Split: runs at the search head.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewArray, StringViewBuilder, TimestampMicrosecondArray};
use exprs::types::ValueType;
use frames::Frame;
use futures::future::BoxFuture;
use model::columns::ORIGIN;
use spl::ast::{MakeresultsCommand, MakeresultsData, MakeresultsFormat};

use super::{
    Begin, CommandPlan, Error, First, Input, Origin, OutputFields, Place, RequiredFields, Step,
};
use crate::MessageKind;
use context::planning::{PlanningContext, SourceRows};
use context::stage::Rows;

impl CommandPlan for MakeresultsCommand {
    fn place(&self) -> Place {
        Place::Generating(Origin::SearchHead)
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn begin<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Begin, Error>> {
        Box::pin(async move { start(self, first.env).map(Begin::Rows) })
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        input.only_begins()
    }
}

pub(super) fn start(
    command: &MakeresultsCommand,
    env: &PlanningContext<'_>,
) -> Result<SourceRows, Error> {
    for option in &command.ignored {
        let text = format!("makeresults has no option \"{}\", which is ignored", option.node);
        env.log.add(MessageKind::Warning, text);
    }
    let rows = match &command.data {
        Some(data) => from_data(data, env)?,
        None => blank(command, env)?,
    };
    Ok(SourceRows {
        frame: Frame::of_rows(rows)?.unordered(),
        range: env.context.range,
        indexes: Vec::new(),
        messages: Vec::new(),
    })
}

fn check(count: usize, env: &PlanningContext<'_>) -> Result<(), Error> {
    let limit = env.context.limits.generated_rows;
    if count > limit {
        // Not `Exhausted`, which suggests a retry: the same search would fail again.
        let message = format!("makeresults makes at most {limit} rows");
        return Err(Error::invalid_anywhere(message));
    }
    Ok(())
}

fn times(count: usize, env: &PlanningContext<'_>) -> ArrayRef {
    // Whole seconds, as in Splunk.
    let now = env.context.now.0.div_euclid(1_000_000) * 1_000_000;
    Arc::new(TimestampMicrosecondArray::from(vec![now; count]).with_timezone("UTC"))
}

fn blank(command: &MakeresultsCommand, env: &PlanningContext<'_>) -> Result<Rows, Error> {
    let count = usize::try_from(command.count).unwrap_or(usize::MAX);
    check(count, env)?;
    let mut rows = Rows { columns: Vec::new(), count };
    rows.push("_time", ValueType::Time, times(count, env));
    if command.annotate {
        let server = env.context.host.server_name();
        for name in ORIGIN.into_iter().chain(["splunk_server", "splunk_server_group"]) {
            let value = (name == "splunk_server").then_some(server.as_str());
            let cells: StringViewArray = std::iter::repeat_n(value, count).collect();
            rows.push(name, ValueType::Text, Arc::new(cells));
        }
    }
    Ok(rows)
}

fn from_data(data: &MakeresultsData, env: &PlanningContext<'_>) -> Result<Rows, Error> {
    match data.format {
        MakeresultsFormat::Csv => from_csv(data, env),
        MakeresultsFormat::Json => from_json(data, env),
    }
}

fn from_csv(data: &MakeresultsData, env: &PlanningContext<'_>) -> Result<Rows, Error> {
    let mut records = csv_records(&data.text.node).into_iter();
    let Some(header) = records.next() else {
        return Err(Error::at("data= needs a line with field names", data.text.span));
    };
    let records: Vec<Vec<String>> = records.collect();
    check(records.len(), env)?;
    let mut rows = Rows { columns: Vec::new(), count: records.len() };
    for (at, name) in header.iter().enumerate() {
        if rows.column(name).is_some() {
            return Err(Error::at(format!("\"{name}\" is named twice"), data.text.span));
        }
        let cells = records.iter().map(|record| record.get(at).filter(|cell| !cell.is_empty()));
        let cells: StringViewArray = cells.collect();
        rows.push(name.trim(), ValueType::Text, Arc::new(cells));
    }
    Ok(rows)
}

/// Parses records of comma-separated values; a quoted field may contain commas, line ends and doubled quotes.
fn csv_records(text: &str) -> Vec<Vec<String>> {
    let mut records = Vec::new();
    let mut record = Vec::new();
    let mut cell = String::new();
    let mut quoted = false;
    let mut characters = text.trim_matches(['\n', '\r', ' ']).chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(std::mem::take(&mut cell)),
            '\n' if !quoted => {
                record.push(std::mem::take(&mut cell));
                records.push(std::mem::take(&mut record));
            }
            '\r' if !quoted => {}
            other => cell.push(other),
        }
    }
    record.push(cell);
    records.push(record);
    records
}

fn from_json(data: &MakeresultsData, env: &PlanningContext<'_>) -> Result<Rows, Error> {
    let invalid = |reason: &str| {
        let message = format!("data= needs a JSON array of objects: {reason}");
        Error::at(message, data.text.span)
    };
    let parsed: Vec<serde_json::Map<String, serde_json::Value>> =
        serde_json::from_str(&data.text.node).map_err(|error| invalid(&error.to_string()))?;
    check(parsed.len(), env)?;
    let mut names: Vec<&String> = Vec::new();
    for name in parsed.iter().flat_map(serde_json::Map::keys) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut rows = Rows { columns: Vec::new(), count: parsed.len() };
    for name in names {
        let mut cells = StringViewBuilder::new();
        for object in &parsed {
            match object.get(name) {
                None | Some(serde_json::Value::Null) => cells.append_null(),
                Some(serde_json::Value::String(text)) => cells.append_value(text),
                Some(other) => cells.append_value(other.to_string()),
            }
        }
        rows.push(name.clone(), ValueType::Text, Arc::new(cells.finish()));
    }
    // Nested values stay JSON text, like `_raw`; `spath` extracts their fields.
    let raw: StringViewArray = parsed.iter().map(|o| serde_json::to_string(o).ok()).collect();
    if rows.column("_raw").is_none() {
        rows.push("_raw", ValueType::Text, Arc::new(raw));
    }
    if rows.column("_time").is_none() {
        let count = rows.count;
        rows.push("_time", ValueType::Time, times(count, env));
    }
    Ok(rows)
}
