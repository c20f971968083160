//! `outputlookup`: writes the rows to a lookup.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::{Arguments, field_name};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `outputlookup [options] <name>`; also `outputcsv`.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputlookupCommand {
    /// The lookup or file.
    pub name: Field,
    /// `append=`: whether the rows are appended to the existing rows.
    pub append: bool,
    /// `max=`: maximum number of rows.
    pub max: Option<u64>,
    /// `key_field=`: existing rows with the same value of this field are replaced.
    pub key_field: Option<Field>,
    /// `override_if_empty=`: whether a result without rows empties the lookup (default true).
    pub override_if_empty: bool,
    /// `create_empty=`: whether a result without rows creates an empty file (default false).
    pub create_empty: bool,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "outputlookup",
    aliases: &[],
    summary: "writes rows to a lookup",
    syntax: "outputlookup [append=<bool>] [max=<n>] [key_field=<field>] [override_if_empty=<bool>] [create_empty=<bool>] <lookup or file>",
    kind: CommandKind::Dataset,
    right: CommandRight::writes("output_file"),
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &[
    "append",
    "max",
    "key_field",
    "override_if_empty",
    "create_empty",
    "createinapp",
    "create_context",
    "output_format",
    "allow_updates",
];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    arguments(p, OPTIONS).map(Command::Outputlookup)
}

/// Reads the arguments of `outputlookup` and `outputcsv`.
pub(super) fn arguments(
    p: &mut Parser<'_>,
    options: &'static [&'static str],
) -> Parsed<OutputlookupCommand> {
    let (mut append, mut max, mut key_field, mut name) = (false, None, None, None);
    let (mut override_if_empty, mut create_empty) = (true, false);
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        let Some(option) = p.option(options)? else {
            if name.is_some() {
                return Err(p.unexpected("an option or the end of the command"));
            }
            name = Some(p.field("the name of a lookup")?);
            continue;
        };
        match option.name {
            "append" => append = option.boolean()?,
            "max" => max = Some(option.number()?),
            "key_field" => key_field = Some(option.field()?),
            "override_if_empty" => override_if_empty = option.boolean()?,
            "create_empty" => create_empty = option.boolean()?,
            // Location and format are those of lookup storage.
            "create_context" | "output_format" => drop(option.text()),
            _ => drop(option.boolean()?),
        }
    }
    let name = name.ok_or_else(|| p.unexpected("the name of a lookup"))?;
    Ok(OutputlookupCommand { name, append, max, key_field, override_if_empty, create_empty })
}

impl fmt::Display for OutputlookupCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .flag("append", self.append, false)
            .maybe("max", self.max)
            .maybe("key_field", self.key_field.as_ref().map(|field| &field.node))
            .flag("override_if_empty", self.override_if_empty, true)
            .flag("create_empty", self.create_empty, false)
            .push(field_name(&self.name.node))
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | outputlookup hosts.csv",
            "* | outputlookup append=t key_field=_key override_if_empty=f create_empty=t max=5 hosts",
            "* | outputlookup hosts createinapp=true create_context=app",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | outputlookup", "expected the name of a lookup", "");
        refuses("* | outputlookup a b", "found 'b'", "b");
        refuses("* | outputlookup apend=t a", "unknown option 'apend'", "apend");
    }
}
