//! The compiled tree of an expression and its evaluation.

use model::EventTime;
use spl::ast::ComparisonOperator;

use super::Scope;
use super::choice::Choice;
use super::each::{Each, event_as_json};
use crate::functions::{Argument, Decimals, Prepared};
use crate::operators;
use crate::row::{Environment, Row};
use crate::value::{
    Datum, NumberText, Operation, Value, ValueType, compare_values, decimals_in, rounded,
    write_decimals,
};

/// Whether, and how, the numbers of a node have a precision (a number of decimals).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Carried {
    /// They have none: numbers are written with as many decimals as they need.
    No,
    /// The precision of the data.
    OfData,
    /// The precision given by the expression; trailing zeros are significant.
    Given,
}

/// A node of the tree and the known properties of its values.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: ValueType,
    pub(super) carried: Carried,
    pub(super) what: What,
}

/// The value of a node for an event.
#[derive(Debug)]
pub(super) struct Evaluated<'a> {
    pub(super) value: Datum<'a>,
    /// The number of decimals of a number; `None` for as many as it needs.
    pub(super) places: Option<i64>,
}

impl<'a> From<Datum<'a>> for Evaluated<'a> {
    fn from(value: Datum<'a>) -> Self {
        Self { value, places: None }
    }
}

/// An operation on two numbers.
#[derive(Debug, Clone, Copy)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Arithmetic {
    /// Returns how the operation changes the precision; `None` if its results are exact.
    pub(super) fn precision(self) -> Option<Operation> {
        match self {
            Self::Add | Self::Subtract => Some(Operation::Sum),
            Self::Multiply | Self::Divide => Some(Operation::Product),
            Self::Remainder => None,
        }
    }

    fn of(self, left: f64, right: f64) -> Option<f64> {
        match self {
            Self::Add => Some(left + right),
            Self::Subtract => Some(left - right),
            Self::Multiply => Some(left * right),
            Self::Divide => (right != 0.0).then(|| left / right),
            Self::Remainder => (right != 0.0).then(|| left % right),
        }
    }
}

/// A logical operator of three-valued logic.
#[derive(Debug, Clone, Copy)]
pub(super) enum Logic {
    And,
    Or,
    Xor,
}

impl Logic {
    fn of(self, left: Option<bool>, right: Option<bool>) -> Option<bool> {
        match (self, left, right) {
            (Self::And, Some(false), _) | (Self::And, _, Some(false)) => Some(false),
            (Self::Or, Some(true), _) | (Self::Or, _, Some(true)) => Some(true),
            (Self::And, left, right) => Some(left? && right?),
            (Self::Or, left, right) => Some(left? || right?),
            (Self::Xor, left, right) => Some(left? != right?),
        }
    }
}

#[derive(Debug)]
pub(super) enum What {
    Constant(Datum<'static>, Option<i64>),
    Field(String),
    Negate(Box<Node>),
    Not(Box<Node>),
    Logic(Logic, Box<Node>, Box<Node>),
    Compare(ComparisonOperator, Box<Node>, Box<Node>),
    In {
        value: Box<Node>,
        list: Vec<Node>,
        negated: bool,
    },
    Arithmetic(Arithmetic, Box<Node>, Box<Node>),
    /// `+` of dynamic texts: the sum if both are numbers, otherwise both texts joined.
    Add(Box<Node>, Box<Node>),
    Concat(Box<Node>, Box<Node>),
    Choose(Choice),
    IsNull {
        value: Box<Node>,
        negated: bool,
    },
    Call {
        prepared: Prepared,
        arguments: Vec<Node>,
        shown: bool,
    },
    Exact(Box<Node>),
    Sigfig(Box<Node>),
    Now,
    Each(Each),
    ToJson {
        internal: bool,
    },
}

impl Node {
    pub(super) fn new(kind: ValueType, what: What) -> Self {
        Self { kind, carried: Carried::No, what }
    }

    pub(super) fn carrying(kind: ValueType, carried: Carried, what: What) -> Self {
        Self { kind, carried, what }
    }

    pub(super) fn constant(kind: ValueType, value: Datum<'static>) -> Self {
        Self::new(kind, What::Constant(value, None))
    }

    pub(super) fn null(kind: ValueType) -> Self {
        Self::constant(kind, Datum::NULL)
    }

    pub(super) fn constant_value(&self) -> Option<Value<'_>> {
        match &self.what {
            What::Constant(value, _) => Some(value.get()),
            _ => None,
        }
    }

