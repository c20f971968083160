//! Pipelines: the implied first `search`, commands by name, subsearches, and recovery.
//!
//! Guarantees: after an error in one command, the following commands are still checked.

use super::{Parsed, Parser, Stopped};
use crate::ast::{Command, Expr, ExprKind, Pipeline, Spanned, Subsearch, WhereCommand};
use crate::commands::{self, CommandDefinition};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::suggest::nearest;

/// Maximum number of messages for one text.
const MAX_DIAGNOSTICS: usize = 20;

/// Removes `localop` before a generating command, where it has no effect, so that the generating command is
/// the first one.
fn skip_localop(pipeline: &mut Vec<Spanned<Command>>) {
    if let [first, second, ..] = pipeline.as_slice()
        && matches!(first.node, Command::Localop(_))
        && second.node.definition().kind == commands::CommandKind::Generating
    {
        pipeline.remove(0);
    }
}

impl Parser<'_> {
    /// Parses the whole text.
    pub(crate) fn whole(&mut self) -> Result<Pipeline, Diagnostics> {
        let mut commands = Vec::new();
        let mut diagnostics = Vec::new();
        self.skip_space();
        let leading_pipe = self.eat("|");
        let mut first = !leading_pipe;
        loop {
            let start = self.pos();
            match self.command(first, true) {
                Ok(command) => commands.push(command),
                Err(diagnostic) => {
                    diagnostics.push(diagnostic);
                    self.recover(start);
                }
            }
            first = false;
            if self.stopped.is_some() || !self.eat("|") || diagnostics.len() >= MAX_DIAGNOSTICS {
                break;
            }
            // Searches in apps may end with a pipe.
            self.skip_space();
            if self.peek().is_none() {
                break;
            }
        }
        if diagnostics.is_empty() {
            skip_localop(&mut commands);
            Ok(Pipeline { commands })
        } else {
            Err(Diagnostics(diagnostics))
        }
    }

    /// Parses the whole text as the content of brackets: any command may be first.
    pub(crate) fn inside(&mut self) -> Parsed<Pipeline> {
        let mut first = !self.eat("|");
        let mut commands = Vec::new();
        loop {
            commands.push(self.command(first, false)?);
            first = false;
            if !self.eat("|") {
                skip_localop(&mut commands);
                return Ok(Pipeline { commands });
            }
        }
    }

    /// Reads `[search ...]`; if the first word is not a command, it begins an implied search.
    pub(crate) fn subsearch(&mut self) -> Parsed<Subsearch> {
        self.enter(|p| {
            p.skip_space();
            let start = p.pos();
            let open = p.here();
            if !p.eat("[") {
                return Err(p.unexpected("a subsearch in square brackets"));
            }
            let outer = p.command;
            p.brackets += 1;
            let mut first = !p.eat("|");
            let mut commands = Vec::new();
            loop {
                commands.push(p.command(first, false)?);
                first = false;
                if !p.eat("|") {
                    break;
                }
            }
            p.brackets -= 1;
            p.command = outer;
            if !p.eat("]") {
                return Err(p.error("unbalanced brackets: '[' is not closed", open));
            }
            skip_localop(&mut commands);
            let span = p.span_from(start);
            Ok(Subsearch { pipeline: Box::new(Pipeline { commands }), span })
        })
    }

    /// Returns whether a subsearch follows directly, without a blank, after a word that began at `start`, as
    /// in `type=inner[search ...]`.
    pub(super) fn at_subsearch(&mut self, start: usize) -> bool {
        if self.pos() == start || self.peek() != Some('[') {
            return false;
        }
        let at = self.pos();
        self.bump();
        let found = self.eat("|") || {
            self.skip_space();
            commands::find(&self.command_word()).is_some()
        };
        self.pos = at;
        found
    }

    /// Reads a subsearch whose result, as text, replaces it.
    pub(crate) fn text_subsearch(&mut self) -> Parsed<Subsearch> {
        self.skip_space();
        let start = self.pos();
        let found = self.subsearch()?;
        if !self.stops {
            return Ok(found);
        }
        let error = self.error("the result of its subsearch is not known yet", found.span);
        let at = start..self.pos();
        self.stopped.get_or_insert(Stopped { at, pipeline: *found.pipeline });
        Err(error)
    }

    /// Reads one command. At the beginning of a text, the default is `search`.
    fn command(&mut self, first: bool, outermost: bool) -> Parsed<Spanned<Command>> {
        self.skip_space();
        self.command = "";
        let start = self.pos();
        let definition = if first { self.first_name(outermost) } else { self.command_name()? };
        self.command = definition.name;
        let brackets = self.brackets;
        let node = match (definition.parse)(self) {
            Ok(_) if !self.at_end() => Err(self.unexpected("'|' or the end of the command")),
            result => result,
        };
        let node = match node {
            Err(error) if self.brackets == brackets => self.written_by_subsearch(error)?,
            node => node?,
        };
        let end = start + self.slice(start, self.pos()).trim_end().len();
        let span = self.map.original(crate::ast::Span::new(start, end));
        self.command = "";
        Ok(Spanned::new(node, span))
    }

    /// Reads arguments that consist of subsearches although the grammar of the command has none, which caused
    /// `error`. If the results of subsearches are not requested, the subsearch replaces the command, which
    /// cannot be planned then.
    fn written_by_subsearch(&mut self, error: Diagnostic) -> Parsed<Command> {
        self.skip_space();
        let has_own = commands::WITH_BRACKETS.contains(&self.command);
        if has_own || self.stopped.is_some() || self.peek() != Some('[') {
            return Err(error);
        }
        let found = self.text_subsearch()?;
        while !self.at_end() {
            match self.peek() {
                Some('[') => drop(self.text_subsearch()?),
                Some('"') => drop(self.quoted('"')?),
                _ => drop(self.bump()),
            }
        }
        let span = found.span;
        Ok(Command::Where(WhereCommand { expr: Expr { kind: ExprKind::Subsearch(found), span } }))
    }

    /// Reads the name of the command at the beginning: in a subsearch any known one, otherwise only `search`.
    fn first_name(&mut self, outermost: bool) -> &'static CommandDefinition {
        let search = &commands::search::DEFINITION;
        self.attempt(|p| {
            let word = p.command_word();
            let definition = commands::find(&word)?;
            let behind = p.rest().trim_start();
            let operators = ["=", "!=", "<", ">"];
            let is_field = operators.iter().any(|operator| behind.starts_with(operator));
            let allowed = !outermost || definition.name == "search";
            (allowed && !is_field).then_some(definition)
        })
        .unwrap_or(search)
    }

    fn command_word(&mut self) -> String {
        let word = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_').to_ascii_lowercase();
        let ends =
            |c: char| c.is_whitespace() || "|[]\"(,+-=".contains(c) || (c == '/' && word == "rest");
        let boundary = self.peek().is_none_or(ends);
        if boundary { word } else { String::new() }
    }

    fn command_name(&mut self) -> Parsed<&'static CommandDefinition> {
        if self.at_end() {
            return Err(self.unexpected("a command after '|'"));
        }
        let start = self.pos();
        let word = self.command_word();
        if let Some(definition) = commands::find(&word) {
            return Ok(definition);
        }
        self.pos = start;
        if let Some(name) = self.attempt(Self::known_custom_command) {
            self.custom = Some(name);
            return Ok(&commands::script::DEFINITION);
        }
        let written =
            self.take_while(|c| !c.is_whitespace() && !"|,()[]\"=".contains(c)).to_owned();
        if written.is_empty() {
            return Err(self.unexpected("a command after '|'"));
        }
        Err(unknown_command(&written, self.span_from(start)))
    }

    /// Reads the name of a custom command.
    fn known_custom_command(&mut self) -> Option<String> {
        let word = self.take_while(|c| c.is_alphanumeric() || "_-.".contains(c));
        let ends = self.peek().is_none_or(|c| c.is_whitespace() || "|[]\",".contains(c));
        self.commands.find(word).filter(|_| ends).map(str::to_owned)
    }

    /// Skips the invalid command that began at `start`, up to its `|` or the end.
    fn recover(&mut self, start: usize) {
        self.command = "";
        self.custom = None;
        self.brackets = 0;
        self.depth = 0;
        self.pos = start;
        let mut open = 0_usize;
        while let Some(c) = self.peek() {
            match c {
                '\\' => {
                    self.bump();
                }
                '"' => {
                    // An unclosed quote hides the rest of the text.
                    if self.quoted('"').is_err() {
                        self.pos = self.text.len();
                        return;
                    }
                    continue;
                }
                '[' => open += 1,
                ']' => open = open.saturating_sub(1),
                '|' if open == 0 => return,
                _ => {}
            }
            self.bump();
        }
    }
}

fn unknown_command(written: &str, span: crate::ast::Span) -> Diagnostic {
    let lower = written.to_ascii_lowercase();
    let diagnostic = Diagnostic::of_unknown_command(written, span);
    if commands::NOT_YET.contains(&lower.as_str()) {
        return diagnostic.with_hint(format!("`{lower}` is not part of Karst yet"));
    }
    let learning = commands::MACHINE_LEARNING.iter().find(|(name, _)| *name == lower);
    if let Some((_, instead)) = learning {
        return diagnostic.with_hint(format!(
            "`{lower}` is a command of the Machine Learning Toolkit that Karst does not have; use \
             instead: {instead}"
        ));
    }
    diagnostic.with_suggestion(nearest(&lower, commands::names()))
}
