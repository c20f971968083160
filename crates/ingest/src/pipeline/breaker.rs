//! Breaks the text of a stream into lines, chunk by chunk.
//!
//! A break is the match of the first group of the line breaker (`([\r
//! ]+)` by default): the text before it ends a line, the text after it begins the next, and the break itself
//! is dropped. Empty lines are dropped, and NULs at the start and end of lines. Structured sources
//! (`INDEXED_EXTRACTIONS`) break at the end of their records: line ends inside quotes and JSON objects do not
//! count. A line longer than the limit is truncated; the bytes beyond it are counted and not buffered, so
//! that memory stays within the limit and a chunk.

use std::sync::Arc;

use bytes::Bytes;
use inputs::text::{character_border, nuls_around};
use knowledge::Pattern;
use knowledge::structured::RecordScanner;
use memchr::memchr2;

/// Minimum number of bytes before the start of new text at which a break may begin, if the breaker is a regex
/// (`LINE_BREAKER_LOOKBEHIND`).
const LOOK_BEHIND: usize = 64 << 10;

/// The rule for line ends.
#[derive(Debug, Clone)]
pub(crate) enum Breaks {
    /// `([\r\n]+)`.
    Newlines,
    /// `LINE_BREAKER`, with `LINE_BREAKER_LOOKBEHIND`.
    Pattern(Arc<Pattern>, usize),
    /// The records of a structured source.
    Records(RecordScanner),
}

/// The end of a line and the start of the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Break {
    line_end: usize,
    next_start: usize,
    match_end: usize,
}

/// Returns the next break at or after `from`. The match of the first participating group is dropped; if none
/// participates, the break is before the match and nothing is dropped.
fn next_break(pattern: &Pattern, text: &str, from: usize) -> Option<Break> {
    let groups = pattern.groups_at(text, from)?;
    let whole = groups.span(0)?;
    let first = (1..pattern.names().len()).find_map(|group| groups.span(group));
    let (line_end, next_start) = first.unwrap_or((whole.0, whole.0));
    Some(Break { line_end, next_start, match_end: whole.1 })
}

/// A line in a block of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// Lines of one chunk.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// The text the lines are in; valid UTF-8.
    pub(crate) text: Bytes,
    pub(crate) lines: Vec<Line>,
    /// Starts of the truncated lines; `cut_bytes` has the number of bytes that they lost.
    pub(crate) cut: Vec<u32>,
    pub(crate) cut_bytes: u64,
    /// Length of the text that the lines cover, breaks included.
    pub(crate) covered: u32,
    /// Bytes of these lines that were dropped before they were copied to `text`.
    pub(crate) dropped: u64,
}

impl Lines {
    /// Returns the number of truncated lines.
    pub(crate) fn cut_lines(&self) -> u64 {
        self.cut.len() as u64
    }
}

/// The line breaking state of one stream.
#[derive(Debug)]
pub(crate) struct LineBreaker {
    breaks: Breaks,
    limit: usize,
    /// The unfinished line; only slightly longer than `limit`.
    carry: Vec<u8>,
    /// Bytes of the unfinished line that were already dropped.
    dropped: u64,
    /// Offset in `carry` from which to search for breaks, with a pattern.
    searched: usize,
}

impl LineBreaker {
    /// Creates a breaker; `limit` is the maximum length of a line in bytes.
    pub(crate) fn new(breaks: Breaks, limit: usize) -> Self {
        Self { breaks, limit, carry: Vec::new(), dropped: 0, searched: 0 }
    }

    /// Replaces the rules from here on; the unfinished line is kept.
    pub(crate) fn change(&mut self, breaks: Breaks, limit: usize) {
        (self.breaks, self.limit, self.searched) = (breaks, limit, 0);
    }

    /// Returns the bytes of text that wait for the end of their line.
    pub(crate) fn pending(&self) -> u64 {
        self.carry.len() as u64 + self.dropped
    }

    /// Processes the next text; `end` says that the unfinished line is complete.
    pub(crate) fn push(&mut self, text: Bytes, end: bool) -> Lines {
        match &mut self.breaks {
            Breaks::Newlines => self.push_newlines(text, end),
            Breaks::Pattern(pattern, behind) => {
                let (pattern, behind) = (Arc::clone(pattern), (*behind).max(LOOK_BEHIND));
                self.push_pattern(&pattern, behind, &text, end)
            }
            Breaks::Records(_) => self.push_records(&text, end),
        }
    }

    fn push_records(&mut self, chunk: &Bytes, end: bool) -> Lines {
        let mut whole = std::mem::take(&mut self.carry);
        whole.extend_from_slice(chunk);
        let whole = Bytes::from(whole);
        let mut out = Lines::default();
        let (mut start, mut at) = (0, self.searched);
        while let Breaks::Records(scanner) = &mut self.breaks
            && let Some(found) = scanner.next(&whole, &mut at)
        {
            if found.line_end > start && !found.is_gap {
                self.add(&mut out, &whole, start, found.line_end);
            }
            start = found.next_start;
        }
        if end && start < whole.len() {
            let line = whole[start..].trim_ascii_end().len();
            if line > 0 {
                self.add(&mut out, &whole, start, start + line);
            }
            start = whole.len();
        }
        let Ok(rest) = std::str::from_utf8(&whole[start..]) else {
            // The input has only whole characters, and records end at ASCII. If a defect breaks that, no text
            // is lost.
            return self.push_newlines(whole, end);
        };
        self.keep_for_pattern(rest, LOOK_BEHIND);
        out.covered = offset(start);
        out.text = whole;
        out
    }

