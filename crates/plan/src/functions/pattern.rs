//! `match` and `replace`, and the regular expressions behind them and the commands.
//!
//! Guarantees: a literal expression is compiled once, when planning. The linear-time engine is
//! used wherever it knows the syntax; look-around, back references and possessive repetition fall
//! back to a backtracking engine with a bounded number of steps, past which a text does not match.

use std::sync::Arc;

use crate::Error;
use crate::expr::Typed;
use crate::expr::cached::Cached;
use crate::expr::column::{Row, Value};
use crate::expr::kernel::{text_of_each, truth};
use crate::functions::{Function, Invocation, values};

pub(crate) const FUNCTIONS: &[Function] =
    &[values(&["match"], (2, 2), match_), values(&["replace"], (3, 3), replace)];

/// A compiled regular expression.
#[derive(Debug)]
pub(crate) enum Pattern {
    /// Linear time.
    Linear(regex::Regex),
    /// Backtracking.
    Backtracking(Box<fancy_regex::Regex>),
}

impl Pattern {
    /// Compiles Perl-style syntax.
    pub(crate) fn new(source: &str) -> Result<Self, String> {
        if let Ok(regex) = regex::Regex::new(source) {
            return Ok(Self::Linear(regex));
        }
        match fancy_regex::Regex::new(source) {
            Ok(regex) => Ok(Self::Backtracking(Box::new(regex))),
            Err(error) => Err(error.to_string()),
        }
    }

    fn optional(source: &str) -> Option<Self> {
        Self::new(source).ok()
    }

    /// Whether it occurs anywhere in the text.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        match self {
            Self::Linear(regex) => regex.is_match(text),
            Self::Backtracking(regex) => regex.is_match(text).unwrap_or(false),
        }
    }

    /// Appends the text with every match replaced.
    fn replace_into(&self, text: &str, replacement: &Replacement, out: &mut String) {
        let mut done = 0;
        match self {
            Self::Linear(regex) => {
                for found in regex.captures_iter(text) {
                    let Some(whole) = found.get(0) else { continue };
                    out.push_str(&text[done..whole.start()]);
                    replacement.expand(|group| found.get(group).map(|group| group.as_str()), out);
                    done = whole.end();
                }
            }
            Self::Backtracking(regex) => {
                for found in regex.captures_iter(text).map_while(Result::ok) {
                    let Some(whole) = found.get(0) else { continue };
                    out.push_str(&text[done..whole.start()]);
                    replacement.expand(|group| found.get(group).map(|group| group.as_str()), out);
                    done = whole.end();
                }
            }
        }
        out.push_str(&text[done..]);
    }
}

/// What replaces a match: literals and groups (`\1`).
#[derive(Debug)]
struct Replacement {
    parts: Vec<ReplacementPart>,
}

#[derive(Debug)]
enum ReplacementPart {
    Literal(String),
    Group(usize),
}

impl Replacement {
    fn new(source: &str) -> Self {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut characters = source.chars().peekable();
        while let Some(character) = characters.next() {
            match (character, characters.peek().copied()) {
                ('\\', Some(digit)) if digit.is_ascii_digit() => {
                    characters.next();
                    parts.push(ReplacementPart::Literal(std::mem::take(&mut literal)));
                    let group = digit.to_digit(10).unwrap_or(0);
                    parts.push(ReplacementPart::Group(group as usize));
                }
                ('\\', Some('\\')) => {
                    characters.next();
                    literal.push('\\');
                }
                _ => literal.push(character),
            }
        }
        parts.push(ReplacementPart::Literal(literal));
        Self { parts }
    }

    fn expand<'t>(&self, group: impl Fn(usize) -> Option<&'t str>, out: &mut String) {
        for part in &self.parts {
            match part {
                ReplacementPart::Literal(text) => out.push_str(text),
                ReplacementPart::Group(number) => out.push_str(group(*number).unwrap_or_default()),
            }
        }
    }
}

/// Compiles the literal in an argument, if it is one.
pub(crate) fn literal_pattern(
    call: &Invocation<'_>,
    argument: usize,
) -> Result<Option<Arc<Pattern>>, Error> {
    let Some(source) = call.literal(argument) else { return Ok(None) };
    match Pattern::new(source) {
        Ok(pattern) => Ok(Some(Arc::new(pattern))),
        Err(reason) => {
            let name = &call.call.function.node;
            let message = format!("the regular expression of {name}() is not valid: {reason}");
            Err(call.error(argument, message))
        }
    }
}

fn match_(call: Invocation<'_>) -> Result<Typed, Error> {
    let pattern = patterns(&call, 1)?;
    let function = truth("match", move |row| {
        let pattern = pattern(row)?;
        match row.value(0) {
            Value::Null => None,
            Value::Text(text) => Some(pattern.is_match(text)),
            Value::Multi(values) => Some(values.iter().any(|text| pattern.is_match(text))),
            other => Some(pattern.is_match(&other.text()?)),
        }
    });
    Ok(function.call(call.arguments))
}

/// The pattern for a row: the literal one, or one compiled from the argument's value.
pub(crate) fn patterns(
    call: &Invocation<'_>,
    argument: usize,
) -> Result<impl Fn(Row<'_>) -> Option<Arc<Pattern>> + Send + Sync + 'static, Error> {
    let literal = literal_pattern(call, argument)?;
    let cache = Cached::new(Pattern::optional);
    Ok(move |row: Row<'_>| match &literal {
        Some(pattern) => Some(Arc::clone(pattern)),
        None => cache.get(&row.text(argument)?),
    })
}

fn replace(call: Invocation<'_>) -> Result<Typed, Error> {
    let pattern = patterns(&call, 1)?;
    let literal = call.literal(2).map(|source| Arc::new(Replacement::new(source)));
    let cache = Cached::new(|source| Some(Replacement::new(source)));
    let function = text_of_each("replace", move |row, out| {
        let pattern = pattern(row)?;
        let replacement = match &literal {
            Some(replacement) => Arc::clone(replacement),
            None => cache.get(&row.text(2)?)?,
        };
        pattern.replace_into(&row.text(0)?, &replacement, out);
        Some(())
    });
    Ok(function.call(call.arguments))
}
