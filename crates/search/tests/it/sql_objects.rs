//! Columns of SQL that knowledge objects compute: the values are those of searches.

use std::sync::Arc;

use access::Rights;
use bucket::WriteOptions;
use catalog::Commit;
use conf::{Layer, Layers};
use karst_search::{JobRequest, SearchService, Settings, SqlRequest, SqlResult};
use karst_spectest::SpecEvent;
use knowledge::Knowledge;
use model::{ErrorKind, IndexName};
use object_store::ObjectStore;
use object_store::memory::InMemory;

use crate::sql::request;
use crate::support::{Uncounted, done, hot, log_event, open, put, service, service_with};

/// With more matches, the fields of the lookup would be lists.
const OWNERS: &str = "[owners]\nfilename = owners.csv\nmax_matches = 1\n";
const PROPS: &str = "\
    [log]\nFIELDALIAS-a = user AS account\nEVAL-level = if(ms<500, \"low\", \"high\")\n\
    EVAL-twice = n*2\nLOOKUP-o = owners user OUTPUT owner\n[other]\nEVAL-level = \"other\"\n";
const EVENT_TYPES: &str = "[early]\nsearch = alpha\n[slow]\nsearch = level=high\n";
const TAGS: &str = "[host=host1]\nedge = enabled\n[eventtype=slow]\nsluggish = enabled\n";

/// A service over a bucket and hot rows, whose configuration has these calculated fields, and a lookup.
async fn with(props: &str) -> SearchService {
    let layers = Layers::builtin()
        .with(Layer::SystemLocal, "props", props)
        .with(Layer::SystemLocal, "transforms", OWNERS)
        .with(Layer::SystemLocal, "eventtypes", EVENT_TYPES)
        .with(Layer::SystemLocal, "tags", TAGS)
        .with(Layer::AppDefault("sales".to_owned()), "props", "[log]\nEVAL-region = \"north\"\n")
        .with_metadata("sales", "[]\nexport = none\n");
    let knowledge = Arc::new(Knowledge::new(layers));
    let mut events: Vec<SpecEvent> = (0..40).map(log_event).collect();
    events.push(SpecEvent { sourcetype: "other".to_owned(), ..log_event(40) });
    let raw = "n=41 level=low words".to_owned();
    events.push(SpecEvent { sourcetype: "plain".to_owned(), raw, ..log_event(41) });
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let options = WriteOptions { granule_rows: 64, row_group_rows: 640, ..WriteOptions::default() };
    let entry = put(&store, &events[..20], &knowledge, &options).await;
    let catalog = open(&store).await;
    catalog.commit(Commit { add: vec![entry], ..Commit::default() }).await.unwrap();
    let names = vec![IndexName::new("main").unwrap()];
    let service = service(catalog, vec![hot(&events[20..])], store, &knowledge, names);
    let rows = "| makeresults count=2 | streamstats count AS c \
                | eval user=if(c=1, \"u0\", \"u7\"), owner=if(c=1, \"ann\", \"bob\") \
                | table user owner | outputlookup owners.csv";
    done(&service, rows).await;
    service
}

async fn sql(service: &SearchService, query: &str) -> SqlResult {
    service.sql(request(query)).await.unwrap_or_else(|error| panic!("{query}: {error}"))
}

