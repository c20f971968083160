//! `arules`: finds values that imply other values (association rules).

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::{Arguments, field_names};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `arules [sup=] [conf=] <field> <field>...`.
#[derive(Debug, Clone, PartialEq)]
pub struct ArulesCommand {
    /// `sup=`: minimum number of events in which the values occur together (default 3).
    pub sup: u64,
    /// `conf=`: minimum strength (confidence) of a rule, as text (default 0.5).
    pub conf: String,
    /// The fields, at least two.
    pub fields: Vec<Field>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "arules",
    aliases: &[],
    summary: "finds association rules",
    syntax: "arules [sup=<n>] [conf=<number>] <field> <field>...",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["sup", "conf"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = ArulesCommand { sup: 3, conf: "0.5".to_owned(), fields: Vec::new() };
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        match p.option(OPTIONS)? {
            Some(option) if option.name == "conf" => {
                command.conf = super::anomalousvalue::share(&option)?;
            }
            Some(option) => {
                command.sup = option.number()?;
                if command.sup == 0 {
                    return Err(option.error("a whole number of at least 1"));
                }
            }
            None => command.fields.push(p.field("a field name or an option")?),
        }
    }
    if command.fields.len() < 2 {
        return Err(p.unexpected("at least two field names"));
    }
    Ok(Command::Arules(command))
}

impl fmt::Display for ArulesCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .option("sup", self.sup)
            .option("conf", &self.conf)
            .push(field_names(self.fields.iter().map(|field| field.node.as_str())))
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | arules a b c", "* | arules sup=3 conf=.6 a, b"]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | arules a", "expected at least two field names", "");
        refuses("* | arules sup=0 a b", "at least 1", "0");
        refuses("* | arules conf=7 a b", "a number from 0 to 1", "7");
    }
}
