//! `apply`: applies a model of `fit` to rows.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field, Spanned};
use crate::display::{Arguments, field_name, quoted};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `apply <model> [as <field>] [<parameter>=...]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ApplyCommand {
    /// The model.
    pub model: Spanned<String>,
    /// The output field.
    pub alias: Option<String>,
    /// Parameters with their values.
    pub parameters: Vec<(Field, Spanned<String>)>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "apply",
    aliases: &[],
    summary: "applies a model of `fit` to each row",
    syntax: "apply <model> [as <field>] [<parameter>=<value>]...",
    kind: CommandKind::Streaming,
    right: CommandRight::reads("input_file"),
    options: &[],
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let model = p.text_argument("the name of a model")?;
    let mut command = ApplyCommand { model, alias: None, parameters: Vec::new() };
    loop {
        p.skip_separators();
        if p.at_end() {
            return Ok(Command::Apply(command));
        }
        if let Some(parameter) = p.other_option(&[])? {
            command.parameters.push(parameter);
        } else if p.eat_keyword("as") {
            command.alias = Some(p.field("a field name after AS")?.node);
        } else {
            return Err(p.unexpected("AS or <parameter>=<value>"));
        }
    }
}

impl fmt::Display for ApplyCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments.push(quoted(&self.model.node));
        if let Some(alias) = &self.alias {
            arguments.push(format_args!("as {}", field_name(alias)));
        }
        for (name, value) in &self.parameters {
            arguments.option(&name.node, &value.node);
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
            "* | apply m",
            "* | apply app:m as IsOutlier",
            "* | apply \"m\" threshold=0.01 show_density=true",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | apply", "the name of a model", "");
        refuses("* | apply m n", "AS or <parameter>=<value>", "n");
    }
}
