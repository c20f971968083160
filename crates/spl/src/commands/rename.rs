//! `rename`: renames fields.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field, FieldPattern};
use crate::display::commas;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `rename <from> AS <to>, ...`.
#[derive(Debug, Clone, PartialEq)]
pub struct RenameCommand {
    /// The renamings, at least one.
    pub renames: Vec<Rename>,
}

/// `from AS to`; both have the same number of wildcards, or the old name has none. In the latter case, an
/// asterisk in the new name is an ordinary character.
#[derive(Debug, Clone, PartialEq)]
pub struct Rename {
    /// The old name.
    pub from: FieldPattern,
    /// The new name.
    pub to: FieldPattern,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "rename",
    aliases: &[],
    summary: "renames fields",
    syntax: "rename <field> AS <field> [, <field> AS <field>]...",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &[];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut renames = Vec::new();
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        let from = source(p)?;
        // `rename a, AS b`: commas separate words as blanks do.
        let _ = p.attempt(|p| {
            p.skip_separators();
            p.at_keyword("as").then_some(())
        });
        let to = if p.eat_keyword("to") { Some(target(p)?) } else { alias(p)? };
        let Some(to) = to else {
            return Err(p.unexpected(&format!("AS after field '{}'", from.text)));
        };
        let stars = |text: &str| text.matches('*').count();
        if from.has_wildcard() && stars(&from.text) != stars(&to.node) {
            let message =
                format!("'{}' and '{}' must have the same number of wildcards", from.text, to.node);
            return Err(p.error(message, from.span.to(to.span)));
        }
        renames.push(Rename { from, to: FieldPattern::new(to.node, to.span) });
    }
    if renames.is_empty() {
        return Err(p.unexpected("a field name"));
    }
    Ok(Command::Rename(RenameCommand { renames }))
}

/// Reads the old name. A part of it may be quoted, and it may end with an equals sign.
fn source(p: &mut Parser<'_>) -> Parsed<FieldPattern> {
    p.skip_space();
    let start = p.pos();
    let name = p.field_pattern("a field name")?;
    if p.slice(start, p.pos()).starts_with(['"', '\'']) {
        return Ok(name);
    }
    let mut text = name.text;
    match p.peek() {
        Some('"') => p.join_parts(&mut text, false)?,
        Some('=') if p.rest()[1..].starts_with(char::is_whitespace) => text.extend(p.bump()),
        _ => {}
    }
    Ok(FieldPattern::new(text, p.span_from(start)))
}

fn alias(p: &mut Parser<'_>) -> Parsed<Option<Field>> {
    if p.eat_keyword("as") { target(p).map(Some) } else { Ok(None) }
}

/// Reads the new name. It may consist of blanks: dashboards use such names to hide column titles.
fn target(p: &mut Parser<'_>) -> Parsed<Field> {
    p.skip_space();
    let start = p.pos();
    let blank = p.attempt(|p| {
        let text = p.quoted('"').ok()?.node;
        (!text.is_empty() && text.trim().is_empty()).then_some(text)
    });
    if let Some(blank) = blank {
        return Ok(Field::new(blank, p.span_from(start)));
    }
    let name = p.field_pattern("a field name after AS")?;
    Ok(Field::new(name.text, name.span))
}

impl fmt::Display for Rename {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} AS {}", self.from, self.to)
    }
}

impl fmt::Display for RenameCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&commas(&self.renames))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | rename x TO y, z AS \" \"",
            "* | rename avg(x) AS y, count(eval(a=1)) as n",
            "* | rename a AS b",
            r#"* | rename a as "b c", d.e{} As f g as h"#,
            "* | rename foo* AS bar*",
            "* | rename a AS \"A*\"",
            r#"* | rename "sum(x)" AS total"#,
            "* | rename _raw as raw",
            "* | rename ip= AS ip",
        ]);
        same("* | rename a, AS b, c , as d", "* | rename a AS b, c AS d");
        same(r#"* | rename sizes."of all files" AS b"#, r#"* | rename "sizes.of all files" AS b"#);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | rename", "expected a field name", "");
        refuses("* | rename a b", "expected AS after field", "b");
        refuses("* | rename a* as b", "the same number of wildcards", "a* as b");
        refuses("* | rename a as", "a field name after AS", "");
    }
}
