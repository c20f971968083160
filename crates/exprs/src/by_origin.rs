//! Conditions on events that are evaluated separately for the events of each origin (source type, source and
//! host).
//!
//! Most event types of add-ons are about one source type or source. Of hundreds of conditions over all rows
//! of a batch, few remain for the rows of one origin: tests of the origin are evaluated once per origin, and
//! the remaining conditions only for its rows, over the columns that they read. For the engine's optimizer,
//! all conditions are one call: otherwise, its rules would repeatedly traverse all of their parts.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayBuilder, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions,
    StringViewBuilder, UInt32Array,
};
use arrow::buffer::{BooleanBuffer, Buffer};
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::config::ConfigOptions;
use datafusion::common::{Column, DFSchema, Result, exec_err};
use datafusion::execution::context::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};
use hashbrown::{HashMap, HashSet};
use model::columns::{HOST, SOURCE, SOURCETYPE};
use parking_lot::Mutex;

use crate::column::{Value, Values, read};
use crate::kernel::{Texts, any_arguments};
use crate::ledger::Meter;
use crate::predicate::column_test;
use crate::types::{ArrowType, ValueType};
use crate::{Scope, Typed};

/// The columns that make up the origin of an event.
const ORIGIN: [&str; 3] = [SOURCETYPE, SOURCE, HOST];
/// Minimum number of conditions on the origin for deciding a filter by origin.
const MANY: usize = 8;
/// Maximum number of origins whose conditions are cached.
const KEPT: usize = 1_000;
/// Number of origins in a batch that is always acceptable.
const FEW: usize = 16;
/// Maximum number of names whose results are cached.
const NAMES: usize = 100_000;
/// Size of the view of a text in a list, besides its buffer.
const VIEW: usize = 16;

/// Returns the names of the conditions that hold for an event, in order, appended to the existing values
/// without duplicates. The conditions are filters compiled by `predicate`.
#[must_use]
pub fn names_that_hold(
    function: &'static str,
    named: Vec<(String, Expr)>,
    own: Typed,
    scope: &dyn Scope,
) -> Typed {
    let (names, conditions): (Vec<_>, Vec<_>) = named.into_iter().unzip();
    let conditions = Conditions::new(conditions, scope);
    let mut arguments = vec![own.expr];
    arguments.extend(conditions.arguments());
    let call = ByOrigin::new(function, Gives::Names(names.into()), conditions);
    Typed::new(call.call(arguments), ValueType::Multi)
}

/// Returns a filter that is decided by origin if it has many conditions on the origin; otherwise the filter
/// itself. The filter was compiled by `predicate`.
#[must_use]
pub fn filter(condition: Expr, scope: &dyn Scope) -> Expr {
    let mut tests = Tests::default();
    tests.add(&condition);
    if tests.places.len() < MANY { condition } else { decided_by_origin(condition, scope) }
}

fn decided_by_origin(condition: Expr, scope: &dyn Scope) -> Expr {
    let conditions = Conditions::new(vec![condition], scope);
    let arguments = conditions.arguments();
    ByOrigin::new("by_origin", Gives::Truth, conditions).call(arguments)
}

/// Returns the conditions of which a filter that is decided by origin tests whether any holds, and the
/// columns that its arguments are in them.
pub(crate) fn conditions_of(function: &ScalarUDF) -> Option<(&[Expr], &[String])> {
    let call = function.inner().downcast_ref::<ByOrigin>()?;
    let Conditions { all, columns, .. } = call.conditions.as_ref();
    matches!(call.gives, Gives::Truth).then_some((all.as_slice(), columns.as_slice()))
}

/// Returns the number of steps of the conditions in a call, which its expression hides.
#[must_use]
pub fn hidden_steps(expr: &Expr) -> usize {
    let Expr::ScalarFunction(call) = expr else { return 0 };
    call.func.inner().downcast_ref::<ByOrigin>().map_or(0, |call| call.conditions.steps)
}

