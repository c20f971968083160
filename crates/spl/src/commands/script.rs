//! `script`: runs a program of an app over the rows. A custom command of an app is represented by this
//! command, too, and written with its own name.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Spanned};
use crate::display::{Arguments, quoted};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `script [python|perl] <name> [<argument>]... [maxinputs=<n>]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptCommand {
    /// The name of the custom command, if one was written instead of `script`.
    pub custom: Option<String>,
    /// The language, name and arguments as written; empty for a custom command.
    pub words: Vec<Spanned<String>>,
    /// The arguments of a custom command, as written.
    pub arguments: String,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "script",
    aliases: &["run"],
    summary: "runs a program of an app over the rows",
    syntax: "script [python | perl] <name> [<argument>]... [maxinputs=<n>]",
    kind: CommandKind::Dataset,
    right: CommandRight::writes("run_custom_command"),
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["maxinputs"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    if let Some(name) = p.custom_command() {
        let arguments = p.raw_arguments()?;
        let custom = Some(name);
        return Ok(Command::Script(ScriptCommand { custom, words: Vec::new(), arguments }));
    }
    let mut words = Vec::new();
    while !p.at_end() {
        words.push(p.text_argument("the name of a script")?);
    }
    if words.is_empty() {
        return Err(p.unexpected("the name of a script"));
    }
    Ok(Command::Script(ScriptCommand { custom: None, words, arguments: String::new() }))
}

impl ScriptCommand {
    /// Returns the name of the script, or of the custom command.
    #[must_use]
    pub fn name(&self) -> &str {
        if let Some(name) = &self.custom {
            return name;
        }
        let language = |word: &&Spanned<String>| !matches!(word.node.as_str(), "python" | "perl");
        let named = self.words.iter().find(language).or_else(|| self.words.first());
        named.map(|word| word.node.as_str()).unwrap_or_default()
    }
}

impl ScriptCommand {
    /// Returns the arguments of the program as text.
    #[must_use]
    pub fn program_arguments(&self) -> String {
        if self.custom.is_some() {
            return self.arguments.clone();
        }
        let name = self.name();
        let behind = self.words.iter().skip_while(|word| word.node != name).skip(1);
        let own = behind.filter(|word| !word.node.starts_with("maxinputs="));
        own.map(|word| quoted(&word.node)).collect::<Vec<_>>().join(" ")
    }
}

impl fmt::Display for ScriptCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.custom.is_some() {
            return f.write_str(&self.arguments);
        }
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
    fn a_custom_command_is_one_that_is_known() {
        let known = crate::CustomCommands::of(["shout".to_owned()]);
        let options = crate::ParseOptions { commands: Some(&known), ..Default::default() };
        let text = "search * | shout a=\"b | ]c\" d,e [search x | head 1] | stats count";
        let pipeline = crate::parse_with(text, &options).expect(text);
        assert_eq!(pipeline.to_string(), text);
        let inside =
            crate::parse_with("search * | append [| shout x]", &options).expect("in brackets");
        assert_eq!(inside.to_string(), "search * | append [| shout x]");
        for (text, options) in
            [("* | whisper a", &options), ("* | shout a", &crate::ParseOptions::default())]
        {
            let error = crate::parse_with(text, options).expect_err(text);
            assert!(error.to_string().contains("Unknown search command"), "{error}");
        }
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | script", "the name of a script", "");
    }
}
