//! `sort`: sorts rows.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `sort [N] <keys> [desc]`.
#[derive(Debug, Clone, PartialEq)]
pub struct SortCommand {
    /// Maximum number of rows that are kept; `None` is the default limit, 0 means all.
    pub limit: Option<u64>,
    /// The sort keys, at least one.
    pub keys: Vec<SortKey>,
    /// Whether `d` or `desc` at the end reverses the whole order.
    pub reversed: bool,
}

/// One key of `sort`.
#[derive(Debug, Clone, PartialEq)]
pub struct SortKey {
    /// The field.
    pub field: Field,
    /// Whether `-` was written.
    pub descending: bool,
    /// How values are compared.
    pub order: SortOrder,
}

/// How values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SortOrder {
    /// No function: `auto`.
    Auto,
    /// `num(x)`.
    Number,
    /// `str(x)`.
    String,
    /// `ip(x)`.
    Ip,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "sort",
    aliases: &[],
    summary: "sorts rows",
    syntax: "sort [<n>] [limit=<n>] [+|-]<field>... [desc]",
    kind: CommandKind::Dataset,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["limit"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut limit = p.count()?;
    let mut keys = Vec::new();
    let mut reversed = false;
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        if !keys.is_empty()
            && let Some(descending) = direction(p)
        {
            reversed = descending;
            break;
        }
        match p.option(OPTIONS)? {
            Some(option) => limit = Some(option.number()?),
            None => keys.push(key(p)?),
        }
    }
    if keys.is_empty() {
        return Err(p.unexpected("a field to sort by"));
    }
    p.expect_end("the end of the command")?;
    Ok(Command::Sort(SortCommand { limit, keys, reversed }))
}

/// Reads sort keys up to the end or to one of the options of the command, at least one.
pub(super) fn keys(p: &mut Parser<'_>, options: &[&str]) -> Parsed<Vec<SortKey>> {
    let mut keys = Vec::new();
    loop {
        p.skip_separators();
        if p.at_end() || p.at_option(options) {
            break;
        }
        keys.push(key(p)?);
    }
    if keys.is_empty() {
        return Err(p.unexpected("a field to sort by"));
    }
    Ok(keys)
}

fn key(p: &mut Parser<'_>) -> Parsed<SortKey> {
    let descending = p.eat("-");
    if !descending {
        p.eat("+");
    }
    let orders = [
        ("auto", SortOrder::Auto),
        ("num", SortOrder::Number),
        ("str", SortOrder::String),
        ("ip", SortOrder::Ip),
    ];
    for (name, order) in orders {
        let called = p.attempt(|p| (p.eat_keyword(name) && p.eat("(")).then_some(()));
        if called.is_some() {
            let field = p.field("a field name")?;
            p.expect(")", &format!("after the field of {name}"))?;
            return Ok(SortKey { field, descending, order });
        }
    }
    let field = p.field("a field to sort by")?;
    Ok(SortKey { field, descending, order: SortOrder::Auto })
}

/// Reads `d` or `desc`, `a` or `asc` as the last word.
fn direction(p: &mut Parser<'_>) -> Option<bool> {
    p.attempt(|p| {
        let descending = p.eat_keyword("desc") || p.eat_keyword("d");
        let found = descending || p.eat_keyword("asc");
        (found && p.at_end()).then_some(descending)
    })
}

impl fmt::Display for SortCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments.maybe("limit", self.limit);
        for key in &self.keys {
            arguments.push(key);
        }
        if self.reversed {
            arguments.push("desc");
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
            "* | sort host",
            "* | sort - count",
            "* | sort 0 -_time, +host",
            "* | sort limit=5 num(size) -str(name) ip(addr) auto(x)",
            "* | sort -count host desc",
            r#"* | sort 20 "a b""#,
            "* | sort d",
            "* | sort a-b",
            "* | sort 10 -sum(bytes), count(eval(a=1)) num(avg(x))",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | sort", "a field to sort by", "");
        refuses("* | sort 5", "a field to sort by", "");
        refuses("* | sort num(a", "after the field of num", "");
        refuses("* | sort a*", "wildcards are not allowed", "a*");
    }

    #[test]
    fn has_other_ways_to_say_the_same() {
        crate::testing::same("* | sort limit=5 a", "* | sort 5 +a");
        crate::testing::same("* | sort a asc", "* | sort a");
    }
}
