//! `convert`: converts values to numbers or times.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, FieldPattern, Span};
use crate::display::{Arguments, commas};
use crate::parser::{Parsed, Parser};
use crate::suggest::nearest;
use std::fmt;

/// `convert [timeformat=] <conversion>...`.
#[derive(Debug, Clone, PartialEq)]
pub struct ConvertCommand {
    /// `timeformat=` of `ctime` and `mktime`.
    pub timeformat: Option<String>,
    /// The conversions, at least one.
    pub conversions: Vec<Conversion>,
}

/// `ctime(x) AS y`.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversion {
    /// The conversion function.
    pub function: ConvertFunction,
    /// The fields to which it is applied.
    pub field: FieldPattern,
    /// The field for the result; the field itself if absent.
    pub alias: Option<FieldPattern>,
    /// The place of the conversion.
    pub span: Span,
}

/// The functions of `convert`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named after the functions")]
pub enum ConvertFunction {
    Auto,
    Ctime,
    Dur2sec,
    Memk,
    Mktime,
    Mstime,
    /// Leaves the fields unchanged (for `auto(*) none(x)`).
    None,
    Num,
    Rmcomma,
    Rmunit,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "convert",
    aliases: &[],
    summary: "converts values to numbers or times",
    syntax: "convert [timeformat=<format>] <function>[([<field>])] [AS <field>]...",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["timeformat"];

const FUNCTIONS: [(&str, ConvertFunction); 10] = [
    ("auto", ConvertFunction::Auto),
    ("ctime", ConvertFunction::Ctime),
    ("dur2sec", ConvertFunction::Dur2sec),
    ("memk", ConvertFunction::Memk),
    ("mktime", ConvertFunction::Mktime),
    ("mstime", ConvertFunction::Mstime),
    ("none", ConvertFunction::None),
    ("num", ConvertFunction::Num),
    ("rmcomma", ConvertFunction::Rmcomma),
    ("rmunit", ConvertFunction::Rmunit),
];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = ConvertCommand { timeformat: None, conversions: Vec::new() };
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        match p.option(OPTIONS)? {
            Some(option) => command.timeformat = Some(option.text()),
            None => command.conversions.push(conversion(p)?),
        }
    }
    if command.conversions.is_empty() {
        return Err(p.unexpected("a conversion such as ctime(_time)"));
    }
    Ok(Command::Convert(command))
}

fn conversion(p: &mut Parser<'_>) -> Parsed<Conversion> {
    let start = p.pos();
    let name = p.take_while(|c| c.is_ascii_alphanumeric()).to_ascii_lowercase();
    if name.is_empty() {
        return Err(p.unexpected("a conversion such as ctime(_time)"));
    }
    let Some((_, function)) = FUNCTIONS.iter().find(|(known, _)| *known == name) else {
        let names = FUNCTIONS.iter().map(|(known, _)| *known);
        let diagnostic = p.error(format!("unknown function '{name}'"), p.span_from(start));
        return Err(diagnostic.with_suggestion(nearest(&name, names)));
    };
    let field = if is_alone(p) || p.attempt(|p| (p.eat("(") && p.eat(")")).then_some(())).is_some()
    {
        FieldPattern::new("*", p.span_from(start))
    } else {
        p.expect("(", &format!("after {name}"))?;
        let field = p.field_pattern("a field name")?;
        p.expect(")", &format!("after the field of {name}"))?;
        field
    };
    let alias = p.alias_of_call()?.map(|alias| FieldPattern::new(alias.node, alias.span));
    Ok(Conversion { function: *function, field, alias, span: p.span_from(start) })
}

/// Returns whether a function has no brackets, so that it applies to all fields.
fn is_alone(p: &mut Parser<'_>) -> bool {
    if p.at_end() || p.peek() == Some(',') {
        return true;
    }
    let rest = p.rest();
    let word = rest.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    FUNCTIONS.iter().any(|(known, _)| word.eq_ignore_ascii_case(known))
}

impl fmt::Display for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = FUNCTIONS
            .iter()
            .find(|(_, function)| *function == self.function)
            .map_or("none", |(name, _)| name);
        write!(f, "{name}({})", self.field)?;
        self.alias.as_ref().map_or(Ok(()), |alias| write!(f, " AS {alias}"))
    }
}

impl fmt::Display for ConvertCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default()
            .maybe("timeformat", self.timeformat.as_ref())
            .push(commas(&self.conversions))
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | convert ctime(_time) AS when",
            r#"* | convert timeformat="%Y-%m-%d %H:%M" ctime(first) ctime(last)"#,
            "* | convert auto(*) none(id)",
            r#"* | convert dur2sec("run time") AS seconds, num(x)"#,
        ]);
    }

    #[test]
    fn has_other_ways_to_say_the_same() {
        crate::testing::same("* | convert auto", "* | convert auto(*)");
        crate::testing::same("* | convert auto() none(id)", "* | convert auto none(id)");
        crate::testing::same("* | convert ctime(), num", "* | convert ctime(*) num(*)");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | convert", "expected a conversion", "");
        refuses("* | convert cktime(a)", "unknown function 'cktime'", "cktime");
        refuses("* | convert ctime a", "expected '(' after ctime", "a");
    }
}
