//! Syslog framing (RFC 6587: line feeds and octet counts) and the host in a header (RFC 3164,
//! 5424); docs/decisions/0020.
//!
//! A message is kept as it was sent, priority included; only the byte order mark of RFC 5424 goes.

use std::borrow::Cow;
use std::net::IpAddr;

/// Cuts a TCP stream of syslog into messages.
#[derive(Debug, Default)]
pub(crate) struct Framer {
    buffer: Vec<u8>,
    /// Bytes of an oversized message still to be thrown away.
    skip: usize,
    /// Throwing away up to the next line feed.
    skip_line: bool,
    /// Whether the first message had an octet count; `None` before it.
    begins_counted: Option<bool>,
    /// Bytes that were thrown away.
    pub(crate) dropped: u64,
    /// Messages that were cut, each counted once.
    pub(crate) cut: u64,
}

impl Framer {
    /// Adds bytes, and passes every complete message to `emit`; a longer one is truncated at `limit`.
    pub(crate) fn push(&mut self, bytes: &[u8], limit: usize, emit: &mut impl FnMut(&[u8])) {
        self.buffer.extend_from_slice(bytes);
        let buffer = std::mem::take(&mut self.buffer);
        let mut rest = self.skipped(&buffer);
        while !rest.is_empty() {
            let Some(used) = self.frame(rest, limit, emit) else { break };
            rest = &rest[used..];
        }
        if rest.len() == buffer.len() {
            self.buffer = buffer;
        } else {
            self.buffer = rest.to_vec();
        }
    }

    /// Ends the stream: the remaining bytes are a message without a terminator.
    pub(crate) fn finish(&mut self, emit: &mut impl FnMut(&[u8])) {
        let rest = std::mem::take(&mut self.buffer);
        emit_trimmed(&rest, emit);
    }

    /// Whether the rest of a truncated message has not arrived yet.
    pub(crate) fn is_skipping(&self) -> bool {
        self.skip > 0 || self.skip_line
    }

    /// Continues to discard an oversized message.
    fn skipped<'a>(&mut self, buffer: &'a [u8]) -> &'a [u8] {
        let mut used = self.skip.min(buffer.len());
        self.skip -= used;
        if self.skip_line {
            let end = memchr::memchr(b'\n', buffer);
            self.skip_line = end.is_none();
            used = end.map_or(buffer.len(), |at| at + 1);
        }
        self.dropped += used as u64;
        &buffer[used..]
    }

    /// Reads one frame at the start; gives how many bytes it used, `None` if it is not complete.
    fn frame(&mut self, rest: &[u8], limit: usize, emit: &mut impl FnMut(&[u8])) -> Option<usize> {
        match octet_count(rest, self.begins_counted == Some(true), limit) {
            Count::Incomplete => return None,
            Count::Message { start, length } => {
                self.begins_counted.get_or_insert(true);
                let end = start.saturating_add(length);
                if end <= rest.len() && length <= limit {
                    emit_trimmed(&rest[start..end], emit);
                    return Some(end);
                }
                if length <= limit || rest.len() - start < limit {
                    return None;
                }
                emit_trimmed(&rest[start..start + limit], emit);
                self.cut += 1;
                self.skip = length - limit;
                let skipped = self.skip.min(rest.len() - start - limit);
                self.skip -= skipped;
                self.dropped += skipped as u64;
                return Some(start + limit + skipped);
            }
            Count::None => {}
        }
        match memchr::memchr2(b'\n', 0, rest) {
            Some(end) => {
                if end > 0 {
                    self.begins_counted.get_or_insert(false);
                }
                let kept = end.min(limit);
                self.dropped += (end - kept) as u64;
                self.cut += u64::from(end > kept);
                emit_trimmed(&rest[..kept], emit);
                Some(end + 1)
            }
            None if rest.len() > limit => {
                self.begins_counted.get_or_insert(false);
                emit_trimmed(&rest[..limit], emit);
                self.dropped += (rest.len() - limit) as u64;
                self.cut += 1;
                self.skip_line = true;
                Some(rest.len())
            }
            None => None,
        }
    }
}

