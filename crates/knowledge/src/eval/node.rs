//! The compiled tree of an expression and its evaluation.

use std::borrow::Cow;

use model::EventTime;
use spl::ast::ComparisonOperator;

use super::Scope;
use super::functions::Prepared;
use super::value::{Value, compare, number_text};

/// What a value is as far as the expression alone tells: it decides what `+` means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Multi,
    Number,
    Truth,
    Time,
    Null,
}

impl Kind {
    pub(super) fn is_number(self) -> bool {
        matches!(self, Self::Number | Self::Time)
    }

    /// What branches of `if` and `case` have in common.
    pub(super) fn union(self, other: Self) -> Self {
        match (self, other) {
            (one, two) if one == two => one,
            (Self::Null, one) | (one, Self::Null) => one,
            (Self::Multi, _) | (_, Self::Multi) => Self::Multi,
            (one, two) if one.is_number() && two.is_number() => Self::Number,
            _ => Self::Text,
        }
    }

    /// A value as this kind.
    fn of(self, value: Value<'_>) -> Value<'_> {
        match (self, &value) {
            (_, Value::Null)
            | (Self::Text, Value::Text(_))
            | (Self::Multi, Value::Multi(_))
            | (Self::Number, Value::Number(_))
            | (Self::Truth, Value::Truth(_))
            | (Self::Time, Value::Time(_)) => value,
            (Self::Text, other) => {
                other.text().map_or(Value::Null, |text| Value::owned_text(text.into_owned()))
            }
            (Self::Multi, other) => {
                Value::multi(other.texts().into_iter().map(Cow::into_owned).collect())
            }
            (Self::Number, other) => Value::optional_number(other.number()),
            (Self::Truth, other) => Value::optional_truth(other.truth()),
            (Self::Time, other) => other.micros().map_or(Value::Null, Value::Time),
            (Self::Null, _) => Value::Null,
        }
    }
}

/// What a function is given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arguments<'a, 's> {
    pub(super) values: &'s [Value<'a>],
    pub(super) prepared: &'s Prepared,
    pub(super) now: EventTime,
}

impl<'a, 's> Arguments<'a, 's> {
    /// An argument; null where there are fewer.
    pub(super) fn value(&self, at: usize) -> &'s Value<'a> {
        self.values.get(at).unwrap_or(&Value::Null)
    }

    pub(super) fn text(&self, at: usize) -> Option<Cow<'s, str>> {
        self.value(at).text()
    }

    pub(super) fn number(&self, at: usize) -> Option<f64> {
        self.value(at).number()
    }

    pub(super) fn given(&self, at: usize) -> bool {
        at < self.values.len()
    }

    /// One text for each text of the first argument: several if it is several.
    pub(super) fn each(&self, compute: impl Fn(&str) -> Option<String>) -> Value<'a> {
        match self.value(0) {
            Value::Multi(texts) => {
                Value::multi(texts.iter().filter_map(|text| compute(text)).collect())
            }
            single => {
                let result = single.text().and_then(|text| compute(&text));
                result.map_or(Value::Null, Value::owned_text)
            }
        }
    }
}

/// A function of evaluated arguments.
pub(super) type Run = for<'a> fn(&Arguments<'a, '_>) -> Value<'a>;

/// A node with the kind of its values.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) what: What,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

#[derive(Debug)]
pub(super) enum What {
    Constant(Value<'static>),
    Field(String),
    Negate(Box<Node>),
    Not(Box<Node>),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    Xor(Box<Node>, Box<Node>),
    Compare(ComparisonOperator, Box<Node>, Box<Node>),
    Arithmetic(Arithmetic, Box<Node>, Box<Node>),
    /// `+` of dynamic texts: a sum if both are numbers, else both texts.
    Add(Box<Node>, Box<Node>),
    Concat(Box<Node>, Box<Node>),
    In {
        value: Box<Node>,
        list: Vec<Node>,
        negated: bool,
    },
    /// The value of the first branch whose condition has the wanted truth.
    Choose {
        branches: Vec<(Node, Node)>,
        when: bool,
        otherwise: Option<Box<Node>>,
    },
    Coalesce(Vec<Node>),
    Call {
        run: Run,
        arguments: Vec<Node>,
        prepared: Box<Prepared>,
    },
    /// `mvmap` and `mvfilter`: an expression for each value of a field.
    Each {
        field: String,
        inner: Box<Node>,
        filters: bool,
    },
}

/// A scope in which one field is a single text.
struct Bound<'s> {
    outer: &'s dyn Scope,
    field: &'s str,
    text: &'s str,
}

