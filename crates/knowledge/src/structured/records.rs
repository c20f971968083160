//! Finds the ends of records: line ends outside of quotes, and the closing brackets of JSON.
//!
//! Logs of JSON objects ([`RecordScanner::objects`]) have one object per line; an object is read to its
//! closing bracket only if its opening bracket is alone on a line, as pretty-printers write it. Thus a
//! truncated line does not delay the following ones.
//!
//! Guarantees: a record that is not closed within its limits ends at its first line end, and the lines that
//! were scanned for its end are scanned at most once more.

use memchr::memchr2;

use super::{Delimiter, StructuredFormat, StructuredRules};

/// Maximum number of lines of a quoted record.
const LINES: usize = 256;

/// The boundary between two records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordBreak {
    /// The end of the previous record.
    pub line_end: usize,
    /// The start of the next record.
    pub next_start: usize,
    /// Whether the text before is not a record but brackets and commas of an array around records.
    pub is_gap: bool,
}

/// Finds the ends of records in text that comes in chunks.
#[derive(Debug, Clone)]
pub struct RecordScanner {
    kind: Kind,
    quote: u8,
    /// `None` for blanks.
    delimiter: Option<u8>,
    /// Maximum length of a record in bytes.
    limit: usize,
    /// Number of following line ends that are breaks, even inside of quotes.
    distrusted: usize,
    /// Number of open JSON arrays that contain records.
    arrays: usize,
    state: State,
}

/// How records end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// At line ends outside of quotes.
    Values,
    /// At closing brackets.
    Json,
    /// At line ends, or at the closing bracket if the opening one is alone on its line.
    Objects,
}

/// The state of the current record.
#[derive(Debug, Clone, Default)]
struct State {
    /// Number of bytes since its start.
    length: usize,
    begun: bool,
    in_quotes: bool,
    /// Whether the previous byte was a quote that may end the value, or a backslash in JSON.
    pending: bool,
    /// Whether a value has begun.
    in_value: bool,
    depth: usize,
    /// Whether the record is a line, because it does not begin with a bracket.
    plain: bool,
    /// Whether the record begins with a square bracket: an array of records, or the first character of a
    /// line.
    undecided: bool,
    /// Whether the record begins with a bracket, and nothing else is on its line so far.
    alone: bool,
    lines: usize,
    /// Length of the record up to its first line end.
    first_line: Option<usize>,
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

impl RecordScanner {
    /// Creates a scanner for the start of a stream; `None` if each line is a record. `limit` is the maximum
    /// length of a record in bytes.
    #[must_use]
    pub fn new(rules: &StructuredRules, limit: usize) -> Option<Self> {
        let byte = |c: char| u8::try_from(c).ok().filter(u8::is_ascii);
        let json = rules.format == StructuredFormat::Json;
        let quote = if json { Some(b'"') } else { rules.quote.and_then(byte) };
        let delimiter = match rules.delimiter {
            Delimiter::One(one) => byte(one),
            Delimiter::Blanks => None,
        };
        Some(Self {
            kind: if json { Kind::Json } else { Kind::Values },
            quote: quote?,
            delimiter,
            limit,
            distrusted: 0,
            arrays: 0,
            state: State::default(),
        })
    }

    /// Creates a scanner for a log of JSON objects, one per line or pretty-printed.
    #[must_use]
    pub fn objects(limit: usize) -> Self {
        Self {
            kind: Kind::Objects,
            quote: b'"',
            delimiter: None,
            limit,
            distrusted: 0,
            arrays: 0,
            state: State::default(),
        }
    }

    /// Returns the next break at or after `at`, and moves `at` to the position where scanning continues.
    /// `None` means that the text ends inside of a record: the caller appends more text at the new `at`, in a
    /// buffer that has the record from its start, or as much of it as is kept.
    pub fn next(&mut self, text: &[u8], at: &mut usize) -> Option<RecordBreak> {
        while *at < text.len() {
            if self.state.plain {
                let end = memchr2(b'\n', b'\r', &text[*at..]).unwrap_or(text.len() - *at);
                self.state.length += end;
                *at += end;
                if *at == text.len() {
                    return None;
                }
            }
            let here = *at;
            let found = match self.kind {
                Kind::Values => self.value_byte(text[here], here),
                Kind::Json | Kind::Objects => self.json_byte(text[here], here),
            };
            *at += 1;
            if let Some(found) = found {
                *at = found.next_start;
                self.state = State::default();
                return Some(found);
            }
        }
        None
    }

