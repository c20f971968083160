//! The parser of searches, over the searches of the corpus.
//!
//! `crates/spl/examples/fuzz.rs` inserts commands, options and functions too, and has lower limits; this
//! target is the part that runs with all others.

use std::hint::black_box;

use spl::{ParseOptions, UnknownMacros, complete, parse, parse_expression, parse_with};

use super::Target;

/// Maximum number of bytes of a text. Searches of users are shorter, and the parser reads each text four
/// times.
const LONGEST: usize = 16 << 10;

/// Searches, separated by empty lines, with comments in lines that begin with `#`.
const CORPUS: [&str; 8] = [
    include_str!("../../../spectest/corpus/cloud.spl"),
    include_str!("../../../spectest/corpus/dashboards.spl"),
    include_str!("../../../spectest/corpus/functions.spl"),
    include_str!("../../../spectest/corpus/network.spl"),
    include_str!("../../../spectest/corpus/operations.spl"),
    include_str!("../../../spectest/corpus/security.spl"),
    include_str!("../../../spectest/corpus/web.spl"),
    include_str!("../../../spectest/corpus/windows.spl"),
];

fn without_comments(block: &str) -> String {
    let lines = block.lines().filter(|line| !line.starts_with('#'));
    lines.collect::<Vec<_>>().join("\n")
}

pub(super) const SEARCH: Target = Target {
    name: "search",
    decode: |bytes| {
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)]);
        let unknown_macros = UnknownMacros::Opaque;
        let opaque = ParseOptions { unknown_macros, ..ParseOptions::default() };
        black_box(parse_with(&text, &opaque).is_ok());
        black_box(parse_expression(&text).is_ok());
        black_box(complete(&text, text.len() / 2));
        match parse(&text) {
            Ok(pipeline) => {
                let written = pipeline.to_string();
                let again = parse(&written).map(|again| again.to_string());
                assert_eq!(again.as_ref(), Ok(&written), "an accepted search means what it says");
            }
            Err(error) => {
                assert!(!error.0.is_empty(), "a refusal has a message");
                black_box(error.render(&text));
            }
        }
    },
    seeds: || {
        let blocks = CORPUS.iter().flat_map(|text| text.split("\n\n")).map(without_comments);
        let searches = blocks.filter(|search| !search.trim().is_empty());
        searches.map(String::into_bytes).collect()
    },
    words: &[
        "|", "[", "]", "(", ")", "\"", "'", "`", "```", "\\", "=", "!=", ">=", ",", "*", "$x$",
        "<<", ">>", "{}", ".", "-", "%", " AND ", " OR ", " NOT ", " IN ", " AS ", " BY ",
        " OUTPUT ", "eval(", "count", "TERM(", "CASE(", "1e309", "99999999", "span=1h", "limit=0",
        "-1d@d", "latest=", "index=*", "\u{feff}", "ä", "🦀", "\n", "| stats ", "| eval x",
        "| where ", "| rex ", "foreach ", "append [", "[[[[", "((((", "NOT NOT ",
    ],
};
