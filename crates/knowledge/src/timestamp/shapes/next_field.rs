//! A clock that is a field of its own after the date, as FortiGate (`date=... time=...`), CloudFront
//! (columns) and many applications write it.
//!
//! The clock is near the date, with nothing but the end of a field and the name of the next one between them.
//! Only a date that no clock follows directly is examined.

use memchr::memmem;

use super::Cursor;

/// Names of fields with the clock of the date before them. Others, such as `uptime` and `time_taken`, contain
/// something else.
const CLOCK_KEYS: &[&str] =
    &["time", "clock", "log_time", "logtime", "event_time", "eventtime", "local_time", "localtime"];
/// Maximum number of bytes between the date and the clock.
const GAP: usize = 20;
/// FortiOS writes the epoch after date and clock, within this number of bytes after the start of the date.
const EPOCH_WITHIN: usize = 96;
const EPOCH_KEY: &[u8] = b" eventtime=";

impl Cursor<'_> {
    /// Reads `|10:11:12`, `" time="10:11:12"`, `] [10:11:12]` after a date. Its numbers are separated by
    /// colons, since a column after a date may be an address.
    pub(super) fn clock_in_next_field(&mut self) -> Option<()> {
        let date_end = self.at;
        let _ = self.expect(b"\"'])");
        let field_end = self.at;
        self.blanks();
        let _ = self.expect(b"\t|;,");
        self.blanks();
        let is_separated = self.at > field_end || self.peek(0) == b'[';
        let _ = self.expect(b"\"'[(");
        let has_key = self.peek(0).is_ascii_alphabetic();
        if has_key {
            self.clock_key()?;
        }
        let is_near = self.at - date_end <= GAP;
        if !is_separated || !is_near || self.peek(self.digits()) != b':' {
            return None;
        }
        // The epoch is exact; the zone of the clock would be a guess.
        if has_key && self.is_before_epoch() {
            return None;
        }
        self.clock()?;
        // The text behind the clock decides: it is not compared with that of the next event.
        self.second_end = 0;
        // Not the beginning of an address, such as `10:11:12:ab:cd:ef`.
        self.number_ends().then_some(())
    }

    /// Reads `time=`, or `time": "` after its first quote.
    fn clock_key(&mut self) -> Option<()> {
        let rest = &self.text[self.at..];
        let length = rest
            .iter()
            .take(GAP)
            .take_while(|byte| byte.is_ascii_alphabetic() || **byte == b'_')
            .count();
        let key = &rest[..length];
        if !CLOCK_KEYS.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(key)) {
            return None;
        }
        self.at += length;
        let _ = self.expect(b"\"'");
        self.blanks();
        self.expect(b"=:")?;
        self.blanks();
        let _ = self.expect(b"\"'[(");
        Some(())
    }

    fn is_before_epoch(&self) -> bool {
        let near = self.text.len().min(EPOCH_WITHIN);
        let Some(rest) = self.text.get(self.at..near) else { return false };
        let value = memmem::find(rest, EPOCH_KEY).and_then(|at| rest.get(at + EPOCH_KEY.len()));
        value.is_some_and(u8::is_ascii_digit)
    }
}

#[cfg(test)]
mod tests {
    use eval::time::LocalClock;
    use model::EventTime;

    use super::super::read;

    /// The seconds of the time at the start of a text.
    fn seconds(text: &str) -> Option<f64> {
        let reference = EventTime(1_795_176_000_000_000); // 2026-11-20T12:00:00Z
        let time = read(text.as_bytes())?.fields.resolve(&mut LocalClock::utc(), reference)?;
        Some(time.seconds())
    }

    #[test]
    fn a_clock_may_be_a_field_of_its_own_after_the_date() {
        let expected = 1_709_633_472.0;
        for text in [
            "2024-03-05 time=10:11:12 devname=\"FG100\"",
            "2024-03-05\" time=\"10:11:12\" devname",
            "2024-03-05\t10:11:12\tFRA2",
            "2024/03/05|10:11:12|x",
            "2024-03-05;10:11:12",
            "2024-03-05\",\"10:11:12\",\"x\"",
            "2024-03-05] [10:11:12] x",
            "2024-03-05][10:11:12] x",
            "2024-03-05 [10:11:12] x",
            "2024-03-05\",\"time\":\"10:11:12\"}",
            "2024-03-05\", \"event_time\": \"10:11:12\"}",
            "2024-03-05, Time: 10:11:12 x",
            "2024-03-05 | 10:11:12 | x",
            "2024-03-05\t10:11:12 UTC\tx",
            "03/05/2024 TIME=10:11:12",
            "05.03.2024;10:11:12;x",
            "05-Mar-2024\t10:11:12",
            "2024-03-05 time=10:11:12 tz=\"x\" eventtime=none",
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        for (text, later) in [
            ("2024-03-05\t10:11:12.5\tx", 0.5),
            ("2024-03-05|10:11:12 PM|x", 43_200.0),
            ("2024-03-05 time=10:11:12+01:00 x", -3_600.0),
        ] {
            assert_eq!(seconds(text), Some(expected + later), "{text}");
        }
    }

    #[test]
    fn a_clock_after_a_date_may_belong_to_something_else() {
        for text in [
            "2024-03-05 uptime=10:11:12",
            "2024-03-05 time_taken=00:00:05",
            "2024-03-05 user=x time=10:11:12",
            "2024-03-05\t10.1.2.3",
            "2024-03-05\t10:11:12:ab:cd:ef",
            "2024-03-05\t10:11:12:13:14:15",
            "2024-03-05|x|10:11:12",
            "2024-03-05;;10:11:12",
            "2024-03-05\n10:11:12",
            "2024-03-05 |                      10:11:12",
            "2024-03-05 time 10:11:12",
            "2024-03-05 time=10:11",
            "2024-03-05\"10:11:12",
            "2024-03-05 time=10:11:12 vd=\"root\" eventtime=1709629872000000000",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
