//! Expressions over aggregations: `eval(sum(bytes) / count)` in place of an aggregation.
//!
//! Guarantees: each aggregation is a separate call, and a reserved field stands for it in the expression.
//! Leaves to others: fields outside of aggregations.

use super::stats::{Over, StatsDialect};
use super::{Parsed, Parser};
use crate::ast::{
    Expr, ExprKind, FieldRef, Span, Spanned, StatsArgument, StatsCall, StatsFunction, StatsKind,
    aggregation_name,
};
use crate::functions;
use crate::stats_functions;

/// Returns whether the name of an aggregation, without its parameter, may contain the character.
fn is_name_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

impl Parser<'_> {
    /// Reads `eval(...) AS name`, if it is next.
    pub(super) fn over_aggregations(&mut self, dialect: StatsDialect) -> Parsed<Option<StatsCall>> {
        let start = self.pos();
        let word_end = start + "eval".len();
        let begins = !matches!(dialect, StatsDialect::Tstats | StatsDialect::Mstats)
            && self.over.is_none()
            && self.attempt(|p| (p.eat_keyword("eval") && p.eat("(")).then_some(())).is_some();
        if !begins {
            return Ok(None);
        }
        self.over = Some(Over { dialect, calls: Vec::new() });
        let expr = self.expr();
        let calls = self.over.take().map(|over| over.calls).unwrap_or_default();
        let expr = expr?;
        self.expect(")", "after the expression of eval(")?;
        let end = self.pos();
        if calls.is_empty() {
            let message = "eval(...) in place of an aggregation computes with aggregations";
            let hint = "write eval(sum(a) / count), or sum(eval(a * b))";
            return Err(self.error(message, self.span_to(start, end)).with_hint(hint));
        }
        let text = self.slice(start, end).to_owned();
        let alias = self.alias_of_call()?;
        let span = if alias.is_some() { self.span_from(start) } else { self.span_to(start, end) };
        let name = self.slice(start, word_end).to_owned();
        let name = Spanned::new(name, self.span_to(start, word_end));
        let function = StatsFunction { kind: StatsKind::Eval, parameter: None, name };
        let argument = StatsArgument::Over { expr, calls };
        Ok(Some(StatsCall { function, argument, alias, text, span }))
    }

    /// Reads an aggregation inside of such an expression, if one is next: `avg(x)`, `count`.
    pub(super) fn aggregation(&mut self) -> Parsed<Option<Expr>> {
        let Some(dialect) = self.over.as_ref().map(|over| over.dialect) else { return Ok(None) };
        let start = self.pos();
        let name = self.take_while(is_name_character).to_ascii_lowercase();
        let name_end = self.pos();
        let counts = stats_functions::find(&name).is_some_and(|(found, _)| {
            found.kind == StatsKind::Count && !self.rest().trim_start().starts_with('(')
        });
        if counts {
            let call = self.bare_count(start, name_end);
            return Ok(Some(self.stand_in(call)));
        }
        // `perc99.9` contains a dot.
        let decimals = self.take_while(|c| c.is_ascii_digit() || c == '.').to_owned();
        let is_call = self.rest().trim_start().starts_with('(');
        let known = stats_functions::find(&format!("{name}{decimals}")).is_some();
        self.pos = start;
        if !is_call || !known {
            return Ok(None);
        }
        // Inside of the aggregation, names are fields.
        let outer = self.over.take();
        let read = self.stats_call(dialect);
        self.over = outer;
        match read {
            Ok(call) if call.alias.is_some() => {
                Err(self.error("AS is not allowed inside of eval(...)", call.span))
            }
            Ok(call) if call.function.kind == StatsKind::Sparkline => {
                Err(self.error("a sparkline cannot be used in a computation", call.span))
            }
            Ok(call) => Ok(Some(self.stand_in(call))),
            // `max(a, b)` is a function of two values, not an aggregation.
            Err(_) if functions::find(&name).is_some() => {
                self.pos = start;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn bare_count(&self, start: usize, end: usize) -> StatsCall {
        let (text, span) = (self.slice(start, end).to_owned(), self.span_to(start, end));
        let name = Spanned::new(text.clone(), span);
        let function = StatsFunction { kind: StatsKind::Count, parameter: None, name };
        StatsCall { function, argument: StatsArgument::None, alias: None, text, span }
    }

    /// Records an aggregation, and returns the field that stands for it.
    fn stand_in(&mut self, call: StatsCall) -> Expr {
        let span: Span = call.span;
        let mut place = 0;
        if let Some(over) = &mut self.over {
            place = over.calls.len();
            over.calls.push(call);
        }
        let field = FieldRef { name: aggregation_name(place), quoted: true };
        Expr { kind: ExprKind::Field(field), span }
    }
}
