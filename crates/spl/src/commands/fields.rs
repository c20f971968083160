//! `fields`: keeps or removes fields.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, FieldPattern};
use crate::display::field_patterns;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `fields [+|-] <patterns>`.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldsCommand {
    /// Whether the fields are removed (`-`) instead of kept.
    pub remove: bool,
    /// The fields, at least one.
    pub fields: Vec<FieldPattern>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "fields",
    aliases: &[],
    summary: "keeps or removes fields",
    syntax: "fields [+|-] <field>...",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &[];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let remove = p.eat("-");
    if !remove {
        p.eat("+");
    }
    let fields = p.field_patterns(1)?;
    Ok(Command::Fields(FieldsCommand { remove, fields }))
}

impl fmt::Display for FieldsCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.remove { "- " } else { "" };
        write!(f, "{sign}{}", field_patterns(&self.fields))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | fields host, source",
            "* | fields - _raw _time",
            "* | fields -_raw",
            r#"* | fields + a* "b c" d{}.e"#,
            "* | fields a-b c:d",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | fields", "expected a field name", "");
        refuses("* | fields - ", "expected a field name", "");
        refuses("* | fields a=b", "found '=b'", "=b");
    }

    #[test]
    fn has_other_ways_to_say_the_same() {
        crate::testing::same("* | fields a b", "* | fields + a,b");
    }
}
