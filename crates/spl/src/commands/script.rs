//! `script`: a program over the rows, which Karst does not run.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Spanned};
use crate::display::{Arguments, quoted};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `script [python|perl] <name> [<argument>]... [maxinputs=<n>]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptCommand {
    /// The language, the name and arguments, as written.
    pub words: Vec<Spanned<String>>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "script",
    aliases: &["run"],
    summary: "is accepted; the program is not run",
    syntax: "script [python | perl] <name> [<argument>]... [maxinputs=<n>]",
    kind: CommandKind::Dataset,
    right: CommandRight::writes("run_custom_command"),
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["maxinputs"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut words = Vec::new();
    while !p.at_end() {
        words.push(p.text_argument("the name of a script")?);
    }
    if words.is_empty() {
        return Err(p.unexpected("the name of a script"));
    }
    Ok(Command::Script(ScriptCommand { words }))
}

impl ScriptCommand {
    /// The name of the script.
    #[must_use]
    pub fn name(&self) -> &str {
        let language = |word: &&Spanned<String>| !matches!(word.node.as_str(), "python" | "perl");
        let named = self.words.iter().find(language).or_else(|| self.words.first());
        named.map(|word| word.node.as_str()).unwrap_or_default()
    }
}

impl fmt::Display for ScriptCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        for word in &self.words {
            arguments.push(quoted(&word.node));
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
            "* | script python myscript arg1",
            "* | run myscript",
            "* | script perl x maxinputs=5 \"a b\"",
        ]);
        same("* | run a b", "* | script a b");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | script", "the name of a script", "");
    }
}
