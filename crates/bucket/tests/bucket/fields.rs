//! Which fields become columns, and what the columns hold.

use std::sync::Arc;

use bucket::{FieldExtractor, FieldSource, GranuleSet, TermQuery, WriteOptions};
use model::{ColumnKind, FieldSummary};

use crate::support::{Event, Pairs, event, lines, open, rows, small, texts, written};

fn field(name: &str, count: u64, column: Option<ColumnKind>) -> FieldSummary {
    let multivalue = column == Some(ColumnKind::Multivalue);
    FieldSummary { name: name.into(), count, column, indexed: false, multivalue, distinct: None }
}

#[tokio::test]
async fn frequent_fields_become_typed_columns() {
    let bucket = written(
        &lines(["n=1 t=x m=1 m=2", "n=-20 t=007", "noise", "n=9 t= m=a-rather-long-value"]),
        &Pairs,
        &small(),
    );
    let expected = [
        field("m", 2, Some(ColumnKind::Multivalue)),
        field("n", 3, Some(ColumnKind::Integer)),
        FieldSummary { distinct: Some(3), ..field("t", 3, Some(ColumnKind::Text)) },
    ];
    assert_eq!(bucket.summary.fields, expected);
    assert!(bucket.summary.fields_complete);
    assert_eq!(bucket.summary.rules, [("app".to_owned(), 42)]);
    let reader = open(&bucket).await;
    let found = rows(&reader, &["t", "m", "n"], &GranuleSet::all(1)).await;
    let column =
        |at| texts(&found, at).into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>();
    assert_eq!(column(0), ["x", "007", "", ""]);
    assert_eq!(texts(&found, 0)[2..], [None, Some(String::new())]);
    assert_eq!(column(1), ["1|2", "", "", "a-rather-long-value"]);
    assert_eq!(column(2), ["1", "-20", "", "9"]);
}

#[tokio::test]
async fn columns_line_up_with_rows_over_granules_and_row_groups() {
    let text = |at: usize| match at % 3 {
        0 => format!("id={at} name=user-number-{at}"),
        1 => format!("list={at} list=second-value-of-{at}"),
        _ => "nothing".to_owned(),
    };
    let bucket = written(&lines((0..1000).map(text)), &Pairs, &small());
    let reader = open(&bucket).await;
    let mut some = GranuleSet::none(reader.granules());
    [1, 2, 5, 15].iter().for_each(|granule| some.insert(*granule));
    let found = rows(&reader, &["id", "name", "list"], &some).await;
    let numbers = some.iter().flat_map(|granule| granule * 64..(granule * 64 + 64).min(1000));
    for (at, number) in numbers.enumerate() {
        let value = |column| texts(&found, column)[at].clone();
        let only = |class: usize, text: String| (number % 3 == class).then_some(text);
        assert_eq!(value(0), only(0, number.to_string()));
        assert_eq!(value(1), only(0, format!("user-number-{number}")));
        assert_eq!(value(2), only(1, format!("{number}|second-value-of-{number}")));
    }
}

