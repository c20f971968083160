//! `rename`: renames columns; names may contain wildcards.
//!
//! Split: runs where the rows are.

use std::collections::HashSet;

use exprs::Typed;
use exprs::types::ValueType;
use frames::Frame;
use spl::ast::{FieldPattern, RenameCommand};

use super::eval::convert;
use super::required::{is_source, reaches_source};
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::sql::aggregate::plain;
use context::sql::{Layer, Reason, SqlText};

impl CommandPlan for RenameCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        self.renames.iter().for_each(|rename| fields.pattern(&rename.from.text));
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn reads_declared(&self) -> bool {
        !self.renames.iter().any(|rename| rename.from.has_wildcard())
    }

    fn changes_source(&self) -> bool {
        self.renames.iter().any(|one| reaches_source(&one.from) || is_source(&one.to.text))
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(self, input.frame).map(Step::Next)
    }

    fn sql(&self, layer: Layer, _: &mut SqlText) -> Result<Layer, Reason> {
        select(self, layer)
    }
}

fn select(command: &RenameCommand, mut layer: Layer) -> Result<Layer, Reason> {
    let mut values = Vec::new();
    for rename in &command.renames {
        let from = plain(&rename.from.text, rename.from.has_wildcard())?;
        values.push((layer.field(&from), from, rename.to.text.clone()));
    }
    for (value, from, to) in values {
        match &mut layer.columns {
            Some(columns) => {
                columns.retain(|known| *known != to);
                columns.iter_mut().filter(|known| **known == from).for_each(|known| {
                    known.clone_from(&to);
                });
                layer.env.retain(|(known, _)| *known != from);
            }
            None => layer.remove(&from),
        }
        layer.set(&to, value);
    }
    Ok(layer)
}

pub(super) fn plan(command: &RenameCommand, mut frame: Frame) -> Result<Frame, Error> {
    for rename in &command.renames {
        if rename.from.has_wildcard() != rename.to.has_wildcard() && rename.from.has_wildcard() {
            let message = "both names need the same number of wildcards";
            return Err(Error::at(message, rename.to.span));
        }
        frame = one(&rename.from, &rename.to, frame)?;
    }
    Ok(frame)
}

fn one(from: &FieldPattern, to: &FieldPattern, mut frame: Frame) -> Result<Frame, Error> {
    let mut outputs: Vec<(String, Typed)> = Vec::new();
    let mut renamed = HashSet::new();
    let mut pairs = Vec::new();
    for name in frame.names() {
        let internal = name.starts_with('_') && from.has_wildcard() && !from.text.starts_with('_');
        match from.captures(&name).filter(|_| !internal) {
            Some(captures) => {
                let new = match from.has_wildcard() {
                    true => fill(&to.text, &captures),
                    false => to.text.clone(),
                };
                renamed.insert(new.clone());
                // If no event has the field, the new name is no column, and its own value must not be shown.
                if !new.contains('*') {
                    frame.filter.drop.push(new.clone());
                }
                outputs.push((new.clone(), retyped(&frame, &name, &to.text)));
                pairs.push((name.clone(), new));
                frame.filter.drop.push(name);
            }
            None => outputs.push((name.clone(), frame.field(&name))),
        }
    }
    if renamed.is_empty() && !from.has_wildcard() {
        // The source field does not exist: the target field loses its values, as in Splunk.
        outputs.retain(|(name, _)| *name != to.text);
        if !to.has_wildcard() {
            // In the filter, a wildcard would also match other fields.
            frame.filter.drop.push(to.text.clone());
        }
    }
    frame.formats.rename(&pairs);
    // The new name replaces an existing column; if several columns get the same name, the last one counts.
    let mut seen: HashSet<String> = HashSet::new();
    let mut kept: Vec<(String, Typed)> = Vec::new();
    let old = frame.names();
    for (at, (name, value)) in outputs.into_iter().enumerate().rev() {
        let shadowed =
            renamed.contains(&name) && old.get(at) == Some(&name) && !from.matches(&name);
        if !shadowed && seen.insert(name.clone()) {
            kept.push((name, value));
        }
    }
    kept.reverse();
    frame.project(kept)
}

/// Under a name other than `_time`, a time becomes epoch seconds; a composed text stays a text.
fn retyped(frame: &Frame, name: &str, new: &str) -> Typed {
    let value = frame.field(name);
    match (super::eval::is_time(name), super::eval::is_time(new)) {
        (true, false) if value.kind == ValueType::Time => convert(value, ValueType::Float),
        (false, true) if !frame.is_composed(name) => convert(value, ValueType::Time),
        _ => value,
    }
}

fn fill(pattern: &str, captures: &[&str]) -> String {
    let mut captures = captures.iter();
    let mut name = String::new();
    for (at, piece) in pattern.split('*').enumerate() {
        if at > 0 {
            name.push_str(captures.next().unwrap_or(&""));
        }
        name.push_str(piece);
    }
    name
}
