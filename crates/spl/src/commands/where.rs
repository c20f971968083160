//! `where`: keeps rows for which an expression is true.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Expr};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `where <expression>`.
#[derive(Debug, Clone, PartialEq)]
pub struct WhereCommand {
    /// The condition.
    pub expr: Expr,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "where",
    aliases: &[],
    summary: "keeps rows for which an expression is true",
    syntax: "where <expression>",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Expression,
    parse,
};

const OPTIONS: &[&str] = &[];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let expr = p.expr()?;
    p.expect_end("an operator or the end of the command")?;
    Ok(Command::Where(WhereCommand { expr }))
}

impl fmt::Display for WhereCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expr.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | where x='' OR y=1",
            "* | where a > 5",
            r#"* | where like(host, "web%") AND NOT isnull(x)"#,
            r#"* | where a=b or c!="d" and e<=f"#,
            r#"* | where status in (1, 2) xor x not in ("a")"#,
            r#"* | where host LIKE "a%" OR host NOT LIKE "_b""#,
            "* | where not (a=1 or b=2)",
            r#"* | where 'a b'=1 AND 'c.d{}'="x""#,
            r#"* | where cidrmatch("10.0.0.0/8", ip)"#,
            r#"* | where match(x, "^\\d+$")"#,
            "* | where (a=1)",
            "* | where a-b > -c * 2",
            "* | where isnotnull(a)",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | where", "expected an expression", "");
        refuses("* | where a=1 b=2", "found 'b=2'", "b=2");
        refuses("* | where a = = 1", "expected an expression", "=");
        refuses("* | where isnul(a)", "unknown function 'isnul'", "isnul");
        refuses("* | where a IN ()", "at least one value", "a IN ()");
        refuses("* | where a)", "found ')'", ")");
        refuses("* | where AND a", "expected an expression", "AND");
    }
}
