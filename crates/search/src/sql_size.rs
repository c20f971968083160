//! How large the plan of a query becomes once the queries of `WITH` stand in place of their names.
//!
//! The engine does not run a query of `WITH` once: it puts its plan wherever its name is. A text of 1.3 kB,
//! in which each of 25 such queries names the one before it twice, was a plan of 33 million steps and 23 GB.
//! So the steps are counted in the parsed statement, with the names multiplied out, before it is planned.
//! How deep expressions are is counted in the text before (`sql_depth`).

use std::ops::ControlFlow;

use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{ObjectName, Query, Select, Visit, Visitor};
use model::ErrorKind;

use crate::Error;
use crate::sql_depth::QUERY_STEPS;

/// How deep a `WITH` may be within the queries of others. The engine looks for tables in such a query twice,
/// in the ones within it four times, and so on.
const NESTED_WITH: usize = 8;

/// Refuses a statement whose plan has more than `limit` steps.
pub(crate) fn check(statement: &Statement, limit: usize) -> Result<(), Error> {
    let mut size = Size { limit, ..Size::default() };
    let ControlFlow::Break(excess) = visit(statement, &mut size) else { return Ok(()) };
    let text = match excess {
        Excess::Nested => format!(
            "the query has more than {NESTED_WITH} WITH within each other: put the queries of the inner \
             ones into the outermost WITH"
        ),
        Excess::Steps => format!(
            "the query has more steps than max_plan_depth in limits.conf [search] ({limit}) once the queries \
             of WITH stand in place of their names ({QUERY_STEPS} for each SELECT and each table): name \
             queries of WITH less often in other queries of WITH, or raise it"
        ),
    };
    Err(Error::Search { kind: ErrorKind::Invalid, text })
}

fn visit(statement: &Statement, size: &mut Size) -> ControlFlow<Excess> {
    match statement {
        Statement::Statement(statement) => statement.as_ref().visit(size),
        Statement::Explain(explain) => visit(&explain.statement, size),
        Statement::CopyTo(copy) => match &copy.source {
            CopyToSource::Query(query) => query.visit(size),
            CopyToSource::Relation(_) => ControlFlow::Continue(()),
        },
        Statement::CreateExternalTable(_) | Statement::Reset(_) => ControlFlow::Continue(()),
    }
}

/// Why a statement is refused.
enum Excess {
    Steps,
    Nested,
}

/// The steps of the queries that are being visited.
#[derive(Default)]
struct Size {
    limit: usize,
    open: Vec<Open>,
    /// Names of `WITH` that can be used at this place, with the steps of their queries.
    known: Vec<(String, usize)>,
    /// How many of the open queries have a `WITH`.
    nested: usize,
}

/// A query that is being visited.
struct Open {
    steps: usize,
    /// How many names were known before it.
    known: usize,
    /// The queries of its `WITH`, which are visited before its body, with their names. A query is known by
    /// where it is in memory: the visitor does not say what a query belongs to.
    named: Vec<(*const Query, String)>,
}

impl Size {
    fn add(&mut self, steps: usize) -> ControlFlow<Excess> {
        let Some(query) = self.open.last_mut() else { return ControlFlow::Continue(()) };
        query.steps = query.steps.saturating_add(steps);
        if query.steps > self.limit {
            return ControlFlow::Break(Excess::Steps);
        }
        ControlFlow::Continue(())
    }
}

