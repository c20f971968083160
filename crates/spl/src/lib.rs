//! SPL, the search language: text becomes a syntax tree or diagnostics (docs/decisions/0049).
//!
//! Guarantees: no input panics or recurses without bound, and every message has a place in the
//! text. Leaves to others: which fields exist, types, and what commands compute (`plan`); this
//! crate knows neither Arrow nor events.
//!
//! ```text
//! text -> macros (expand, blank comments) -> parser + commands/* -> ast::Pipeline -> display
//! ```
//!
//! ```
//! let pipeline = karst_spl::parse("index=web status>=500 | stats count BY host")?;
//! assert_eq!(pipeline.commands.len(), 2);
//! assert_eq!(pipeline.to_string(), "search index=web status>=500 | stats count BY host");
//! # Ok::<(), karst_spl::Diagnostics>(())
//! ```

pub mod ast;
mod beginning;
pub mod commands;
mod complete;
mod custom;
mod diagnostic;
mod display;
pub mod functions;
mod lenient;
mod macros;
mod parser;
mod span;
pub mod stats_functions;
mod suggest;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod wildcard;

pub use ast::Pipeline;
pub use beginning::{begins_with_command, with_implied_search, with_pipe, with_search};
pub use commands::{COMMANDS, CommandDefinition, CommandKind, CommandRight};
pub use complete::{Suggestion, SuggestionKind, complete};
pub use custom::CustomCommands;
pub use diagnostic::{Diagnostic, Diagnostics};
pub use functions::{FUNCTIONS, FunctionDefinition};
pub use lenient::{Lenient, parse_lenient};
pub use macros::MacroResolver;
pub use span::{Span, Spanned};
pub use stats_functions::{STATS_FUNCTIONS, StatsFunctionDefinition};

use ast::{Expr, SearchCommand};
use parser::{Parsed, Parser};
use std::fmt;

/// What parsing depends on.
#[derive(Clone, Copy)]
pub struct ParseOptions<'m> {
    /// Where macros are defined; without it a macro call is an error.
    pub macros: Option<&'m dyn MacroResolver>,
    /// The custom commands that apps define.
    pub commands: Option<&'m CustomCommands>,
    /// What a macro call without a known definition is.
    pub unknown_macros: UnknownMacros,
    /// Where the text stands in another one, if it does: every message about it names this place.
    pub place: Option<Span>,
    /// Brackets, signs and subsearches inside each other, at most.
    pub max_depth: usize,
    /// Bytes of a text, macros expanded, at most.
    pub max_length: usize,
}

impl Default for ParseOptions<'_> {
    fn default() -> Self {
        Self {
            macros: None,
            commands: None,
            unknown_macros: UnknownMacros::default(),
            place: None,
            max_depth: 100,
            max_length: 1 << 20,
        }
    }
}

/// What a macro call without a known definition is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownMacros {
    /// An error: a search that runs has to mean what it says.
    #[default]
    Refuse,
    /// Something harmless that fits its place, and likewise `$token$` of dashboards: a search is only
    /// looked at. [`parse_lenient`] says what was put where.
    Opaque,
}

impl fmt::Debug for ParseOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParseOptions")
            .field("macros", &self.macros.is_some())
            .field("unknown_macros", &self.unknown_macros)
            .field("max_depth", &self.max_depth)
            .field("max_length", &self.max_length)
            .finish()
    }
}

/// Parses a search. A text that does not begin with `|` begins with an implied `search`.
///
/// # Errors
/// Everything that is wrong with it, the first mistake of each command.
pub fn parse(text: &str) -> Result<Pipeline, Diagnostics> {
    parse_with(text, &ParseOptions::default())
}

/// Parses a search with macros and other limits than the default.
///
/// # Errors
/// Everything that is wrong with it, the first mistake of each command.
pub fn parse_with(text: &str, options: &ParseOptions<'_>) -> Result<Pipeline, Diagnostics> {
    match options.unknown_macros {
        UnknownMacros::Refuse => with_parser(text, options, |parser| parser.whole()),
        UnknownMacros::Opaque => parse_lenient(text, options).map(|found| found.pipeline),
    }
}

/// Parses a search whose subsearches in filters, expressions and options stand for texts. Each is given
/// to the caller to run before what is around it is read.
///
/// # Errors
/// Everything that is wrong with it, the first mistake of each command.
pub fn parse_resolving(text: &str, options: &ParseOptions<'_>) -> Result<Resolution, Diagnostics> {
    let prepared = prepare(text, options)?;
    let commands = options.commands.cloned().unwrap_or_default();
    resolve(prepared.into_owned(), commands, options.max_depth, options.max_length)
}

/// How far a search could be read.
#[derive(Debug)]
pub enum Resolution {
    /// To its end.
    Whole(Pipeline),
    /// Up to a subsearch whose result is needed first.
    Needs(Unresolved),
}

