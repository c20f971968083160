//! Compiles the syntax tree of an expression into nodes.

use jiff::tz::TimeZone;
use spl::ast::{BinaryOperator, Call, Expr, ExprKind, FieldRef, Span, UnaryOperator};

use super::Scope;
use super::choice::{Choice, Condition};
use super::each::Each;
use super::node::{Arithmetic, Carried, Logic, Node, What};
use crate::functions::{self, Body, Decimals, Form, Function, Refusal};
use crate::operators::truth_word;
use crate::row::Environment;
use crate::value::{Datum, Value, ValueType, decimals_in, parse_number};

/// A compiled expression.
#[derive(Debug)]
pub struct Expression {
    root: Node,
}

impl Expression {
    /// Compiles the text of an expression over fields of known types.
    ///
    /// # Errors
    /// A message of one line that says what is wrong and how to fix it.
    pub fn compile(text: &str, kind: &dyn Fn(&str) -> ValueType) -> Result<Self, String> {
        let expr = spl::parse_expression(text).map_err(|found| match found.0.first() {
            Some(first) => complaint(text, &first.message, first.span, first.hint.as_deref()),
            None => "it is not an expression".to_owned(),
        })?;
        Compiler { kind }
            .node(&expr)
            .map(|root| Self { root })
            .map_err(|(message, span)| complaint(text, &message, span, None))
    }

    /// Returns the value for an event, as a field holds it. Times are in UTC.
    #[must_use]
    pub fn evaluate(&self, scope: &dyn Scope) -> Datum<'static> {
        let now = scope.now();
        let env = Environment::new(now, now, TimeZone::UTC);
        self.root.shown(scope, &env).into_owned()
    }
}

fn complaint(text: &str, message: &str, span: Span, hint: Option<&str>) -> String {
    let place = text.get(span.start..span.end).filter(|place| !place.is_empty());
    let mut out = message.to_owned();
    if let Some(place) = place {
        let shown: String = place.chars().take(40).collect();
        out += &format!(" at \"{shown}\"");
    }
    if let Some(hint) = hint {
        out += &format!("; {hint}");
    }
    out
}

type Compiled = Result<Node, (String, Span)>;

/// Returns the name of a field; rules may write it between dollar signs.
fn name_of(field: &FieldRef) -> &str {
    field.name.trim_matches('$')
}

/// Returns the names of all fields that an expression reads.
fn fields(expr: &Expr) -> Vec<String> {
    let mut found = Vec::new();
    expr.walk(&mut |expr| {
        if let ExprKind::Field(field) = &expr.kind {
            let name = name_of(field).to_owned();
            if !found.contains(&name) {
                found.push(name);
            }
        }
    });
    found
}

struct Compiler<'k> {
    kind: &'k dyn Fn(&str) -> ValueType,
}

