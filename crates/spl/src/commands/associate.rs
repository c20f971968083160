//! `associate`: finds values that reduce the entropy of other fields.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, FieldPattern};
use crate::display::{Arguments, field_patterns};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `associate [supcnt=] [supfreq=] [improv=] [fields]`. Numbers are kept as text.
#[derive(Debug, Clone, PartialEq)]
pub struct AssociateCommand {
    /// `supcnt=`: minimum number of occurrences of a value (default 100).
    pub supcnt: u64,
    /// `supfreq=`: minimum share of the events with a value (default 0.1).
    pub supfreq: String,
    /// `improv=`: minimum reduction of the entropy, in bits (default 0.5).
    pub improv: String,
    /// The fields; all fields if empty.
    pub fields: Vec<FieldPattern>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "associate",
    aliases: &[],
    summary: "finds correlated fields",
    syntax: "associate [supcnt=<n>] [supfreq=<number>] [improv=<number>] [<field>...]",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["supcnt", "supfreq", "improv"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = AssociateCommand {
        supcnt: 100,
        supfreq: "0.1".to_owned(),
        improv: "0.5".to_owned(),
        fields: Vec::new(),
    };
    loop {
        p.skip_separators();
        if p.at_end() {
            return Ok(Command::Associate(command));
        }
        match p.option(OPTIONS)? {
            Some(option) => match option.name {
                "supcnt" => command.supcnt = option.number()?,
                "supfreq" => command.supfreq = super::anomalousvalue::share(&option)?,
                _ => command.improv = option.decimal()?,
            },
            None => {
                let field = p.field("a field name or an option")?;
                command.fields.push(FieldPattern::new(field.node, field.span));
            }
        }
    }
}

impl fmt::Display for AssociateCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .option("supcnt", self.supcnt)
            .option("supfreq", &self.supfreq)
            .option("improv", &self.improv)
            .push(field_patterns(&self.fields))
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | associate", "* | associate supcnt=50 supfreq=0.2 improv=0.5 a, b"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | associate supfreq=2", "a number from 0 to 1", "2");
        refuses("* | associate a*", "wildcards are not allowed", "a*");
    }
}
