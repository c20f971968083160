//! Splits the events of a batch by the destinations that rules assign.
//!
//! Guarantees: a batch without dropped events is sent unchanged; dropped events are counted; the indexer
//! cuts the remaining text into the same events as without the rules, in the same order.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use model::EventTime;

use crate::rules::{RoutingDecision, Ruling};
use crate::splitter::{Span, Splitter};
use crate::view::{Coding, View};

/// The groups that a part is sent to; `None` for those of its input.
pub(crate) type Target = Option<Arc<[usize]>>;

/// The rules applied to a stream.
#[derive(Debug)]
pub(crate) struct Filter {
    ruling: Ruling,
    splitter: Splitter,
    coding: Coding,
}

impl Filter {
    pub(crate) fn new(ruling: Ruling, splitter: Splitter, coding: Coding) -> Self {
        Self { ruling, splitter, coding }
    }

    /// Whether rules may send events to other groups than those of the input.
    pub(crate) fn routes(&self) -> bool {
        self.ruling.routes()
    }

    /// Splits whole events by destination; `None` if all are sent to the groups of their input.
    pub(crate) fn parts(&mut self, piece: &Bytes, now: EventTime) -> Option<Vec<(Target, Bytes)>> {
        let view = View::new(piece, self.coding);
        let spans = self.splitter.split(view.text(), now);
        let mut targets: Vec<Target> = Vec::new();
        // The position of each event's target, if it has one.
        let mut places = Vec::with_capacity(spans.len());
        let mut whole = true;
        for span in &spans {
            let fate = match span.is_event() {
                true => {
                    let text = self.splitter.text_of(span, &view);
                    self.ruling.decide(&text, now, span.next - span.start)
                }
                false => RoutingDecision::Keep,
            };
            let target = match fate {
                RoutingDecision::Keep => Some(None),
                RoutingDecision::To(groups) => Some(Some(groups)),
                RoutingDecision::Drop => None,
            };
            whole &= target == Some(None);
            places.push(target.map(|target| place_of(&mut targets, target)));
        }
        self.ruling.count();
        if whole {
            return None;
        }
        let mut parts = Vec::new();
        for (place, target) in targets.iter().enumerate() {
            let mine = |at: usize| places[at] == Some(place);
            for text in texts(&self.splitter, &spans, &view, piece, &mine) {
                parts.push((target.clone(), text));
            }
        }
        Some(parts)
    }
}

/// The position of a target, which is added if it is new.
pub(crate) fn place_of(targets: &mut Vec<Target>, target: Target) -> usize {
    targets.iter().position(|known| *known == target).unwrap_or_else(|| {
        targets.push(target);
        targets.len() - 1
    })
}

