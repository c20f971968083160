//! Any text at the parser: it may refuse, never panic, and what it accepts it has to write out so that it
//! accepts that too.

#![no_main]

use karst_spl::{ParseOptions, UnknownMacros, complete, parse, parse_expression, parse_with};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let opaque = ParseOptions { unknown_macros: UnknownMacros::Opaque, ..ParseOptions::default() };
    let _ = parse_with(text, &opaque);
    let _ = parse_expression(text);
    let _ = complete(text, text.len() / 2);
    match parse(text) {
        Err(error) => drop(error.render(text)),
        Ok(pipeline) => {
            let written = pipeline.to_string();
            let again = parse(&written).expect("what is written out is accepted");
            assert_eq!(again.to_string(), written);
        }
    }
});
