//! `multikv`: creates a row from each line of a table.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Spanned};
use crate::display::{Arguments, field_names, quoted};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `multikv [options] [fields <names>] [filter <texts>]`.
#[derive(Debug, Clone, PartialEq)]
pub struct MultikvCommand {
    /// `conf=`: a stanza of `multikv.conf`.
    pub conf: Option<Spanned<String>>,
    /// `copyattrs=`: whether rows get the fields of their event (default true).
    pub copyattrs: bool,
    /// `forceheader=`: the number of the header line, not counting empty lines.
    pub forceheader: Option<u64>,
    /// `multitable=`: whether an event may hold several tables (default true).
    pub multitable: bool,
    /// `noheader=`: whether the table has no header.
    pub noheader: bool,
    /// `rmorig=`: whether the event itself is removed (default true).
    pub rmorig: bool,
    /// `fields`: the columns to return; all if empty.
    pub fields: Vec<String>,
    /// `filter`: texts of which a row must contain one; all rows if empty.
    pub filter: Vec<String>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "multikv",
    aliases: &[],
    summary: "extracts the rows of tables in event text",
    syntax: "multikv [copyattrs=<bool>] [forceheader=<n>] [multitable=<bool>] [noheader=<bool>] [rmorig=<bool>] [fields <field>...] [filter <text>...]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["conf", "copyattrs", "forceheader", "multitable", "noheader", "rmorig"];

const DEFAULT: MultikvCommand = MultikvCommand {
    conf: None,
    copyattrs: true,
    forceheader: None,
    multitable: true,
    noheader: false,
    rmorig: true,
    fields: Vec::new(),
    filter: Vec::new(),
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = DEFAULT;
    loop {
        p.skip_separators();
        if p.at_end() {
            return Ok(Command::Multikv(command));
        }
        if p.eat_keyword("fields") {
            command.fields.extend(words(p, "a field name")?);
            continue;
        }
        if p.eat_keyword("filter") {
            command.filter.extend(words(p, "a text")?);
            continue;
        }
        let Some(option) = p.option(OPTIONS)? else {
            return Err(p.unexpected("an option, 'fields', 'filter' or the end of the command"));
        };
        match option.name {
            "conf" => command.conf = Some(option.spanned()),
            "copyattrs" => command.copyattrs = option.boolean()?,
            "forceheader" => {
                let line = option.number()?;
                if line == 0 {
                    return Err(option.error("a line number from 1"));
                }
                command.forceheader = Some(line);
            }
            "multitable" => command.multitable = option.boolean()?,
            "noheader" => command.noheader = option.boolean()?,
            _ => command.rmorig = option.boolean()?,
        }
    }
}

/// Reads names or texts up to the next keyword or option.
fn words(p: &mut Parser<'_>, what: &str) -> Parsed<Vec<String>> {
    let mut words = Vec::new();
    loop {
        p.skip_separators();
        if p.at_end() || p.at_keyword("fields") || p.at_keyword("filter") || at_option(p) {
            if words.is_empty() {
                return Err(p.unexpected(what));
            }
            return Ok(words);
        }
        let is_quoted = p.peek() == Some('"');
        let word = p.text_argument(what)?.node;
        if is_quoted {
            words.push(word);
        } else {
            words.extend(word.split(',').filter(|word| !word.is_empty()).map(str::to_owned));
        }
    }
}

/// Returns whether one of the options is next.
fn at_option(p: &mut Parser<'_>) -> bool {
    let mut is_option = false;
    p.attempt(|p| {
        let name = p.option_name()?.node.to_ascii_lowercase();
        is_option = OPTIONS.contains(&name.as_str());
        None::<()>
    });
    is_option
}

impl fmt::Display for MultikvCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments
            .maybe("conf", self.conf.as_ref().map(|conf| &conf.node))
            .flag("copyattrs", self.copyattrs, true)
            .maybe("forceheader", self.forceheader)
            .flag("multitable", self.multitable, true)
            .flag("noheader", self.noheader, false)
            .flag("rmorig", self.rmorig, true);
        if !self.fields.is_empty() {
            let names = field_names(self.fields.iter().map(String::as_str));
            arguments.push(format_args!("fields {names}"));
        }
        if !self.filter.is_empty() {
            let texts: Vec<String> = self.filter.iter().map(|text| quoted(text)).collect();
            arguments.push(format_args!("filter {}", texts.join(", ")));
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
            "* | multikv",
            "* | multikv fields COMMAND filter splunkd",
            "* | multikv fields pid, %cpu command",
            r#"* | multikv filter "a b" c forceheader=2 copyattrs=f rmorig=f fields x"#,
            "* | multikv noheader=true multitable=f conf=netstat",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | multikv pid", "an option, 'fields', 'filter'", "pid");
        refuses("* | multikv fields", "expected a field name", "");
        refuses("* | multikv forceheader=0", "a line number from 1", "0");
    }
}
