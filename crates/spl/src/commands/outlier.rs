//! `outlier`: removes or truncates numbers far from the others.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, FieldPattern};
use crate::display::{Arguments, field_patterns};
use crate::parser::{OptionValue, Parsed, Parser};
use std::fmt;

/// `outlier [<options>] [fields]`.
#[derive(Debug, Clone, PartialEq)]
pub struct OutlierCommand {
    /// The criteria of outliers, and the action.
    pub options: OutlierOptions,
    /// The fields; all fields if empty.
    pub fields: Vec<FieldPattern>,
}

/// The criteria of outliers, and the action.
#[derive(Debug, Clone, PartialEq)]
pub struct OutlierOptions {
    /// `action=` (default transform).
    pub action: OutlierAction,
    /// `mark=`: whether truncated numbers get the prefix `000` (default false).
    pub mark: bool,
    /// `param=`: the distance of outliers in interquartile ranges, as text (default 2.5).
    pub param: String,
    /// `uselower=`: whether numbers below the others are outliers, too (default false).
    pub uselower: bool,
}

/// The action for outliers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutlierAction {
    /// Removes the row.
    Remove,
    /// Replaces the number with the bound.
    Transform,
}

impl Default for OutlierOptions {
    fn default() -> Self {
        Self {
            action: OutlierAction::Transform,
            mark: false,
            param: "2.5".to_owned(),
            uselower: false,
        }
    }
}

impl OutlierOptions {
    /// The names of the options.
    pub(crate) const NAMES: &'static [&'static str] =
        &["action", "mark", "param", "uselower", "type"];

    /// Applies an option.
    pub(crate) fn accept(&mut self, option: &OptionValue) -> Parsed<()> {
        match option.name {
            "action" => {
                self.action = match option.value.to_ascii_lowercase().as_str() {
                    "remove" | "rm" => OutlierAction::Remove,
                    "transform" | "tf" => OutlierAction::Transform,
                    _ => return Err(option.error("remove or transform")),
                }
            }
            "mark" => self.mark = option.boolean()?,
            "param" => self.param = option.decimal()?,
            "uselower" => self.uselower = option.boolean()?,
            // This is the only supported type.
            _ if option.value.eq_ignore_ascii_case("iqr") => {}
            _ => return Err(option.error("iqr")),
        }
        Ok(())
    }
}

impl fmt::Display for OutlierOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let action = match self.action {
            OutlierAction::Remove => "remove",
            OutlierAction::Transform => "transform",
        };
        Arguments::default()
            .option("action", action)
            .flag("mark", self.mark, false)
            .option("param", &self.param)
            .flag("uselower", self.uselower, false)
            .write(f)
    }
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "outlier",
    aliases: &["outlierfilter"],
    summary: "removes or caps outliers",
    syntax: "outlier [action=remove|transform] [mark=<bool>] [param=<number>] [uselower=<bool>] \
             [<field>...]",
    kind: CommandKind::Dataset,
    right: CommandRight::FREE,
    options: OutlierOptions::NAMES,
    takes: Takes::Fields,
    parse,
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut options = OutlierOptions::default();
    let mut fields = Vec::new();
    loop {
        p.skip_separators();
        if p.at_end() {
            return Ok(Command::Outlier(OutlierCommand { options, fields }));
        }
        match p.option(OutlierOptions::NAMES)? {
            Some(option) => options.accept(&option)?,
            None => fields.push(p.field_pattern("a field name or an option")?),
        }
    }
}

impl fmt::Display for OutlierCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Arguments::default().push(&self.options).push(field_patterns(&self.fields)).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&["* | outlier", "* | outlier action=rm mark=t param=4 uselower=true a, b*"]);
        same("* | outlier action=tf", "* | outlier type=iqr action=transform");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | outlier action=keep", "remove or transform", "keep");
        refuses("* | outlier parm=4", "unknown option 'parm'", "parm");
    }
}
