//! Expressions of `eval` and `where` as SQL expressions.

use spl::ast::{BinaryOperator, Call, ComparisonOperator, Expr, ExprKind, UnaryOperator};

use super::layer::{Kind, Layer, Value};
use super::{Reason, literal};

/// The value of an expression.
pub fn value(expr: &Expr, layer: &Layer) -> Result<Value, Reason> {
    match &expr.kind {
        ExprKind::Number(text) => {
            let whole = text.parse::<i64>().is_ok();
            let kind = if whole { Kind::Integer } else { Kind::Number };
            Ok(Value { literal: Some(text.clone()), ..Value::new(text, kind) })
        }
        ExprKind::String(text) => {
            Ok(Value { literal: Some(text.clone()), ..Value::new(literal(text), Kind::Text) })
        }
        ExprKind::Field(field) => Ok(layer.field(&field.name)),
        ExprKind::Unary(operator, inner) => unary(*operator, inner, layer),
        ExprKind::Binary(operator, left, right) => binary(*operator, left, right, layer),
        ExprKind::In { value: tested, list, negated } => within(tested, list, *negated, layer),
        ExprKind::Call(call) => function(call, layer),
        ExprKind::Subsearch(_) => Err("a subsearch".to_owned()),
    }
}

/// An expression that is true, false or null.
pub fn condition(expr: &Expr, layer: &Layer) -> Result<String, Reason> {
    let found = value(expr, layer)?;
    match found.kind {
        Kind::Boolean => Ok(found.sql),
        _ => Err("a value where a condition is needed".to_owned()),
    }
}

fn boolean(sql: String) -> Result<Value, Reason> {
    Ok(Value::new(sql, Kind::Boolean))
}

fn unary(operator: UnaryOperator, inner: &Expr, layer: &Layer) -> Result<Value, Reason> {
    match operator {
        UnaryOperator::Not => boolean(format!("(NOT {})", condition(inner, layer)?)),
        UnaryOperator::Plus => value(inner, layer),
        UnaryOperator::Negate => {
            let inner = value(inner, layer)?;
            let kind = if inner.kind == Kind::Integer { Kind::Integer } else { Kind::Number };
            Ok(Value::new(format!("(-{})", inner.number()?), kind))
        }
    }
}

fn binary(
    operator: BinaryOperator,
    left: &Expr,
    right: &Expr,
    layer: &Layer,
) -> Result<Value, Reason> {
    let logical = |symbol: &str| {
        let (left, right) = (condition(left, layer)?, condition(right, layer)?);
        boolean(format!("({left} {symbol} {right})"))
    };
    match operator {
        BinaryOperator::And => return logical("AND"),
        BinaryOperator::Or => return logical("OR"),
        BinaryOperator::Xor => return logical("<>"),
        _ => {}
    }
    let (left, right) = (value(left, layer)?, value(right, layer)?);
    match operator {
        BinaryOperator::Compare(operator) => compare(operator, &left, &right),
        BinaryOperator::Like => boolean(format!("({} LIKE {})", left.text()?, right.text()?)),
        BinaryOperator::Concat => join(&left, &right),
        BinaryOperator::Add if is_text(&left) || is_text(&right) => join(&left, &right),
        _ => arithmetic(operator, &left, &right),
    }
}

/// Whether a value is surely no number.
fn is_text(value: &Value) -> bool {
    let no_number = |text: &String| text.trim().parse::<f64>().is_err();
    value.kind == Kind::Text && value.literal.as_ref().is_some_and(no_number)
}

fn join(left: &Value, right: &Value) -> Result<Value, Reason> {
    Ok(Value::new(format!("({} || {})", left.text()?, right.text()?), Kind::Text))
}

fn arithmetic(operator: BinaryOperator, left: &Value, right: &Value) -> Result<Value, Reason> {
    let symbol = match operator {
        BinaryOperator::Add => "+",
        BinaryOperator::Subtract => "-",
        BinaryOperator::Multiply => "*",
        BinaryOperator::Divide => "/",
        _ => "%",
    };
    let whole = left.kind == Kind::Integer && right.kind == Kind::Integer;
    let (mut first, mut second) = (left.number()?, right.number()?);
    if matches!(operator, BinaryOperator::Divide | BinaryOperator::Remainder) {
        let is_zero = |text: &String| text.parse::<f64>().is_ok_and(|number| number == 0.0);
        if right.literal.is_none() || right.literal.as_ref().is_some_and(is_zero) {
            second = format!("NULLIF({second}, 0)");
        }
        if whole && operator == BinaryOperator::Divide {
            first = format!("CAST({first} AS DOUBLE)");
        }
    }
    let kind = match whole && operator != BinaryOperator::Divide {
        true => Kind::Integer,
        false => Kind::Number,
    };
    Ok(Value::new(format!("({first} {symbol} {second})"), kind))
}

