//! Accepted entries are read back once and in order, whatever happens to the queue.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use proptest::prelude::*;
use protocol::Compression;

use super::*;

const WAIT: Duration = Duration::from_secs(30);

fn settings(directory: &Path) -> Settings {
    Settings {
        directory: directory.to_owned(),
        max_size: 1 << 20,
        segment_size: 1000,
        memory: 100_000,
        drop_after: None,
        name: "test".into(),
    }
}

fn entry(text: &str) -> Entry {
    Entry {
        compression: Compression::None,
        plain_len: text.len() as u64,
        content: Bytes::copy_from_slice(text.as_bytes()),
        note: crate::notes::keep("route", 7, format!("note of {text}").as_bytes()),
    }
}

/// Adds texts to the queue, waiting each time until the text is on disk.
async fn fill(queue: &DiskQueue, texts: &[String]) {
    for text in texts {
        let (done, taken) = tokio::sync::oneshot::channel();
        queue.push(entry(text), WAIT, move |taken| done.send(taken).unwrap()).await.unwrap();
        assert!(taken.await.unwrap());
    }
}

fn texts(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| format!("{number} {}", "x".repeat(number % 7 * 50))).collect()
}

fn read_all(queue: &DiskQueue) -> BTreeMap<u64, String> {
    let mut cursor = queue.cursor(queue.first());
    let mut found = BTreeMap::new();
    while let Found::Record(place) = cursor.advance() {
        let text = String::from_utf8(place.read().unwrap().to_vec()).unwrap();
        assert!(found.insert(place.header.sequence, text).is_none());
    }
    found
}

fn numbered(texts: &[String], from: u64) -> BTreeMap<u64, String> {
    (from..).zip(texts.iter().cloned()).collect()
}

#[tokio::test]
async fn what_was_taken_is_there_after_a_restart_and_numbers_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let all = texts(0..40);
    let queue = DiskQueue::open(settings(folder.path())).unwrap();
    fill(&queue, &all[..25]).await;
    assert_eq!(read_all(&queue), numbered(&all[..25], 0));
    let channel = queue.channel();
    drop(queue);
    let queue = DiskQueue::open(settings(folder.path())).unwrap();
    assert_eq!(queue.channel(), channel);
    assert!(queue.status().segments > 3);
    let last = entry(&all[24]).note;
    assert_eq!(queue.notes(), [last]);
    fill(&queue, &all[25..]).await;
    assert_eq!(read_all(&queue), numbered(&all, 0));
}

#[tokio::test]
async fn a_cursor_follows_the_queue_as_it_grows() {
    let folder = tempfile::tempdir().unwrap();
    let queue = DiskQueue::open(settings(folder.path())).unwrap();
    let mut cursor = queue.cursor(0);
    for (number, text) in texts(0..30).iter().enumerate() {
        assert!(matches!(cursor.advance(), Found::End));
        fill(&queue, std::slice::from_ref(text)).await;
        let Found::Record(place) = cursor.advance() else { panic!("a record") };
        assert_eq!(
            (place.header.sequence, place.read().unwrap()),
            (number as u64, text.clone().into())
        );
    }
}

#[tokio::test]
async fn released_segments_go_but_the_last_one_keeps_the_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let small = Settings { max_size: 4000, ..settings(folder.path()) };
    let queue = DiskQueue::open(small.clone()).unwrap();
    let all = texts(0..10);
    fill(&queue, &all).await;
    assert!(queue.status().bytes >= 2000, "half full, so that nothing is kept for its notes");
    queue.release(10);
    assert!(queue.status().bytes < 2000);
    drop(queue);
    let queue = DiskQueue::open(small).unwrap();
    assert_eq!(queue.status().next, 10);
    fill(&queue, &texts(10..11)).await;
    assert_eq!(*read_all(&queue).last_key_value().unwrap().0, 10);
}

#[tokio::test]
async fn an_emptied_directory_begins_a_new_channel() {
    let folder = tempfile::tempdir().unwrap();
    let queue = DiskQueue::open(settings(folder.path())).unwrap();
    fill(&queue, &texts(0..3)).await;
    let channel = queue.channel();
    drop(queue);
    for (_, path) in segment_files(folder.path()).unwrap() {
        fs::remove_file(path).unwrap();
    }
    assert_ne!(DiskQueue::open(settings(folder.path())).unwrap().channel(), channel);
}

