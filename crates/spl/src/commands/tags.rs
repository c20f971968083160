//! `tags`: adds the tags of field values.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, FieldPattern};
use crate::display::{Arguments, field_patterns};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `tags [outputfield=] [inclname=] [inclvalue=] [allowed_tags=] [fields]`.
#[derive(Debug, Clone, PartialEq)]
pub struct TagsCommand {
    /// `outputfield=`: one field for all tags.
    pub outputfield: Option<String>,
    /// `inclname=`: whether tags have the name of the field as prefix.
    pub inclname: bool,
    /// `inclvalue=`: whether tags have the value of the field as prefix.
    pub inclvalue: bool,
    /// `allowed_tags=`: the tags that are added; all if empty.
    pub allowed_tags: Vec<String>,
    /// The fields whose values are read; all if empty.
    pub fields: Vec<FieldPattern>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "tags",
    aliases: &[],
    summary: "adds the tags of field values",
    syntax: "tags [outputfield=<field>] [inclname=<bool>] [inclvalue=<bool>] [allowed_tags=\"<tag>,...\"] [<field>...]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["outputfield", "inclname", "inclvalue", "allowed_tags"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = TagsCommand {
        outputfield: None,
        inclname: false,
        inclvalue: false,
        allowed_tags: Vec::new(),
        fields: Vec::new(),
    };
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        let Some(option) = p.option(OPTIONS)? else {
            command.fields.push(p.field_pattern("a field name")?);
            continue;
        };
        match option.name {
            "outputfield" => command.outputfield = Some(option.field()?.node),
            "inclname" => command.inclname = option.boolean()?,
            "inclvalue" => command.inclvalue = option.boolean()?,
            _ => {
                let tags = option.value.split(',').map(str::trim).filter(|tag| !tag.is_empty());
                command.allowed_tags = tags.map(str::to_owned).collect();
            }
        }
    }
    Ok(Command::Tags(command))
}

impl fmt::Display for TagsCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments
            .maybe("outputfield", self.outputfield.as_ref())
            .flag("inclname", self.inclname, false)
            .flag("inclvalue", self.inclvalue, false);
        if !self.allowed_tags.is_empty() {
            arguments.option("allowed_tags", self.allowed_tags.join(","));
        }
        arguments.push(field_patterns(&self.fields)).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | tags",
            "* | tags outputfield=test inclname=t inclvalue=t allowed_tags=\"a,b\" host, event*",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | tags inclname=x", "true or false", "x");
    }
}
