//! Typical searches of detections, dashboards, alerts and reports: each must be parsed, and written without
//! changing its meaning.
//!
//! They are in the files of `written`, separated by empty lines; a line that begins with `# ` is a comment.
//! Searches with a command that Karst does not support are skipped.

use crate::diagnostic::Diagnostics;
use crate::parse;
use crate::testing::accepts;

/// Returns whether a search is rejected only because of commands that Karst does not support.
fn is_not_yet(error: &Diagnostics) -> bool {
    let not_yet = |hint: &Option<String>| {
        hint.as_ref().is_some_and(|hint| hint.contains("is not part of Karst yet"))
    };
    error.0.iter().all(|diagnostic| not_yet(&diagnostic.hint))
}

/// Checks that each search is parsed and survives the round trip; reports all searches that are rejected.
#[track_caller]
fn reads<'s>(searches: impl Iterator<Item = &'s str>) {
    let mut refused = Vec::new();
    for search in searches {
        match parse(search) {
            Ok(_) => accepts(&[search]),
            Err(error) if is_not_yet(&error) => {}
            Err(error) => refused.push(error.render(search)),
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n\n"));
}

/// Checks the searches of a file.
#[track_caller]
fn reads_file(text: &str) {
    let searches = text.split("\n\n").map(|search| search.trim_matches('\n'));
    reads(searches.filter(|search| !search.is_empty() && !search.starts_with("# ")));
}

#[test]
fn filters() {
    reads_file(include_str!("written/filters.spl"));
    reads_file(include_str!("written/filters_with_odd_spelling.spl"));
}

#[test]
fn aggregations() {
    reads_file(include_str!("written/aggregations.spl"));
}

#[test]
fn expressions() {
    reads_file(include_str!("written/expressions.spl"));
}

#[test]
fn fields_and_rows() {
    reads_file(include_str!("written/fields_and_rows.spl"));
    reads_file(include_str!("written/commands_with_odd_spelling.spl"));
}

#[test]
fn beginnings() {
    reads_file(include_str!("written/beginnings.spl"));
}

#[test]
fn whole_searches() {
    reads_file(include_str!("written/detections_and_dashboards.spl"));
}

#[test]
fn blanks_and_line_ends_are_where_they_like() {
    let searches = [
        "",
        " \n | makeresults \n\n | eval \n a = 1 , \n b = 2 \n",
        "index=a\tb=c\r\nd=e | \t stats\tcount\r\n by host ",
        "* | where x==1 | where x = \"a|b\" | where y=\"]\" ",
    ];
    reads(searches.into_iter());
}
