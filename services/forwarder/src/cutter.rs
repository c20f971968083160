//! Cuts byte streams into batches of whole events, so that each batch can be indexed on its own.
//!
//! Cuts are made where an indexer would end an event: at a match of `LINE_BREAKER` and, if lines are merged,
//! where its rules ([`MergeRules`]) begin or end an event. The end of the received data is searched for a
//! line that does so whatever precedes it; if there is none, all lines are read in order. Data after the
//! last cut waits for more, up to a limit; each byte is searched a limited number of times, in however many
//! pieces an event arrives. UTF-16 is searched as decoded text; in other character sets line
//! ends and times are ASCII, so that bytes that are not UTF-8 do not matter.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use inputs::text::character_border;
use knowledge::timestamp::TimestampFinder;
use knowledge::{LineBreaker, MergeRules, MergeState, ParsingRules};
use model::EventTime;

use crate::view::{Coding, View, same_length};

/// Size of the end that is searched for a cut first; if there is none, all data is searched.
const TAIL: usize = 64 << 10;
/// Number of bytes before a line that `LINE_BREAKER` may look back at.
const BEFORE: usize = 256;

/// Text of whole events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) text: Bytes,
    /// Bytes of the stream that remain buffered after the piece.
    pub(crate) behind: u64,
}

/// A cut: an event ends at `end`, and the next one begins at `next`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cut {
    end: usize,
    next: usize,
}

/// A complete line, between two matches of `LINE_BREAKER`.
#[derive(Debug, Clone, Copy)]
struct Line {
    /// End of the line before.
    before: usize,
    start: usize,
    end: usize,
    /// Start of the next line.
    next: usize,
}

/// Size limits of a cutter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    /// Maximum size of a piece, if there is a cut.
    pub(crate) batch: usize,
    /// Size at which a piece without a cut ends.
    pub(crate) event: usize,
}

/// The cutting state of one stream.
pub(crate) struct Cutter {
    rules: Arc<ParsingRules>,
    /// `None` if lines are not merged.
    merge: Option<MergeRules>,
    finder: TimestampFinder,
    coding: Coding,
    sizes: Sizes,
    carry: BytesMut,
    /// Length of the carry from which it is searched from its beginning again, after a search without a cut.
    search_at: usize,
}

impl std::fmt::Debug for Cutter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cutter").field("carry", &self.carry.len()).finish_non_exhaustive()
    }
}

impl Cutter {
    pub(crate) fn new(rules: Arc<ParsingRules>, coding: Coding, sizes: Sizes) -> Self {
        let finder = TimestampFinder::new(Arc::clone(&rules.timestamp));
        let merge = MergeRules::new(&rules, sizes.event).filter(|_| !rules.otlp);
        Self { rules, merge, finder, coding, sizes, carry: BytesMut::new(), search_at: 0 }
    }

    /// Number of bytes that wait for the rest of their event.
    pub(crate) fn pending(&self) -> u64 {
        self.carry.len() as u64
    }

    /// Takes the bytes that wait for the rest of their event.
    pub(crate) fn take_carry(&mut self) -> Bytes {
        std::mem::take(&mut self.carry).freeze()
    }

    /// Sets the bytes that precede those to be added.
    pub(crate) fn set_carry(&mut self, carry: &[u8]) {
        self.carry = BytesMut::from(carry);
        self.search_at = 0;
    }

    /// Adds bytes; returns the whole events. `end`: no further bytes follow.
    pub(crate) fn push(&mut self, bytes: Bytes, end: bool, now: EventTime) -> Vec<Piece> {
        let mut text = match self.carry.is_empty() {
            true => bytes,
            false => {
                let known = self.carry.len();
                self.carry.extend_from_slice(&bytes);
                let is_due = end || self.carry.len() >= self.search_at;
                if !is_due && !self.has_cut_from(known, now) {
                    return Vec::new();
                }
                std::mem::take(&mut self.carry).freeze()
            }
        };
        let mut pieces = Vec::new();
        while !text.is_empty() {
            let Some(cut) = self.next_cut(&text, end, now) else { break };
            let piece = text.slice(..cut.end);
            text = text.slice(cut.next..);
            if !piece.is_empty() {
                pieces.push(Piece { text: piece, behind: text.len() as u64 });
            }
        }
        // Copied, so that a few bytes do not keep a large chunk in memory.
        self.carry = BytesMut::from(&text[..]);
        // Longer data is searched again when it has grown by a quarter: otherwise the time for an event of
        // megabytes in small pieces would be quadratic.
        self.search_at = match self.carry.len() {
            ..=TAIL => 0,
            long => (long + long / 4).min(self.sizes.event),
        };
        pieces
    }

