//! `extract`: extracts fields from the text of events.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Spanned};
use crate::display::{Arguments, quoted};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `extract [options] [stanzas of transforms.conf]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtractCommand {
    /// `pairdelim=`: characters that separate pairs.
    pub pairdelim: Option<Spanned<String>>,
    /// `kvdelim=`: characters that separate a key and its value.
    pub kvdelim: Option<Spanned<String>>,
    /// `limit=`: maximum number of pairs per event (default 50, 0 means all).
    pub limit: u64,
    /// `maxchars=`: number of characters of an event that are read (default 10,240, 0 means all).
    pub maxchars: u64,
    /// `mv_add=`: whether a repeated key gives several values; if absent, a stanza may set it.
    pub mv_add: Option<bool>,
    /// `clean_keys=`: whether characters other than letters, digits and `_` become `_`.
    pub clean_keys: Option<bool>,
    /// `auto=`: whether automatic extraction is applied, too.
    pub auto: Option<bool>,
    /// `reload=`: has no effect, because the configuration is always up to date.
    pub reload: bool,
    /// Stanzas of `transforms.conf`, in order.
    pub stanzas: Vec<Spanned<String>>,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "extract",
    aliases: &["kv"],
    summary: "extracts key-value pairs",
    syntax: "extract [pairdelim=<text>] [kvdelim=<text>] [limit=<n>] [maxchars=<n>] [mv_add=<bool>] [clean_keys=<bool>] [auto=<bool>] [reload=<bool>] [<stanza>...]",
    kind: CommandKind::Streaming,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &[
    "pairdelim",
    "kvdelim",
    "limit",
    "maxchars",
    "mv_add",
    "clean_keys",
    "auto",
    "reload",
    "segment",
];

const DEFAULT: ExtractCommand = ExtractCommand {
    pairdelim: None,
    kvdelim: None,
    limit: 50,
    maxchars: 10_240,
    mv_add: None,
    clean_keys: None,
    auto: None,
    reload: false,
    stanzas: Vec::new(),
};

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = DEFAULT;
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        let Some(option) = p.option(OPTIONS)? else {
            let mut stanza = p.text_argument("an option or a stanza of transforms.conf")?;
            stanza.node.truncate(stanza.node.trim_end_matches(',').len());
            command.stanzas.push(stanza);
            continue;
        };
        match option.name {
            "pairdelim" => command.pairdelim = Some(option.spanned()),
            "kvdelim" => command.kvdelim = Some(option.spanned()),
            "limit" => command.limit = option.number()?,
            "maxchars" => command.maxchars = option.number()?,
            "mv_add" => command.mv_add = Some(option.boolean()?),
            "clean_keys" => command.clean_keys = Some(option.boolean()?),
            "auto" => command.auto = Some(option.boolean()?),
            "reload" => command.reload = option.boolean()?,
            // The option records where pairs were found, which is not displayed.
            _ => {
                option.boolean()?;
            }
        }
    }
    match (&command.pairdelim, &command.kvdelim) {
        (Some(alone), None) => Err(p.error("pairdelim= needs kvdelim= beside it", alone.span)),
        (None, Some(alone)) => Err(p.error("kvdelim= needs pairdelim= beside it", alone.span)),
        _ => Ok(Command::Extract(command)),
    }
}

impl fmt::Display for ExtractCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        let delimiters = [("pairdelim", &self.pairdelim), ("kvdelim", &self.kvdelim)];
        for (name, text) in delimiters {
            if let Some(text) = text {
                arguments.push(format_args!("{name}={}", quoted(&text.node)));
            }
        }
        arguments
            .option("limit", self.limit)
            .option("maxchars", self.maxchars)
            .maybe("mv_add", self.mv_add)
            .maybe("clean_keys", self.clean_keys)
            .maybe("auto", self.auto)
            .flag("reload", self.reload, false);
        for stanza in &self.stanzas {
            arguments.push(quoted(&stanza.node));
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
            "* | extract",
            "* | extract reload=true",
            r#"* | extract pairdelim="|;", kvdelim="=:""#,
            r#"* | kv pairdelim=";" kvdelim="=" auto=f limit=5 maxchars=100 mv_add=t clean_keys=f"#,
            "* | extract access-extractions, other_one",
        ]);
        same("* | kv a", "* | extract limit=50 a");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | extract pairdelims=a", "unknown option 'pairdelims'", "pairdelims");
        refuses("* | extract limit=x", "a whole number", "x");
        refuses(r#"* | extract pairdelim=";""#, "needs kvdelim=", "\";\"");
    }
}
