//! `makejson`: creates a JSON object from each row, nested by the dots in field names.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, FieldPattern, JsonKind};
use crate::display::{Arguments, field_patterns};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `makejson [<field>[(<type>)]...] [output=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct MakejsonCommand {
    /// The fields with the JSON type of their values; all fields if empty.
    pub fields: Vec<(FieldPattern, Option<JsonKind>)>,
    /// `output=` (default `_raw`).
    pub output: String,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "makejson",
    aliases: &[],
    summary: "makes a JSON object from each row, nested by the dots in field names",
    syntax: "makejson [<field>[(<type>)]...] [output=<field>]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["output"];

const TYPES: [(&str, JsonKind); 5] = [
    ("string", JsonKind::Str),
    ("number", JsonKind::Num),
    ("bool", JsonKind::Bool),
    ("json", JsonKind::Json),
    ("auto", JsonKind::Auto),
];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = MakejsonCommand { fields: Vec::new(), output: "_raw".to_owned() };
    loop {
        p.skip_separators();
        if p.at_end() {
            return Ok(Command::Makejson(command));
        }
        if let Some(option) = p.option(OPTIONS)? {
            command.output = option.field()?.node;
            continue;
        }
        let field = p.plain_field_pattern("a field name")?;
        let kind = if p.eat("(") { Some(kind(p)?) } else { None };
        command.fields.push((field, kind));
    }
}

/// Reads a type and the closing bracket.
fn kind(p: &mut Parser<'_>) -> Parsed<JsonKind> {
    let name = p.plain_field_pattern("a type")?;
    let known = TYPES.iter().find(|(known, _)| name.text.eq_ignore_ascii_case(known));
    let Some((_, kind)) = known else {
        return Err(p.error("the types are string, number, bool, json and auto", name.span));
    };
    p.expect(")", "behind the type")?;
    Ok(*kind)
}

impl fmt::Display for MakejsonCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        for (field, kind) in &self.fields {
            let field = field_patterns(std::slice::from_ref(field));
            match TYPES.iter().find(|(_, known)| Some(*known) == *kind) {
                Some((name, _)) => arguments.push(format_args!("{field}({name})")),
                None => arguments.push(field),
            };
        }
        arguments.option("output", &self.output).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | makejson",
            "* | makejson version(string), data.* output=event",
            r#"* | makejson a, b "c d"(number) output=j"#,
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | makejson a(float)", "the types are string", "float");
        refuses("* | makejson a(string", "expected ')' behind the type", "");
    }
}