/// Returns the number of steps of an expression.
fn steps(expr: &Expr) -> usize {
    match expr {
        Expr::Not(inner) => 1 + steps(inner),
        Expr::BinaryExpr(binary) => 1 + steps(&binary.left) + steps(&binary.right),
        Expr::ScalarFunction(call) => 1 + call.args.len(),
        _ => 1,
    }
}

/// The distinct tests of the origin.
#[derive(Debug, Default)]
struct Tests {
    /// The tests of each part of the origin.
    of_part: [Vec<Expr>; ORIGIN.len()],
    /// The part of each test, and its index in that part.
    places: HashMap<Expr, (usize, usize)>,
}

/// The results of the tests of each part, for an origin.
type Truths<'t> = [&'t [bool]; ORIGIN.len()];

impl Tests {
    /// Adds the tests of a condition. Returns whether it has any.
    fn add(&mut self, condition: &Expr) -> bool {
        match condition {
            Expr::Not(inner) => self.add(inner),
            Expr::BinaryExpr(binary) => {
                let left = self.add(&binary.left);
                self.add(&binary.right) || left
            }
            other => {
                let Some((column, _)) = column_test(other) else { return false };
                let Some(part) = ORIGIN.iter().position(|name| *name == column) else {
                    return false;
                };
                let of_part = &mut self.of_part[part];
                self.places.entry(other.clone()).or_insert_with(|| {
                    of_part.push(other.clone());
                    (part, of_part.len() - 1)
                });
                true
            }
        }
    }

    /// Evaluates the tests of a part for a name.
    fn of_name(&self, part: usize, name: Option<&str>) -> Vec<bool> {
        let value = || name.map_or(Value::Null, Value::Text);
        let holds = |test: &Expr| column_test(test).is_some_and(|(_, holds)| holds(value()));
        self.of_part[part].iter().map(holds).collect()
    }

    /// Simplifies a condition for events of an origin.
    fn decided(&self, condition: &Expr, truths: Truths<'_>) -> Expr {
        let truth = |truth| Typed::truth(truth).expr;
        match condition {
            Expr::Not(inner) => {
                let inner = self.decided(inner, truths);
                match as_truth(&inner) {
                    Some(known) => truth(!known),
                    None => Expr::Not(Box::new(inner)),
                }
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right })
                if matches!(op, Operator::And | Operator::Or) =>
            {
                // The value that determines the result, regardless of the other operand.
                let decisive = *op == Operator::Or;
                let left = self.decided(left, truths);
                if as_truth(&left) == Some(decisive) {
                    return left;
                }
                let right = self.decided(right, truths);
                match (as_truth(&left), as_truth(&right)) {
                    (Some(_), _) => right,
                    (_, Some(known)) if known == decisive => right,
                    (_, Some(_)) => left,
                    _ => Expr::BinaryExpr(BinaryExpr::new(Box::new(left), *op, Box::new(right))),
                }
            }
            other => match self.places.get(other) {
                Some((part, at)) => truth(truths[*part][*at]),
                None => other.clone(),
            },
        }
    }
}

/// Returns the Boolean that an expression is, if it is a literal.
fn as_truth(expr: &Expr) -> Option<bool> {
    match expr {
        Expr::Literal(datafusion::common::ScalarValue::Boolean(truth), _) => *truth,
        _ => None,
    }
}

/// Conditions, and the columns that they read.
#[derive(Debug)]
struct Conditions {
    all: Vec<Expr>,
    tests: Tests,
    /// Whether each condition tests the origin.
    ask_origin: Vec<bool>,
    columns: Vec<String>,
    steps: usize,
    /// The indexes of the parts of the origin among the columns.
    origin: [Option<usize>; ORIGIN.len()],
    known: Mutex<Known>,
}

/// A cache of the origins that have occurred.
#[derive(Debug, Default)]
struct Known {
    parts: [Names; ORIGIN.len()],
    planned: HashMap<Class, Arc<Planned>>,
}

/// The results of the tests of one part of the origin. Names with the same results are equivalent.
#[derive(Debug, Default)]
struct Names {
    numbers: HashMap<Option<String>, u32>,
    of_truths: HashMap<Vec<bool>, u32>,
    truths: Vec<Vec<bool>>,
}

