//! `replace`: replaces complete field values.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, FieldPattern, SearchPattern, Span};
use crate::display::{Arguments, commas, field_patterns, quoted};
use crate::parser::{Parsed, Parser, pattern_of};
use std::fmt;

/// `replace <old> WITH <new>, ... [IN <fields>]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplaceCommand {
    /// The replacements, at least one.
    pub replacements: Vec<Replacement>,
    /// The fields; all fields if empty.
    pub fields: Vec<FieldPattern>,
}

/// `old WITH new`.
#[derive(Debug, Clone, PartialEq)]
pub struct Replacement {
    /// The complete value, wildcards allowed.
    pub old: SearchPattern,
    /// The new value, in which a wildcard stands for what the wildcard of `old` matched.
    pub new: SearchPattern,
    /// The place of both.
    pub span: Span,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "replace",
    aliases: &[],
    summary: "replaces whole values",
    syntax: "replace <value> WITH <value> [, <value> WITH <value>]... [IN <field>...]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &[];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = ReplaceCommand { replacements: Vec::new(), fields: Vec::new() };
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        if !command.replacements.is_empty() && p.eat_keyword("in") {
            command.fields = p.field_patterns(1)?;
            break;
        }
        let start = p.pos();
        let old = p.field_pattern_or_empty("a value")?;
        if !p.eat_keyword("with") {
            return Err(p.unexpected("WITH after the value"));
        }
        let new = p.field_pattern_or_empty("a value after WITH")?;
        let span = p.span_from(start);
        command.replacements.push(Replacement {
            old: pattern_of(&old),
            new: pattern_of(&new),
            span,
        });
    }
    if command.replacements.is_empty() {
        return Err(p.unexpected("a value"));
    }
    Ok(Command::Replace(command))
}

impl fmt::Display for Replacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} WITH {}", quoted(&self.old.text()), quoted(&self.new.text()))
    }
}

impl fmt::Display for ReplaceCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments.push(commas(&self.replacements));
        if !self.fields.is_empty() {
            arguments.push(format_args!("IN {}", field_patterns(&self.fields)));
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
            "* | replace a WITH b",
            r#"* | replace "*local" with "" in host, source"#,
            "* | replace 1 WITH low, 2 WITH high IN level",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | replace", "expected a value", "");
        refuses("* | replace a b", "expected WITH", "b");
    }
}
