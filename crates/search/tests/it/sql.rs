//! SQL: what is refused and in which words, the types of columns, sizes of plans.

use std::sync::Arc;

use karst_search::{SearchService, Settings, SqlRequest, SqlResult, SqlRows};

use crate::support::{filled, log_event};

async fn service() -> SearchService {
    filled(&[log_event(0), log_event(1)], 1, Settings::default()).await.0
}

pub(crate) fn request(query: &str) -> SqlRequest {
    SqlRequest {
        query: query.to_owned(),
        earliest: None,
        latest: None,
        timezone: jiff::tz::TimeZone::UTC,
        app: "search".to_owned(),
        rights: Arc::new(access::Rights::of_system("admin")),
        rows: SqlRows::Limited,
        trace: Default::default(),
    }
}

async fn refused(service: &SearchService, query: &str) -> String {
    match service.sql(request(query)).await {
        Err(error) => error.to_string(),
        Ok(result) => panic!("{query} gave {} rows", result.rows()),
    }
}

fn cells(result: &SqlResult) -> Vec<String> {
    result.page().rows.iter().flatten().map(|cell| format!("{cell:?}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_are_said_in_words_of_sql() {
    let service = service().await;
    let nested = format!("SELECT {}1{}", "(".repeat(60), ")".repeat(60));
    for (query, expected) in [
        ("selct 1", "expected a statement such as SELECT, found \"selct\" (line 1, column 1)"),
        ("SELECT nope FROM main", "there is no column \"nope\""),
        ("SELECT Host FROM main", "case-sensitive: did you mean \"host\"?"),
        ("SELECT * FROM nosuch", "there is no index \"nosuch\"; SHOW TABLES lists yours"),
        ("SELECT 1 / 0", "division by zero: use x / nullif(y, 0)"),
        ("SELECT CAST('-' AS BIGINT)", "\"-\" is not a whole number: use TRY_CAST(… AS DOUBLE)"),
        ("SELECT sum(_raw) FROM main", "sum() needs numbers, and the argument is text"),
        ("SELECT _raw + 1 FROM main", "+ needs numbers, and one side is text"),
        ("SELECT 1 FROM main WHERE _time > 1431900000", "a time cannot be compared with a number"),
        ("INSERT INTO main VALUES (1)", "SQL is read-only"),
        ("DROP TABLE main", "SQL is read-only"),
        ("SET datafusion.execution.batch_size = 1", "SQL is read-only"),
        ("SELECT $1", "parameters are not supported"),
        ("SELECT 1 AS a, 2 AS a", "two columns have the same name"),
        ("SELECT 'abc' SIMILAR TO 'b'", "SIMILAR TO is not supported: use LIKE"),
        ("SELECT true IS DISTINCT FROM false AND false", "need parentheses next to AND"),
        (
            "SELECT TIMESTAMP '2026-10-25 02:30:00' AT TIME ZONE 'Europe/Berlin'",
            "a local time does not exist, or exists twice",
        ),
        (
            "SELECT TIMESTAMP '2026-03-29 02:30:00' AT TIME ZONE 'Europe/Berlin'",
            "a local time does not exist, or exists twice",
        ),
        ("SELECT 1; SELECT 2", "only one statement is possible"),
        (
            "SELECT host IN (SELECT host FROM main) FROM main",
            "in WHERE, HAVING and QUALIFY only: elsewhere use a join",
        ),
        (
            "SELECT EXISTS (SELECT 1 FROM main b WHERE b.host = a.host) FROM main a",
            "in WHERE, HAVING and QUALIFY only: elsewhere use a join",
        ),
        (
            "SELECT count(*) FILTER (WHERE host IN (SELECT host FROM main)) FROM main",
            "in WHERE, HAVING and QUALIFY only: elsewhere use a join",
        ),
        (
            "SELECT 1 FROM main WHERE (host, source) IN (SELECT host, source FROM main)",
            "an inner query for IN or for a value has one column",
        ),
        (nested.as_str(), "the query is nested deeper than 50 levels"),
    ] {
        let error = refused(&service, query).await;
        assert!(error.contains(expected), "{query}: {error}");
        assert!(!error.contains('\n') && error.len() <= 500, "{query}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_with_that_multiply_are_refused_before_they_are_planned() {
    let more = (1..25).map(|at| {
        let before = at - 1;
        format!(", a{at} AS (SELECT * FROM a{before} UNION ALL SELECT * FROM a{before})")
    });
    let more: String = more.collect();
    let query = format!("WITH a0 AS (SELECT 1 AS x){more} SELECT count(*) FROM a24");
    let start = std::time::Instant::now();
    let error = refused(&service().await, &query).await;
    assert!(error.contains("max_plan_depth in limits.conf [search] (5000)"), "{error}");
    assert!(start.elapsed().as_secs() < 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn types_of_columns_are_those_of_the_rows() {
    let service = service().await;
    for query in [
        "SELECT 1 AS a UNION ALL SELECT 'a'",
        "SELECT CASE WHEN host = 'host0' THEN 1 ELSE 'x' END AS a FROM main",
        "SELECT count(*) AS n, max(_time) AS last FROM main",
        "SHOW TABLES",
        "DESCRIBE main",
        "EXPLAIN SELECT 1",
    ] {
        let result = service.sql(request(query)).await.unwrap();
        for batch in &result.batches {
            for (column, field) in batch.columns().iter().zip(result.schema.fields()) {
                assert_eq!(column.data_type(), field.data_type(), "{query}");
                assert!(field.is_nullable(), "{query}");
            }
        }
        assert_eq!(service.sql_schema(request(query)).await.unwrap(), result.schema, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_columns_of_an_index_are_those_of_a_query_for_all_of_them() {
    let service = service().await;
    let rights = access::Rights::of_system("admin");
    let columns = service.sql_columns("main", &rights).await.unwrap();
    let all = service.sql_schema(request("SELECT * FROM main")).await.unwrap();
    assert!(all.fields().len() > 7, "{all:?}");
    assert_eq!(columns, Some(all));
    assert_eq!(service.sql_columns("nosuch", &rights).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn integers_that_do_not_fit_are_refused() {
    let service = service().await;
    for query in [
        "SELECT 9223372036854775807 + 1",
        "SELECT 3037000500 * 3037000500",
        "SELECT CAST(2147483647 AS INT) + CAST(1 AS INT)",
        "SELECT sum(x) FROM (VALUES (9223372036854775807), (1)) AS t (x)",
    ] {
        let error = service.sql(request(query)).await.map(|_| ()).unwrap_err();
        assert!(error.to_string().starts_with("out of range: "), "{query}: {error}");
        assert_eq!(error.kind(), model::ErrorKind::Invalid, "{query}");
    }
    let result = service.sql(request("SELECT 9223372036854775806 + 1 AS n")).await.unwrap();
    assert!(cells(&result)[0].contains("9223372036854775807"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_rows_by_ascending_time_are_read_oldest_first() {
    let service = service().await;
    let orders =
        [("_time", true), ("_time, host", true), ("_time DESC", false), ("host, _time", false)];
    for (order, is_oldest_first) in orders {
        let query = format!("EXPLAIN SELECT n FROM main ORDER BY {order} LIMIT 1");
        let plan = cells(&service.sql(request(&query)).await.unwrap()).join(" ");
        assert!(plan.contains("oldest_first="), "{plan}");
        assert_eq!(plan.contains("oldest_first=true"), is_oldest_first, "{order}: {plan}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn times_have_their_microseconds() {
    let query = "SELECT to_timestamp_micros(1700000000675872) AS t";
    let result = service().await.sql(request(query)).await.unwrap();
    assert!(cells(&result)[0].contains("2023-11-14T22:13:20.675872+00:00"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_no_setting_allows_is_refused_without_one() {
    let error = refused(&service().await, "SELECT repeat('x', 100000000)").await;
    assert!(error.contains("one string can have at most 16 MiB"), "{error}");
    assert!(!error.contains("max_mem_usage_mb"), "{error}");
}
