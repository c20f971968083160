//! What users of the replayer rely on: fresh times in the old form, and nothing else changed.
#![allow(clippy::disallowed_methods)]
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use loadgen::load::Load;
use loadgen::replay::{Options, Replay, Span};
use loadgen::sinks::body::Form;
use proptest::prelude::*;

/// 2026-11-20T00:00:00Z, and a day from there.
const DAY: Span = Span { start: 1_795_132_800_000_000, length: 86_400_000_000 };
const ONCE: Options = Options { scale: 1, even: false, fresh_ids: false, batch: 1 << 20 };

fn file(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

/// All lines, in the order of the batches.
fn lines(replay: &Replay) -> String {
    let mut out = Vec::new();
    for batch in 0..replay.batches() {
        Form::Lines.write(replay, batch, &mut out);
    }
    String::from_utf8(out).unwrap()
}

fn replayed(text: &str, span: Span, options: Options) -> String {
    let (_folder, path) = file("sample.log", text);
    lines(&Replay::open(&[path], span, options).unwrap())
}

fn check(line: &str, expected: &str) {
    assert_eq!(replayed(&format!("{line}\n"), DAY, ONCE), format!("{expected}\n"));
}

#[test]
fn a_time_keeps_its_form_and_the_rest_of_the_line_is_the_same() {
    for (line, expected) in [
        ("03-17 16:13:38.811  1702  2395 D x", "11-20 00:00:00.000  1702  2395 D x"),
        ("[Sun Dec 04 04:47:44 2005] [notice] x", "[Fri Nov 20 00:00:00 2026] [notice] x"),
        ("081109 203615 148 INFO x", "261120 000000 148 INFO x"),
        ("17/06/09 20:10:40 INFO x", "26/11/20 00:00:00 INFO x"),
        ("20171223-22:15:29:606|x", "20261120-0:0:0:0|x"),
        ("Jun 14 15:16:01 combo x", "Nov 20 00:00:00 combo x"),
        ("[10.30 16:49:06] chrome.exe", "[11.20 00:00:00] chrome.exe"),
        ("2015-07-29 17:41:44,747 - INFO", "2026-11-20 00:00:00,000 - INFO"),
        ("2016-09-28 04:30:30, Info", "2026-11-20 00:00:00, Info"),
        (
            "1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"G",
            "1.2.3.4 - - [20/Nov/2026:00:00:00 +0000] \"G",
        ),
        ("134681 node-246 state 1077804742 1 x", "134681 node-246 state 1795132800 1 x"),
        ("1521911724.699488\tCRJ34i2", "1795132800.000000\tCRJ34i2"),
        ("{\"ts\":\"2018-03-24T17:15:20.629574Z\"}", "{\"ts\":\"2026-11-20T00:00:00.000000Z\"}"),
        ("{\"timestamp\":1446249499322,\"pid\":1}", "{\"timestamp\":1795132800000,\"pid\":1}"),
    ] {
        check(line, expected);
    }
}

#[test]
fn all_times_of_a_line_move_by_the_same_distance() {
    check(
        "- 1117838570 2005.06.03 R02 2005-06-03-15.42.50.675872 R02 RAS",
        "- 1795132800 2026.11.19 R02 2026-11-19-17.00.00.675872 R02 RAS",
    );
    check(
        "- 1131566461 2005.11.09 dn228 Nov 9 12:01:01 dn228/dn228 x",
        "- 1795132800 2026.11.19 dn228 Nov 19 16:00:00 dn228/dn228 x",
    );
    check(
        "Jul 17 15:09:16 combo ftpd: at Sun Jul 17 15:09:16 2005 ",
        "Nov 20 00:00:00 combo ftpd: at Fri Nov 20 00:00:00 2026 ",
    );
    check(
        "{\"load_timestamp\":1445680800424,\"timestamp\":1445680801424}",
        "{\"load_timestamp\":1795132799000,\"timestamp\":1795132800000}",
    );
}

#[test]
fn numbers_that_are_no_times_stay() {
    for line in [
        "10.10.34.11:3888 attempt_1445144423722_0020_m_000009_0 Progress 0x1fffffffe",
        "nova-api.log.1.2017-05-16_13:53:08",
        "12/25 99:99:99 no time at all",
    ] {
        check(line, line);
    }
}

#[test]
fn gaps_are_kept_and_squeezed_into_the_repetitions_share_of_the_span() {
    let text = "2020-01-01 00:00:00 a\n2020-01-01 00:00:01 b\n2020-01-01 00:00:03 c\n";
    let span = Span { length: 16_000_000, ..DAY };
    let expected = "2026-11-20 00:00:00 a\n2026-11-20 00:00:02 b\n2026-11-20 00:00:07 c\n\
                    2026-11-20 00:00:08 a\n2026-11-20 00:00:10 b\n2026-11-20 00:00:15 c\n";
    let twice = Options { scale: 2, ..ONCE };
    // The last second of a file is its own length from the end: a microsecond, so nearly 8 s for 3.
    let got = replayed(text, span, twice);
    assert_eq!(got, expected);
    let even = replayed(text, Span { length: 6_000_000, ..DAY }, Options { even: true, ..twice });
    let seconds: Vec<&str> = even.lines().map(|line| &line[17..19]).collect();
    assert_eq!(seconds, ["00", "01", "02", "03", "04", "05"]);
}

#[test]
fn a_line_without_a_time_stays_with_its_event_in_one_batch() {
    let event = "2020-01-01 00:00:00 failed\n  at first\n  at second\n";
    let (_folder, path) = file("trace.log", &event.repeat(50));
    let options = Options { batch: 100, scale: 3, ..ONCE };
    let replay = Replay::open(&[path], DAY, options).unwrap();
    assert!(replay.batches() > 20);
    for batch in 0..replay.batches() {
        let mut out = Vec::new();
        Form::Lines.write(&replay, batch, &mut out);
        assert!(out.is_empty() || out.starts_with(b"2026-"), "batch {batch}");
    }
    assert_eq!(lines(&replay).lines().count(), 450);
}

#[test]
fn line_endings_stay_and_the_last_line_gets_that_of_the_others() {
    let text = "2020-01-01 00:00:00 a\r\n2020-01-01 00:00:00 b\r\n2020-01-01 00:00:00 c";
    let got = replayed(text, DAY, ONCE);
    assert_eq!(got.matches("\r\n").count(), 3);
    assert_eq!(got.matches('\n').count(), 3);
}

#[test]
fn head_and_foot_of_a_file_are_written_once() {
    let text = "#fields\tts\n1521911724.699488\tx\n1521911725.699488\ty\n#close\n";
    let got = replayed(text, DAY, Options { scale: 3, ..ONCE });
    assert_eq!(got.matches('#').count(), 2, "{got}");
    assert!(got.starts_with("#fields") && got.ends_with("#close\n"), "{got}");
    assert_eq!(got.lines().count(), 8);
}

#[test]
fn fresh_ids_differ_between_repetitions_and_agree_within_one() {
    let text = "2020-01-01 00:00:00 blk_38865049064139660 port 50010 from 0000ab34ef12\n\
                2020-01-01 00:00:01 blk_38865049064139660 done\n";
    let got = replayed(text, DAY, Options { scale: 3, fresh_ids: true, ..ONCE });
    let ids: Vec<&str> = got.lines().map(|line| line.split(' ').nth(2).unwrap()).collect();
    assert_eq!(ids[0], "blk_38865049064139660");
    assert!(ids.chunks(2).all(|pair| pair[0] == pair[1]), "{got}");
    assert!(ids[0] != ids[2] && ids[2] != ids[4] && ids[2].len() == ids[0].len(), "{got}");
    assert_eq!(got.matches("port 50010").count(), 3);
    assert_eq!(got.matches(" 0000").count(), 3, "leading zeros stay: {got}");
}

#[test]
fn files_of_different_size_end_together() {
    let (_one, small) = file("small.log", &"2020-01-01 00:00:00 a\n".repeat(10));
    let (_two, large) = file("large.log", &"2020-01-01 00:00:00 b\n".repeat(1000));
    let options = Options { batch: 1_000, ..ONCE };
    let replay = Replay::open(&[small, large], DAY, options).unwrap();
    assert_eq!(
        (replay.sources(), replay.source(0), replay.source(1)),
        (2, "small.log", "large.log")
    );
    let mut seen = [0, 0];
    for batch in 0..replay.batches() {
        let source = usize::try_from(batch % 2).unwrap();
        seen[source] += Form::Lines.write(&replay, batch, &mut Vec::new()).events;
    }
    assert_eq!(seen, [10, 1000]);
    let mut tail = Vec::new();
    Form::Lines.write(&replay, replay.batches() - 2, &mut tail);
    assert!(!tail.is_empty(), "the small file ends in the last round too");
}

/// The sample data, where it is.
fn samples() -> Vec<PathBuf> {
    let default = PathBuf::from("../../../shared/data");
    let folder = std::env::var_os("KARST_TEST_DATA").map_or(default, PathBuf::from);
    let Ok(files) = std::fs::read_dir(folder.join("loghub")) else {
        println!("skipped: no sample data (KARST_TEST_DATA)");
        return Vec::new();
    };
    let files = files.map(|file| file.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|ending| ending == "log")).collect()
}

