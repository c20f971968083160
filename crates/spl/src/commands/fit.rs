//! `fit`: trains a model on all rows, and applies it to them.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field, FieldPattern, Spanned};
use crate::display::{Arguments, field_name, field_patterns, quoted};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `fit <algorithm> [<target> from] <fields> [by <fields>] [into <model>] [as <field>] [<parameter>=...]`.
#[derive(Debug, Clone, PartialEq)]
pub struct FitCommand {
    /// The name of the algorithm.
    pub algorithm: Spanned<String>,
    /// The field before `from`, which the model predicts.
    pub target: Option<Field>,
    /// The fields from which the model predicts.
    pub fields: Vec<FieldPattern>,
    /// The fields by whose values rows are grouped; each group has its own model.
    pub by: Vec<Field>,
    /// The name under which the model is saved; if absent, it is not saved.
    pub model: Option<Spanned<String>>,
    /// The output field.
    pub alias: Option<String>,
    /// Parameters of the algorithm with their values.
    pub parameters: Vec<(Field, Spanned<String>)>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "fit",
    aliases: &[],
    summary: "learns a model from all rows, and applies it to them",
    syntax: "fit <algorithm> [<field> from] <field>... [by <field>...] [into <model>] [as <field>] [<parameter>=<value>]...",
    kind: CommandKind::Dataset,
    right: CommandRight::writes("output_file"),
    options: &[],
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let algorithm = p.text_argument("an algorithm such as LinearRegression")?;
    let mut command = FitCommand {
        algorithm,
        target: None,
        fields: Vec::new(),
        by: Vec::new(),
        model: None,
        alias: None,
        parameters: Vec::new(),
    };
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        if let Some(parameter) = p.other_option(&[])? {
            command.parameters.push(parameter);
        } else if p.eat_keyword("from") {
            target(p, &mut command)?;
        } else if p.eat_keyword("by") {
            by(p, &mut command)?;
        } else if p.eat_keyword("into") {
            command.model = Some(p.text_argument("the name of a model after INTO")?);
        } else if p.eat_keyword("as") {
            command.alias = Some(p.field("a field name after AS")?.node);
        } else {
            command.fields.push(p.field_pattern("a field name")?);
        }
    }
    if command.fields.is_empty() {
        return Err(p.unexpected("a field name"));
    }
    Ok(Command::Fit(command))
}

/// Takes the only field before `from` as the target.
fn target(p: &mut Parser<'_>, command: &mut FitCommand) -> Parsed<()> {
    match (command.fields.pop(), command.fields.is_empty(), command.target.is_none()) {
        (Some(field), true, true) if !field.has_wildcard() => {
            command.target = Some(Spanned::new(field.text, field.span));
            Ok(())
        }
        _ => Err(p.error("one field stands in front of FROM", p.here())),
    }
}

/// Reads the fields after `by`; inside of quotes, commas separate them.
fn by(p: &mut Parser<'_>, command: &mut FitCommand) -> Parsed<()> {
    p.skip_space();
    if p.peek() == Some('"') {
        let list = p.quoted('"')?;
        let names = list.node.split(',').map(str::trim).filter(|name| !name.is_empty());
        command.by.extend(names.map(|name| Spanned::new(name.to_owned(), list.span)));
        return Ok(());
    }
    loop {
        p.skip_separators();
        let is_next = ["into", "as", "from"].iter().any(|keyword| p.at_keyword(keyword));
        let option = p.attempt(|p| {
            let start = p.pos();
            let found = p.option_name().is_some();
            (!found || p.pos() == start).then_some(())
        });
        if p.at_end() || is_next || option.is_none() {
            return Ok(());
        }
        command.by.push(p.field("a field name after BY")?);
    }
}

impl fmt::Display for FitCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments.push(&self.algorithm.node);
        if let Some(target) = &self.target {
            arguments.push(format_args!("{} from", field_name(&target.node)));
        }
        arguments.push(field_patterns(&self.fields));
        if !self.by.is_empty() {
            let names: Vec<&str> = self.by.iter().map(|field| field.node.as_str()).collect();
            arguments.push(format_args!("by {}", quoted(&names.join(","))));
        }
        if let Some(model) = &self.model {
            arguments.push(format_args!("into {}", quoted(&model.node)));
        }
        if let Some(alias) = &self.alias {
            arguments.push(format_args!("as {}", field_name(alias)));
        }
        for (name, value) in &self.parameters {
            arguments.option(&name.node, &value.node);
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
            "* | fit LinearRegression y from x1 x2 into m",
            "* | fit KMeans a* k=3",
            r#"* | fit DensityFunction "n" by "day,hour" dist=norm into app:m as IsOutlier"#,
            "* | fit DensityFunction n by host threshold=0.001 into m",
        ]);
        same(
            "* | fit DensityFunction n by a, b into m",
            r#"* | fit DensityFunction n by "a,b" into m"#,
        );
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | fit", "an algorithm", "");
        refuses("* | fit KMeans", "a field name", "");
        refuses("* | fit LinearRegression a b from c", "one field stands in front of FROM", " ");
    }
}
