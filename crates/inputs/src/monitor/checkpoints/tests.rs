//! Checkpoints across restarts, torn ends, and in large numbers.
#![allow(clippy::unwrap_used)]
use super::*;

fn record(key: u64, text: &[u8]) -> Record {
    Record {
        key,
        id: Some(FileId { device: 1, inode: key, born: 2 }),
        path: PathBuf::from(format!("/var/log/{key}.log")),
        start: Fingerprint::of(text),
        start_len: u32::try_from(text.len()).unwrap(),
        offset: 7 * key,
        seek: Fingerprint::of(b"seek"),
        packed: key.is_multiple_of(2).then_some(Fingerprint(key)),
    }
}

fn open(directory: &tempfile::TempDir, limit: usize) -> Checkpoints {
    Checkpoints::open(&directory.path().join("book"), limit).unwrap()
}

fn flush(book: &mut Checkpoints) {
    if let Some(flush) = book.flush().unwrap() {
        flush.run().unwrap();
    }
}

#[test]
fn what_was_flushed_is_there_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let mut book = open(&directory, 100);
    let (one, two) = (book.new_key(), book.new_key());
    book.put(record(one, b"abc"));
    book.put(record(two, b"abcdef"));
    book.put(record(book.next_key, b"gone"));
    flush(&mut book);
    book.remove(book.next_key);
    book.put(Record { offset: 99, ..record(one, b"abcd") });
    flush(&mut book);
    let mut book = open(&directory, 100);
    assert_eq!((book.len(), book.get(one).unwrap().offset), (2, 99));
    assert_eq!(book.get(two), Some(&record(two, b"abcdef")));
    assert_eq!(book.of_file(record(two, b"").id.unwrap()).unwrap().key, two);
    assert_eq!(book.of_packed(Fingerprint(two)).unwrap().key, two);
    let keys = |head: &[u8]| {
        let found = book.begun_as(Fingerprint::EMPTY, head);
        found.iter().map(|record| record.key).collect::<Vec<_>>()
    };
    assert_eq!(
        (keys(b"abcdefg"), keys(b"abcd"), keys(b"abc")),
        (vec![one, two], vec![one], vec![])
    );
    assert!(book.new_key() > two + 1);
}

#[test]
fn a_torn_end_is_cut_off_and_the_rest_kept() {
    let directory = tempfile::tempdir().unwrap();
    let mut book = open(&directory, 100);
    for key in 1..4 {
        book.put(record(key, b"abc"));
        flush(&mut book);
    }
    let path = directory.path().join("book");
    let whole = fs::read(&path).unwrap();
    for cut in 0..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let book = open(&directory, 100);
        assert!(book.len() <= 2, "{cut}");
    }
    fs::write(&path, "something else").unwrap();
    assert!(Checkpoints::open(&path, 1).is_err());
}

#[test]
fn the_log_does_not_grow_with_every_change() {
    let directory = tempfile::tempdir().unwrap();
    let mut book = open(&directory, 100);
    for offset in 0..30_000 {
        book.put(Record { offset, ..record(1, b"abc") });
        book.write().unwrap();
    }
    let size = fs::metadata(directory.path().join("book")).unwrap().len();
    assert!(size < SMALL + 1000, "{size}");
    assert_eq!(open(&directory, 100).get(1).unwrap().offset, 29_999);
}

#[test]
fn of_files_that_are_gone_the_oldest_are_forgotten() {
    let directory = tempfile::tempdir().unwrap();
    let mut book = open(&directory, 5);
    for key in 1..20 {
        book.put(record(key, b"abc"));
    }
    book.set_live(2, true);
    book.rewrite().unwrap();
    let kept: Vec<_> = (1..20).filter(|key| book.get(*key).is_some()).collect();
    assert_eq!(kept, [2, 15, 16, 17, 18, 19]);
}
