//! Parses searches with unknown macros and dashboard tokens: each is replaced with a placeholder that fits
//! its position.
//!
//! Guarantees: a text without macros and tokens is parsed as usual; notes report the replacements; the work
//! is bounded whatever the number of unknown parts. Leaves to others: running such a search, which would
//! differ from the search that its author meant.

use crate::ast::{Pipeline, Span};
use crate::custom::CustomCommands;
use crate::diagnostic::{Diagnostic, Diagnostics, shorten};
use crate::macros::{Edit, Prepared, prepare_with_holes};
use crate::parser::Parser;
use crate::{ParseOptions, check_length};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

/// Maximum length of a token in bytes, including modifiers.
const MAX_TOKEN_BYTES: usize = 100;

/// Maximum number of times that a text is parsed, and of bytes parsed in total.
const MAX_ATTEMPTS: usize = 1_000;
const MAX_BYTES: usize = 16 << 20;

/// A search with notes about its unknown parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Lenient {
    /// The tree, with placeholders for unknown macros and tokens.
    pub pipeline: Pipeline,
    /// One note per unknown macro, and per token that had to be replaced.
    pub notes: Vec<Diagnostic>,
}

/// Parses a search in which a placeholder that fits the position replaces each unknown macro, and each
/// `$token$` that is not valid as it is.
///
/// # Errors
/// All errors in the search, as far as they do not depend on the unknown parts.
pub fn parse_lenient(text: &str, options: &ParseOptions<'_>) -> Result<Lenient, Diagnostics> {
    Attempts::of(text, options)?.run()
}

/// The names in a search that nothing defines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Undefined {
    /// Macros, also those in definitions of other macros; with the number of arguments, if there are any.
    pub macros: BTreeSet<String>,
    /// Commands.
    pub commands: BTreeSet<String>,
}

/// Returns the macros and commands of a search that nothing defines. Names that contain a dashboard token are
/// left out, and all names of a search whose macros expand to themselves or to too much. The text is parsed
/// once: commands are those of its errors, which are the first one of each command.
pub fn undefined(text: &str, options: &ParseOptions<'_>) -> Undefined {
    let Ok(mut attempts) = Attempts::of(text, options) else { return Undefined::default() };
    let is_defined = |name: &str| {
        let with_count = name.strip_suffix(')').and_then(|rest| rest.rsplit_once('('));
        let (plain, count) = with_count.unwrap_or((name, "0"));
        let count = count.parse().unwrap_or_default();
        options.macros.is_some_and(|macros| macros.defines(plain, count))
    };
    let unknown = attempts.blanks.iter().filter(|blank| !blank.token);
    let unknown = unknown.map(|blank| blank.name.as_str());
    let unknown = unknown.filter(|name| !name.is_empty() && !name.contains('$'));
    let macros = unknown.filter(|name| !is_defined(name)).map(shorten).collect();
    let choices = vec![0; attempts.blanks.len()];
    let errors = match attempts.parse(&choices) {
        Ok(_) => Vec::new(),
        Err(Diagnostics(errors)) => errors,
    };
    let commands = errors.iter().filter_map(Diagnostic::unknown_command);
    let commands = commands.filter(|name| !name.contains('$')).map(str::to_owned).collect();
    Undefined { macros, commands }
}

/// Prepares the text of a search, and finds its unknown parts.
fn blanks(
    text: &str,
    options: &ParseOptions<'_>,
) -> Result<(Prepared<'static>, Vec<Blank>), Diagnostics> {
    check_length(text.len(), options.max_length)?;
    let (prepared, unknown) = prepare_with_holes(text, options.macros, options.max_length)?;
    let mut blanks: Vec<Blank> = Vec::new();
    for hole in unknown {
        let place = Place::of(&prepared.text, hole.at, blanks.last());
        let at = hole.at..hole.at;
        let candidates = place.candidates(&hole.name);
        blanks.push(Blank { at, origin: hole.origin, name: hole.name, candidates, token: false });
    }
    let holes: Vec<usize> = blanks.iter().map(|blank| blank.at.start).collect();
    for at in tokens(&prepared.text) {
        // The author did not write a token that spans the expansion of a macro.
        let next = holes.partition_point(|hole| *hole <= at.start);
        if holes.get(next).is_some_and(|hole| *hole < at.end) {
            continue;
        }
        let origin = prepared.map.original(Span::new(at.start, at.end));
        let name = prepared.text[at.clone()].to_owned();
        blanks.push(Blank { at, origin, name, candidates: TOKEN, token: true });
    }
    blanks.sort_by_key(|blank| (blank.at.start, blank.at.end));
    Ok((prepared, blanks))
}

