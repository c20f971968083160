//! Compares the two evaluators for every function and operator, with arguments of every shape: at ingestion
//! ([`eval::Expression`], one event at a time), and in a search (columns of a batch).
#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use std::sync::Arc;

use datafusion::common::DFSchema;
use datafusion::common::config::ConfigOptions;
use datafusion::execution::context::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::physical_expr::create_physical_expr;
use eval::value::Value;
use eval::{Datum, Expression};
use jiff::tz::TimeZone;
use model::EventTime;

use crate::compile::testing::{Table, shown};
use crate::types::ValueType;
use crate::{Scope, compile};

/// Maximum number of differences that are shown per function.
const SHOWN: usize = 4;
/// Rows of the batch: enough for many pairs of the texts of two fields.
const ROWS: usize = 48;
/// Number of calls with three or more arguments, per function.
const SAMPLE: usize = 500;

const TEXTS: [Option<&str>; 16] = [
    Some("Hello World"),
    Some("3.14159"),
    Some("42"),
    Some("-7"),
    Some(" 42 "),
    Some(""),
    Some("true"),
    None,
    Some("0"),
    Some("5.50"),
    Some(r#"{"a":{"b":[1,2.0,{"c":"x"}]},"t":"text","n":null}"#),
    Some(r#"[1,"x",null,{"key":"k","value":2}]"#),
    Some("10.1.2.3"),
    Some("2023-11-14 22:13:20"),
    Some("häßlich %41+l"),
    Some("1e20"),
];

const LISTS: [&[&str]; 6] =
    [&["b", "a", "10", "9", "a"], &[], &["x"], &["1", "2.50"], &["7"], &["{\"a\":1}", "true"]];

/// Arguments: fields of every type, constants, and computed values.
const SHAPES: &[&str] = &[
    "a",
    "b",
    "m",
    "k",
    "t",
    "f",
    "i",
    "nothing",
    "0",
    "2",
    "-1",
    "16",
    "5.50",
    "null()",
    "true()",
    "\"\"",
    "\"l+\"",
    "\"5.50\"",
    "\"a\"",
    "\"a.b{}\"",
    "\"%Y-%m-%d %H:%M:%S\"",
    "\"-1d@d\"",
    "\"10.0.0.0/8\"",
    "\"commas\"",
    "\"%5.2f|%g|%s\"",
    "\"[1,\\\"x\\\"]\"",
    "tonumber(a)",
    "round(a, 2)",
    "a * 1.50",
    "a . b",
    "a = \"42\"",
    "split(a, \" \")",
    "mvcount(m)",
    "if(a > 3, f, b)",
];

/// Excluded functions: random or time-dependent results, and functions that exist only in searches.
const EXCEPT: [&str; 4] = ["lookup", "random", "searchmatch", "time"];

/// The batch, whose columns are also the fields of events.
struct Events {
    table: Table,
}

impl Events {
    fn new() -> Self {
        let texts = |step: usize| -> Vec<Option<&str>> {
            (0..ROWS).map(|row| TEXTS[(row + row / TEXTS.len() * step) % TEXTS.len()]).collect()
        };
        let lists = |from: usize| -> Vec<&[&str]> {
            (0..ROWS).map(|row| LISTS[(row + from) % LISTS.len()]).collect()
        };
        let some = |row: usize| row % 5 != 3;
        let times = [1_700_000_000_250_000, 0, -1_500_000, 951_782_400_000_000];
        let floats = [2.5, -0.5, 1e21, 3.0, f64::NAN, 0.1];
        let integers = [0, 7, -3, 1_700_000_000];
        let of = |row: usize| some(row).then_some(row);
        let times: Vec<_> = (0..ROWS).map(|r| of(r).map(|r| times[r % times.len()])).collect();
        let floats: Vec<_> = (0..ROWS).map(|r| of(r).map(|r| floats[r % floats.len()])).collect();
        let integers: Vec<_> =
            (0..ROWS).map(|r| of(r).map(|r| integers[r % integers.len()])).collect();
        let table = Table::new()
            .text("a", &texts(0))
            .text("b", &texts(5))
            .multi("m", &lists(0))
            .multi("k", &lists(2))
            .time("t", &times)
            .float("f", &floats)
            .integer("i", &integers);
        Self { table }
    }

    /// Returns the result of an expression in a search, or the message that refuses it.
    fn search(&self, text: &str) -> Result<Vec<Option<String>>, String> {
        let expr = spl::parse_expression(text).map_err(|error| error.to_string())?;
        let typed = compile(&expr, self).map_err(|error| error.to_string())?.shown();
        let batch = self.table.batch();
        let schema = DFSchema::try_from(batch.schema()).unwrap();
        let context = PhysicalPlanningContext::default();
        let mut props = ExecutionProps::new();
        props.config_options = Some(Arc::new(ConfigOptions::new()));
        let physical = create_physical_expr(&typed.expr, &schema, &props, &context).unwrap();
        let result = physical.evaluate(&batch).unwrap().into_array(ROWS).unwrap();
        Ok(shown(&result))
    }

    /// Returns its result event by event.
    fn arrival(&self, text: &str) -> Result<Vec<Option<String>>, String> {
        // In a search, the type of an unknown field is null.
        let kind = |name: &str| self.field(name).unwrap_or(ValueType::Null);
        let expression = Expression::compile(text, &kind)?;
        let value = |row| {
            let value = expression.evaluate(&Event { events: self, row });
            let mut parts = Vec::new();
            value.get().each_text(|text| parts.push(text.to_owned()));
            (!value.get().is_null()).then(|| parts.join("|"))
        };
        Ok((0..ROWS).map(value).collect())
    }

    /// Returns the first difference between the two evaluators.
    fn difference(&self, text: &str) -> Option<String> {
        let (search, arrival) = (self.search(text), self.arrival(text));
        match (search, arrival) {
            (Ok(search), Ok(arrival)) => {
                let row = (0..ROWS).find(|row| search[*row] != arrival[*row])?;
                Some(format!(
                    "{text}: search {:?}, arrival {:?} (row {row})",
                    search[row], arrival[row]
                ))
            }
            (Err(search), Err(arrival)) if arrival.starts_with(&search) => None,
            (search, arrival) => Some(format!(
                "{text}: search {:?}, arrival {:?}",
                search.map(|_| "compiles"),
                arrival.map(|_| "compiles")
            )),
        }
    }
}

impl Scope for Events {
    fn field(&self, name: &str) -> Option<ValueType> {
        self.table.field(name)
    }

    fn fields(&self) -> Vec<String> {
        self.table.columns.iter().map(|(name, _, _)| name.clone()).collect()
    }

    fn now(&self) -> EventTime {
        self.table.now()
    }

    fn timezone(&self) -> &TimeZone {
        self.table.timezone()
    }
}

/// One row of the batch.
struct Event<'e> {
    events: &'e Events,
    row: usize,
}

impl eval::Scope for Event<'_> {
    fn field(&self, name: &str) -> Datum<'_> {
        let columns = &self.events.table.columns;
        let Some((_, _, array)) = columns.iter().find(|column| column.0 == name) else {
            return Datum::NULL;
        };
        let values = crate::column::Values::new(array).unwrap();
        let owned = Datum::View(values.get(self.row)).into_owned();
        match owned {
            Datum::Multi(texts) if texts.is_empty() => Value::Null.into(),
            owned => owned,
        }
    }

    fn names(&self) -> Vec<String> {
        self.events.fields()
    }

    fn now(&self) -> EventTime {
        self.events.now()
    }
}

