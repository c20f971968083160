//! The cursor of all grammars: words, quotes, options, field names, messages.
//!
//! Guarantees: it moves over whole characters, and `enter` bounds recursion. Leaves to others: the grammars
//! in the modules below and in `commands`.

mod bins;
mod chart;
mod expr;
mod options;
mod over;
mod pipeline;
mod search;
mod split;
mod stats;
mod template;
mod time;
mod typing;

pub(crate) use options::OptionValue;
pub use options::boolean;
pub(crate) use search::pattern_of;
pub(crate) use stats::{Over, StatsDialect};
pub(crate) use template::subsearch_option;

use crate::ast::{Field, FieldPattern, Pipeline, Span, Spanned};
use crate::custom::CustomCommands;
use crate::diagnostic::{Diagnostic, shorten};
use crate::macros::SourceMap;
use std::ops::Range;

/// The result of grammar functions.
pub(crate) type Parsed<T> = Result<T, Diagnostic>;

/// A position in the prepared text, and its context.
#[derive(Debug)]
pub(crate) struct Parser<'t> {
    text: &'t str,
    map: &'t SourceMap,
    pos: usize,
    /// Number of open subsearch brackets: `]` ends a command only inside of one.
    brackets: usize,
    depth: usize,
    max_depth: usize,
    /// The command whose arguments are parsed, for messages.
    command: &'static str,
    /// Whether a subsearch that is replaced with a text stops the parser, because its result is not known
    /// yet.
    stops: bool,
    stopped: Option<Stopped>,
    /// The custom commands of apps.
    commands: CustomCommands,
    /// The custom command whose arguments are next.
    custom: Option<String>,
    /// `timeformat=` of the current filter.
    time_format: Option<String>,
    /// The aggregations found so far in an expression over aggregations.
    over: Option<Over>,
}

/// A subsearch that is replaced with a text.
#[derive(Debug)]
pub(crate) struct Stopped {
    /// Its position in the prepared text.
    pub(crate) at: Range<usize>,
    pub(crate) pipeline: Pipeline,
}

impl<'t> Parser<'t> {
    pub(crate) fn new(text: &'t str, map: &'t SourceMap, max_depth: usize) -> Self {
        Self {
            text,
            map,
            pos: 0,
            brackets: 0,
            depth: 0,
            max_depth,
            command: "",
            stops: false,
            stopped: None,
            commands: CustomCommands::default(),
            custom: None,
            time_format: None,
            over: None,
        }
    }

    /// Returns the parser with these custom commands.
    pub(crate) fn knowing(mut self, commands: &CustomCommands) -> Self {
        self.commands = commands.clone();
        self
    }

    /// Takes the custom command whose arguments are next.
    pub(crate) fn custom_command(&mut self) -> Option<String> {
        self.custom.take()
    }

    /// Reads the arguments of a command as written; subsearches in them are replaced with texts.
    pub(crate) fn raw_arguments(&mut self) -> Parsed<String> {
        self.skip_space();
        let start = self.pos;
        while !self.at_end() {
            match self.peek() {
                Some('"') => drop(self.quoted('"')?),
                Some('[') => drop(self.text_subsearch()?),
                _ => drop(self.bump()),
            }
        }
        Ok(self.slice(start, self.pos).trim_end().to_owned())
    }

    /// Returns the parser in the mode that stops at subsearches whose result is needed.
    pub(crate) fn stopping(mut self) -> Self {
        self.stops = true;
        self
    }

    /// Takes the subsearch at which the parser stopped.
    pub(crate) fn stopped(&mut self) -> Option<Stopped> {
        self.stopped.take()
    }

    /// Returns the rest of the text.
    pub(crate) fn rest(&self) -> &'t str {
        &self.text[self.pos..]
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(crate) fn pos(&self) -> usize {
        self.pos
    }

