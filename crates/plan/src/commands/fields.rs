//! `fields` and `table`: choose and order columns.
//!
//! Split: both run where the rows are, so that other columns are never read.

use std::collections::HashSet;

use frames::Frame;
use spl::ast::{FieldPattern, FieldsCommand, TableCommand};

use super::required::reaches_source;
use super::{CommandPlan, Input, OutputFields, Place, RequiredFields, Step};
use crate::{Error, FieldFilter};
use context::sql::layer::names;
use context::sql::{Layer, Reason, SqlText};

impl CommandPlan for FieldsCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        if !self.remove {
            fields.patterns(&self.fields);
        }
    }

    fn output_fields(&self) -> OutputFields {
        if self.remove { OutputFields::Unchanged } else { OutputFields::Chosen }
    }

    fn reads_declared(&self) -> bool {
        true
    }

    fn changes_source(&self) -> bool {
        self.remove && self.fields.iter().any(reaches_source)
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        fields(self, input.frame).map(Step::Next)
    }

    fn sql(&self, layer: Layer, _: &mut SqlText) -> Result<Layer, Reason> {
        select(self, layer)
    }
}

fn select(command: &FieldsCommand, mut layer: Layer) -> Result<Layer, Reason> {
    let is_internal = |field: &FieldPattern| field.text == "_*";
    if command.remove {
        let named: Vec<FieldPattern> =
            command.fields.iter().filter(|field| !is_internal(field)).cloned().collect();
        for name in names(&named)? {
            layer.remove(&name);
        }
        if command.fields.iter().any(is_internal) {
            return Err("the wildcard of _*".to_owned());
        }
        return Ok(layer);
    }
    let mut kept = names(&command.fields)?;
    if layer.columns.is_none() {
        // The time and the text of an event are kept unless they are removed by name.
        for name in [model::columns::RAW, model::columns::TIME] {
            if !kept.iter().any(|known| known == name) {
                kept.insert(0, name.to_owned());
            }
        }
    }
    layer.keep(kept);
    Ok(layer)
}

pub(super) fn fields(command: &FieldsCommand, mut frame: Frame) -> Result<Frame, Error> {
    let internal = |name: &str| name.starts_with('_');
    if command.remove {
        let (wild, exact): (Vec<&FieldPattern>, Vec<&FieldPattern>) =
            command.fields.iter().partition(|pattern| pattern.has_wildcard());
        let exact: HashSet<&str> = exact.iter().map(|pattern| pattern.text.as_str()).collect();
        // A wildcard does not match internal fields.
        let reaches = |pattern: &FieldPattern, name: &str| {
            pattern.matches(name) && (!internal(name) || pattern.text.starts_with('_'))
        };
        let removed =
            |name: &str| exact.contains(name) || wild.iter().any(|pattern| reaches(pattern, name));
        let kept: Vec<String> = frame.names().into_iter().filter(|name| !removed(name)).collect();
        frame.filter.drop.extend(command.fields.iter().map(|pattern| pattern.text.clone()));
        return frame.select(&kept);
    }
    let mut kept = expand(&command.fields, &frame, frame.open);
    let internals: Vec<String> =
        frame.names().into_iter().filter(|name| internal(name) && !kept.contains(name)).collect();
    kept.splice(0..0, internals);
    let patterns = command.fields.iter().map(|pattern| pattern.text.clone()).collect();
    frame.filter = narrowed(&frame.filter, patterns);
    Ok(frame.select(&kept)?.in_order())
}

/// Returns the filter restricted to these patterns.
fn narrowed(filter: &FieldFilter, patterns: Vec<String>) -> FieldFilter {
    let keep = match &filter.keep {
        Some(before) => {
            let both = |pattern: &String| filter.admits(pattern) || before.contains(pattern);
            patterns.into_iter().filter(both).collect()
        }
        None => patterns,
    };
    FieldFilter { keep: Some(keep), drop: filter.drop.clone() }
}

pub(super) fn table(command: &TableCommand, mut frame: Frame) -> Result<Frame, Error> {
    let kept = expand(&command.fields, &frame, true);
    frame.open = false;
    let named = command.fields.iter().filter(|pattern| !pattern.has_wildcard());
    let named: Vec<&str> = named.map(|pattern| pattern.text.as_str()).collect();
    frame.select_named(&kept, &named)
}

/// Returns the columns that match patterns, in the order of the patterns. With `unknown`, exact names that do
/// not exist are kept, as empty columns.
pub(super) fn expand(patterns: &[FieldPattern], frame: &Frame, unknown: bool) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    let mut add = |name: &str| {
        if known.insert(name.to_owned()) {
            names.push(name.to_owned());
        }
    };
    for pattern in patterns {
        if pattern.has_wildcard() {
            let reaches_internal = pattern.text.starts_with('_');
            for column in frame.listed() {
                let hidden = column.name.starts_with('_') && !reaches_internal;
                if !hidden && pattern.matches(&column.name) {
                    add(&column.name);
                }
            }
        } else if unknown || frame.kind(&pattern.text).is_some() {
            add(&pattern.text);
        }
    }
    names
}

/// Like [`expand`], but returns all fields that are not internal if there are no patterns.
pub(super) fn expand_or_all(patterns: &[FieldPattern], frame: &Frame) -> Vec<String> {
    if patterns.is_empty() {
        let names = frame.listed().into_iter().map(|column| column.name.clone());
        return names.filter(|name| !name.starts_with('_')).collect();
    }
    expand(patterns, frame, true)
}
