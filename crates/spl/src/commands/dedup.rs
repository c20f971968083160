//! `dedup`: keeps the first rows of each combination of values.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, FieldPattern, SortKey};
use crate::display::{Arguments, field_patterns};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `dedup [N] <fields> [options] [sortby <keys>]`.
#[derive(Debug, Clone, PartialEq)]
pub struct DedupCommand {
    /// Number of rows that are kept per combination (default 1).
    pub count: u64,
    /// The fields, at least one.
    pub fields: Vec<FieldPattern>,
    /// `keepevents=`: whether all rows are kept, and only the values of the fields are removed.
    pub keepevents: bool,
    /// `keepempty=`: whether rows without one of the fields are kept.
    pub keepempty: bool,
    /// `consecutive=`: whether only adjacent rows are compared.
    pub consecutive: bool,
    /// `sortby`: the order of the results.
    pub sortby: Vec<SortKey>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "dedup",
    aliases: &[],
    summary: "keeps the first rows of each combination of values",
    syntax: "dedup [<n>] <field>... [keepevents=<bool>] [keepempty=<bool>] [consecutive=<bool>] [sortby <keys>]",
    kind: CommandKind::Dataset,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["keepevents", "keepempty", "consecutive"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    p.skip_space();
    let start = p.pos();
    let count = p.count()?.unwrap_or(1);
    if count == 0 {
        let message = "the number of rows kept must be at least 1";
        return Err(p.error(message, p.span_from(start)));
    }
    let mut command = DedupCommand {
        count,
        fields: Vec::new(),
        keepevents: false,
        keepempty: false,
        consecutive: false,
        sortby: Vec::new(),
    };
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        if p.eat_keyword("sortby") {
            command.sortby = super::sort::keys(p, OPTIONS)?;
            continue;
        }
        let Some(option) = p.option(OPTIONS)? else {
            command.fields.push(p.field_pattern("a field name")?);
            continue;
        };
        match option.name {
            "keepevents" => command.keepevents = option.boolean()?,
            "keepempty" => command.keepempty = option.boolean()?,
            _ => command.consecutive = option.boolean()?,
        }
    }
    if command.fields.is_empty() {
        return Err(p.unexpected("a field name"));
    }
    Ok(Command::Dedup(command))
}

impl fmt::Display for DedupCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        if self.count != 1 {
            arguments.push(self.count);
        }
        arguments
            .push(field_patterns(&self.fields))
            .flag("keepevents", self.keepevents, false)
            .flag("keepempty", self.keepempty, false)
            .flag("consecutive", self.consecutive, false);
        if !self.sortby.is_empty() {
            arguments.push("sortby");
        }
        for key in &self.sortby {
            arguments.push(key);
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
            "* | dedup host",
            "* | dedup 3 host, source",
            "* | dedup host keepempty=true consecutive=t keepevents=1",
            "* | dedup host sortby -_time +num(size)",
            "* | dedup a.b{} c:d",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | dedup", "expected a field name", "");
        refuses("* | dedup 0 host", "at least 1", "0");
        refuses("* | dedup host keepempy=t", "unknown option 'keepempy'", "keepempy");
        refuses("* | dedup host sortby", "a field to sort by", "");
    }
}
