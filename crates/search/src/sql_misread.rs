//! Expressions that the engine reads otherwise than SQL defines them: they are refused, because the rows
//! would be wrong without a sign.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Visit, Visitor};
use model::ErrorKind;

use crate::Error;

/// The engine takes the pattern for a regular expression that matches anywhere in the text.
const SIMILAR: &str = "SIMILAR TO is not supported: use LIKE, or a regular expression for the whole text, as \
                       in regexp_like(x, '^(a|b)$')";
/// The engine's parser reads `a IS DISTINCT FROM b AND c` as `a IS DISTINCT FROM (b AND c)`.
const DISTINCT: &str = "IS DISTINCT FROM and IS NOT DISTINCT FROM need parentheses next to AND, OR and IS: \
                        write (a IS DISTINCT FROM b) AND c";

/// Refuses a statement with such an expression.
pub(crate) fn check(statement: &Statement) -> Result<(), Error> {
    let found = match statement {
        Statement::Explain(explain) => return check(&explain.statement),
        Statement::Statement(parsed) => parsed.as_ref().visit(&mut Misread),
        _ => return Ok(()),
    };
    match found {
        ControlFlow::Break(text) => {
            Err(Error::Search { kind: ErrorKind::Invalid, text: text.to_owned() })
        }
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Misread;

impl Visitor for Misread {
    type Break = &'static str;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<&'static str> {
        match expr {
            Expr::SimilarTo { .. } => ControlFlow::Break(SIMILAR),
            Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right)
                if binds_less(right) =>
            {
                ControlFlow::Break(DISTINCT)
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Whether an expression without parentheses cannot be the right side of an operator with `IS`.
fn binds_less(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryOp { op, .. } => matches!(op, BinaryOperator::And | BinaryOperator::Or),
        Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotUnknown(_)
        | Expr::IsDistinctFrom(..)
        | Expr::IsNotDistinctFrom(..) => true,
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use datafusion::sql::parser::DFParser;

    use super::*;

    fn refused(query: &str) -> Option<String> {
        let statement = DFParser::parse_sql(query).unwrap().pop_front().unwrap();
        check(&statement).err().map(|error| error.to_string())
    }

    #[test]
    fn similar_to_is_refused() {
        for query in [
            "SELECT a FROM main WHERE a SIMILAR TO 'b%'",
            "SELECT 1 FROM main WHERE host IN (SELECT h FROM t WHERE a NOT SIMILAR TO 'b')",
            "EXPLAIN SELECT a SIMILAR TO 'b' FROM main",
        ] {
            assert!(refused(query).unwrap().contains("regexp_like"), "{query}");
        }
        assert_eq!(refused("SELECT a FROM main WHERE a LIKE 'b%' AND a ~ 'b'"), None);
    }

    #[test]
    fn is_distinct_from_needs_parentheses_where_more_follows() {
        for query in [
            "SELECT a IS DISTINCT FROM b AND c FROM main",
            "SELECT 1 FROM main WHERE a IS NOT DISTINCT FROM '1' OR b = '3'",
            "SELECT 1 FROM main WHERE x = 1 AND a IS DISTINCT FROM b AND c IS DISTINCT FROM d",
            "SELECT a IS DISTINCT FROM b IS NULL FROM main",
            "SELECT 1 FROM a JOIN b ON a.x IS NOT DISTINCT FROM b.x AND a.y = b.y",
        ] {
            assert!(refused(query).unwrap().contains("parentheses"), "{query}");
        }
        for query in [
            "SELECT (a IS DISTINCT FROM b) AND c FROM main",
            "SELECT 1 FROM main WHERE x = 1 AND a IS DISTINCT FROM b",
            "SELECT 1 FROM main WHERE a IS DISTINCT FROM (b AND c)",
            "SELECT 1 FROM a JOIN b ON a.x IS NOT DISTINCT FROM upper(b.x) || 'c' WHERE a.y = '1'",
            "SELECT a IS DISTINCT FROM CASE WHEN b AND c THEN 1 END FROM main",
        ] {
            assert_eq!(refused(query), None, "{query}");
        }
    }
}
