//! What the text of a query says about the columns of its tables, before the tables are opened.
//!
//! A table of SQL has to list its columns, but those that knowledge objects compute are too many for a list:
//! it has those that the query names. The words of the query stand for them; a word that is something else
//! costs a look into a set of names.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, ObjectName, Query, Select, SetExpr, Statement as Parsed, TableFactor,
    Value, Visit, Visitor,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer, Word};
use plan::SqlColumns;

/// Words after which expressions follow that are not those of `GROUP BY` or `ORDER BY`.
const AFTER_BY: [&str; 3] = ["SELECT", "HAVING", "QUALIFY"];

/// Returns what a statement and its text say about columns.
pub(crate) fn of(query: &str, statement: &Statement) -> SqlColumns {
    SqlColumns { names: names(query), texts: texts(statement) }
}

/// Returns the words that may be names of columns, in order. After `BY`, a name that the query gives with
/// `AS` is that of the result.
fn names(query: &str) -> Vec<String> {
    let tokens = Tokenizer::new(&GenericDialect {}, query).tokenize().unwrap_or_default();
    let mut tokens =
        tokens.into_iter().filter(|token| !matches!(token, Token::Whitespace(_))).peekable();
    let (mut columns, mut after_by, mut given) = (Vec::new(), Vec::new(), HashSet::new());
    // For every open bracket, whether this is a list after BY.
    let mut open = vec![false];
    while let Some(token) = tokens.next() {
        let is_by = open.last().copied().unwrap_or_default();
        match token {
            Token::LParen => open.push(is_by),
            Token::RParen => {
                open.pop();
            }
            Token::Word(word) if is(&word, "AS") => {
                if let Some(Token::Word(name)) =
                    tokens.next_if(|next| matches!(next, Token::Word(_)))
                {
                    given.insert(name.value);
                }
            }
            Token::Word(word) if is(&word, "BY") => turn(&mut open, true),
            Token::Word(word) => {
                if AFTER_BY.iter().any(|keyword| is(&word, keyword)) {
                    turn(&mut open, false);
                }
                let list = if is_by { &mut after_by } else { &mut columns };
                list.push(word.value);
            }
            _ => {}
        }
    }
    after_by.retain(|name| !given.contains(name));
    let mut known = HashSet::new();
    columns.into_iter().chain(after_by).filter(|name| known.insert(name.clone())).collect()
}

fn is(word: &Word, keyword: &str) -> bool {
    word.quote_style.is_none() && word.value.eq_ignore_ascii_case(keyword)
}

fn turn(open: &mut [bool], is_by: bool) {
    if let Some(last) = open.last_mut() {
        *last = is_by;
    }
}

/// Returns the texts of which a column has one in all rows that a query reads and does not filter out. These
/// are known if the query reads one table, once: another `SELECT` of the same table could want other rows.
fn texts(statement: &Statement) -> Vec<(String, Vec<String>)> {
    let parsed = match statement {
        Statement::Explain(explain) => return texts(&explain.statement),
        Statement::Statement(parsed) => parsed.as_ref(),
        _ => return Vec::new(),
    };
    let Parsed::Query(query) = parsed else { return Vec::new() };
    let mut found = Vec::new();
    if let Some(condition) = only_select(query).and_then(|select| select.selection.as_ref()) {
        each_condition(condition, &mut found);
    }
    found
}

/// Returns the `SELECT` of a query that has one only, over one table.
fn only_select(query: &Query) -> Option<&Select> {
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    let [from] = select.from.as_slice() else { return None };
    let is_table = matches!(from.relation, TableFactor::Table { .. }) && from.joins.is_empty();
    let mut relations = Relations(0);
    let _ = query.visit(&mut relations);
    (is_table && relations.0 == 1).then(|| select.as_ref())
}

/// The number of tables that a query names.
struct Relations(usize);

impl Visitor for Relations {
    type Break = ();

    fn pre_visit_relation(&mut self, _: &ObjectName) -> ControlFlow<()> {
        self.0 += 1;
        ControlFlow::Continue(())
    }
}

