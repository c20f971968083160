//! Estimates the depth of a query's plan from its tokens alone.
//!
//! The engine reads, plans and drops queries by functions that call themselves, and a chain such as `1+1+1`
//! makes them as deep as it is long. So a query is refused before it is read: an expression is at most as
//! deep as it has words between two commas, with those of the expressions that it is in, and a query within
//! the query takes a few steps of its own.

use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use model::ErrorKind;

use crate::Error;

/// Estimated number of plan steps of a subquery or a joined table.
pub(crate) const QUERY_STEPS: usize = 10;

/// Rejects a query that may become deeper than `limit`, and a query that cannot be tokenized.
pub(crate) fn check(query: &str, limit: usize) -> Result<(), Error> {
    let refused = |text| Err(Error::Search { kind: ErrorKind::Invalid, text });
    let tokens = match Tokenizer::new(&GenericDialect {}, query).tokenize() {
        Ok(tokens) => tokens,
        Err(error) => return refused(error.to_string()),
    };
    let depth = of(&tokens);
    if depth <= limit {
        return Ok(());
    }
    refused(format!(
        "the query may be {depth} steps deep, more than max_plan_depth in limits.conf [search] ({limit}): use \
         IN in place of many conditions, shorter expressions, and fewer queries within the query"
    ))
}

/// Returns the number of tokens of the longest expression, including those of the expressions around it, plus
/// the steps of all subqueries.
fn of(tokens: &[Token]) -> usize {
    // The number of tokens since the last comma, for every open bracket, and the total.
    let mut open = vec![0];
    let (mut together, mut longest, mut queries) = (0, 0, 0);
    for token in tokens {
        let inner = open.len() > 1;
        let Some(words) = open.last_mut() else { break };
        match token {
            Token::Whitespace(_) => continue,
            Token::Comma => together -= std::mem::take(words),
            Token::RParen | Token::RBracket | Token::RBrace if inner => {
                together -= open.pop().unwrap_or(0);
            }
            token => {
                *words += 1;
                together += 1;
                longest = longest.max(together);
                queries += usize::from(is_query(token));
                if matches!(token, Token::LParen | Token::LBracket | Token::LBrace) {
                    open.push(0);
                }
            }
        }
    }
    longest + QUERY_STEPS * queries
}

fn is_query(token: &Token) -> bool {
    let Token::Word(word) = token else { return false };
    ["SELECT", "JOIN", "FROM", "VALUES", "TABLE"]
        .iter()
        .any(|one| word.value.eq_ignore_ascii_case(one))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn refused(query: &str) -> bool {
        check(query, 1_000).is_err()
    }

    #[test]
    fn chains_are_as_deep_as_they_are_long() {
        for (first, again) in [
            ("SELECT 1", "+1"),
            ("SELECT ", "NOT "),
            ("SELECT 1", "::int"),
            ("SELECT 1", " IS NULL"),
            ("SELECT a", "[1]"),
            ("SELECT 1 WHERE a = 1", " OR a = 1"),
            ("SELECT 1", " UNION ALL SELECT 1"),
            ("SELECT 1 FROM a", " JOIN b ON true"),
            ("WITH a AS (SELECT 1)", ", b AS (SELECT * FROM a)"),
            ("SELECT ", "f("),
        ] {
            assert!(refused(&format!("{first}{}", again.repeat(2_000))), "{again}");
        }
    }

    #[test]
    fn long_lists_and_ordinary_queries_are_not_deep() {
        let list = (0..100_000).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
        assert!(!refused(&format!("SELECT a FROM main WHERE a IN ({list})")));
        let columns = (0..1_000).map(|n| format!("a + {n}")).collect::<Vec<_>>().join(", ");
        assert!(!refused(&format!("SELECT {columns} FROM main -- {}", "word ".repeat(2_000))));
        assert!(!refused("SELECT a FROM (SELECT count(*) AS a FROM main GROUP BY b) WHERE a > 1"));
    }

    #[test]
    fn the_limit_is_named_and_a_text_without_an_end_is_a_mistake() {
        let error = check(&"1+".repeat(2_000), 1_000).unwrap_err().to_string();
        assert!(error.contains("max_plan_depth in limits.conf [search] (1000)"), "{error}");
        assert!(check("SELECT 'a", 1_000).is_err());
    }
}
