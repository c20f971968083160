//! The text of an event, written by hand: no formatting machinery, no allocation per event.
//!
//! `2026-11-20T21:00:00.123456Z web-017 shop[1183]: level=INFO method=GET path=/cart status=200
//! latency_ms=37 bytes=5123 user_id=123456 session=0123456789abcdef id=42 every1 msg="..."`

use std::sync::Arc;

use crate::event::{Event, Stream};
use crate::words::{ENDS, MARKERS, METHODS, MIDDLES, OPENINGS};

/// No line is longer, its line feed included.
pub const MAX_LINE: usize = 512;

/// `00` to `99`.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut at = 0;
    while at < 100 {
        #[allow(clippy::cast_possible_truncation)]
        let value = at as u8;
        pairs[at] = [b'0' + value / 10, b'0' + value % 10];
        at += 1;
    }
    pairs
};

/// Writes lines; keeps what consecutive ones share.
#[derive(Debug, Clone)]
pub struct LineWriter {
    /// ` web-017 shop[1183]: level=` by host.
    hosts: Arc<[Box<[u8]>]>,
    /// Names of the hosts.
    names: Arc<[Box<str>]>,
    /// ` every1 every10 ...`, and where each marker ends.
    markers: Box<[u8]>,
    marker_ends: [usize; MARKERS.len() + 1],
    /// The second that `stamp` shows, from the epoch.
    second: i64,
    stamp: [u8; 20],
}

impl LineWriter {
    /// A writer for the events of a stream.
    #[must_use]
    pub fn new(stream: &Stream) -> Self {
        let names: Arc<[Box<str>]> =
            (0..stream.hosts).map(|host| format!("web-{host:03}").into_boxed_str()).collect();
        let head = |(host, name): (usize, &str)| {
            let pid = 1_000 + host * 37 % 9_000;
            format!(" {name} shop[{pid}]: level=").into_bytes().into_boxed_slice()
        };
        let hosts = names.iter().map(|name| &**name).enumerate().map(head).collect();
        let mut markers = Vec::new();
        let mut marker_ends = [0; MARKERS.len() + 1];
        for (at, (name, _)) in MARKERS.iter().enumerate() {
            markers.push(b' ');
            markers.extend_from_slice(name.as_bytes());
            marker_ends[at + 1] = markers.len();
        }
        let stamp = *b"0000-00-00T00:00:00.";
        Self { hosts, names, markers: markers.into(), marker_ends, second: i64::MIN, stamp }
    }

    /// The name of an event's host.
    #[must_use]
    pub fn host(&self, event: &Event) -> &str {
        self.name(event.host as usize)
    }

    /// The name of a host.
    #[must_use]
    pub fn name(&self, host: usize) -> &str {
        &self.names[host]
    }

    /// Appends the event's line, with a line feed.
    #[inline]
    pub fn write(&mut self, event: &Event, out: &mut Vec<u8>) {
        self.write_bare(event, out);
        out.push(b'\n');
    }

    /// Appends the event's line.
    #[inline]
    pub fn write_bare(&mut self, event: &Event, out: &mut Vec<u8>) {
        out.reserve(MAX_LINE);
        self.write_time(event.time, out);
        out.extend_from_slice(&self.hosts[event.host as usize]);
        out.extend_from_slice(event.level().as_bytes());
        out.extend_from_slice(b" method=");
        out.extend_from_slice(METHODS[usize::from(event.method)].0.as_bytes());
        out.extend_from_slice(b" path=");
        out.extend_from_slice(event.path().as_bytes());
        out.extend_from_slice(b" status=");
        write_number(u64::from(event.status), out);
        out.extend_from_slice(b" latency_ms=");
        write_number(u64::from(event.latency), out);
        out.extend_from_slice(b" bytes=");
        write_number(u64::from(event.bytes), out);
        out.extend_from_slice(b" user_id=");
        write_number(u64::from(event.user), out);
        out.extend_from_slice(b" session=");
        out.extend_from_slice(&hex(event.session));
        out.extend_from_slice(b" id=");
        write_number(event.number, out);
        out.extend_from_slice(&self.markers[..self.marker_ends[event.markers()]]);
        out.extend_from_slice(b" msg=\"");
        let [opening, middle, end] = message(event.message);
        out.extend_from_slice(opening.as_bytes());
        out.extend_from_slice(middle.as_bytes());
        out.extend_from_slice(end.as_bytes());
        out.push(b'"');
    }

    fn write_time(&mut self, time: i64, out: &mut Vec<u8>) {
        let (second, micros) = (time.div_euclid(1_000_000), time.rem_euclid(1_000_000));
        if second != self.second {
            self.second = second;
            self.stamp = stamp(second);
        }
        out.extend_from_slice(&self.stamp);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let micros = micros as usize;
        let [a, b] = PAIRS[micros / 10_000];
        let [c, d] = PAIRS[micros / 100 % 100];
        let [e, f] = PAIRS[micros % 100];
        out.extend_from_slice(&[a, b, c, d, e, f, b'Z']);
    }
}

/// The three parts of a message.
#[must_use]
pub fn message(parts: u16) -> [&'static str; 3] {
    let part = |at: u32| usize::from((parts >> (4 * at)) & 15);
    [OPENINGS[part(0)], MIDDLES[part(1)], ENDS[part(2)]]
}

/// `2026-11-20T21:00:00.`, in the years 0 to 9999.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn stamp(second: i64) -> [u8; 20] {
    let mut text = *b"0000-00-00T00:00:00.";
    let (days, clock) = (second.div_euclid(86_400), second.rem_euclid(86_400) as usize);
    let (year, month, day) = civil(days);
    let parts = [
        (0, year / 100),
        (2, year % 100),
        (5, month),
        (8, day),
        (11, clock / 3_600),
        (14, clock / 60 % 60),
        (17, clock % 60),
    ];
    for (at, value) in parts {
        text[at..at + 2].copy_from_slice(&PAIRS[value % 100]);
    }
    text
}

/// Year, month, day of a day since the epoch (Howard Hinnant's `civil_from_days`).
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(crate) fn civil(days: i64) -> (usize, usize, usize) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year.max(0) as usize, month as usize, day as usize)
}

/// Appends a number in decimal.
#[allow(clippy::cast_possible_truncation)]
pub(crate) fn write_number(mut value: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    while value >= 100 {
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[(value % 100) as usize]);
        value /= 100;
    }
    if value >= 10 {
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[value as usize]);
    } else {
        at -= 1;
        digits[at] = b'0' + value as u8;
    }
    out.extend_from_slice(&digits[at..]);
}

/// 16 hexadecimal digits.
#[must_use]
pub fn hex(value: u64) -> [u8; 16] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 16];
    for (at, byte) in value.to_be_bytes().into_iter().enumerate() {
        text[2 * at] = DIGITS[usize::from(byte >> 4)];
        text[2 * at + 1] = DIGITS[usize::from(byte & 15)];
    }
    text
}