    /// Returns whether an array that contains records is open: then what follows depends on what precedes it.
    #[must_use]
    pub fn is_in_array(&self) -> bool {
        self.arrays > 0
    }

    fn value_byte(&mut self, byte: u8, at: usize) -> Option<RecordBreak> {
        let state = &mut self.state;
        state.length += 1;
        let is_delimiter = match self.delimiter {
            Some(delimiter) => byte == delimiter,
            None => matches!(byte, b' ' | b'\t'),
        };
        if state.in_quotes {
            if state.pending {
                state.pending = false;
                if byte == self.quote {
                    return None;
                }
                state.in_quotes = false;
            } else if byte == self.quote {
                state.pending = true;
                return None;
            }
        } else if byte == self.quote && !state.in_value {
            state.in_quotes = true;
            state.in_value = true;
            return None;
        }
        if is_line_end(byte) {
            return self.line_end(at);
        }
        if !state.in_quotes && is_delimiter {
            state.in_value = false;
        } else if byte != b' ' {
            state.in_value = true;
        }
        None
    }

    /// Handles a line end: it is a break, unless the record continues and is within its limits.
    fn line_end(&mut self, at: usize) -> Option<RecordBreak> {
        let state = &mut self.state;
        let here = RecordBreak { line_end: at, next_start: at + 1, is_gap: false };
        if !state.in_quotes && state.depth == 0 {
            self.distrusted = self.distrusted.saturating_sub(1);
            return Some(here);
        }
        if self.distrusted > 0 {
            self.distrusted -= 1;
            return Some(here);
        }
        state.lines += 1;
        let first = *state.first_line.get_or_insert(state.length - 1);
        let too_many = self.kind == Kind::Values && state.lines >= LINES;
        if !too_many && state.length <= self.limit {
            return None;
        }
        self.distrusted = state.lines - 1;
        // If the start of the record is no longer in the buffer, the record can only end here.
        let start = (at + 1).checked_sub(state.length);
        let end = start.map_or(at, |start| start + first);
        Some(RecordBreak { line_end: end, next_start: end + 1, is_gap: false })
    }

    fn json_byte(&mut self, byte: u8, at: usize) -> Option<RecordBreak> {
        let gap =
            |start: usize| Some(RecordBreak { line_end: start, next_start: start, is_gap: true });
        let state = &mut self.state;
        // The elements of an array are read to their closing brackets.
        let by_lines = self.kind == Kind::Objects && self.arrays == 0;
        if state.alone && !matches!(byte, b' ' | b'\t' | b'\r') {
            state.alone = false;
            state.plain = byte != b'\n';
            state.undecided &= !state.plain;
        }
        if !state.begun {
            if is_line_end(byte) || (byte.is_ascii_whitespace() && !by_lines) {
                return gap(at + 1);
            }
            if self.arrays > 0 && matches!(byte, b',' | b']') {
                self.arrays -= usize::from(byte == b']');
                return gap(at + 1);
            }
            state.begun = true;
            state.undecided = byte == b'[';
            state.plain = byte != b'{' && byte != b'[';
            state.alone = by_lines && !state.plain;
        } else if state.undecided && !byte.is_ascii_whitespace() {
            state.undecided = false;
            if byte == b'{' {
                self.arrays += 1;
                return gap(at);
            }
            state.plain = true;
        }
        state.length += 1;
        if state.undecided {
            return None;
        }
        if state.plain {
            if !is_line_end(byte) {
                return None;
            }
            self.distrusted = self.distrusted.saturating_sub(1);
            return Some(RecordBreak { line_end: at, next_start: at + 1, is_gap: false });
        }
        if state.in_quotes {
            match byte {
                // A string cannot contain a line end: the record is malformed.
                b'\n' => {
                    return Some(RecordBreak { line_end: at, next_start: at + 1, is_gap: false });
                }
                _ if state.pending => state.pending = false,
                b'\\' => state.pending = true,
                b'"' => state.in_quotes = false,
                _ => {}
            }
            return None;
        }
        match byte {
            b'"' => state.in_quotes = true,
            b'{' | b'[' => state.depth += 1,
            b'}' | b']' => {
                state.depth = state.depth.saturating_sub(1);
                if state.depth == 0 {
                    return Some(RecordBreak {
                        line_end: at + 1,
                        next_start: at + 1,
                        is_gap: false,
                    });
                }
            }
            _ if is_line_end(byte) => return self.line_end(at),
            _ => {}
        }
        None
    }
}
