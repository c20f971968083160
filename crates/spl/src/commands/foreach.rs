//! `foreach`: runs a template of commands for each of several fields, or for each value of one.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, FieldPattern, Spanned};
use crate::display::{Arguments, field_patterns};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `foreach [mode=] <fields> [options] [template]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeachCommand {
    /// The items of the loop.
    pub mode: ForeachMode,
    /// Patterns of fields; of one field unless the mode is [`ForeachMode::Multifield`]. The list is empty
    /// only with [`ForeachMode::AutoCollections`], where it means all fields.
    pub fields: Vec<FieldPattern>,
    /// The texts that are replaced in the template.
    pub placeholders: Placeholders,
    /// The commands as written: they are parsed after the placeholders are replaced.
    pub template: Spanned<String>,
}

/// The items that `foreach` loops over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeachMode {
    /// Fields.
    Multifield,
    /// The values of a field.
    Multivalue,
    /// The elements of a JSON array.
    JsonArray,
    /// The elements of a JSON array, or else the values of a field.
    AutoCollections,
}

impl ForeachMode {
    const ALL: [Self; 4] =
        [Self::Multifield, Self::Multivalue, Self::JsonArray, Self::AutoCollections];

    fn name(self) -> &'static str {
        match self {
            Self::Multifield => "multifield",
            Self::Multivalue => "multivalue",
            Self::JsonArray => "json_array",
            Self::AutoCollections => "auto_collections",
        }
    }
}

/// The placeholders in a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placeholders {
    /// `fieldstr=`: the name of the field (default `<<FIELD>>`).
    pub field: String,
    /// `matchstr=`: the text that the wildcards match (default `<<MATCHSTR>>`).
    pub matched: String,
    /// `matchseg1=` to `matchseg9=`: the text that each wildcard matches (default `<<MATCHSEG1>>` ...).
    pub segments: [String; 9],
    /// `itemstr=`: the value (default `<<ITEM>>`).
    pub item: String,
    /// `iterstr=`: the number of values before this one (default `<<ITER>>`).
    pub iter: String,
}

impl Default for Placeholders {
    fn default() -> Self {
        Self {
            field: "<<FIELD>>".to_owned(),
            matched: "<<MATCHSTR>>".to_owned(),
            segments: std::array::from_fn(|at| format!("<<MATCHSEG{}>>", at + 1)),
            item: "<<ITEM>>".to_owned(),
            iter: "<<ITER>>".to_owned(),
        }
    }
}

impl Placeholders {
    /// Returns the placeholder that an option sets.
    fn slot(&mut self, option: &str) -> Option<&mut String> {
        Some(match option {
            "fieldstr" => &mut self.field,
            "matchstr" => &mut self.matched,
            "itemstr" => &mut self.item,
            "iterstr" => &mut self.iter,
            _ => {
                let number: usize = option.strip_prefix("matchseg")?.parse().ok()?;
                self.segments.get_mut(number.checked_sub(1)?)?
            }
        })
    }
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "foreach",
    aliases: &[],
    summary: "runs a template of commands for several fields or values",
    syntax: "foreach [mode=multifield|multivalue|json_array|auto_collections] <field>... [fieldstr=<text>] [matchstr=<text>] [matchseg1=<text>]... [itemstr=<text>] [iterstr=<text>] [<commands>]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &[
    "mode",
    "fieldstr",
    "matchstr",
    "matchseg1",
    "matchseg2",
    "matchseg3",
    "matchseg4",
    "matchseg5",
    "matchseg6",
    "matchseg7",
    "matchseg8",
    "matchseg9",
    "itemstr",
    "iterstr",
];

/// The expected text in the message about a missing template.
const TEMPLATE: &str = "commands in square brackets";

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut mode, mut fields, mut template) = (ForeachMode::Multifield, Vec::new(), None);
    let mut placeholders = Placeholders::default();
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        if p.peek() == Some('[') && template.is_none() {
            template = Some(p.raw_group(TEMPLATE)?);
            continue;
        }
        let quoted = matches!(p.peek(), Some('"' | '\''));
        let option = if quoted { None } else { p.option(OPTIONS)? };
        let Some(option) = option else {
            if template.is_some() {
                return Err(p.unexpected("an option or the end of the command"));
            }
            fields.push(p.field_pattern("a field name or commands in square brackets")?);
            continue;
        };
        if let Some(slot) = placeholders.slot(option.name) {
            *slot = option.text();
            continue;
        }
        let known = |mode: &ForeachMode| option.value.eq_ignore_ascii_case(mode.name());
        mode = ForeachMode::ALL.into_iter().find(known).ok_or_else(|| {
            option.error("multifield, multivalue, json_array or auto_collections")
        })?;
    }
    let most = if mode == ForeachMode::Multifield { usize::MAX } else { 1 };
    if let Some(extra) = fields.get(most) {
        return Err(p.error(format!("mode={} takes one field", mode.name()), extra.span));
    }
    if fields.is_empty() && mode != ForeachMode::AutoCollections {
        return Err(p.unexpected("a field name"));
    }
    let template = template.ok_or_else(|| p.unexpected(TEMPLATE))?;
    if template.node.is_empty() {
        return Err(p.error("the template contains no command", template.span));
    }
    Ok(Command::Foreach(ForeachCommand { mode, fields, placeholders, template }))
}

impl fmt::Display for ForeachCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        if self.mode != ForeachMode::Multifield {
            arguments.option("mode", self.mode.name());
        }
        arguments.push(field_patterns(&self.fields));
        let (mut placeholders, mut usual) = (self.placeholders.clone(), Placeholders::default());
        for option in OPTIONS {
            let (Some(text), Some(default)) = (placeholders.slot(option), usual.slot(option))
            else {
                continue;
            };
            if text != default {
                arguments.option(option, &*text);
            }
        }
        arguments.push(format_args!("[{}]", self.template.node)).write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | foreach www* [eval total=total + <<FIELD>>]",
            "* | foreach * [eval <<FIELD>>='<<FIELD>>'/1024 | fields - x]",
            "* | foreach a, \"b c\" test*ab* [eval \"x <<MATCHSEG1>>\"=\"]\" . '<<MATCHSEG2>>']",
            "* | foreach a*b* fieldstr=F matchseg1=S1 matchseg2=S2 [eval F = F + S1 + S2]",
            "* | foreach mode=multivalue itemstr=<<NUMBER>> n [eval r = r + <<NUMBER>>]",
            "* | foreach word mode=multivalue [eval x=mvappend(x, <<ITEM>>.mvindex(n, <<ITER>>))]",
            "* | foreach mode=json_array price [eval d=json_append(d, \"\", <<ITEM>> * 2)]",
            "* | foreach mode=auto_collections [eval total = total + <<ITEM>>]",
            r#"* | foreach * [rex field="<<FIELD>>" "(?<x>[^\"]+)" | eval y="\\]"]"#,
            "* | foreach a* [foreach b* fieldstr=B [eval <<FIELD>>=B]]",
        ]);
        same(
            "* | foreach a [ eval <<FIELD>>=1 ]",
            "* | foreach mode=multifield a [eval <<FIELD>>=1]",
        );
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | foreach a*", "commands in square brackets", "");
        refuses("* | foreach [eval a=1]", "a field name", "");
        refuses("* | foreach a* [eval a=1", "is not closed", "[");
        refuses("* | foreach a* []", "the template contains no command", "[]");
        refuses("* | foreach mode=x a [eval a=1]", "multifield, multivalue", "x");
        refuses("* | foreach mode=multivalue a b [eval a=1]", "takes one field", "b");
    }
}
