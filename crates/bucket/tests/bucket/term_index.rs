//! The term index never misses a row, and counts right.

use bucket::{BucketReader, GranuleSet, TermHash, TermQuery, segments};
use proptest::prelude::*;

use crate::support::{Event, Pairs, lines, open, plain, small, written};

const GRANULE: usize = 64;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// What a search would do: lower-cased text, bounded by breakers where it is not a wildcard.
pub(crate) fn matches(event: &Event, pattern: &str) -> bool {
    let pattern = pattern.to_lowercase();
    let parts: Vec<&str> = pattern.split('*').collect();
    let text = event.raw.to_lowercase();
    let breaker = |byte: Option<&u8>| byte.is_none_or(|byte| bucket::is_breaker(*byte));
    let bytes = text.as_bytes();
    let starts = (0..=text.len()).filter(|at| {
        text.is_char_boundary(*at) && (parts[0].is_empty() || breaker(bytes[..*at].last()))
    });
    starts.into_iter().any(|start| matches_from(&text, start, &parts, &breaker))
}

fn matches_from(
    text: &str,
    start: usize,
    parts: &[&str],
    breaker: &dyn Fn(Option<&u8>) -> bool,
) -> bool {
    let Some(rest) = text[start..].strip_prefix(parts[0]) else { return false };
    let at = text.len() - rest.len();
    let Some(next) = parts.get(1) else { return breaker(text.as_bytes().get(at)) };
    if parts.len() == 2 && next.is_empty() {
        return true;
    }
    let ends = (at..=text.len()).filter(|at| text.is_char_boundary(*at));
    ends.into_iter().any(|end| matches_from(text, end, &parts[1..], breaker))
}

