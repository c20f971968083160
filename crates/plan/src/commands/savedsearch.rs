//! `savedsearch`: expands to the commands of a saved search.
//!
//! Split: as those commands.

use futures::future::BoxFuture;
use knowledge::time::TimeModifier;
use model::{EventTime, TimeRange};
use spl::Span;
use spl::ast::SavedsearchCommand;

use super::{
    CommandPlan, Expanded, First, Input, Origin, OutputFields, Place, RequiredFields, Step,
};
use crate::context::PlanningContext;
use crate::{Error, subsearch};

impl CommandPlan for SavedsearchCommand {
    fn place(&self) -> Place {
        Place::Generating(Origin::Expanded)
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn expand<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Option<Expanded>, Error>> {
        Box::pin(async move { expand(self, first.span, first.env).await.map(Some) })
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        input.only_begins()
    }
}

/// The configuration file of saved searches.
const FILE: &str = "savedsearches";

pub(super) async fn expand(
    command: &SavedsearchCommand,
    span: Span,
    env: &PlanningContext<'_>,
) -> Result<Expanded, Error> {
    let saved = Saved::find(&command.name.node, command.name.span, env)?;
    let value = |name: &str| {
        let name = name.strip_prefix("args.").unwrap_or(name);
        let found = command.arguments.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.clone())
    };
    let text = match command.nosubstitution {
        true => saved.text,
        false => substituted(&saved.text, value).map_err(|name| {
            let message = format!(
                "the saved search \"{}\" has ${name}$ in it: write {name}=\"...\" after its name",
                command.name.node
            );
            Error::at(message, span)
        })?,
    };
    let mut context = env.context.clone();
    context.range = saved.range;
    let inner = env.within(&context);
    let pipeline = subsearch::parse_placed(&text, Some(span), env.subsearches(), &inner).await?;
    Ok(Expanded { commands: pipeline.commands, range: saved.range })
}

/// A saved search.
#[derive(Debug)]
pub(super) struct Saved {
    /// The text of the search.
    pub(super) text: String,
    /// The time range: that of the outer search, or its own if there is none.
    pub(super) range: TimeRange,
}

impl Saved {
    /// Finds the saved search of a name.
    pub(super) fn find(name: &str, span: Span, env: &PlanningContext<'_>) -> Result<Self, Error> {
        let conf = env.context.knowledge.conf(FILE);
        let Some(stanza) = conf.stanzas.iter().find(|stanza| stanza.name == name) else {
            return Err(Error::at(format!("there is no saved search \"{name}\""), span));
        };
        let setting = |key: &str| stanza.get(key).map(|entry| entry.value.clone());
        let text = setting("search").filter(|text| !text.trim().is_empty());
        let Some(text) = text else {
            return Err(Error::at(format!("the saved search \"{name}\" has no search"), span));
        };
        let time = |key: &str, all: EventTime| match setting(key) {
            Some(text) if !matches!(text.trim(), "" | "0") => {
                let time = TimeModifier::parse(&text)
                    .and_then(|time| time.resolve(env.context.now, &env.context.timezone));
                time.map_err(|error| {
                    let message = format!("{key} of the saved search \"{name}\": {error}");
                    Error::at(message, span)
                })
            }
            _ => Ok(all),
        };
        let mut range = env.context.range;
        if range == TimeRange::ALL {
            range = TimeRange {
                earliest: time("dispatch.earliest_time", TimeRange::ALL.earliest)?,
                latest: time("dispatch.latest_time", TimeRange::ALL.latest)?,
            };
        }
        Ok(Self { text, range })
    }
}

/// Replaces `$name$` with values and `$$` with `$`; fails with the first name that has no value.
fn substituted(text: &str, value: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut left = text;
    while let Some(at) = left.find('$') {
        let (before, behind) = (&left[..at], &left[at + 1..]);
        out.push_str(before);
        if let Some(rest) = behind.strip_prefix('$') {
            out.push('$');
            left = rest;
            continue;
        }
        let name = behind.find('$').map(|end| &behind[..end]).filter(|name| is_name(name));
        match name {
            Some(name) => {
                out.push_str(&value(name).ok_or_else(|| name.to_owned())?);
                left = &behind[name.len() + 1..];
            }
            None => {
                out.push('$');
                left = behind;
            }
        }
    }
    out.push_str(left);
    Ok(out)
}

/// Whether the text between two `$` is a name.
pub(super) fn is_name(text: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || "_.:{}@-".contains(c);
    text.starts_with(|c: char| c.is_alphabetic() || c == '_') && text.chars().all(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_between_dollars_are_replaced() {
        let value = |name: &str| (name == "a").then(|| "1".to_owned());
        let of = |text: &str| substituted(text, value);
        assert_eq!(of("x=$a$ y=\"$a$\""), Ok("x=1 y=\"1\"".to_owned()));
        assert_eq!(of("$$a$$ ^x$ | y$"), Ok("$a$ ^x$ | y$".to_owned()));
        assert_eq!(of("x=$b$"), Err("b".to_owned()));
    }
}
