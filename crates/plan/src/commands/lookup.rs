//! `lookup`: fields from the rows of a lookup that match.
//!
//! Split: the rows of the lookup go to where the events are; nothing is left to the search head.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, UInt32Array, new_null_array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::kernels::zip::zip;
use arrow::compute::take;
use datafusion::error::Result as EngineResult;
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
    apply(command, &lookup, input.frame)
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

/// A lookup in the rows for which a hidden column is true.
pub(super) struct Conditional<'a> {
    pub(super) command: &'a LookupCommand,
    pub(super) lookup: &'a Arc<Lookup>,
    pub(super) condition: Option<Typed>,
}

/// The rows with the outputs of a lookup.
fn apply(command: &LookupCommand, lookup: &Arc<Lookup>, frame: Frame) -> Result<Frame, Error> {
    apply_all(&[Conditional { command, lookup, condition: None }], frame)
}

/// The rows with the outputs of lookups that do not read each other's outputs. However many there are, two
/// steps are added to the plan, and each field is set once: steps and choices within each other make plans
/// that grow with each of them.
pub(super) fn apply_all(lookups: &[Conditional<'_>], frame: Frame) -> Result<Frame, Error> {
    let matches = lookups.iter().map(|one| ("matches", one.matches(&frame).expr)).collect();
    let (frame, hidden) = frame.with_hidden(matches)?;
    let mut names: Vec<String> = Vec::new();
    let mut found: HashMap<String, Vec<Found>> = HashMap::new();
    for (one, matches) in lookups.iter().zip(&hidden) {
        let matches = Typed::column(matches, ValueType::Multi);
        for field in outputs(one.command, one.lookup) {
            let function = output(one.lookup, &field.lookup.node, one.gives_one(&frame))?;
            let name = field.event_name().to_owned();
            let of_name = found.entry(name.clone()).or_insert_with(|| {
                names.push(name);
                Vec::new()
            });
            of_name.push(Found {
                value: function.call(vec![matches.clone()]),
                condition: one.condition.clone(),
                only_new: one.command.output.as_ref().is_some_and(|output| output.only_new),
            });
        }
    }
    let mut values = Vec::with_capacity(names.len());
    for name in names {
        let found = found.remove(&name).unwrap_or_default();
        values.push((name.clone(), put(found, frame.field(&name))));
    }
    Ok(frame.with_columns(values)?.without_hidden(&hidden))
}

impl Conditional<'_> {
    fn inputs(&self, frame: &Frame) -> Vec<Typed> {
        let inputs = self.command.inputs.iter();
        inputs.map(|input| frame.field(input.event_name())).collect()
    }

    /// Whether a row has one value of an output at most.
    fn gives_one(&self, frame: &Frame) -> bool {
        let several = self.inputs(frame).iter().any(|input| input.kind == ValueType::Multi);
        !several && self.lookup.definition.max_matches == 1
    }

    /// The numbers of the lookup's rows that match.
    fn matches(&self, frame: &Frame) -> Typed {
        let mut arguments = self.inputs(frame);
        if self.lookup.definition.time.is_some() {
            let name = self.command.event_time_field.as_ref().map_or(TIME, |field| &field.node);
            arguments.push(frame.field(name));
        }
        arguments.extend(self.condition.clone());
        let (lookup, inputs) = (Arc::clone(self.lookup), self.command.inputs.len());
        matching_rows(lookup, inputs, self.condition.is_some()).call(arguments)
    }
}

/// What a lookup found for a field.
struct Found {
    value: Typed,
    condition: Option<Typed>,
    /// Whether a value that is there stays.
    only_new: bool,
}

/// What was found, or the value of before where no condition holds. It reads each of them once: a filter that
/// is moved below takes a copy of what it reads.
fn put(mut found: Vec<Found>, old: Typed) -> Typed {
    if let [Found { condition: None, only_new: false, .. }] = &*found {
        return found.remove(0).value;
    }
    let kind = found.iter().fold(old.kind, |kind, one| kind.union(one.value.kind));
    let mut shapes = Vec::with_capacity(found.len());
    let mut arguments = vec![convert(old, kind)];
    for Found { value, condition, only_new } in found {
        shapes.push((condition.is_some(), only_new));
        arguments.push(convert(value, kind));
        arguments.extend(condition);
    }
    let identity = format!("{shapes:?}");
    let function = columns("lookup_put", kind, move |arguments, rows| {
        let mut current = whole(&arguments[0], kind, rows)?;
        let mut rest = arguments[1..].iter();
        for (conditional, only_new) in &shapes {
            let Some(value) = rest.next() else { break };
            let applies = if *conditional { rest.next() } else { None };
            let takes = |row| {
                let applies = applies.is_none_or(|applies| applies.get(row).truth() == Some(true));
                applies && !(*only_new && current.is_valid(row))
            };
            let takes = BooleanBuffer::collect_bool(rows, takes);
            if takes.count_set_bits() > 0 {
                let takes = BooleanArray::new(takes, None);
                current = zip(&takes, &whole(value, kind, rows)?, &current)?;
            }
        }
        Ok(current)
    });
    function.with(identity).call(arguments)
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

/// The numbers of the rows that match, as texts; none where the last argument is a condition that does not
/// hold.
fn matching_rows(lookup: Arc<Lookup>, inputs: usize, conditional: bool) -> EvalFunction {
    let identity = format!("{} {:p}", lookup.definition.name, Arc::as_ptr(&lookup));
    let condition = inputs + usize::from(lookup.definition.time.is_some());
    multi("lookup_rows", move |row, out| {
        if conditional && row.value(condition).truth() != Some(true) {
            return None;
        }
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
    .with(format!("{identity} {conditional}"))
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
