//! Measures the length of each event of a body while it arrives, so that a request with an event that is too
//! long ends before the event is in memory.
//!
//! Only brackets and strings are examined. Whether the body is JSON is decided when it is complete; an
//! invalid body may be measured wrongly here, and is refused in any case.

/// An escaped character is up to six times as long as itself.
const ESCAPED: usize = 6;

/// Maximum bytes of an event's metadata, in addition to its text.
const ENVELOPE: usize = 1 << 20;

/// Measures the events of `/services/collector/event`.
#[derive(Debug)]
pub struct EventLengths {
    limit: usize,
    /// Bytes looked at.
    at: usize,
    depth: usize,
    /// The nesting depth of events: 1 more within a list.
    base: usize,
    in_string: bool,
    /// The next byte follows a backslash.
    escaped: bool,
    /// The offset at which the last event begins.
    start: usize,
    /// Events that have ended.
    number: u64,
}

impl EventLengths {
    /// Creates a watch for events of at most this number of bytes.
    #[must_use]
    pub fn new(event_bytes: usize) -> Self {
        let limit = event_bytes.saturating_mul(ESCAPED).saturating_add(ENVELOPE);
        let (in_string, escaped) = (false, false);
        Self { limit, at: 0, depth: 0, base: 0, in_string, escaped, start: 0, number: 0 }
    }

    /// Looks at all bytes so far; the number of the event, counted from 0, that is certainly too long.
    pub fn look(&mut self, body: &[u8]) -> Option<u64> {
        // If the body is within the limit, all its events are.
        if body.len() <= self.limit {
            return None;
        }
        while let Some(byte) = body.get(self.at) {
            if self.in_string {
                if !self.pass_string(body) {
                    break;
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'[' if self.depth == 0 => (self.depth, self.base, self.start) = (1, 1, self.at),
                b'{' | b'[' => {
                    if self.depth == self.base {
                        self.start = self.at;
                    }
                    self.depth += 1;
                }
                b'}' | b']' => self.close(),
                _ => {}
            }
            self.at += 1;
        }
        let is_open = self.depth > self.base || self.in_string;
        (is_open && self.at - self.start > self.limit).then_some(self.number)
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.depth < self.base {
            self.base = 0;
        } else if self.depth == self.base {
            self.number += 1;
            self.start = self.at + 1;
        }
    }

    /// Advances to the end of the string; false if it has not arrived yet.
    fn pass_string(&mut self, body: &[u8]) -> bool {
        if self.escaped {
            self.escaped = false;
            self.at += 1;
            return true;
        }
        match memchr::memchr2(b'"', b'\\', &body[self.at..]) {
            None => {
                self.at = body.len();
                false
            }
            Some(found) => {
                self.at += found;
                if body[self.at] == b'"' {
                    self.in_string = false;
                } else {
                    self.escaped = true;
                }
                self.at += 1;
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: usize = 3 << 20;

    #[test]
    fn the_event_that_is_too_long_is_named_before_it_has_ended() {
        let long = "x".repeat(LONG);
        let cases = [
            (format!(r#"{{"event":"a"}}{{"event":"{long}"#), Some(1)),
            (format!(r#"[{{"event":"a"}},{{"event":"b"}},{{"event":"{long}"#), Some(2)),
            (format!(r#"{{"event":"}}{{\"\\","fields":{{"a":"{long}"#), Some(0)),
            (format!(r#"{{"event":{{"a":[[["{long}"#), Some(0)),
            (r#"{"event":"short"}"#.repeat(LONG / 16), None),
            (r#"{"event":"\"}{"},"#.repeat(LONG / 16), None),
        ];
        for (body, number) in cases {
            assert_eq!(look(&body, 1 << 16), number, "{}", &body[..60]);
            assert_eq!(look(&body, usize::MAX), number, "{}", &body[..60]);
        }
    }

    /// Feeds the body in pieces of this number of bytes.
    fn look(body: &str, piece: usize) -> Option<u64> {
        let mut lengths = EventLengths::new(1 << 10);
        let mut end = 0;
        while end < body.len() {
            end = end.saturating_add(piece).min(body.len());
            if let Some(number) = lengths.look(&body.as_bytes()[..end]) {
                return Some(number);
            }
        }
        None
    }
}