/// A class of rows for which conditions are simplified in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Class {
    /// All rows, for conditions without tests of the origin.
    Free,
    /// All rows, for conditions with tests of the origin that cannot be decided: its parts are not texts, or
    /// there are too many origins.
    Undecided,
    /// Rows of an origin, identified by the numbers of its names.
    Of([u32; ORIGIN.len()]),
}

/// A class and its rows.
type OfClass = (Class, Vec<u32>);

/// Simplified conditions, ready for evaluation.
#[derive(Debug)]
struct Planned {
    conditions: Vec<PlannedCondition>,
    /// The columns that they read.
    columns: Vec<usize>,
}

/// A condition over only the columns that it reads, because `AND` copies rows of all columns of a batch.
#[derive(Debug)]
struct PlannedCondition {
    at: u32,
    physical: Arc<dyn PhysicalExpr>,
    /// Indexes among the columns that all conditions read.
    columns: Vec<usize>,
}

impl Names {
    fn known(&self, name: &Option<String>) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    fn number(&mut self, name: Option<String>, truths: Vec<bool>) -> u32 {
        let all = &mut self.truths;
        let number = *self.of_truths.entry(truths).or_insert_with_key(|truths| {
            all.push(truths.clone());
            u32::try_from(all.len() - 1).unwrap_or(u32::MAX)
        });
        if self.numbers.len() >= NAMES {
            self.numbers.clear();
        }
        self.numbers.insert(name, number);
        number
    }

    fn truths(&self, number: u32) -> Vec<bool> {
        self.truths.get(number as usize).cloned().unwrap_or_default()
    }
}

impl Conditions {
    fn new(all: Vec<Expr>, scope: &dyn Scope) -> Arc<Self> {
        let mut tests = Tests::default();
        let ask_origin = all.iter().map(|one| tests.add(one)).collect();
        let mut columns: Vec<String> =
            all.iter().flat_map(Expr::column_refs).map(|column| column.name.clone()).collect();
        columns.retain(|name| scope.field(name).is_some());
        columns.sort_unstable();
        columns.dedup();
        let origin = ORIGIN.map(|part| columns.iter().position(|name| name == part));
        let steps = all.iter().map(steps).sum();
        Arc::new(Self { all, tests, ask_origin, columns, steps, origin, known: Mutex::default() })
    }

    fn arguments(&self) -> Vec<Expr> {
        let column = |name: &String| Expr::Column(Column::new_unqualified(name));
        self.columns.iter().map(column).collect()
    }

    /// Returns the conditions simplified for a class, without those that hold for none of its rows. Threads
    /// may compute the same entry concurrently instead of waiting for each other.
    fn planned(
        &self,
        class: Class,
        batch: &RecordBatch,
        config: &Arc<ConfigOptions>,
    ) -> Result<Arc<Planned>> {
        let truths = {
            let known = self.known.lock();
            if let Some(planned) = known.planned.get(&class) {
                return Ok(Arc::clone(planned));
            }
            match class {
                Class::Of(numbers) => [0, 1, 2].map(|part| known.parts[part].truths(numbers[part])),
                _ => Default::default(),
            }
        };
        let truths = truths.each_ref().map(Vec::as_slice);
        let mut conditions = Vec::new();
        for ((at, one), asks) in (0_u32..).zip(&self.all).zip(&self.ask_origin) {
            let condition = match &class {
                Class::Free if !asks => one.clone(),
                Class::Undecided if *asks => one.clone(),
                Class::Of(_) if *asks => self.tests.decided(one, truths),
                _ => continue,
            };
            if as_truth(&condition) != Some(false) {
                conditions.push((at, condition));
            }
        }
        let read = |one: &Expr| -> HashSet<String> {
            one.column_refs().into_iter().map(|column| column.name.clone()).collect()
        };
        let all: HashSet<String> = conditions.iter().flat_map(|(_, one)| read(one)).collect();
        let columns = (0..self.columns.len()).filter(|at| all.contains(&self.columns[*at]));
        let columns: Vec<usize> = columns.collect();
        let schema = batch.schema_ref().project(&columns)?;
        let mut props = ExecutionProps::new();
        props.config_options = Some(Arc::clone(config));
        let context = PhysicalPlanningContext::default();
        let physical = |(at, one): (u32, Expr)| -> Result<PlannedCondition> {
            let read = read(&one);
            let columns =
                (0..schema.fields().len()).filter(|at| read.contains(schema.field(*at).name()));
            let columns: Vec<usize> = columns.collect();
            let schema = DFSchema::try_from(schema.project(&columns)?)?;
            let physical = create_physical_expr(&one, &schema, &props, &context)?;
            Ok(PlannedCondition { at, physical, columns })
        };
        let conditions = conditions.into_iter().map(physical).collect::<Result<_>>()?;
        let planned = Arc::new(Planned { conditions, columns });
        let mut known = self.known.lock();
        if known.planned.len() >= KEPT {
            known.planned.clear();
        }
        known.planned.insert(class, Arc::clone(&planned));
        Ok(planned)
    }

