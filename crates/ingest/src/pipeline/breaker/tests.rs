//! Lines do not depend on how the stream was cut into chunks.

use std::sync::Arc;

use super::*;

#[test]
fn lines_do_not_depend_on_the_chunks() {
    let text = "one\r\ntwo\n\n\nthree\rfour";
    for pattern in [None, Some(r"([\r\n]+)")] {
        for size in 1..=text.len() {
            assert_eq!(
                lines(pattern, 100, text, size).0,
                ["one", "two", "three", "four"],
                "{size}"
            );
        }
    }
}

#[test]
fn only_the_first_group_is_dropped() {
    let text = "<a>1</a><a>2</a> \n<a>3</a>";
    for size in [1, 5, 100] {
        let found = lines(Some(r"</a>(\s*)<a>"), 100, text, size).0;
        assert_eq!(found, ["<a>1</a>", "<a>2</a>", "<a>3</a>"], "{size}");
    }
}

#[test]
fn a_long_line_is_cut_between_characters_and_counted() {
    let text = "äää\nb\näääää";
    for size in 1..=text.len() {
        let (found, cut_lines, cut_bytes) = lines(None, 5, text, size);
        assert_eq!(found, ["ää", "b", "ää"], "{size}");
        assert_eq!((cut_lines, cut_bytes), (2, 2 + 6), "{size}");
    }
}

#[test]
fn nuls_around_lines_are_dropped() {
    let text = format!("\0\0one\0\n{}two\0x\0\0\n\0\n\0three\0", "\0".repeat(50));
    for pattern in [None, Some(r"([\r\n]+)")] {
        for size in [1, 2, 3, 7, 100] {
            let (found, cut_lines, _) = lines(pattern, 100, &text, size);
            assert_eq!(found, ["one", "two\0x", "three"], "{size}");
            assert_eq!(cut_lines, 0, "{size}");
        }
    }
    // More NULs than a line may have bytes.
    let (found, cut_lines, _) = lines(None, 10, &text, 4);
    assert_eq!(
        (found.as_slice(), cut_lines),
        (["one", "two\0x", "three"].map(str::to_owned).as_slice(), 0)
    );
}

#[test]
fn nuls_before_an_unfinished_line_are_covered() {
    let mut breaker = breaker(None, 100);
    let found = breaker.push(Bytes::from_static(b"one\n\0\0\0tw"), false);
    assert_eq!((found.covered, breaker.pending()), (7, 2));
}

#[test]
fn a_huge_line_takes_little_memory() {
    for pattern in [None, Some(r"([\r\n]+)")] {
        let mut breaker = breaker(pattern, 10_000);
        let chunk = Bytes::from(vec![b'x'; 1 << 16]);
        for _ in 0..1600 {
            assert!(breaker.push(chunk.clone(), false).lines.is_empty());
            assert!(breaker.carry.capacity() < 1 << 20);
        }
        let found = breaker.push(Bytes::from_static(b"\nnext\n"), true);
        assert_eq!(found.lines.len(), 2);
        assert_eq!(found.cut_bytes, 1600 * (1 << 16) - 10_000);
    }
}

fn breaker(pattern: Option<&str>, limit: usize) -> LineBreaker {
    let pattern = pattern.map(|pattern| Arc::new(Pattern::compile(pattern).unwrap()));
    let breaks = pattern.map_or(Breaks::Newlines, |pattern| Breaks::Pattern(pattern, 100));
    LineBreaker::new(breaks, limit)
}

fn lines(pattern: Option<&str>, limit: usize, text: &str, size: usize) -> (Vec<String>, u64, u64) {
    let mut breaker = breaker(pattern, limit);
    let mut decoder = crate::pipeline::decode::TextDecoder::new(knowledge::Charset::Utf8);
    let mut found = Vec::new();
    let (mut cut_lines, mut cut_bytes) = (0, 0);
    let chunks: Vec<_> = text.as_bytes().chunks(size).collect();
    for (i, chunk) in chunks.iter().enumerate() {
        let end = i + 1 == chunks.len();
        let decoded = decoder.decode(Bytes::copy_from_slice(chunk), end);
        let out = breaker.push(decoded.text, end);
        let line = |line: &Line| &out.text[line.start as usize..line.end as usize];
        found.extend(out.lines.iter().map(|l| String::from_utf8(line(l).to_vec()).unwrap()));
        cut_lines += out.cut_lines();
        cut_bytes += out.cut_bytes;
    }
    (found, cut_lines, cut_bytes)
}

#[test]
fn the_last_line_has_no_break_at_its_end_even_if_the_breaker_looks_ahead() {
    for size in 1..=8 {
        let found = lines(Some(r"([\r\n]+)\d "), 100, "1 one\r\n2 two\r\n", size);
        assert_eq!(found.0, ["1 one", "2 two"], "{size}");
    }
}
