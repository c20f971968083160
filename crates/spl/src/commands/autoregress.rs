//! `autoregress`: copies values of earlier rows.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::{Arguments, field_name};
use crate::parser::{OptionValue, Parsed, Parser};
use std::fmt;

/// `autoregress <field> [AS <name>] [p=<n>|<n>-<m>]`.
#[derive(Debug, Clone, PartialEq)]
pub struct AutoregressCommand {
    /// The field to copy.
    pub field: Field,
    /// The field for the value; fields named `<field>_p<n>` if absent.
    pub alias: Option<Field>,
    /// `p=`: minimum number of rows back (default 1).
    pub least: u64,
    /// Maximum number of rows back.
    pub greatest: u64,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "autoregress",
    aliases: &["ar"],
    summary: "copies values from earlier rows",
    syntax: "autoregress <field> [AS <field>] [p=<n>|p=<n>-<m>]",
    kind: CommandKind::Centralised,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["p"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut field, mut alias, mut rows) = (None, None, (1, 1));
    while !p.at_end() {
        if let Some(option) = p.option(OPTIONS)? {
            rows = range(&option)?;
        } else if field.is_none() {
            field = Some(p.field("a field name")?);
            alias = p.alias()?;
        } else {
            return Err(p.unexpected("an option or the end of the command"));
        }
    }
    let field = field.ok_or_else(|| p.unexpected("a field name"))?;
    if let (Some(alias), true) = (&alias, rows.0 < rows.1) {
        return Err(p.error("AS needs a single p=, not a range", alias.span));
    }
    let (least, greatest) = rows;
    Ok(Command::Autoregress(AutoregressCommand { field, alias, least, greatest }))
}

/// Parses `3` or `2-5`.
fn range(option: &OptionValue) -> Parsed<(u64, u64)> {
    let (least, greatest) = option.value.split_once('-').unwrap_or((&option.value, &option.value));
    match (least.trim().parse(), greatest.trim().parse()) {
        (Ok(least), Ok(greatest)) if 0 < least && least <= greatest => Ok((least, greatest)),
        _ => Err(option.error("a whole number of at least 1, or a range such as 2-5")),
    }
}

impl fmt::Display for AutoregressCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let alias = self.alias.as_ref().map(|alias| alias.node.as_str());
        let mut arguments = Arguments::default();
        arguments.push(field_name(&self.field.node)).alias(alias);
        if self.least < self.greatest {
            arguments.push(format_args!("p={}-{}", self.least, self.greatest));
        } else {
            arguments.push(format_args!("p={}", self.least));
        }
        arguments.write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | autoregress ip AS old_ip p=3", "* | autoregress count p=2-5"]);
        same("* | autoregress a", "* | autoregress a p=1-1");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | autoregress", "expected a field name", "");
        refuses("* | autoregress x p=0", "at least 1", "0");
        refuses("* | autoregress x p=3-2", "a range such as 2-5", "3-2");
        refuses("* | autoregress x AS y p=1-2", "AS needs a single p=", "y");
    }
}
