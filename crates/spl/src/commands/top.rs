//! `top`: counts the most frequent values.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::{Arguments, field_names};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `top` and `rare`: `[N] [options] <fields> [by <fields>]`.
#[derive(Debug, Clone, PartialEq)]
pub struct TopCommand {
    /// Maximum number of values (default 10, 0 means all).
    pub limit: u64,
    /// The fields, at least one.
    pub fields: Vec<Field>,
    /// The group keys.
    pub by: Vec<Field>,
    /// `countfield=` (default `count`).
    pub countfield: String,
    /// `percentfield=` (default `percent`).
    pub percentfield: String,
    /// `showcount=` (default true).
    pub showcount: bool,
    /// `showperc=` (default true).
    pub showperc: bool,
    /// `useother=`: whether a last row for all other values is added.
    pub useother: bool,
    /// `otherstr=` (default `OTHER`).
    pub otherstr: String,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "top",
    aliases: &["common"],
    summary: "counts the most frequent values",
    syntax: "top [<n>] [<options>] <field>... [BY <field>...]",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

pub(super) const OPTIONS: &[&str] =
    &["limit", "countfield", "percentfield", "showcount", "showperc", "useother", "otherstr"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    arguments(p, OPTIONS).map(Command::Top)
}

/// Reads the arguments of `top` and `rare`.
pub(super) fn arguments(
    p: &mut Parser<'_>,
    options: &'static [&'static str],
) -> Parsed<TopCommand> {
    let mut top = TopCommand {
        limit: p.count()?.unwrap_or(10),
        fields: Vec::new(),
        by: Vec::new(),
        countfield: "count".to_owned(),
        percentfield: "percent".to_owned(),
        showcount: true,
        showperc: true,
        useother: false,
        otherstr: "OTHER".to_owned(),
    };
    let mut grouped = false;
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        if !grouped && p.eat_keyword("by") {
            grouped = true;
            continue;
        }
        let Some(option) = p.option(options)? else {
            let list = if grouped { &mut top.by } else { &mut top.fields };
            list.push(p.field("a field name")?);
            continue;
        };
        match option.name {
            "limit" => top.limit = option.number()?,
            "countfield" => top.countfield = option.text(),
            "percentfield" => top.percentfield = option.text(),
            "showcount" => top.showcount = option.boolean()?,
            "showperc" => top.showperc = option.boolean()?,
            "useother" => top.useother = option.boolean()?,
            _ => top.otherstr = option.text(),
        }
    }
    if top.fields.is_empty() {
        return Err(p.unexpected("a field name"));
    }
    if grouped && top.by.is_empty() {
        return Err(p.unexpected("a field name after BY"));
    }
    Ok(top)
}

impl fmt::Display for TopCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |fields: &[Field]| field_names(fields.iter().map(|field| field.node.as_str()));
        let mut arguments = Arguments::default();
        arguments
            .option("limit", self.limit)
            .option("countfield", &self.countfield)
            .option("percentfield", &self.percentfield)
            .flag("showcount", self.showcount, true)
            .flag("showperc", self.showperc, true)
            .flag("useother", self.useother, false)
            .option("otherstr", &self.otherstr)
            .push(names(&self.fields));
        if !self.by.is_empty() {
            arguments.push(format_args!("BY {}", names(&self.by)));
        }
        arguments.write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | top host",
            "* | top 3 host, source by status",
            r#"* | top limit=0 showperc=f countfield="how many" percentfield=p useother=t otherstr="the rest" a"#,
            "* | top a by b limit=5",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | top", "expected a field name", "");
        refuses("* | top 5", "expected a field name", "");
        refuses("* | top a*", "wildcards are not allowed", "a*");
        refuses("* | top limit=a b", "a whole number", "a");
    }

    #[test]
    fn has_other_ways_to_say_the_same() {
        crate::testing::same("* | top 5 a", "* | top limit=5 a");
    }
}
