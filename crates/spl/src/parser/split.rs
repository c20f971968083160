//! The common grammar of `chart` and `timechart`: series options and the `where` clause after `BY`.
//!
//! Guarantees: limits and conditions are typed.

use super::{OptionValue, Parsed, Parser, StatsDialect};
use crate::ast::{
    SeriesLimit, SeriesOptions, SplitWhere, SplitWhereCondition, StatsArgument, StatsCall,
};

impl OptionValue {
    /// Sets the option in `series`; returns `false` if it is not an option of series.
    pub(crate) fn series_option(&self, series: &mut SeriesOptions) -> Parsed<bool> {
        match self.name {
            "limit" => {
                let limit = series_limit(&self.value);
                series.limit =
                    Some(limit.ok_or_else(|| self.error("a number, top<N> or bottom<N>"))?);
            }
            "useother" => series.useother = Some(self.boolean()?),
            "usenull" => series.usenull = Some(self.boolean()?),
            "otherstr" => series.otherstr = Some(self.text()),
            "nullstr" => series.nullstr = Some(self.text()),
            "sep" => series.sep = Some(self.text()),
            "format" => series.format = Some(self.text()),
            "cont" => series.cont = Some(self.boolean()?),
            "dedup_splitvals" => series.dedup_splitvals = self.boolean()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn series_limit(text: &str) -> Option<SeriesLimit> {
    let lower = text.to_ascii_lowercase();
    if let Some(count) = lower.strip_prefix("bottom") {
        return count.trim().parse().ok().map(SeriesLimit::Bottom);
    }
    let count = lower.strip_prefix("top").unwrap_or(&lower);
    count.trim().parse().ok().map(SeriesLimit::Top)
}

impl Parser<'_> {
    /// Reads `agg=max(x)` or `agg=max`, the only option whose value is a call.
    pub(crate) fn agg_option(&mut self) -> Parsed<Option<StatsCall>> {
        let found = self.attempt(|p| {
            let name = p.option_name()?;
            name.node.eq_ignore_ascii_case("agg").then_some(())
        });
        if found.is_none() {
            return Ok(None);
        }
        self.split_where_call().map(Some)
    }

    /// Uses `agg=` as the charted aggregation if there is no other.
    ///
    /// # Errors
    /// If there is no aggregation, or if it lacks its field.
    pub(crate) fn take_agg(
        &mut self,
        calls: &mut Vec<StatsCall>,
        series: &mut SeriesOptions,
    ) -> Parsed<()> {
        if !calls.is_empty() {
            return Ok(());
        }
        let Some(call) = series.agg.take() else {
            return Err(self.unexpected("an aggregation such as count or sum(field)"));
        };
        let name = &call.function.name;
        let is_optional = crate::stats_functions::find(&name.node.to_ascii_lowercase())
            .is_some_and(|(definition, _)| definition.argument_optional);
        if matches!(call.argument, StatsArgument::None) && !is_optional {
            let message = format!("function {} needs a field: {0}(field)", name.node);
            return Err(self.error(message, name.span));
        }
        calls.push(call);
        Ok(())
    }

    /// Reads the clause after the word `where`.
    pub(crate) fn split_where(&mut self) -> Parsed<SplitWhere> {
        self.skip_space();
        let start = self.pos();
        let call = self.split_where_call()?;
        let condition = self.split_where_condition()?;
        Ok(SplitWhere { call, condition, span: self.span_from(start) })
    }

    /// Reads a call; without an argument, it aggregates the charted field.
    fn split_where_call(&mut self) -> Parsed<StatsCall> {
        let bare = self.attempt(|p| {
            let start = p.pos();
            let name = p.take_while(|c| c.is_ascii_alphanumeric() || "_.".contains(c)).to_owned();
            let lower = name.to_ascii_lowercase();
            let (definition, parameter) = crate::stats_functions::find(&lower)?;
            let span = p.span_from(start);
            let is_bare = !p.rest().trim_start().starts_with('(');
            is_bare.then(|| StatsCall {
                function: crate::ast::StatsFunction {
                    kind: definition.kind,
                    parameter: parameter.map(str::to_owned),
                    name: crate::ast::Spanned::new(name.clone(), span),
                },
                argument: StatsArgument::None,
                alias: None,
                text: name,
                span,
            })
        });
        match bare {
            Some(call) => Ok(call),
            None => self.stats_call(StatsDialect::Chart),
        }
    }

    fn split_where_condition(&mut self) -> Parsed<SplitWhereCondition> {
        if let Some(operator) = self.comparison_operator() {
            let number = self.text_argument("a number")?;
            if !number.node.parse::<f64>().is_ok_and(f64::is_finite) {
                return Err(self.error("the where clause compares with a number", number.span));
            }
            return Ok(SplitWhereCondition::Compare(operator, number.node));
        }
        let negated = self.eat_keyword("notin");
        if !negated && !self.eat_keyword("in") {
            return Err(self.unexpected("in, notin or a comparison such as > 5"));
        }
        let word = self.text_argument("top<N> or bottom<N>")?;
        let named = word.node.to_ascii_lowercase();
        let limit = series_limit(&named)
            .filter(|_| named.starts_with("top") || named.starts_with("bottom"))
            .ok_or_else(|| self.error("expected top<N> or bottom<N>", word.span))?;
        Ok(SplitWhereCondition::In { limit, negated })
    }
}
