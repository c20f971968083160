//! `erex`: extracts values that are similar to examples.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::{Arguments, field_name, quoted};
use crate::parser::{OptionValue, Parsed, Parser};
use std::fmt;

/// `erex <field> examples=<list> [counterexamples=<list>] [fromfield=] [maxtrainers=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ErexCommand {
    /// The field for the values.
    pub field: Field,
    /// `examples=`: values to extract; at least one.
    pub examples: Vec<String>,
    /// `counterexamples=`: values that must not be extracted.
    pub counterexamples: Vec<String>,
    /// `fromfield=`: the field that contains the values (default `_raw`).
    pub fromfield: String,
    /// `maxtrainers=`: maximum number of rows used for learning (default 100).
    pub maxtrainers: u64,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "erex",
    aliases: &[],
    summary: "extracts values that resemble given examples",
    syntax: "erex <field> examples=<list> [counterexamples=<list>] [fromfield=<field>] \
             [maxtrainers=<n>]",
    kind: CommandKind::Dataset,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["examples", "counterexamples", "fromfield", "maxtrainers"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut field, mut examples, mut counterexamples) = (None, Vec::new(), Vec::new());
    let (mut fromfield, mut maxtrainers) = ("_raw".to_owned(), 100);
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        match p.option(OPTIONS)? {
            Some(option) => match option.name {
                "examples" => examples = values(p, &option),
                "counterexamples" => counterexamples = values(p, &option),
                "fromfield" => fromfield = option.field()?.node,
                _ => {
                    maxtrainers = option.number()?;
                    if !(1..=1000).contains(&maxtrainers) {
                        return Err(option.error("a whole number from 1 to 1000"));
                    }
                }
            },
            None if field.is_none() => field = Some(p.field("a field name")?),
            None => return Err(p.unexpected("an option or the end of the command")),
        }
    }
    let field = field.ok_or_else(|| p.unexpected("a field name"))?;
    if examples.is_empty() {
        return Err(p.unexpected("examples=<list>"));
    }
    let command = ErexCommand { field, examples, counterexamples, fromfield, maxtrainers };
    Ok(Command::Erex(command))
}

/// Reads `"a, b"`, `a,b`.
fn values(p: &mut Parser<'_>, option: &OptionValue) -> Vec<String> {
    let mut text = option.text();
    while p.rest().starts_with(',') && !p.rest()[1..].starts_with(char::is_whitespace) {
        text.push_str(p.take_while(|c| !c.is_whitespace() && c != '|'));
    }
    let values = text.split(',').map(str::trim).filter(|value| !value.is_empty());
    values.map(str::to_owned).collect()
}

impl fmt::Display for ErexCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments.push(field_name(&self.field.node));
        let lists = [("examples", &self.examples), ("counterexamples", &self.counterexamples)];
        for (name, values) in lists {
            if !values.is_empty() {
                arguments.push(format_args!("{name}={}", quoted(&values.join(", "))));
            }
        }
        arguments
            .option("fromfield", &self.fromfield)
            .option("maxtrainers", self.maxtrainers)
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | erex monthday examples=\"7/01\"",
            "* | erex monthday examples=\"7/01, 07/02\" counterexamples=\"99/2\"",
            "* | erex examples=\"port 3351, port 3768\" port fromfield=m maxtrainers=5",
        ]);
        same("* | erex a examples=x,y", "* | erex a examples=\"x, y\"");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | erex a", "expected examples=<list>", "");
        refuses("* | erex examples=a", "expected a field name", "");
        refuses("* | erex a examples=b maxtrainers=0", "from 1 to 1000", "0");
    }
}