impl Scope for Bound<'_> {
    fn field(&self, name: &str) -> Value<'_> {
        if name == self.field { Value::text_of(self.text) } else { self.outer.field(name) }
    }

    fn now(&self) -> EventTime {
        self.outer.now()
    }
}

impl Node {
    pub(super) fn new(kind: Kind, what: What) -> Self {
        Self { kind, what }
    }

    pub(super) fn constant(kind: Kind, value: Value<'static>) -> Self {
        Self { kind, what: What::Constant(value) }
    }

    /// The text of a string literal.
    pub(super) fn literal_text(&self) -> Option<&str> {
        match &self.what {
            What::Constant(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn evaluate<'a>(&'a self, scope: &'a dyn Scope) -> Value<'a> {
        let truth = |node: &'a Node| node.evaluate(scope).truth();
        match &self.what {
            What::Constant(value) => match value {
                Value::Text(text) => Value::text_of(text),
                other => other.clone(),
            },
            What::Field(name) => scope.field(name),
            What::Negate(inner) => {
                Value::optional_number(inner.evaluate(scope).number().map(|number| -number))
            }
            What::Not(inner) => Value::optional_truth(truth(inner).map(|truth| !truth)),
            What::And(left, right) => Value::optional_truth(match (truth(left), truth(right)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            }),
            What::Or(left, right) => Value::optional_truth(match (truth(left), truth(right)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            }),
            What::Xor(left, right) => {
                let both = truth(left).zip(truth(right));
                Value::optional_truth(both.map(|(left, right)| left != right))
            }
            What::Compare(operator, left, right) => Value::optional_truth(compare(
                *operator,
                &left.evaluate(scope),
                &right.evaluate(scope),
            )),
            What::Arithmetic(operator, left, right) => {
                let (left, right) = (left.evaluate(scope).number(), right.evaluate(scope).number());
                Value::optional_number(left.zip(right).and_then(|(l, r)| operator.of(l, r)))
            }
            What::Add(left, right) => add(&left.evaluate(scope), &right.evaluate(scope)),
            What::Concat(left, right) => concat(&left.evaluate(scope), &right.evaluate(scope)),
            What::In { value, list, negated } => {
                let found = one_of(&value.evaluate(scope), list, scope);
                Value::optional_truth(found.map(|found| found != *negated))
            }
            What::Choose { branches, when, otherwise } => {
                let chosen = branches.iter().find(|(condition, _)| truth(condition) == Some(*when));
                let node = chosen.map(|(_, value)| value).or(otherwise.as_deref());
                node.map_or(Value::Null, |node| self.kind.of(node.evaluate(scope)))
            }
            What::Coalesce(nodes) => {
                let values = nodes.iter().map(|node| node.evaluate(scope));
                let first = values.into_iter().find(|value| !value.is_null());
                first.map_or(Value::Null, |value| self.kind.of(value))
            }
            What::Call { run, arguments, prepared } => {
                let values: Vec<_> =
                    arguments.iter().map(|argument| argument.evaluate(scope)).collect();
                run(&Arguments { values: &values, prepared, now: scope.now() })
            }
            What::Each { field, inner, filters } => each(field, inner, *filters, scope),
        }
    }
}

impl Arithmetic {
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

fn add(left: &Value<'_>, right: &Value<'_>) -> Value<'static> {
    match (left.number(), right.number()) {
        (Some(left), Some(right)) => Value::owned_text(number_text(left + right)),
        _ => concat(left, right),
    }
}

fn concat(left: &Value<'_>, right: &Value<'_>) -> Value<'static> {
    match (left.text(), right.text()) {
        (Some(left), Some(right)) => Value::owned_text(format!("{left}{right}")),
        _ => Value::Null,
    }
}

fn one_of(value: &Value<'_>, list: &[Node], scope: &dyn Scope) -> Option<bool> {
    let mut unknown = false;
    for item in list {
        match compare(ComparisonOperator::Equal, value, &item.evaluate(scope)) {
            Some(true) => return Some(true),
            Some(false) => {}
            None => unknown = true,
        }
    }
    (!unknown).then_some(false)
}

fn each(field: &str, inner: &Node, filters: bool, scope: &dyn Scope) -> Value<'static> {
    let mut kept = Vec::new();
    for text in scope.field(field).texts() {
        let bound = Bound { outer: scope, field, text: &text };
        let result = inner.evaluate(&bound);
        if !filters {
            kept.extend(result.texts().into_iter().map(Cow::into_owned));
        } else if result.truth() == Some(true) {
            kept.push(text.clone().into_owned());
        }
    }
    Value::multi(kept)
}
