//! `lookup`: fields from the rows of a lookup that match.
//!
//! Split: the rows of the lookup go to where the events are; nothing is left to the search head.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, UInt32Array, new_null_array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::kernels::zip::zip;
use arrow::compute::take;
use datafusion::error::Result as EngineResult;
use datafusion::logical_expr::Expr;
use exprs::Typed;
use exprs::column::{Argument, Value, Values};
use exprs::kernel::{EvalFunction, Row, Several, columns, multi, text};
use exprs::types::{ArrowType, ValueType};
use model::columns::TIME;
use spl::ast::{LookupCommand, LookupField, LookupOutput};

use super::eval::convert;
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use crate::context::PlanningContext;
use crate::frame::Frame;
use crate::lookup::{self, Lookup};

impl CommandPlan for LookupCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        self.inputs.iter().for_each(|input| fields.name(input.event_name()));
        // OUTPUTNEW keeps values that are there, so those are read too.
        let new = self.output.iter().filter(|output| output.only_new);
        let outputs = new.flat_map(|output| &output.fields);
        outputs.for_each(|field| fields.name(field.event_name()));
        fields.fields(&self.event_time_field);
    }

    fn table(&self) -> Option<&LookupCommand> {
        Some(self)
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(self, input).map(Step::Next)
    }
}

fn plan(command: &LookupCommand, input: Input<'_>) -> Result<Frame, Error> {
    let lookup = input.table.ok_or_else(|| Error::internal("the rows of a lookup are not read"))?;
    apply(command, &lookup, input.frame, None)
}

/// The lookup of a command; errors are placed at its name.
pub(super) async fn read(
    command: &LookupCommand,
    env: &PlanningContext<'_>,
) -> Result<Arc<Lookup>, Error> {
    Box::pin(prepare(command, env)).await.map_err(|error| match error {
        Error::Invalid { message, span: None } => Error::at(message, command.name.span),
        other => other,
    })
}

/// The lookup, ready to be asked by the inputs of a command.
pub(super) async fn prepare(
    command: &LookupCommand,
    env: &PlanningContext<'_>,
) -> Result<Arc<Lookup>, Error> {
    let inputs: Vec<String> = command.inputs.iter().map(|i| i.lookup.node.clone()).collect();
    let outputs = command.output.iter().flat_map(|output| &output.fields);
    let wanted: Vec<_> = command.inputs.iter().chain(outputs).map(|field| &field.lookup).collect();
    lookup::open(&command.name.node, &inputs, &wanted, env.context).await
}

/// The rows with the outputs of a lookup, where a condition holds.
pub(super) fn apply(
    command: &LookupCommand,
    lookup: &Arc<Lookup>,
    frame: Frame,
    condition: Option<Expr>,
) -> Result<Frame, Error> {
    let outputs = outputs(command, lookup);
    let only_new = command.output.as_ref().is_some_and(|output| output.only_new);
    let mut arguments: Vec<Typed> =
        command.inputs.iter().map(|input| frame.field(input.event_name())).collect();
    let several = arguments.iter().any(|argument| argument.kind == ValueType::Multi);
    if lookup.definition.time.is_some() {
        let name = command.event_time_field.as_ref().map_or(TIME, |field| &field.node);
        arguments.push(frame.field(name));
    }
    let matches = matching_rows(Arc::clone(lookup), command.inputs.len()).call(arguments);
    let (frame, hidden) = frame.with_hidden(vec![("matches", matches.expr)])?;
    let matches = Typed::column(&hidden[0], ValueType::Multi);
    let one = !several && lookup.definition.max_matches == 1;
    let mut values = Vec::with_capacity(outputs.len());
    for field in &outputs {
        let found = output(lookup, &field.lookup.node, one)?.call(vec![matches.clone()]);
        let name = field.event_name().to_owned();
        let old = frame.field(&name);
        let kind =
            if only_new || condition.is_some() { found.kind.union(old.kind) } else { found.kind };
        let (found, old) = (convert(found, kind), convert(old, kind));
        let value = match (&condition, only_new) {
            (None, false) => found,
            _ => put(found, old, condition.clone(), only_new),
        };
        values.push((name, value));
    }
    Ok(frame.with_columns(values)?.without_hidden(&hidden))
}

