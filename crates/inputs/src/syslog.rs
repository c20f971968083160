//! Syslog framing (RFC 6587: line feeds and octet counts) and the host in a header (RFC 3164,
//! 5424).
//!
//! A message is kept as it was sent, priority included.

/// Cuts a TCP stream of syslog into messages.
#[derive(Debug, Default)]
pub(crate) struct Framer {
    buffer: Vec<u8>,
    /// Bytes of an oversized message still to be thrown away.
    skip: usize,
    /// Throwing away up to the next line feed.
    skip_line: bool,
    /// Bytes that were thrown away.
    pub(crate) dropped: u64,
}

impl Framer {
    /// Takes bytes and hands every complete message to `emit`; a longer one is cut at `limit`.
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

    /// What is left is a message that had no end.
    pub(crate) fn finish(&mut self, emit: &mut impl FnMut(&[u8])) {
        let rest = std::mem::take(&mut self.buffer);
        emit_trimmed(&rest, emit);
    }

    /// Goes on throwing away an oversized message.
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
        match octet_count(rest) {
            Count::Incomplete => return None,
            Count::Message { start, length } => {
                let end = start.saturating_add(length);
                if end <= rest.len() && length <= limit {
                    emit_trimmed(&rest[start..end], emit);
                    return Some(end);
                }
                if length <= limit || rest.len() - start < limit {
                    return None;
                }
                emit_trimmed(&rest[start..start + limit], emit);
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
                let kept = end.min(limit);
                self.dropped += (end - kept) as u64;
                emit_trimmed(&rest[..kept], emit);
                Some(end + 1)
            }
            None if rest.len() > limit => {
                emit_trimmed(&rest[..limit], emit);
                self.dropped += (rest.len() - limit) as u64;
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

/// `123 <34>...`: the length of the message, if the frame begins with one.
fn octet_count(bytes: &[u8]) -> Count {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 || digits > 9 || bytes[0] == b'0' {
        return Count::None;
    }
    match bytes.get(digits..) {
        Some([] | [b' ']) => Count::Incomplete,
        // Every syslog message begins with its priority; a line that merely begins with a number
        // is a line.
        Some([b' ', b'<', ..]) => {
            let number = |value: usize, digit: &u8| value * 10 + usize::from(digit - b'0');
            let length = bytes[..digits].iter().fold(0, number);
            Count::Message { start: digits + 1, length }
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
    let host = if let Some(rest) = rest.strip_prefix("1 ") {
        let mut parts = rest.split(' ');
        let time = parts.next()?;
        (time == "-" || time.starts_with(|c: char| c.is_ascii_digit())).then(|| parts.next())?
    } else {
        after_old_time(rest).and_then(|rest| rest.split(' ').next())
    }?;
    let name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    let plausible = !host.is_empty() && host != "-" && host.len() <= 255 && host.bytes().all(name);
    // `Oct 11 22:14:15 sshd[1]: ...` and `... su: ...` have no host.
    (plausible && !host.ends_with(':')).then_some(host)
}

/// What follows `Oct 11 22:14:15 ` or `2026-01-02T03:04:05Z `.
fn after_old_time(text: &str) -> Option<&str> {
    const MONTHS: &str = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec";
    if let (Some(month), Some(time)) = (text.get(..3), text.get(4..16)) {
        let clock = time.as_bytes();
        if MONTHS.contains(month) && clock[5] == b':' && clock[8] == b':' && clock[11] == b' ' {
            return text.get(16..);
        }
    }
    let (time, rest) = text.split_once(' ')?;
    (time.len() >= 19 && time.as_bytes()[4] == b'-' && time.as_bytes()[10] == b'T').then_some(rest)
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
            }
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
            ("no header at all", None),
            ("<", None),
            ("<34>Oct 11 22:14:15 ", None),
        ];
        for (message, host) in cases {
            assert_eq!(header_host(message.as_bytes()), host, "{message}");
        }
    }
}