fn emit_trimmed(message: &[u8], emit: &mut impl FnMut(&[u8])) {
    let end = message.iter().rposition(|byte| !b"\r\n\0".contains(byte)).map_or(0, |at| at + 1);
    if end > 0 {
        emit(&message[..end]);
    }
}

enum Count {
    None,
    Incomplete,
    Message { start: usize, length: usize },
}

/// `123 <34>...`: the length of the message, if the frame begins with one. `is_counted`: the connection has
/// begun with octet counting, so a message of at most `limit` bytes may be without priority.
fn octet_count(bytes: &[u8], is_counted: bool, limit: usize) -> Count {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 || digits > 9 || bytes[0] == b'0' {
        return Count::None;
    }
    match bytes.get(digits..) {
        Some([] | [b' ']) => Count::Incomplete,
        Some([b' ', first, ..]) => {
            let number = |value: usize, digit: &u8| value * 10 + usize::from(digit - b'0');
            let length = bytes[..digits].iter().fold(0, number);
            // Every syslog message begins with its priority; a line that merely begins with a number
            // is a line. After a wrong count, such a number may be a date: as a length, it would discard the
            // next 20 MB.
            if *first == b'<' || (is_counted && length <= limit) {
                Count::Message { start: digits + 1, length }
            } else {
                Count::None
            }
        }
        _ => Count::None,
    }
}

/// The host that a message names, if it has a header.
pub(crate) fn header_host(message: &[u8]) -> Option<&str> {
    let start = message[..message.len().min(512)].utf8_chunks().next()?.valid();
    let rest = match start.strip_prefix('<') {
        Some(rest) => {
            let (priority, rest) = rest.split_once('>')?;
            (priority.len() <= 3 && priority.bytes().all(|b| b.is_ascii_digit())).then_some(rest)?
        }
        None => start,
    };
    // `1 Oct 22:14:15 ` begins like the version of RFC 5424.
    let is_time =
        |text: &&str| text.starts_with("- ") || text.starts_with(|c: char| c.is_ascii_digit());
    let host = match rest.strip_prefix("1 ").filter(is_time) {
        Some(rest) => rest.split(' ').nth(1),
        None => after_old_time(rest)?.split(' ').next(),
    }?;
    let host = address_in_brackets(host).unwrap_or(host);
    let name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    let plausible = host.len() <= 255 && host.bytes().all(name);
    // `-- MARK --` is a message.
    let plausible = plausible && host.bytes().any(|byte| byte.is_ascii_alphanumeric());
    // `Oct 11 22:14:15 sshd[1]: ...` and `... su: ...` have no host.
    (plausible && !host.ends_with(':')).then_some(host)
}

/// Returns `10.1.2.4` for `[10.1.2.4]`. Other words in brackets, such as the seconds of a kernel, are not
/// hosts.
fn address_in_brackets(word: &str) -> Option<&str> {
    let address = word.strip_prefix('[')?.strip_suffix(']')?;
    address.parse::<IpAddr>().is_ok().then_some(address)
}

/// Returns the text after `Oct 11 22:14:15 `, also with a weekday, a year, a fraction, AM or PM, or a time
/// zone, after `11 Oct 2026 22:14:15 `, or after `2026-01-02T03:04:05Z `.
fn after_old_time(text: &str) -> Option<&str> {
    let text = without_weekday(text);
    // `2026 Oct 11 22:14:15 `, as switches write it.
    let text = match text.split_once(' ') {
        Some((word, rest)) if is_year(word) => rest.trim_start_matches(' '),
        _ => text,
    };
    let time = after_month_and_day(text).or_else(|| after_day_and_month(text)).unwrap_or_default();
    if let Some([_, _, b':', _, _, b':', _, _]) = time.as_bytes().get(..8) {
        let rest = without_fraction(time.get(8..)?);
        return rest.strip_prefix(' ').map(without_words_of_time);
    }
    let (time, rest) = text.split_once(' ')?;
    (time.len() >= 19 && time.as_bytes()[4] == b'-' && time.as_bytes()[10] == b'T').then_some(rest)
}

