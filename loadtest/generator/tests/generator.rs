//! What users of the generator rely on: the same bytes, ranges that compose, answers that are true.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use loadgen::words::MARKERS;
use loadgen::{LineWriter, Stream, produce, truth};
use serde_json::{Value, json};

const STREAM: Stream = Stream {
    seed: 7,
    events: 20_000,
    start: 1_763_672_400_000_000,
    span: 7_200_000_003,
    hosts: 200,
};

fn text(stream: &Stream, numbers: std::ops::Range<u64>) -> String {
    let mut out = Vec::new();
    produce::lines(stream, &mut LineWriter::new(stream), numbers, &mut out);
    String::from_utf8(out).unwrap()
}

fn all(stream: &Stream) -> String {
    text(stream, stream.numbers())
}

fn field<'a>(line: &'a str, name: &str) -> &'a str {
    let start = line.find(&format!(" {name}=")).unwrap() + name.len() + 2;
    line[start..].split(' ').next().unwrap()
}

fn ask(question: &str) -> Value {
    let answers = truth::answers(&STREAM, &[question.to_owned()]).unwrap();
    answers[question].clone()
}

#[test]
fn the_first_lines_of_a_seed_never_change() {
    let golden = include_str!("golden.txt");
    assert_eq!(text(&STREAM, 1..11), golden);
}

#[test]
fn ranges_put_together_are_the_whole() {
    let whole = all(&STREAM);
    let parts = [1..2, 2..9_999, 9_999..15_000, 15_000..20_001].map(|part| text(&STREAM, part));
    assert_eq!(parts.concat(), whole);
}

#[test]
fn one_event_alone_is_the_event_of_the_range() {
    for number in [1, 2, 777, 19_999, 20_000] {
        let mut alone = Vec::new();
        LineWriter::new(&STREAM).write(&STREAM.event(number), &mut alone);
        assert_eq!(text(&STREAM, number..number + 1).as_bytes(), alone);
    }
}

#[test]
fn several_threads_write_what_one_writes() {
    let many = Stream { events: 50_000, ..STREAM };
    let mut out = Vec::new();
    produce::ordered(&many, 3, |chunk| {
        out.extend_from_slice(chunk);
        Ok(())
    })
    .unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), all(&many));
}

#[test]
fn another_seed_gives_other_events() {
    assert_ne!(text(&Stream { seed: 8, ..STREAM }, 1..2), text(&STREAM, 1..2));
}

#[test]
fn lines_have_200_to_400_bytes_and_about_320_on_average() {
    let whole = all(&STREAM);
    for line in whole.lines() {
        assert!((200..=400).contains(&line.len()), "{}: {line}", line.len());
    }
    let average = whole.len() / 20_000;
    assert!((305..=335).contains(&average), "{average}");
}

#[test]
fn times_grow_evenly_and_end_before_the_span_does() {
    let whole = all(&STREAM);
    let times: Vec<i64> = whole
        .lines()
        .map(|line| line[..27].parse::<jiff::Timestamp>().unwrap().as_microsecond())
        .collect();
    assert_eq!(times[0], STREAM.start);
    assert!(times.windows(2).all(|pair| (360_000..=360_001).contains(&(pair[1] - pair[0]))));
    assert!(times[19_999] < STREAM.start + 7_200_000_003);
}

#[test]
fn markers_stand_on_the_events_they_divide() {
    let whole = all(&STREAM);
    for (marker, divisor) in MARKERS {
        let marked: Vec<u64> = whole
            .lines()
            .filter(|line| line.split(' ').any(|word| word == marker))
            .map(|line| field(line, "id").parse().unwrap())
            .collect();
        let expected: Vec<u64> = (1..=20_000).filter(|number| number % divisor == 0).collect();
        assert_eq!(marked, expected, "{marker}");
        assert_eq!(ask(&format!("count:{marker}")), json!(expected.len()));
        assert_eq!(ask("markers")[marker], json!(expected.len()));
    }
}

#[test]
fn a_range_of_times_leaves_out_what_is_outside() {
    let middle = &all(&STREAM).lines().nth(10_000).unwrap()[..27].to_owned();
    assert_eq!(ask(&format!("count@{middle}..2100-01-01T00:00:00Z")), json!(10_000));
    assert_eq!(ask(&format!("count:every10@0..{middle}")), json!(1_000));
}

