//! The grammar of the stats family: aggregation calls, `AS` and `BY`.
//!
//! Guarantees: functions are looked up in the registry, which also says which commands support them.
//! Expressions over aggregations are read in `parser/over.rs`.

use super::bins::time_span;
use super::{OptionValue, Parsed, Parser};
use crate::ast::{
    FieldPattern, Spanned, StatsArgument, StatsBy, StatsCall, StatsFunction, StatsKind,
};
use crate::diagnostic::{Diagnostic, shorten};
use crate::functions;
use crate::stats_functions::{self, StatsFunctionDefinition};
use crate::suggest::nearest;

/// Returns whether a field name between the brackets of a call may contain the character.
fn is_argument_character(c: char) -> bool {
    !c.is_whitespace() && !"|,\"()[]".contains(c)
}

/// Returns whether the word before brackets is part of a name, and not a function that misses its `eval`.
fn is_plain_word(word: &str) -> bool {
    let is_word = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_word && !matches!(word, "eval" | "prefix") && functions::find(word).is_none()
}

/// The variants of the grammar, by command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatsDialect {
    /// `stats`, `eventstats`, `streamstats`.
    Stats,
    /// `chart` and `timechart`: only `count` may have no argument.
    Chart,
    /// `tstats`: `PREFIX(...)`.
    Tstats,
    /// `mstats` and `mcatalog`: rates of several counters.
    Mstats,
}

/// The aggregations of the expression over aggregations that is being read.
#[derive(Debug)]
pub(crate) struct Over {
    pub(super) dialect: StatsDialect,
    pub(super) calls: Vec<StatsCall>,
}

/// Calls and group keys.
#[derive(Debug, Default)]
pub(crate) struct StatsArguments {
    pub(crate) calls: Vec<StatsCall>,
    pub(crate) by: StatsBy,
}