    fn push_newlines(&mut self, mut text: Bytes, end: bool) -> Lines {
        if !self.carry.is_empty() {
            let Some(line_end) = memchr2(b'\n', b'\r', &text) else {
                self.keep(&text);
                return if end { self.finish_carry() } else { Lines::default() };
            };
            // The unfinished line may have reached its limit; text beyond it must not be copied.
            let head = text.split_to(line_end);
            self.keep(&head);
            let mut joined = std::mem::take(&mut self.carry);
            joined.extend_from_slice(&text);
            text = joined.into();
        }
        let mut out = Lines::default();
        let mut start = 0;
        for at in memchr::memchr2_iter(b'\n', b'\r', &text) {
            if at > start {
                self.add(&mut out, &text, start, at);
            }
            start = at + 1;
        }
        if end && start < text.len() {
            self.add(&mut out, &text, start, text.len());
            start = text.len();
        }
        // NULs before the next line are not kept: the line may be longer than the limit with them.
        start += text[start..].iter().take_while(|byte| **byte == 0).count();
        self.keep(&text[start..]);
        out.covered = offset(start);
        out.text = text;
        out
    }

    fn push_pattern(
        &mut self,
        pattern: &Pattern,
        behind: usize,
        chunk: &Bytes,
        end: bool,
    ) -> Lines {
        let mut whole = std::mem::take(&mut self.carry);
        whole.extend_from_slice(chunk);
        let whole = Bytes::from(whole);
        let Ok(text) = std::str::from_utf8(&whole) else {
            // The input has only whole characters, as do the lines. If a defect breaks that, no text is lost.
            return self.push_newlines(whole, end);
        };
        let mut out = Lines::default();
        let mut start = 0;
        let mut from = self.searched.saturating_sub(behind).min(whole.len());
        from = text.floor_char_boundary(from);
        while let Some(found) = next_break(pattern, text, from) {
            if found.match_end == text.len() && !end {
                // More text could make the match longer.
                break;
            }
            if found.line_end > start {
                self.add(&mut out, &whole, start, found.line_end);
            }
            start = found.next_start.max(start);
            // A group may end before the match does: the text after the group can have a break too.
            from = if start > from { start } else { text.ceil_char_boundary(from + 1) };
            if from >= text.len() {
                break;
            }
        }
        if end && start < text.len() {
            // A breaker with a look-ahead for the next event does not remove the line feed of the last one.
            let line_end = text.trim_end_matches(['\r', '\n']).len();
            if line_end > start {
                self.add(&mut out, &whole, start, line_end);
            }
            start = text.len();
        }
        self.keep_for_pattern(&text[start..], behind);
        out.covered = offset(start);
        out.text = whole;
        out
    }

    fn finish_carry(&mut self) -> Lines {
        let text = Bytes::from(std::mem::take(&mut self.carry));
        let mut out = Lines::default();
        self.add(&mut out, &text, 0, text.len());
        out.covered = offset(text.len());
        out.text = text;
        out
    }

    /// Adds the line `[start, end)` without NULs around it, truncated to the limit; none if nothing is left.
    fn add(&mut self, out: &mut Lines, text: &[u8], start: usize, end: usize) {
        let mut lost = std::mem::take(&mut self.dropped);
        out.dropped += lost;
        let (before, behind) = nuls_around(&text[start..end]);
        let (start, end) = (start + before, end - behind);
        if start == end {
            return;
        }
        let mut line_end = end;
        if end - start > self.limit {
            line_end = start + character_border(&text[start..end], self.limit);
            lost += (end - line_end) as u64;
        }
        if lost > 0 {
            out.cut.push(offset(start));
            out.cut_bytes += lost;
        }
        out.lines.push(Line { start: offset(start), end: offset(line_end) });
    }

    /// Keeps the start of the unfinished line, up to just over the limit (so that truncation sees the
    /// character at the border), and counts the rest.
    fn keep(&mut self, text: &[u8]) {
        let room = (self.limit + 4).saturating_sub(self.carry.len());
        let kept = match self.dropped {
            0 => character_border(text, room),
            // Bytes between the kept part and this text are already dropped.
            _ => 0,
        };
        self.carry.extend_from_slice(&text[..kept]);
        self.dropped += (text.len() - kept) as u64;
    }

    /// Keeps the start of the unfinished line and its end, where a break may have begun.
    fn keep_for_pattern(&mut self, text: &str, behind: usize) {
        if text.len() > self.limit + 4 + 3 * behind {
            let head = text.floor_char_boundary(self.limit + 4);
            let tail = text.ceil_char_boundary(text.len() - behind);
            self.dropped += (tail - head) as u64;
            self.carry = [&text.as_bytes()[..head], &text.as_bytes()[tail..]].concat();
        } else {
            self.carry = text.as_bytes().to_vec();
        }
        self.searched = self.carry.len();
    }
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).expect("a chunk and its unfinished line stay under 4 GiB")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
