//! `karst spl check`: parses the searches in files, and reports errors.

use std::process::ExitCode;

use anyhow::Result;
use plan::Macros;
use spl::{Diagnostic, Diagnostics, Lenient, ParseOptions, Span, Undefined, UnknownMacros};

use super::report;
use crate::config::CheckOptions;
use crate::searches::{Found, Reading, read};

/// A checked text with its diagnostics.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) found: Found,
    /// Errors; empty if the search is valid.
    pub(super) errors: Vec<Diagnostic>,
    /// Notes on assumptions.
    pub(super) notes: Vec<Diagnostic>,
    /// The normalized search.
    pub(super) normalized: Option<String>,
    /// What it uses and nothing defines; empty for parts of searches.
    pub(super) undefined: Undefined,
}

pub(super) fn check(options: &CheckOptions) -> Result<ExitCode> {
    let knowledge = super::configuration(options.macros.as_deref())?;
    let macros = Macros::of(&knowledge);
    let commands = spl::CustomCommands::of(knowledge.custom_command_names());
    let parse = ParseOptions {
        macros: Some(&macros),
        commands: Some(&commands),
        unknown_macros: UnknownMacros::Opaque,
        ..ParseOptions::default()
    };
    let found = read(&options.files, options.kind, options.multiline)?;
    let checked: Vec<Checked> = found.into_iter().map(|found| checked(found, &parse)).collect();
    report::print(&mut std::io::stdout().lock(), &checked, options)?;
    let all_ok = checked.iter().all(|search| search.errors.is_empty());
    Ok(if all_ok { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn checked(found: Found, options: &ParseOptions<'_>) -> Checked {
    let wraps: &[(&str, &str)] = match found.reading {
        Reading::Search => &[("", "")],
        Reading::Fragment => FRAGMENTS,
        Reading::Expression => &[("| eval x=", "")],
    };
    let is_search = found.reading == Reading::Search;
    let undefined = match is_search {
        true => spl::undefined(&found.text, options),
        false => Undefined::default(),
    };
    let parsed = first_that_fits(&found.text, wraps, options);
    match parsed {
        Ok(Lenient { pipeline, notes }) => {
            let normalized = is_search.then(|| pipeline.to_string());
            Checked { found, errors: Vec::new(), notes, normalized, undefined }
        }
        Err(Diagnostics(errors)) => {
            Checked { found, errors, notes: Vec::new(), normalized: None, undefined }
        }
    }
}

/// Prefixes and suffixes that may complete the definition of a macro.
const FRAGMENTS: &[(&str, &str)] = &[
    ("", ""),
    ("| ", ""),
    ("| where ", ""),
    ("| eval ", ""),
    ("| stats ", ""),
    ("| table ", ""),
    ("| tstats ", " count"),
    ("| tstats count where ", ""),
    ("| rename ", ""),
    ("| convert ", ""),
    ("* | search x IN (", ")"),
    ("| timechart ", " count"),
];

/// Parses the text between each prefix and suffix: returns the first valid parse, or the errors of
/// the one that got furthest.
fn first_that_fits(
    text: &str,
    wraps: &[(&str, &str)],
    options: &ParseOptions<'_>,
) -> Result<Lenient, Diagnostics> {
    let mut best: Option<(usize, Diagnostics)> = None;
    for (prefix, suffix) in wraps {
        let whole = format!("{prefix}{text}{suffix}");
        let unwrapped = |mut diagnostic: Diagnostic| {
            let place = |at: usize| at.saturating_sub(prefix.len()).min(text.len());
            diagnostic.span = Span::new(place(diagnostic.span.start), place(diagnostic.span.end));
            diagnostic
        };
        match spl::parse_lenient(&whole, options) {
            Ok(found) => {
                let notes = found.notes.into_iter().map(unwrapped).collect();
                return Ok(Lenient { notes, ..found });
            }
            Err(Diagnostics(errors)) => {
                let errors: Vec<Diagnostic> = errors.into_iter().map(unwrapped).collect();
                let first = errors.iter().map(|error| error.span.start).min().unwrap_or(0);
                if best.as_ref().is_none_or(|(farthest, _)| first > *farthest) {
                    best = Some((first, Diagnostics(errors)));
                }
            }
        }
    }
    Err(best.map_or(Diagnostics(Vec::new()), |(_, errors)| errors))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::searches::search;

    #[test]
    fn parts_of_searches_are_definitions_of_macros() {
        let parts = [
            "index=a sourcetype IN (b, c)",
            "convert timeformat=\"%F\" ctime($field$)",
            "summariesonly=true allow_old_summaries=$x$",
            "if(status>=$limit$, \"bad\", \"good\")",
            "count AS n dc(user) AS users",
            "\"10.0.0.1\", \"10.0.0.2\"",
        ];
        for part in parts {
            let found = Found { reading: Reading::Fragment, ..search(1, "", part) };
            let checked = checked(found, &ParseOptions::default());
            assert!(checked.errors.is_empty(), "{part}: {:?}", checked.errors);
        }
    }

    #[test]
    fn errors_name_places_of_the_definition_itself() {
        let text = "stats count by | boguscmd x";
        let found = Found { reading: Reading::Fragment, ..search(1, "", text) };
        let errors = checked(found, &ParseOptions::default()).errors;
        let bogus = errors.iter().find(|error| error.message.contains("boguscmd"));
        let span = bogus.map(|error| error.span).unwrap_or_default();
        assert_eq!(text.get(span.start..span.end), Some("boguscmd"));
    }
}
