//! Timestamps of events that are JSON objects, found by the name of a top-level key.

use memchr::memmem;

/// Keys with the time of the event, in quotes; the first one that exists and can be read is used.
pub(super) const KEYS: &[&str] = &[
    "\"@timestamp\"",
    "\"timestamp\"",
    "\"ts\"",
    "\"time\"",
    "\"_time\"",
    "\"eventTime\"",
    "\"event_time\"",
    "\"datetime\"",
    "\"date\"",
    "\"TimeCreated\"",
    "\"SystemTime\"",
    "\"UtcTime\"",
    "\"EventTime\"",
    "\"Timestamp\"",
    "\"createdAt\"",
    "\"created_at\"",
    "\"logged_at\"",
    "\"t\"",
    "\"__REALTIME_TIMESTAMP\"",
    "\"timeUnixNano\"",
    "\"observedTimeUnixNano\"",
    "\"EdgeStartTimestamp\"",
    "\"requestReceivedTimestamp\"",
    "\"eventTimestamp\"",
    "\"event_timestamp\"",
    "\"TimeGenerated\"",
    "\"timeGenerated\"",
    "\"CreationTime\"",
    "\"published\"",
    "\"receiveTimestamp\"",
    "\"start_time\"",
    "\"startTime\"",
    "\"Time\"",
    "\"Datetime\"",
    "\"asctime\"",
    "\"log_time\"",
];

/// Maximum number of bytes of an event that are examined.
const READ: usize = 64 * 1024;

/// Returns the start of the value of a top-level key, after its quote if it has one.
pub(super) fn value_of(event: &[u8], quoted_key: &str) -> Option<usize> {
    let event = &event[..event.len().min(READ)];
    let mut depth = Depth::default();
    for hit in memmem::find_iter(event, quoted_key.as_bytes()) {
        depth.advance(event, hit);
        if depth.level != 1 || depth.in_string {
            continue;
        }
        let after = skip_blanks(event, hit + quoted_key.len());
        if event.get(after) != Some(&b':') {
            continue;
        }
        let value = skip_blanks(event, after + 1);
        return Some(value + usize::from(event.get(value) == Some(&b'"')));
    }
    None
}

fn skip_blanks(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// The nesting depth of a position in objects and arrays.
#[derive(Default)]
struct Depth {
    at: usize,
    level: i32,
    in_string: bool,
}

impl Depth {
    fn advance(&mut self, text: &[u8], to: usize) {
        while self.at < to {
            match (self.in_string, text[self.at]) {
                (true, b'\\') => self.at += 1,
                (_, b'"') => self.in_string = !self.in_string,
                (false, b'{' | b'[') => self.level += 1,
                (false, b'}' | b']') => self.level -= 1,
                _ => {}
            }
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_keys_of_the_top_level_count() {
        let event = br#"{"a":{"ts":1},"b":"\"ts\":2","load_ts":3,"ts" : "4"}"#;
        assert_eq!(value_of(event, "\"ts\"").map(|at| event[at]), Some(b'4'));
        assert_eq!(value_of(event, "\"time\""), None);
    }
}
