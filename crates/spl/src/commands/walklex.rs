//! `walklex`: lists the terms in the term indexes of buckets.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, SearchPattern, Spanned};
use crate::display::Arguments;
use crate::parser::{Parsed, Parser, pattern_of};
use std::fmt;

/// `walklex [type=] [prefix=|pattern=] index=<index>...`.
#[derive(Debug, Clone, PartialEq)]
pub struct WalklexCommand {
    /// `type=`: the kind of terms.
    pub kind: LexiconKind,
    /// `prefix=` or `pattern=`: the pattern of terms; `*` matches any run of characters.
    pub pattern: Option<Spanned<String>>,
    /// `index=`, wildcards allowed.
    pub indexes: Vec<SearchPattern>,
}

/// The kinds of terms that `walklex` lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LexiconKind {
    /// All terms.
    All,
    /// Names of indexed fields.
    Field,
    /// Values of indexed fields, as `name::value`.
    Fieldvalue,
    /// Words of events.
    Term,
}

impl LexiconKind {
    const ALL: [(&'static str, Self); 4] = [
        ("all", Self::All),
        ("field", Self::Field),
        ("fieldvalue", Self::Fieldvalue),
        ("term", Self::Term),
    ];
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "walklex",
    aliases: &[],
    summary: "lists indexed terms",
    syntax: "walklex [type=all|field|fieldvalue|term] [prefix=<text> | pattern=<pattern>] index=<index>...",
    kind: CommandKind::Generating,
    right: CommandRight::summary(Some("run_walklex")),
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] =
    &["type", "prefix", "pattern", "index", "splunk_server", "splunk_server_group"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = WalklexCommand { kind: LexiconKind::All, pattern: None, indexes: Vec::new() };
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        let Some(option) = p.option(OPTIONS)? else {
            return Err(p.unexpected("an option such as index=<index>"));
        };
        match option.name {
            "type" => {
                let lower = option.value.to_ascii_lowercase();
                let found = LexiconKind::ALL.iter().find(|(name, _)| *name == lower);
                let found = found.ok_or_else(|| option.error("all, field, fieldvalue or term"))?;
                command.kind = found.1;
            }
            "prefix" | "pattern" if command.pattern.is_some() => {
                return Err(option.error("to be the only one of prefix= and pattern="));
            }
            "prefix" => {
                let text = format!("{}*", option.value.trim_end_matches('*'));
                command.pattern = Some(Spanned::new(text, option.value_span));
            }
            "pattern" => command.pattern = Some(option.spanned()),
            "index" => command.indexes.push(pattern_of(&option.value)),
            _ => drop(option.text()),
        }
    }
    if command.indexes.is_empty() {
        return Err(p.unexpected("index=<index>"));
    }
    Ok(Command::Walklex(command))
}

impl fmt::Display for WalklexCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        let kind = LexiconKind::ALL.iter().find(|(_, kind)| *kind == self.kind);
        arguments.maybe("type", kind.map(|(name, _)| name));
        arguments.maybe("pattern", self.pattern.as_ref().map(|pattern| &pattern.node));
        for index in &self.indexes {
            arguments.option("index", index.text());
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
            "| walklex index=netflow type=term prefix=\"10.\" | stats sum(count) by term",
            "| walklex type=fieldvalue pattern=*::10.* index=a index=b*",
        ]);
        same("| walklex prefix=a* index=b", "| walklex index=b pattern=a* type=all");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("| walklex type=term", "index=<index>", "");
        refuses("| walklex type=word index=a", "all, field, fieldvalue or term", "word");
        refuses("| walklex prefix=a pattern=b index=a", "to be the only one", "b");
    }
}