    /// Calls `holds` with each row and each condition that holds for it. The conditions of a row come in no
    /// particular order.
    fn evaluate(
        &self,
        arguments: &[ArrayRef],
        rows: usize,
        config: &Arc<ConfigOptions>,
        mut holds: impl FnMut(u32, u32),
    ) -> Result<()> {
        let fields = self.columns.iter().zip(arguments);
        let fields = fields.map(|(name, array)| Field::new(name, array.data_type().clone(), true));
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let batch = RecordBatch::try_new_with_options(schema, arguments.to_vec(), &options)?;
        if self.ask_origin.contains(&false) {
            self.planned(Class::Free, &batch, config)?.evaluate(&batch, None, &mut holds)?;
        }
        if !self.ask_origin.contains(&true) {
            return Ok(());
        }
        let Some(classes) = self.classes(&batch)? else {
            let planned = self.planned(Class::Undecided, &batch, config)?;
            return planned.evaluate(&batch, None, &mut holds);
        };
        for (class, of_class) in classes {
            let planned = self.planned(class, &batch, config)?;
            let some = (of_class.len() < rows).then_some(of_class);
            planned.evaluate(&batch, some, &mut holds)?;
        }
        Ok(())
    }

    /// Groups the rows by origin, ordered by first row; `None` if a part of the origin is not a text, or if
    /// there are too many origins.
    fn classes(&self, batch: &RecordBatch) -> Result<Option<Vec<OfClass>>> {
        let rows = batch.num_rows();
        if self.has_too_many() {
            return Ok(None);
        }
        let mut numbers = vec![[0; ORIGIN.len()]; rows];
        for (part, at) in self.origin.iter().enumerate() {
            let Some(at) = at else { continue };
            if self.tests.of_part[part].is_empty() {
                continue;
            }
            let values = read(batch.column(*at))?;
            // The same names recur: most are found without consulting the cache of all batches.
            let mut seen: HashMap<Option<&str>, u32> = HashMap::new();
            for (row, number) in numbers.iter_mut().enumerate() {
                let name = match values.get(row) {
                    Value::Null => None,
                    Value::Text(name) => Some(name),
                    _ => return Ok(None),
                };
                number[part] = *seen.entry(name).or_insert_with(|| self.number(part, name));
            }
        }
        let mut places: HashMap<[u32; ORIGIN.len()], usize> = HashMap::new();
        let mut found: Vec<OfClass> = Vec::new();
        for (row, numbers) in (0_u32..).zip(numbers) {
            let place = *places.entry(numbers).or_insert_with(|| {
                found.push((Class::Of(numbers), Vec::new()));
                found.len() - 1
            });
            found[place].1.push(row);
        }
        // With nearly as many origins as rows, dividing the batch would cost more than it saves.
        if found.len() > rows / 4 + FEW || self.has_too_many() {
            return Ok(None);
        }
        Ok(Some(found))
    }

    fn number(&self, part: usize, name: Option<&str>) -> u32 {
        let owned = name.map(str::to_owned);
        if let Some(known) = self.known.lock().parts[part].known(&owned) {
            return known;
        }
        let truths = self.tests.of_name(part, name);
        self.known.lock().parts[part].number(owned, truths)
    }

