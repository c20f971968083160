//! Lookups as functions of the plan: one function that finds the matching rows of all lookups, and one for
//! each field that they set.
//!
//! Guarantees: the size of the plan depends on the number of fields that are read and set, not on the number
//! of lookups. One function per lookup made plans of a thousand columns when a thousand source types look up
//! one field.

use std::fmt::Write;
use std::mem::replace;
use std::sync::Arc;

use arrow::array::{StringViewArray, StringViewBuilder};
use datafusion::error::Result as EngineResult;
use exprs::Typed;
use exprs::column::{Argument, Value, Values};
use exprs::kernel::{EvalFunction, columns, multi, text};
use exprs::types::ValueType;
use frames::Frame;
use hashbrown::HashMap;
use knowledge::StanzaMatcher;
use model::columns::TIME;
use spl::ast::LookupCommand;

use super::super::eval::convert;
use super::outputs;
use crate::Error;
use context::lookup::{Key, Lookup};
use context::stanzas::{OfBatch, Stanzas, names_in};

/// The separator of lookups in a text of [`matches`].
const LOOKUPS: char = ';';
/// The prefix of each row number in such a text.
const ROWS: char = ' ';
/// Stands for the row numbers if the event has no value to look up, so that it gets no default.
const NO_INPUT: &str = "-";

/// A lookup, and the events to which it is applied.
pub(in crate::commands) struct Applied<'a> {
    pub(in crate::commands) command: &'a LookupCommand,
    pub(in crate::commands) lookup: &'a Arc<Lookup>,
    pub(in crate::commands) matcher: &'a StanzaMatcher,
}

/// The lookups of a group, in the order of their stanzas.
#[derive(Debug)]
struct Group {
    stanzas: Stanzas,
    asked: Vec<Asked>,
}

/// A lookup with the indexes of its arguments.
#[derive(Debug)]
struct Asked {
    lookup: Arc<Lookup>,
    inputs: Vec<usize>,
    time: Option<usize>,
}

