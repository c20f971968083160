//! Access to internal functions for fuzzers.

use std::hint::black_box;
use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::exec::Schedule;
use crate::monitor::paths::PathPattern;
use crate::syslog::{Framer, header_host, without_mark};

/// Cuts a stream of syslog into messages, in pieces of several sizes, and reads their headers.
pub fn syslog(stream: &[u8]) {
    for piece in [1, 7, 4_096] {
        let mut framer = Framer::default();
        let mut emit = |message: &[u8]| {
            assert!(message.len() <= LIMIT, "a message is longer than its limit");
            black_box(header_host(&without_mark(message)));
        };
        for piece in stream.chunks(piece) {
            framer.push(piece, LIMIT, &mut emit);
        }
        framer.finish(&mut emit);
    }
}

/// Longest message.
const LIMIT: usize = 1_024;

/// Reads a schedule and follows it for some time, from shortly before a change to summer time.
///
/// # Panics
/// If a time is not after the previous one.
pub fn schedule(text: &str) {
    let Some(Schedule::Cron(cron)) = Schedule::parse(text) else { return };
    let zone = TimeZone::get("Europe/Berlin").unwrap_or(TimeZone::UTC);
    let mut time = Timestamp::from_second(1_774_700_000).unwrap_or_default().to_zoned(zone);
    for _ in 0..50 {
        let Some(next) = cron.next(&time) else { return };
        assert!(next > time, "{next} does not come after {time}");
        time = next;
    }
}

/// Compiles a monitored path and matches another with it.
///
/// # Panics
/// If a path without wildcards does not match itself.
pub fn monitored_path(pattern: &str, path: &str) {
    let Ok(compiled) = PathPattern::compile(pattern) else { return };
    black_box(compiled.takes(Path::new(path)));
    if !pattern.is_empty() && !pattern.contains('*') && !pattern.contains("...") {
        assert!(compiled.takes(Path::new(pattern)), "{pattern:?} does not stand for itself");
    }
}