    /// Whether there is a cut at a position of the carry or after it that is one whatever precedes it.
    /// Records and UTF-16 are only searched from their beginning.
    fn has_cut_from(&mut self, at: usize, now: EventTime) -> bool {
        if self.coding.is_utf16() || self.rules.records(self.sizes.event).is_some() {
            return false;
        }
        let newlines = matches!(self.rules.line_breaker, LineBreaker::Newlines);
        if self.merge.is_none() && newlines {
            return memchr::memchr2(b'\n', b'\r', &self.carry[at..]).is_some();
        }
        // From before the end of the last complete line, so that the next line is searched as a whole.
        let tail = at.saturating_sub(TAIL);
        let known = &self.carry[tail..at];
        // A break at the end of the known data was not one yet, as more of it could have followed: the line
        // before it is searched, too.
        let ended = known.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'));
        let ended = ended.map_or(0, |last| last + 1);
        let line = memchr::memrchr(b'\n', &known[..ended]).map_or(tail + ended, |end| tail + end);
        let from = character_border(&self.carry, line.saturating_sub(BEFORE));
        let carry = std::mem::take(&mut self.carry);
        let has_cut = self.has_cut_in(&readable(&carry[from..]), at - from, now);
        self.carry = carry;
        has_cut
    }

    /// Whether there is a cut at a position of a part of a text or after it, whatever precedes the part.
    fn has_cut_in(&mut self, part: &str, at: usize, now: EventTime) -> bool {
        let Some(merge) = self.merge.take() else {
            return self.last_gap(part).is_some_and(|gap| gap.next >= at);
        };
        let cut = self.last_certain(&merge, part, at, now);
        self.merge = Some(merge);
        cut.is_some()
    }

    /// Finds the end of the next piece.
    fn next_cut(&mut self, text: &[u8], end: bool, now: EventTime) -> Option<Cut> {
        // Half a UTF-16 unit at the end stays in the buffer until its other half arrives.
        let whole = if self.coding.is_utf16() { text.len() & !1 } else { text.len() };
        let rest = (end && whole > 0).then_some(Cut { end: whole, next: whole });
        if rest.is_some() && text.len() <= self.sizes.batch {
            return rest;
        }
        let mut window = self.sizes.batch;
        loop {
            let part = &text[..text.len().min(window)];
            // A cut at the very beginning would make an empty piece.
            if let Some(cut) = self.cut_in(part, now).filter(|cut| cut.next > 0) {
                return Some(cut);
            }
            if part.len() >= self.sizes.event {
                return Some(self.forced(part));
            }
            if part.len() == text.len() {
                return rest;
            }
            window = (window * 4).min(self.sizes.event);
        }
    }

    /// The last cut in encoded bytes.
    fn cut_in(&mut self, bytes: &[u8], now: EventTime) -> Option<Cut> {
        let is_full = bytes.len() >= self.sizes.event;
        if !self.coding.is_utf16() {
            return self.last_cut(bytes, is_full, now);
        }
        let view = View::new(&bytes[..self.coding.border(bytes)], self.coding);
        let cut = self.last_cut(view.text().as_bytes(), is_full, now)?;
        Some(Cut { end: view.place(cut.end), next: view.place(cut.next) })
    }