    /// Whether more origins occur than can be cached.
    fn has_too_many(&self) -> bool {
        self.known.lock().parts.iter().any(|part| part.truths.len() > KEPT)
    }
}

impl Planned {
    /// Evaluates the conditions for the given rows, or for all rows.
    fn evaluate(
        &self,
        batch: &RecordBatch,
        rows: Option<Vec<u32>>,
        holds: &mut dyn FnMut(u32, u32),
    ) -> Result<()> {
        if self.conditions.is_empty() {
            return Ok(());
        }
        let count = rows.as_ref().map_or(batch.num_rows(), Vec::len);
        let places = rows.map(UInt32Array::from);
        let column = |at: &usize| match &places {
            Some(places) => take(batch.column(*at), places, None),
            None => Ok(Arc::clone(batch.column(*at))),
        };
        let columns = self.columns.iter().map(column).collect::<Result<_, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let schema = Arc::new(batch.schema_ref().project(&self.columns)?);
        let own = RecordBatch::try_new_with_options(schema, columns, &options)?;
        for condition in &self.conditions {
            let part = own.project(&condition.columns)?;
            let truths = condition.physical.evaluate(&part)?.into_array(count)?;
            let Some(truths) = truths.as_boolean_opt() else {
                return exec_err!("a condition gives {}, not a truth", truths.data_type());
            };
            for row in set(truths).set_indices_u32() {
                holds(
                    places.as_ref().map_or(row, |places| places.value(row as usize)),
                    condition.at,
                );
            }
        }
        Ok(())
    }
}

/// Returns which values are true, treating null as false.
fn set(truths: &BooleanArray) -> BooleanBuffer {
    match truths.nulls() {
        Some(nulls) => truths.values() & nulls.inner(),
        None => truths.values().clone(),
    }
}

/// The result of a call.
#[derive(Debug)]
enum Gives {
    /// Whether any condition holds.
    Truth,
    /// The names of the conditions that hold, appended to the values of the first argument.
    Names(Arc<[String]>),
}

/// Conditions as a function of the engine. Two functions are equal only if they share the same conditions in
/// memory.
#[derive(Debug)]
struct ByOrigin {
    function: &'static str,
    gives: Gives,
    conditions: Arc<Conditions>,
    signature: Signature,
}

impl PartialEq for ByOrigin {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.conditions, &other.conditions)
    }
}

impl Eq for ByOrigin {}

impl Hash for ByOrigin {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.conditions).hash(state);
    }
}

impl ByOrigin {
    fn new(function: &'static str, gives: Gives, conditions: Arc<Conditions>) -> Self {
        Self { function, gives, conditions, signature: any_arguments(Volatility::Immutable) }
    }

    fn call(self, arguments: Vec<Expr>) -> Expr {
        ScalarUDF::new_from_impl(self).call(arguments)
    }
}

impl ScalarUDFImpl for ByOrigin {
    fn name(&self) -> &str {
        self.function
    }

    fn schema_name(&self, _: &[Expr]) -> Result<String> {
        let conditions = &self.conditions;
        Ok(format!("{}[{} {:p}]", self.function, conditions.all.len(), Arc::as_ptr(conditions)))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        let kind = match self.gives {
            Gives::Truth => ValueType::Boolean,
            Gives::Names(_) => ValueType::Multi,
        };
        Ok(kind.data_type())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let arrays = args.args.iter().map(|argument| argument.to_array(rows));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let config = &args.config_options;
        let conditions = &self.conditions;
        let made = match (&self.gives, arrays.as_slice()) {
            (Gives::Names(names), [own, arrays @ ..]) => {
                let mut held = Vec::new();
                conditions.evaluate(arrays, rows, config, |row, at| held.push((row, at)))?;
                held.sort_unstable();
                let mut meter = Meter::new(config);
                let made = listed(names, &read(own)?, &held, rows, &mut meter)?;
                meter.finish(made)?
            }
            _ => {
                let mut truths = vec![false; rows];
                conditions.evaluate(&arrays, rows, config, |row, _| truths[row as usize] = true)?;
                Arc::new(BooleanArray::from(truths))
            }
        };
        Ok(ColumnarValue::Array(made))
    }
}