    /// Returns the properties of this node as an argument of a function that are known before any event is
    /// read.
    pub(super) fn known(&self, shown: bool) -> Argument<'_> {
        let as_text = shown && self.carried == Carried::Given;
        Argument {
            kind: if as_text { ValueType::Text } else { self.kind },
            constant: self.constant_value().filter(|_| !shown || self.carried == Carried::No),
        }
    }

    /// Returns the text if the node is a literal text.
    pub(super) fn literal_text(&self) -> Option<&str> {
        match self.constant_value() {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns the precision that this node contributes as an operand of arithmetic.
    pub(super) fn precision(&self) -> Carried {
        match (self.carried, self.literal_text()) {
            (Carried::No, Some(text)) if decimals_in(text).is_some() => Carried::Given,
            (Carried::No, Some(_)) => Carried::No,
            (Carried::No, None) if self.kind == ValueType::Text => Carried::OfData,
            (carried, _) => carried,
        }
    }

    /// Returns the value with all its digits.
    pub(super) fn plain<'a>(&'a self, scope: &'a dyn Scope, env: &'a Environment) -> Datum<'a> {
        self.evaluate(scope, env).value
    }

    pub(super) fn number(&self, scope: &dyn Scope, env: &Environment) -> Option<f64> {
        self.plain(scope, env).get().number()
    }

    pub(super) fn truth(&self, scope: &dyn Scope, env: &Environment) -> Option<bool> {
        self.plain(scope, env).get().truth()
    }

    /// Returns the value as a field holds it: rounded to its precision, and as text if trailing zeros are
    /// significant.
    pub(super) fn shown<'a>(&'a self, scope: &'a dyn Scope, env: &'a Environment) -> Datum<'a> {
        let Evaluated { value, places } = self.evaluate(scope, env);
        if self.carried == Carried::No {
            return value;
        }
        let Some(number) = value.get().number() else { return Datum::NULL };
        match (self.carried, places) {
            (Carried::Given, places) => {
                let mut out = String::new();
                match places {
                    Some(places) => write_decimals(number, places, &mut out),
                    None => out.push_str(&NumberText::float(number)),
                }
                Datum::Text(out)
            }
            (_, Some(places)) => Value::Float(rounded(number, places.max(0))).into(),
            (_, None) => value,
        }
    }

    /// Returns the value converted to another type.
    pub(super) fn to<'a>(
        &'a self,
        kind: ValueType,
        scope: &'a dyn Scope,
        env: &'a Environment,
    ) -> Datum<'a> {
        match kind {
            ValueType::Text | ValueType::Multi => converted(self.shown(scope, env), kind),
            _ => converted(self.plain(scope, env), kind),
        }
    }

    pub(super) fn evaluate<'a>(
        &'a self,
        scope: &'a dyn Scope,
        env: &'a Environment,
    ) -> Evaluated<'a> {
        let boolean = |truth: Option<bool>| Datum::from(truth.map_or(Value::Null, Value::Boolean));
        let float = |number: Option<f64>| Datum::from(number.map_or(Value::Null, Value::Float));
        let value = match &self.what {
            What::Constant(value, places) => {
                return Evaluated { value: Datum::View(value.get()), places: *places };
            }
            What::Field(name) => converted(scope.field(name), self.kind),
            What::Negate(inner) => {
                let Evaluated { value, places } = inner.evaluate(scope, env);
                let value = float(value.get().number().map(|number| -number));
                return Evaluated { value, places };
            }
            What::Not(inner) => boolean(inner.truth(scope, env).map(|truth| !truth)),
            What::Logic(logic, left, right) => {
                boolean(logic.of(left.truth(scope, env), right.truth(scope, env)))
            }
            What::Compare(operator, left, right) => {
                let (left, right) = (left.plain(scope, env), right.plain(scope, env));
                boolean(compare_values(*operator, left.get(), right.get()))
            }
            What::In { value, list, negated } => {
                let found = one_of(value.plain(scope, env).get(), list, scope, env);
                boolean(found.map(|found| found != *negated))
            }
            What::Arithmetic(operator, left, right) => {
                return self.arithmetic(*operator, [left, right], scope, env);
            }
            What::Add(left, right) => {
                let (left, right) = (left.plain(scope, env), right.plain(scope, env));
                operator(operators::add, [left.get(), right.get()], env)
            }
            What::Concat(left, right) => {
                let (left, right) = (left.shown(scope, env), right.shown(scope, env));
                operator(operators::join, [left.get(), right.get()], env)
            }
            What::Choose(choice) => return choice.evaluate(self, scope, env),
            What::IsNull { value, negated } => {
                boolean(Some(value.plain(scope, env).get().is_null() != *negated))
            }
            What::Call { prepared, arguments, shown } => {
                return call(prepared, arguments, *shown, scope, env);
            }
            What::Exact(inner) => float(inner.number(scope, env)),
            What::Sigfig(inner) => {
                let Evaluated { value, places } = inner.evaluate(scope, env);
                let round = |number| places.map_or(number, |places| rounded(number, places));
                return Evaluated { value: float(value.get().number().map(round)), places };
            }
            What::Now => float(Some(env.now().seconds().floor())),
            What::Each(each) => each.evaluate(scope, env),
            What::ToJson { internal } => event_as_json(scope, *internal),
        };
        value.into()
    }

    fn arithmetic(
        &self,
        operator: Arithmetic,
        operands: [&Node; 2],
        scope: &dyn Scope,
        env: &Environment,
    ) -> Evaluated<'static> {
        let [left, right] = operands.map(|operand| {
            let Evaluated { value, places } = operand.evaluate(scope, env);
            let places = match value.get() {
                Value::Text(text) if self.carried != Carried::No => decimals_in(text),
                _ => places,
            };
            (value.get().number(), places)
        });
        let (Some(one), Some(two)) = (left.0, right.0) else { return Datum::NULL.into() };
        let Some(result) = operator.of(one, two) else { return Datum::NULL.into() };
        let places = match operator.precision() {
            Some(precision) if self.carried != Carried::No => {
                precision.places(result, [(one, left.1), (two, right.1)])
            }
            _ => None,
        };
        Evaluated { value: Value::Float(result).into(), places }
    }
}