#[test]
fn the_times_of_every_sample_are_known_and_their_digits_alone_change() {
    for path in samples() {
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        let replay = Replay::open(&[&path], DAY, ONCE).unwrap();
        let (name, timed) = (replay.samples()[0].name().to_owned(), replay.samples()[0].timed());
        let all = replay.samples()[0].lines();
        assert!(timed * 10 >= all * 9, "{name}: {timed} of {all}");
        let fresh = lines(&replay);
        for (old, new) in text.lines().zip(fresh.lines()) {
            assert_eq!(without_times(new), without_times(old), "{name}");
        }
        assert_eq!(fresh.lines().count(), text.lines().count(), "{name}");
    }
}

/// A line without digits and names of days and months.
fn without_times(line: &str) -> String {
    const NAMES: &str = "JanFebMarAprMayJunJulAugSepOctNovDecMonTueWedThuFriSatSun";
    let words = line.split([' ', '/', '[']);
    let words = words.filter(|word| !(word.len() == 3 && NAMES.contains(word)));
    words.flat_map(str::chars).filter(|c| !c.is_ascii_digit()).collect()
}

proptest! {
    #[test]
    fn any_text_without_a_time_comes_back_as_it_was(text in "[a-z \\[\\]{}\":=.,-]{0,80}") {
        prop_assert_eq!(replayed(&format!("{text}\n"), DAY, ONCE), format!("{text}\n"));
    }

    #[test]
    fn no_bytes_make_it_fail(bytes in proptest::collection::vec(any::<u8>(), 1..200)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("any");
        std::fs::write(&path, &bytes).unwrap();
        let options = Options { scale: 2, fresh_ids: true, ..ONCE };
        let replay = Replay::open(&[path], DAY, options).unwrap();
        let mut out = Vec::new();
        let form = Form::Objects { sourcetype: None, index: None };
        for batch in 0..replay.batches() {
            form.write(&replay, batch, &mut out);
        }
        for line in out.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            prop_assert!(serde_json::from_slice::<serde_json::Value>(line).is_ok());
        }
    }
}
