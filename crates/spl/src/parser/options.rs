//! `name=value` options of commands.
//!
//! Guarantees: an unknown name or a value of the wrong type is rejected with its position.

use super::{Parsed, Parser};
use crate::ast::{Expr, Field, Span, Spanned};
use crate::diagnostic::{Diagnostic, shorten};
use crate::macros::SourceMap;
use crate::suggest::nearest;

/// An option and its value.
#[derive(Debug)]
pub(crate) struct OptionValue {
    /// The registered name.
    pub(crate) name: &'static str,
    pub(crate) value: String,
    pub(crate) value_span: Span,
    /// The start of the value in the prepared text, including its quote.
    at: usize,
    command: &'static str,
}

impl Parser<'_> {
    /// Reads an option, if `name=` is next; names outside of `known` are rejected.
    pub(crate) fn option(&mut self, known: &'static [&'static str]) -> Parsed<Option<OptionValue>> {
        let Some(name) = self.option_name() else { return Ok(None) };
        let lower = name.node.to_ascii_lowercase();
        let Some(registered) = known.iter().find(|candidate| **candidate == lower) else {
            let message = format!("unknown option '{}'", shorten(&name.node));
            let mut diagnostic = self.error(message, name.span);
            if !known.is_empty() {
                diagnostic = diagnostic.with_hint(format!("options are {}", known.join(", ")));
            }
            return Err(diagnostic.with_suggestion(nearest(&lower, known.iter().copied())));
        };
        self.skip_space();
        let at = self.pos;
        let value = self.option_text(registered)?;
        Ok(Some(OptionValue {
            name: registered,
            value: value.node,
            value_span: value.span,
            at,
            command: self.command,
        }))
    }

    /// Reads an option with any other name, if one is next; returns its name and value.
    pub(crate) fn other_option(
        &mut self,
        known: &'static [&'static str],
    ) -> Parsed<Option<(Spanned<String>, Spanned<String>)>> {
        let name = self.attempt(|p| {
            let name = p.option_name()?;
            let lower = name.node.to_ascii_lowercase();
            (!known.contains(&lower.as_str())).then_some(name)
        });
        let Some(name) = name else { return Ok(None) };
        let value = self.option_text(&name.node)?;
        Ok(Some((name, value)))
    }

    /// Reads `name =` if it is next.
    pub(crate) fn option_name(&mut self) -> Option<Spanned<String>> {
        self.attempt(|p| {
            p.skip_space();
            let start = p.pos;
            let name = p.take_while(|c| c.is_ascii_alphanumeric() || "_-".contains(c)).to_owned();
            let span = p.span_from(start);
            p.skip_space();
            let is_option =
                !name.is_empty() && p.rest().starts_with('=') && !p.rest().starts_with("==");
            is_option.then(|| {
                p.bump();
                Spanned::new(name, span)
            })
        })
    }

    fn option_text(&mut self, name: &str) -> Parsed<Spanned<String>> {
        self.skip_space();
        if let Some(quote @ ('"' | '\'')) = self.peek() {
            return self.quoted(quote);
        }
        let start = self.pos;
        if self.peek() == Some('[') {
            self.text_subsearch()?;
            return Ok(Spanned::new(self.slice(start, self.pos).to_owned(), self.span_from(start)));
        }
        if self.peek() == Some('(') {
            self.skip_group()?;
            return Ok(Spanned::new(self.slice(start, self.pos).to_owned(), self.span_from(start)));
        }
        let closing = self.brackets > 0;
        if self.peek() == Some(',') {
            self.bump();
        }
        let stop = |c: char| c.is_whitespace() || "|,()\"".contains(c) || (closing && c == ']');
        while self.peek().is_some_and(|c| !stop(c)) && !self.at_subsearch(start) {
            self.bump();
        }
        if self.pos == start {
            return Err(self.unexpected(&format!("a value after '{name}='")));
        }
        Ok(Spanned::new(self.slice(start, self.pos).to_owned(), self.span_from(start)))
    }

    /// Moves after the bracket that closes the next one.
    fn skip_group(&mut self) -> Parsed<()> {
        let open = self.here();
        let mut depth = 0_usize;
        while let Some(c) = self.peek() {
            match c {
                '"' => {
                    self.quoted('"')?;
                    continue;
                }
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            self.bump();
            if depth == 0 {
                return Ok(());
            }
        }
        Err(self.error("unbalanced brackets: '(' is not closed", open))
    }

    /// Reads the value of an option as an expression: `reset_after=(count > 5)`.
    pub(crate) fn option_expr(&mut self, option: &OptionValue) -> Parsed<Expr> {
        if option.value == "(" && self.text[option.at..].starts_with('"') {
            return self.between_quoted_brackets(option);
        }
        let behind = self.pos;
        let quoted = self.text[option.at..].starts_with(['"', '\'']);
        if quoted && self.text[option.at..behind].contains('\\') {
            let map = SourceMap::at(option.value_span);
            let mut inside = Parser::new(&option.value, &map, self.max_depth);
            inside.command = self.command;
            let expr = inside.expr()?;
            inside.expect_end(&format!("the end of the value of '{}'", option.name))?;
            return Ok(expr);
        }
        self.pos = option.at + usize::from(quoted);
        let expr = self.expr()?;
        self.skip_space();
        let end = if quoted { self.pos + 1 } else { self.text[..self.pos].trim_end().len() };
        if end != behind {
            return Err(self.unexpected(&format!("the end of the value of '{}'", option.name)));
        }
        self.pos = behind;
        Ok(expr)
    }

    /// Reads the rest of `reset_after="("state==\"up\"")"`, where the brackets are quoted, and quotes between
    /// them escaped.
    fn between_quoted_brackets(&mut self, option: &OptionValue) -> Parsed<Expr> {
        let start = self.pos;
        let rest = &self.text[start..];
        let closing = rest.char_indices().map(|(at, _)| at).find(|at| {
            let (before, behind) = rest.split_at(*at);
            behind.starts_with("\")\"") && !before.ends_with('\\')
        });
        let Some(length) = closing else {
            return Err(self.error("unbalanced brackets: '(' is not closed", option.value_span));
        };
        let text = rest[..length].replace("\\\"", "\"");
        self.pos = start + length;
        let map = SourceMap::at(self.span_from(start));
        let mut inside = Parser::new(&text, &map, self.max_depth);
        inside.command = self.command;
        let expr = inside.expr()?;
        inside.expect_end(&format!("the end of the value of '{}'", option.name))?;
        self.pos += "\")\"".len();
        Ok(expr)
    }
}