/// Converts a value to another type; null if that is not possible.
pub(super) fn converted(value: Datum<'_>, kind: ValueType) -> Datum<'_> {
    let view = value.get();
    match (kind, view) {
        (_, Value::Null) | (ValueType::Null, _) => Datum::NULL,
        (ValueType::Text, Value::Text(_)) | (ValueType::Multi, Value::Multi(_)) => value,
        (ValueType::Text, other) => {
            other.text().map_or(Datum::NULL, |text| Datum::Text(text.to_string()))
        }
        (ValueType::Multi, other) => {
            let mut texts = Vec::new();
            other.each_text(|text| texts.push(text.to_owned()));
            Datum::Multi(texts)
        }
        (ValueType::Float, other) => Datum::from(other.number().map_or(Value::Null, Value::Float)),
        (ValueType::Integer, other) => {
            Datum::from(other.whole().map_or(Value::Null, Value::Integer))
        }
        (ValueType::Boolean, other) => {
            Datum::from(other.truth().map_or(Value::Null, Value::Boolean))
        }
        (ValueType::Time, other) => Datum::from(other.micros().map_or(Value::Null, Value::Time)),
    }
}

fn one_of(value: Value<'_>, list: &[Node], scope: &dyn Scope, env: &Environment) -> Option<bool> {
    let mut unknown = false;
    for item in list {
        match compare_values(ComparisonOperator::Equal, value, item.plain(scope, env).get()) {
            Some(true) => return Some(true),
            Some(false) => {}
            None => unknown = true,
        }
    }
    (!unknown).then_some(false)
}

/// Writes a text computed by an operator.
fn operator(
    operator: fn(Row<'_>, &mut String) -> Option<()>,
    values: [Value<'_>; 2],
    env: &Environment,
) -> Datum<'static> {
    let mut out = String::new();
    operator(Row::new(&values, env), &mut out).map_or(Datum::NULL, |()| Datum::Text(out))
}

fn call<'a>(
    prepared: &Prepared,
    arguments: &[Node],
    shown: bool,
    scope: &dyn Scope,
    env: &Environment,
) -> Evaluated<'a> {
    let value =
        |node| if shown { Node::shown(node, scope, env) } else { Node::plain(node, scope, env) };
    let values: Vec<Datum<'_>> = arguments.iter().map(value).collect();
    let values: Vec<Value<'_>> = values.iter().map(Datum::get).collect();
    let places = match prepared.decimals {
        Decimals::AsNeeded => None,
        Decimals::Fixed(places) => Some(places),
        Decimals::Argument(at) => values.get(at).and_then(|value| value.whole()),
    };
    Evaluated { value: prepared.kernel.run(Row::new(&values, env)), places }
}

/// A scope in which one field is replaced with a single text.
pub(super) struct Bound<'s> {
    pub(super) outer: &'s dyn Scope,
    pub(super) field: &'s str,
    pub(super) text: &'s str,
}

impl Scope for Bound<'_> {
    fn field(&self, name: &str) -> Datum<'_> {
        if name == self.field { Datum::text(self.text) } else { self.outer.field(name) }
    }

    fn names(&self) -> Vec<String> {
        self.outer.names()
    }

    fn now(&self) -> EventTime {
        self.outer.now()
    }
}
