//! `tojson`: creates a JSON object from each row.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, FieldPattern};
use crate::display::{Arguments, field_patterns};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `tojson [<type>(<fields>)...] [default_type=] [fill_null=] [include_internal=] [output_field=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct TojsonCommand {
    /// The fields with the JSON type of their values; all fields if empty.
    pub fields: Vec<(Option<JsonKind>, FieldPattern)>,
    /// `default_type=` of fields without a type (default `none`).
    pub default_type: JsonKind,
    /// `fill_null=`: whether a value that does not fit its type becomes `null` instead of being left out.
    pub fill_null: bool,
    /// `include_internal=`: whether fields such as `_time` are included.
    pub include_internal: bool,
    /// `output_field=` (default `_raw`).
    pub output_field: String,
}

/// The JSON type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JsonKind {
    /// Detects the type: number, Boolean, null, JSON, otherwise a text.
    Auto,
    /// A Boolean.
    Bool,
    /// The value parsed as JSON.
    Json,
    /// A number if the value is numeric, otherwise a text.
    None,
    /// A number.
    Num,
    /// A text.
    Str,
}

const KINDS: [(&str, JsonKind); 6] = [
    ("auto", JsonKind::Auto),
    ("bool", JsonKind::Bool),
    ("json", JsonKind::Json),
    ("none", JsonKind::None),
    ("num", JsonKind::Num),
    ("str", JsonKind::Str),
];

impl JsonKind {
    fn from_name(name: &str) -> Option<Self> {
        let found = KINDS.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
        found.map(|(_, kind)| *kind)
    }

    /// Returns the name in a search.
    pub fn name(self) -> &'static str {
        KINDS.iter().find(|(_, kind)| *kind == self).map_or("none", |(name, _)| name)
    }
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "tojson",
    aliases: &[],
    summary: "makes a JSON object from each row",
    syntax: "tojson [auto|bool|json|none|num|str(<field>...)]... [default_type=<type>] [fill_null=<bool>] [include_internal=<bool>] [output_field=<field>]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["default_type", "fill_null", "include_internal", "output_field"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = TojsonCommand {
        fields: Vec::new(),
        default_type: JsonKind::None,
        fill_null: false,
        include_internal: false,
        output_field: "_raw".to_owned(),
    };
    loop {
        p.skip_separators();
        if p.at_end() {
            return Ok(Command::Tojson(command));
        }
        let Some(option) = p.option(OPTIONS)? else {
            typed(p, &mut command.fields)?;
            continue;
        };
        match option.name {
            "default_type" => {
                let kind = JsonKind::from_name(&option.value);
                let kind =
                    kind.ok_or_else(|| option.error("auto, bool, json, none, num or str"))?;
                command.default_type = kind;
            }
            "fill_null" => command.fill_null = option.boolean()?,
            "include_internal" => command.include_internal = option.boolean()?,
            _ => command.output_field = option.field()?.node,
        }
    }
}

/// Reads `num(a b)`, or a single field.
fn typed(p: &mut Parser<'_>, fields: &mut Vec<(Option<JsonKind>, FieldPattern)>) -> Parsed<()> {
    let what = "a field name, or a type such as num(<field>)";
    let is_quoted = matches!(p.peek(), Some('"' | '\''));
    let first = p.plain_field_pattern(what)?;
    if is_quoted || !p.eat("(") {
        fields.push((None, first));
        return Ok(());
    }
    let Some(kind) = JsonKind::from_name(&first.text) else {
        return Err(p.error("the types are auto, bool, json, none, num and str", first.span));
    };
    loop {
        p.skip_separators();
        if p.eat(")") {
            return Ok(());
        }
        fields.push((Some(kind), p.field_pattern("a field name or ')'")?));
    }
}

impl fmt::Display for TojsonCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        for (kind, field) in &self.fields {
            let field = field_patterns(std::slice::from_ref(field));
            match kind {
                Some(kind) => arguments.push(format_args!("{}({field})", kind.name())),
                None => arguments.push(field),
            };
        }
        arguments
            .option("default_type", self.default_type.name())
            .flag("fill_null", self.fill_null, false)
            .flag("include_internal", self.include_internal, false)
            .option("output_field", &self.output_field)
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | tojson",
            "* | tojson num(a b*) auto(c), d output_field=x",
            "* | tojson age eyeColor default_type=str fill_null=true include_internal=t",
        ]);
        same("* | tojson num(a, b)", "* | tojson num(a) num(b)");
        same("* | tojson", "* | tojson default_type=none output_field=_raw");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | tojson float(a)", "the types are auto", "float");
        refuses("* | tojson default_type=x", "auto, bool, json", "x");
        refuses("* | tojson num(a", "a field name or ')'", "");
    }
}