fn check(reader: &BucketReader, events: &[Event], query: &TermQuery, pattern: &str) {
    let candidates = block_on(reader.candidates(query)).unwrap();
    for (row, event) in events.iter().enumerate() {
        if matches(event, pattern) {
            let granule = row / GRANULE;
            assert!(candidates.contains(granule), "{pattern:?} {query:?} misses {:?}", event.raw);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn candidates_have_every_match(
        raw in prop::collection::vec("[abAB1ä2Ä=. /-]{0,14}", 100..300),
        patterns in prop::collection::vec("[abAB1äÄ2=. ]{0,3}[*]{0,1}[ab1ä.]{0,2}[*]{0,1}", 20),
    ) {
        let events = lines(&raw);
        let reader = block_on(open(&plain(&events)));
        for pattern in &patterns {
            let query = TermQuery::for_wildcard(pattern);
            check(&reader, &events, &query, pattern);
            check(&reader, &events, &query.clone().in_raw(), pattern);
            if !pattern.contains('*') {
                check(&reader, &events, &TermQuery::for_substring(pattern), &format!("*{pattern}*"));
            }
        }
    }

    #[test]
    fn single_word_patterns_have_every_match(
        raw in prop::collection::vec("[abc12]{0,6}", 100..200),
        pattern in "[abc12]{1,3}[*][abc1]{0,2}",
    ) {
        let events = lines(&raw);
        let reader = block_on(open(&plain(&events)));
        check(&reader, &events, &TermQuery::Pattern(pattern.clone()), &pattern);
    }

    #[test]
    fn counts_are_rows_per_granule(raw in prop::collection::vec("[ab]{1,2}( [ab]{1,2}){0,3}", 1..400)) {
        let events = lines(&raw);
        let reader = block_on(open(&plain(&events)));
        for word in ["a", "b", "aa", "ab", "ba", "bb"] {
            let postings = block_on(reader.lookup(&[TermHash::of(word)])).unwrap().remove(0);
            let has = |event: &&Event| segments(&event.raw).any(|one| one == word);
            let counts: Vec<usize> =
                events.chunks(GRANULE).map(|rows| rows.iter().filter(has).count()).collect();
            let found: Vec<(usize, u32)> =
                postings.granules.iter().zip(postings.rows.iter().copied()).collect();
            let expected: Vec<(usize, u32)> = counts
                .iter()
                .enumerate()
                .filter(|(_, count)| **count > 0)
                .map(|(granule, count)| (granule, *count as u32))
                .collect();
            assert_eq!(found, expected);
            assert_eq!(postings.exact, expected.len() >= 4 || expected.is_empty());
        }
    }
}

fn many() -> Vec<Event> {
    let text = |at: usize| {
        let error = if at % 500 == 3 { "error" } else { "fine" };
        format!("level={error} id=u{at}x seq={at} every=all web{}", at % 10)
    };
    lines((0..20_000).map(text))
}

#[tokio::test]
async fn a_large_index_finds_each_needle_in_its_granule() {
    let events = many();
    let reader = open(&written(&events, &Pairs, &small())).await;
    assert!(reader.describe().index_blocks > 8);
    for row in (0..20_000).step_by(97) {
        let needle = TermQuery::for_text(&format!("id=U{row}X"));
        let found = reader.candidates(&needle).await.unwrap();
        assert!(found.contains(row / GRANULE));
        assert!(found.len() <= 2, "row {row}: {}", found.len());
    }
    let absent: Vec<TermHash> = (0..10_000).map(|at| TermHash::of(&format!("no{at}"))).collect();
    let found = reader.lookup(&absent).await.unwrap();
    let wrong = found.iter().filter(|postings| !postings.granules.is_empty()).count();
    assert!(wrong < 100, "{wrong} of 10,000 absent words seem to occur");
}

#[tokio::test]
async fn counts_of_frequent_words_are_exact() {
    let reader = open(&plain(&many())).await;
    let words = ["error", "every", "ERROR", "web3", "level"].map(TermHash::of);
    let found = reader.lookup(&words).await.unwrap();
    let totals: Vec<u64> = found.iter().map(|postings| postings.total_rows()).collect();
    assert_eq!(totals, [40, 20_000, 40, 2000, 20_000]);
    assert!(found.iter().all(|postings| postings.exact));
    assert!(found[1].granules.is_all());
}

#[tokio::test]
async fn wildcards_expand_through_the_vocabulary_and_stems() {
    let reader = open(&plain(&many())).await;
    let count = async |query: TermQuery| reader.candidates(&query).await.unwrap().len();
    let all = reader.granules();
    let errors = count(TermQuery::for_text("error")).await;
    assert_eq!(count(TermQuery::for_wildcard("err*")).await, errors);
    assert_eq!(count(TermQuery::Pattern("e*or".into())).await, errors);
    assert_eq!(count(TermQuery::for_wildcard("web*")).await, all);
    assert_eq!(count(TermQuery::for_wildcard("zzz*")).await, 0);
    assert_eq!(count(TermQuery::for_wildcard("*rror")).await, all);
    assert_eq!(count(TermQuery::Nothing).await, 0);
    let either = TermQuery::or(vec![TermQuery::for_text("zzz"), TermQuery::for_text("error")]);
    assert_eq!(count(either).await, errors);
}

#[tokio::test]
async fn metadata_words_prune_but_do_not_count() {
    let mut events = lines((0..200).map(|at| format!("line {at}")));
    events[150].host = "db-7".into();
    let reader = open(&plain(&events)).await;
    let granules = async |query: TermQuery| {
        reader.candidates(&query).await.unwrap().iter().collect::<Vec<_>>()
    };
    assert_eq!(granules(TermQuery::for_text("db-7")).await, [2]);
    assert!(granules(TermQuery::for_text("db").in_raw()).await.is_empty());
    assert_eq!(granules(TermQuery::for_text("app")).await, [0, 1, 2, 3]);
    let found = reader.lookup(&[TermHash::of("db")]).await.unwrap().remove(0);
    assert_eq!(found.rows, [0]);
}

#[tokio::test]
async fn without_a_vocabulary_wildcards_match_everywhere() {
    let options = bucket::WriteOptions { max_vocabulary: 1, ..small() };
    let reader = open(&written(&many(), &Pairs, &options)).await;
    assert_eq!(reader.describe().vocabulary_bytes, 0);
    let found = reader.candidates(&TermQuery::for_wildcard("zzz*")).await.unwrap();
    assert_eq!(found, GranuleSet::all(reader.granules()));
}

#[tokio::test]
async fn words_longer_than_the_index_tells_apart_are_found() {
    let long = "x".repeat(5000);
    let reader = open(&plain(&lines([&long, "y"]))).await;
    for query in [
        TermQuery::for_text(&long),
        TermQuery::for_wildcard(&format!("{}*", &long[..3000])),
        TermQuery::Pattern(format!("xx*{}", &long[..400])),
    ] {
        assert_eq!(reader.candidates(&query).await.unwrap().len(), 1);
    }
}
