//! `rex`: extracts fields with a regular expression, or edits with sed.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field, Spanned};
use crate::display::{Arguments, quoted};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `rex [field=] [max_match=] [offset_field=] "<regex>"` or `rex [field=] mode=sed "<sed>"`.
#[derive(Debug, Clone, PartialEq)]
pub struct RexCommand {
    /// `field=`; `_raw` if absent.
    pub field: Option<Field>,
    /// The mode with its arguments.
    pub mode: RexMode,
}

/// The two modes of `rex`.
#[derive(Debug, Clone, PartialEq)]
pub enum RexMode {
    /// Named groups become fields.
    Extract {
        /// The regular expression.
        pattern: Spanned<String>,
        /// `max_match=`: maximum number of matches (default 1, 0 means all).
        max_match: u64,
        /// `offset_field=`: the field for the positions of the groups.
        offset_field: Option<Field>,
    },
    /// `s/regex/replacement/flags` or `y/abc/xyz/`.
    Sed {
        /// The sed expression.
        expression: Spanned<String>,
    },
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "rex",
    aliases: &[],
    summary: "extracts fields with a regular expression, or edits with sed",
    syntax: "rex [field=<field>] [max_match=<n>] [offset_field=<field>] \"<regex>\" | rex [field=<field>] mode=sed \"<sed>\"",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["field", "mode", "max_match", "offset_field"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut field, mut max_match, mut offset_field, mut sed) = (None, 1, None, false);
    let mut pattern = None;
    while !p.at_end() {
        let quoted = p.peek() == Some('"');
        let option = if quoted { None } else { p.option(OPTIONS)? };
        let Some(option) = option else {
            if pattern.is_some() {
                return Err(p.unexpected("an option or the end of the command"));
            }
            pattern = Some(p.joined_argument("a regular expression in quotes")?);
            continue;
        };
        match option.name {
            "field" => field = Some(option.field()?),
            "max_match" => max_match = option.number()?,
            "offset_field" => offset_field = Some(option.field()?),
            _ => {
                sed = option.value.eq_ignore_ascii_case("sed");
                if !sed {
                    return Err(option.error("sed"));
                }
            }
        }
    }
    let pattern = pattern.ok_or_else(|| p.unexpected("a regular expression in quotes"))?;
    let mode = if sed {
        let known = pattern.node.trim_start().starts_with(['s', 'y']);
        if !known {
            let message = "a sed expression begins with s or y: s/old/new/g";
            return Err(p.error(message, pattern.span));
        }
        RexMode::Sed { expression: pattern }
    } else {
        RexMode::Extract { pattern, max_match, offset_field }
    };
    Ok(Command::Rex(RexCommand { field, mode }))
}

impl fmt::Display for RexCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments.maybe("field", self.field.as_ref().map(|field| &field.node));
        match &self.mode {
            RexMode::Extract { pattern, max_match, offset_field } => {
                if *max_match != 1 {
                    arguments.option("max_match", max_match);
                }
                arguments
                    .maybe("offset_field", offset_field.as_ref().map(|field| &field.node))
                    .push(quoted(&pattern.node));
            }
            RexMode::Sed { expression } => {
                arguments.option("mode", "sed").push(quoted(&expression.node));
            }
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
            r#"* | rex "user=(?<user>\w+)""#,
            r#"* | rex field=_raw max_match=0 "(?P<a>\d+)|\"(?<b>[^\"]*)\"""#,
            r#"* | rex mode=sed field=card "s/(\\d{4}-){3}/XXXX-/g""#,
            r#"* | rex offset_field=at "(?<x>a|b)" field="a b""#,
            "* | rex field=a (?<x>.+)",
            "* | rex (?<x>a=b)",
            r#"* | rex field=a (?<x>"disk is full")"#,
        ]);
        same(r#"* | rex mode=sed "s/\//""/g""#, r#"* | rex mode=sed "s/\///g""#);
        same(r#"* | rex "id:\s+"(?<id>"0x\d+") "#, r#"* | rex "id:\s+(?<id>0x\d+)""#);
        same(r#"* | rex "(?<file>\w+"\.dmp) | head"#, r#"* | rex "(?<file>\w+\.dmp)" | head"#);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | rex", "a regular expression", "");
        refuses("* | rex field=a", "a regular expression", "");
        refuses(r#"* | rex fild=a "(?<x>y)""#, "unknown option 'fild'", "fild");
        refuses(r#"* | rex mode=awk "x""#, "option 'mode' expects sed", "awk");
        refuses(r#"* | rex mode=sed "foo""#, "begins with s or y", r#""foo""#);
        refuses(r#"* | rex "a"#, "unbalanced quotes", r#"""#);
    }
}
