//! `mcatalog`: lists the names of metrics and the values of dimensions.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, SearchCommand, StatsBy, StatsCall};
use crate::display::{Arguments, commas};
use crate::parser::{Parsed, Parser, StatsDialect};
use std::fmt;

/// `mcatalog <calls> [where ...] [by ...]`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct McatalogCommand {
    /// At least one: `values(metric_name)`, `values(_dims)`, `values(host)`.
    pub calls: Vec<StatsCall>,
    /// `where ...`, in the language of `search`, time modifiers included.
    pub filter: SearchCommand,
    /// The group keys.
    pub by: StatsBy,
    /// `prestats=`: has no effect, because the listed values are passed on unchanged.
    pub prestats: bool,
    /// `append=`.
    pub append: bool,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "mcatalog",
    aliases: &[],
    summary: "lists metric names and dimension values",
    syntax: "mcatalog [prestats=<bool>] [append=<bool>] values(<field>)... [WHERE <terms>] [BY <field>...]",
    kind: CommandKind::Generating,
    right: CommandRight::summary(Some("list_metrics_catalog")),
    options: OPTIONS,
    takes: Takes::Aggregations,
    parse,
};

const OPTIONS: &[&str] = &["prestats", "append"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = McatalogCommand::default();
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        if p.eat_keyword("where") {
            command.filter = p.search(|p| {
                p.at_keyword("by") || p.at_keyword("groupby") || p.at_option(OPTIONS)
            })?;
        } else if p.eat_keyword("by") || p.eat_keyword("groupby") {
            p.stats_by_until(&mut command.by, StatsDialect::Mstats, OPTIONS)?;
        } else if let Some(option) = p.option(OPTIONS)? {
            match option.name {
                "prestats" => command.prestats = option.boolean()?,
                _ => command.append = option.boolean()?,
            }
        } else {
            command.calls.push(p.stats_call(StatsDialect::Mstats)?);
        }
    }
    if command.calls.is_empty() {
        return Err(p.unexpected("values(metric_name) or the values of a dimension"));
    }
    Ok(Command::Mcatalog(command))
}

impl fmt::Display for McatalogCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments
            .flag("prestats", self.prestats, false)
            .flag("append", self.append, false)
            .push(commas(&self.calls));
        if self.filter.expr.is_some() || !self.filter.time.is_empty() {
            arguments.push(format_args!("WHERE {}", self.filter));
        }
        arguments.push(&self.by).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "| mcatalog values(metric_name) WHERE index=*",
            "| mcatalog values(_dims) AS dims values(host) WHERE index=m metric_name=cpu.* BY index, metric_name",
            "| mcatalog prestats=t append=t values(metric_name) where index=m earliest=-1d groupby index",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("| mcatalog where index=m", "values(metric_name)", "");
        refuses("| mcatalog values(x) by", "a field name after BY", "");
    }
}
