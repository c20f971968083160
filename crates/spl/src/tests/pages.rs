//! Tests that the pages about functions are complete and mention no others. Other tests check the results of
//! their examples (`tests/clients/test_function_pages.py`).

use crate::testing::accepts;
use crate::{functions, stats_functions};

/// Returns the sections of functions in the order of the page: the names in the heading, and the text below
/// it.
fn sections(page: &str) -> Vec<(Vec<&str>, &str)> {
    let section = |text| {
        let (heading, body) = str::split_once(text, '\n').expect("a text follows the heading");
        let end = body.find("\n## ").unwrap_or(body.len());
        (heading.split(", ").collect(), &body[..end])
    };
    page.split("\n### ").skip(1).map(section).collect()
}

fn page(name: &str) -> String {
    let path = format!("../../docs/spl/{name}.md");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Checks that the headings are exactly the functions (name, then aliases), each once.
#[track_caller]
fn describes(page: &str, functions: impl Iterator<Item = (&'static str, &'static [&'static str])>) {
    let named = |(name, aliases): (&'static str, &[&'static str])| [&[name], aliases].concat();
    let mut known: Vec<Vec<&str>> = functions.map(named).collect();
    let mut described: Vec<Vec<&str>> =
        sections(page).into_iter().map(|(names, _)| names).collect();
    known.sort_unstable();
    described.sort_unstable();
    let missing: Vec<_> = known.iter().filter(|names| !described.contains(names)).collect();
    let unknown: Vec<_> = described.iter().filter(|names| !known.contains(names)).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "missing {missing:?}, unknown {unknown:?}");
    assert_eq!(described.len(), known.len(), "a function is described twice");
}

#[track_caller]
fn has_examples_that_are_accepted(page: &str) {
    let examples = page.split("```spl\n").skip(1);
    let examples: Vec<&str> = examples.filter_map(|block| block.split("```").next()).collect();
    assert!(!examples.is_empty());
    accepts(&examples);
}

#[test]
fn every_function_of_expressions_is_described_with_its_arguments() {
    let page = page("functions");
    describes(&page, functions::FUNCTIONS.iter().map(|function| (function.name, function.aliases)));
    for (names, text) in sections(&page) {
        let function = functions::find(names[0]).expect(names[0]);
        assert!(text.contains(&format!("`{}`: ", function.syntax)), "{}", function.syntax);
        assert!(text.contains("```spl\n"), "{} has no example", function.name);
    }
    has_examples_that_are_accepted(&page);
}

#[test]
fn every_aggregation_is_described_with_an_example() {
    let page = page("stats-functions");
    let all = stats_functions::STATS_FUNCTIONS;
    describes(&page, all.iter().map(|function| (function.name, function.aliases)));
    for (names, text) in sections(&page) {
        assert!(text.contains("```spl\n"), "{} has no example", names[0]);
    }
    has_examples_that_are_accepted(&page);
}
