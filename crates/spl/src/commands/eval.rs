//! `eval`: computes fields from expressions.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Expr, Field, Spanned};
use crate::display::{commas, field_name};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `eval <field>=<expression>, ...`.
#[derive(Debug, Clone, PartialEq)]
pub struct EvalCommand {
    /// The assignments in order, at least one; each can read the fields of those before it.
    pub assignments: Vec<Assignment>,
}

/// `field=expression`.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// The field that is set. `{name}` in it stands for the value of field `name`.
    pub field: Field,
    /// The value.
    pub expr: Expr,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "eval",
    aliases: &[],
    summary: "computes fields from expressions",
    syntax: "eval <field>=<expression> [, <field>=<expression>]...",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Expression,
    parse,
};

const OPTIONS: &[&str] = &[];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let assignments = assignments(p)?;
    Ok(Command::Eval(EvalCommand { assignments }))
}

/// Reads `field=expression, ...` up to the end of the command.
pub(super) fn assignments(p: &mut Parser<'_>) -> Parsed<Vec<Assignment>> {
    let mut assignments = Vec::new();
    loop {
        p.skip_space();
        let start = p.pos();
        let field = match target(p)? {
            Some(field) if p.eat("=") => field,
            found => {
                let expected = match &found {
                    Some(field) => format!("'=' after field '{}'", field.node),
                    None => "a field name and '='".to_owned(),
                };
                p.attempt(|p| unquoted(p, start)).ok_or_else(|| p.unexpected(&expected))?
            }
        };
        let expr = p.expr()?;
        assignments.push(Assignment { field, expr });
        if !p.eat(",") {
            break;
        }
    }
    p.expect_end("an operator, ',' or the end of the command")?;
    Ok(assignments)
}

/// Reads the field on the left of `=`; `None` if its name begins with `%`, which is an operator inside of
/// names.
fn target(p: &mut Parser<'_>) -> Parsed<Option<Field>> {
    p.skip_space();
    if matches!(p.peek(), Some('"' | '\'')) {
        // In quotes, an asterisk is a part of the name.
        let pattern = p.field_pattern("a field name")?;
        return Ok(Some(Spanned::new(pattern.text, pattern.span)));
    }
    if p.peek() == Some('%') {
        return Ok(None);
    }
    let start = p.pos();
    let name = p.take_while(|c| crate::parser::is_name_character(c) && !"+*/%'!".contains(c));
    if name.is_empty() {
        return Err(p.unexpected("a field name and '='"));
    }
    Ok(Some(Spanned::new(name.to_owned(), p.span_from(start))))
}

/// Reads an unquoted name with blanks, brackets or signs, up to `=`: `size(MB)`, `Count %`. A text that ends
/// with an operator, as in `a +=`, is not a name.
fn unquoted(p: &mut Parser<'_>, start: usize) -> Option<Field> {
    p.take_while(|c| !"=\"'|[],<>!".contains(c));
    let name = p.slice(start, p.pos()).trim_end();
    let is_operator = name.ends_with(['+', '-', '*', '/', '.']);
    let is_name =
        !name.is_empty() && !is_operator && !name.contains('\n') && !p.rest().starts_with("==");
    let field = Field::new(name.to_owned(), p.span_to(start, start + name.len()));
    (is_name && p.eat("=")).then_some(field)
}

impl fmt::Display for Assignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", field_name(&self.field.node), self.expr)
    }
}

impl fmt::Display for EvalCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&commas(&self.assignments))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | eval a=1",
            r#"* | eval kb=round(bytes/1024, 2), big=if(kb > 10, "yes", "no")"#,
            r#"* | eval "new name"='old name' . "x""#,
            "* | eval {field}=value",
            "* | eval a.b = 'c.d' + -1.5",
            r#"* | eval x=case(a=1, "one", a==2 AND NOT b=3, "two", true(), "other")"#,
            r#"* | eval x=if(status IN (404, 503) OR host LIKE "web%", 1, 0)"#,
            "* | eval x=if(in(status, 404, 503), 1, null())",
            r#"* | eval x=mvindex(split(a, ","), -1)"#,
            "* | eval ok=if(isnull(x) XOR isnum(y), 1, 0)",
            "* | eval a=(1+2)*3-(4-5)-6 % 7",
            "* | eval a=--1, b=not_a_keyword, c=android",
            r#"* | eval a="\d+\"x\\""#,
            "* | eval 5xx=4xx+1e3+.5",
            "* | eval a=if(!isnull(b) AND !(c=1), -!d, b!=2)",
            "* | eval size(MB)=size/1048576, Count %=1, a b c = 2",
            "* | eval %_Idle=100-x, %Failed = round(a % b, 1)",
            "* | eval a=\"tab\\tline\\n\\d\\\\t\"",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | eval", "a field name and", "");
        refuses("* | eval a", "expected '=' after field", "");
        refuses("* | eval a=", "expected an expression", "");
        refuses("* | eval a=1+", "expected an expression", "");
        refuses("* | eval a=rouund(1)", "unknown function 'rouund'", "rouund");
        refuses("* | eval a=if(1, 2)", "function if takes 3 arguments, found 2", "if(1, 2)");
        refuses("* | eval a=case(1, 2, 3)", "pairs of arguments", "case(1, 2, 3)");
        refuses("* | eval a=(1+2", "is not closed", "(");
        refuses("* | eval a=1 b=2", "found 'b=2'", "b=2");
        refuses("* | eval a=lower(x y)", "in the arguments of lower", "y");
        refuses(r#"* | eval a="x"#, "unbalanced quotes", r#"""#);
        refuses("* | eval a=x NOT y", "LIKE or IN after NOT", "y");
    }

    #[test]
    fn has_other_ways_to_say_the_same() {
        crate::testing::same("* | eval a=if(!isnull(b), 1, 0)", "* | eval a=if(NOT isnull(b),1,0)");
        crate::testing::same("* | eval a=\"x\\ty\"", "* | eval a=\"x\ty\"");
        crate::testing::same("* | eval a=1+2*3", "* | eval a=1+(2*3)");
        crate::testing::same(
            "* | eval a=x OR y AND NOT z=1",
            "* | eval a=x or (y and (not (z=1)))",
        );
        crate::testing::same("* | eval a=ceil(len(x))", "* | eval a=ceiling(length(x))");
        crate::testing::same("* | eval a=a.b.c", "* | eval a=(a . b) . c");
    }
}
