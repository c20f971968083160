//! `match` and `replace`, and the regular expressions behind them and the commands.
//!
//! Guarantees: a literal expression is compiled once, when planning. Engines and syntax are those of
//! [`knowledge::Pattern`], so a pattern means the same here as in the configuration.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow::array::{Array, StringViewArray};
use arrow::buffer::BooleanBuffer;

use crate::Error;
use crate::expr::Typed;
use crate::expr::cached::Cached;
use crate::expr::column::{Row, Value};
use crate::expr::kernel::{text_of_each, truth};
use crate::functions::{Function, Invocation, shown_values};
use crate::ledger::LONGEST_TEXT;
use crate::predicate::literal::LiteralSearch;

pub(crate) const FUNCTIONS: &[Function] =
    &[shown_values(&["match"], (2, 2), match_), shown_values(&["replace"], (3, 3), replace)];

/// A compiled regular expression.
#[derive(Debug)]
pub(crate) struct Pattern {
    regex: knowledge::Pattern,
    /// What every matching text holds; made when a column is searched for the first time.
    literal: OnceLock<Option<LiteralSearch>>,
}

impl Pattern {
    /// Compiles Perl-style syntax.
    pub(crate) fn new(source: &str) -> Result<Self, String> {
        let regex = knowledge::Pattern::compile(source)?;
        Ok(Self { regex, literal: OnceLock::new() })
    }

    fn optional(source: &str) -> Option<Self> {
        Self::new(source).ok()
    }

    /// Whether it occurs anywhere in the text.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// What every match is known to hold.
    pub(crate) fn required_literal(&self) -> Option<Vec<u8>> {
        self.regex.required_literal()
    }

    /// Which of the texts it occurs in.
    pub(crate) fn rows(&self, texts: &StringViewArray) -> BooleanBuffer {
        let literal =
            self.literal.get_or_init(|| LiteralSearch::new(&self.required_literal()?, false));
        let candidates = literal.as_ref().map(|literal| literal.rows(texts));
        BooleanBuffer::collect_bool(texts.len(), |row| {
            candidates.as_ref().is_none_or(|candidates| candidates.value(row))
                && texts.is_valid(row)
                && self.is_match(texts.value(row))
        })
    }

    /// Its named groups with their numbers.
    pub(crate) fn group_names(&self) -> Vec<(usize, String)> {
        let names = self.regex.names().iter().enumerate();
        names.filter_map(|(at, name)| Some((at, name.clone()?))).collect()
    }

    /// Calls `found` with the text of a group in each match, `limit` matches at most (0 is all).
    pub(crate) fn each_match(
        &self,
        text: &str,
        group: usize,
        limit: usize,
        found: &mut dyn FnMut(&str),
    ) {
        let mut matches = 0;
        self.regex.each_match(text, |groups| {
            groups.get(group).into_iter().for_each(&mut *found);
            matches += 1;
            matches != limit
        });
    }

    /// Calls `found` with the name and the bytes of each of the groups in each match, `limit` matches at
    /// most (0 is all).
    pub(crate) fn each_place(
        &self,
        text: &str,
        groups: &[(usize, String)],
        limit: usize,
        found: &mut dyn FnMut(&str, Range<usize>),
    ) {
        let mut matches = 0;
        self.regex.each_match(text, |captured| {
            for (group, name) in groups {
                if let Some((start, end)) = captured.span(*group) {
                    found(name, start..end);
                }
            }
            matches += 1;
            matches != limit
        });
    }

    /// Appends the text with every match replaced.
    fn replace_into(&self, text: &str, replacement: &Replacement, out: &mut String) {
        let mut done = 0;
        self.regex.each_match(text, |found| {
            if let Some((start, end)) = found.span(0) {
                out.push_str(&text[done..start]);
                replacement.expand(|group| found.get(group), out);
                done = end;
            }
            // What is longer is refused by who called.
            out.len() <= LONGEST_TEXT
        });
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
            if out.len() > LONGEST_TEXT {
                return;
            }
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
    Ok(function.call(call.texts()))
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
    Ok(function.call(call.texts()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_that_match_one_by_one() {
        let texts = ["error code 7", "no", "session=ab12f", "session=ab12", "", "ERROR", "aab ab"];
        let column = StringViewArray::from_iter_values(texts);
        for source in ["session=ab12[0-9a-f]+", "(?i)error", "^a", "(ab)+", "b$", "(?<=a)b", "x*"] {
            let pattern = Pattern::new(source).unwrap();
            let expected: Vec<bool> = texts.iter().map(|text| pattern.is_match(text)).collect();
            assert_eq!(pattern.rows(&column).iter().collect::<Vec<_>>(), expected, "{source}");
        }
    }
}
