//! Buckets with events that cannot be encoded.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use bucket::FieldExtractor;
use model::{EventBatchBuilder, EventTime, IndexedField, IndexerId, Lane, Origin};

use super::*;

/// Rules that panic over an event that says so.
#[derive(Debug)]
struct Deadly;

impl FieldSource for Deadly {
    fn extractor(&self, _: &str, _: &str, _: &str) -> Arc<dyn FieldExtractor> {
        Arc::new(Self)
    }
}

impl FieldExtractor for Deadly {
    fn fingerprint(&self) -> u64 {
        1
    }

    fn extract(&self, raw: &str, _: &mut dyn FnMut(&str, &str)) -> bool {
        assert!(!raw.contains("poison"), "the event is poison");
        true
    }
}

#[test]
fn an_event_that_panics_is_set_aside_and_the_others_are_encoded() {
    let directory = tempfile::tempdir().unwrap();
    let sifter = sifter(directory.path(), 1 << 20);
    let mut texts: Vec<String> = (0..300).map(|number| format!("event {number}")).collect();
    texts[17] = "poison one".to_owned();
    texts[299] = "poison two".to_owned();
    let batches = [columns(&texts[..100], 1_000), columns(&texts[100..], 2_000)];
    let index = IndexName::new("main").unwrap();
    let id = BucketId(uuid::Uuid::now_v7());
    let failed = sifter.attempt(id, &index, &batches).unwrap_err();
    let written = sifter.salvage(id, &index, batches.to_vec(), failed).unwrap().unwrap();
    assert_eq!(written.summary.rows, 298);
    let aside = |time: i64| {
        std::fs::read_to_string(directory.path().join(format!("rejected/main/{time}.txt"))).unwrap()
    };
    assert_eq!((&*aside(1_017), &*aside(2_199)), ("poison one", "poison two"));
    assert_eq!(sifter.aside.watch().borrow().events, 2);
}

#[test]
fn a_bucket_of_nothing_else_leaves_no_bucket() {
    let directory = tempfile::tempdir().unwrap();
    let sifter = sifter(directory.path(), 1 << 20);
    let batches = vec![columns(&["poison".to_owned()], 1)];
    let (index, id) = (IndexName::new("main").unwrap(), BucketId(uuid::Uuid::now_v7()));
    let failed = sifter.attempt(id, &index, &batches).unwrap_err();
    assert!(sifter.salvage(id, &index, batches, failed).unwrap().is_none());
}

#[test]
fn where_all_events_fail_none_is_set_aside() {
    let directory = tempfile::tempdir().unwrap();
    let sifter = sifter(directory.path(), 1 << 20);
    let texts = vec!["poison".to_owned(); MOST + 1];
    let batches = vec![columns(&texts, 1)];
    let (index, id) = (IndexName::new("main").unwrap(), BucketId(uuid::Uuid::now_v7()));
    let failed = sifter.attempt(id, &index, &batches).unwrap_err();
    let error = sifter.salvage(id, &index, batches, failed).unwrap_err();
    assert!(error.to_string().contains("the event is poison"), "{error}");
    assert_eq!(sifter.aside.watch().borrow().events, 0);
}

