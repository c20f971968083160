//! Checks shared by the tests of all commands.

use crate::ast::Pipeline;
use crate::parse;

/// Checks that each text is accepted, and that parsing its written form gives an equal tree.
#[track_caller]
pub(crate) fn accepts(texts: &[&str]) {
    for text in texts {
        let pipeline = parse(text).unwrap_or_else(|error| panic!("{}", error.render(text)));
        let written = pipeline.to_string();
        let again = parse(&written)
            .unwrap_or_else(|error| panic!("{text}\nbecame\n{}", error.render(&written)));
        assert_eq!(without_spans(&pipeline), without_spans(&again), "{text}\nbecame\n{written}");
    }
}

/// Checks that the text is rejected with a message at the given part of it (empty: at the end).
#[track_caller]
pub(crate) fn refuses(text: &str, message: &str, place: &str) {
    let error = parse(text).map(|pipeline| pipeline.to_string()).expect_err(text);
    let first = error.first().expect("an error holds a message");
    let found = text.get(first.span.start..first.span.end);
    assert!(first.message.contains(message), "{}\nis not about: {message}", first.render(text));
    assert_eq!(found, Some(place), "{}", first.render(text));
}

/// Checks that two texts give the same tree.
#[track_caller]
pub(crate) fn same(text: &str, other: &str) {
    let tree =
        |text: &str| without_spans(&parse(text).unwrap_or_else(|e| panic!("{}", e.render(text))));
    assert_eq!(tree(text), tree(other));
}

/// Returns the tree as text, without positions.
pub(crate) fn without_spans(pipeline: &Pipeline) -> String {
    let debug = format!("{pipeline:?}");
    let mut pieces = debug.split("..");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        out.truncate(out.trim_end_matches(|c: char| c.is_ascii_digit()).len());
        out.push_str("..");
        out.push_str(piece.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    out
}