/// A search that waits for the result of a subsearch.
#[derive(Debug)]
pub struct Unresolved {
    prepared: macros::Prepared<'static>,
    at: std::ops::Range<usize>,
    pipeline: Pipeline,
    commands: CustomCommands,
    max_depth: usize,
    max_length: usize,
}

impl Unresolved {
    /// What has to run.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// Whether the subsearch is the value of a bound of the time range that events are before.
    pub fn is_latest(&self) -> bool {
        let before = self.prepared.text[..self.at.start].trim_end().strip_suffix('=');
        before.is_some_and(|name| name.trim_end().to_ascii_lowercase().ends_with("latest"))
    }

    /// Whether the subsearch is a value behind the sign of a comparison or an option.
    pub fn is_value(&self) -> bool {
        self.prepared.text[..self.at.start].trim_end().ends_with(['=', '<', '>'])
    }

    /// Goes on with a text in place of the subsearch.
    ///
    /// # Errors
    /// As [`parse_resolving`].
    pub fn resolve(&self, text: &str) -> Result<Resolution, Diagnostics> {
        check_length(self.prepared.text.len() + text.len(), self.max_length)?;
        let prepared = self.prepared.splice(&self.at, text);
        resolve(prepared, self.commands.clone(), self.max_depth, self.max_length)
    }
}

fn resolve(
    prepared: macros::Prepared<'static>,
    commands: CustomCommands,
    max_depth: usize,
    max_length: usize,
) -> Result<Resolution, Diagnostics> {
    let parser = Parser::new(&prepared.text, &prepared.map, max_depth);
    let mut parser = parser.knowing(&commands).stopping();
    let result = parser.whole();
    let Some(stopped) = parser.stopped() else { return result.map(Resolution::Whole) };
    let (at, pipeline) = (stopped.at, stopped.pipeline);
    let waiting = Unresolved { prepared, at, pipeline, commands, max_depth, max_length };
    Ok(Resolution::Needs(waiting))
}

fn prepare<'t>(
    text: &'t str,
    options: &ParseOptions<'_>,
) -> Result<macros::Prepared<'t>, Diagnostics> {
    check_length(text.len(), options.max_length)?;
    let prepared = macros::prepare(text, options.macros, options.max_length);
    let Some(place) = options.place else { return Ok(prepared?) };
    match prepared {
        Ok(prepared) => Ok(prepared.placed(place)),
        Err(diagnostic) => Err(Diagnostic { span: place, ..diagnostic }.into()),
    }
}

fn check_length(length: usize, most: usize) -> Result<(), Diagnostics> {
    if length <= most {
        return Ok(());
    }
    let message = format!("search is longer than {most} bytes");
    Err(Diagnostic::new(message, Span::new(0, 0)).into())
}

/// Parses an expression by itself, as settings such as `EVAL-x` hold it.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn parse_expression(text: &str) -> Result<Expr, Diagnostics> {
    whole(text, "an operator or the end of the expression", |parser| parser.expr())
}

/// Parses what stands between brackets, without them: any command may be first.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn parse_commands(text: &str, options: &ParseOptions<'_>) -> Result<Pipeline, Diagnostics> {
    with_parser(text, options, |parser| {
        let pipeline = parser.inside()?;
        parser.expect_end("'|' or the end of the commands")?;
        Ok(pipeline)
    })
}

/// As [`parse_search_terms`], with macros.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn parse_search_terms_with(
    text: &str,
    options: &ParseOptions<'_>,
) -> Result<SearchCommand, Diagnostics> {
    with_parser(text, options, |parser| {
        let found = parser.search(|_| false)?;
        parser.expect_whole("a search term")?;
        Ok(found)
    })
}

/// Parses what follows the word `lookup`, as settings such as `LOOKUP-x` hold it.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn parse_lookup(text: &str) -> Result<ast::LookupCommand, Diagnostics> {
    whole(text, "a field name", commands::lookup::arguments)
}

/// Parses the language of `search` by itself, as `searchmatch("...")` or event types hold it.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn parse_search_terms(text: &str) -> Result<SearchCommand, Diagnostics> {
    whole(text, "a search term", |parser| parser.search(|_| false))
}

fn whole<T>(
    text: &str,
    expected: &str,
    read: impl FnOnce(&mut Parser<'_>) -> Parsed<T>,
) -> Result<T, Diagnostics> {
    with_parser(text, &ParseOptions::default(), |parser| {
        let found = read(parser)?;
        parser.skip_space();
        match parser.peek() {
            None => Ok(found),
            Some(_) => Err(parser.unexpected(expected).into()),
        }
    })
}

fn with_parser<T>(
    text: &str,
    options: &ParseOptions<'_>,
    read: impl FnOnce(&mut Parser<'_>) -> Result<T, Diagnostics>,
) -> Result<T, Diagnostics> {
    let prepared = prepare(text, options)?;
    let mut parser = Parser::new(&prepared.text, &prepared.map, options.max_depth);
    if let Some(commands) = options.commands {
        parser = parser.knowing(commands);
    }
    read(&mut parser)
}
