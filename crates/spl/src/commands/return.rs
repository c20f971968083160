//! `return`: turns the first rows into a filter or a value.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::{Arguments, field_name, quoted};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `return [<n>] [<alias>=]<field>... [$<field>...]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ReturnCommand {
    /// Maximum number of rows (default 1).
    pub count: u64,
    /// The fields, at least one.
    pub fields: Vec<Returned>,
}

/// A field that is returned, and its form.
#[derive(Debug, Clone, PartialEq)]
pub struct Returned {
    /// The field.
    pub field: Field,
    /// How its values are written.
    pub form: ReturnedForm,
}

/// The form of the values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReturnedForm {
    /// `field="value"`.
    Named,
    /// `alias="value"`.
    Alias(String),
    /// `$field`: the value alone.
    Value,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "return",
    aliases: &[],
    summary: "turns the first rows into a filter or value",
    syntax: "return [<n>] [<alias>=]<field>... [$<field>...]",
    kind: CommandKind::Transforming,
    right: CommandRight::FREE,
    options: &[],
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let count = p.count()?.unwrap_or(1);
    let mut fields = Vec::new();
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        fields.push(returned(p)?);
    }
    if fields.is_empty() {
        return Err(p.unexpected("a field name, <alias>=<field> or $<field>"));
    }
    Ok(Command::Return(ReturnCommand { count, fields }))
}

fn returned(p: &mut Parser<'_>) -> Parsed<Returned> {
    if p.eat("$") {
        let field = p.field("a field name after '$'")?;
        return Ok(Returned { field, form: ReturnedForm::Value });
    }
    let field = p.field("a field name, <alias>=<field> or $<field>")?;
    if !p.eat("=") {
        return Ok(Returned { field, form: ReturnedForm::Named });
    }
    let alias = ReturnedForm::Alias(field.node);
    let field = p.field("a field name after '='")?;
    Ok(Returned { field, form: alias })
}

impl fmt::Display for ReturnCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments.push(self.count);
        for Returned { field, form } in &self.fields {
            // The quotes distinguish a name that begins with `$` from the form that returns only the value.
            let name = match field.node.starts_with('$') {
                true => quoted(&field.node),
                false => field_name(&field.node),
            };
            match form {
                ReturnedForm::Named => arguments.push(name),
                ReturnedForm::Alias(alias) => {
                    arguments.push(format_args!("{}={name}", field_name(alias)))
                }
                ReturnedForm::Value => arguments.push(format_args!("${name}")),
            };
        }
        arguments.write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | return ip",
            "* | return 2 user, ip",
            "* | return 10 src=ip $\"the id\" \"a b\"",
            "index=a [search b | return 5 $host]",
        ]);
        same("* | return ip", "* | return 1 ip");
        same("* | return a b", "* | return a, b");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | return", "expected a field name", "");
        refuses("* | return 5", "expected a field name", "");
        refuses("* | return a=", "a field name after '='", "");
        refuses("* | return a*", "wildcards are not allowed", "a*");
    }
}
