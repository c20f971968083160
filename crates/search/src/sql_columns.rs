//! What a query says about the columns of its tables, before the tables are opened.
//!
//! A table of SQL has to list its columns, but those that knowledge objects compute are too many for a list:
//! it has those that the query names (`sql_names`). Where one is computed, a table has the other fields that
//! the query names only: plans over all fields of a large index take much memory.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, ObjectName, Query, Select, SetExpr, Statement as Parsed, TableFactor,
    Value, Visit, Visitor,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use plan::SqlColumns;

use crate::sql_names;

/// What a statement and its text say about columns.
#[derive(Debug, Clone)]
pub(crate) struct Columns {
    names: BTreeMap<String, BTreeSet<String>>,
    /// All words of the query; `None` if a `*` stands for columns that it does not name.
    pub(crate) words: Option<HashSet<String>>,
    texts: Vec<(String, Vec<String>)>,
    /// Whether there are too many to follow them all.
    pub(crate) too_many: bool,
}

impl Columns {
    /// Returns what they say about those of an index.
    pub(crate) fn of_index(&self, index: &str) -> SqlColumns {
        let names = self.names.get(index).into_iter().flatten().cloned().collect();
        SqlColumns { names, words: self.words.clone(), texts: self.texts.clone() }
    }
}

/// Returns what a statement and its text say about columns.
pub(crate) fn of(query: &str, statement: &Statement) -> Columns {
    let names = sql_names::of(statement);
    let words = (!names.all).then(|| words(query));
    Columns { names: names.read, words, texts: texts(statement), too_many: names.too_many }
}

/// Returns all words of a query, which are more than the names of its columns.
fn words(query: &str) -> HashSet<String> {
    let tokens = Tokenizer::new(&GenericDialect {}, query).tokenize().unwrap_or_default();
    let words = tokens.into_iter().filter_map(|token| match token {
        Token::Word(word) => Some(word.value),
        _ => None,
    });
    words.collect()
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
    fn fields_that_a_query_does_not_name_are_needed_for_a_star_only() {
        let words_of = |query: &str| {
            of(query, &DFParser::parse_sql(query).unwrap().pop_front().unwrap()).words
        };
        let words =
            words_of("SELECT upper(a) AS b, count(*) FROM main m GROUP BY \"b{}\"").unwrap();
        assert!(["a", "b", "b{}", "main"].iter().all(|word| words.contains(*word)), "{words:?}");
        assert_eq!(words_of("SELECT * FROM main WHERE a = 'b'"), None);
        assert_eq!(words_of("SELECT a FROM (SELECT m.* FROM main m) q"), None);
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
