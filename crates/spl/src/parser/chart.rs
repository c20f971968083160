//! The grammars of `chart` and `timechart`.
//!
//! Guarantees: options may precede, separate or follow calls, as in Splunk.

use super::{Parsed, Parser, StatsDialect};
use crate::ast::{BinOptions, ChartCommand, SplitBy, TimechartCommand};

impl Parser<'_> {
    /// Reads the arguments of `chart`.
    pub(crate) fn chart(&mut self, options: &'static [&'static str]) -> Parsed<ChartCommand> {
        let mut chart = ChartCommand::default();
        let mut bins = None;
        loop {
            self.skip_separators();
            if self.at_end() {
                break;
            }
            if self.eat_keyword("over") {
                chart.row = Some(self.split_by("a field name after OVER")?);
            } else if self.eat_keyword("by") {
                self.chart_by(&mut chart)?;
            } else if self.eat_keyword("where") {
                chart.filter = Some(self.split_where()?);
            } else if let Some(call) = self.agg_option()? {
                chart.series.agg = Some(call);
            } else if let Some(option) = self.option(options)? {
                if option.series_option(&mut chart.series)? {
                    continue;
                }
                // Before all fields, options apply to the first field.
                let early = || (BinOptions::default(), option.value_span);
                let bins = match chart.column.as_mut().or(chart.row.as_mut()) {
                    Some(split) => &mut split.bins,
                    None => &mut bins.get_or_insert_with(early).0,
                };
                option.chart_bin_option(bins)?;
            } else if chart.row.is_some() || chart.column.is_some() {
                return Err(self.unexpected("BY, an option or WHERE"));
            } else if !self.alias_behind_options(&mut chart.calls)? {
                chart.calls.push(self.stats_call(StatsDialect::Chart)?);
            }
        }
        self.take_agg(&mut chart.calls, &mut chart.series)?;
        if let Some((bins, span)) = bins {
            let Some(row) = chart.row.as_mut().or(chart.column.as_mut()) else {
                return Err(
                    self.error("there is no field whose values could be put into bins", span)
                );
            };
            if row.bins == BinOptions::default() {
                row.bins = bins;
            }
        }
        Ok(chart)
    }

    /// Reads one or two fields after `BY`, each with options.
    fn chart_by(&mut self, chart: &mut ChartCommand) -> Parsed<()> {
        let first = self.split_by("a field name after BY")?;
        if chart.row.is_some() {
            chart.column = Some(first);
            return Ok(());
        }
        chart.row = Some(first);
        loop {
            self.skip_separators();
            if self.at_end() || self.at_keyword("where") {
                return Ok(());
            }
            let is_option = self.attempt(|p| {
                let start = p.pos();
                let is_option = p.option_name().is_some();
                p.pos = start;
                is_option.then_some(())
            });
            if is_option.is_none() {
                chart.column = Some(self.split_by("a field name after BY")?);
                return Ok(());
            }
            let is_bin = self.bin_options_of(chart)?;
            if !is_bin {
                return Ok(());
            }
        }
    }

    /// Reads one bin option for the row field; returns `false` for any other option, which the caller
    /// handles.
    fn bin_options_of(&mut self, chart: &mut ChartCommand) -> Parsed<bool> {
        let start = self.pos();
        let is_bin = self.option_name().is_some_and(|name| {
            let lower = name.node.to_ascii_lowercase();
            super::bins::BIN_OPTIONS.contains(&lower.as_str())
        });
        self.pos = start;
        if is_bin
            && let Some(row) = chart.row.as_mut()
            && let Some(option) = self.option(super::bins::BIN_OPTIONS)?
        {
            option.chart_bin_option(&mut row.bins)?;
        }
        Ok(is_bin)
    }

    fn split_by(&mut self, what: &str) -> Parsed<SplitBy> {
        Ok(SplitBy { field: self.field(what)?, bins: BinOptions::default() })
    }

    /// Reads the arguments of `timechart`.
    pub(crate) fn timechart(
        &mut self,
        options: &'static [&'static str],
    ) -> Parsed<TimechartCommand> {
        let mut chart = TimechartCommand::default();
        loop {
            self.skip_separators();
            if self.at_end() {
                break;
            }
            if self.eat_keyword("by") {
                if chart.column.is_some() {
                    return Err(self.unexpected("one BY field"));
                }
                chart.column = Some(self.split_by("a field name after BY")?);
            } else if self.eat_keyword("where") {
                chart.filter = Some(self.split_where()?);
            } else if let Some(call) = self.agg_option()? {
                chart.series.agg = Some(call);
            } else if let Some(option) = self.option(options)? {
                match option.name {
                    "partial" => chart.partial = Some(option.boolean()?),
                    "fixedrange" => chart.fixedrange = Some(option.boolean()?),
                    _ if option.series_option(&mut chart.series)? => {}
                    // After BY, too, spans of time apply to the time axis: `by host span=1h`.
                    _ => {
                        let bins = match &mut chart.column {
                            Some(split) if option.divides_numbers() => &mut split.bins,
                            _ => &mut chart.bins,
                        };
                        option.bin_option(bins)?;
                    }
                }
            } else if chart.column.is_some() {
                return Err(self.unexpected("an option or WHERE; only one BY field is allowed"));
            } else if !self.alias_behind_options(&mut chart.calls)? {
                chart.calls.push(self.stats_call(StatsDialect::Chart)?);
            }
        }
        self.take_agg(&mut chart.calls, &mut chart.series)?;
        Ok(chart)
    }
}