/// Adds the outputs of lookups that do not read each other's outputs.
pub(in crate::commands) fn apply_all(
    lookups: &[Applied<'_>],
    frame: Frame,
) -> Result<Frame, Error> {
    let (group, arguments) = group(lookups, &frame);
    let singles: Vec<bool> = lookups.iter().map(|one| one.gives_one(&frame)).collect();
    let (frame, hidden) = frame.with_hidden(vec![("matches", matches(group, arguments).expr)])?;
    let matches: Vec<Typed> =
        hidden.iter().map(|name| Typed::column(name, ValueType::Text)).collect();
    let mut names: Vec<String> = Vec::new();
    let mut found: HashMap<String, Output> = HashMap::new();
    for (number, (one, single)) in (0..).zip(lookups.iter().zip(singles)) {
        for field in outputs(one.command, one.lookup) {
            let name = field.event_name();
            if !found.contains_key(name) {
                names.push(name.to_owned());
            }
            let column = one.lookup.rows.column(&field.lookup.node);
            let values = column.map_or(Ok(Values::Null), |column| Values::new(&column.array))?;
            let only_new = one.command.output.as_ref().is_some_and(|output| output.only_new);
            let everywhere = matches!(one.matcher, StanzaMatcher::Everything);
            let output = found.entry_ref(name).or_default();
            output.replaces |= everywhere && !only_new;
            output.keeps |= only_new;
            let lookup = Arc::clone(one.lookup);
            let field = field.lookup.node.clone();
            output.of_lookup.insert(number, Found { lookup, field, values, single, only_new });
        }
    }
    let mut values = Vec::with_capacity(names.len());
    for name in names {
        let output = found.remove(&name).unwrap_or_default();
        let value = output.value(frame.field(&name), &matches);
        values.push((name, value));
    }
    Ok(frame.with_columns(values)?.without_hidden(&hidden))
}

/// Returns the lookups as a group, and the arguments of its function: the host, source and source type of the
/// event if stanzas depend on them, then each input field once.
fn group(lookups: &[Applied<'_>], frame: &Frame) -> (Arc<Group>, Vec<Typed>) {
    let stanzas = Stanzas::new(lookups.iter().map(|one| one.matcher));
    let mut arguments = if stanzas.are_everywhere() { Vec::new() } else { Stanzas::names(frame) };
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut asked = Vec::with_capacity(lookups.len());
    for Applied { command, lookup, .. } in lookups {
        let mut place = |name| {
            *places.entry(name).or_insert_with(|| {
                arguments.push(frame.field(name));
                arguments.len() - 1
            })
        };
        let inputs = command.inputs.iter().map(|input| place(input.event_name())).collect();
        let time = lookup.definition.time.as_ref().map(|_| place(time_field(command)));
        asked.push(Asked { lookup: Arc::clone(lookup), inputs, time });
    }
    (Arc::new(Group { stanzas, asked }), arguments)
}

/// The field with the time for a time-based lookup.
pub(in crate::commands) fn time_field(command: &LookupCommand) -> &str {
    command.event_time_field.as_ref().map_or(TIME, |field| &field.node)
}

impl Applied<'_> {
    /// Whether an output has at most one value per row.
    fn gives_one(&self, frame: &Frame) -> bool {
        let kind = |name| frame.kind(name).unwrap_or(ValueType::Null);
        let mut inputs = self.command.inputs.iter();
        let several = inputs.any(|input| kind(input.event_name()) == ValueType::Multi);
        !several && self.lookup.definition.max_matches == 1
    }
}

/// Returns the lookups that apply to an event, with the numbers of the matching rows: `0 17 23;4;7 1`. Null
/// if no lookup applies. `0 -` is a lookup for which the event has no value.
fn matches(group: Arc<Group>, arguments: Vec<Typed>) -> Typed {
    let identity = format!("{:p}", Arc::as_ptr(&group));
    // Calls to programs are volatile, so that the optimizer neither moves nor repeats them.
    let is_volatile = group.asked.iter().any(|asked| asked.lookup.program.is_some());
    let function = columns("lookup_matches", ValueType::Text, move |arguments, rows| {
        Ok(Arc::new(group.matches(arguments, rows)?))
    });
    let function = function.with(identity);
    if is_volatile { function.volatile().call(arguments) } else { function.call(arguments) }
}

/// The arguments of one event.
#[derive(Clone, Copy)]
struct Event<'a> {
    arguments: &'a [Argument],
    row: usize,
}

impl<'a> Event<'a> {
    fn value(self, at: usize) -> Value<'a> {
        self.arguments.get(at).map_or(Value::Null, |argument| argument.get(self.row))
    }
}

impl Group {
    fn matches(&self, arguments: &[Argument], rows: usize) -> EngineResult<StringViewArray> {
        let mut of_batch = OfBatch::new(&self.stanzas);
        let mut answers = self.answers(arguments, rows, &mut of_batch)?;
        let mut built = StringViewBuilder::with_capacity(rows);
        let mut text = String::new();
        for row in 0..rows {
            text.clear();
            let event = Event { arguments, row };
            self.each_applying(event, &mut of_batch, |number| {
                if !text.is_empty() {
                    text.push(LOOKUPS);
                }
                write_number(number, &mut text);
                let asked = &self.asked[number];
                if asked.lacks_input(event) {
                    text.push(ROWS);
                    text.push_str(NO_INPUT);
                    return;
                }
                let mut write = |rows: &[u32]| {
                    for row in rows {
                        text.push(ROWS);
                        write_number(*row as usize, &mut text);
                    }
                };
                match answers.get_mut(&number) {
                    Some(answers) => asked.each_key(event, |_| {
                        if let Some(found) = answers.next() {
                            write(&found);
                        }
                    }),
                    None => asked.find(event, write),
                }
            });
            built.append_option((!text.is_empty()).then_some(&text));
        }
        Ok(built.finish())
    }

