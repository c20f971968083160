//! Where a line has its times, and which of them is the event's own.

use super::stamp::{FORMS, Form, Stamp};

/// Times of text begin within these bytes.
const LEAD: usize = 128;

/// Keys of JSON objects whose values are times, the event's own first.
const KEYS: [&[u8]; 12] = [
    b"@timestamp",
    b"timestamp",
    b"ts",
    b"time",
    b"_time",
    b"eventTime",
    b"UtcTime",
    b"EventTime",
    b"date",
    b"EventReceivedTime",
    b"load_timestamp",
    b"_write_ts",
];

/// The times of a line with their places, in order, and which one is the event's own.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) stamps: Vec<(usize, Stamp)>,
    pub(super) own: Option<usize>,
}

/// Finds the times of a line.
pub(super) fn times(line: &[u8]) -> Found {
    let mut found = match line {
        [b'{', ..] | [b'[', b'{' | b'"', ..] => json(line),
        _ => text(line),
    };
    if let Some(own) = found.own {
        let own = found.stamps[own].1;
        // Years that only one of two times tells would pull them apart.
        for (_, stamp) in found.stamps.iter_mut().filter(|(_, stamp)| stamp.dated != own.dated) {
            *stamp = stamp.nearest_to(own.time);
        }
    }
    found
}

fn text(line: &[u8]) -> Found {
    let mut found = Found::default();
    let mut at = 0;
    while at < line.len().min(LEAD) {
        let begins = line[at].is_ascii_alphanumeric() && (at == 0 || !joins(line[at - 1]));
        let first = found.own.is_none();
        let read = |index: usize| {
            let form = &FORMS[index];
            let stamp = (first || form.certain).then(|| Form::read(index, &line[at..]))??;
            (!line.get(at + stamp.length).is_some_and(|next| goes_on(*next, form))).then_some(stamp)
        };
        let Some(stamp) = begins.then(|| (0..FORMS.len()).find_map(read)).flatten() else {
            at += 1;
            continue;
        };
        if found.own.is_none() && stamp.form().clock {
            found.own = Some(found.stamps.len());
        }
        found.stamps.push((at, stamp));
        at += stamp.length;
    }
    if found.own.is_none() {
        found.stamps.clear();
    }
    found
}

/// Whether a number behind this byte is part of something larger.
const fn joins(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b':' | b'/' | b'_' | b'=')
}

/// Whether the text goes on in a way that a time does not.
fn goes_on(next: u8, form: &Form) -> bool {
    match form.pattern {
        "%E" => next.is_ascii_alphanumeric() || matches!(next, b'-' | b'_' | b'.' | b':' | b'/'),
        _ => next.is_ascii_digit() || (next.is_ascii_lowercase() && !form.pattern.contains('T')),
    }
}

/// Values of known keys, and whatever in quotes looks like an ISO time.
fn json(line: &[u8]) -> Found {
    let mut found = Found::default();
    let mut best = usize::MAX;
    let mut at = 0;
    while let Some(quote) = memchr::memchr(b'"', &line[at..]).map(|found| at + found) {
        at = quote + 1;
        let Some(key) = key_before(line, quote) else { continue };
        let rank = KEYS.iter().position(|known| *known == key);
        let value = quote + 2;
        let quoted = line.get(value) == Some(&b'"');
        let start = value + usize::from(quoted);
        let rest = line.get(start..).unwrap_or_default();
        let forms = if quoted { 0..3 } else { FORMS.len() - 1..FORMS.len() };
        if !quoted && rank.is_none() {
            continue;
        }
        let Some(stamp) = forms.clone().find_map(|index| Form::read(index, rest)) else { continue };
        let rank = rank.unwrap_or(KEYS.len());
        if rank < best {
            best = rank;
            found.own = Some(found.stamps.len());
        }
        found.stamps.push((start, stamp));
        at = start + stamp.length;
    }
    found
}

/// The key that ends with this quote, if a value follows.
fn key_before(line: &[u8], quote: usize) -> Option<&[u8]> {
    if line.get(quote + 1) != Some(&b':') {
        return None;
    }
    let start = memchr::memrchr(b'"', &line[..quote])?;
    Some(&line[start + 1..quote])
}