#[tokio::test]
async fn a_full_queue_makes_its_writers_wait_until_something_is_released() {
    let folder = tempfile::tempdir().unwrap();
    let small = Settings { max_size: 3000, memory: 600, ..settings(folder.path()) };
    let queue = Arc::new(DiskQueue::open(small).unwrap());
    let taken = Arc::new(AtomicUsize::new(0));
    let writer = {
        let (queue, taken) = (Arc::clone(&queue), Arc::clone(&taken));
        tokio::spawn(async move {
            for text in texts(0..60) {
                let taken = Arc::clone(&taken);
                let done = move |is_taken: bool| {
                    taken.fetch_add(usize::from(is_taken), Ordering::SeqCst);
                };
                queue.push(entry(&text), WAIT, done).await.unwrap();
            }
        })
    };
    while taken.load(Ordering::SeqCst) < 60 {
        let status = queue.status();
        assert!(status.bytes <= 3000 + 1500, "{status:?}");
        queue.release(status.next);
        tokio::task::yield_now().await;
    }
    writer.await.unwrap();
    assert_eq!(queue.status().next, 60);
}

#[tokio::test]
async fn a_full_queue_drops_when_it_is_told_to() {
    let folder = tempfile::tempdir().unwrap();
    let drop_after = Some(Duration::from_millis(1));
    let small = Settings { max_size: 2000, drop_after, ..settings(folder.path()) };
    let queue = DiskQueue::open(small).unwrap();
    fill(&queue, &texts(0..100)).await;
    assert!(queue.status().next < 100 && queue.status().bytes < 4000);
}

#[tokio::test]
#[allow(clippy::await_holding_lock, reason = "the lock stands for a slow disk")]
async fn who_waits_in_vain_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let queue = DiskQueue::open(Settings { memory: 400, ..settings(folder.path()) }).unwrap();
    // The locked state stops the first entry, which uses all of the memory budget.
    let state = queue.shared.state.lock();
    queue.push(entry("one"), WAIT, |_| ()).await.unwrap();
    let refused = queue.push(entry("two"), Duration::from_millis(20), |_| ()).await;
    drop(state);
    assert_eq!(refused, Err(PushError::Full));
    queue.close();
    assert_eq!(queue.push(entry("three"), WAIT, |_| ()).await, Err(PushError::Closed));
}

#[tokio::test]
async fn a_damaged_record_is_never_given_out() {
    let folder = tempfile::tempdir().unwrap();
    let queue = DiskQueue::open(settings(folder.path())).unwrap();
    fill(&queue, &texts(0..20)).await;
    let (_, first) = segment_files(folder.path()).unwrap().remove(0);
    let mut bytes = fs::read(&first).unwrap();
    let at = memchr::memmem::find(&bytes, b"note of 2").unwrap();
    bytes[at] ^= 1;
    fs::write(&first, bytes).unwrap();
    let mut cursor = queue.cursor(0);
    let mut damaged = 0;
    while let Found::Record(place) = cursor.advance() {
        damaged += usize::from(place.read().is_err());
    }
    assert_eq!((damaged, cursor.position()), (1, 20));
}

#[test]
fn any_cut_of_the_last_segment_keeps_what_lies_before_it() {
    let config = ProptestConfig { cases: 40, failure_persistence: None, ..Default::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    proptest!(config, |(count in 1usize..30, cut in 0usize..1000)| {
        let folder = tempfile::tempdir().unwrap();
        let all = texts(0..count);
        let queue = DiskQueue::open(settings(folder.path())).unwrap();
        runtime.block_on(fill(&queue, &all));
        drop(queue);
        let (_, last) = segment_files(folder.path()).unwrap().pop().unwrap();
        let bytes = fs::read(&last).unwrap();
        fs::write(&last, &bytes[..bytes.len() * cut / 1000]).unwrap();
        let queue = DiskQueue::open(settings(folder.path())).unwrap();
        let kept = read_all(&queue);
        let next = queue.status().next;
        prop_assert_eq!(&kept, &numbered(&all[..kept.len()], 0));
        runtime.block_on(fill(&queue, &texts(100..101)));
        prop_assert_eq!(read_all(&queue).last_key_value().map(|(number, _)| *number), Some(next));
    });
}
