//! `join`: adds the fields of rows of another search that have the same values.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Dataset, Field, Spanned, SubsearchOptions};
use crate::display::{Arguments, field_name, field_names};
use crate::parser::{Parsed, Parser, is_name_character, subsearch_option};
use std::fmt;

/// `join [options] [fields | left= right= where ...] <search>`.
#[derive(Debug, Clone, PartialEq)]
pub struct JoinCommand {
    /// Whether rows without a match are kept (`type=left`, `type=outer`).
    pub outer: bool,
    /// `max=`: maximum number of rows that a row is joined with (default 1, 0 means all).
    pub max: u64,
    /// `overwrite=`: whether values of the other search take precedence (default true).
    pub overwrite: bool,
    /// `usetime=`: whether only earlier or later rows match, depending on `earlier`.
    pub usetime: bool,
    /// `earlier=` (default true).
    pub earlier: bool,
    /// The fields that must be equal; all common fields if empty and there is no `on`.
    pub fields: Vec<Field>,
    /// `left=L right=R where L.a=R.b`.
    pub on: Option<JoinOn>,
    /// The other search.
    pub dataset: Dataset,
    /// Limits of the other search.
    pub options: SubsearchOptions,
}

/// The fields of both sides that must be equal, and the prefixes of the result fields.
#[derive(Debug, Clone, PartialEq)]
pub struct JoinOn {
    /// `left=`.
    pub left: String,
    /// `right=`.
    pub right: String,
    /// A field of the left side and one of the right side, both without the alias; at least one.
    pub pairs: Vec<(Field, Field)>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "join",
    aliases: &[],
    summary: "joins rows with those of a subsearch",
    syntax: "join [type=inner|left|outer] [max=<n>] [overwrite=<bool>] [usetime=<bool>] [earlier=<bool>] [<field>... | left=<alias> right=<alias> where <alias>.<field>=<alias>.<field>...] [<subsearch>]",
    kind: CommandKind::Centralised,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &[
    "type",
    "max",
    "overwrite",
    "usetime",
    "earlier",
    "left",
    "right",
    "maxtime",
    "maxout",
    "timeout",
    "extendtimerange",
    "run_in_preview",
];

/// The arguments read so far.
#[derive(Default)]
struct Read {
    left: Option<String>,
    right: Option<String>,
    fields: Vec<Field>,
    on: Option<JoinOn>,
    dataset: Option<Dataset>,
}

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut read = Read::default();
    let (mut outer, mut max, mut overwrite, mut usetime) = (false, 1, true, false);
    let (mut earlier, mut options) = (true, SubsearchOptions::default());
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        if read.dataset.is_none() && p.at_dataset() {
            read.dataset = Some(p.dataset()?);
            continue;
        }
        let quoted = matches!(p.peek(), Some('"' | '\''));
        let option = if quoted { None } else { p.option(OPTIONS)? };
        let Some(option) = option else {
            operand(p, &mut read)?;
            continue;
        };
        match option.name {
            "type" => {
                outer = match option.value.to_ascii_lowercase().as_str() {
                    "inner" => false,
                    "left" | "outer" => true,
                    _ => return Err(option.error("inner, left or outer")),
                }
            }
            "max" => max = option.number()?,
            "overwrite" => overwrite = option.boolean()?,
            "usetime" => usetime = option.boolean()?,
            "earlier" => earlier = option.boolean()?,
            "left" | "right" if read.on.is_some() => {
                let message =
                    format!("{}= has no effect behind where: it stands before", option.name);
                return Err(p.error(message, option.value_span));
            }
            "left" => read.left = Some(option.text()),
            "right" => read.right = Some(option.text()),
            _ => subsearch_option(&mut options, &option)?,
        }
    }
    let Read { fields, on, dataset, .. } = read;
    let dataset = dataset.ok_or_else(|| p.unexpected("a subsearch in square brackets"))?;
    let join =
        JoinCommand { outer, max, overwrite, usetime, earlier, fields, on, dataset, options };
    Ok(Command::Join(join))
}

/// Reads a field to join on, or `where` with pairs of fields.
fn operand(p: &mut Parser<'_>, read: &mut Read) -> Parsed<()> {
    if read.dataset.is_some() {
        return Err(p.unexpected("an option or the end of the command"));
    }
    if read.on.is_some() {
        let expected =
            "an option or a subsearch in square brackets behind where and its conditions";
        return Err(p.unexpected(expected));
    }
    if !p.at_keyword("where") {
        read.fields.push(p.field("a field name or a subsearch in square brackets")?);
        return Ok(());
    }
    let start = p.pos();
    p.eat_keyword("where");
    let (Some(left), Some(right)) = (read.left.clone(), read.right.clone()) else {
        let message = "where needs left=<alias> and right=<alias> before it";
        return Err(p.error(message, p.span_from(start)));
    };
    let mut pairs = Vec::new();
    loop {
        p.skip_separators();
        // Field names begin with an alias and a dot, option names do not.
        if p.at_end() || p.at_dataset() || p.at_option(OPTIONS) {
            break;
        }
        if !pairs.is_empty() && p.eat_keyword("and") {
            continue;
        }
        pairs.push(pair(p, &left, &right)?);
    }
    if pairs.is_empty() {
        return Err(p.unexpected(&format!("{left}.<field>={right}.<field> after where")));
    }
    read.on = Some(JoinOn { left, right, pairs });
    Ok(())
}

