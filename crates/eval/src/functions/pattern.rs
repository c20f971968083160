//! `match` and `replace`: functions of regular expressions.

use std::sync::Arc;

use super::{Call, Function, Preparation, Refusal, refuse, shown, text_of_each, truth};
use crate::value::Value;
use crate::{Cached, LONGEST_TEXT, Pattern, Row};

pub(super) const FUNCTIONS: &[Function] = &[shown("match", match_), shown("replace", replace)];

/// Writes the text with every match replaced.
fn replace_into(pattern: &Pattern, text: &str, replacement: &Replacement, out: &mut String) {
    let mut done = 0;
    pattern.each_match(text, |found| {
        if let Some((start, end)) = found.span(0) {
            out.push_str(&text[done..start]);
            replacement.expand(|group| found.get(group), out);
            done = end;
        }
        // A result that is too long is rejected by the caller.
        out.len() <= LONGEST_TEXT
    });
    out.push_str(&text[done..]);
}

/// The replacement of a match: literals and groups (`\1`).
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

fn match_(call: &Call<'_>) -> Preparation {
    let pattern = patterns(call, 1)?;
    Ok(truth(move |row| {
        let pattern = pattern(row)?;
        match row.value(0) {
            Value::Null => None,
            Value::Text(text) => Some(pattern.is_match(text)),
            Value::Multi(values) => Some(values.iter().any(|text| pattern.is_match(text))),
            other => Some(pattern.is_match(&other.text()?)),
        }
    }))
}

/// Returns the pattern of a row: the literal one, or one compiled from the value of the argument.
pub(super) fn patterns(
    call: &Call<'_>,
    argument: usize,
) -> Result<impl Fn(Row<'_>) -> Option<Arc<Pattern>> + Send + Sync + use<>, Refusal> {
    let literal = match call.text(argument).map(Pattern::compile).transpose() {
        Ok(pattern) => pattern.map(Arc::new),
        Err(reason) => {
            let name = call.name;
            let message = format!("the regular expression of {name}() is not valid: {reason}");
            return refuse(argument, message);
        }
    };
    let cache = Cached::new(|source| Pattern::compile(source).ok());
    Ok(move |row: Row<'_>| match &literal {
        Some(pattern) => Some(Arc::clone(pattern)),
        None => cache.get(&row.text(argument)?),
    })
}

fn replace(call: &Call<'_>) -> Preparation {
    let pattern = patterns(call, 1)?;
    let literal = call.text(2).map(|source| Arc::new(Replacement::new(source)));
    let cache = Cached::new(|source| Some(Replacement::new(source)));
    Ok(text_of_each(move |row, out| {
        let pattern = pattern(row)?;
        let replacement = match &literal {
            Some(replacement) => Arc::clone(replacement),
            None => cache.get(&row.text(2)?)?,
        };
        replace_into(&pattern, &row.text(0)?, &replacement, out);
        Some(())
    }))
}
