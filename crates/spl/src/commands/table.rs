//! `table`: keeps fields as columns, in the given order.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, FieldPattern};
use crate::display::field_patterns;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `table <patterns>`.
#[derive(Debug, Clone, PartialEq)]
pub struct TableCommand {
    /// The fields, at least one.
    pub fields: Vec<FieldPattern>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "table",
    aliases: &[],
    summary: "selects fields as columns, in order",
    syntax: "table <field>...",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &[];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let fields = p.field_patterns(1)?;
    Ok(Command::Table(TableCommand { fields }))
}

impl fmt::Display for TableCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&field_patterns(&self.fields))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | table a",
            r#"* | table _time, host a* "b c" d.e{}"#,
            "* | table *",
            r#"* | table "by", "404""#,
            "* | TABLE a,b,",
            "* | table host, sum(bytes) count(eval(status>=400))",
        ]);
        same("* | table avg(x), b", r#"* | table "avg(x)" b"#);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | table", "expected a field name", "");
        refuses(r#"* | table """#, "field name is empty", r#""""#);
        refuses("* | table a(b", "found '('", "(");
        refuses("* | tabel a", "Unknown search command 'tabel'.", "tabel");
    }
}