/// Returns lists of `count` arguments: all lists for one and two, a sample for more.
fn arguments(count: usize) -> Vec<Vec<&'static str>> {
    let all = SHAPES.len();
    match count {
        0 => vec![Vec::new()],
        1 => SHAPES.iter().map(|shape| vec![*shape]).collect(),
        2 => (0..all * all).map(|at| vec![SHAPES[at % all], SHAPES[at / all]]).collect(),
        _ => {
            let mut seed = 1_u64;
            let mut next = || {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                SHAPES[usize::try_from(seed >> 33).unwrap() % all]
            };
            (0..SAMPLE).map(|_| (0..count).map(|_| next()).collect()).collect()
        }
    }
}

/// Fails with the differences of the expressions, grouped by function or operator.
fn agree(expressions: impl Iterator<Item = (String, Vec<String>)>) {
    let events = Events::new();
    let mut report = String::new();
    for (name, texts) in expressions {
        let mut differing = 0;
        for text in &texts {
            let Some(difference) = events.difference(text) else { continue };
            differing += 1;
            if differing <= SHOWN {
                writeln!(report, "{difference}").unwrap();
            }
        }
        if differing > 0 {
            writeln!(report, "{name}: {differing} of {} differ\n", texts.len()).unwrap();
        }
    }
    assert!(report.is_empty(), "{report}");
}