/// Returns the text without `Wed ` or `Wed, ` at its beginning.
fn without_weekday(text: &str) -> &str {
    const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    match text.split_once(' ') {
        Some((word, rest)) if WEEKDAYS.contains(&word.trim_end_matches(',')) => rest,
        _ => text,
    }
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Returns the text after `Oct 11 `, or after `Oct 11 2026 `, as firewalls write it.
fn after_month_and_day(text: &str) -> Option<&str> {
    text.get(..3).filter(|month| MONTHS.contains(month))?;
    let has_year = text
        .get(6..12)
        .is_some_and(|year| year.starts_with(' ') && year.ends_with(' ') && is_year(year.trim()));
    text.get(if has_year { 12 } else { 7 }..)
}

/// Returns the text after `11 Oct `, `11 Oct 2026 ` or `11-Oct-2026 `.
fn after_day_and_month(text: &str) -> Option<&str> {
    const SEPARATORS: [char; 3] = [' ', '-', '/'];
    let (day, rest) = text.trim_start_matches(' ').split_once(SEPARATORS)?;
    let is_day = day.len() <= 2 && day.bytes().all(|byte| byte.is_ascii_digit());
    let (month, rest) = rest.split_once(SEPARATORS).filter(|_| is_day)?;
    if !MONTHS.contains(&month) {
        return None;
    }
    let after_year = rest.split_once(' ').filter(|(word, _)| is_year(word));
    Some(after_year.map_or(rest, |(_, rest)| rest))
}

/// Returns the text without a fraction of a second, such as `.123` or `,123`, at its beginning.
fn without_fraction(text: &str) -> &str {
    match text.strip_prefix(['.', ',']) {
        Some(rest) => rest.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => text,
    }
}

/// Words for time zones that devices write behind the time.
const ZONES: [&str; 22] = [
    "UTC", "GMT", "WET", "WEST", "CET", "CEST", "EET", "EEST", "MSK", "BST", "IST", "JST", "EST",
    "EDT", "CST", "CDT", "MST", "MDT", "PST", "PDT", "AEST", "AEDT",
];

/// The text without AM or PM, a year and a time zone at its beginning, if other words follow.
fn without_words_of_time(mut text: &str) -> &str {
    let is_of_time =
        |word: &str| is_year(word) || ["AM", "PM"].contains(&word) || ZONES.contains(&word);
    for _ in 0..3 {
        match text.split_once(' ') {
            Some((word, rest)) if is_of_time(word) => text = rest,
            _ => break,
        }
    }
    text
}

/// Whether a word is a year from 1900 to 2099.
fn is_year(word: &str) -> bool {
    let is_recent = word.starts_with("19") || word.starts_with("20");
    is_recent && word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// The byte order mark that RFC 5424 demands before a text in UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// The message without a byte order mark before its text: in an event, it would be a part of the first word.
pub(crate) fn without_mark(message: &[u8]) -> Cow<'_, [u8]> {
    match text_start(message).filter(|at| message[*at..].starts_with(MARK)) {
        None => Cow::Borrowed(message),
        Some(at) => Cow::Owned([&message[..at], &message[at + MARK.len()..]].concat()),
    }
}

/// Returns the offset of the text in a message of RFC 5424; `None` for any other message, or if it has no
/// text.
fn text_start(message: &[u8]) -> Option<usize> {
    let close = message.iter().take(5).position(|byte| *byte == b'>')?;
    if message[0] != b'<' || !message[close + 1..].starts_with(b"1 ") {
        return None;
    }
    let mut at = close + 3;
    // The time, host, application, process and message ID.
    for _ in 0..5 {
        at += memchr::memchr(b' ', message.get(at..)?)? + 1;
    }
    let end = structured_data_end(message, at)?;
    (message.get(end) == Some(&b' ')).then_some(end + 1)
}

/// The place behind structured data: `-`, or elements in brackets, whose values are in quotes.
fn structured_data_end(message: &[u8], mut at: usize) -> Option<usize> {
    match message.get(at)? {
        b'-' => return Some(at + 1),
        b'[' => {}
        _ => return None,
    }
    let mut quoted = false;
    loop {
        match message.get(at)? {
            b'\\' if quoted => at += 1,
            b'"' => quoted = !quoted,
            b']' if !quoted && message.get(at + 1) != Some(&b'[') => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_octet_counts_may_alternate_and_be_torn() {
        let bytes = b"<1>one\n12 <2>two\nlines<3>three\r\n7 not syslog\n6 <4>end";
        for size in 1..=bytes.len() {
            let mut framer = Framer::default();
            let mut found = Vec::new();
            for chunk in bytes.chunks(size) {
                framer.push(chunk, 100, &mut |message| found.push(message.to_vec()));
            }
            framer.finish(&mut |message| found.push(message.to_vec()));
            let expected: [&[u8]; 5] =
                [b"<1>one", b"<2>two\nlines", b"<3>three", b"7 not syslog", b"<4>end"];
            assert_eq!(found, expected, "{size}");
        }
    }

    #[test]
    fn octet_counting_holds_for_the_connection_that_begins_with_it() {
        let counted: (&[u8], &[&[u8]]) = (
            b"8 <1>begin17 q06 no pri at all\n6 <4>end\n7 numbers3 a\nb<5>line\n",
            &[b"<1>begin", b"q06 no pri at all", b"<4>end", b"numbers", b"a\nb", b"<5>line"],
        );
        let number: (&[u8], &[&[u8]]) = (
            b"8 <1>begin20261129 10:00:01 login\n6 <4>end",
            &[b"<1>begin", b"20261129 10:00:01 login", b"<4>end"],
        );
        let lines: (&[u8], &[&[u8]]) =
            (b"\n17 lines\n6 <4>end2 lines\n", &[b"17 lines", b"<4>end", b"2 lines"]);
        for (bytes, expected) in [counted, number, lines] {
            for size in 1..=bytes.len() {
                let mut framer = Framer::default();
                let mut found = Vec::new();
                for chunk in bytes.chunks(size) {
                    framer.push(chunk, 100, &mut |message| found.push(message.to_vec()));
                }
                assert_eq!(found, expected, "{size}");
            }
        }
    }

    #[test]
    fn an_oversized_message_is_cut_and_the_next_one_is_whole() {
        for text in [&b"<1>aaaaaaaaaa\n<2>b\n"[..], b"13 <1>aaaaaaaaaa<2>b\n"] {
            for size in 1..=text.len() {
                let mut framer = Framer::default();
                let mut found = Vec::new();
                for chunk in text.chunks(size) {
                    framer.push(chunk, 5, &mut |message| found.push(message.to_vec()));
                }
                let expected: [&[u8]; 2] = [b"<1>aa", b"<2>b"];
                assert_eq!(found, expected, "{size}");
                assert_eq!((framer.cut, framer.is_skipping()), (1, false), "{size}");
            }
        }
    }

    #[test]
    fn the_mark_before_the_text_is_removed() {
        let cases = [
            ("<34>1 2026-01-02T03:04:05Z h a - - - \u{feff}text", true),
            ("<34>1 - - - - - [a b=\"] \\\" \u{feff}\"][c] \u{feff}text", true),
            ("<34>1 - - - - - [a] text \u{feff}", false),
            ("<34>1 - - - - - [a", false),
            ("<34>1 - - - - -", false),
            ("<34>Nov 28 10:00:00 h a: \u{feff}text", false),
            (">1 - - - - - \u{feff}text", false),
        ];
        for (message, has_mark) in cases {
            let kept = without_mark(message.as_bytes());
            let expected =
                if has_mark { message.replace("\u{feff}text", "text") } else { message.into() };
            assert_eq!(kept, expected.as_bytes(), "{message}");
        }
    }

    #[test]
    fn the_host_comes_from_either_header() {
        let cases = [
            ("<34>Oct 11 22:14:15 mymachine su: failed", Some("mymachine")),
            ("<34>1 2003-10-11T22:14:15.003Z host.example su - ID47 - x", Some("host.example")),
            ("<34>1 - - su - - - x", None),
            ("<13>2026-01-02T03:04:05.1Z web01 app: x", Some("web01")),
            ("Oct  1 02:14:15 gw kernel: x", Some("gw")),
            ("<13>Oct 11 22:14:15 su: x", None),
            ("<166>Nov 28 2026 10:00:00 fw1 : %ASA-6-302013: x", Some("fw1")),
            ("<166>Nov 28 2026 10:00:00 UTC fw1 : %ASA-6-302013: x", Some("fw1")),
            ("<166>Nov 28 2026 10:00:00: %ASA-6-302013: x", None),
            ("<34>Nov 28 10:00:00 [10.1.2.4] a: x", Some("10.1.2.4")),
            ("<34>Nov 28 10:00:00 [fe80::1] a: x", Some("fe80::1")),
            ("<34>Nov 28 10:00:00 [12.345] x", None),
            ("<34>Nov  8 10:00:00 2026 h a: x", Some("h")),
            ("<34>Nov  8 10:00:00 CET h a: x", Some("h")),
            ("<34>Nov  8 10:00:00 UTC 2026 h a: x", Some("h")),
            ("<34>Nov  8 10:00:00 UTC", Some("UTC")),
            ("<13>2025 Oct 11 22:14:15 chost sshd[1]: x", Some("chost")),
            ("<13>2025 Oct  1 22:14:15.5 UTC chost a: x", Some("chost")),
            ("<13>2025 chost a: x", None),
            ("<13>Oct 11 22:14:15.123 mshost app: x", Some("mshost")),
            ("<13>Oct 11 22:14:15,123 mshost app: x", Some("mshost")),
            ("<13>Oct 11 22:14:15: app: x", None),
            ("<13>Oct 11 22:14:15 2001:db8::1 sshd[1]: x", Some("2001:db8::1")),
            ("<14>Oct 11 22:14:15 PM host25 app: x", Some("host25")),
            ("<14>Oct 11 10:14:15 AM UTC 2023 host25 app: x", Some("host25")),
            ("<14>Wed Oct 11 22:14:15 2023 wdhost app: x", Some("wdhost")),
            ("<14>Wed, 11 Oct 2023 22:14:15 GMT wdhost app: x", Some("wdhost")),
            ("<14>Wed wdhost app: x", None),
            ("<14>11 Oct 2023 22:14:15 eurohost app: x", Some("eurohost")),
            ("<14> 1 Oct 22:14:15.5 eurohost app: x", Some("eurohost")),
            ("<14>1 Oct 2023 22:14:15 eurohost app: x", Some("eurohost")),
            ("<14>11-Oct-2023 22:14:15 eurohost app: x", Some("eurohost")),
            ("<14>11/Oct/2023 22:14:15: app: x", None),
            ("<14>11 Oct 2023", None),
            ("<14>111 Oct 2023 22:14:15 eurohost app: x", None),
            ("<13>Nov 28 10:00:00 -- MARK --", None),
            ("no header at all", None),
            ("<", None),
            ("<34>Oct 11 22:14:15 ", None),
        ];
        for (message, host) in cases {
            assert_eq!(header_host(message.as_bytes()), host, "{message}");
        }
    }
}