    /// Calls `visit` with the indexes of the lookups that apply to an event.
    fn each_applying(
        &self,
        event: Event<'_>,
        of_batch: &mut OfBatch<'_>,
        mut visit: impl FnMut(usize),
    ) {
        if self.stanzas.are_everywhere() {
            return (0..self.asked.len()).for_each(visit);
        }
        let stanzas = of_batch.of_event(names_in(event.arguments, event.row));
        stanzas.iter().for_each(|number| visit(*number as usize));
    }

    /// Asks the programs among the lookups for the keys of all events at once; the answers are in the order
    /// of the events.
    fn answers(
        &self,
        arguments: &[Argument],
        rows: usize,
        of_batch: &mut OfBatch<'_>,
    ) -> EngineResult<HashMap<usize, std::vec::IntoIter<Arc<[u32]>>>> {
        let mut keys: HashMap<usize, Vec<Key>> = HashMap::new();
        let programs = self.asked.iter().enumerate();
        keys.extend(programs.filter_map(|(number, asked)| {
            asked.lookup.program.as_ref().map(|_| (number, Vec::new()))
        }));
        if keys.is_empty() {
            return Ok(HashMap::new());
        }
        for row in 0..rows {
            let event = Event { arguments, row };
            self.each_applying(event, of_batch, |number| {
                if let Some(keys) = keys.get_mut(&number) {
                    self.asked[number].each_key(event, |key| keys.push(key));
                }
            });
        }
        let mut answers = HashMap::new();
        for (number, keys) in keys {
            if let Some(program) = &self.asked[number].lookup.program {
                answers.insert(number, program.rows(&keys)?.into_iter());
            }
        }
        Ok(answers)
    }
}

impl Asked {
    /// Whether the event has none of the input fields. The default of an add-on is for values that its table
    /// lacks, not for events of another kind, which do not have the field. By Splunk's documentation, null
    /// values are not replaced with `default_match`.
    fn lacks_input(&self, event: Event<'_>) -> bool {
        self.inputs.iter().all(|at| matches!(event.value(*at), Value::Null))
    }

    /// Calls `write` with the numbers of the matching rows; if the only input field has several values, once
    /// for each value.
    fn find(&self, event: Event<'_>, mut write: impl FnMut(&[u32])) {
        let time = self.time.and_then(|at| event.value(at).number());
        if let [only] = *self.inputs
            && let Value::Multi(values) = event.value(only)
        {
            values.iter().for_each(|value| write(&self.lookup.find(&[Some(value)], time)));
            return;
        }
        let texts: Vec<_> = self.inputs.iter().map(|at| event.value(*at).text()).collect();
        let texts: Vec<Option<&str>> = texts.iter().map(|text| text.as_deref()).collect();
        write(&self.lookup.find(&texts, time));
    }

    /// Calls `ask` with each key of an event for a program; an event with a missing value has no key.
    fn each_key(&self, event: Event<'_>, mut ask: impl FnMut(Key)) {
        if let [only] = *self.inputs
            && let Value::Multi(values) = event.value(only)
        {
            values.iter().for_each(|value| ask(vec![value.to_owned()]));
            return;
        }
        let texts = self.inputs.iter().map(|at| Some(event.value(*at).text()?.to_string()));
        if let Some(key) = texts.collect() {
            ask(key);
        }
    }
}

fn write_number(number: usize, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(out, "{number}");
}

/// A field that lookups set.
#[derive(Debug, Default)]
struct Output {
    /// The lookups that set the field, by index.
    of_lookup: HashMap<usize, Found>,
    /// Whether a lookup sets the field in all events, replacing its value.
    replaces: bool,
    /// Whether a lookup keeps an existing value.
    keeps: bool,
}

