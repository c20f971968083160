//! SPL, the search language: text becomes a syntax tree or diagnostics (docs/decisions/0049).
//!
//! Guarantees: no input causes a panic or unbounded recursion, and every message has a position in the text.
//! Leaves to others: which fields exist, types, and the results of commands (`plan`); this crate knows
//! neither Arrow nor events.
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
pub use beginning::{
    begins_with_command, with_implied_search, with_pipe, with_search, without_leading_comments,
};
pub use commands::{COMMANDS, CommandDefinition, CommandKind, CommandRight};
pub use complete::{Suggestion, SuggestionKind, complete};
pub use custom::CustomCommands;
pub use diagnostic::{Diagnostic, Diagnostics};
pub use functions::{FUNCTIONS, FunctionDefinition};
pub use lenient::{Lenient, Undefined, parse_lenient, undefined};
pub use macros::MacroResolver;
pub use parser::boolean;
pub use span::{Span, Spanned};
pub use stats_functions::{STATS_FUNCTIONS, StatsFunctionDefinition};

use ast::{Expr, SearchCommand};
use parser::{Parsed, Parser};
use std::fmt;

/// The options of parsing.
#[derive(Clone, Copy)]
pub struct ParseOptions<'m> {
    /// The macro definitions; if `None`, a macro call is an error.
    pub macros: Option<&'m dyn MacroResolver>,
    /// The custom commands of apps.
    pub commands: Option<&'m CustomCommands>,
    /// How unknown macros are handled.
    pub unknown_macros: UnknownMacros,
    /// The position of the text inside of another one, if any; all messages about the text have this
    /// position.
    pub place: Option<Span>,
    /// Maximum depth of nested brackets, signs and subsearches.
    pub max_depth: usize,
    /// Maximum length of a text in bytes, after the expansion of macros.
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

/// How macro calls without a known definition are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownMacros {
    /// They are errors, because a search must not run with a different meaning.
    #[default]
    Refuse,
    /// They and dashboard tokens (`$token$`) are replaced with placeholders, for searches that do not run.
    /// [`parse_lenient`] also reports the replacements.
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

/// Parses a search. A text without a leading `|` begins with an implied `search`.
///
/// # Errors
/// All errors, at most the first one of each command.
pub fn parse(text: &str) -> Result<Pipeline, Diagnostics> {
    parse_with(text, &ParseOptions::default())
}

/// Parses a search with macros and with other limits than the defaults.
///
/// # Errors
/// All errors, at most the first one of each command.
pub fn parse_with(text: &str, options: &ParseOptions<'_>) -> Result<Pipeline, Diagnostics> {
    match options.unknown_macros {
        UnknownMacros::Refuse => with_parser(text, options, |parser| parser.whole()),
        UnknownMacros::Opaque => parse_lenient(text, options).map(|found| found.pipeline),
    }
}

/// Parses a search in which the results of subsearches in filters, expressions and options are inserted as
/// text. The caller runs each subsearch before the text around it is parsed.
///
/// # Errors
/// All errors, at most the first one of each command.
pub fn parse_resolving(text: &str, options: &ParseOptions<'_>) -> Result<Resolution, Diagnostics> {
    let prepared = prepare(text, options)?;
    let commands = options.commands.cloned().unwrap_or_default();
    resolve(prepared.into_owned(), commands, options.max_depth, options.max_length)
}

/// The result of [`parse_resolving`].
#[derive(Debug)]
pub enum Resolution {
    /// The search is parsed completely.
    Whole(Pipeline),
    /// The result of a subsearch is needed first.
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
    /// Returns the subsearch to run.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// Returns whether the subsearch is the value of an upper bound of the time range (`latest`).
    pub fn is_latest(&self) -> bool {
        let before = self.prepared.text[..self.at.start].trim_end().strip_suffix('=');
        before.is_some_and(|name| name.trim_end().to_ascii_lowercase().ends_with("latest"))
    }

    /// Returns whether the subsearch is the value of a comparison or of an option.
    pub fn is_value(&self) -> bool {
        self.prepared.text[..self.at.start].trim_end().ends_with(['=', '<', '>'])
    }

    /// Continues with a text that replaces the subsearch.
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
    let message =
        format!("search is longer than {most} bytes, the limit of its length: it has {length}");
    Err(Diagnostic::new(message, Span::new(0, 0)).into())
}

/// Parses a single expression, as in settings such as `EVAL-x`.
///
/// # Errors
/// The first error in the expression.
pub fn parse_expression(text: &str) -> Result<Expr, Diagnostics> {
    whole(text, "an operator or the end of the expression", |parser| parser.expr())
}

/// Parses the content of brackets: any command may be first.
///
/// # Errors
/// The first error in the text.
pub fn parse_commands(text: &str, options: &ParseOptions<'_>) -> Result<Pipeline, Diagnostics> {
    with_parser(text, options, |parser| {
        let pipeline = parser.inside()?;
        parser.expect_end("'|' or the end of the commands")?;
        Ok(pipeline)
    })
}

/// Like [`parse_search_terms`], with macros.
///
/// # Errors
/// The first error in the text.
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

/// Parses the arguments of `lookup`, as in settings such as `LOOKUP-x`.
///
/// # Errors
/// The first error in the text.
pub fn parse_lookup(text: &str) -> Result<ast::LookupCommand, Diagnostics> {
    whole(text, "a field name", commands::lookup::arguments)
}

/// Parses the arguments of `search`, as in `searchmatch("...")` or event types.
///
/// # Errors
/// The first error in the text.
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