/// What was found, or the value of before: where a condition does not hold, and if `only_new` where there is
/// one. It reads each of them once: a filter that is moved below many lookups of one field takes a copy of
/// what it reads from each of them.
fn put(found: Typed, old: Typed, condition: Option<Expr>, only_new: bool) -> Typed {
    let kind = old.kind;
    let function = columns("lookup_put", kind, move |arguments, rows| {
        let (found, old) = (whole(&arguments[0], kind, rows)?, whole(&arguments[1], kind, rows)?);
        let applies = arguments.get(2);
        let takes = |row| {
            let applies = applies.is_none_or(|applies| applies.get(row).truth() == Some(true));
            applies && !(only_new && old.is_valid(row))
        };
        let takes = BooleanArray::new(BooleanBuffer::collect_bool(rows, takes), None);
        Ok(zip(&takes, &found, &old)?)
    });
    let condition = condition.map(|condition| Typed::new(condition, ValueType::Boolean));
    let arguments = [Some(found), Some(old), condition].into_iter().flatten().collect();
    function.with(only_new.to_string()).call(arguments)
}

/// An argument as a column.
fn whole(argument: &Argument, kind: ValueType, rows: usize) -> EngineResult<ArrayRef> {
    Ok(match argument.values.array() {
        Some(array) if argument.constant => take(&array, &UInt32Array::from(vec![0; rows]), None)?,
        Some(array) => array,
        None => new_null_array(&kind.data_type(), rows),
    })
}

/// What is added: what is asked for, or all fields that are not compared.
pub(super) fn outputs(command: &LookupCommand, lookup: &Lookup) -> Vec<LookupField> {
    if let Some(LookupOutput { fields, .. }) = &command.output {
        return fields.clone();
    }
    let compared = |name: &String| command.inputs.iter().any(|input| input.lookup.node == *name);
    let is_time =
        |name: &String| lookup.definition.time.as_ref().is_some_and(|time| time.field == *name);
    let names = lookup.rows.names().into_iter();
    let names = names.filter(|name| !compared(name) && !is_time(name) && !name.starts_with('_'));
    let span = command.name.span;
    names.map(|name| LookupField { lookup: spl::Spanned::new(name, span), event: None }).collect()
}

/// The numbers of the rows that match, as texts.
fn matching_rows(lookup: Arc<Lookup>, inputs: usize) -> EvalFunction {
    let identity = format!("{} {:p}", lookup.definition.name, Arc::as_ptr(&lookup));
    multi("lookup_rows", move |row, out| {
        let time = (lookup.definition.time.is_some()).then(|| row.number(inputs)).flatten();
        if let (1, Value::Multi(values)) = (inputs, row.value(0)) {
            for value in values.iter() {
                append(&lookup.find(&[Some(value)], time), out);
            }
            return Some(());
        }
        let texts: Vec<_> = (0..inputs).map(|at| row.text(at)).collect();
        let texts: Vec<Option<&str>> = texts.iter().map(|text| text.as_deref()).collect();
        append(&lookup.find(&texts, time), out);
        Some(())
    })
    .with(identity)
}

fn append(rows: &[u32], out: &mut Several<'_>) {
    for row in rows {
        out.append_value(&*crate::value::NumberText::integer(i64::from(*row)));
    }
}

/// The values of a field in the rows that match.
fn output(lookup: &Arc<Lookup>, name: &str, one: bool) -> Result<EvalFunction, Error> {
    let values = match lookup.rows.column(name) {
        Some(column) => Values::new(&column.array)?,
        None => Values::Null,
    };
    let default = lookup.definition.default_match.clone();
    let least = lookup.definition.min_matches;
    let identity = format!("{} {name} {:p}", lookup.definition.name, Arc::as_ptr(lookup));
    let kept = Arc::clone(lookup);
    let each = move |row: Row<'_>, emit: &mut dyn FnMut(&str)| {
        let _ = &kept;
        let mut found = 0;
        row.value(0).each_text(|number| {
            if let Ok(number) = number.parse::<usize>() {
                found += 1;
                values.get(number).each_text(&mut *emit);
            }
        });
        if let Some(default) = &default {
            (found..least).for_each(|_| emit(default));
        }
    };
    if one {
        return Ok(text("lookup_value", move |row, out| {
            let mut some = false;
            each(row, &mut |text| {
                if !std::mem::replace(&mut some, true) {
                    out.push_str(text);
                }
            });
            some.then_some(())
        })
        .with(identity));
    }
    Ok(multi("lookup_values", move |row, out| {
        each(row, &mut |text| out.append_value(text));
        Some(())
    })
    .with(identity))
}