    /// The last cut in text. `is_full`: its source has the maximum length of an event.
    fn last_cut(&mut self, text: &[u8], is_full: bool, now: EventTime) -> Option<Cut> {
        if let Some(cut) = self.last_record(text, is_full) {
            return cut;
        }
        if self.merge.is_none() && matches!(self.rules.line_breaker, LineBreaker::Newlines) {
            let end = memchr::memrchr2(b'\n', b'\r', text)? + 1;
            return Some(Cut { end, next: end });
        }
        let tail = character_border(text, text.len().saturating_sub(TAIL));
        if let Some(Cut { end, next }) = self.last_in_part(&readable(&text[tail..]), now) {
            return Some(Cut { end: tail + end, next: tail + next });
        }
        match self.merge.take() {
            None if tail > 0 => self.last_gap(&readable(text)),
            None => None,
            Some(merge) => {
                let cut = self.last_in_order(&merge, &readable(text), now);
                self.merge = Some(merge);
                cut
            }
        }
    }

    /// The last cut of a part of a text, whatever precedes it.
    fn last_in_part(&mut self, part: &str, now: EventTime) -> Option<Cut> {
        let Some(merge) = self.merge.take() else { return self.last_gap(part) };
        let cut = self.last_certain(&merge, part, 0, now);
        self.merge = Some(merge);
        cut
    }

    /// The last cut of a source that breaks at the ends of records, which may have line ends in quotes;
    /// `None` for other sources.
    fn last_record(&self, text: &[u8], is_full: bool) -> Option<Option<Cut>> {
        let mut scanner = self.rules.records(self.sizes.event)?;
        let (mut at, mut last) = (0, None);
        while let Some(found) = scanner.next(text, &mut at) {
            // The rest of an array is not read as such without its beginning.
            if !scanner.is_in_array() || is_full {
                last = Some(Cut { end: found.next_start, next: found.next_start });
            }
        }
        Some(last)
    }

    /// The last line end of a source whose lines are events.
    fn last_gap(&self, text: &str) -> Option<Cut> {
        self.gaps(text).pop().map(|(end, next)| Cut { end, next })
    }

    /// The gaps between lines.
    fn gaps(&self, text: &str) -> Vec<(usize, usize)> {
        let mut gaps = Vec::new();
        let mut at = 0;
        while let Some((start, end)) = self.rules.line_breaker.next_gap(text, at, false) {
            gaps.push((start, end));
            // An empty break must not be found again and again.
            at = if end > at { end } else { text.ceil_char_boundary(at + 1) };
            if at >= text.len() {
                break;
            }
        }
        gaps
    }

    /// A line as the indexer merges it; `None` if it merges none, because it is empty or a preamble.
    fn content<'t>(&self, text: &'t str, line: Line) -> Option<&'t str> {
        let content = text.get(line.start..line.end)?;
        let content =
            content.strip_prefix('\u{FEFF}').filter(|_| line.start == 0).unwrap_or(content);
        let content = self.rules.truncated(content.trim_matches('\0'));
        let preamble = self.rules.preamble.as_ref();
        let is_line =
            !content.is_empty() && !preamble.is_some_and(|pattern| pattern.is_match(content));
        is_line.then_some(content)
    }

    fn has_time(&mut self, merge: &MergeRules, line: &str, now: EventTime) -> bool {
        merge.reads_times() && self.finder.find(line, now).is_some()
    }

    /// The last cut at a line that begins or ends an event whatever precedes it, among the lines that end
    /// at a position or after it.
    fn last_certain(
        &mut self,
        merge: &MergeRules,
        text: &str,
        at: usize,
        now: EventTime,
    ) -> Option<Cut> {
        let gaps = self.gaps(text);
        for pair in gaps.windows(2).rev().take_while(|pair| pair[1].1 >= at) {
            let ((before, start), (end, next)) = (pair[0], pair[1]);
            let line = Line { before, start, end: end.max(start), next: next.max(start) };
            let Some(content) = self.content(text, line) else { continue };
            if merge.ends_event(content) {
                return Some(Cut { end: line.end, next: line.next });
            }
            if !merge.holds_events() {
                let has_time = self.has_time(merge, content, now);
                if merge.begins_event(content, has_time) {
                    return Some(Cut { end: line.before, next: line.start });
                }
            }
        }
        None
    }

    /// The last cut of a text whose lines are read in order. It begins with an event.
    fn last_in_order(&mut self, merge: &MergeRules, text: &str, now: EventTime) -> Option<Cut> {
        let mut state = MergeState::default();
        let mut last = None;
        let (mut before, mut start) = (0, 0);
        for (end, next) in self.gaps(text) {
            if end < start {
                continue;
            }
            let line = Line { before, start, end, next: next.max(end) };
            (before, start) = (line.end, line.next);
            let Some(content) = self.content(text, line) else { continue };
            let has_time = self.has_time(merge, content, now);
            if merge.add(&mut state, content, has_time).is_some() && line.start > 0 {
                last = Some(Cut { end: line.before, next: line.start });
            }
            if state.is_closed(merge) {
                last = Some(Cut { end: line.end, next: line.next });
            }
        }
        last
    }

    /// Cuts an event that is too long after its last line, or at a character boundary.
    fn forced(&self, text: &[u8]) -> Cut {
        let line = memchr::memrchr(b'\n', text).map(|at| at + 1);
        let line = line.filter(|_| !self.coding.is_utf16());
        let end = line.unwrap_or_else(|| self.coding.border(text));
        Cut { end, next: end }
    }
}