/// Joins the text of some events, with the text around the records. Events that could not be told apart
/// without the events between them become separate texts.
fn texts(
    splitter: &Splitter,
    spans: &[Span],
    view: &View<'_>,
    piece: &Bytes,
    mine: &dyn Fn(usize) -> bool,
) -> Vec<Bytes> {
    let mut texts = Vec::new();
    let mut text = BytesMut::new();
    let mut last: Option<usize> = None;
    let mut begin = 0;
    let feed = splitter.is_json().then(|| view.line_feed());
    for (at, span) in spans.iter().enumerate() {
        let end = view.place(span.next);
        let bytes = &piece[begin..end];
        begin = end;
        if !span.is_event() {
            // Brackets and commas are meaningless without the records between them.
            if feed.is_none() {
                text.extend_from_slice(bytes);
            }
            continue;
        }
        if !mine(at) {
            continue;
        }
        if let Some(before) = last.filter(|before| before + 1 < at)
            && !splitter.joins(&spans[before], span, view.text())
        {
            texts.push(text.split().freeze());
        }
        if let Some(feed) = feed.as_ref().filter(|feed| !text.is_empty() && !text.ends_with(feed)) {
            text.extend_from_slice(feed);
        }
        text.extend_from_slice(bytes);
        last = Some(at);
    }
    // Headers alone are not events.
    if last.is_some() {
        texts.push(text.freeze());
    }
    texts
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::{Layer, Layers};
    use knowledge::{Charset, Knowledge, ParsingRules};
    use proptest::prelude::*;

    use super::*;
    use crate::rules::RuleBook;
    use crate::rules::tests::{book, meta, own};

    const TRANSFORMS: &str = "[null]\nREGEX = debug\nDEST_KEY = queue\nFORMAT = nullQueue\n\
                              [to_b]\nREGEX = error\nDEST_KEY = _TCP_ROUTING\nFORMAT = b\n";

    /// The parts of a filter.
    struct Setup {
        book: Arc<RuleBook>,
        rules: Arc<ParsingRules>,
    }

    type Parts = Option<Vec<(Vec<usize>, String)>>;

    impl Setup {
        fn new(props: &str) -> Self {
            let props = format!("[t]\nTRANSFORMS-x = null, to_b\n{props}");
            let book = book(&props, TRANSFORMS);
            let layers = Layers::builtin().with(Layer::SystemLocal, "props", &props);
            Self { book, rules: Knowledge::new(layers).parsing_rules("t", "s", "h") }
        }

        fn filter(&self) -> Filter {
            let ruling = self.book.of(&meta("t"), "t", &own()).unwrap();
            let coding = Coding::of(self.rules.charset, b"", None);
            Filter::new(ruling, Splitter::new(Arc::clone(&self.rules), 1 << 20), coding)
        }

        fn parts(&self, text: &str) -> Parts {
            let piece = Bytes::copy_from_slice(text.as_bytes());
            let shown = |(target, text): (Target, Bytes)| {
                let groups = target.map(|groups| groups.to_vec()).unwrap_or_default();
                (groups, String::from_utf8(text.to_vec()).unwrap())
            };
            let parts = self.filter().parts(&piece, EventTime(0))?;
            Some(parts.into_iter().map(shown).collect())
        }

        /// The events of a text, each with its decision.
        fn events(&self, text: &str) -> Vec<(String, Option<Vec<usize>>)> {
            let mut filter = self.filter();
            let view = View::new(text.as_bytes(), filter.coding);
            let spans = filter.splitter.split(text, EventTime(0));
            let mut events = Vec::new();
            for span in spans.iter().filter(|span| span.is_event()) {
                let event = filter.splitter.text_of(span, &view).into_owned();
                // The end of a batch has no line end, although a pattern may have left one to an event.
                let event = event.trim_end_matches(['\r', '\n']).to_owned();
                if event.is_empty() {
                    continue;
                }
                let fate = match filter.ruling.decide(&event, EventTime(0), 1) {
                    RoutingDecision::Keep => Some(vec![]),
                    RoutingDecision::To(groups) => Some(groups.to_vec()),
                    RoutingDecision::Drop => None,
                };
                events.push((event, fate));
            }
            events
        }
    }

    fn parts(props: &str, text: &str) -> Parts {
        Setup::new(props).parts(text)
    }

    #[test]
    fn a_batch_without_such_events_goes_as_it_is() {
        assert_eq!(parts("SHOULD_LINEMERGE = false", "a\nb\n"), None);
    }

    #[test]
    fn dropped_events_are_left_out_and_routed_ones_go_by_themselves() {
        let found = parts("SHOULD_LINEMERGE = false", "a\ndebug\nerror 1\nb\nerror 2");
        let expected =
            vec![(vec![], "a\nb\n".to_owned()), (vec![1], "error 1\nerror 2".to_owned())];
        assert_eq!(found, Some(expected));
        assert_eq!(parts("SHOULD_LINEMERGE = false", "debug\ndebug\n"), Some(vec![]));
    }

    #[test]
    fn an_event_of_several_lines_goes_as_a_whole() {
        let props = "BREAK_ONLY_BEFORE = ^>";
        let found = parts(props, ">a\nx\n>b\ndebug\n>c\n");
        assert_eq!(found, Some(vec![(vec![], ">a\nx\n>c\n".to_owned())]));
    }

    #[test]
    fn events_that_would_grow_together_are_kept_apart() {
        let props = "BREAK_ONLY_BEFORE = ^>\nMUST_BREAK_AFTER = ;$";
        let found = parts(props, ">a\n>debug;\nb\n");
        assert_eq!(found, Some(vec![(vec![], ">a\n".to_owned()), (vec![], "b\n".to_owned())]));
    }

    #[test]
    fn every_part_of_a_table_has_its_header() {
        let found = parts("INDEXED_EXTRACTIONS = csv", "x,y\n1,error\n2,debug\n3,fine\n");
        let expected =
            vec![(vec![], "x,y\n3,fine\n".to_owned()), (vec![1], "x,y\n1,error\n".to_owned())];
        assert_eq!(found, Some(expected));
    }

    #[test]
    fn what_is_left_is_cut_into_the_same_events() {
        let config =
            ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() };
        let rules = [
            "SHOULD_LINEMERGE = false",
            "SHOULD_LINEMERGE = false\nPREAMBLE_REGEX = ^#",
            "SHOULD_LINEMERGE = false\nLINE_BREAKER = (,+)|(?<=;)(#)|(?=>)",
            "BREAK_ONLY_BEFORE = ^>",
            "BREAK_ONLY_BEFORE = ^>\nMUST_BREAK_AFTER = ;$\nMUST_NOT_BREAK_AFTER = x$\nMAX_EVENTS = 3",
            "BREAK_ONLY_BEFORE = ^>\nLINE_BREAKER = ([,\\n]+)\nPREAMBLE_REGEX = ^#",
            "SHOULD_LINEMERGE = true",
            "INDEXED_EXTRACTIONS = csv",
            "INDEXED_EXTRACTIONS = json",
            "INDEXED_EXTRACTIONS = w3c",
        ];
        let setups = rules.map(Setup::new);
        let word = prop::sample::select(vec![
            "debug",
            "error",
            "a",
            "x",
            "\n",
            "\n>",
            "\n",
            ",",
            ";",
            "#",
            "\"",
            "{\"a\":",
            "}",
            "[",
            "]",
            "\n2025-11-20 10:00:00 ",
            "\r\n",
            "#Fields: a b\n",
        ]);
        proptest!(config, |(number in 0..setups.len(), words in prop::collection::vec(word, 0..40))| {
            // Without a header, the first record of words in a part of a table would be taken for one.
            let header = if rules[number].ends_with("csv") { "x,y\n" } else { "" };
            let (setup, text) = (&setups[number], format!("{header}{}", words.concat()));
            let all = setup.events(&text);
            let Some(parts) = setup.parts(&text) else {
                prop_assert!(all.iter().all(|(_, fate)| fate.as_deref() == Some(&[])));
                return Ok(());
            };
            let mut targets: Vec<_> = parts.iter().map(|(groups, _)| groups.clone()).collect();
            targets.dedup();
            for target in targets {
                let mine = all.iter().filter(|(_, fate)| fate.as_ref() == Some(&target));
                let expected: Vec<_> = mine.map(|(event, _)| event.clone()).collect();
                let texts = parts.iter().filter(|(groups, _)| *groups == target);
                let found = texts.flat_map(|(_, text)| setup.events(text));
                let found: Vec<_> = found.map(|(event, _)| event).collect();
                prop_assert_eq!(found, expected, "{}", text);
            }
        });
    }

    #[test]
    fn utf_16_is_filtered_too() {
        let encode = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Bytes>();
        let mut filter = Setup::new("CHARSET = UTF-16LE\nSHOULD_LINEMERGE = false").filter();
        assert_eq!(filter.coding.is_utf16(), Charset::parse("UTF-16LE").is_some());
        let found = filter.parts(&encode("ä世\ndebug 世\nüö\n"), EventTime(0)).unwrap();
        assert_eq!(found, [(None, encode("ä世\nüö\n"))]);
    }
}
