//! The language of `search` as conditions.

use spl::ast::{
    ComparisonOperator, DirectiveKind, SearchComparison, SearchExpr, SearchIn, SearchPattern,
    SearchValue,
};

use super::layer::{Kind, Layer, Value};
use super::{Reason, literal};

/// The condition of a filter: never null, as in SPL.
pub(super) fn condition(expr: &SearchExpr, layer: &Layer) -> Result<String, Reason> {
    match expr {
        SearchExpr::And(members) => joined(members, " AND ", layer),
        SearchExpr::Or(members) => joined(members, " OR ", layer),
        SearchExpr::Not(inner, _) => {
            let inner = condition(inner, layer)?;
            Ok(format!("NOT {inner}"))
        }
        SearchExpr::Term(term) if term.pattern.is_any() => Ok("TRUE".to_owned()),
        SearchExpr::Term(term) => Ok(raw("search", &term.pattern, layer)),
        SearchExpr::Directive(directive) => {
            let function = match directive.kind {
                DirectiveKind::Case => "search_case",
                DirectiveKind::Term => "search_term",
            };
            Ok(raw(function, &directive.pattern, layer))
        }
        SearchExpr::Comparison(comparison) => compare(comparison, layer),
        SearchExpr::Cased(_) => Err("CASE() of a field".to_owned()),
        SearchExpr::In(list) => within(list, layer),
        SearchExpr::Subsearch(_) | SearchExpr::Computed(_) => Err("a subsearch".to_owned()),
        SearchExpr::Time(_) => Err("time ranges of single branches".to_owned()),
    }
}

fn joined(members: &[SearchExpr], operator: &str, layer: &Layer) -> Result<String, Reason> {
    let members = members.iter().map(|member| condition(member, layer));
    let members = members.collect::<Result<Vec<_>, _>>()?;
    Ok(format!("({})", members.join(operator)))
}

fn raw(function: &str, pattern: &SearchPattern, layer: &Layer) -> String {
    format!("{function}({}, {})", layer.field(model::columns::RAW).sql, literal(&glob(pattern)))
}

/// A pattern as the functions read it: `*` is a wildcard, `\*` an asterisk.
fn glob(pattern: &SearchPattern) -> String {
    let mut text = String::new();
    for part in &pattern.parts {
        match part {
            spl::ast::PatternPart::Any => text.push('*'),
            spl::ast::PatternPart::Literal(literal) => {
                text.push_str(&literal.replace('\\', "\\\\").replace('*', "\\*"));
            }
        }
    }
    text
}

fn compare(comparison: &SearchComparison, layer: &Layer) -> Result<String, Reason> {
    let field = layer.field(&comparison.field.node);
    let matches = || equal(&field, &comparison.value);
    let symbol = comparison.operator.symbol();
    match comparison.operator {
        ComparisonOperator::Equal => matches(),
        ComparisonOperator::NotEqual => {
            Ok(format!("({} IS NOT NULL AND NOT {})", field.sql, matches()?))
        }
        _ => {
            let text = comparison.value.pattern.as_literal().ok_or("a wildcard behind < or >")?;
            let side = match text.trim().parse::<f64>() {
                Ok(_) => format!("{} {symbol} {}", field.number()?, text.trim()),
                Err(_) => format!("{} {symbol} {}", field.text()?, literal(text)),
            };
            Ok(format!("COALESCE({side}, FALSE)"))
        }
    }
}

fn equal(field: &Value, value: &SearchValue) -> Result<String, Reason> {
    if value.pattern.is_any() {
        return Ok(format!("{} IS NOT NULL", field.sql));
    }
    match field.kind {
        Kind::Text | Kind::List => {
            Ok(format!("field_matches({}, {})", field.sql, literal(&glob(&value.pattern))))
        }
        _ => {
            let text = value.pattern.as_literal().ok_or("a wildcard for a number")?;
            let number = text.trim().parse::<f64>().map_err(|_| "a text for a number")?;
            Ok(format!("COALESCE({} = {number}, FALSE)", field.number()?))
        }
    }
}

fn within(list: &SearchIn, layer: &Layer) -> Result<String, Reason> {
    let field = layer.field(&list.field.node);
    let members = list.values.iter().map(|value| equal(&field, value));
    let members = members.collect::<Result<Vec<_>, _>>()?;
    let not = if list.negated { "NOT " } else { "" };
    Ok(format!("{not}({})", members.join(" OR ")))
}
