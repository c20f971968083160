//! `savedsearch`: runs a saved search and returns its rows.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Spanned};
use crate::display::{Arguments, field_name, quoted};
use crate::parser::{Parsed, Parser, boolean, is_name_character};
use std::fmt;

/// `savedsearch <name> [nosubstitution=] [<name>=<text>]...`.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedsearchCommand {
    /// The name of the saved search.
    pub name: Spanned<String>,
    /// `nosubstitution=`: whether `$name$` in the search is kept.
    pub nosubstitution: bool,
    /// The texts that replace `$name$` in the search.
    pub arguments: Vec<(String, String)>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "savedsearch",
    aliases: &["macro", "savedsplunk"],
    summary: "runs a saved search",
    syntax: "savedsearch <name> [nosubstitution=<bool>] [<argument>=<text>]...",
    kind: CommandKind::Generating,
    right: CommandRight::FREE,
    options: &["nosubstitution"],
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut name, mut nosubstitution, mut arguments) = (None, false, Vec::new());
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        let key = p.attempt(|p| {
            let key = p.take_while(is_name_character).to_owned();
            (!key.is_empty() && p.eat("=")).then_some(key)
        });
        let Some(key) = key else {
            if name.is_some() {
                return Err(p.unexpected("<argument>=<text> or the end of the command"));
            }
            name = Some(p.text_argument("the name of a saved search")?);
            continue;
        };
        let value = value(p)?;
        if key.eq_ignore_ascii_case("nosubstitution") {
            nosubstitution = boolean(&value.node)
                .ok_or_else(|| p.error("nosubstitution must be true or false", value.span))?;
        } else {
            arguments.push((key, value.node));
        }
    }
    let name = name.filter(|name| !name.node.is_empty());
    let name = name.ok_or_else(|| p.unexpected("the name of a saved search"))?;
    Ok(Command::Savedsearch(SavedsearchCommand { name, nosubstitution, arguments }))
}

fn value(p: &mut Parser<'_>) -> Parsed<Spanned<String>> {
    p.skip_space();
    if let Some(quote @ ('"' | '\'')) = p.peek() {
        return p.quoted(quote);
    }
    let mut value = p.text_argument("a value after '='")?;
    value.node.truncate(value.node.trim_end_matches(',').len());
    Ok(value)
}

impl fmt::Display for SavedsearchCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments.push(field_name(&self.name.node)).flag(
            "nosubstitution",
            self.nosubstitution,
            false,
        );
        for (key, value) in &self.arguments {
            arguments.push(format_args!("{key}={}", quoted(value)));
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
            "| savedsearch mysecurityquery",
            "| savedsearch \"my search\" replace_me=\"value\" host='a b' n=5",
            "| savedsearch nosubstitution=t x:y.z a-b=c",
            "* | append [savedsearch other earliest=-1d@d]",
        ]);
        same("| savedsearch x a=1, b=2", "| savedsearch x a=\"1\" b=\"2\"");
        same("| savedsearch x nosubstitution=yes", "| savedsearch x nosubstitution=t");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("| savedsearch", "the name of a saved search", "");
        refuses("| savedsearch a b", "<argument>=<text>", "b");
        refuses("| savedsearch a nosubstitution=x", "must be true or false", "x");
    }
}
