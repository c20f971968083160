//! `spath`: extracts values from JSON and XML.
//!
//! Split: runs where the rows are; over computed rows without a path, the columns depend on the rows, so the
//! search head reads all of them first.

use std::sync::Arc;

use datafusion::functions::core::expr_fn::coalesce;
use eval::json::{DocumentPath, TOO_DEEP};
use exprs::kernel::multi;
use exprs::types::ValueType;
use exprs::{Report, Scope, Typed};
use frames::Frame;
use model::columns::ORIGIN_AND_INDEX;
use spl::ast::SpathCommand;
use tables::text::leaves::{self, leaves};

use super::eval::convert;
use super::required::{is_source, required_by};
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::stage::{Breaker, SpathAll};

impl CommandPlan for SpathCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.fields(&self.input);
        // Where there is no value at the path, the field keeps its value.
        if self.path.is_some() {
            fields.fields(self.output.as_ref().or(self.path.as_ref()));
        }
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn changes_source(&self) -> bool {
        let output = self.output.as_ref().or(self.path.as_ref());
        output.is_some_and(|name| is_source(&name.node))
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let Input { frame, rest, env, .. } = input;
        let input = self.input.as_ref().map_or("_raw", |field| field.node.as_str());
        let report = env.scope(&frame).report();
        if let Some(path) = &self.path {
            let output = self.output.as_ref().map_or(&path.node, |output| &output.node);
            let value = (output.clone(), at_path(&path.node, input, output, &frame, report));
            return Ok(Step::Next(frame.with_columns(vec![value])?));
        }
        if let Some(output) = &self.output {
            return Err(Error::at("spath output= needs path=", output.span));
        }
        if !frame.open {
            return Ok(Step::Materialize(frame, Breaker::table(SpathAll(input.to_owned()))));
        }
        // Over events, only fields that later commands name are extracted; others are extracted when events
        // are shown. A name that `fields` or `rename` removed is extracted again.
        let mut values = Vec::new();
        for name in required_by(rest).names {
            if !name.starts_with('_') && !ORIGIN_AND_INDEX.contains(&name.as_str()) {
                let value = leaf(&name, input, &frame, report.clone());
                values.push((name, value));
            }
        }
        Ok(Step::Next(frame.with_columns(values)?))
    }
}

/// Returns the values at a path, or the previous values of the field if there are none. Repeated XML elements
/// have no `{}` in the path, so there may be several values.
fn at_path(path: &str, input: &str, output: &str, frame: &Frame, report: Option<Report>) -> Typed {
    let parsed = Arc::new(DocumentPath::new(path));
    let function = multi("spath_at", move |row, out| {
        if !parsed.visit(&row.text(0)?, &mut |text| out.append_value(text)) {
            row.environment().note(TOO_DEEP);
        }
        Some(())
    });
    let function = function.with(path).reporting(report);
    or_before(function.call(vec![frame.field(input)]), output, frame)
}

/// Returns the leaf values of a name, as `spath` without a path extracts them: objects and arrays are not
/// leaves.
fn leaf(name: &str, input: &str, frame: &Frame, report: Option<Report>) -> Typed {
    let wanted = name.to_owned();
    let function = multi("spath_leaf", move |row, out| {
        let mut is_found = false;
        let is_whole = leaves(&row.text(0)?, &mut |path, text| {
            if path == wanted {
                is_found = true;
                out.append_value(text);
            }
        });
        if !is_whole && !is_found {
            row.environment().note(leaves::TOO_DEEP);
        }
        Some(())
    });
    let function = function.with(name).reporting(report);
    or_before(function.call(vec![frame.field(input)]), name, frame)
}

/// Returns the extracted values, or the previous values of the field if there are none.
fn or_before(found: Typed, output: &str, frame: &Frame) -> Typed {
    match frame.kind(output) {
        None => found,
        Some(_) => {
            let old = convert(frame.field(output), ValueType::Multi);
            Typed::new(coalesce(vec![found.expr, old.expr]), ValueType::Multi)
        }
    }
}