impl Parser<'_> {
    /// Reads options, calls and `BY` of a command; `accept` handles each option.
    pub(crate) fn stats_arguments(
        &mut self,
        options: &'static [&'static str],
        accept: impl FnMut(&mut Self, &OptionValue) -> Parsed<()>,
    ) -> Parsed<StatsArguments> {
        let found = self.optional_stats_arguments(options, accept)?;
        if found.calls.is_empty() {
            return Err(self.missing_aggregation());
        }
        Ok(found)
    }

    /// Returns the error at the end of a command without an aggregation.
    pub(crate) fn missing_aggregation(&mut self) -> Diagnostic {
        self.unexpected("an aggregation such as count or sum(field)")
    }

    /// As [`Self::stats_arguments`], perhaps without a call.
    pub(crate) fn optional_stats_arguments(
        &mut self,
        options: &'static [&'static str],
        mut accept: impl FnMut(&mut Self, &OptionValue) -> Parsed<()>,
    ) -> Parsed<StatsArguments> {
        let mut found = StatsArguments::default();
        loop {
            self.skip_separators();
            if self.at_end() {
                break;
            }
            if found.by.is_empty() && self.eat_keyword("by") {
                self.stats_by_until(&mut found.by, StatsDialect::Stats, options)?;
                continue;
            }
            if let Some(option) = self.option(options)? {
                accept(self, &option)?;
                continue;
            }
            if !found.by.is_empty() {
                return Err(self.unexpected("an option or the end of the command"));
            }
            found.calls.push(self.stats_call(StatsDialect::Stats)?);
        }
        Ok(found)
    }

    /// Reads `BY` fields and their span, up to one of the options of the command, which may follow them.
    pub(crate) fn stats_by_until(
        &mut self,
        by: &mut StatsBy,
        dialect: StatsDialect,
        options: &'static [&'static str],
    ) -> Parsed<()> {
        loop {
            self.skip_separators();
            let has_where = matches!(dialect, StatsDialect::Tstats | StatsDialect::Mstats);
            let tstats_clause = has_where && self.at_keyword("where");
            if self.at_end() || tstats_clause || self.at_option(options) {
                break;
            }
            let of_command = dialect == StatsDialect::Stats && !self.at_option(&["span"]);
            let known: &'static [&'static str] = if of_command { options } else { &["span"] };
            if let Some(option) = self.option(known)? {
                option.group_span(by)?;
                continue;
            }
            if dialect == StatsDialect::Tstats
                && let Some(prefix) = self.prefix()?
            {
                by.prefixes.push(by.fields.len());
                by.fields.push(FieldPattern::new(prefix.node, prefix.span));
                continue;
            }
            by.fields.push(self.group_field()?);
        }
        if by.fields.is_empty() {
            return Err(self.unexpected("a field name after BY"));
        }
        Ok(())
    }

    /// Reads a field after `BY`. Its name may end with brackets, as in `by Severity(Min)` and
    /// `by latest(x)`, which is the result of an earlier command. If the word before them is an eval
    /// function only, it is a call, which is an error after `BY`.
    fn group_field(&mut self) -> Parsed<FieldPattern> {
        self.skip_space();
        let start = self.pos;
        let field = self.plain_field_pattern("a field name after BY")?;
        let name = field.text.to_ascii_lowercase();
        if self.rest().starts_with('(') && stats_functions::find(&name).is_none() {
            let missing = self.unexpected("a field name after BY");
            if name == "prefix" {
                return Err(missing.with_hint("PREFIX(...) exists in tstats only"));
            }
            // Only lower-case words are functions here: `Time(s)` is a field.
            if matches!(&*field.text, "bin" | "bucket") {
                return Err(missing.with_hint("use the command bin before this one"));
            }
            if functions::find(&field.text).is_some() {
                return Err(missing.with_hint(format!(
                    "compute it before this command: ... | eval x={}(...), or put the name of a field in \
                     quotes",
                    field.text
                )));
            }
        }
        self.pos = start;
        self.field_pattern("a field name after BY")
    }

    /// Returns whether one of these options is next, followed by `=` or (by mistake) `==`.
    pub(crate) fn at_option(&mut self, options: &[&str]) -> bool {
        let mut is_next = false;
        self.attempt(|p| -> Option<()> {
            p.skip_space();
            let name = p
                .take_while(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
                .to_ascii_lowercase();
            p.skip_space();
            is_next = p.rest().starts_with('=') && options.contains(&name.as_str());
            None
        });
        is_next
    }

    /// Reads `PREFIX(x=)`.
    pub(crate) fn prefix(&mut self) -> Parsed<Option<Spanned<String>>> {
        self.skip_space();
        let start = self.pos();
        let is_prefix = self.attempt(|p| (p.eat_keyword("prefix") && p.eat("(")).then_some(()));
        if is_prefix.is_none() {
            return Ok(None);
        }
        self.skip_space();
        let text = if self.peek() == Some('"') {
            self.quoted('"')?.node
        } else {
            self.take_while(is_argument_character).to_owned()
        };
        self.expect(")", "after PREFIX(")?;
        let span = self.span_from(start);
        if text.is_empty() {
            return Err(self.error("PREFIX needs a text such as PREFIX(level=)", span));
        }
        Ok(Some(Spanned::new(text, span)))
    }

    /// Reads `sum(bytes) AS total`.
    pub(crate) fn stats_call(&mut self, dialect: StatsDialect) -> Parsed<StatsCall> {
        self.skip_space();
        let start = self.pos();
        if let Some(call) = self.over_aggregations(dialect)? {
            return Ok(call);
        }
        let (function, definition) = self.stats_function(dialect)?;
        let mut argument = StatsArgument::None;
        let mut end = self.pos();
        if self.eat("(") {
            argument = self.stats_argument(&function, dialect)?;
            end = self.pos();
        }
        let text = self.slice(start, end).to_owned();
        // In `stats`, a function without an argument aggregates all fields.
        let all_fields = dialect == StatsDialect::Stats;
        let bare = matches!(argument, StatsArgument::None);
        if bare && !definition.argument_optional && !all_fields {
            let message = format!("function {} needs a field: {0}(field)", function.name.node);
            return Err(self.error(message, self.span_to(start, end)));
        }
        let alias = self.alias_of_call()?;
        let span = if alias.is_some() { self.span_from(start) } else { self.span_to(start, end) };
        Ok(StatsCall { function, argument, alias, text, span })
    }

    /// Reads `AS name` after options that follow the last call: `latest(x) span=10m AS y`.
    pub(crate) fn alias_behind_options(&mut self, calls: &mut [StatsCall]) -> Parsed<bool> {
        let Some(call) = calls.last_mut().filter(|call| call.alias.is_none()) else {
            return Ok(false);
        };
        call.alias = self.alias_of_call()?;
        Ok(call.alias.is_some())
    }

    pub(crate) fn span_to(&self, start: usize, end: usize) -> crate::ast::Span {
        self.map.original(crate::ast::Span::new(start, end))
    }

    fn stats_function(
        &mut self,
        dialect: StatsDialect,
    ) -> Parsed<(StatsFunction, &'static StatsFunctionDefinition)> {
        let start = self.pos();
        let name = self.take_while(|c| c.is_ascii_alphanumeric() || "_.".contains(c));
        if name.is_empty() {
            return Err(self.unexpected("an aggregation such as count or sum(field)"));
        }
        let span = self.span_from(start);
        let lower = name.to_ascii_lowercase();
        let Some((definition, parameter)) = stats_functions::find(&lower) else {
            let message = format!("unknown function '{}'", shorten(name));
            if lower == "eval" {
                let hint = "compute it after this command: ... | eval ratio=a/b";
                let message = "an expression over aggregations is not allowed here";
                return Err(self.error(message, span).with_hint(hint));
            }
            if stats_functions::lacks_number(&lower) {
                let message = format!(
                    "function {name} needs a percentage behind its name, such as {name}95(field)"
                );
                return Err(self.error(message, span));
            }
            let suggestion = nearest(&lower, stats_functions::names());
            return Err(self.error(message, span).with_suggestion(suggestion));
        };
        let percent = parameter.map(|text| text.parse::<f64>());
        if percent.is_some_and(|p| !p.is_ok_and(|p| (0.0..=100.0).contains(&p))) {
            let message = format!("percentile of '{}' must be between 0 and 100", shorten(name));
            return Err(self.error(message, span));
        }
        if definition.chart_only && dialect != StatsDialect::Chart {
            let message = format!("function {name} exists in chart and timechart only");
            return Err(self.error(message, span));
        }
        if definition.metrics_only && dialect != StatsDialect::Mstats {
            let message = format!("function {name} exists in mstats only");
            return Err(self.error(message, span));
        }
        let function = StatsFunction {
            kind: definition.kind,
            parameter: parameter.map(str::to_owned),
            name: Spanned::new(name.to_owned(), span),
        };
        Ok((function, definition))
    }

    /// Reads the argument of a call, including the closing bracket.
    fn stats_argument(
        &mut self,
        function: &StatsFunction,
        dialect: StatsDialect,
    ) -> Parsed<StatsArgument> {
        if function.kind == StatsKind::Sparkline {
            return self.enter(|p| p.sparkline(dialect));
        }
        let name = &function.name.node;
        if self.eat(")") {
            return Ok(StatsArgument::None);
        }
        if dialect == StatsDialect::Tstats
            && let Some(prefix) = self.prefix()?
        {
            self.expect(")", &format!("after the argument of {name}"))?;
            return Ok(StatsArgument::Prefix(prefix));
        }
        self.skip_space();
        let start = self.pos();
        let is_eval = self.attempt(|p| (p.eat_keyword("eval") && p.eat("(")).then_some(()));
        let argument = if is_eval.is_some() {
            // Inside of `eval`, names are fields, even in an expression over aggregations.
            let over = self.over.take();
            let expr = self.expr();
            self.over = over;
            let expr = expr?;
            self.expect(")", "after the expression of eval(")?;
            StatsArgument::Eval(expr)
        } else {
            StatsArgument::Field(self.stats_field()?)
        };
        if self.eat(")") {
            return Ok(argument);
        }
        if let Some(error) = self.misspelt_function(start, name) {
            return Err(error);
        }
        if let Some(field) = self.attempt(|p| p.unquoted_argument(start)) {
            return Ok(StatsArgument::Field(field));
        }
        if !self.eat(")") {
            let missing = self.unexpected(&format!("')' after the argument of {name}"));
            let hint = format!("expressions go into eval: {name}(eval(...))");
            return Err(missing.with_hint(hint));
        }
        Ok(argument)
    }

    /// Returns an error if the word before brackets, which begins at `start`, is nearly the name of an eval
    /// function, as in `sum(rond(a))`. It is a field if the text before has it, as in
    /// `rename x AS rond(a)`; only lower-case words are functions here, as after `BY`.
    fn misspelt_function(&self, start: usize, aggregation: &str) -> Option<Diagnostic> {
        let word = self.slice(start, self.pos());
        let is_call = self.rest().starts_with('(') && is_plain_word(word);
        let is_other = word.contains(char::is_uppercase) || stats_functions::find(word).is_some();
        if !is_call || is_other {
            return None;
        }
        let end = self.pos() + self.rest().find(')')? + 1;
        let field = self.slice(start, end);
        if self.slice(0, start).contains(field) {
            return None;
        }
        // Shorter names are near to words that are not meant as functions, such as `cost` and `trip`.
        let functions = functions::names().filter(|name| name.len() > 4).chain(["eval"]);
        let meant = match nearest(word, functions)? {
            "eval" => "eval(...)".to_owned(),
            function => format!("eval({function}(...))"),
        };
        let message = format!("unknown function '{}'", shorten(word));
        let hint = format!(
            "did you mean `{aggregation}({meant})`? The name of a field goes into quotes: \
             {aggregation}(\"{}\")",
            shorten(field)
        );
        Some(self.error(message, self.span_to(start, start + word.len())).with_hint(hint))
    }

    /// Reads an unquoted field name with blanks, or one with brackets such as `dc(n)` or `size(MB)`,
    /// including the closing bracket. With operators or eval functions it is an expression that lacks its
    /// `eval`.
    fn unquoted_argument(&mut self, start: usize) -> Option<FieldPattern> {
        self.take_while(|c| !"()|[]\",='<>\n".contains(c));
        if self.peek() == Some('(') {
            let word = self.slice(start, self.pos()).to_ascii_lowercase();
            (stats_functions::find(&word).is_some() || is_plain_word(&word)).then_some(())?;
            self.bump();
            self.take_while(|c| !"()|[]\",='<>\n".contains(c));
            self.eat(")").then_some(())?;
        }
        let end = self.pos();
        let name = self.slice(start, end).trim_end();
        let is_expression =
            name.split_whitespace().any(|word| word.chars().all(|c| "+-*/%.".contains(c)));
        let field = FieldPattern::new(name, self.span_to(start, start + name.len()));
        (!is_expression && self.eat(")")).then_some(field)
    }

    fn stats_field(&mut self) -> Parsed<FieldPattern> {
        self.skip_space();
        if matches!(self.peek(), Some('"' | '\'')) {
            return self.field_pattern("a field name");
        }
        let start = self.pos();
        let name = self.take_while(is_argument_character);
        if name.is_empty() {
            return Err(self.unexpected("a field name"));
        }
        Ok(FieldPattern::new(name, self.span_from(start)))
    }

    /// Reads `count, 1h)` or `avg(x), 1h)`.
    fn sparkline(&mut self, dialect: StatsDialect) -> Parsed<StatsArgument> {
        let mut argument = (None, None);
        if !self.eat(")") {
            self.skip_space();
            let call = self.stats_call(dialect)?;
            let nested = matches!(call.function.kind, StatsKind::Sparkline | StatsKind::Eval);
            if nested || call.alias.is_some() {
                let message = "sparkline takes an aggregation such as count or avg(field)";
                return Err(self.error(message, call.span));
            }
            argument.0 = Some(Box::new(call));
            if self.eat(",") {
                self.skip_space();
                let start = self.pos();
                let text = self.take_while(is_argument_character);
                let span = self.span_from(start);
                // An empty step counts as none: dashboards have a token there.
                if !text.is_empty() {
                    argument.1 = Some(time_span(text).ok_or_else(|| {
                        self.error("sparkline step must be a time such as 5m or 1h", span)
                    })?);
                }
            }
            self.expect(")", "after the argument of sparkline")?;
        }
        Ok(StatsArgument::Sparkline { call: argument.0, step: argument.1 })
    }
}