#[test]
fn counts_by_host_and_errors_over_time_are_those_of_the_text() {
    let whole = all(&STREAM);
    let mut hosts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut errors: BTreeMap<String, u64> = BTreeMap::new();
    for line in whole.lines() {
        *hosts.entry(line.split(' ').nth(1).unwrap()).or_default() += 1;
        if field(line, "status") >= "500" {
            assert!(line.contains(" level=ERROR "));
            let time = line[..27].parse::<jiff::Timestamp>().unwrap().as_second();
            *errors.entry((time - time % 600).to_string()).or_default() += 1;
        }
    }
    assert_eq!(ask("hosts"), json!(hosts));
    assert_eq!(hosts.len(), 200);
    assert_eq!(ask("errors"), json!(errors));
    let share = errors.values().sum::<u64>();
    assert!((300..500).contains(&share), "2 % of 20,000 are server errors, not {share}");
}

#[test]
fn distinct_users_and_the_events_of_one_are_those_of_the_text() {
    let whole = all(&STREAM);
    let users: BTreeSet<u64> =
        whole.lines().map(|line| field(line, "user_id").parse().unwrap()).collect();
    assert_eq!(ask("users"), json!(users.len()));
    assert!(*users.first().unwrap() >= 1 && *users.last().unwrap() <= 1_000_000);
    let user = field(whole.lines().nth(500).unwrap(), "user_id");
    let mut ids: Vec<u64> = whole
        .lines()
        .filter(|line| field(line, "user_id") == user)
        .map(|line| field(line, "id").parse().unwrap())
        .collect();
    ids.reverse();
    assert_eq!(ask(&format!("user:{user}")), json!({"count": ids.len(), "ids": ids}));
}

#[test]
fn latencies_by_path_are_those_of_the_text() {
    let whole = all(&STREAM);
    let mut paths: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for line in whole.lines() {
        let latency = field(line, "latency_ms").parse().unwrap();
        paths.entry(field(line, "path")).or_default().push(latency);
    }
    assert_eq!(paths.len(), 40);
    for (path, latencies) in &mut paths {
        latencies.sort_unstable();
        let count = latencies.len();
        let p95 = latencies[(count * 95).div_ceil(100) - 1];
        #[allow(clippy::cast_precision_loss)]
        let average = latencies.iter().sum::<u64>() as f64 / count as f64;
        let rank = (count - 1) * 95;
        let between = [latencies[rank / 100], latencies[rank.div_ceil(100)]];
        let expected = json!({"count": count, "avg": average, "p95": p95, "p95_between": between});
        assert_eq!(ask("latency")[path], expected, "{path}");
    }
}

#[test]
fn sessions_phrases_and_the_newest_events_are_those_of_the_text() {
    let whole = all(&STREAM);
    let count = |wanted: &str| json!(whole.lines().filter(|line| line.contains(wanted)).count());
    assert_eq!(ask("session:ab"), count(" session=ab"));
    let phrase = "connection returned to the pool";
    assert_eq!(ask(&format!("phrase:{phrase}")), count(phrase));
    assert_ne!(count(phrase), json!(0));
    assert_eq!(ask("newest:3"), json!([20_000, 19_999, 19_998]));
}

#[test]
fn a_question_that_is_none_names_those_there_are() {
    let error = truth::answers(&STREAM, &["colour".to_owned()]).unwrap_err();
    assert!(error.to_string().contains("ask count, count:MARKER"), "{error}");
}

#[test]
fn numbers_spans_and_times_are_read_as_people_write_them() {
    use loadgen::parse::{count, span, time};
    assert_eq!(count("2m").unwrap(), 2_000_000);
    assert_eq!(count("1_500").unwrap(), 1_500);
    assert_eq!(span("24h").unwrap(), 86_400_000_000);
    assert_eq!(time("1763672400.5").unwrap(), 1_763_672_400_500_000);
    assert_eq!(time("2025-11-20T21:00:00Z").unwrap(), 1_763_672_400_000_000);
    assert!(count("many").is_err() && span("day").is_err() && time("noon").is_err());
}