/// Reads `L.a=R.b` or `R.b=L.a`.
fn pair(p: &mut Parser<'_>, left: &str, right: &str) -> Parsed<(Field, Field)> {
    let start = p.pos();
    let one = side(p)?;
    if p.comparison_operator() != Some(crate::ast::ComparisonOperator::Equal) {
        return Err(p.unexpected("'=' between the fields"));
    }
    let other = side(p)?;
    let of = |field: &Field, alias: &str| {
        let name = field.node.strip_prefix(alias)?.strip_prefix('.')?;
        (!name.is_empty()).then(|| Spanned::new(name.to_owned(), field.span))
    };
    let pair =
        of(&one, left).zip(of(&other, right)).or_else(|| of(&other, left).zip(of(&one, right)));
    pair.ok_or_else(|| {
        let message = format!("expected {left}.<field>={right}.<field>");
        p.error(message, p.span_from(start))
    })
}

fn side(p: &mut Parser<'_>) -> Parsed<Field> {
    p.skip_space();
    if let Some(quote @ ('"' | '\'')) = p.peek() {
        return p.quoted(quote);
    }
    let start = p.pos();
    let name = p.take_while(|c| is_name_character(c) && c != '!').to_owned();
    if name.is_empty() {
        return Err(p.unexpected("a field after its alias"));
    }
    Ok(Spanned::new(name, p.span_from(start)))
}

impl fmt::Display for JoinCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        if self.outer {
            arguments.option("type", "left");
        }
        if self.max != 1 {
            arguments.option("max", self.max);
        }
        arguments
            .flag("overwrite", self.overwrite, true)
            .flag("usetime", self.usetime, false)
            .flag("earlier", self.earlier, true)
            .push(&self.options)
            .push(field_names(self.fields.iter().map(|field| field.node.as_str())));
        if let Some(on) = &self.on {
            arguments.option("left", &on.left).option("right", &on.right).push("where");
            for (left, right) in &on.pairs {
                let left = field_name(&format!("{}.{}", on.left, left.node));
                let right = field_name(&format!("{}.{}", on.right, right.node));
                arguments.push(format_args!("{left}={right}"));
            }
        }
        arguments.push(&self.dataset).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | join host [search index=b | stats count by host]",
            "* | join type=left max=0 overwrite=f host, source \"a b\" [index=b]",
            "* | join usetime=true earlier=false id [| makeresults]",
            "* | join [search index=b]",
            "* | join left=L right=R where L.id=R.uid L.a=R.b [search index=b]",
            "* | join max=0 left=a right=\"b c\" where a.x=\"b c.y z\" savedsearch:products",
            "* | join id inputlookup:users.csv",
            "* | join id datamodel:\"internal_server.splunkdaccess\"",
            "* | join maxtime=5 extendtimerange=t run_in_preview=t id [makeresults | eval id=1]",
        ]);
        same("* | join host type=outer [a]", "* | join type=left host [search a]");
        same("* | join id [a] max=0", "* | join max=0 id [a]");
        same(
            "* | join left=L right=R where R.uid = L.id AND L.a=R.b [a]",
            "* | join left=L right=R where L.id=R.uid, L.a=R.b [a]",
        );
        same("* | join left=L right=R id [a]", "* | join id [a]");
        same(
            "* | join left=L right=max where L.a=max.b type=left max=0 [a]",
            "* | join type=left max=0 left=L right=max where L.a=max.b [a]",
        );
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | join host", "a subsearch in square brackets", "");
        refuses("* | join type=full host [a]", "inner, left or outer", "full");
        refuses("* | join ho* [a]", "wildcards are not allowed", "ho*");
        refuses("* | join where L.a=R.b [a]", "where needs left=", "where");
        refuses("* | join left=L right=R where x=R.b [a]", "expected L.<field>=R", "x=R.b");
        refuses("* | join left=L right=R where [a]", "L.<field>=R.<field> after where", "[");
        refuses("* | join left=L right=R where type=left [a]", "after where", "type=left");
        let on = "* | join left=L right=R where L.a=R.b type=left";
        refuses(&format!("{on} id [a]"), "an option or a subsearch", "id");
        refuses(&format!("{on} L.c=R.d [a]"), "an option or a subsearch", "L.c=R.d");
        refuses(&format!("{on} left=X [a]"), "left= has no effect behind where", "X");
        refuses("* | join id [a] b", "an option or the end", "b");
    }
}
