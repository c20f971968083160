//! Word filters never skip a granule of hot rows that has a match, and skip most others.

use std::cell::Cell;
use std::sync::Arc;

use bucket::{FieldExtractor, FieldSource, TermQuery, WordFilters, WordTest};
use proptest::prelude::*;

use crate::support::{Event, Pairs, batch, lines};
use crate::term_index::matches;

const GRANULE: usize = WordFilters::GRANULE_ROWS;

fn filters(events: &[Event], fields: Option<&dyn FieldSource>) -> WordFilters {
    WordFilters::of(&batch(events), fields, &|| true).unwrap()
}

fn may_have(filters: &WordFilters, query: &TermQuery) -> Vec<usize> {
    match WordTest::of(query) {
        Some(test) => filters.candidates(&test).iter().collect(),
        None => (0..filters.granules()).collect(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn candidates_have_every_match(
        raw in prop::collection::vec("[abAB1ä2Ä=. /-]{0,14}", 30..60),
        patterns in prop::collection::vec("[abAB1äÄ2=. ]{0,3}[*]{0,1}[ab1ä.]{0,2}[*]{0,1}", 8),
        step in 1_usize..7,
    ) {
        // Each granule has half of the texts, many times, and others than the one before.
        let text = |row: usize| &raw[row * step % (raw.len() / 2) + row / GRANULE * 7];
        let events = lines((0..3 * GRANULE - 5).map(text));
        let filters = filters(&events, None);
        prop_assert_eq!(filters.granules(), 3);
        let has = |pattern: &String| {
            let any = |granule| events[filters.rows(granule)].iter().any(|one| matches(one, pattern));
            [0, 1, 2].map(any)
        };
        let all: Vec<([bool; 3], TermQuery)> = patterns
            .iter()
            .map(|pattern| (has(pattern), TermQuery::for_wildcard(pattern).in_raw()))
            .collect();
        for pair in all.windows(2) {
            let [(one, query), (two, other)] = pair else { continue };
            let parts = || vec![query.clone(), other.clone()];
            let (either, both) = (TermQuery::or(parts()), TermQuery::and(parts()));
            for granule in 0..3 {
                let (one, two) = (one[granule], two[granule]);
                let may = |query: &TermQuery| may_have(&filters, query).contains(&granule);
                prop_assert!(may(query) || !one, "{:?} misses granule {}", query, granule);
                prop_assert!(may(&either) || !(one || two), "{:?} misses {}", either, granule);
                // Rows of the granule may have one each: words of a row are not known.
                let found = may(query) && may(other);
                prop_assert_eq!(may(&both), found, "{:?} in granule {}", both, granule);
            }
        }
    }
}

/// The third to fifth byte of a text as a field, which is a part of a word.
struct Parts;

impl FieldSource for Parts {
    fn extractor(&self, _: &str, _: &str, _: &str) -> Arc<dyn FieldExtractor> {
        Arc::new(Self)
    }
}

impl FieldExtractor for Parts {
    fn fingerprint(&self) -> u64 {
        7
    }

    fn extract(&self, raw: &str, emit: &mut dyn FnMut(&str, &str)) -> bool {
        emit("part", &raw[2..5]);
        emit("made", "from-nothing");
        true
    }
}

#[test]
fn words_of_every_column_and_of_extracted_values_are_found() {
    let mut events = lines((0..4 * GRANULE).map(|row| format!("abcdefg{}", row / GRANULE)));
    events[10].host = "Web-Ärger".to_owned();
    events[GRANULE].sourcetype = "odd:one".to_owned();
    events[2 * GRANULE].fields = Some(r#"{"a":"sent \"twice\"","b":["two","THREE"]}"#.to_owned());
    let word = |text: &str| TermQuery::for_text(text);
    let plain = filters(&events, None);
    assert_eq!(plain.rules(), None);
    for (text, granule) in [("ärger", 0), ("ODD", 1), ("twice", 2), ("three", 2), ("ABCDEFG3", 3)]
    {
        assert_eq!(may_have(&plain, &word(text)), [granule], "{text}");
    }
    for absent in ["cde", "from-nothing", "absent"] {
        assert_eq!(may_have(&plain, &word(absent)), Vec::<usize>::new(), "{absent}");
    }
    let extracted = filters(&events, Some(&Parts));
    let rules = [("app".to_owned(), 7), ("odd:one".to_owned(), 7)];
    assert_eq!(extracted.rules(), Some(rules.as_slice()));
    for text in ["CDE", "from-nothing"] {
        assert_eq!(may_have(&extracted, &word(text)), [0, 1, 2, 3], "{text}");
    }
}

#[test]
fn a_granule_with_unknown_words_may_have_all() {
    let mut events = lines((0..3 * GRANULE).map(|_| "n=1"));
    events[5].raw = "many fields cut".to_owned();
    events[GRANULE].fields = Some("not JSON".to_owned());
    let absent = TermQuery::for_text("absent");
    assert_eq!(may_have(&filters(&events, Some(&Pairs)), &absent), [0, 1]);
    assert_eq!(may_have(&filters(&events, None), &absent), [1]);
}

#[test]
fn a_rare_word_is_in_few_granules_and_filters_are_small() {
    let events = lines((0..30 * GRANULE).map(|row| format!("id={row} path=/items status=200")));
    let bytes: usize = events.iter().map(|event| event.raw.len()).sum();
    let filters = filters(&events, Some(&Pairs));
    assert!(filters.bytes() < bytes / 10, "{} of {bytes}", filters.bytes());
    let mut read = 0;
    for id in (0..events.len()).step_by(97) {
        let granules = may_have(&filters, &TermQuery::for_text(&id.to_string()));
        assert!(granules.contains(&(id / GRANULE)), "{id}");
        read += granules.len();
    }
    let searches = events.len().div_ceil(97);
    assert!(read < searches * 2, "{read} granules for {searches} words");
    let items = TermQuery::for_text("items");
    assert_eq!(may_have(&filters, &items).len(), 30);
    assert_eq!(filters.times(1).0.0, 1_024_000_000);
    assert_eq!(filters.times(1).1.0, 2_047_000_000);
}

#[test]
fn queries_that_exclude_nothing_have_no_test() {
    let word = |text: &str| TermQuery::for_text(text);
    assert!(WordTest::of(&TermQuery::All).is_none());
    assert!(WordTest::of(&TermQuery::for_wildcard("err*")).is_none());
    assert!(WordTest::of(&TermQuery::Or(vec![word("a"), TermQuery::All])).is_none());
    assert!(WordTest::of(&TermQuery::And(vec![word("a"), TermQuery::All])).is_some());
    let values = |count: usize| TermQuery::or((0..count).map(|at| word(&at.to_string())).collect());
    assert!(WordTest::of(&values(200)).is_some());
    assert!(WordTest::of(&values(100_000)).is_none(), "they would be looked up in every granule");
}

#[test]
fn making_filters_stops_when_it_is_told_to() {
    let events = lines((0..5 * GRANULE).map(|row| format!("n={row}")));
    let asked = Cell::new(0);
    let goes_on = || {
        asked.set(asked.get() + 1);
        asked.get() < 3
    };
    assert!(WordFilters::of(&batch(&events), None, &goes_on).is_none());
    assert_eq!(asked.get(), 3);
}