/// Adds the conditions joined by `AND` that compare a column with texts.
fn each_condition(condition: &Expr, found: &mut Vec<(String, Vec<String>)>) {
    match condition {
        Expr::Nested(inner) => each_condition(inner, found),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            each_condition(left, found);
            each_condition(right, found);
        }
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
            let sides = column(left).zip(text(right)).or_else(|| column(right).zip(text(left)));
            found.extend(sides.map(|(name, text)| (name, vec![text])));
        }
        Expr::InList { expr, list, negated: false } => {
            let texts: Option<Vec<String>> = list.iter().map(text).collect();
            found.extend(column(expr).zip(texts));
        }
        _ => {}
    }
}

/// Returns the name of a column, which may follow that of its table.
fn column(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(name) => Some(name.value.clone()),
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [_, name] => Some(name.value.clone()),
            _ => None,
        },
        _ => None,
    }
}

fn text(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use datafusion::sql::parser::DFParser;

    use super::*;

    fn texts_of(query: &str) -> Vec<(String, Vec<String>)> {
        texts(&DFParser::parse_sql(query).unwrap().pop_front().unwrap())
    }

    #[test]
    fn words_are_names_and_texts_are_not() {
        let found = names(
            "SELECT m.action, \"tag::user\", upper(app) FROM main m WHERE status = 'action2' -- note",
        );
        for name in ["action", "tag::user", "app", "status"] {
            assert!(found.iter().any(|known| known == name), "{name}: {found:?}");
        }
        for name in ["action2", "note"] {
            assert!(!found.iter().any(|known| known == name), "{name}: {found:?}");
        }
    }

    #[test]
    fn names_of_the_result_are_not_columns_after_by() {
        let has = |query: &str| names(query).iter().any(|name| name == "day");
        for query in [
            "SELECT date_trunc('day', _time) AS day, count(*) FROM main GROUP BY day ORDER BY day",
            "SELECT max(host) AS day FROM main GROUP BY (day)",
        ] {
            assert!(!has(query), "{query}");
        }
        for query in [
            "SELECT day FROM main",
            "SELECT upper(day) AS day FROM main GROUP BY day",
            "SELECT host AS day FROM main GROUP BY host HAVING max(day) > 'a'",
            "SELECT count(*) FROM main GROUP BY day",
            "SELECT row_number() OVER (ORDER BY host), day FROM main",
            "SELECT row_number() OVER (ORDER BY day) AS n FROM main",
        ] {
            assert!(has(query), "{query}");
        }
    }

    #[test]
    fn texts_are_those_that_every_row_has() {
        let one = |name: &str, texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            vec![(name.to_owned(), texts)]
        };
        let select = "SELECT count(*) FROM main WHERE";
        for (condition, expected) in [
            ("action = 'a'", one("action", &["a"])),
            ("'a' = main.action AND bytes > 5", one("action", &["a"])),
            ("(host LIKE 'x%' AND action IN ('a', 'b'))", one("action", &["a", "b"])),
            ("action = 'a' OR host = 'b'", Vec::new()),
            ("NOT action = 'a'", Vec::new()),
            ("action NOT IN ('a')", Vec::new()),
            ("action IN ('a', user)", Vec::new()),
            ("action = 5", Vec::new()),
        ] {
            assert_eq!(texts_of(&format!("{select} {condition}")), expected, "{condition}");
            assert_eq!(texts_of(&format!("EXPLAIN {select} {condition}")), expected);
        }
        for query in [
            "SELECT action FROM main WHERE action = 'a' UNION ALL SELECT action FROM main",
            "SELECT * FROM main a, main b WHERE a.action = 'a'",
            "SELECT * FROM main a JOIN main b USING (host) WHERE a.action = 'a'",
            "SELECT (SELECT count(*) FROM main) FROM main WHERE action = 'a'",
            "WITH a AS (SELECT 1) SELECT * FROM a, main WHERE action = 'a'",
            "SELECT * FROM (SELECT * FROM main) WHERE action = 'a'",
        ] {
            assert!(texts_of(query).is_empty(), "{query}");
        }
    }
}
