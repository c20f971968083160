//! `regex`: keeps rows that match a regular expression.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, ComparisonOperator, Field, Spanned};
use crate::display::{Arguments, field_name, quoted};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `regex [<field>=|<field>!=]"<pattern>"`.
#[derive(Debug, Clone, PartialEq)]
pub struct RegexCommand {
    /// The field; `_raw` if absent.
    pub field: Option<Field>,
    /// Whether `!=` was written.
    pub negated: bool,
    /// The regular expression.
    pub pattern: Spanned<String>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "regex",
    aliases: &[],
    summary: "keeps rows that match a regular expression",
    syntax: "regex [<field>=|<field>!=]\"<regex>\"",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &[];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (field, negated) = match target(p) {
        Some((field, negated)) => (Some(field), negated),
        None => (None, false),
    };
    let pattern = p.text_argument("a regular expression in quotes")?;
    Ok(Command::Regex(RegexCommand { field, negated, pattern }))
}

/// Reads `field=` or `field!=`.
fn target(p: &mut Parser<'_>) -> Option<(Field, bool)> {
    p.attempt(|p| {
        let field = p.field_before_operator()?;
        match p.comparison_operator()? {
            ComparisonOperator::Equal => Some((field, false)),
            ComparisonOperator::NotEqual => Some((field, true)),
            _ => None,
        }
    })
}

impl fmt::Display for RegexCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        let pattern = quoted(&self.pattern.node);
        match &self.field {
            Some(field) => {
                let operator = if self.negated { "!=" } else { "=" };
                arguments.push(format_args!("{}{operator}{pattern}", field_name(&field.node)))
            }
            None => arguments.push(pattern),
        };
        arguments.write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            r#"* | regex "\d{3}|x""#,
            r#"* | regex _raw="(?<!10)\.\d\"""#,
            r#"* | regex user.name!="^a""#,
            r#"* | regex a = "b\\\\c""#,
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | regex", "a regular expression", "");
        refuses(r#"* | regex a="x"#, "unbalanced quotes", r#"""#);
        refuses(r#"* | regex "a" "b""#, "'|' or the end of the command", r#"""#);
    }
}
