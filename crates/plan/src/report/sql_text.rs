//! A search as SQL text: each command adds itself to a `SELECT`.

use spl::ast::{Command, Pipeline, Spanned};

use crate::commands::of;
use context::sql::{Layer, NoSql, Reason, SqlText};

/// Longest text: expressions are written out where they are used.
const MAX_TEXT: usize = 100_000;

/// The search as SQL over indexes as tables.
///
/// # Errors
/// The first command that has no equivalent.
pub fn sql_text(pipeline: &Pipeline) -> Result<SqlText, NoSql> {
    let refused = |command: &Spanned<Command>| {
        let command = command.node.name().to_owned();
        move |reason: Reason| NoSql { command, reason }
    };
    let mut text = SqlText { query: String::new(), earliest: None, latest: None, notes: vec![] };
    let mut layer: Option<Layer> = None;
    for command in &pipeline.commands {
        let next = match layer.take() {
            None => of(&command.node).sql_source(&mut text),
            Some(layer) => of(&command.node).sql(layer, &mut text),
        };
        let next = next.map_err(refused(command))?;
        if next.size() > MAX_TEXT {
            return Err(refused(command)("the text becomes too long".to_owned()));
        }
        layer = Some(next);
    }
    text.query = layer.map(|layer| layer.render()).unwrap_or_default();
    text.notes.dedup();
    Ok(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn query(search: &str) -> String {
        let found = sql_text(&spl::parse(search).unwrap());
        let query = found.unwrap_or_else(|reason| panic!("{search}: {reason}")).query;
        query.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_filter_becomes_a_condition_over_the_table_of_its_index() {
        assert_eq!(
            query("index=web error status>=500 NOT user=root*"),
            "SELECT * FROM \"web\" WHERE search(\"_raw\", 'error') AND \
             COALESCE(TRY_CAST(\"status\" AS DOUBLE) >= 500, FALSE) AND \
             NOT field_matches(\"user\", 'root*') ORDER BY \"_time\" DESC NULLS LAST"
        );
    }

    #[test]
    fn counting_by_a_field_becomes_a_group() {
        assert_eq!(
            query("index=web | stats count, sum(bytes) AS b BY host | sort - count | head 5"),
            "SELECT \"host\", COUNT(*) AS \"count\", SUM(TRY_CAST(\"bytes\" AS DOUBLE)) AS \"b\" \
             FROM \"web\" WHERE \"host\" IS NOT NULL GROUP BY \"host\" \
             ORDER BY \"count\" DESC NULLS LAST, \"host\" NULLS LAST LIMIT 5"
        );
    }

    #[test]
    fn what_follows_a_limit_reads_what_it_left() {
        let query = query("index=web | head 3 | where a=\"x\" | table a");
        assert!(query.contains("LIMIT 3 )"), "{query}");
        assert!(query.contains("WHERE \"a\" = 'x'"), "{query}");
    }

    #[test]
    fn a_command_without_an_equivalent_is_named() {
        let reason = |search: &str| sql_text(&spl::parse(search).unwrap()).unwrap_err().to_string();
        assert!(reason("* | transpose").starts_with("no SQL for `transpose`"));
        assert!(reason("* | eval a=mvzip(b, c)").contains("mvzip()"));
        assert!(reason("index=a* | head").contains("one index"));
    }

    #[test]
    fn names_and_texts_are_quoted() {
        let query = query("index=web | where 'a \"b'=\"it's\" | rename 'a \"b' AS c | table c");
        assert!(query.contains("\"a \"\"b\" = 'it''s'"), "{query}");
        assert!(query.contains("\"a \"\"b\" AS \"c\""), "{query}");
    }
}
