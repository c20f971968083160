//! Cuts byte streams into batches of whole events, so that each batch can be indexed on its own.
//!
//! Cuts are made where an indexer would end an event, whatever precedes it: at a match of `LINE_BREAKER`
//! and, if lines are merged, before a line that begins an event by the rules of its source type. Only the
//! end of the received data is searched; the indexer finds the events. Data after the last cut waits for
//! more, up to a limit. UTF-16 is searched as decoded text.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use knowledge::structured::RecordScanner;
use knowledge::timestamp::TimestampFinder;
use knowledge::{LineBreaker, ParsingRules};
use model::EventTime;

use crate::view::{Coding, View};

/// Size of the end that is searched for a cut first; if there is none, all data is searched.
const TAIL: usize = 64 << 10;

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
    finder: TimestampFinder,
    coding: Coding,
    sizes: Sizes,
    carry: Bytes,
}

impl std::fmt::Debug for Cutter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cutter").field("carry", &self.carry.len()).finish_non_exhaustive()
    }
}

impl Cutter {
    pub(crate) fn new(rules: Arc<ParsingRules>, coding: Coding, sizes: Sizes) -> Self {
        let finder = TimestampFinder::new(Arc::clone(&rules.timestamp));
        Self { rules, finder, coding, sizes, carry: Bytes::new() }
    }

    /// Number of bytes that wait for the rest of their event.
    pub(crate) fn pending(&self) -> u64 {
        self.carry.len() as u64
    }

    /// Adds bytes; returns the whole events. `end`: no further bytes follow.
    pub(crate) fn push(&mut self, bytes: Bytes, end: bool, now: EventTime) -> Vec<Piece> {
        let mut text = match self.carry.is_empty() {
            true => bytes,
            false => {
                let mut joined = BytesMut::with_capacity(self.carry.len() + bytes.len());
                joined.extend_from_slice(&std::mem::take(&mut self.carry));
                joined.extend_from_slice(&bytes);
                joined.freeze()
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
        self.carry = Bytes::copy_from_slice(&text);
        pieces
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
        if !self.coding.is_utf16() {
            return self.last_cut(bytes, now);
        }
        let view = View::new(&bytes[..self.coding.border(bytes)], self.coding);
        let cut = self.last_cut(view.text().as_bytes(), now)?;
        Some(Cut { end: view.place(cut.end), next: view.place(cut.next) })
    }

    /// The last cut in text.
    fn last_cut(&mut self, text: &[u8], now: EventTime) -> Option<Cut> {
        let simple = matches!(self.rules.line_breaker, LineBreaker::Newlines);
        if let Some(cut) = self.last_record(text) {
            return cut;
        }
        let merges = self.rules.should_linemerge && self.rules.structured.is_none();
        if simple && !merges {
            let end = memchr::memrchr2(b'\n', b'\r', text)? + 1;
            return Some(Cut { end, next: end });
        }
        let tail = text.len().saturating_sub(TAIL);
        if let Some(cut) = self.last_cut_from(text, tail, now) {
            return Some(cut);
        }
        if tail > 0 { self.last_cut_from(text, 0, now) } else { None }
    }

    /// The last cut of a structured source, whose values may have line feeds in quotes; `None` for other
    /// sources.
    fn last_record(&self, text: &[u8]) -> Option<Option<Cut>> {
        let structured = self.rules.structured.as_ref()?;
        let mut scanner = RecordScanner::new(structured, self.sizes.event)?;
        let (mut at, mut last) = (0, None);
        while let Some(found) = scanner.next(text, &mut at) {
            last = Some(Cut { end: found.next_start, next: found.next_start });
        }
        Some(last)
    }

    fn last_cut_from(&mut self, text: &[u8], from: usize, now: EventTime) -> Option<Cut> {
        let from = from.max(inputs::text::character_border(text, from));
        let whole = valid(&text[from..]);
        let mut breaks = Vec::new();
        let mut at = 0;
        while let Some((start, end)) = self.rules.line_breaker.next_gap(whole, at, false) {
            breaks.push((start, end));
            // An empty break must not be found again and again.
            at = if end > at { end } else { whole.ceil_char_boundary(at + 1) };
            if at >= whole.len() {
                break;
            }
        }
        if !self.rules.should_linemerge || self.rules.structured.is_some() {
            let (start, end) = *breaks.last()?;
            return Some(Cut { end: from + start, next: from + end });
        }
        // A line is checked only when it is complete: from one break to the next.
        for pair in breaks.windows(2).rev() {
            let ((before, start), (line_end, _)) = (pair[0], pair[1]);
            if begins_event(&self.rules, &mut self.finder, &whole[start..line_end], now) {
                return Some(Cut { end: from + before, next: from + start });
            }
        }
        let ends = self.rules.must_break_after.as_ref()?;
        for pair in breaks.windows(2).rev() {
            let ((_, start), (line_end, next)) = (pair[0], pair[1]);
            if ends.is_match(&whole[start..line_end]) {
                return Some(Cut { end: from + line_end, next: from + next });
            }
        }
        None
    }

    /// Cuts an event that is too long after its last line, or at a character boundary.
    fn forced(&self, text: &[u8]) -> Cut {
        let line = memchr::memrchr(b'\n', text).map(|at| at + 1);
        let line = line.filter(|_| !self.coding.is_utf16());
        let end = line.unwrap_or_else(|| self.coding.border(text));
        Cut { end, next: end }
    }
}

/// Whether a line begins an event, whatever precedes it.
pub(crate) fn begins_event(
    rules: &ParsingRules,
    finder: &mut TimestampFinder,
    line: &str,
    now: EventTime,
) -> bool {
    if rules.must_not_break_before.as_ref().is_some_and(|pattern| pattern.is_match(line)) {
        return false;
    }
    match &rules.break_only_before {
        Some(pattern) => pattern.is_match(line),
        None => rules.break_only_before_date && finder.find(line, now).is_some(),
    }
}

/// The longest valid UTF-8 prefix. In other character sets, line feeds are still found by the simple rules,
/// but merging needs text that it can read.
pub(crate) fn valid(text: &[u8]) -> &str {
    match std::str::from_utf8(text) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&text[..error.valid_up_to()]).unwrap_or_default(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::{Layer, Layers};
    use knowledge::Knowledge;
    use proptest::prelude::*;

    use super::*;

    const NOW: EventTime = EventTime(1_763_700_000_000_000);

    fn cutter(props: &str, batch: usize) -> Cutter {
        let layers = Layers::builtin().with(Layer::SystemLocal, "props", props);
        let rules = Knowledge::new(layers).parsing_rules("t", "s", "h");
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
}