    /// Returns the prepared text between two offsets.
    pub(crate) fn slice(&self, start: usize, end: usize) -> &'t str {
        &self.text[start..end]
    }

    /// Returns the position in the user's text of the text read since `start`.
    pub(crate) fn span_from(&self, start: usize) -> Span {
        self.map.original(Span::new(start, self.pos))
    }

    /// Returns the position in the user's text of the next character, or of the end.
    pub(crate) fn here(&self) -> Span {
        let width = self.peek().map_or(0, char::len_utf8);
        self.map.original(Span::new(self.pos, self.pos + width))
    }

    pub(crate) fn skip_space(&mut self) {
        let rest = self.rest();
        self.pos += rest.len() - rest.trim_start().len();
    }

    /// Skips blanks and commas.
    pub(crate) fn skip_separators(&mut self) {
        let rest = self.rest();
        let left = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        self.pos += rest.len() - left.len();
    }

    /// Returns whether the arguments of the command end here: at `|`, the closing `]`, or the end.
    pub(crate) fn at_end(&mut self) -> bool {
        self.skip_space();
        match self.peek() {
            None | Some('|') => true,
            Some(']') => self.brackets > 0,
            Some(_) => false,
        }
    }

    /// Reads `symbol` if it is next, after blanks.
    pub(crate) fn eat(&mut self, symbol: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(symbol);
        if found {
            self.pos += symbol.len();
        }
        found
    }

    /// Reads `symbol`, or fails with what was expected.
    pub(crate) fn expect(&mut self, symbol: &str, place: &str) -> Parsed<()> {
        if self.eat(symbol) {
            return Ok(());
        }
        Err(self.unexpected(&format!("'{symbol}' {place}")))
    }

    /// Returns whether the word `keyword` (in any case) is next.
    pub(crate) fn at_keyword(&mut self, keyword: &str) -> bool {
        self.skip_space();
        let rest = self.rest();
        let Some(head) = rest.get(..keyword.len()) else { return false };
        let boundary = rest[keyword.len()..].chars().next();
        head.eq_ignore_ascii_case(keyword)
            && boundary.is_none_or(|c| !(c.is_alphanumeric() || "_.:{}-=*".contains(c)))
    }

    /// Reads the word `keyword` (in any case) if it is next.
    pub(crate) fn eat_keyword(&mut self, keyword: &str) -> bool {
        let found = self.at_keyword(keyword);
        if found {
            self.pos += keyword.len();
        }
        found
    }

    /// Reads characters while `accept` returns true.
    pub(crate) fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| !accept(c)).unwrap_or(rest.len());
        self.pos += end;
        &rest[..end]
    }

    pub(crate) fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.pos += next.len_utf8();
        Some(next)
    }

    /// Runs `read`, and moves back to the start if it returns `None`.
    pub(crate) fn attempt<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let start = self.pos;
        let found = read(self);
        if found.is_none() {
            self.pos = start;
        }
        found
    }

    /// Runs `read` one nesting level deeper.
    pub(crate) fn enter<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= self.max_depth {
            let message = format!("nested more than {} levels deep", self.max_depth);
            return Err(self.error(message, self.here()));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Creates a message prefixed with the current command.
    pub(crate) fn error(&self, message: impl AsRef<str>, span: Span) -> Diagnostic {
        let message = message.as_ref();
        match self.command {
            "" => Diagnostic::new(message, span),
            command => Diagnostic::new(format!("{command}: {message}"), span),
        }
    }

    /// Creates the message "expected X, found Y" at the current position.
    pub(crate) fn unexpected(&mut self, expected: &str) -> Diagnostic {
        self.skip_space();
        let start = self.pos;
        let word = self.take_while(|c| !c.is_whitespace() && !"|,()[]\"".contains(c));
        let (found, span) = if word.is_empty() {
            (self.peek().map(String::from), self.here())
        } else {
            (Some(shorten(word)), self.span_from(start))
        };
        self.pos = start;
        let found = found.map_or("the end of the search".to_owned(), |text| format!("'{text}'"));
        self.error(format!("expected {expected}, found {found}"), span)
    }

    /// Fails unless the whole text has been read.
    pub(crate) fn expect_whole(&mut self, expected: &str) -> Parsed<()> {
        self.skip_space();
        if self.peek().is_none() { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    /// Fails unless all arguments have been read.
    pub(crate) fn expect_end(&mut self, expected: &str) -> Parsed<()> {
        if self.at_end() { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    /// Reads a text in `quote`s; `\"` (or `\'`) and `\\` are resolved, other backslashes kept.
    pub(crate) fn quoted(&mut self, quote: char) -> Parsed<Spanned<String>> {
        let start = self.pos;
        self.bump();
        let mut value = String::new();
        while let Some(c) = self.bump() {
            if c == quote {
                return Ok(Spanned::new(value, self.span_from(start)));
            }
            match self.peek() {
                Some(next) if c == '\\' && (next == quote || next == '\\') => {
                    value.push(next);
                    self.bump();
                }
                _ => value.push(c),
            }
        }
        let span = self.map.original(Span::new(start, start + 1));
        Err(self.error(format!("unbalanced quotes: {quote} is not closed"), span))
    }

    /// Reads a field name or pattern: bare, or in double or single quotes. A bare one may be the name of a
    /// `stats` result without alias, such as `sum(bytes)`.
    pub(crate) fn field_pattern(&mut self, what: &str) -> Parsed<FieldPattern> {
        self.skip_space();
        let start = self.pos;
        let plain = self.plain_field_pattern(what)?;
        if self.slice(start, self.pos).starts_with(['"', '\'']) {
            return Ok(plain);
        }
        self.skip_argument();
        Ok(FieldPattern::new(self.slice(start, self.pos), self.span_from(start)))
    }

    /// Reads a field name or pattern that ends at a bracket.
    pub(crate) fn plain_field_pattern(&mut self, what: &str) -> Parsed<FieldPattern> {
        self.skip_space();
        if let Some(quote @ ('"' | '\'')) = self.peek() {
            let name = self.quoted(quote)?;
            if name.node.is_empty() {
                return Err(self.error("field name is empty", name.span));
            }
            return Ok(FieldPattern::new(name.node, name.span));
        }
        let start = self.pos;
        let name = self.take_while(is_name_character);
        if name.is_empty() {
            return Err(self.unexpected(what));
        }
        Ok(FieldPattern::new(name, self.span_from(start)))
    }

    /// Skips brackets that directly follow, as in `count(eval(status=404))`; brackets that are not closed are
    /// not skipped.
    fn skip_argument(&mut self) {
        let rest = self.rest();
        if !rest.starts_with('(') {
            return;
        }
        let mut depth = 0_usize;
        let mut quoted = false;
        for (at, c) in rest.char_indices() {
            match c {
                '"' => quoted = !quoted,
                '|' | '[' | ']' | '\n' if !quoted => return,
                '(' if !quoted => depth += 1,
                ')' if !quoted => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                self.pos += at + 1;
                return;
            }
        }
    }

    /// Reads a name or value; a quoted text may be empty.
    pub(crate) fn field_pattern_or_empty(&mut self, what: &str) -> Parsed<String> {
        self.skip_space();
        if self.peek() == Some('"') {
            return self.quoted('"').map(|text| text.node);
        }
        self.field_pattern(what).map(|pattern| pattern.text)
    }

    /// Reads a name before `=` or `!=`.
    pub(crate) fn field_before_operator(&mut self) -> Option<Field> {
        self.skip_space();
        if let Some(quote @ ('"' | '\'')) = self.peek() {
            return self.quoted(quote).ok();
        }
        let start = self.pos;
        let name = self.take_while(|c| is_name_character(c) && c != '!');
        (!name.is_empty()).then(|| Spanned::new(name.to_owned(), self.span_from(start)))
    }

    /// Reads a field name without wildcards.
    pub(crate) fn field(&mut self, what: &str) -> Parsed<Field> {
        let pattern = self.field_pattern(what)?;
        if pattern.has_wildcard() {
            let message = format!(
                "wildcards are not allowed here: '{}' must be one field",
                shorten(&pattern.text)
            );
            return Err(self.error(message, pattern.span));
        }
        Ok(Spanned::new(pattern.text, pattern.span))
    }

    /// Reads field patterns up to the end, at least `least`.
    pub(crate) fn field_patterns(&mut self, least: usize) -> Parsed<Vec<FieldPattern>> {
        let mut fields = Vec::new();
        self.skip_separators();
        while !self.at_end() {
            fields.push(self.field_pattern("a field name")?);
            self.skip_separators();
        }
        if fields.len() < least {
            return Err(self.unexpected("a field name"));
        }
        Ok(fields)
    }

    /// Reads `AS name`, if it is next. After a comma, `as` is the next field of a list.
    pub(crate) fn alias(&mut self) -> Parsed<Option<Spanned<String>>> {
        self.skip_space();
        if !self.eat_keyword("as") {
            return Ok(None);
        }
        self.alias_name().map(Some)
    }

    /// Reads `AS name` after a call, where commas separate words like blanks: `values(x), AS y`.
    pub(crate) fn alias_of_call(&mut self) -> Parsed<Option<Spanned<String>>> {
        self.skip_space();
        let is_next = self.attempt(|p| {
            p.skip_separators();
            p.eat_keyword("as").then_some(())
        });
        if is_next.is_none() {
            return Ok(None);
        }
        self.alias_name().map(Some)
    }

    fn alias_name(&mut self) -> Parsed<Spanned<String>> {
        let name = self.field_pattern("a field name after AS")?;
        Ok(Spanned::new(name.text, name.span))
    }

    /// Reads a quoted text, or a bare word up to a blank or `|`.
    pub(crate) fn text_argument(&mut self, what: &str) -> Parsed<Spanned<String>> {
        self.skip_space();
        if self.peek() == Some('"') {
            return self.quoted('"');
        }
        if self.at_end() {
            return Err(self.unexpected(what));
        }
        let start = self.pos;
        if self.peek() == Some('[') {
            self.text_subsearch()?;
        }
        let closing = self.brackets > 0;
        let word = self.take_while(|c| !c.is_whitespace() && c != '|' && !(closing && c == ']'));
        Ok(Spanned::new(word.to_owned(), self.span_from(start)))
    }

    /// Reads a text like [`Self::text_argument`], but quoted parts may be adjacent: `"a"b"c"` is `abc`. In a
    /// word that begins without a quote, quotes are kept as characters, and blanks between them do not end
    /// it.
    pub(crate) fn joined_argument(&mut self, what: &str) -> Parsed<Spanned<String>> {
        self.skip_space();
        let start = self.pos;
        if self.at_end() || self.peek() == Some('[') {
            return self.text_argument(what);
        }
        let bare = self.peek() != Some('"');
        let mut text = String::new();
        self.join_parts(&mut text, bare)?;
        Ok(Spanned::new(text, self.span_from(start)))
    }

    /// Reads the parts of a word up to a blank or the end of the command, and appends them to `text`.
    pub(crate) fn join_parts(&mut self, text: &mut String, keep_quotes: bool) -> Parsed<()> {
        let closing = self.brackets > 0;
        while let Some(c) = self.peek() {
            match c {
                '"' => {
                    let start = self.pos;
                    let part = self.quoted('"')?.node;
                    text.push_str(if keep_quotes { self.slice(start, self.pos) } else { &part });
                }
                '|' => break,
                ']' if closing => break,
                c if c.is_whitespace() => break,
                c => {
                    text.push(c);
                    self.bump();
                }
            }
        }
        Ok(())
    }

    /// Reads a whole number, if one is next as a separate word.
    pub(crate) fn count(&mut self) -> Parsed<Option<u64>> {
        self.skip_space();
        let start = self.pos;
        if self.peek() == Some('[') {
            self.text_subsearch()?;
            return Ok(Some(1));
        }
        let word = self.take_while(is_name_character);
        if word.is_empty() || !word.bytes().all(|b| b.is_ascii_digit()) {
            self.pos = start;
            return Ok(None);
        }
        let span = self.span_from(start);
        word.parse().map(Some).map_err(|_| self.error("number is too large", span))
    }
}

/// Returns whether a bare field name in a list may contain the character.
pub(crate) fn is_name_character(c: char) -> bool {
    !c.is_whitespace() && !"|,\"()[]=<>".contains(c)
}