/// An unknown part of the text.
#[derive(Debug)]
struct Blank {
    /// Its position in the prepared text; empty for a macro.
    at: Range<usize>,
    origin: Span,
    name: String,
    candidates: &'static [Candidate],
    token: bool,
}

impl Blank {
    fn text(&self, choice: usize) -> Option<&'static str> {
        self.candidates[choice].text
    }
}

/// A possible placeholder.
#[derive(Debug)]
struct Candidate {
    /// The text of the placeholder; `None` leaves a token unchanged.
    text: Option<&'static str>,
    /// Its description, for notes.
    meaning: &'static str,
}

const fn candidate(text: &'static str, meaning: &'static str) -> Candidate {
    Candidate { text: Some(text), meaning }
}

/// Placeholders at the beginning of a search or subsearch.
const START: &[Candidate] = &[
    candidate("*", "a search term"),
    candidate("", "nothing"),
    candidate("|makeresults", "a command that makes rows"),
    candidate("|tstats", "the name of a command"),
];

/// Placeholders after a leading pipe.
const GENERATING: &[Candidate] = &[
    candidate("makeresults", "a command that makes rows"),
    candidate("tstats", "the name of a command"),
    candidate("tstats count", "the beginning of a command"),
    candidate("", "nothing"),
];

/// Placeholders after any other pipe.
const COMMAND: &[Candidate] = &[
    candidate("fields *", "a command"),
    candidate("search", "the name of a command"),
    candidate("stats", "the name of a command"),
    candidate("stats count", "the beginning of a command"),
    candidate("eval", "the name of a command"),
    candidate("timechart", "the name of a command"),
    candidate("tstats", "the name of a command"),
    candidate("", "nothing"),
];

/// Placeholders in the arguments of a command.
const ARGUMENT: &[Candidate] = &[
    candidate("*", "a search term, field or value"),
    candidate("1", "a number or condition"),
    candidate("x", "a field or value"),
    candidate("", "nothing"),
    candidate("count", "an aggregation"),
    candidate("x=1", "an assignment or option"),
    candidate("x AS y", "a renaming"),
    candidate("ctime(x)", "a conversion"),
    candidate("=1", "a comparison"),
    candidate("\"x\"", "a text"),
    candidate("1h", "a span of time"),
];

/// The placeholder for a comment.
const COMMENT: &[Candidate] = &[candidate("", "nothing")];

/// Placeholders for a dashboard token.
const TOKEN: &[Candidate] = &[
    Candidate { text: None, meaning: "itself" },
    candidate("1", "a number or condition"),
    candidate("x", "a field or value"),
    candidate("", "nothing"),
    candidate("*", "a search term or field"),
    candidate("count", "an aggregation"),
    candidate("x=1", "an assignment or option"),
    candidate("fields *", "a command"),
    candidate("|fields *", "a command"),
    candidate("1h", "a span of time"),
    candidate("=1", "a comparison"),
];

/// The position of a macro.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    Generating,
    Command,
    Argument,
}

impl Place {
    /// Returns the kind of position at an offset of a prepared text; `before` is the macro to its left.
    fn of(text: &str, at: usize, before: Option<&Blank>) -> Self {
        let left = text[..at].trim_end();
        if before.is_some_and(|blank| blank.at.end >= left.len()) && at > 0 {
            return Self::Argument;
        }
        match left.chars().next_back() {
            None | Some('[') => Self::Start,
            Some('|') => match left[..left.len() - 1].trim_end().chars().next_back() {
                None | Some('[') => Self::Generating,
                Some(_) => Self::Command,
            },
            Some(_) => Self::Argument,
        }
    }

    fn candidates(self, name: &str) -> &'static [Candidate] {
        match self {
            _ if name.starts_with("comment") => COMMENT,
            Self::Start => START,
            Self::Generating => GENERATING,
            Self::Command => COMMAND,
            Self::Argument => ARGUMENT,
        }
    }
}

