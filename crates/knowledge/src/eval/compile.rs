//! From the syntax tree of an expression to what is evaluated.

use spl::ast::{BinaryOperator, Call, Expr, ExprKind, Span, UnaryOperator};

use super::Scope;
use super::functions::{self, Build};
use super::node::{Arithmetic, Kind, Node, What};
use super::value::{Value, parse_number};
use crate::registry::nearest_name;

/// A compiled expression.
#[derive(Debug)]
pub struct Expression {
    root: Node,
}

impl Expression {
    /// Compiles the text of an expression.
    ///
    /// # Errors
    /// What is wrong with it and what to do about it, in one line.
    pub fn compile(text: &str) -> Result<Self, String> {
        let expr = spl::parse_expression(text).map_err(|found| match found.0.first() {
            Some(first) => complaint(text, &first.message, first.span, first.hint.as_deref()),
            None => "it is not an expression".to_owned(),
        })?;
        compile(&expr)
            .map(|root| Self { root })
            .map_err(|(message, span)| complaint(text, &message, span, None))
    }

    /// The value for an event.
    #[must_use]
    pub fn evaluate<'a>(&'a self, scope: &'a dyn Scope) -> Value<'a> {
        self.root.evaluate(scope)
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

fn compile(expr: &Expr) -> Compiled {
    Ok(match &expr.kind {
        ExprKind::Number(text) => {
            let number = parse_number(text);
            let number =
                number.ok_or_else(|| (format!("\"{text}\" is not a number"), expr.span))?;
            Node::constant(Kind::Number, Value::Number(number))
        }
        ExprKind::String(text) => Node::constant(Kind::Text, Value::Text(text.clone().into())),
        ExprKind::Field(field) => {
            let name = field.name.trim_matches('$');
            let kind = match name {
                "_time" | "pd:_time" => Kind::Time,
                several if several.starts_with("mv:") => Kind::Multi,
                _ => Kind::Text,
            };
            Node::new(kind, What::Field(name.to_owned()))
        }
        ExprKind::Unary(operator, operand) => unary(*operator, compile(operand)?),
        ExprKind::Binary(operator, left, right) => {
            binary(*operator, compile(left)?, compile(right)?, expr.span)?
        }
        ExprKind::In { value, list, negated } => {
            let list = list.iter().map(compile).collect::<Result<_, _>>()?;
            let value = Box::new(compile(value)?);
            Node::new(Kind::Truth, What::In { value, list, negated: *negated })
        }
        ExprKind::Call(call) => self::call(call, expr.span)?,
        ExprKind::Subsearch(_) => {
            return Err(("a subsearch cannot stand here".to_owned(), expr.span));
        }
    })
}

fn unary(operator: UnaryOperator, operand: Node) -> Node {
    match operator {
        UnaryOperator::Plus => operand,
        UnaryOperator::Negate => match operand.what {
            What::Constant(Value::Number(number)) => {
                Node::constant(Kind::Number, Value::Number(-number))
            }
            _ => Node::new(Kind::Number, What::Negate(Box::new(operand))),
        },
        UnaryOperator::Not => Node::new(Kind::Truth, What::Not(Box::new(operand))),
    }
}

fn binary(operator: BinaryOperator, left: Node, right: Node, span: Span) -> Compiled {
    let is_text = left.literal_text().is_some() || right.literal_text().is_some();
    let is_number = left.kind.is_number() || right.kind.is_number();
    let nothing = left.kind == Kind::Null || right.kind == Kind::Null;
    let arithmetic = |operator| (Kind::Number, operator);
    if let BinaryOperator::Like = operator {
        let function = functions::find("like").ok_or_else(|| ("no like".to_owned(), span))?;
        return function.compile(vec![left, right]).map_err(|message| (message, span));
    }
    let (left, right) = (Box::new(left), Box::new(right));
    let (kind, operator) = match operator {
        BinaryOperator::Add if nothing => return Ok(Node::constant(Kind::Text, Value::Null)),
        BinaryOperator::Add if is_text => {
            return Ok(Node::new(Kind::Text, What::Concat(left, right)));
        }
        BinaryOperator::Add if !is_number => {
            return Ok(Node::new(Kind::Text, What::Add(left, right)));
        }
        BinaryOperator::Add => arithmetic(Arithmetic::Add),
        BinaryOperator::Subtract => arithmetic(Arithmetic::Subtract),
        BinaryOperator::Multiply => arithmetic(Arithmetic::Multiply),
        BinaryOperator::Divide => arithmetic(Arithmetic::Divide),
        BinaryOperator::Remainder => arithmetic(Arithmetic::Remainder),
        BinaryOperator::Concat => return Ok(Node::new(Kind::Text, What::Concat(left, right))),
        BinaryOperator::And => return Ok(Node::new(Kind::Truth, What::And(left, right))),
        BinaryOperator::Or => return Ok(Node::new(Kind::Truth, What::Or(left, right))),
        BinaryOperator::Xor => return Ok(Node::new(Kind::Truth, What::Xor(left, right))),
        BinaryOperator::Compare(operator) => {
            return Ok(Node::new(Kind::Truth, What::Compare(operator, left, right)));
        }
        BinaryOperator::Like => return Err(("LIKE is compiled above".to_owned(), span)),
    };
    Ok(Node::new(kind, What::Arithmetic(operator, left, right)))
}

fn call(call: &Call, span: Span) -> Compiled {
    let name = call.function.node.as_str();
    let Some(function) = functions::find(name) else {
        let nearest = nearest_name(functions::names(), name);
        let hint = nearest.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
        let message = format!("function {name}() is not available when events arrive{hint}");
        return Err((message, call.function.span));
    };
    if let Build::Each { filters } = function.build {
        return each(call, filters, span);
    }
    let arguments = call.arguments.iter().map(compile).collect::<Result<Vec<_>, _>>()?;
    function.compile(arguments).map_err(|message| (message, span))
}

/// `mvmap(field, expression)` and `mvfilter(condition)`.
fn each(call: &Call, filters: bool, span: Span) -> Compiled {
    let (field, inner) = if filters {
        let mut names = Vec::new();
        fields(&call.arguments[0], &mut names);
        let [name] = names.as_slice() else {
            return Err(("the condition of mvfilter() reads exactly one field".to_owned(), span));
        };
        (name.clone(), &call.arguments[0])
    } else {
        let ExprKind::Field(field) = &call.arguments[0].kind else {
            let message = "the first argument of mvmap() is the name of a field";
            return Err((message.to_owned(), span));
        };
        (field.name.trim_matches('$').to_owned(), &call.arguments[1])
    };
    let inner = Box::new(compile(inner)?);
    Ok(Node::new(Kind::Multi, What::Each { field, inner, filters }))
}

/// The names of all fields an expression reads.
fn fields(expr: &Expr, found: &mut Vec<String>) {
    expr.walk(&mut |expr| {
        if let ExprKind::Field(field) = &expr.kind {
            let name = field.name.trim_matches('$').to_owned();
            if !found.contains(&name) {
                found.push(name);
            }
        }
    });
}