#[test]
fn a_record_of_an_earlier_version_loses_only_what_is_too_large() {
    let directory = tempfile::tempdir().unwrap();
    let sifter = sifter(directory.path(), 100);
    let texts = ["small", &"x".repeat(401), &"y".repeat(400)].map(str::to_owned);
    let mut batch = batch(&texts);
    batch.fields.push(IndexedField { row: 1, name: "code".into(), value: "7".into() });
    let kept = sifter.sift(batch, 50);
    assert_eq!((kept.row(0), kept.row(1).len(), kept.rows()), (&b"small"[..], 400, 2));
    let file = directory.path().join("rejected/main/51.json");
    let told = std::fs::read_to_string(file).unwrap();
    assert!(told.contains("maxEventSize") && told.contains("\"bytes\":401"), "{told}");
    assert!(told.contains(r#"{\"code\":\"7\"}"#), "its indexed fields: {told}");
}

#[test]
fn a_bucket_that_processes_died_over_is_tried_and_keeps_what_can_be_encoded() {
    let directory = tempfile::tempdir().unwrap();
    let batches = vec![columns(&["a", "poison", "b"].map(str::to_owned), 50)];
    for _ in 0..2 {
        let sifter = sifter(directory.path(), 1 << 20);
        std::mem::forget(sifter.attempts.begin(&stream(), &span(&batches).unwrap()).unwrap());
    }
    let sifter = sifter(directory.path(), 1 << 20);
    let id = BucketId(uuid::Uuid::now_v7());
    let written = sifter.encode_rows(id, &stream(), batches).unwrap().unwrap();
    assert_eq!(written.summary.rows, 2);
    assert_eq!(sifter.aside.watch().borrow().events, 1);
    assert!(!sifter.attempts.has_suspects(&stream()));
}

#[test]
fn a_trial_that_cannot_be_noted_leaves_the_rows_suspects() {
    let directory = tempfile::tempdir().unwrap();
    let batches = vec![columns(&["a", "b"].map(str::to_owned), 50)];
    let times = span(&batches).unwrap();
    for _ in 0..2 {
        let sifter = sifter(directory.path(), 1 << 20);
        std::mem::forget(sifter.attempts.try_part(&stream(), &(50..=50), Some(7)).unwrap());
    }
    let sifter = sifter(directory.path(), 1 << 20);
    // Files cannot be created any more.
    std::fs::remove_dir_all(directory.path()).unwrap();
    sifter.try_suspects(&stream(), &batches, &times);
    assert_eq!(sifter.attempts.suspects(&stream(), &times), Some(vec![50..=50]));
}

/// The process dies over row 77 of 200, whichever rows are encoded together with it.
#[test]
fn deaths_narrow_down_to_the_row_and_nothing_else() {
    let mut texts: Vec<String> = (0..200).map(|number| format!("event {number}")).collect();
    texts[77] = "deadly".to_owned();
    let life = |marks: &Path| Life::run(marks, &texts, When::Text("deadly"));
    let mut last = life(tempfile::tempdir().unwrap().path());
    let mut deaths = 0;
    while let Some(marks) = last.killed.take() {
        deaths += 1;
        assert!(deaths < 20, "it dies for ever");
        last = life(marks.path());
    }
    assert_eq!(deaths, 6, "two in ordinary work, then over 4 rows, and three over 1");
    assert_eq!((last.rows, &*last.aside), (199, &["deadly".to_owned()][..]));
}

#[test]
fn rows_that_are_set_aside_leave_no_suspects() {
    let directory = tempfile::tempdir().unwrap();
    let texts = ["deadly", "a"].map(str::to_owned);
    for _ in 0..ROW_DEATHS {
        let sifter = sifter(directory.path(), 1 << 20);
        let text = Some(crc32fast::hash(b"deadly"));
        std::mem::forget(sifter.attempts.begin(&stream(), &(50..=51)).unwrap());
        std::mem::forget(sifter.attempts.try_part(&stream(), &(50..=50), text).unwrap());
    }
    for count in [1, 2] {
        let marks = tempfile::tempdir().unwrap();
        std::fs::create_dir(marks.path().join("encoding")).unwrap();
        copy_files(&directory.path().join("encoding"), &marks.path().join("encoding"));
        let sifter = sifter(marks.path(), 1 << 20);
        let id = BucketId(uuid::Uuid::now_v7());
        // In the first round, there is no other row.
        let batches = vec![columns(&texts[..count], 50)];
        let written = sifter.encode_rows(id, &stream(), batches).unwrap();
        assert_eq!(written.map(|written| written.summary.rows), (count == 2).then_some(1));
        assert_eq!(sifter.attempts.suspects(&stream(), &(50..=50)), None, "{count} rows");
    }
}

/// Kills that hit the same few rows again: no row is set aside before the third death over it alone.
#[test]
fn whenever_processes_are_killed_every_event_that_can_be_encoded_is_kept() {
    let texts: Vec<String> = (0..4).map(|number| format!("event {number}")).collect();
    let suspects = tempfile::tempdir().unwrap();
    let batches = [columns(&texts, 1_000)];
    for _ in 0..2 {
        let attempts = Attempts::open(suspects.path()).unwrap();
        std::mem::forget(attempts.begin(&stream(), &span(&batches).unwrap()).unwrap());
    }
    let mut kills = 0;
    let mut starts = vec![(copy(suspects.path()), 0)];
    while let Some((marks, before)) = starts.pop() {
        for moment in 0.. {
            let life = Life::run(copy(marks.path()).path(), &texts, When::Row(moment));
            assert_eq!((life.rows, life.aside.len()), (4, 0), "after {before} kills");
            let Some(left) = life.killed else { break };
            kills += 1;
            if before < 1 {
                starts.push((left, before + 1));
            } else {
                // Two deaths over the same row are no proof.
                let next = Life::run(left.path(), &texts, When::Never);
                assert_eq!((next.rows, next.aside.len()), (4, 0), "after a kill at row {moment}");
            }
        }
    }
    // The fields of each row are extracted in its trial, and when the bucket is encoded.
    assert!(kills > 40, "{kills}");
}

/// When a process is killed.
#[derive(Debug, Clone, Copy)]
enum When {
    Never,
    /// When the fields of a row are extracted, counted from the beginning.
    Row(usize),
    /// When the fields of this text are extracted.
    Text(&'static str),
}

/// Rules that copy the marks at the moment of a kill: these are what the killed process leaves.
#[derive(Debug)]
struct Killing {
    when: When,
    marks: PathBuf,
    left: PathBuf,
    rows: AtomicUsize,
}

#[derive(Debug)]
struct Moment(Arc<Killing>);

impl FieldSource for Moment {
    fn extractor(&self, _: &str, _: &str, _: &str) -> Arc<dyn FieldExtractor> {
        Arc::new(Self(Arc::clone(&self.0)))
    }
}

impl FieldExtractor for Moment {
    fn fingerprint(&self) -> u64 {
        1
    }

    fn extract(&self, raw: &str, _: &mut dyn FnMut(&str, &str)) -> bool {
        let Killing { when, marks, left, rows } = &*self.0;
        let row = rows.fetch_add(1, Ordering::SeqCst);
        let is_now = match when {
            When::Never => false,
            When::Row(number) => row == *number,
            When::Text(text) => raw == *text,
        };
        if is_now && !left.join("findings.json").exists() {
            copy_files(marks, left);
        }
        true
    }
}

/// A process that encodes the rows.
struct Life {
    rows: u64,
    /// Texts that were set aside.
    aside: Vec<String>,
    /// The marks at the moment of the kill, if it came.
    killed: Option<tempfile::TempDir>,
}

impl Life {
    fn run(marks: &Path, texts: &[String], when: When) -> Self {
        let (rejected, left) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let killing = Killing {
            when,
            marks: marks.to_owned(),
            left: left.path().to_owned(),
            rows: AtomicUsize::new(0),
        };
        let sifter = Sifter {
            fields: Arc::new(Moment(Arc::new(killing))),
            options: WriteOptions::default(),
            max_event_size: 1 << 20,
            aside: Arc::new(Aside::open(rejected.path(), 1 << 30)),
            attempts: Attempts::open(marks).unwrap(),
        };
        let id = BucketId(uuid::Uuid::now_v7());
        let written = sifter.encode_rows(id, &stream(), vec![columns(texts, 1_000)]).unwrap();
        let files = std::fs::read_dir(rejected.path().join("main")).into_iter().flatten();
        let files = files.map(|file| file.unwrap().path());
        let files = files.filter(|path| path.extension().is_some_and(|known| known == "txt"));
        Self {
            rows: written.map_or(0, |written| written.summary.rows),
            aside: files.map(|path| std::fs::read_to_string(path).unwrap()).collect(),
            killed: left.path().join("findings.json").exists().then_some(left),
        }
    }
}

fn copy(marks: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    copy_files(marks, copy.path());
    copy
}

fn copy_files(from: &Path, to: &Path) {
    for file in std::fs::read_dir(from).unwrap() {
        let path = file.unwrap().path();
        std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

fn sifter(directory: &Path, max_event_size: usize) -> Sifter {
    Sifter {
        fields: Arc::new(Deadly),
        options: WriteOptions::default(),
        max_event_size,
        aside: Arc::new(Aside::open(&directory.join("rejected"), 1 << 30)),
        attempts: Attempts::open(&directory.join("encoding")).unwrap(),
    }
}

fn columns(texts: &[String], first_index_time: i64) -> RecordBatch {
    Rows::new(batch(texts), first_index_time).columns(&bucket::hot_schema()).unwrap()
}

fn batch(texts: &[String]) -> EventBatch {
    let index = IndexName::new("main").unwrap();
    let origin = Arc::new(Origin {
        index: index.clone(),
        host: "h".into(),
        source: "s".into(),
        sourcetype: "t".into(),
    });
    let mut builder = EventBatchBuilder::new(index, 0);
    for text in texts {
        builder.push(&origin, EventTime(1), text);
    }
    builder.finish()
}

fn stream() -> StreamId {
    let (indexer, index) = (IndexerId(uuid::Uuid::nil()), IndexName::new("main").unwrap());
    StreamId { indexer, set: 0, index, lane: Lane::FIRST }
}