/// Returns the positions of `$name$`, `$name|s$`, `$form.name$` in a text.
fn tokens(text: &str) -> Vec<Range<usize>> {
    let is_name = |c: u8| c.is_ascii_alphanumeric() || b"_.:|-{}".contains(&c);
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = bytes[at..].iter().position(|byte| *byte == b'$') {
        let start = at + next;
        let name = bytes[start + 1..].iter().take(MAX_TOKEN_BYTES).take_while(|c| is_name(**c));
        let end = start + 1 + name.count();
        let begins = bytes.get(start + 1).is_some_and(|c| c.is_ascii_alphabetic() || *c == b'_');
        if begins && bytes.get(end) == Some(&b'$') {
            found.push(start..end + 1);
            at = end + 1;
        } else {
            at = start + 1;
        }
    }
    found
}

/// Ranks the errors of a text (lower is better): the number of messages, then how early they occur.
type Score = (usize, Reverse<usize>);

/// Tries one text after the other until one is valid or a limit is reached.
struct Attempts {
    prepared: Prepared<'static>,
    blanks: Vec<Blank>,
    commands: CustomCommands,
    max_depth: usize,
    /// Number of attempts left.
    left: usize,
    /// Number of bytes parsed.
    bytes: usize,
}

impl Attempts {
    fn of(text: &str, options: &ParseOptions<'_>) -> Result<Self, Diagnostics> {
        let (prepared, blanks) = blanks(text, options)?;
        let commands = options.commands.cloned().unwrap_or_default();
        let max_depth = options.max_depth;
        Ok(Self { prepared, blanks, commands, max_depth, left: MAX_ATTEMPTS, bytes: 0 })
    }

    /// Improves one unknown part after the other. Commands are checked independently, and each only up to its
    /// first error, so that the best placeholder rarely depends on later parts.
    fn run(mut self) -> Result<Lenient, Diagnostics> {
        let mut choices = vec![0; self.blanks.len()];
        let mut best = match self.parse(&choices) {
            Ok(pipeline) => return Ok(self.lenient(pipeline, &choices)),
            Err(diagnostics) => diagnostics,
        };
        for blank in 0..self.blanks.len() {
            let mut kept = choices[blank];
            for choice in 0..self.blanks[blank].candidates.len() {
                if choice == kept || !self.may_go_on() {
                    continue;
                }
                choices[blank] = choice;
                match self.parse(&choices) {
                    Ok(pipeline) => return Ok(self.lenient(pipeline, &choices)),
                    Err(diagnostics) if score(&diagnostics) < score(&best) => {
                        kept = choice;
                        best = diagnostics;
                    }
                    Err(_) => {}
                }
            }
            choices[blank] = kept;
        }
        Err(best)
    }

    fn may_go_on(&self) -> bool {
        self.left > 0 && self.bytes < MAX_BYTES
    }

    fn parse(&mut self, choices: &[usize]) -> Result<Pipeline, Diagnostics> {
        self.left = self.left.saturating_sub(1);
        let filled = self.blanks.iter().zip(choices).filter_map(|(blank, choice)| {
            let (at, origin) = (blank.at.clone(), blank.origin);
            blank.text(*choice).map(|text| Edit { at, origin, text })
        });
        let edits: Vec<Edit<'_>> = filled.collect();
        let filled = self.prepared.edited(&edits);
        self.bytes += filled.text.len();
        let parser = Parser::new(&filled.text, &filled.map, self.max_depth);
        parser.knowing(&self.commands).whole()
    }

    fn lenient(&self, pipeline: Pipeline, choices: &[usize]) -> Lenient {
        let mut notes = Vec::new();
        for (blank, choice) in self.blanks.iter().zip(choices) {
            let Candidate { text, meaning } = &blank.candidates[*choice];
            if text.is_none() {
                continue;
            }
            let name = shorten(&blank.name);
            let message = match blank.token {
                true => format!("the token {name} was taken for {meaning}"),
                false => format!("macro `{name}` is not known; it was taken for {meaning}"),
            };
            notes.push(Diagnostic::new(message, blank.origin));
        }
        Lenient { pipeline, notes }
    }
}

