//! Splits whole text into events, for rules that decide about each: the boundaries by the rules of the
//! source type, and whether two events can be adjacent when those between them are removed.
//!
//! Guarantees: the spans of a text cover it without gaps. Only streams with such rules are split here; for
//! others, only the last boundary is searched (`cutter`).

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use inputs::text::nuls_around;
use knowledge::structured::{StructuredFormat, StructuredReader};
use knowledge::timestamp::TimestampFinder;
use knowledge::{LineBreaker, MergeRules, MergeState, ParsingRules};
use model::EventTime;

use crate::view::View;

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    /// Start of the next span.
    pub(crate) next: usize,
    /// Its lines among those of the splitter; empty for a header, a comment, and brackets around records.
    lines: Range<usize>,
    /// Whether its first line begins an event, whatever precedes it.
    begins: bool,
    /// Whether no line can continue it.
    closed: bool,
    /// Whether every line continues it until one ends it (`MUST_NOT_BREAK_AFTER`).
    held: bool,
}

impl Span {
    pub(crate) fn is_event(&self) -> bool {
        !self.lines.is_empty()
    }
}

/// A line of a text.
#[derive(Debug, Clone, Copy)]
struct Line {
    start: usize,
    end: usize,
    next: usize,
    /// Whether it is not part of a record.
    is_gap: bool,
}

impl Line {
    /// Its text, without the mark at the beginning of a source.
    fn content<'t>(&self, text: &'t str) -> &'t str {
        let content = &text[self.start..self.end];
        content.strip_prefix('\u{FEFF}').filter(|_| self.start == 0).unwrap_or(content)
    }
}

/// See the module.
pub(crate) struct Splitter {
    rules: Arc<ParsingRules>,
    /// `None` if lines are not merged.
    merge: Option<Arc<MergeRules>>,
    finder: TimestampFinder,
    /// Maximum size of a record in bytes.
    limit: usize,
    /// Lines of the events of the last text.
    lines: Vec<Range<usize>>,
}

impl std::fmt::Debug for Splitter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Splitter").finish_non_exhaustive()
    }
}

impl Splitter {
    pub(crate) fn new(rules: Arc<ParsingRules>, limit: usize) -> Self {
        let finder = TimestampFinder::new(Arc::clone(&rules.timestamp));
        let merge = MergeRules::new(&rules, limit).filter(|_| !rules.otlp).map(Arc::new);
        Self { rules, merge, finder, limit, lines: Vec::new() }
    }

    /// Whether records are JSON values, which do not depend on their surroundings.
    pub(crate) fn is_json(&self) -> bool {
        let structured = self.rules.structured.as_ref();
        structured.is_some_and(|rules| rules.format == StructuredFormat::Json)
    }

    /// The spans of a text.
    pub(crate) fn split(&mut self, text: &str, now: EventTime) -> Vec<Span> {
        self.lines.clear();
        let lines = self.lines_of(text);
        let mut spans = match self.merge.clone() {
            Some(merge) => self.merged(&merge, text, &lines, now),
            None => self.each_line(text, &lines),
        };
        let end = spans.last().map_or(0, |span| span.next);
        if end < text.len() {
            spans.push(self.no_event(end, text.len()));
        }
        spans
    }

    /// The text of an event, in the form that rules see.
    pub(crate) fn text_of<'v>(&self, span: &Span, view: &'v View<'_>) -> Cow<'v, str> {
        let lines = &self.lines[span.lines.clone()];
        if let [one] = lines {
            let limit = self.rules.truncate.filter(|_| self.merge.is_none()).unwrap_or(usize::MAX);
            let end = view.text().floor_char_boundary(one.end.min(one.start.saturating_add(limit)));
            return view.part(one.start..end);
        }
        let lines: Vec<_> = lines.iter().map(|line| view.part(line.clone())).collect();
        Cow::Owned(lines.join("\n"))
    }

    /// Whether the boundary between two events stays the same if they become adjacent.
    pub(crate) fn joins(&self, before: &Span, after: &Span, text: &str) -> bool {
        if self.rules.structured.is_some() {
            return self.is_json() || before.next > self.lines[before.lines.end - 1].end;
        }
        if self.merge.is_some() && !before.closed && (before.held || !after.begins) {
            return false;
        }
        let last = &self.lines[before.lines.end - 1];
        if matches!(self.rules.line_breaker, LineBreaker::Newlines) {
            return before.next > last.end;
        }
        // The matches of a pattern depend on the surrounding text.
        let first = &self.lines[after.lines.start];
        let second = self.lines.get(after.lines.start + 1).filter(|_| after.lines.len() > 1);
        let end = second.map_or(after.next, |line| line.start);
        let joined = format!("{}{}", &text[last.start..before.next], &text[after.start..end]);
        let breaker = &self.rules.line_breaker;
        let mut gap = breaker.next_gap(&joined, 0, false);
        if gap == Some((0, 0)) {
            // An empty break before the first event.
            gap = breaker.next_gap(&joined, joined.ceil_char_boundary(1), false);
        }
        gap == Some((last.len(), before.next - last.start)) && first.start == after.start
    }