fn compare(operator: ComparisonOperator, left: &Value, right: &Value) -> Result<Value, Reason> {
    let symbol = match operator {
        ComparisonOperator::NotEqual => "<>",
        other => other.symbol(),
    };
    let numbers = || Ok::<_, Reason>(format!("{} {symbol} {}", left.number()?, right.number()?));
    let texts = || Ok::<_, Reason>(format!("{} {symbol} {}", left.text()?, right.text()?));
    if [left, right].into_iter().any(|side| matches!(side.kind, Kind::Boolean | Kind::List)) {
        return Err("a comparison of conditions or lists".to_owned());
    }
    let numeric = left.kind != Kind::Text || right.kind != Kind::Text;
    if numeric && (is_text(left) || is_text(right)) {
        return Err("a number compared with a text".to_owned());
    }
    let ordered = !matches!(operator, ComparisonOperator::Equal | ComparisonOperator::NotEqual);
    boolean(match (numeric, ordered) {
        (true, _) => numbers()?,
        (false, true) if !is_text(left) && !is_text(right) => {
            format!("COALESCE({}, {})", numbers()?, texts()?)
        }
        (false, _) => texts()?,
    })
}

fn within(tested: &Expr, list: &[Expr], negated: bool, layer: &Layer) -> Result<Value, Reason> {
    let tested = value(tested, layer)?;
    let list = list.iter().map(|item| value(item, layer)).collect::<Result<Vec<_>, _>>()?;
    let numeric = tested.kind != Kind::Text || list.iter().any(|item| item.kind != Kind::Text);
    let side = |value: &Value| if numeric { value.number() } else { value.text() };
    let items = list.iter().map(side).collect::<Result<Vec<_>, _>>()?;
    let not = if negated { "NOT " } else { "" };
    boolean(format!("({} {not}IN ({}))", side(&tested)?, items.join(", ")))
}

fn function(call: &Call, layer: &Layer) -> Result<Value, Reason> {
    let name = call.function.node.as_str();
    let unknown = || Err(format!("{name}() has no equivalent"));
    let at = |index: usize| -> Result<Value, Reason> {
        let argument = call.arguments.get(index).ok_or_else(|| format!("{name}() needs more"))?;
        value(argument, layer)
    };
    let count = call.arguments.len();
    match name {
        "if" | "case" | "validate" => branches(name, call, layer),
        "coalesce" => same_kind(call, layer, |list| format!("COALESCE({})", list.join(", "))),
        "nullif" => same_kind(call, layer, |list| format!("NULLIF({})", list.join(", "))),
        "isnull" => boolean(format!("({} IS NULL)", at(0)?.sql)),
        "isnotnull" => boolean(format!("({} IS NOT NULL)", at(0)?.sql)),
        "true" => boolean("TRUE".to_owned()),
        "false" => boolean("FALSE".to_owned()),
        "null" => Ok(Value::new("NULL", Kind::Text)),
        "now" | "time" => Ok(Value::new("now()", Kind::Time)),
        "like" => boolean(format!("({} LIKE {})", at(0)?.text()?, at(1)?.text()?)),
        "match" => {
            let pattern = literal_of(&at(1)?)?;
            boolean(format!("({} ~ {pattern})", at(0)?.text()?))
        }
        "replace" => {
            let (text, pattern, with) = (at(0)?.text()?, literal_of(&at(1)?)?, at(2)?.text()?);
            let sql = format!("regexp_replace({text}, {pattern}, {with}, 'g')");
            Ok(Value::new(sql, Kind::Text))
        }
        "lower" | "upper" if count == 1 => texts(name, &at(0)?),
        "trim" if count == 1 => texts("btrim", &at(0)?),
        "ltrim" | "rtrim" if count == 1 => texts(name, &at(0)?),
        "len" => Ok(Value::new(format!("character_length({})", at(0)?.text()?), Kind::Integer)),
        "substr" => substring(call, layer),
        "tonumber" if count == 1 => Ok(Value::new(at(0)?.number()?, Kind::Number)),
        "tostring" if count == 1 => Ok(Value::new(at(0)?.text()?, Kind::Text)),
        "strftime" => formatted_time(&at(0)?, &at(1)?),
        _ => numbers(name, call, layer).unwrap_or_else(unknown),
    }
}