impl Visitor for Size {
    type Break = Excess;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Excess> {
        let mut open = Open { steps: 0, known: self.known.len(), named: Vec::new() };
        if let Some(with) = &query.with {
            self.nested += 1;
            if self.nested > NESTED_WITH {
                return ControlFlow::Break(Excess::Nested);
            }
            let named = with
                .cte_tables
                .iter()
                .map(|cte| (std::ptr::from_ref::<Query>(&cte.query), cte.alias.name.value.clone()));
            open.named.extend(named);
        }
        self.open.push(open);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<Excess> {
        let Some(closed) = self.open.pop() else { return ControlFlow::Continue(()) };
        self.known.truncate(closed.known);
        self.nested -= usize::from(query.with.is_some());
        let mut named = self.open.last().into_iter().flat_map(|outer| &outer.named);
        let found = named.find(|(at, _)| std::ptr::eq(*at, query)).map(|(_, name)| name.clone());
        // The steps of a query of WITH count where its name is used.
        let Some(name) = found else { return self.add(closed.steps) };
        self.known.push((name, closed.steps));
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, _: &Select) -> ControlFlow<Excess> {
        self.add(QUERY_STEPS)
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<Excess> {
        // The engine finds `a.b` under the name "a.b" of a WITH, too.
        let parts = relation.0.iter().filter_map(|part| part.as_ident());
        let name = parts.map(|part| part.value.as_str()).collect::<Vec<_>>().join(".");
        let known = self.known.iter().rev().find(|(known, _)| *known == name);
        let steps = known.map_or(0, |(_, steps)| *steps);
        self.add(QUERY_STEPS.saturating_add(steps))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use datafusion::sql::parser::DFParser;

    use super::*;

    fn refused(query: &str) -> Option<String> {
        let statement = DFParser::parse_sql(query).unwrap().pop_front().unwrap();
        check(&statement, 5_000).err().map(|error| error.to_string())
    }

    /// Queries of which each names the one before it twice.
    fn doubled(queries: usize) -> String {
        let more = (1..queries).map(|at| {
            let before = at - 1;
            format!(", a{at} AS (SELECT * FROM a{before} UNION ALL SELECT * FROM a{before})")
        });
        let last = queries - 1;
        format!(
            "WITH a0 AS (SELECT 1 AS x){} SELECT count(*) FROM a{last}",
            more.collect::<String>()
        )
    }

    #[test]
    fn names_that_are_used_twice_again_and_again_are_refused() {
        assert_eq!(refused(&doubled(5)), None);
        for query in [doubled(25), format!("EXPLAIN {}", doubled(25))] {
            let text = refused(&query).unwrap();
            assert!(text.contains("max_plan_depth in limits.conf [search] (5000)"), "{text}");
        }
    }

    #[test]
    fn names_in_queries_within_expressions_count_too() {
        let more = (1..25).map(|at| {
            let before = at - 1;
            format!(
                ", a{at} AS (SELECT 1 AS x WHERE EXISTS (SELECT * FROM a{before}) OR 1 IN (SELECT x FROM a{before}))"
            )
        });
        let more: String = more.collect();
        assert!(refused(&format!("WITH a0 AS (SELECT 1 AS x){more} SELECT * FROM a24")).is_some());
    }

    #[test]
    fn a_name_counts_where_it_is_known_only() {
        // Both inner queries have an a of their own; the last a is a table.
        let small = "(WITH a AS (SELECT 1 AS x) SELECT * FROM a)";
        assert_eq!(refused(&format!("SELECT * FROM {small} b, {small} c, a")), None);
        let chain = (1..50).map(|at| format!(", a{at} AS (SELECT * FROM a{})", at - 1));
        let chain: String = chain.collect();
        assert_eq!(refused(&format!("WITH a0 AS (SELECT 1 AS x){chain} SELECT * FROM a49")), None);
        let recursive =
            "WITH RECURSIVE a AS (SELECT 1 AS x UNION ALL SELECT x FROM a) SELECT * FROM a";
        assert_eq!(refused(recursive), None);
    }

    #[test]
    fn queries_of_with_have_few_others_within() {
        let nested = |depth: usize| {
            (0..depth).fold("SELECT 1 AS x".to_owned(), |inner, at| {
                format!("WITH a{at} AS ({inner}) SELECT * FROM a{at}")
            })
        };
        assert_eq!(refused(&nested(NESTED_WITH)), None);
        assert!(refused(&nested(NESTED_WITH + 1)).unwrap().contains("outermost WITH"));
    }
}