#[tokio::test]
async fn fields_without_columns_are_in_the_texts_of_their_source_types_only() {
    let mut events = lines(vec!["a=1"; 3000]);
    events[0].raw = "a=1 rare=1".into();
    events[1].sourcetype = "other".into();
    events[2].fields = Some(r#"{"sent":"1","both":"1"}"#.into());
    events[3].raw = "a=1 both=1".into();
    let bucket = written(&events, &Pairs, &small());
    let reader = open(&bucket).await;
    let may_be = |field: &str, sourcetype: &str| reader.may_be_in_texts(field, sourcetype);
    assert!(may_be("rare", "app") && !may_be("rare", "other"));
    assert!(may_be("both", "app") && !may_be("both", "other"));
    assert!(!may_be("sent", "app") && !may_be("sent", "other"));
    assert!(may_be("a", "other"), "it has a column: nothing is noted");
    assert!(may_be("rare", "unknown") && may_be("unknown", "app"));
    assert!(reader.is_in_no_text("sent"));
    assert!(!reader.is_in_no_text("both") && !reader.is_in_no_text("rare"));
}

#[tokio::test]
async fn a_field_that_is_sent_after_the_catalogue_was_full_may_be_in_all_texts() {
    let options = WriteOptions { max_fields: 2, ..small() };
    let mut events = lines(["a=1 b=1", "c=1", "noise"]);
    events[0].fields = Some(r#"{"sent":"1"}"#.into());
    events[2].fields = Some(r#"{"c":"2"}"#.into());
    let bucket = written(&events, &Pairs, &options);
    assert!(!bucket.summary.fields_complete);
    let reader = open(&bucket).await;
    assert!(reader.may_be_in_texts("c", "app") && !reader.is_in_no_text("c"));
    assert!(reader.is_in_no_text("sent"), "nothing was dropped before it");
}

#[tokio::test]
async fn fields_may_be_in_all_texts_if_a_limit_cut_off_fields_of_one() {
    let mut events = lines(vec!["a=1"; 3000]);
    events[0].raw = "a=1 rare=1".into();
    events[1].sourcetype = "other".into();
    let reader = open(&written(&events, &Pairs, &small())).await;
    assert!(!reader.may_be_in_texts("rare", "other"));
    events[1].raw = "a=1 cut".into();
    let bucket = written(&events, &Pairs, &small());
    assert!(!bucket.summary.fields_complete);
    assert!(open(&bucket).await.may_be_in_texts("rare", "other"));
}

#[tokio::test]
async fn a_field_of_many_source_types_may_be_in_the_texts_of_all() {
    let mut events = lines(vec!["noise"; 100_000]);
    for (at, event) in events.iter_mut().take(17).enumerate() {
        (event.raw, event.sourcetype) = ("f=1".into(), format!("type{at}"));
    }
    let reader = open(&written(&events, &Pairs, &small())).await;
    assert!(reader.may_be_in_texts("f", "type0") && reader.may_be_in_texts("f", "app"));
    events[16].raw = "noise".into();
    let reader = open(&written(&events, &Pairs, &small())).await;
    assert!(reader.may_be_in_texts("f", "type0") && !reader.may_be_in_texts("f", "app"));
}

#[test]
fn rare_fields_and_fixed_names_stay_in_the_catalogue_only() {
    let mut raw = vec!["a=1 host=x _raw=y".to_owned(); 3000];
    raw[7] = "a=1 rare=1".to_owned();
    let bucket = written(&lines(raw), &Pairs, &small());
    let expected = [
        field("_raw", 2999, None),
        field("a", 3000, Some(ColumnKind::Integer)),
        field("host", 2999, None),
        field("rare", 1, None),
    ];
    assert_eq!(bucket.summary.fields, expected);
}

#[test]
fn the_most_frequent_fields_win_the_columns() {
    let options = WriteOptions { max_columns: 1, ..small() };
    let bucket = written(&lines(["a=1 b=1", "b=1", "b=1 c=1"]), &Pairs, &options);
    let columns: Vec<_> = bucket.summary.fields.iter().map(|field| field.column).collect();
    assert_eq!(columns, [None, Some(ColumnKind::Integer), None]);
}

#[test]
fn a_million_names_fill_the_catalogue_to_its_limit_and_say_so() {
    let raw = |at: usize| (0..1000).map(|k| format!("f{}=1 ", at * 1000 + k)).collect::<String>();
    let bucket = written(&lines((0..1000).map(raw)), &Pairs, &small());
    assert_eq!(bucket.summary.fields.len(), 10_000);
    assert!(!bucket.summary.fields_complete);
}

fn with_fields(raw: &str, at: i64, json: &str) -> Event {
    Event { fields: Some(json.into()), ..event(at, at, raw) }
}

#[tokio::test]
async fn indexed_fields_are_columns_whatever_their_number() {
    let events = [
        with_fields("a", 0, r#"{"region":"eu-west","n":["1","2"],"host":"other"}"#),
        event(1, 1, "region=text"),
        with_fields("region=text", 2, r#"{"region":"us \"east\" \u00e4"}"#),
    ];
    let options = WriteOptions { max_columns: 0, max_fields: 0, ..small() };
    for options in [small(), options] {
        let bucket = written(&events, &Pairs, &options);
        let reader = open(&bucket).await;
        let found = rows(&reader, &["_fields.host", "n", "region"], &GranuleSet::all(1)).await;
        assert_eq!(texts(&found, 0), [Some("other".into()), None, None]);
        assert_eq!(texts(&found, 1), [Some("1|2".into()), None, None]);
        let expected = [Some("eu-west".into()), None, Some("us \"east\" ä".into())];
        assert_eq!(texts(&found, 2), expected);
        let region = reader.summary().field("region").unwrap();
        assert!(region.indexed);
        assert_eq!(region.count, 3);
        for word in ["west", "EAST", "Ä", "other"] {
            let granules = reader.candidates(&TermQuery::for_text(word)).await.unwrap();
            assert_eq!(granules.len(), 1, "{word}");
        }
    }
}

#[test]
fn unreadable_indexed_fields_are_refused() {
    let index = model::IndexName::new("main").unwrap();
    let batch = crate::support::batch(&[with_fields("a", 0, "{\"x\":")]);
    let id = crate::support::id();
    let error = bucket::write_bucket(id, &index, &[batch], &Pairs, &small()).unwrap_err();
    assert!(error.to_string().contains("_fields"), "{error}");
}

/// Values that are parts of segments, or not in the text at all.
struct Odd;

impl FieldSource for Odd {
    fn extractor(&self, _sourcetype: &str, _source: &str, _host: &str) -> Arc<dyn FieldExtractor> {
        Arc::new(Self)
    }
}

impl FieldExtractor for Odd {
    fn fingerprint(&self) -> u64 {
        1
    }

    fn extract(&self, raw: &str, emit: &mut dyn FnMut(&str, &str)) -> bool {
        emit("part", &raw[2..5]);
        emit("made", &format!("computed-{}", raw.len()));
        true
    }
}

#[tokio::test]
async fn words_of_values_are_found_also_where_the_text_does_not_have_them() {
    let reader = open(&written(&lines(["abcdefgh xyz"]), &Odd, &small())).await;
    for (word, raw_too) in [("cde", false), ("computed-12", false), ("abcdefgh", true)] {
        let query = TermQuery::for_text(word);
        assert_eq!(reader.candidates(&query).await.unwrap().len(), 1, "{word}");
        let raw = reader.candidates(&query.in_raw()).await.unwrap();
        assert_eq!(!raw.is_empty(), raw_too, "{word}");
    }
    let found = rows(&reader, &["part", "made"], &GranuleSet::all(1)).await;
    assert_eq!(texts(&found, 0), [Some("cde".into())]);
    assert_eq!(texts(&found, 1), [Some("computed-12".into())]);
}

#[tokio::test]
async fn texts_that_hardly_ever_repeat_are_left_in_raw_unless_asked_for() {
    let events = lines((0..5000).map(|at| format!("id=u{:x} user=u{}", at * 7919, at % 900)));
    for asked in [false, true] {
        let options = WriteOptions { unique_text_columns: asked, ..WriteOptions::default() };
        let bucket = written(&events, &Pairs, &options);
        let kind = asked.then_some(ColumnKind::Text);
        let user = field("user", 5000, Some(ColumnKind::Text));
        let id = FieldSummary { distinct: asked.then_some(5000), ..field("id", 5000, kind) };
        let expected = [id, FieldSummary { distinct: Some(900), ..user }];
        assert_eq!(bucket.summary.fields, expected);
        let reader = open(&bucket).await;
        assert_eq!(reader.schema().index_of("id").is_ok(), asked);
        let query = TermQuery::for_text(&format!("id=u{:x}", 4000 * 7919));
        let found: Vec<usize> = reader.candidates(&query).await.unwrap().iter().collect();
        assert_eq!(found, [4000 / 1024]);
    }
}