    fn lines_of(&self, text: &str) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut start = 0;
        let mut scanner = self.rules.records(self.limit);
        let has_records = scanner.is_some();
        if let Some(scanner) = &mut scanner {
            let mut at = 0;
            while let Some(found) = scanner.next(text.as_bytes(), &mut at) {
                let (end, next, is_gap) = (found.line_end, found.next_start, found.is_gap);
                lines.push(Line { start, end, next, is_gap });
                start = next;
            }
        } else {
            let mut from = 0;
            while let Some((end, next)) = self.rules.line_breaker.next_gap(text, from, true) {
                if end >= start {
                    lines.push(Line { start, end, next: next.max(end), is_gap: false });
                    start = next.max(end);
                }
                // An empty break must not be found again and again.
                from = if start > from { start } else { text.ceil_char_boundary(from + 1) };
                if from >= text.len() {
                    break;
                }
            }
        }
        if start < text.len() {
            let rest = &text[start..];
            // The characters that the indexer removes from the end of a batch.
            let end = start
                + match &self.rules.line_breaker {
                    _ if has_records => rest.trim_ascii_end().len(),
                    LineBreaker::Newlines => rest.len(),
                    LineBreaker::Pattern(_) => rest.trim_end_matches(['\r', '\n']).len(),
                };
            lines.push(Line { start, end, next: text.len(), is_gap: false });
        }
        for line in &mut lines {
            let (before, behind) = nuls_around(&text.as_bytes()[line.start..line.end]);
            line.start += before;
            line.end -= behind;
        }
        lines
    }

    fn no_event(&self, start: usize, next: usize) -> Span {
        let none = self.lines.len()..self.lines.len();
        Span { start, next, lines: none, begins: false, closed: true, held: false }
    }

    fn event(&mut self, start: usize, line: Line) -> Span {
        let first = self.lines.len();
        self.lines.push(line.start..line.end);
        let lines = first..first + 1;
        Span { start, next: line.next, lines, begins: true, closed: true, held: false }
    }

    /// One event per line, except for lines that are not events.
    fn each_line(&mut self, text: &str, lines: &[Line]) -> Vec<Span> {
        let mut reader = self.rules.structured.clone().map(StructuredReader::new);
        let mut spans: Vec<Span> = Vec::with_capacity(lines.len());
        for line in lines {
            let content = line.content(text);
            let is_event = !line.is_gap
                && !content.is_empty()
                && !self.rules.preamble.as_ref().is_some_and(|pattern| pattern.is_match(content))
                && reader.as_mut().is_none_or(|reader| reader.is_event(content));
            let start = spans.last().map_or(0, |span| span.next);
            let span = match is_event {
                true => self.event(start, *line),
                false => self.no_event(start, line.next),
            };
            spans.push(span);
        }
        spans
    }

    /// Lines that do not begin an event continue the previous one.
    fn merged(
        &mut self,
        merge: &MergeRules,
        text: &str,
        lines: &[Line],
        now: EventTime,
    ) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        let mut state = MergeState::default();
        for line in lines {
            let content = self.rules.truncated(line.content(text));
            let preamble = self.rules.preamble.as_ref();
            if content.is_empty() || preamble.is_some_and(|pattern| pattern.is_match(content)) {
                if let Some(open) = spans.last_mut() {
                    open.next = line.next;
                }
                continue;
            }
            let has_time = merge.reads_times() && self.finder.find(content, now).is_some();
            let begins = merge.add(&mut state, content, has_time).is_some();
            match spans.last_mut().filter(|_| !begins) {
                Some(open) => {
                    self.lines.push(line.start..line.end);
                    open.lines.end += 1;
                    open.next = line.next;
                }
                None => {
                    let start = spans.last().map_or(0, |span| span.next);
                    let event = self.event(start, *line);
                    let begins = merge.begins_event(content, has_time);
                    spans.push(Span { begins, ..event });
                }
            }
            if let Some(open) = spans.last_mut() {
                open.closed = state.is_closed(merge);
                open.held = state.is_held();
            }
        }
        spans
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::{Layer, Layers};
    use knowledge::{Charset, Knowledge};
    use proptest::prelude::*;

    use super::*;
    use crate::view::Coding;

    const NOW: EventTime = EventTime(1_763_700_000_000_000);

    fn splitter(props: &str) -> Splitter {
        let layers = Layers::builtin().with(Layer::SystemLocal, "props", &format!("[t]\n{props}"));
        Splitter::new(Knowledge::new(layers).parsing_rules("t", "s", "h"), 1 << 20)
    }

    /// The texts of the events.
    fn events(props: &str, text: &str) -> Vec<String> {
        let mut splitter = splitter(props);
        let view = View::new(text.as_bytes(), Coding::of(Charset::Utf8, b"", None));
        let spans = splitter.split(text, NOW);
        let events = spans.iter().filter(|span| span.is_event());
        events.map(|span| splitter.text_of(span, &view).into_owned()).collect()
    }

    #[test]
    fn lines_are_events() {
        let props = "SHOULD_LINEMERGE = false";
        assert_eq!(events(props, "\na\r\n\r\nb\nc"), ["a", "b", "c"]);
        let props = "SHOULD_LINEMERGE = false\nPREAMBLE_REGEX = ^#\nTRUNCATE = 3";
        assert_eq!(events(props, "#x\nabcde\n"), ["abc"]);
        let props = "SHOULD_LINEMERGE = false\nLINE_BREAKER = ([,]+)x";
        assert_eq!(events(props, "a,,xb,c,xd"), ["a", "xb,c", "xd"]);
        let props = "SHOULD_LINEMERGE = false";
        assert_eq!(events(props, "\0\0a\0\n\0\nb\0c\n"), ["a", "b\0c"]);
    }

    #[test]
    fn lines_are_merged_as_the_indexer_does() {
        let text = "2025-11-20 10:00:00 a\n  x\n\n  y\n2025-11-20 10:00:01 b\n";
        let expected = ["2025-11-20 10:00:00 a\n  x\n  y", "2025-11-20 10:00:01 b"];
        assert_eq!(events("SHOULD_LINEMERGE = true", text), expected);
        let text = "2025-11-20 10:00:00 a\n  at 2025-11-20 09:00:00\n2025-11-20 10:00:01 b\n";
        let expected = ["2025-11-20 10:00:00 a\n  at 2025-11-20 09:00:00", "2025-11-20 10:00:01 b"];
        assert_eq!(events("SHOULD_LINEMERGE = true", text), expected);
        let props = "BREAK_ONLY_BEFORE = ^>\nMUST_BREAK_AFTER = ;$\nMUST_NOT_BREAK_AFTER = \\{$";
        assert_eq!(
            events(props, ">a\nb;\nc\n>d {\n>e\nf;\n>g"),
            [">a\nb;", "c", ">d {\n>e\nf;", ">g"]
        );
        assert_eq!(
            events("BREAK_ONLY_BEFORE = ^>\nMAX_EVENTS = 2", ">a\nb\nc\nd"),
            [">a\nb", "c\nd"]
        );
    }

    #[test]
    fn records_are_events_and_headers_are_none() {
        let text = "a,b\n1,\"x\ny\"\n2,z\n";
        assert_eq!(events("INDEXED_EXTRACTIONS = csv", text), ["1,\"x\ny\"", "2,z"]);
        let text = "{\"a\":\n1}\n{\"a\":2}";
        assert_eq!(events("INDEXED_EXTRACTIONS = json", text), ["{\"a\":\n1}", "{\"a\":2}"]);
    }

    #[test]
    fn events_join_where_the_second_one_is_still_found() {
        let joins = |props: &str, text: &str| {
            let mut splitter = splitter(props);
            let spans = splitter.split(text, NOW);
            splitter.joins(&spans[0], &spans[2], text)
        };
        assert!(joins("SHOULD_LINEMERGE = false", "a\nb\nc\n"));
        assert!(joins("BREAK_ONLY_BEFORE = ^>", ">a\n>b\n>c\n"));
        // The third line begins an event only because the second one ends one.
        assert!(!joins("BREAK_ONLY_BEFORE = ^>\nMUST_BREAK_AFTER = ;$", ">a\n>b;\nc\n"));
        assert!(joins("SHOULD_LINEMERGE = false\nLINE_BREAKER = ([,]+)", "a,b,c,"));
        // The break after the first event is a break only before the second one.
        assert!(!joins("SHOULD_LINEMERGE = false\nLINE_BREAKER = (;)(?=b)|(,)", "a;b,c"));
    }

    #[test]
    fn spans_cover_any_text() {
        let config = ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() };
        let props = prop::sample::select(vec![
            "SHOULD_LINEMERGE = false",
            "SHOULD_LINEMERGE = true",
            "INDEXED_EXTRACTIONS = csv",
            "INDEXED_EXTRACTIONS = json",
            "LINE_BREAKER = (,)|(?=x)",
        ]);
        proptest!(config, |(props in props, text in "[a,x{}\"\\n\\[\\]ä ]{0,60}")| {
            let mut at = 0;
            for span in splitter(props).split(&text, NOW) {
                prop_assert_eq!(span.start, at);
                prop_assert!(span.next >= at && text.is_char_boundary(span.next));
                at = span.next;
            }
            prop_assert_eq!(at, text.len());
        });
    }
}
