//! Buckets are read back as hot rows and written again.

use arrow::array::RecordBatch;
use bucket::{BucketReader, GranuleSet, Written, hot_schema, write_bucket};
use futures::TryStreamExt;
use model::IndexName;

use crate::support::{Event, Pairs, event, id, open, rows, small, texts, written};

fn events(count: usize) -> Vec<Event> {
    let fields = [
        None,
        Some(r#"{"region":"eu-west","n":7}"#),
        Some(r#"{"tag":["a","b\"\n"],"host":"sent \u00e9","region":"us"}"#),
        Some(r#"{"only_here":true,"_fields":"x","tag":"c"}"#),
    ];
    let one = |at: usize| Event {
        host: format!("h{}", at % 3),
        fields: fields[at * 7 % 11 % 4].map(str::to_owned),
        ..event((at as i64 * 37) % 500, at as i64, &format!("level=info seq={at} Grüße a=1 a=2"))
    };
    (0..count).map(one).collect()
}

async fn hot_rows(reader: &BucketReader) -> Vec<RecordBatch> {
    reader.read_rows(100).await.unwrap().try_collect().await.unwrap()
}

fn rewritten(batches: &[RecordBatch]) -> Written {
    write_bucket(id(), &IndexName::new("main").unwrap(), batches, &Pairs, &small()).unwrap()
}

/// Every column of every row as text.
async fn all_texts(written: &Written) -> Vec<Vec<Option<String>>> {
    let reader = open(written).await;
    let names: Vec<&str> =
        reader.schema().fields().iter().map(|field| field.name().as_str()).collect();
    let found = rows(&reader, &names, &GranuleSet::all(reader.granules())).await;
    (0..names.len()).map(|column| texts(&found, column)).collect()
}

#[tokio::test]
async fn a_bucket_written_from_its_own_rows_is_the_same_bucket() {
    let first = written(&events(700), &Pairs, &small());
    let batches = hot_rows(&open(&first).await).await;
    assert!(batches.iter().all(|batch| batch.schema() == hot_schema()));
    let second = rewritten(&batches);
    assert_eq!(first.summary, second.summary);
    assert_eq!(all_texts(&first).await, all_texts(&second).await);
    assert_eq!(first.bytes, second.bytes);
}

#[tokio::test]
async fn buckets_become_one_with_the_events_of_all() {
    let events = events(700);
    let whole = written(&events, &Pairs, &small());
    let mut batches = Vec::new();
    for part in [&events[..100], &events[100..101], &events[101..]] {
        let part = written(part, &Pairs, &small());
        batches.extend(hot_rows(&open(&part).await).await);
    }
    let joined = rewritten(&batches);
    assert_eq!(whole.summary, joined.summary);
    assert_eq!(all_texts(&whole).await, all_texts(&joined).await);
}

#[tokio::test]
async fn rows_without_indexed_fields_have_null() {
    let plain = written(&[event(1, 1, "x=1")], &Pairs, &small());
    let batches = hot_rows(&open(&plain).await).await;
    assert_eq!(batches[0].column(6).null_count(), 1);
}