/// Appends names to the values of each row, except names that are already present. `held` has pairs of row
/// and name, in order.
fn listed(
    names: &[String],
    own: &Values,
    held: &[(u32, u32)],
    rows: usize,
    meter: &mut Meter,
) -> Result<ArrayRef> {
    let mut built = Texts::with_capacity(StringViewBuilder::new(), rows);
    // Each name is in memory only once.
    let block = built.values().append_block(Buffer::from(names.concat().as_bytes()));
    let mut starts = Vec::with_capacity(names.len());
    let mut end = 0_u32;
    for name in names {
        starts.push(end);
        end += u32::try_from(name.len()).unwrap_or(u32::MAX);
    }
    let mut held = held.iter().peekable();
    for row in 0..rows {
        let before = built.values().len();
        let value = own.get(row);
        let mut bytes = 0;
        value.each_text(|text| {
            bytes += VIEW + text.len();
            built.values().append_value(text);
        });
        while let Some((_, at)) = held.next_if(|(of, _)| *of as usize == row) {
            let name = &names[*at as usize];
            let mut is_known = false;
            value.each_text(|text| is_known |= text == name);
            if !is_known {
                bytes += VIEW;
                let length = u32::try_from(name.len()).unwrap_or(u32::MAX);
                built.values().try_append_view(block, starts[*at as usize], length)?;
            }
        }
        meter.add(bytes)?;
        let some = built.values().len() > before;
        built.append(some);
    }
    Ok(Arc::new(built.finish()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::compile::testing::Table;
    use crate::predicate::{balanced, compile_search};

    const CONDITIONS: [&str; 13] = [
        "sourcetype=web error",
        "sourcetype=db",
        "sourcetype=web OR sourcetype=db OR error",
        "NOT sourcetype=web",
        "NOT (sourcetype=web error)",
        "error OR failed",
        "sourcetype=d* user=bob",
        "sourcetype IN (web, mail) (error OR user=ann)",
        "sourcetype!=web user=*",
        "(sourcetype=web OR sourcetype=mail) NOT (error OR sourcetype=mail)",
        "user=bob",
        "source=*.log (sourcetype=web OR user=ann)",
        "sourcetype=none",
    ];

    type Event = (Option<usize>, usize, Option<usize>);

    fn table(rows: &[Event]) -> Table {
        let types = ["web", "db", "mail"];
        let raws = ["an error", "it failed", "nothing"];
        let users = ["bob", "ann"];
        let column = |value: &dyn Fn(&Event) -> Option<&'static str>| -> Vec<_> {
            rows.iter().map(value).collect()
        };
        Table::new()
            .text(SOURCETYPE, &column(&|event| event.0.map(|at| types[at])))
            .text(SOURCE, &column(&|event| Some(["a.log", "b.txt", "c.log"][event.1])))
            .text("_raw", &column(&|event| Some(raws[2 - event.1])))
            .text("user", &column(&|event| event.2.map(|at| users[at])))
    }

    proptest! {
        #[test]
        fn conditions_by_origin_hold_where_they_do(
            rows in prop::collection::vec(
                (prop::option::of(0_usize..3), 0_usize..3, prop::option::of(0_usize..2)), 0..60,
            ),
        ) {
            let table = table(&rows);
            let compiled = CONDITIONS.map(|text| {
                let parsed = spl::parse_search_terms(text).unwrap().expr.unwrap();
                compile_search(&parsed, &table).unwrap()
            });
            let named = CONDITIONS.iter().zip(compiled.clone());
            let named = named.map(|(name, expr)| ((*name).to_owned(), expr)).collect();
            let own = Typed::column("user", ValueType::Text);
            let names = table.evaluate(&names_that_hold("names", named, own, &table).expr);
            let users = table.evaluate(&Typed::column("user", ValueType::Text).expr);
            let truths = compiled.each_ref().map(|expr| table.evaluate(expr));
            for row in 0..rows.len() {
                let held = |at: &usize| truths[*at][row].as_deref() == Some("True");
                let held = (0..CONDITIONS.len()).filter(held).map(|at| CONDITIONS[at]);
                let expected: Vec<&str> = users[row].as_deref().into_iter().chain(held).collect();
                prop_assert_eq!(names[row].as_deref().unwrap_or_default(), expected.join("|"));
            }
            let any = balanced(Operator::Or, compiled[..6].to_vec()).unwrap();
            let all = balanced(Operator::And, compiled[6..].to_vec()).unwrap();
            for whole in [any, all] {
                let by_origin = decided_by_origin(whole.clone(), &table);
                prop_assert_eq!(&table.evaluate(&by_origin), &table.evaluate(&whole));
            }
        }
    }

    #[test]
    fn an_origin_of_several_values_is_not_decided() {
        let hosts: [&[&str]; 3] = [&["a", "b"], &["b"], &[]];
        let table = Table::new()
            .text(SOURCETYPE, &[Some("web"), Some("web"), Some("db")])
            .multi(HOST, &hosts);
        let parsed = spl::parse_search_terms("host=a OR sourcetype=db").unwrap().expr.unwrap();
        let compiled = compile_search(&parsed, &table).unwrap();
        let by_origin = decided_by_origin(compiled, &table);
        let truths = table.evaluate(&by_origin);
        let truths: Vec<Option<&str>> = truths.iter().map(Option::as_deref).collect();
        assert_eq!(truths, [Some("True"), Some("False"), Some("True")]);
        assert_eq!(hidden_steps(&by_origin), 5);
    }

    #[test]
    fn many_origins_are_not_divided() {
        let names: Vec<String> = (0..100).map(|at| format!("s{at}")).collect();
        let types: Vec<Option<&str>> = names.iter().map(|name| Some(name.as_str())).collect();
        let table = Table::new().text(SOURCETYPE, &types);
        // A different condition for each name, so that they are not merged into one list.
        let of = |name: &String| format!("(sourcetype={name} sourcetype=*)");
        let text = names.iter().skip(50).map(of).collect::<Vec<_>>().join(" OR ");
        let parsed = spl::parse_search_terms(&text).unwrap().expr.unwrap();
        let by_origin = filter(compile_search(&parsed, &table).unwrap(), &table);
        let truths = table.evaluate(&by_origin);
        let held = truths.iter().filter(|truth| truth.as_deref() == Some("True")).count();
        assert_eq!(held, 50);
    }

    #[test]
    fn a_filter_of_many_origins_is_one_call() {
        let table = table(&[]);
        let compiled = |text: &str| {
            let parsed = spl::parse_search_terms(text).unwrap().expr.unwrap();
            compile_search(&parsed, &table).unwrap()
        };
        let of = |name: usize| format!("(sourcetype=s{name} error)");
        let few = compiled(&(0..7).map(of).collect::<Vec<_>>().join(" OR "));
        assert_eq!(filter(few.clone(), &table), few);
        let many = compiled(&(0..8).map(of).collect::<Vec<_>>().join(" OR "));
        assert!(matches!(filter(many, &table), Expr::ScalarFunction(_)));
    }

    #[test]
    fn what_a_condition_asks_of_the_origin_is_decided_once() {
        let table = table(&[]);
        let decided = |text: &str, name: &str| {
            let parsed = spl::parse_search_terms(text).unwrap().expr.unwrap();
            let compiled = compile_search(&parsed, &table).unwrap();
            let mut tests = Tests::default();
            tests.add(&compiled);
            let truths = tests.of_name(0, Some(name));
            let left = tests.decided(&compiled, [&truths, &[], &[]]);
            as_truth(&left).map_or_else(|| left.to_string(), |truth| truth.to_string())
        };
        let error = decided("error", "web");
        assert_eq!(decided("sourcetype=web error", "web"), error);
        assert_eq!(decided("error sourcetype=WEB", "web"), error);
        assert_eq!(decided("sourcetype=web error", "db"), "false");
        assert_eq!(decided("sourcetype=web OR error", "db"), error);
        assert_eq!(decided("NOT sourcetype=w* OR error", "db"), "true");
    }
}