/// A lookup that sets a field.
#[derive(Debug)]
struct Found {
    lookup: Arc<Lookup>,
    /// The field of the lookup that is copied.
    field: String,
    /// The values of this field, by row.
    values: Values,
    /// Whether an event gets at most one value.
    single: bool,
    /// Whether an existing value is kept.
    only_new: bool,
}

impl Output {
    /// Returns the field after the lookups. It is a function of only two fields, the old value and the
    /// matches, because a filter that is pushed down copies the expressions that it reads.
    fn value(self, old: Typed, matches: &[Typed]) -> Typed {
        let kinds = self.of_lookup.values().map(|found| match found.single {
            true => ValueType::Text,
            false => ValueType::Multi,
        });
        let of_lookups = kinds.fold(ValueType::Null, ValueType::union);
        let old = if self.replaces && !self.keeps { Typed::null(of_lookups) } else { old };
        let kind = of_lookups.union(old.kind);
        let mut arguments = vec![convert(old, kind)];
        arguments.extend_from_slice(matches);
        let output = Arc::new(self);
        // The function is named after the address of its state, as two functions with equal names are
        // considered equal.
        let identity = format!("{:p}", Arc::as_ptr(&output));
        let function = match kind {
            ValueType::Multi => several(output),
            _ => one(output),
        };
        function.with(identity).call(arguments)
    }

    /// Returns the lookup that sets the field in an event, with the numbers of its rows; `None` if the event
    /// keeps its value.
    fn setter<'m>(&self, matches: &'m str, is_there: bool) -> Option<(&Found, &'m str)> {
        let (mut setter, mut is_there) = (None, is_there);
        for part in matches.split(LOOKUPS) {
            let (number, rows) = part.split_once(ROWS).unwrap_or((part, ""));
            let found = number.parse().ok().and_then(|number: usize| self.of_lookup.get(&number));
            let Some(found) = found else { continue };
            if found.only_new && is_there {
                continue;
            }
            if self.keeps {
                is_there = false;
                found.each(rows, |_| is_there = true);
            }
            setter = Some((found, rows));
        }
        setter
    }
}

impl Found {
    /// Calls `emit` with each value of the given rows.
    fn each(&self, rows: &str, mut emit: impl FnMut(&str)) {
        let mut is_done = false;
        let mut emit = |text: &str| {
            if !(self.single && replace(&mut is_done, true)) {
                emit(text);
            }
        };
        let mut found = 0;
        for row in rows.split(ROWS) {
            if row == NO_INPUT {
                return;
            }
            if let Ok(row) = row.parse::<usize>() {
                found += 1;
                match &self.lookup.program {
                    Some(program) => program.cell(&self.field, row, &mut emit),
                    None => self.values.get(row).each_text(&mut emit),
                }
            }
        }
        let definition = &self.lookup.definition;
        if let Some(default) = &definition.default_match {
            (found..definition.min_matches).for_each(|_| emit(default));
        }
    }
}

/// The function of a field with at most one value.
fn one(output: Arc<Output>) -> EvalFunction {
    text("lookup_value", move |row, out| {
        let matches = row.text(1);
        let matches = matches.as_deref().unwrap_or_default();
        let is_there = !matches!(row.value(0), Value::Null);
        let Some((found, rows)) = output.setter(matches, is_there) else {
            out.push_str(&row.text(0)?);
            return Some(());
        };
        let mut some = false;
        found.each(rows, |text| {
            if !replace(&mut some, true) {
                out.push_str(text);
            }
        });
        some.then_some(())
    })
}

/// The function of a field with several values.
fn several(output: Arc<Output>) -> EvalFunction {
    multi("lookup_values", move |row, out| {
        let matches = row.text(1);
        let matches = matches.as_deref().unwrap_or_default();
        let is_there = !matches!(row.value(0), Value::Null);
        match output.setter(matches, is_there) {
            Some((found, rows)) => found.each(rows, |text| out.append_value(text)),
            None => row.value(0).each_text(|text| out.append_value(text)),
        }
        Some(())
    })
}