impl Compiler<'_> {
    fn node(&self, expr: &Expr) -> Compiled {
        Ok(match &expr.kind {
            ExprKind::Number(text) => {
                let number = parse_number(text);
                let number =
                    number.ok_or_else(|| (format!("\"{text}\" is not a number"), expr.span))?;
                let places = decimals_in(text);
                let carried = if places.is_some() { Carried::Given } else { Carried::No };
                let value = Datum::from(Value::Float(number));
                Node::carrying(ValueType::Float, carried, What::Constant(value, places))
            }
            ExprKind::String(text) => Node::constant(ValueType::Text, Datum::Text(text.clone())),
            ExprKind::Field(field) => match truth_word(field) {
                Some(truth) => Node::constant(ValueType::Boolean, Value::Boolean(truth).into()),
                None => {
                    let name = name_of(field);
                    Node::new((self.kind)(name), What::Field(name.to_owned()))
                }
            },
            ExprKind::Unary(operator, operand) => unary(*operator, self.node(operand)?),
            ExprKind::Binary(operator, left, right) => {
                binary(*operator, self.node(left)?, self.node(right)?, expr.span)?
            }
            ExprKind::In { value, list, negated } => {
                let list = self.nodes(list)?;
                let value = Box::new(self.node(value)?);
                Node::new(ValueType::Boolean, What::In { value, list, negated: *negated })
            }
            ExprKind::Call(call) => self.call(call, expr.span)?,
            ExprKind::Subsearch(_) => {
                return Err(("a subsearch is not allowed here".to_owned(), expr.span));
            }
        })
    }

    fn nodes(&self, list: &[Expr]) -> Result<Vec<Node>, (String, Span)> {
        list.iter().map(|expr| self.node(expr)).collect()
    }

    fn call(&self, call: &Call, span: Span) -> Compiled {
        let Some(function) = functions::find(&call.function.node) else {
            return unavailable(call);
        };
        match &function.body {
            Body::Constant(value) => {
                let kind = match value {
                    Value::Null => ValueType::Null,
                    Value::Boolean(_) => ValueType::Boolean,
                    _ => ValueType::Float,
                };
                Ok(Node::constant(kind, (*value).into()))
            }
            Body::Values { .. } => {
                let arguments = self.nodes(&call.arguments)?;
                of_values(function, arguments).map_err(|Refusal { argument, message }| {
                    let at = call.arguments.get(argument).map_or(span, |expr| expr.span);
                    (message, at)
                })
            }
            Body::Form(form) => self.form(*form, call, span),
        }
    }

    fn form(&self, form: Form, call: &Call, span: Span) -> Compiled {
        let mut arguments = match form {
            Form::Lookup | Form::SearchMatch => return unavailable(call),
            Form::MvFilter => return self.mvfilter(call, span),
            Form::MvMap => return self.mvmap(call, span),
            _ => self.nodes(&call.arguments)?.into_iter(),
        };
        // The parser has checked the number of arguments.
        let mut next = || arguments.next().unwrap_or_else(|| Node::null(ValueType::Null));
        Ok(match form {
            Form::If => {
                let branch = (Condition::True(next()), next());
                Choice::node(vec![branch], Some(next()))
            }
            Form::Case => Choice::node(pairs(arguments, Condition::True), None),
            Form::Validate => Choice::node(pairs(arguments, Condition::False), None),
            Form::Coalesce => coalesce(arguments),
            Form::NullIf => {
                let value = next();
                Choice::node(vec![(Condition::DiffersFrom(next()), value)], None)
            }
            Form::IsNull | Form::IsNotNull => {
                let negated = form == Form::IsNotNull;
                Node::new(ValueType::Boolean, What::IsNull { value: Box::new(next()), negated })
            }
            Form::Exact => Node::new(ValueType::Float, What::Exact(Box::new(next()))),
            Form::Sigfig => {
                let value = next();
                let carried = value.carried;
                Node::carrying(ValueType::Float, carried, What::Sigfig(Box::new(value)))
            }
            Form::Now => Node::new(ValueType::Float, What::Now),
            Form::ToJson => {
                let internal = matches!(next().constant_value(), Some(Value::Boolean(true)));
                Node::new(ValueType::Text, What::ToJson { internal })
            }
            Form::Lookup | Form::SearchMatch | Form::MvFilter | Form::MvMap => {
                return unavailable(call);
            }
        })
    }

    fn mvfilter(&self, call: &Call, span: Span) -> Compiled {
        let names = fields(&call.arguments[0]);
        let [name] = names.as_slice() else {
            return Err(("the condition of mvfilter() reads exactly one field".to_owned(), span));
        };
        let values = Node::new((self.kind)(name), What::Field(name.clone()));
        self.each(values, name, &call.arguments[0], true)
    }

    /// Compiles `mvmap`. The first argument is a field, or an expression over one field; in the second
    /// argument, the name of that field stands for one of the values.
    fn mvmap(&self, call: &Call, span: Span) -> Compiled {
        let names = fields(&call.arguments[0]);
        let named = call.arguments.get(2).map(|third| &third.kind);
        let name = match (named, names.as_slice()) {
            (Some(ExprKind::Field(field)), _) => name_of(field),
            (Some(ExprKind::String(name)), _) => name,
            (None, [name]) => name,
            _ => {
                let message = "the first argument of mvmap() reads exactly one field";
                return Err((message.to_owned(), span));
            }
        };
        let values = self.node(&call.arguments[0])?;
        if values.kind == ValueType::Null {
            return Ok(Node::null(ValueType::Multi));
        }
        self.each(values, name, &call.arguments[1], false)
    }

    fn each(&self, values: Node, field: &str, inner: &Expr, filters: bool) -> Compiled {
        let kind = |name: &str| if name == field { ValueType::Text } else { (self.kind)(name) };
        let inner = Box::new(Compiler { kind: &kind }.node(inner)?);
        let values = Box::new(values);
        let each = Each { values, field: field.to_owned(), inner, filters };
        Ok(Node::new(ValueType::Multi, What::Each(each)))
    }
}

fn unavailable(call: &Call) -> Compiled {
    let name = &call.function.node;
    let message = format!("function {name}() is available only in searches");
    // The message names the function: an empty span keeps its name from being added as the place.
    let span = call.function.span;
    Err((message, Span { end: span.start, ..span }))
}