fn names(result: &SqlResult) -> Vec<&str> {
    result.schema.fields().iter().map(|field| field.name().as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn both_languages_see_the_same_values() {
    let service = with(PROPS).await;
    for (spl, query) in [
        (
            "stats count BY level | sort level",
            "SELECT level, count(*) FROM main GROUP BY level ORDER BY level",
        ),
        ("search level=low | stats count", "SELECT count(*) FROM main WHERE level = 'low'"),
        (
            "search level IN (high, other) | stats count",
            "SELECT count(*) FROM main WHERE level IN ('high', 'other')",
        ),
        ("search NOT level=low | stats count", "SELECT count(*) FROM main WHERE NOT level = 'low'"),
        (
            "search level=low ms>100 | stats count",
            "SELECT count(*) FROM main WHERE level = 'low' AND ms > 100",
        ),
        (
            "search level=low | stats count",
            "SELECT count(*) FROM main a JOIN main b USING (n) WHERE a.level = 'low'",
        ),
        (
            "search level=low | stats count",
            "SELECT count(*) FILTER (WHERE level = 'low') FROM main",
        ),
        ("search account=u7 | table n", "SELECT n FROM main WHERE account = 'u7'"),
        (
            "search owner=* | sort owner | table owner n",
            "SELECT owner, n FROM main WHERE owner IS NOT NULL ORDER BY owner",
        ),
        ("search owner=bob | table n", "SELECT n FROM main WHERE owner = 'bob'"),
        ("stats sum(twice)", "SELECT CAST(sum(TRY_CAST(twice AS DOUBLE)) AS BIGINT) FROM main"),
        (
            "stats count BY eventtype | sort eventtype",
            "SELECT e, count(*) FROM (SELECT unnest(eventtype) AS e FROM main) GROUP BY 1 ORDER BY 1",
        ),
        (
            "stats count BY tag | sort tag",
            "SELECT t, count(*) FROM (SELECT unnest(tag) AS t FROM main) GROUP BY t ORDER BY t",
        ),
        ("stats count BY date_year", "SELECT date_year, count(*) FROM main GROUP BY date_year"),
    ] {
        let job = done(&service, &format!("search index=main | {spl}")).await;
        let expected = format!("{:?}", job.page(0, 100).rows);
        assert!(expected.contains("One("), "{spl} proves nothing");
        assert_eq!(format!("{:?}", sql(&service, query).await.page().rows), expected, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_are_added_for_queries_that_name_them() {
    let service = with(PROPS).await;
    let all = sql(&service, "SELECT * FROM main").await;
    let more = sql(&service, "SELECT * FROM main WHERE level = 'low'").await;
    assert!(!names(&all).contains(&"twice") && !names(&all).contains(&"owner"), "{all:?}");
    assert!(!names(&more).contains(&"owner"), "{more:?}");
    // The plain event has the field in its text, so the column is there in any case.
    assert_eq!(names(&more), names(&all));
    let twice = sql(&service, "SELECT *, twice AS t FROM main LIMIT 1").await;
    assert_eq!(names(&twice)[..names(&all).len()], names(&all)[..]);
    assert_eq!(names(&twice)[names(&all).len()..], ["twice", "t"]);
    let described = sql(&service, "DESCRIBE main").await;
    assert_eq!(described.rows(), names(&all).len());
    // Names of results are not columns where a result can be meant.
    let given = "SELECT upper(host) AS twice, count(*) FROM main GROUP BY twice";
    assert_eq!(sql(&service, given).await.rows(), 3);
    assert!(service.sql(request("SELECT nosuch FROM main")).await.is_err());
    // A range without events has the same columns.
    let earliest = Some("2030-01-01T00:00:00".to_owned());
    let none = SqlRequest { earliest, ..request("SELECT twice FROM main") };
    assert_eq!(service.sql(none).await.unwrap().rows(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_results_hide_no_query_that_groups_by_them() {
    let service = with(PROPS).await;
    for (query, rows) in [
        (
            "WITH t AS (SELECT date_trunc('year', _time) AS date_hour, count(*) AS n FROM main \
             GROUP BY date_hour) SELECT date_hour, n FROM t",
            1,
        ),
        (
            "SELECT date_trunc('year', _time) AS date_mday, count(*) AS n FROM main \
             GROUP BY date_mday HAVING date_mday > '2001-01-01'",
            1,
        ),
        (
            "SELECT twice, n FROM (SELECT CASE WHEN host = 'host0' THEN 'a' ELSE 'b' END AS twice, \
             count(*) AS n FROM main GROUP BY twice) q",
            2,
        ),
        ("SELECT date_trunc('year', _time) date_hour, count(*) FROM main GROUP BY date_hour", 1),
        (
            "WITH t AS (SELECT *, upper(host) AS twice FROM main) \
             SELECT twice, count(*) FROM t GROUP BY twice",
            3,
        ),
        (
            "WITH d AS (SELECT host, count(*) AS linecount FROM main GROUP BY host) \
             SELECT m.host, max(linecount) FROM main m JOIN d USING (host) GROUP BY m.host",
            3,
        ),
    ] {
        assert_eq!(sql(&service, query).await.rows(), rows, "{query}");
    }
    // Windows and other parts of a UNION do not see these names.
    let search = "search index=main | stats count BY level | stats max(count)";
    let expected = format!("{:?}", done(&service, search).await.page(0, 1).rows);
    for query in [
        "SELECT max(n) FROM (SELECT upper(host) AS level, \
         row_number() OVER (PARTITION BY level ORDER BY _time) AS n FROM main)",
        "SELECT max(n) FROM (SELECT 'all' AS level, 1 AS n FROM main UNION ALL \
         SELECT 'x', count(*) FROM main GROUP BY level)",
    ] {
        assert_eq!(format!("{:?}", sql(&service, query).await.page().rows), expected, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_that_a_query_does_not_name_keep_their_values() {
    let both = "OUTPUT owner, owner AS n";
    let service = with(&PROPS.replace("OUTPUT owner", both)).await;
    let named = sql(&service, "SELECT n FROM main WHERE owner = 'bob' AND n = 'bob'").await;
    assert!(named.rows() > 0);
    let all = sql(&service, "SELECT * FROM main WHERE owner = 'bob'").await;
    let place = names(&all).iter().position(|name| *name == "n").unwrap();
    let page = all.page();
    assert_eq!(page.rows.len(), named.rows());
    for row in &page.rows {
        let number = row[place].clone().unwrap().joined();
        assert!(number.parse::<u32>().is_ok(), "{number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_name_similar_fields_and_no_other_cause() {
    let service = with(&PROPS.replace("\"other\"", "if(")).await;
    let told = async |query: &str| match service.sql(request(query)).await {
        Err(error) => error.to_string(),
        Ok(result) => panic!("{query} gave {} rows", result.rows()),
    };
    let similar = told("SELECT level, usr FROM main").await;
    assert!(similar.contains("similar: ") && similar.contains("user"), "{similar}");
    let function = told("SELECT nosuchfunction(level) FROM main").await;
    assert!(!function.contains("left out"), "{function}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_calculated_field_that_is_too_deep_makes_the_query_invalid() {
    let props = format!("[log]\nEVAL-deep = n{}\n", "+1".repeat(200));
    let layers = Layers::builtin().with(Layer::SystemLocal, "props", &props);
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let catalog = open(&store).await;
    let mut settings = Settings::default();
    settings.plan.plan_depth = 60;
    let (hot, objects) = (vec![hot(&[log_event(0)])], Arc::new(Uncounted(store)));
    let names = vec![IndexName::new("main").unwrap()];
    let knowledge = Arc::new(Knowledge::new(layers));
    let service = service_with(catalog, hot, objects, &knowledge, names, settings);
    let error = service.sql(request("SELECT deep FROM main")).await.map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("(60): shorten the query"), "{error}");
    // The same query fails again: not Exhausted, for which clients try again.
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_those_of_the_app() {
    let service = with(PROPS).await;
    let typo = SqlRequest { app: "sale".to_owned(), ..request("SELECT 1") };
    let error = service.sql(typo).await.map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("there is no app \"sale\""), "{error}");
    let query = "SELECT region, count(*) FROM main WHERE region IS NOT NULL GROUP BY region";
    let error = service.sql(request(query)).await.map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("there is no column \"region\""), "{error}");
    let in_app = SqlRequest { app: "sales".to_owned(), ..request(query) };
    let found = service.sql(in_app).await.unwrap().page().rows;
    assert_eq!(format!("{found:?}"), "[[Some(One(\"north\")), Some(One(\"40\"))]]");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_filter_applies_below_computed_columns() {
    // The calculated host of all events is the one that the filter admits.
    let service = with(&format!("{PROPS}[host::*]\nEVAL-host = \"host0\"\n")).await;
    let reach = serde_json::json!({
        "user": "ann", "indexes": ["main"], "scope": null, "filter": "host=host0",
    });
    let rights = Arc::new(Rights::of_reach(&serde_json::from_value(reach).unwrap()));
    let search = JobRequest::of("search index=main | stats count BY host", &rights);
    let job = service.dispatch(search).await.unwrap();
    job.finished().await.unwrap();
    let query = "SELECT host, count(*) FROM main WHERE host = 'host0' GROUP BY host";
    let request = SqlRequest { rights, ..request(query) };
    let found = service.sql(request).await.unwrap().page().rows;
    assert_eq!(format!("{found:?}"), format!("{:?}", job.page(0, 10).rows));
    assert_eq!(format!("{found:?}"), "[[Some(One(\"host0\")), Some(One(\"14\"))]]");
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_in_objects_are_told() {
    let service = with(&PROPS.replace("\"other\"", "if(")).await;
    let result = sql(&service, "SELECT level, count(*) FROM main GROUP BY level").await;
    let told: Vec<&str> = result.messages.iter().map(|message| message.text.as_str()).collect();
    assert!(told.iter().any(|text| text.contains("EVAL-level was left out")), "{told:?}");
    let fine = sql(&service, "SELECT count(*) FROM main").await;
    assert!(fine.messages.is_empty(), "{:?}", fine.messages);
    // Without any value, the column does not exist, and the error says why.
    let service = with("[log]\nEVAL-lost = if(\n").await;
    for (query, column, is_reason) in [
        ("SELECT lost FROM main", "there is no column \"lost\"", true),
        ("SELECT los, lost FROM main", "there is no column \"los\"", false),
    ] {
        let error = service.sql(request(query)).await.map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(column) && error.contains("EVAL-lost was left out"), "{error}");
        assert_eq!(error.contains("; also, "), !is_reason, "{error}");
    }
}