fn score(diagnostics: &Diagnostics) -> Score {
    let places = diagnostics.0.iter().map(|diagnostic| diagnostic.span.start);
    (diagnostics.0.len(), Reverse(places.sum()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MacroResolver;

    #[test]
    fn an_unknown_macro_fits_wherever_people_put_one() {
        passes(&[
            "`sysmon` EventCode=1 | stats count by Image | `drop_dm_object_name(Processes)`",
            "| tstats `summariesonly` count from datamodel=Endpoint.Processes by Processes.dest",
            "index=`web_index` status=`bad` OR `errors` | where `is_bad(status)` AND x>`limit`",
            "| `generate` | stats `aggregations` by host | eval `assign`, y=`number`*2 | head `n`",
            "* | timechart span=`span` count by `split` | rename `names` | convert `times`",
            "* | append [ `inner` | stats count ] | append [ | `rows` ] | `last(1, \"a|b\")`",
            "`comment(\"why | we do this\")` index=a | eval y=if(`condition`, 1, 0)",
            "* | search `a` `b` NOT `c` | where x IN (`list`) | table `fields`, z",
        ]);
    }

    #[test]
    fn a_dashboard_token_stays_or_becomes_what_fits() {
        passes(&[
            "index=$index$ host=\"$host|s$\" $extra$ | where x > $form.limit$ | head $n$",
            "index=a earliest=$time.earliest$ latest=$time.latest$ | timechart span=$span$ count",
            "| makeresults count=$count$ | eval a=$a$+1 | stats $function$ by $by$",
        ]);
        let found = lenient("index=$index$ | bin span=$n$ a").expect("both fit");
        let notes: Vec<&str> = found.notes.iter().map(|note| note.message.as_str()).collect();
        assert_eq!(notes, ["the token $n$ was taken for a number or condition"]);
    }

    #[test]
    fn what_is_wrong_elsewhere_stays_wrong_at_its_place() {
        let text = "`a` | where `b` | boguscmd `c` | head `n`";
        let error = lenient(text).expect_err("there is no boguscmd");
        assert_eq!(error.0.len(), 1, "{}", error.render(text));
        assert_eq!(&text[error.0[0].span.start..error.0[0].span.end], "boguscmd");
    }

    #[test]
    fn notes_name_the_macro_and_its_place() {
        let text = "index=a | `x(1,2)`";
        let note = lenient(text).expect("it fits").notes.remove(0);
        assert_eq!(note.message, "macro `x(2)` is not known; it was taken for a command");
        assert_eq!(&text[note.span.start..note.span.end], "`x(1,2)`");
    }

    #[test]
    fn many_blanks_that_fit_nowhere_end_soon() {
        let text = format!("* | boguscmd {}", "`a` $b$ ".repeat(5_000));
        assert!(lenient(&text).is_err());
    }

    #[test]
    fn what_nothing_defines_is_named_also_in_definitions_of_macros() {
        struct Outer;
        impl MacroResolver for Outer {
            fn expand(&self, name: &str, arguments: &[String]) -> Result<String, String> {
                match (name, arguments.len()) {
                    ("outer", 0) => Ok("search `inner(1, 2)` | nothing".to_owned()),
                    _ => Err("not defined, or with an invalid argument".to_owned()),
                }
            }

            fn defines(&self, name: &str, arguments: usize) -> bool {
                matches!((name, arguments), ("outer" | "strict", 0))
            }
        }
        let options = ParseOptions { macros: Some(&Outer), ..ParseOptions::default() };
        let found = |text| {
            let Undefined { macros, commands } = undefined(text, &options);
            let names: Vec<String> = macros.into_iter().chain(commands).collect();
            names.join(" ")
        };
        assert_eq!(found("index=a | `outer` | stats count"), "inner(2) nothing");
        assert_eq!(found("`a` | boguscmd `b(1)` | other x | `a` $t$"), "a b(1) boguscmd other");
        assert_eq!(found("index=$i$ | $command$ x | `$macro$` | `strict` | head $n$"), "");
        assert_eq!(found("| tstats count where `outer(1)` by `c` | where ("), "c outer(1)");
    }

    fn lenient(text: &str) -> Result<Lenient, Diagnostics> {
        parse_lenient(text, &ParseOptions::default())
    }

    #[track_caller]
    fn passes(texts: &[&str]) {
        for text in texts {
            lenient(text).unwrap_or_else(|error| panic!("{}", error.render(text)));
        }
    }
}
