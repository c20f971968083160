//! `rex`: extracts the named groups of a regular expression as fields, or edits a field with a sed
//! expression.
//!
//! Split: runs where the rows are.

use std::sync::Arc;

use datafusion::functions::core::expr_fn::coalesce;
use eval::{LONGEST_TEXT, Sed};
use exprs::Pattern;
use exprs::Typed;
use exprs::kernel::{Several, multi, text};
use exprs::required_fields::field_or;
use exprs::types::ValueType;
use frames::Frame;
use spl::Spanned;
use spl::ast::{RexCommand, RexMode};

use super::eval::convert;
use super::required::is_source;
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};

impl CommandPlan for RexCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.fields(&self.field);
        // Where the expression does not match, a field keeps its value.
        if let RexMode::Extract { pattern, .. } = &self.mode {
            names_of_groups(&pattern.node).for_each(|name| fields.name(name));
        }
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn changes_source(&self) -> bool {
        matches!(self.mode, RexMode::Sed { .. }) && is_source(field_or(&self.field, "_raw"))
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(self, input.frame).map(Step::Next)
    }
}

pub(super) fn plan(command: &RexCommand, frame: Frame) -> Result<Frame, Error> {
    let name = command.field.as_ref().map_or("_raw", |field| field.node.as_str());
    match &command.mode {
        RexMode::Extract { pattern, max_match, offset_field } => {
            let source = frame.field(name);
            let frame = extract(frame, name, pattern, *max_match)?;
            match offset_field {
                Some(field) => {
                    let places = places(&compile(pattern)?, &pattern.node, *max_match);
                    frame.with_columns(vec![(field.node.clone(), places.call(vec![source]))])
                }
                None => Ok(frame),
            }
        }
        RexMode::Sed { expression } => {
            let edit = Arc::new(sed(expression)?);
            let source = expression.node.clone();
            let function = exprs::kernel::text_of_each("sed", move |row, out| {
                let before = row.text(0)?;
                // The caller refuses longer texts.
                match edit.apply(&before, LONGEST_TEXT) {
                    Some(edited) => out.push_str(&edited),
                    None => out.push_str(&before),
                }
                Some(())
            });
            let edited = function.with(source).call(vec![frame.field(name)]);
            frame.with_columns(vec![(name.to_owned(), edited)])
        }
    }
}

/// Returns what may be names of groups, without compiling the expression.
fn names_of_groups(pattern: &str) -> impl Iterator<Item = &str> {
    pattern.split("(?").skip(1).filter_map(|group| {
        let group = group.strip_prefix('P').unwrap_or(group);
        let name = group.strip_prefix(['<', '\''])?;
        let end = name.find(['>', '\''])?;
        Some(&name[..end]).filter(|name| !name.is_empty() && !name.starts_with(['=', '!']))
    })
}

fn compile(pattern: &Spanned<String>) -> Result<Arc<Pattern>, Error> {
    Pattern::new(&pattern.node).map(Arc::new).map_err(|reason| {
        let message = format!("the regular expression is not valid: {reason}");
        Error::at(message, pattern.span)
    })
}

fn extract(
    frame: Frame,
    name: &str,
    source: &Spanned<String>,
    max_match: u64,
) -> Result<Frame, Error> {
    let pattern = compile(source)?;
    let groups = pattern.group_names();
    if groups.is_empty() {
        let message = "the regular expression has no named group, such as (?<user>\\w+)";
        return Err(Error::at(message, source.span));
    }
    let limit = usize::try_from(max_match).unwrap_or(usize::MAX);
    let mut values = Vec::with_capacity(groups.len());
    for (group, field) in groups {
        if field.starts_with("__") {
            let message = "field names that start with two underscores are reserved";
            return Err(Error::at(message, source.span));
        }
        let parameters = format!("{group} {limit} {}", source.node);
        let found = captured(&pattern, group, limit).with(parameters);
        let found = found.call(vec![frame.field(name)]);
        values.push((field.clone(), or_before(found, &field, &frame)));
    }
    frame.with_columns(values)
}

/// Returns the positions of the groups: `name=first-last`, joined by `&`, in characters counted from 0.
fn places(pattern: &Arc<Pattern>, source: &str, max_match: u64) -> exprs::kernel::EvalFunction {
    let pattern = Arc::clone(pattern);
    let groups = pattern.group_names();
    let limit = usize::try_from(max_match).unwrap_or(usize::MAX);
    let function = text("rex_offsets", move |row, out| {
        let text = row.text(0)?;
        let mut found: Vec<String> = Vec::new();
        pattern.each_place(&text, &groups, limit, &mut |name, bytes| {
            let first = text[..bytes.start].chars().count();
            let count = text[bytes].chars().count();
            found.push(format!("{name}={first}-{}", (first + count).saturating_sub(1)));
        });
        out.push_str(&found.join("&"));
        (!found.is_empty()).then_some(())
    });
    function.with(format!("{limit} {source}"))
}

/// Returns the new value if there is one, otherwise the previous value of the field.
fn or_before(found: Typed, field: &str, frame: &Frame) -> Typed {
    let Some(_) = frame.kind(field) else {
        return found;
    };
    let old = frame.field(field);
    let is_time = super::eval::is_time(field) && old.kind == ValueType::Time;
    let kind = match (found.kind, is_time) {
        (_, true) => ValueType::Time,
        (ValueType::Multi, _) => ValueType::Multi,
        (found, _) => found.union(old.kind),
    };
    let (found, old) = (convert(found, kind), convert(old, kind));
    Typed::new(coalesce(vec![found.expr, old.expr]), kind)
}

fn captured(pattern: &Arc<Pattern>, group: usize, limit: usize) -> exprs::kernel::EvalFunction {
    let pattern = Arc::clone(pattern);
    if limit == 1 {
        return text("rex", move |row, out| {
            let mut some = false;
            row.value(0).each_text(|text| {
                if !some {
                    pattern.each_match(text, group, 1, &mut |found| {
                        out.push_str(found);
                        some = true;
                    });
                }
            });
            some.then_some(())
        });
    }
    multi("rex_all", move |row, out: &mut Several<'_>| {
        row.value(0).each_text(|text| {
            pattern.each_match(text, group, limit, &mut |found| out.append_value(found));
        });
        Some(())
    })
}

fn sed(expression: &Spanned<String>) -> Result<Sed, Error> {
    Sed::compile(&expression.node).map_err(|reason| {
        Error::at(format!("the sed expression is not valid: {reason}"), expression.span)
    })
}