#[test]
fn functions_give_the_same_in_searches_and_on_arrival() {
    let functions = spl::FUNCTIONS.iter().filter(|function| !EXCEPT.contains(&function.name));
    agree(functions.map(|function| {
        let arity = function.arity;
        let most = arity.max.unwrap_or(arity.min + 2).min(arity.min + 2);
        let counts = (arity.min..=most).filter(|count| arity.refuses(*count).is_none());
        let calls = counts.flat_map(arguments);
        let call = |all: Vec<&str>| format!("{}({})", function.name, all.join(", "));
        (function.name.to_owned(), calls.map(call).collect())
    }));
}

#[test]
fn operators_give_the_same_in_searches_and_on_arrival() {
    const OPERATORS: [&str; 16] =
        ["+", "-", "*", "/", "%", ".", "AND", "OR", "XOR", "=", "!=", "<", "<=", ">", ">=", "LIKE"];
    let binary = OPERATORS.iter().map(|operator| {
        let pair = |pair: Vec<&str>| format!("({}) {operator} ({})", pair[0], pair[1]);
        ((*operator).to_owned(), arguments(2).into_iter().map(pair).collect())
    });
    let negated = arguments(1).into_iter().map(|one| format!("-({})", one[0])).collect();
    let not = arguments(1).into_iter().map(|one| format!("NOT ({})", one[0])).collect();
    agree(binary.chain([("-".to_owned(), negated), ("NOT".to_owned(), not)]));
}

#[test]
fn nested_calls_give_the_same_in_searches_and_on_arrival() {
    let texts = [
        "mvmap(m, m . \"!\" . a)",
        "mvmap(split(a, \" \"), len(a))",
        "mvmap(m, k, \"m\")",
        "mvfilter(m > 5)",
        "mvfilter(match(m, \"[a-z]\") AND m != \"b\")",
        "round(a * 1.50, 1) + f",
        "if(a > 3, round(a, 2), strptime(b, \"%F %T\")) . \"\"",
        "case(isnum(a), a / 3.00, isnull(a), \"none\", true(), len(a))",
        "coalesce(nullif(a, b), round(f, 3), t)",
        "strftime(relative_time(t, \"@d\"), \"%F %T %z\")",
        "tostring(a * 1000.0, \"commas\")",
        "json_object(\"a\", a, \"m\", m, \"r\", round(f, 2))",
        "printf(\"%g %a %p %z|%-5d|%'d\", a, f, i, b, i, i)",
        "validate(isnum(a), \"not a number\", a > 5, \"small\")",
        "sigfig(a * 2.50) + exact(f / 3)",
        "a IN (\"42\", 3.14159, m, null())",
        "typeof(a + f) . typeof(m) . typeof(a = b)",
    ];
    agree(texts.into_iter().map(|text| (text.to_owned(), vec![text.to_owned()])));
}
