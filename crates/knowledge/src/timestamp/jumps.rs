//! Timestamps that jump: far from the previous one, and in another format than most of their source.
//!
//! Such a timestamp may have been read from a text that is not a timestamp. It is used nevertheless, and
//! counted, because Splunk warns about it.

use model::EventTime;

use super::TimestampRules;

/// The state that is kept about the timestamps of a source.
#[derive(Debug, Clone, Default)]
pub(super) struct Jumps {
    /// The previous time.
    last: Option<EventTime>,
    /// The format that most timestamps have, by majority vote, and its lead.
    usual: u64,
    lead: u64,
    current: u64,
    count: u64,
}

impl Jumps {
    /// Records a timestamp with the format and second of the previous one.
    pub(super) fn same(&mut self) {
        self.vote(self.current);
    }

    /// Records a timestamp that was read.
    pub(super) fn next(&mut self, text: &[u8], time: EventTime, rules: &TimestampRules) {
        self.current = form(text);
        if let Some(last) = self.last {
            let micros = |seconds: i64| seconds.saturating_mul(1_000_000);
            let moved = time.0.saturating_sub(last.0);
            let far = moved < -micros(rules.max_diff_secs_ago)
                || moved > micros(rules.max_diff_secs_hence);
            self.count += u64::from(far && self.current != self.usual);
        }
        self.last = Some(time);
        self.vote(self.current);
    }

    pub(super) fn take(&mut self) -> u64 {
        std::mem::take(&mut self.count)
    }

    fn vote(&mut self, form: u64) {
        if self.lead == 0 {
            self.usual = form;
        }
        if self.usual == form {
            self.lead = self.lead.saturating_add(1).min(1 << 20);
        } else {
            self.lead -= 1;
        }
    }
}

/// Hashes the format of a text: runs of digits, runs of letters, and all other characters.
fn form(text: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut before = 0;
    for &byte in text {
        let class = match byte {
            b'0'..=b'9' => b'9',
            b'a'..=b'z' | b'A'..=b'Z' => b'a',
            other => other,
        };
        if class != before || !matches!(class, b'9' | b'a') {
            hash = (hash ^ u64::from(class)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        before = class;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_timestamps_of_an_unusual_form_are_counted() {
        let rules = TimestampRules::default();
        let mut jumps = Jumps::default();
        let hour = 3_600_000_000;
        for at in 0..5 {
            jumps.next(b"2024-01-02 03:04:05", EventTime(at), &rules);
        }
        jumps.next(b"1999-01-02 03:04:05", EventTime(-9 * hour), &rules);
        assert_eq!(jumps.take(), 0, "the usual form may jump");
        jumps.next(b"Jan 2 2034", EventTime(24 * 30 * hour), &rules);
        jumps.next(b"Jan 2 2034", EventTime(24 * 30 * hour), &rules);
        assert_eq!(jumps.take(), 1, "only the jump counts");
    }
}