fn texts(function: &str, argument: &Value) -> Result<Value, Reason> {
    Ok(Value::new(format!("{function}({})", argument.text()?), Kind::Text))
}

fn literal_of(value: &Value) -> Result<String, Reason> {
    let text = value.literal.as_ref().ok_or("a pattern that is not a literal")?;
    Ok(literal(text))
}

/// Functions of numbers.
fn numbers(name: &str, call: &Call, layer: &Layer) -> Option<Result<Value, Reason>> {
    let sql_name = match (name, call.arguments.len()) {
        ("abs" | "exp" | "ln" | "sqrt" | "floor" | "cos" | "sin" | "tan", 1) => name,
        ("ceil" | "ceiling", 1) => "ceil",
        ("round", 1 | 2) => "round",
        ("pow", 2) => "power",
        ("log", 1) => "log10",
        ("pi", 0) => "pi",
        ("max", _) => "greatest",
        ("min", _) => "least",
        _ => return None,
    };
    let arguments = call.arguments.iter().map(|argument| value(argument, layer)?.number());
    let arguments = arguments.collect::<Result<Vec<_>, _>>();
    let call =
        |list: Vec<String>| Value::new(format!("{sql_name}({})", list.join(", ")), Kind::Number);
    Some(arguments.map(call))
}

/// `if` and `case`.
fn branches(name: &str, call: &Call, layer: &Layer) -> Result<Value, Reason> {
    let mut pairs = Vec::new();
    let mut last = None;
    for pair in call.arguments.chunks(2) {
        match (name, pair) {
            ("if" | "case", [test, then]) => {
                pairs.push((condition(test, layer)?, value(then, layer)?));
            }
            ("if", [otherwise]) => last = Some(value(otherwise, layer)?),
            _ => return Err(format!("{name}() has no equivalent")),
        }
    }
    let all: Vec<&Value> = pairs.iter().map(|(_, value)| value).chain(&last).collect();
    let kind = common_kind(&all);
    let mut sql = "CASE".to_owned();
    for (test, then) in &pairs {
        sql.push_str(&format!(" WHEN {test} THEN {}", as_kind(then, kind)?));
    }
    if let Some(otherwise) = &last {
        sql.push_str(&format!(" ELSE {}", as_kind(otherwise, kind)?));
    }
    sql.push_str(" END");
    Ok(Value::new(sql, kind))
}

fn same_kind(
    call: &Call,
    layer: &Layer,
    build: impl Fn(Vec<String>) -> String,
) -> Result<Value, Reason> {
    let values = call.arguments.iter().map(|argument| value(argument, layer));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    let kind = common_kind(&values.iter().collect::<Vec<_>>());
    let list = values.iter().map(|value| as_kind(value, kind)).collect::<Result<Vec<_>, _>>()?;
    Ok(Value::new(build(list), kind))
}

/// A kind that all values can be of.
fn common_kind(values: &[&Value]) -> Kind {
    let some: Vec<Kind> =
        values.iter().filter(|value| value.sql != "NULL").map(|value| value.kind).collect();
    match some.first() {
        None => Kind::Text,
        Some(first) if some.iter().all(|kind| kind == first) => *first,
        _ if some.iter().all(|kind| kind.is_number()) => Kind::Number,
        _ => Kind::Text,
    }
}

fn as_kind(value: &Value, kind: Kind) -> Result<String, Reason> {
    if value.sql == "NULL" || value.kind == kind {
        return Ok(value.sql.clone());
    }
    if kind.is_number() { value.number() } else { value.text() }
}

fn substring(call: &Call, layer: &Layer) -> Result<Value, Reason> {
    let mut list = vec![value(&call.arguments[0], layer)?.text()?];
    for argument in &call.arguments[1..] {
        let number = value(argument, layer)?;
        let positive = number.literal.as_ref().and_then(|text| text.parse::<u64>().ok());
        if positive.is_none_or(|number| number == 0) {
            return Err("substr() with positions that are not positive numbers".to_owned());
        }
        list.push(number.sql);
    }
    Ok(Value::new(format!("substr({})", list.join(", ")), Kind::Text))
}

fn formatted_time(time: &Value, format: &Value) -> Result<Value, Reason> {
    let format = literal_of(format)?;
    let time = match time.kind {
        Kind::Time => time.sql.clone(),
        _ => format!("to_timestamp(CAST({} AS DOUBLE))", time.number()?),
    };
    Ok(Value::new(format!("to_char({time}, {format})"), Kind::Text))
}