/// The bytes as text with the same positions: invalid bytes become question marks, and an incomplete
/// character at the end is left out.
fn readable(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(error) if error.error_len().is_none() => {
            let valid = &bytes[..error.valid_up_to()];
            Cow::Borrowed(std::str::from_utf8(valid).unwrap_or_default())
        }
        Err(_) => same_length(bytes),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::{Layer, Layers};
    use knowledge::Knowledge;
    use proptest::prelude::*;

    use super::*;
    use crate::splitter::Splitter;

    const NOW: EventTime = EventTime(1_763_700_000_000_000);

    fn rules(props: &str) -> Arc<ParsingRules> {
        let layers = Layers::builtin().with(Layer::SystemLocal, "props", props);
        Knowledge::new(layers).parsing_rules("t", "s", "h")
    }

    fn cutter(props: &str, batch: usize) -> Cutter {
        let rules = rules(props);
        let coding = Coding::of(rules.charset, b"", None);
        Cutter::new(rules, coding, Sizes { batch, event: 1 << 20 })
    }

    fn pieces(cutter: &mut Cutter, chunks: &[&str]) -> Vec<String> {
        let mut out = Vec::new();
        for (number, chunk) in chunks.iter().enumerate() {
            let bytes = Bytes::copy_from_slice(chunk.as_bytes());
            let found = cutter.push(bytes, number + 1 == chunks.len(), NOW);
            out.extend(found.iter().map(|piece| String::from_utf8(piece.text.to_vec()).unwrap()));
        }
        out
    }

    #[test]
    fn lines_are_cut_behind_their_end() {
        let mut cutter = cutter("[t]\nSHOULD_LINEMERGE = false", 100);
        assert_eq!(pieces(&mut cutter, &["a\nb\nc", "d\ne", ""]), ["a\nb\n", "cd\n", "e"]);
    }

    #[test]
    fn merged_events_are_cut_before_a_line_that_begins_one() {
        let mut cutter = cutter("[t]\nSHOULD_LINEMERGE = true", 1000);
        let one = "2025-11-20 10:00:00 one\n  at x\n";
        let two = "2025-11-20 10:00:01 two\n  at y\n";
        let pieces = pieces(&mut cutter, &[one, two, "  at z\n", ""]);
        assert_eq!(pieces, [one.trim_end(), "2025-11-20 10:00:01 two\n  at y\n  at z\n"]);
    }

    #[test]
    fn nuls_before_a_line_do_not_hide_its_time() {
        let mut cutter = cutter("[t]\nSHOULD_LINEMERGE = true", 1000);
        let one = "2025-11-20 10:00:00 one\n";
        let two = format!("{}2025-11-20 10:00:01 two\n", "\0".repeat(200));
        let found = pieces(&mut cutter, &[one, &two, "  at z\n", ""]);
        assert_eq!(found, [one.trim_end(), &format!("{two}  at z\n")]);
    }

    #[test]
    fn an_indented_line_with_a_time_is_no_cut() {
        let mut cutter = cutter("[t]\nSHOULD_LINEMERGE = true", 1000);
        let one = "2025-11-20 10:00:00 one\n\tof 2025-11-20 09:00:00\n\tat x\n";
        let two = "2025-11-20 10:00:01 two\n";
        assert_eq!(
            pieces(&mut cutter, &[one, two, "\tat y\n", ""]),
            [one.trim_end(), "2025-11-20 10:00:01 two\n\tat y\n",]
        );
    }

    #[test]
    fn indented_events_are_cut_too() {
        let mut cutter = cutter("[t]\nSHOULD_LINEMERGE = true", 1000);
        let text = " 2025-11-20 10:00:00 one\n 2025-11-20 10:00:01 two\n x\n";
        let expected = [" 2025-11-20 10:00:00 one", " 2025-11-20 10:00:01 two\n x\n"];
        assert_eq!(pieces(&mut cutter, &[text, ""]), expected);
    }

    #[test]
    fn a_held_event_is_cut_behind_its_end() {
        let props = "[t]\nBREAK_ONLY_BEFORE = ^(BEGIN|2025)\nMUST_NOT_BREAK_AFTER = ^BEGIN\n\
                     MUST_BREAK_AFTER = ^END";
        let mut cutter = cutter(props, 1000);
        let lines = ["BEGIN 1\n", "2025-11-20 a\n", "2025-11-20 b\n", "END\n", "BEGIN 2\n", ""];
        let expected = ["BEGIN 1\n2025-11-20 a\n2025-11-20 b\nEND", "BEGIN 2\n"];
        assert_eq!(pieces(&mut cutter, &lines), expected);
    }

    #[test]
    fn pretty_printed_objects_are_not_torn() {
        let mut cutter = cutter("[t]\nSHOULD_LINEMERGE = false\nKV_MODE = json", 1000);
        let found = pieces(&mut cutter, &["{\n \"a\":", " 1\n}\n{\n", " \"b\": 2\n}\n", ""]);
        assert_eq!(found, ["{\n \"a\": 1\n}\n", "{\n \"b\": 2\n}\n"]);
    }

    #[test]
    fn elements_of_an_array_stay_together() {
        let mut cutter = cutter("[t]\nINDEXED_EXTRACTIONS = json", 1000);
        let found = pieces(&mut cutter, &["[{\"a\": 1},\n", "{\"a\": 2}]", "{\"a\": 3}", ""]);
        assert_eq!(found, ["[{\"a\": 1},\n{\"a\": 2}]", "{\"a\": 3}"]);
    }

    #[test]
    fn an_array_that_is_too_long_is_cut_between_elements() {
        let element = "{\"a\": 1},\n";
        let text = "[".to_owned() + &element.repeat((1 << 20) / element.len() + 1);
        let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (charset, bytes) in [("UTF-8", text.into_bytes()), ("UTF-16LE", utf16)] {
            let props = format!("[t]\nINDEXED_EXTRACTIONS = json\nCHARSET = {charset}");
            let found = cutter(&props, 1000).push(bytes.into(), false, NOW);
            let ends: &[&[u8]] = &[b"},\n", b"},", b"}", b"}\0,\0\n\0", b"}\0,\0", b"}\0"];
            let is_whole = ends.iter().any(|end| found[0].text.ends_with(end));
            assert!(is_whole, "{charset}: {:?}", found[0].text.slice(found[0].text.len() - 20..));
        }
    }

    #[test]
    fn the_text_of_a_break_by_pattern_is_left_out() {
        let mut cutter = cutter("[t]\nSHOULD_LINEMERGE = false\nLINE_BREAKER = ;([,]+)x", 100);
        assert_eq!(pieces(&mut cutter, &["1;,,x2;,,", "x3", ""]), ["1;", "x2;", "x3"]);
    }

    #[test]
    fn breaks_without_text_are_cuts_too() {
        let mut cutter = cutter("[t]\nSHOULD_LINEMERGE = false\nLINE_BREAKER = (?=>)()", 100);
        assert_eq!(pieces(&mut cutter, &[">ä>b", ">c", ""]), [">ä", ">b", ">c"]);
    }

    #[test]
    fn records_of_tables_are_not_torn_in_their_quotes() {
        let mut cutter = cutter("[t]\nINDEXED_EXTRACTIONS = csv", 100);
        assert_eq!(
            pieces(&mut cutter, &["a,b\n1,\"x\ny", "z\"\n2,", ""]),
            ["a,b\n", "1,\"x\nyz\"\n", "2,"]
        );
    }

    #[test]
    fn without_any_cut_a_piece_ends_at_the_limit() {
        let mut cutter = cutter("[t]\nSHOULD_LINEMERGE = false", 100);
        let long = "x".repeat((1 << 20) + 5);
        let found = pieces(&mut cutter, &[&long, ""]);
        assert_eq!(found.iter().map(String::len).collect::<Vec<_>>(), [1 << 20, 5]);
    }

    #[test]
    fn utf_16_is_cut_between_characters_and_events() {
        let encode =
            |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>();
        // These characters include the byte of a line feed.
        let text = "2025-11-20 10:00:00 \u{0A0A}\u{010A}\n  x\n2025-11-20 10:00:01 𝄞\n  y\n";
        for size in 1..40 {
            let mut cutter = cutter("[t]\nSHOULD_LINEMERGE = true\nCHARSET = UTF-16BE", 1000);
            let mut found = Vec::new();
            for chunk in encode(text).chunks(size) {
                found.extend(cutter.push(Bytes::copy_from_slice(chunk), false, NOW));
            }
            found.extend(cutter.push(Bytes::new(), true, NOW));
            let found: Vec<_> = found.iter().map(|piece| piece.text.to_vec()).collect();
            let first = "2025-11-20 10:00:00 \u{0A0A}\u{010A}\n  x";
            assert_eq!(found, [encode(first), encode("2025-11-20 10:00:01 𝄞\n  y\n")], "{size}");
        }
        let mut little = cutter("[t]\nSHOULD_LINEMERGE = false\nCHARSET = UTF-16LE", 100);
        let pieces = little.push(Bytes::from_static(b"a\0\n\0b\0\n"), true, NOW);
        assert_eq!((&pieces[0].text[..], pieces[0].behind), (&b"a\0\n\0b\0"[..], 1));
        assert_eq!(little.pending(), 1);
        let mut cutter = cutter("[t]\nSHOULD_LINEMERGE = false\nCHARSET = UTF-16BE", 100);
        let long = encode(&"𝄞".repeat(1 << 18));
        let pieces = cutter.push([&[0, b'a'][..], &long].concat().into(), true, NOW);
        let lengths: Vec<_> = pieces.iter().map(|piece| piece.text.len()).collect();
        assert_eq!(lengths, [(1 << 20) - 2, 4]);
    }

    #[test]
    fn long_data_without_a_cut_is_searched_again_when_it_has_grown() {
        let long = "x".repeat(100 << 10);
        let trace = "2025-11-20 10:00:00 a\n".to_owned() + &"  at y\n".repeat(15 << 10);
        let array = "[".to_owned() + &"{\"a\": 1},\n".repeat(10 << 10);
        let merged = "SHOULD_LINEMERGE = true\nMAX_EVENTS = 100000";
        let cases = [
            ("SHOULD_LINEMERGE = false", long.as_str(), "x", "\n"),
            ("SHOULD_LINEMERGE = false\nLINE_BREAKER = (;+)", long.as_str(), "x", ";;y"),
            (merged, trace.as_str(), "  at z\n", "2025-11-20 10:00:01 b\nc\n"),
            ("INDEXED_EXTRACTIONS = json", array.as_str(), "{\"a\": 1},\n", ""),
        ];
        for (props, long, more, next) in cases {
            let mut cutter = cutter(&format!("[t]\n{props}"), 1000);
            let mut push = |text: &str| {
                let found = cutter.push(Bytes::copy_from_slice(text.as_bytes()), false, NOW);
                let length = found.iter().map(|piece| piece.text.len()).sum::<usize>();
                (length, cutter.search_at)
            };
            let (length, search_at) = push(long);
            assert!(length == 0 && search_at > long.len() * 5 / 4 - 2, "{props}");
            // Not searched: it would be due later.
            assert_eq!(push(more), (0, search_at), "{props}");
            if next.is_empty() {
                let rest = more.repeat(long.len() / 4 / more.len() + 1);
                let (_, later) = push(rest.as_str());
                assert!(later > search_at, "{props}");
            } else {
                let (length, search_at) = push(next);
                assert!(length >= long.len() && search_at == 0, "{props}");
            }
        }
    }

    #[test]
    fn whole_lines_after_long_data_are_cuts_when_the_next_one_arrives() {
        let long = "x".repeat(100 << 10);
        let trace = "2025-11-20 10:00:00 a\n".to_owned() + &"  at y\n".repeat(15 << 10);
        let line = format!("2025-11-20 10:00:01 {}\n", "b".repeat(300));
        let cases = [
            (
                "SHOULD_LINEMERGE = true\nMAX_EVENTS = 100000",
                &trace,
                line.as_str(),
                "2025-11-20 10:00:02 c\n",
            ),
            ("SHOULD_LINEMERGE = false\nLINE_BREAKER = (;+)", &long, "x;", "y"),
        ];
        for (props, long, line, next) in cases {
            let mut cutter = cutter(&format!("[t]\n{props}"), 1000);
            let mut push = |text: &str| {
                let found = cutter.push(Bytes::copy_from_slice(text.as_bytes()), false, NOW);
                found.iter().map(|piece| piece.text.len()).sum::<usize>()
            };
            assert_eq!(push(long), 0, "{props}");
            push(line);
            assert!(push(next) >= long.trim_end().len(), "{props}");
        }
    }

    #[test]
    fn logs_that_are_not_utf_8_are_cut_between_their_events() {
        for charset in ["", "CHARSET = ISO-8859-1\n"] {
            let props = format!("[t]\n{charset}SHOULD_LINEMERGE = true");
            let mut merged = cutter(&props, 1000);
            let one = b"2025-11-20 10:00:00 Stra\xDFe\n  \xFCber\n";
            let two = b"2025-11-20 10:00:01 gr\xFCn\n  \xE9\n";
            assert!(merged.push(Bytes::from_static(one), false, NOW).is_empty());
            let found = merged.push(Bytes::from_static(two), false, NOW);
            assert_eq!(found.len(), 1, "{charset}");
            assert_eq!(&found[0].text[..], one.trim_ascii_end());
            let props = format!("[t]\n{charset}SHOULD_LINEMERGE = false\nLINE_BREAKER = (;)");
            let mut lines = cutter(&props, 1000);
            let found = lines.push(Bytes::from_static(b"\xE9;\xE9;\xE9"), false, NOW);
            assert_eq!(&found[0].text[..], b"\xE9;\xE9", "{charset}");
        }
    }

    #[test]
    fn nothing_is_lost_and_every_piece_is_whole_lines_whatever_the_chunks() {
        let config = ProptestConfig { cases: 100, failure_persistence: None, ..Default::default() };
        let lines = prop::collection::vec("[a-zäß ]{0,30}", 1..40);
        proptest!(config, |(lines in lines, size in 1usize..50)| {
            let text = lines.join("\n") + "\n";
            let mut cutter = cutter("[t]\nSHOULD_LINEMERGE = false", 64);
            let mut out = Vec::new();
            for chunk in text.as_bytes().chunks(size) {
                for piece in cutter.push(Bytes::copy_from_slice(chunk), false, NOW) {
                    prop_assert!(piece.text.ends_with(b"\n"));
                    out.extend_from_slice(&piece.text);
                }
            }
            for piece in cutter.push(Bytes::new(), true, NOW) {
                out.extend_from_slice(&piece.text);
            }
            prop_assert_eq!(String::from_utf8(out).unwrap(), text);
        });
    }
    /// The events of a text.
    fn events(rules: &Arc<ParsingRules>, text: &[u8]) -> Vec<String> {
        let view = View::new(text, Coding::of(rules.charset, b"", None));
        let mut splitter = Splitter::new(Arc::clone(rules), 1 << 20);
        let spans = splitter.split(view.text(), NOW);
        let events = spans.iter().filter(|span| span.is_event());
        let events = events.map(|span| splitter.text_of(span, &view).into_owned());
        // A pattern may leave the last line end to the last event, which the end of a batch removes.
        let events = events.map(|event| event.trim_end_matches(['\r', '\n']).to_owned());
        events.filter(|event| !event.is_empty()).collect()
    }

    const LINES: [&str; 15] = [
        "2025-11-20 10:00:00 one",
        "2025-11-20 10:00:01 two",
        " 2025-11-20 10:00:02 indented",
        "\tof 2025-11-20 10:00:03",
        "java.lang.X: expired at 2025-11-20 10:00:00",
        "\tat a.b.c(D.java:5)",
        "plain",
        // In Latin-1.
        "stra\u{DF}e",
        "",
        "BEGIN",
        "END",
        "# 2025-11-20 10:00:04 preamble",
        "{",
        "\"a\": 1",
        "}",
    ];

    const RULES: [&str; 12] = [
        "SHOULD_LINEMERGE = true",
        "SHOULD_LINEMERGE = true\nCHARSET = ISO-8859-1",
        "SHOULD_LINEMERGE = true\nMAX_EVENTS = 3",
        "SHOULD_LINEMERGE = true\nTRUNCATE = 12",
        "SHOULD_LINEMERGE = true\nBREAK_ONLY_BEFORE_DATE = false",
        "SHOULD_LINEMERGE = true\nMUST_NOT_BREAK_AFTER = ^BEGIN\nMUST_BREAK_AFTER = ^END",
        "SHOULD_LINEMERGE = true\nMUST_NOT_BREAK_BEFORE = one$\nPREAMBLE_REGEX = ^#",
        "BREAK_ONLY_BEFORE = ^\\d",
        "BREAK_ONLY_BEFORE = ^(BEGIN|2025)\nMUST_NOT_BREAK_AFTER = ^BEGIN\nMUST_BREAK_AFTER = ^END",
        "SHOULD_LINEMERGE = false",
        "SHOULD_LINEMERGE = false\nKV_MODE = json",
        "SHOULD_LINEMERGE = false\nLINE_BREAKER = ([\\r\\n]+)\\{",
    ];

    #[test]
    fn cuts_do_not_change_the_events() {
        for props in RULES {
            let rules = rules(&format!("[t]\n{props}"));
            let config =
                ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() };
            let lines = prop::collection::vec(prop::sample::select(LINES.to_vec()), 1..40);
            proptest!(config, |(lines in lines, chunk in 1usize..80, batch in 20usize..400)| {
                let text = lines.join("\n") + "\n";
                let latin1 = |c: char| u8::try_from(u32::from(c)).unwrap();
                let text: Vec<u8> = text.chars().map(latin1).collect();
                let coding = Coding::of(rules.charset, b"", None);
                let sizes = Sizes { batch, event: 1 << 20 };
                let mut cutter = Cutter::new(Arc::clone(&rules), coding, sizes);
                let mut pieces = Vec::new();
                for chunk in text.chunks(chunk) {
                    pieces.extend(cutter.push(Bytes::copy_from_slice(chunk), false, NOW));
                }
                pieces.extend(cutter.push(Bytes::new(), true, NOW));
                let mut found = Vec::new();
                for piece in pieces {
                    found.extend(events(&rules, &piece.text));
                }
                prop_assert_eq!(found, events(&rules, &text), "{}", props);
            });
        }
    }
}
