//! `makecontinuous`: groups values into bins and adds a row for each empty bin.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{BinOptions, Command, Field};
use crate::display::{Arguments, field_name};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `makecontinuous [<field>] [options of bin]`.
#[derive(Debug, Clone, PartialEq)]
pub struct MakecontinuousCommand {
    /// The field; `_time` if absent.
    pub field: Option<Field>,
    /// The bins.
    pub bins: BinOptions,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "makecontinuous",
    aliases: &[],
    summary: "adds rows for empty bins",
    syntax: "makecontinuous [<field>] [span=<span>] [minspan=<span>] [bins=<n>] [start=<num>] [end=<num>] [aligntime=<time>]",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["span", "minspan", "bins", "start", "end", "aligntime"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut bins, mut field) = (BinOptions::default(), None);
    loop {
        p.skip_separators();
        if p.at_end() {
            return Ok(Command::Makecontinuous(MakecontinuousCommand { field, bins }));
        }
        if let Some(option) = p.option(OPTIONS)? {
            option.bin_option(&mut bins)?;
        } else if field.is_none() {
            field = Some(p.field("a field name")?);
        } else {
            return Err(p.unexpected("an option or the end of the command"));
        }
    }
}

impl fmt::Display for MakecontinuousCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = self.field.as_ref().map(|field| field_name(&field.node));
        Arguments::default().push(field.unwrap_or_default()).push(&self.bins).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | makecontinuous",
            "* | makecontinuous _time span=10m",
            "* | makecontinuous span=5 count start=0 end=100",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | makecontinuous a b", "an option or the end of the command", "b");
        refuses("* | makecontinuous spans=1", "unknown option 'spans'", "spans");
    }
}
