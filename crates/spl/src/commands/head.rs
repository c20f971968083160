//! `head`: keeps the first rows.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Expr};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `head [N | limit=N | (condition)] [keeplast=] [null=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct HeadCommand {
    /// Maximum number of rows; 10 if absent and there is no condition, otherwise all.
    pub limit: Option<u64>,
    /// The condition; rows are taken as long as it is true.
    pub condition: Option<Expr>,
    /// `keeplast=`: whether the first row for which it is false is included.
    pub keeplast: bool,
    /// `null=`: whether a null condition counts as true.
    pub null: bool,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "head",
    aliases: &[],
    summary: "keeps the first rows",
    syntax: "head [<n>] [limit=<n>] [(<condition>)] [keeplast=<bool>] [null=<bool>]",
    kind: CommandKind::Centralised,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Expression,
    parse,
};

const OPTIONS: &[&str] = &["limit", "keeplast", "null"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = HeadCommand { limit: None, condition: None, keeplast: false, null: false };
    while !p.at_end() {
        if let Some(limit) = p.count()? {
            command.limit = Some(limit);
            continue;
        }
        if p.peek() == Some('(') {
            command.condition = Some(p.expr()?);
            continue;
        }
        if !is_option(p) {
            if command.condition.is_some() || command.limit.is_some() {
                return Err(p.unexpected("an option or the end of the command"));
            }
            command.condition = Some(p.expr()?);
            continue;
        }
        let Some(option) = p.option(OPTIONS)? else { continue };
        match option.name {
            "limit" => command.limit = Some(option.number()?),
            "keeplast" => command.keeplast = option.boolean()?,
            _ => command.null = option.boolean()?,
        }
    }
    if command.limit.is_none() && command.condition.is_none() {
        command.limit = Some(10);
    }
    Ok(Command::Head(command))
}

/// Returns whether an option such as `limit=` is next; any other `a=b` is a condition.
fn is_option(p: &mut Parser<'_>) -> bool {
    let mut found = false;
    p.attempt(|p| {
        found = p.option_name().is_some_and(|name| OPTIONS.contains(&name.node.as_str()));
        None::<()>
    });
    found
}

impl fmt::Display for HeadCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments.maybe("limit", self.limit);
        if let Some(condition) = &self.condition {
            arguments.push(format_args!("({condition})"));
        }
        arguments.flag("keeplast", self.keeplast, false).flag("null", self.null, false).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | head",
            "* | head 5",
            "* | head limit=7",
            "* | head (count > 3) keeplast=true null=f",
            "* | head count>3",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | head 5 6x", "found '6x'", "6x");
        refuses("* | head limit=x", "a whole number", "x");
        refuses("* | head 99999999999999999999", "number is too large", "99999999999999999999");
    }

    #[test]
    fn has_other_ways_to_say_the_same() {
        crate::testing::same("* | head", "* | head 10");
    }
}