/// Compiles a call of a function of values.
fn of_values(function: &Function, arguments: Vec<Node>) -> Result<Node, Refusal> {
    let Body::Values { numbers, prepare } = &function.body else {
        return Ok(Node::null(ValueType::Null));
    };
    let shown = numbers.are_shown(arguments.len());
    let known: Vec<_> = arguments.iter().map(|node| node.known(shown)).collect();
    let first = known.first().map(|first| first.kind);
    let prepared = prepare(&functions::Call { name: function.name, arguments: known })?;
    let kind = prepared.kernel.returns(first);
    let carried = match prepared.decimals {
        Decimals::AsNeeded => Carried::No,
        Decimals::Fixed(_) => Carried::Given,
        Decimals::Argument(_) => Carried::OfData,
    };
    Ok(Node::carrying(kind, carried, What::Call { prepared, arguments, shown }))
}

fn pairs(
    mut arguments: impl Iterator<Item = Node>,
    condition: fn(Node) -> Condition,
) -> Vec<(Condition, Node)> {
    let mut branches = Vec::new();
    while let (Some(first), Some(value)) = (arguments.next(), arguments.next()) {
        branches.push((condition(first), value));
    }
    branches
}

fn coalesce(arguments: impl Iterator<Item = Node>) -> Node {
    let mut present: Vec<_> = arguments.filter(|node| node.kind != ValueType::Null).collect();
    let Some(last) = present.pop() else { return Node::null(ValueType::Null) };
    if present.is_empty() {
        return last;
    }
    Choice::node(present.into_iter().map(|node| (Condition::HasValue, node)).collect(), Some(last))
}

fn unary(operator: UnaryOperator, operand: Node) -> Node {
    match operator {
        UnaryOperator::Plus => operand,
        UnaryOperator::Not => Node::new(ValueType::Boolean, What::Not(Box::new(operand))),
        UnaryOperator::Negate => {
            let carried = operand.carried;
            let what = match operand.what {
                What::Constant(Datum::View(Value::Float(number)), places) => {
                    What::Constant(Value::Float(-number).into(), places)
                }
                _ => What::Negate(Box::new(operand)),
            };
            Node::carrying(ValueType::Float, carried, what)
        }
    }
}

fn binary(operator: BinaryOperator, left: Node, right: Node, span: Span) -> Compiled {
    let no_value = left.kind == ValueType::Null || right.kind == ValueType::Null;
    let both = |left, right| (Box::new(left), Box::new(right));
    let logic = |logic, left, right| {
        let (left, right) = both(left, right);
        Node::new(ValueType::Boolean, What::Logic(logic, left, right))
    };
    Ok(match operator {
        BinaryOperator::Add => sum(left, right),
        BinaryOperator::Subtract => arithmetic(Arithmetic::Subtract, left, right),
        BinaryOperator::Multiply => arithmetic(Arithmetic::Multiply, left, right),
        BinaryOperator::Divide => arithmetic(Arithmetic::Divide, left, right),
        BinaryOperator::Remainder => arithmetic(Arithmetic::Remainder, left, right),
        BinaryOperator::Concat => concat(left, right),
        BinaryOperator::And => logic(Logic::And, left, right),
        BinaryOperator::Or => logic(Logic::Or, left, right),
        BinaryOperator::Xor => logic(Logic::Xor, left, right),
        BinaryOperator::Compare(_) if no_value => Node::null(ValueType::Boolean),
        BinaryOperator::Compare(operator) => {
            let (left, right) = both(left, right);
            Node::new(ValueType::Boolean, What::Compare(operator, left, right))
        }
        BinaryOperator::Like => {
            let like = functions::find("like").ok_or_else(|| ("no like()".to_owned(), span))?;
            return of_values(like, vec![left, right])
                .map_err(|Refusal { message, .. }| (message, span));
        }
    })
}

/// Compiles `+`: numbers are added; dynamic texts are added if both are numbers, otherwise joined.
fn sum(left: Node, right: Node) -> Node {
    if left.kind == ValueType::Null || right.kind == ValueType::Null {
        return Node::null(ValueType::Text);
    }
    if left.literal_text().is_some() || right.literal_text().is_some() {
        return concat(left, right);
    }
    if left.kind.is_number() || right.kind.is_number() {
        return arithmetic(Arithmetic::Add, left, right);
    }
    Node::new(ValueType::Text, What::Add(Box::new(left), Box::new(right)))
}

fn concat(left: Node, right: Node) -> Node {
    Node::new(ValueType::Text, What::Concat(Box::new(left), Box::new(right)))
}

fn arithmetic(operator: Arithmetic, left: Node, right: Node) -> Node {
    let carried = match operator.precision() {
        Some(_) => left.precision().max(right.precision()),
        None => Carried::No,
    };
    let what = What::Arithmetic(operator, Box::new(left), Box::new(right));
    Node::carrying(ValueType::Float, carried, what)
}