/// Parses `true`, `t`, `1`, `yes` and their opposites, in any case. Configuration files have more words
/// (`conf::boolean`): in a search, `on`, `enabled` and their opposites are more likely a value in the wrong
/// place.
#[must_use]
pub fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "t" | "1" | "yes" => Some(true),
        "false" | "f" | "0" | "no" => Some(false),
        _ => None,
    }
}

impl OptionValue {
    /// Creates a message about the value.
    pub(crate) fn error(&self, expected: &str) -> Diagnostic {
        let message = format!(
            "{}: option '{}' expects {expected}, found '{}'",
            self.command,
            self.name,
            shorten(&self.value)
        );
        Diagnostic::new(message, self.value_span)
    }

    /// Returns whether the value is a subsearch, whose result is not known here.
    pub(super) fn is_subsearch(&self) -> bool {
        self.value.starts_with('[')
    }

    /// Parses one of the words of [`boolean`].
    pub(crate) fn boolean(&self) -> Parsed<bool> {
        if self.is_subsearch() {
            return Ok(true);
        }
        boolean(&self.value).ok_or_else(|| self.error("true or false"))
    }

    /// Parses a whole number.
    pub(crate) fn number(&self) -> Parsed<u64> {
        if self.is_subsearch() {
            return Ok(1);
        }
        self.value.parse().map_err(|_| self.error("a whole number"))
    }

    /// Parses a number and keeps it as text.
    pub(crate) fn decimal(&self) -> Parsed<String> {
        if self.is_subsearch() {
            return Ok("1".to_owned());
        }
        match self.value.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(self.value.clone()),
            _ => Err(self.error("a number")),
        }
    }

    /// Returns the text.
    pub(crate) fn text(&self) -> String {
        self.value.clone()
    }

    /// Returns the text with its position.
    pub(crate) fn spanned(&self) -> Spanned<String> {
        Spanned::new(self.value.clone(), self.value_span)
    }

    /// Parses the name of one field.
    pub(crate) fn field(&self) -> Parsed<Field> {
        if self.value.trim().is_empty() || self.value.contains('*') {
            return Err(self.error("the name of one field"));
        }
        Ok(self.spanned())
    }
}
